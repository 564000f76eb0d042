//! The pipes to a client: listening in on one, and one that nobody reads.

use std::{
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, ReadBuf},
    process::{Child, ChildStdin},
};

/// Every byte that was read.
pub(crate) type Heard = Arc<Mutex<Vec<u8>>>;

/// Keeps what it reads.
pub(crate) struct Tap<R> {
    read: R,
    heard: Heard,
}

impl<R> Tap<R> {
    pub(crate) fn new(read: R, heard: Heard) -> Self {
        Self { read, heard }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Tap<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.read).poll_read(context, buffer);
        self.heard.lock().unwrap().extend_from_slice(&buffer.filled()[before..]);
        read
    }
}

/// Ends a program that speaks with a client, and whose answers nobody reads: by the end of what it hears, or by a signal.
pub(crate) async fn ends_unread(mut child: Child, write: ChildStdin, is_signal: bool) {
    // Until it stands before a full pipe.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let (code, _held) = if is_signal {
        assert!(agents_testkit::signal::terminate(child.id().unwrap()));
        (130, Some(write))
    } else {
        drop(write);
        (0, None)
    };
    let ended = tokio::time::timeout(Duration::from_secs(30), child.wait()).await;
    assert_eq!(ended.expect("it ends").unwrap().code(), Some(code));
}

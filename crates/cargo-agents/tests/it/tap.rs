//! Listens in on a pipe.

use std::{
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll},
};

use tokio::io::{AsyncRead, ReadBuf};

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

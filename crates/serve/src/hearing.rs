//! The end of what a client says, and how long it is waited for after that.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::io::{AsyncRead, ReadBuf};
use tokio_util::sync::CancellationToken;

/// How long a client may take to read what there is still to be said when everything ends. One that never reads would be waited for
/// for ever.
const PARTING: Duration = Duration::from_secs(5);

/// Waits until everything is over, and then long enough for a client that reads.
pub(crate) async fn parted(over: &CancellationToken) {
    over.cancelled().await;
    tokio::time::sleep(PARTING).await;
}

/// Reads from a client, and says when there is nothing more to come.
pub(crate) struct Ending<R> {
    inner: R,
    over: CancellationToken,
}

impl<R> Ending<R> {
    pub(crate) fn new(inner: R, over: CancellationToken) -> Self {
        Self { inner, over }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Ending<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = ready!(Pin::new(&mut self.inner).poll_read(context, buffer));
        if read.is_err() || buffer.filled().len() == before {
            self.over.cancel();
        }
        Poll::Ready(read)
    }
}

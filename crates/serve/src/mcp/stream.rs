//! The end of what a client says.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, ReadBuf};
use tokio_util::sync::CancellationToken;

/// Reads from a client, and says when there is nothing more to come.
pub(super) struct Ending<R> {
    inner: R,
    over: CancellationToken,
}

impl<R> Ending<R> {
    pub(super) fn new(inner: R, over: CancellationToken) -> Self {
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

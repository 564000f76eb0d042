//! A request's body as HTTP sends it: with its length, and without putting it together first.

use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Frame, SizeHint};

use crate::wire::Body;

/// A body that is being sent.
#[derive(Debug)]
pub(super) struct Sending {
    pieces: std::vec::IntoIter<Bytes>,
    left: u64,
}

impl Sending {
    pub(super) fn new(body: &Body) -> Self {
        // References to what is shared; the bytes stay where they are.
        Self { pieces: body.pieces().to_vec().into_iter(), left: body.len() as u64 }
    }
}

impl http_body::Body for Sending {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let piece = self.pieces.next();
        self.left -= piece.as_ref().map_or(0, |it| it.len() as u64);
        Poll::Ready(piece.map(|it| Ok(Frame::data(it))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

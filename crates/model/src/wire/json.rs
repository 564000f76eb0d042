//! JSON that is written piece by piece, so that what was encoded before is taken over as it is.

use bytes::Bytes;
use serde::Serialize;

/// The body of a request: pieces that are shared with the conversation, not copied from it.
#[derive(Debug, Clone, Default)]
pub struct Body {
    pieces: Vec<Bytes>,
    length: usize,
}

impl Body {
    /// How many bytes it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Its pieces in their order.
    #[must_use]
    pub fn pieces(&self) -> &[Bytes] {
        &self.pieces
    }

    /// All of it in one piece.
    #[must_use]
    pub fn to_vec(&self) -> Vec<u8> {
        self.pieces.concat()
    }

    pub(super) fn push(&mut self, piece: Bytes) {
        if !piece.is_empty() {
            self.length += piece.len();
            self.pieces.push(piece);
        }
    }
}

/// A value as JSON at the end of `out`. Writing into memory does not fail, and neither do the values of this
/// room: they are strings, numbers and JSON.
pub(super) fn write(out: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) {
    let written = serde_json::to_writer(out, value);
    debug_assert!(written.is_ok());
}

/// Text as it is at the end of `out`.
pub(super) fn raw(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
}

/// `,"key":value`, without the comma where an object begins.
pub(super) fn field(out: &mut Vec<u8>, key: &str, value: &(impl Serialize + ?Sized)) {
    name(out, key);
    write(out, value);
}

/// `,"key":`, without the comma where an object begins.
pub(super) fn name(out: &mut Vec<u8>, key: &str) {
    if !out.ends_with(b"{") {
        out.push(b',');
    }
    write(out, key);
    out.push(b':');
}

/// The elements of a list, each encoded by itself. They are kept with a comma in front, for most are not the first.
pub(super) fn list(body: &mut Body, encoded: impl Iterator<Item = Bytes>) {
    for piece in encoded {
        let first = body.pieces.last().is_none_or(|before| before.ends_with(b"["));
        body.push(if first && piece.starts_with(b",") { piece.slice(1..) } else { piece });
    }
}

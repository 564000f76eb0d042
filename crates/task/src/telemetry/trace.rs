//! The ids of traces and spans, as they are written.

use std::fmt;

use agents_system::{cache::hex, digits::bytes};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::id::TaskId;

/// What spans belong to that have to do with each other: 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceId(pub [u8; 16]);

impl TraceId {
    /// The trace of a tree of tasks that is a part of nothing else.
    #[must_use]
    pub fn of(root: TaskId) -> Self {
        Self(root.bytes())
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for TraceId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TraceId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        id(&text).map(Self).ok_or_else(|| D::Error::custom("not the id of a trace"))
    }
}

/// An id; none of them is all zeros.
pub(super) fn id<const N: usize>(text: &str) -> Option<[u8; N]> {
    digits(text).filter(|it| *it != [0; N])
}

/// Bytes in the digits that are the only ones there: two spellings of an id would be two ids to whoever compares texts.
pub(super) fn digits<const N: usize>(text: &str) -> Option<[u8; N]> {
    let has_capitals = text.contains(|it: char| it.is_ascii_uppercase());
    bytes(text).filter(|_| !has_capitals)
}

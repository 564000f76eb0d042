//! JSON of others that we keep inside of JSON of our own.
//!
//! A reader takes so many levels and no more, and a value that has all of them can be read, be written with one more around it, and never be
//! read again. What is to be kept or passed on has to leave some room.

use serde_json::Value;

/// How deep a value may be: more than anybody means, and half of what a reader takes.
pub const MAX_DEPTH: usize = 64;

/// The value that a text is; `None` for what is no JSON, or too deep to be kept.
///
/// ```
/// use agents_system::nested::{MAX_DEPTH, parse};
///
/// let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
/// assert!(parse(nested(MAX_DEPTH)).is_some());
/// assert!(parse(nested(MAX_DEPTH + 1)).is_none());
/// ```
#[must_use]
pub fn parse(text: impl AsRef<[u8]>) -> Option<Value> {
    serde_json::from_slice(text.as_ref()).ok().filter(fits)
}

/// Whether it can be kept.
#[must_use]
pub fn fits(value: &Value) -> bool {
    is_within(value, MAX_DEPTH)
}

/// Whether a value has at most so many levels; one that is neither a list nor an object has none.
#[must_use]
pub fn is_within(value: &Value, levels: usize) -> bool {
    let Some(left) = levels.checked_sub(1) else { return !value.is_array() && !value.is_object() };
    match value {
        Value::Array(items) => items.iter().all(|it| is_within(it, left)),
        Value::Object(members) => members.values().all(|it| is_within(it, left)),
        _ => true,
    }
}

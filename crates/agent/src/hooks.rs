//! Hooks of definitions: in the shape of Claude Code wherever a dialect has that shape.

use serde_json::Value;

use crate::definition::Dialect;

/// The shapes that hooks come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Events with lists of matchers with lists of handlers.
    Claude,
    /// Its own.
    Kiro,
}

/// The shape in which a definition that was written in this dialect holds its hooks.
pub(crate) fn shape(dialect: Dialect) -> Shape {
    if dialect == Dialect::Kiro { Shape::Kiro } else { Shape::Claude }
}

/// What a file says, in the shape of its dialect.
pub(crate) fn from_dialect(dialect: Dialect, value: &Value) -> Value {
    match dialect {
        Dialect::Zeph => renamed(value, "timeout_secs", "timeout"),
        _ => value.clone(),
    }
}

/// What is written into a file.
pub(crate) fn to_dialect(dialect: Dialect, value: &Value) -> Value {
    match dialect {
        Dialect::Zeph => renamed(value, "timeout", "timeout_secs"),
        _ => value.clone(),
    }
}

/// With another name for a key of the handlers.
fn renamed(value: &Value, from: &str, to: &str) -> Value {
    match value {
        Value::Object(table) => {
            let is_handler = table.contains_key("type");
            let entries = table.iter().map(|(key, value)| {
                let key = if is_handler && key == from { to } else { key.as_str() };
                (key.to_owned(), renamed(value, from, to))
            });
            Value::Object(entries.collect())
        }
        Value::Array(items) => items.iter().map(|item| renamed(item, from, to)).collect(),
        other => other.clone(),
    }
}

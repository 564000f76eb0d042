//! Nested tables.

use serde_json::{Map, Value};

/// Puts a value at the end of a path.
pub(crate) fn insert<K: AsRef<str>>(table: &mut Map<String, Value>, path: &[K], value: Value) {
    let Some((first, rest)) = path.split_first() else { return };
    if rest.is_empty() {
        table.insert(first.as_ref().to_owned(), value);
        return;
    }
    let inner = table.entry(first.as_ref()).or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(inner) = inner {
        insert(inner, rest, value);
    }
}

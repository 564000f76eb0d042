//! Values as TOML.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::edit::{EditError, Format, KeyPath, is_bare, quoted::quoted};

/// A key as it is written.
pub(super) fn key(key: &str) -> String {
    if is_bare(key) { key.to_owned() } else { quoted(key) }
}

/// Keys with dots between them.
pub(super) fn keys(path: &[String]) -> String {
    let keys: Vec<String> = path.iter().map(|key| self::key(key)).collect();
    keys.join(".")
}

/// A value on one line.
pub(super) fn inline(at: &KeyPath, value: &Value) -> Result<String, EditError> {
    let refuse = |what| EditError::Unrepresentable { format: Format::Toml, at: at.clone(), what };
    Ok(match value {
        Value::Null => return Err(refuse("null")),
        Value::Bool(boolean) => boolean.to_string(),
        Value::Number(number) if number.as_i64().is_some() || number.is_f64() => number.to_string(),
        Value::Number(_) => return Err(refuse("a number of more than 63 bits")),
        Value::String(text) => quoted(text),
        Value::Array(items) => {
            let items: Vec<String> =
                items.iter().map(|item| inline(at, item)).collect::<Result<_, _>>()?;
            format!("[{}]", items.join(", "))
        }
        Value::Object(entries) if entries.is_empty() => "{}".to_owned(),
        Value::Object(entries) => {
            let entries: Vec<String> = entries
                .iter()
                .map(|(name, value)| Ok(format!("{} = {}", key(name), inline(at, value)?)))
                .collect::<Result<_, EditError>>()?;
            format!("{{ {} }}", entries.join(", "))
        }
    })
}

/// What a section opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Header {
    /// `[path]`, with its tables as sections of their own.
    Table,
    /// `[[path]]`, with its tables in place.
    Item,
}

/// A header with the entries below it, without a final line ending.
pub(super) fn section(
    path: &[String],
    header: Header,
    entries: &Map<String, Value>,
    nl: &str,
) -> Result<String, EditError> {
    let at = KeyPath::new(path.iter().cloned());
    let mut out = match header {
        Header::Table => format!("[{}]", keys(path)),
        Header::Item => format!("[[{}]]", keys(path)),
    };
    let is_section = |value: &Value| header == Header::Table && value.is_object();
    for (name, value) in entries.iter().filter(|(_, value)| !is_section(value)) {
        let _ = write!(out, "{nl}{} = {}", key(name), inline(&at, value)?);
    }
    for (name, value) in entries {
        if let (true, Value::Object(inner)) = (is_section(value), value) {
            let inner = section(at.join(name).keys(), Header::Table, inner, nl)?;
            let _ = write!(out, "{nl}{nl}{inner}");
        }
    }
    Ok(out)
}

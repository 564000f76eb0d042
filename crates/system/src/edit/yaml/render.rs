//! Values as YAML.

use serde_json::Value;

use crate::edit::{is_bare, quoted::quoted};

/// Words that some reader takes for something else than text.
const WORDS: [&str; 14] = [
    "true",
    "false",
    "null",
    "yes",
    "no",
    "on",
    "off",
    "y",
    "n",
    "nan",
    "inf",
    "infinity",
    "none",
    "undefined",
];

/// How a text is written.
#[derive(Debug, Clone)]
pub(super) struct Looks {
    pub(super) unit: String,
    pub(super) newline: &'static str,
}

impl Looks {
    /// `key: value`, over as many lines as it needs; the first one is not indented.
    pub(super) fn member(&self, key: &str, value: &Value, indent: &str) -> String {
        format!("{}:{}", self::key(key), self.after_colon(value, indent))
    }

    /// What follows the colon of a key that is indented by `indent`.
    pub(super) fn after_colon(&self, value: &Value, indent: &str) -> String {
        if is_flat(value) {
            return format!(" {}", flow(value));
        }
        let (nl, inner) = (self.newline, format!("{indent}{}", self.unit));
        format!("{nl}{inner}{}", self.block(value, &inner))
    }

    /// `- item`; the first line is not indented.
    pub(super) fn item(&self, value: &Value, indent: &str) -> String {
        format!("- {}", self.block(value, &format!("{indent}  ")))
    }

    /// The lines of a value that stands at `indent`; the first one is not indented.
    fn block(&self, value: &Value, indent: &str) -> String {
        let lines: Vec<String> = match value {
            _ if is_flat(value) => return flow(value),
            Value::Object(entries) => {
                entries.iter().map(|(key, value)| self.member(key, value, indent)).collect()
            }
            Value::Array(items) => items.iter().map(|item| self.item(item, indent)).collect(),
            _ => Vec::new(),
        };
        lines.join(&format!("{}{indent}", self.newline))
    }
}

/// A value with brackets, on one line.
pub(super) fn flow(value: &Value) -> String {
    match value {
        Value::String(text) => string(text),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(flow).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(entries) => {
            let entries = entries.iter().map(|(name, value)| flow_member(name, value));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// `key: value` between brackets.
pub(super) fn flow_member(name: &str, value: &Value) -> String {
    format!("{}: {}", key(name), flow(value))
}

fn key(key: &str) -> String {
    if is_bare(key) && is_plain(key) { key.to_owned() } else { quoted(key) }
}

fn is_flat(value: &Value) -> bool {
    match value {
        Value::Object(entries) => entries.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => true,
    }
}

fn string(text: &str) -> String {
    if is_plain(text) { text.to_owned() } else { quoted(text) }
}

fn is_plain(text: &str) -> bool {
    let is_safe =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '/' | '-' | '+' | ' ');
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_' || c == '/')
        && text.chars().all(is_safe)
        && !text.ends_with(' ')
        && !WORDS.contains(&text.to_ascii_lowercase().as_str())
}

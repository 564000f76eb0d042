//! The last resort for a header that is not YAML.

use serde_json::{Map, Value};

/// A key whose value stands on lines that nobody can make sense of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// The key.
    pub key: String,
    /// Its line, counted from 1.
    pub line: usize,
}

/// Takes `key: value` lines for what they look like, and plain `- item` lines below a key for its list. What else is
/// indented belongs to a value that cannot be recovered: its key is among the second part, because leaving it out may
/// mean more than its author wanted to allow.
#[must_use]
pub fn parse_lines(header: &str) -> (Map<String, Value>, Vec<Unreadable>) {
    let mut entries = Map::new();
    let mut unreadable = Vec::new();
    let mut lines = header.lines().enumerate().peekable();
    while let Some((index, line)) = lines.next() {
        let Some((key, value)) = entry(line) else { continue };
        let mut below = Vec::new();
        while let Some((_, more)) = lines.next_if(|(_, line)| is_below(line)) {
            below.push(more.trim());
        }
        below.retain(|line| !line.is_empty() && !line.starts_with('#'));
        let value = match (value, below.as_slice()) {
            ("", []) => Some(Value::Null),
            ("", items) => {
                items.iter().map(|line| item(line)).collect::<Option<Vec<_>>>().map(Value::from)
            }
            (text, []) => scalar(text),
            _ => None,
        };
        match value {
            Some(value) => {
                entries.insert(key.to_owned(), value);
            }
            None => unreadable.push(Unreadable { key: key.to_owned(), line: index + 1 }),
        }
    }
    (entries, unreadable)
}

fn entry(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let is_key = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    (!key.is_empty() && key.chars().all(is_key) && !key.starts_with('-'))
        .then_some((key, value.trim()))
}

fn is_below(line: &str) -> bool {
    line.trim().is_empty() || line.starts_with([' ', '\t', '-'])
}

fn item(line: &str) -> Option<Value> {
    let text = line.strip_prefix('-')?.trim();
    let plain =
        !text.is_empty() && !text.starts_with(['-', '{', '[', '|', '>']) && !text.contains(": ");
    if plain { scalar(text) } else { None }
}

/// A block scalar has its text below, and there was none or it is not for us.
fn scalar(text: &str) -> Option<Value> {
    if text.starts_with(['|', '>', '{']) {
        return None;
    }
    let quoted = |quote| text.strip_prefix(quote)?.strip_suffix(quote);
    let text = quoted('"').or_else(|| quoted('\'')).unwrap_or(text);
    Some(match text {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        text => text.parse::<u32>().map_or_else(|_| text.into(), Value::from),
    })
}

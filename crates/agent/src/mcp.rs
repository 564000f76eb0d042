//! The entries of MCP servers that definitions bring: in the shape of Claude Code, whatever the dialect.

use serde_json::{Map, Value};

use crate::definition::Dialect;

/// What a file says, in the shape of Claude Code: `command`, `args`, `env`; `type`, `url`, `headers`.
pub(crate) fn from_dialect(dialect: Dialect, entry: &Value) -> Value {
    let Value::Object(entry) = entry else { return entry.clone() };
    let mut entry = entry.clone();
    match dialect {
        Dialect::Codex => {
            rename(&mut entry, "http_headers", "headers");
            if entry.contains_key("url") {
                entry.insert("type".to_owned(), "http".into());
            }
        }
        Dialect::Gemini | Dialect::Qwen => {
            if entry.contains_key("httpUrl") {
                rename(&mut entry, "httpUrl", "url");
                entry.insert("type".to_owned(), "http".into());
            } else if entry.contains_key("url") && !entry.contains_key("type") {
                entry.insert("type".to_owned(), "sse".into());
            }
        }
        Dialect::Copilot => {
            if entry.get("type").and_then(Value::as_str) == Some("local") {
                entry.shift_remove("type");
            }
            if entry.get("tools").and_then(Value::as_array).is_some_and(|it| *it == ["*"]) {
                entry.shift_remove("tools");
            }
        }
        _ => {}
    }
    // What it is without a word.
    if entry.get("type").and_then(Value::as_str) == Some("stdio") {
        entry.shift_remove("type");
    }
    Value::Object(entry)
}

/// Whether TOML can say it: it has no word for nothing, and no room for the largest numbers.
fn fits_toml(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Number(number) => number.is_i64() || number.is_f64(),
        Value::Array(items) => items.iter().all(fits_toml),
        Value::Object(table) => table.values().all(fits_toml),
        Value::Bool(_) | Value::String(_) => true,
    }
}

/// What is written into a file; `None` if the host has no way to reach such a server.
pub(crate) fn to_dialect(dialect: Dialect, entry: &Value) -> Option<Value> {
    if dialect == Dialect::Codex && !fits_toml(entry) {
        return None;
    }
    let Value::Object(entry) = entry else { return Some(entry.clone()) };
    let mut entry = entry.clone();
    let kind = entry.get("type").and_then(Value::as_str).map(str::to_owned);
    let remote = entry.contains_key("url");
    match dialect {
        Dialect::Codex => {
            if kind.as_deref() == Some("sse") || kind.as_deref() == Some("ws") {
                return None;
            }
            entry.shift_remove("type");
            rename(&mut entry, "headers", "http_headers");
        }
        Dialect::Gemini | Dialect::Qwen => {
            entry.shift_remove("type");
            match kind.as_deref() {
                Some("ws") => return None,
                Some("sse") => {}
                _ if remote => rename(&mut entry, "url", "httpUrl"),
                _ => {}
            }
        }
        Dialect::Copilot => {
            if kind.is_none() {
                let kind = if remote { "http" } else { "local" };
                entry.insert("type".to_owned(), kind.into());
            }
            if !entry.contains_key("tools") {
                entry.insert("tools".to_owned(), vec!["*"].into());
            }
        }
        _ => {}
    }
    Some(Value::Object(entry))
}

fn rename(entry: &mut Map<String, Value>, from: &str, to: &str) {
    if let Some(value) = entry.shift_remove(from) {
        entry.insert(to.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn entries_are_said_in_the_way_of_the_host() {
        let http = json!({ "type": "http", "url": "u", "headers": { "a": "b" } });
        for (dialect, expected) in [
            (Dialect::Claude, http.clone()),
            (Dialect::Codex, json!({ "url": "u", "http_headers": { "a": "b" } })),
            (Dialect::Gemini, json!({ "headers": { "a": "b" }, "httpUrl": "u" })),
            (
                Dialect::Copilot,
                json!({ "type": "http", "url": "u", "headers": { "a": "b" }, "tools": ["*"] }),
            ),
        ] {
            assert_eq!(to_dialect(dialect, &http), Some(expected), "{dialect}");
        }
        let sse = json!({ "type": "sse", "url": "u" });
        assert_eq!(to_dialect(Dialect::Codex, &sse), None);
        assert_eq!(to_dialect(Dialect::Gemini, &sse), Some(json!({ "url": "u" })));
        assert_eq!(
            from_dialect(Dialect::Gemini, &json!({ "url": "u" })),
            json!({ "url": "u", "type": "sse" })
        );
    }
}

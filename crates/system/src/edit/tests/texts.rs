//! Random texts: the same value, written in any of many ways.

use super::*;

/// Numbers to decide how a text is written.
struct Whims(std::vec::IntoIter<u8>);

impl Whims {
    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[usize::from(self.0.next().unwrap_or(0)) % from.len()]
    }
}

/// JSON with white space and comments in every place where they may be.
fn json_text(value: &Value, whims: &mut Whims) -> String {
    let nl = whims.pick(&["\n", "\r\n"]);
    let body = json_part(value, whims, nl, 0);
    format!("{}{body}{}", trivia(whims, nl, 0), trivia(whims, nl, 0))
}

fn trivia(whims: &mut Whims, nl: &str, depth: usize) -> String {
    let indent = whims.pick(&["  ", "\t", "    "]).repeat(depth);
    match whims
        .pick(&["none", "none", "space", "line", "line", "line", "//", "/*", "above", "both"])
    {
        "space" => " ".to_owned(),
        "line" => format!("{nl}{indent}"),
        "//" => format!(" // c{nl}{indent}"),
        "/*" => " /* c */ ".to_owned(),
        "above" => format!("{nl}{indent}// c{nl}{nl}{indent}"),
        "both" => format!("/* c{nl} */{nl}{indent}"),
        _ => String::new(),
    }
}

fn json_part(value: &Value, whims: &mut Whims, nl: &str, depth: usize) -> String {
    let (open, close) = match value {
        Value::Object(_) => ("{", "}"),
        Value::Array(_) => ("[", "]"),
        other => return other.to_string(),
    };
    let mut items = Vec::new();
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                let gap = trivia(whims, nl, depth);
                let value = json_part(value, whims, nl, depth + 1);
                items.push(format!("{}:{gap}{value}", Value::from(key.as_str())));
            }
        }
        Value::Array(list) => {
            items.extend(list.iter().map(|item| json_part(item, whims, nl, depth + 1)));
        }
        _ => {}
    }
    let mut out = open.to_owned();
    for (index, item) in items.iter().enumerate() {
        out += &trivia(whims, nl, depth + 1);
        out += item;
        out += &trivia(whims, nl, depth);
        if index + 1 < items.len() || whims.pick(&["", "", ","]) == "," {
            out += ",";
        }
    }
    out + &trivia(whims, nl, depth) + close
}

/// TOML with sections, dotted keys, inline tables and comments.
fn toml_text(value: &Value, whims: &mut Whims) -> String {
    let nl = whims.pick(&["\n", "\r\n"]);
    let mut out = String::new();
    toml_part(value, &KeyPath::default(), whims, nl, &mut out);
    out + whims.pick(&["", "\n", "# end", "# end\n", "\n\n# end\n\n"])
}

fn toml_part(value: &Value, at: &KeyPath, whims: &mut Whims, nl: &str, out: &mut String) {
    let Value::Object(entries) = value else { return };
    let quoted =
        |key: &str| if is_bare(key) { key.to_owned() } else { Value::from(key).to_string() };
    let mut later = Vec::new();
    for (key, value) in entries {
        *out += whims.pick(&["", "", "\n", "# c\n", "\n# c\n\n"]);
        match (value, whims.pick(&["section", "section", "inline", "dotted"])) {
            (Value::Object(_), "section") => {
                later.push((at.join(key), "[", "]", value));
                continue;
            }
            (Value::Array(items), "section")
                if !items.is_empty() && items.iter().all(Value::is_object) =>
            {
                later.extend(items.iter().map(|item| (at.join(key), "[[", "]]", item)));
                continue;
            }
            (Value::Object(inner), "dotted") if !inner.is_empty() => {
                for (name, value) in inner {
                    let value = toml_inline(value, whims, nl);
                    *out += &format!("{}.{} = {value}{nl}", quoted(key), quoted(name));
                }
                continue;
            }
            _ => {}
        }
        let end = whims.pick(&["", "", " # c", "  "]);
        *out += &format!("{} = {}{end}{nl}", quoted(key), toml_inline(value, whims, nl));
    }
    for (at, open, close, value) in later {
        *out += whims.pick(&["", "\n", "\n\n", "# c\n", "\n# c\n"]);
        let header: Vec<_> = at.keys().iter().map(|key| quoted(key)).collect();
        *out += &format!("{open}{}{close}{}{nl}", header.join("."), whims.pick(&["", " # c"]));
        toml_part(value, &at, whims, nl, out);
    }
}

fn toml_inline(value: &Value, whims: &mut Whims, nl: &str) -> String {
    match value {
        Value::Array(items) => {
            let lines = whims.pick(&["one", "lines"]) == "lines";
            let (before, after) = if lines { (format!("{nl}  "), nl) } else { (String::new(), "") };
            let last = whims.pick(&["", ","]);
            let last = if items.is_empty() { "" } else { last };
            let items: Vec<_> =
                items.iter().map(|item| before.clone() + &toml_inline(item, whims, nl)).collect();
            format!("[{}{last}{after}]", items.join(", "))
        }
        Value::Object(entries) => {
            let key = |key: &str| Value::from(key).to_string();
            let entries: Vec<_> = entries
                .iter()
                .map(|(name, value)| format!("{} = {}", key(name), toml_inline(value, whims, nl)))
                .collect();
            let pad = whims.pick(&["", " "]);
            format!("{{{pad}{}{pad}}}", entries.join(", "))
        }
        Value::String(text) => Value::from(text.as_str()).to_string(),
        other => other.to_string(),
    }
}

/// YAML in block style, with flow style here and there.
fn yaml_text(value: &Value, whims: &mut Whims) -> String {
    let nl = whims.pick(&["\n", "\r\n"]);
    let mut out = whims.pick(&["", "---\n", "# c\n"]).to_owned();
    let unit = whims.pick(&["  ", "    "]);
    if let Value::Object(entries) = value {
        yaml_part(entries, whims, nl, unit, 0, &mut out);
    }
    out + whims.pick(&["", "\n", "# end", "# end\n"])
}

fn yaml_part(
    entries: &serde_json::Map<String, Value>,
    whims: &mut Whims,
    nl: &str,
    unit: &str,
    depth: usize,
    out: &mut String,
) {
    let indent = unit.repeat(depth);
    for (key, value) in entries {
        *out += whims.pick(&["", "", "\n", "# c\n", "\n  # c\n"]);
        let key = if is_bare(key) { key.clone() } else { Value::from(key.as_str()).to_string() };
        let end = whims.pick(&["", "", " # c", "  "]);
        match value {
            Value::Object(inner)
                if !inner.is_empty() && whims.pick(&["block", "block", "flow"]) == "block" =>
            {
                *out += &format!("{indent}{key}:{end}{nl}");
                yaml_part(inner, whims, nl, unit, depth + 1, out);
            }
            Value::Array(items)
                if !items.is_empty() && whims.pick(&["block", "flow"]) == "block" =>
            {
                *out += &format!("{indent}{key}:{end}{nl}");
                let dent = whims.pick(&["", "  "]);
                for item in items {
                    *out += &format!("{indent}{dent}- {item}{}{nl}", whims.pick(&["", " # c"]));
                }
            }
            Value::String(text)
                if is_bare(text) && text.starts_with(|c: char| c.is_ascii_alphabetic()) =>
            {
                *out += &format!("{indent}{key}: |{nl}{indent}  x{text}{nl}");
            }
            other => *out += &format!("{indent}{key}: {other}{end}{nl}"),
        }
    }
}

/// A text that says `value`, written in any of many ways.
pub(super) fn text(format: Format, value: &Value, whims: Vec<u8>) -> String {
    let whims = &mut Whims(whims.into_iter());
    match format {
        Format::Json => json_text(value, whims),
        Format::Toml => toml_text(value, whims),
        Format::Yaml => yaml_text(value, whims),
    }
}

//! JSON schemas as compact TypeScript declarations: models read these well, and they cost a fraction of the schema.
//!
//! Not everything that a schema can say has a type. What has none becomes `unknown`, never an error: the server that is called checks
//! its input itself.

use serde_json::Value;

/// Deeper than this, a type is `unknown`.
const MAX_DEPTH: usize = 6;
/// Of longer descriptions only so many characters are shown.
const MAX_COMMENT: usize = 300;

/// A function `name` with its input as the only argument, after what it does.
#[must_use]
pub fn function(name: &str, description: &str, input: &Value) -> String {
    let comment = comment(description);
    let comment = if comment.is_empty() { comment } else { format!("/** {comment} */\n") };
    let takes_nothing = input["properties"].as_object().is_none_or(serde_json::Map::is_empty)
        && input.get("additionalProperties").is_none_or(|it| *it == Value::Bool(false));
    let input = if takes_nothing && is_object(input) {
        String::new()
    } else {
        format!("input: {}", Types { root: input }.of(input, 0))
    };
    format!("{comment}{name}({input})")
}

/// In one line, and without anything that would end a comment.
fn comment(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ").replace("*/", "* /");
    if line.chars().count() <= MAX_COMMENT {
        return line;
    }
    let mut cut: String = line.chars().take(MAX_COMMENT - 1).collect();
    cut.push('…');
    cut
}

fn is_object(schema: &Value) -> bool {
    schema["type"] == "object" || schema.get("properties").is_some()
}

struct Types<'s> {
    root: &'s Value,
}

impl Types<'_> {
    fn of(&self, schema: &Value, depth: usize) -> String {
        if depth > MAX_DEPTH {
            return "unknown".to_owned();
        }
        if let Some(target) = schema["$ref"].as_str() {
            // A reference that leads in a circle ends at the depth.
            let found = target.strip_prefix('#').and_then(|it| self.root.pointer(it));
            return found.map_or_else(|| "unknown".to_owned(), |it| self.of(it, depth + 1));
        }
        if let Some(value) = schema.get("const") {
            return value.to_string();
        }
        if let Some(values) = schema["enum"].as_array() {
            return union(values.iter().map(Value::to_string));
        }
        for (key, sign) in [("anyOf", " | "), ("oneOf", " | "), ("allOf", " & ")] {
            if let Some(all) = schema[key].as_array() {
                let all = all.iter().map(|it| self.of(it, depth + 1));
                return if sign == " | " { union(all) } else { all.collect::<Vec<_>>().join(sign) };
            }
        }
        match &schema["type"] {
            Value::String(kind) => self.kind(kind, schema, depth),
            Value::Array(kinds) => {
                let kinds = kinds.iter().filter_map(Value::as_str);
                union(kinds.map(|kind| self.kind(kind, schema, depth)))
            }
            _ if is_object(schema) => self.object(schema, depth),
            _ => "unknown".to_owned(),
        }
    }

    fn kind(&self, kind: &str, schema: &Value, depth: usize) -> String {
        match kind {
            "string" | "boolean" | "null" => kind.to_owned(),
            "number" | "integer" => "number".to_owned(),
            "array" => {
                let item = schema.get("items").map(|it| self.of(it, depth + 1));
                let item = item.unwrap_or_else(|| "unknown".to_owned());
                if item.contains(['|', '&']) { format!("({item})[]") } else { format!("{item}[]") }
            }
            "object" => self.object(schema, depth),
            _ => "unknown".to_owned(),
        }
    }

    fn object(&self, schema: &Value, depth: usize) -> String {
        let required = schema["required"].as_array();
        let is_required =
            |name: &str| required.is_some_and(|all| all.iter().any(|it| it.as_str() == Some(name)));
        let properties = schema["properties"].as_object();
        let mut parts: Vec<String> = properties
            .into_iter()
            .flatten()
            .map(|(name, property)| {
                let said = comment(property["description"].as_str().unwrap_or_default());
                let said = if said.is_empty() { said } else { format!(" /* {said} */") };
                let optional = if is_required(name) { "" } else { "?" };
                format!("{}{optional}: {}{said}", key(name), self.of(property, depth + 1))
            })
            .collect();
        match &schema["additionalProperties"] {
            Value::Bool(true) => parts.push("[key: string]: unknown".to_owned()),
            others @ Value::Object(_) => {
                parts.push(format!("[key: string]: {}", self.of(others, depth + 1)));
            }
            _ => {}
        }
        if parts.is_empty() {
            return "object".to_owned();
        }
        format!("{{ {} }}", parts.join("; "))
    }
}

/// Each type once.
fn union(types: impl Iterator<Item = String>) -> String {
    let mut all: Vec<String> = Vec::new();
    for it in types {
        if !all.contains(&it) {
            all.push(it);
        }
    }
    if all.is_empty() { "unknown".to_owned() } else { all.join(" | ") }
}

/// A name of a property as TypeScript writes it.
fn key(name: &str) -> String {
    let plain = name.chars().enumerate().all(|(at, c)| {
        c == '_' || c == '$' || c.is_ascii_alphabetic() || (at > 0 && c.is_ascii_digit())
    });
    if plain && !name.is_empty() { name.to_owned() } else { Value::from(name).to_string() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(schema: &Value, expected: &str) {
        assert_eq!(function("f", "", schema), format!("f({expected})"));
    }

    #[test]
    fn types_as_people_write_them() {
        check(&json!({"type": "object"}), "");
        check(
            &json!({"type": "object", "additionalProperties": true}),
            "input: { [key: string]: unknown }",
        );
        check(
            &json!({"properties": {"a": {"type": "string"}, "b-c": {"type": ["integer", "null"]}}, "required": ["a"]}),
            "input: { a: string; \"b-c\"?: number | null }",
        );
        check(
            &json!({"type": "object", "properties": {
                "kind": {"enum": ["x", "y", 3]},
                "many": {"type": "array", "items": {"anyOf": [{"type": "string"}, {"const": null}]}},
            }}),
            "input: { kind?: \"x\" | \"y\" | 3; many?: (string | null)[] }",
        );
        check(
            &json!({
                "$defs": {"p": {"type": "object", "properties": {"x": {"type": "number", "description": "from\nthe left"}}, "required": ["x"]}},
                "type": "object", "properties": {"at": {"$ref": "#/$defs/p"}}, "required": ["at"],
            }),
            "input: { at: { x: number /* from the left */ } }",
        );
    }

    #[test]
    fn what_has_no_type_is_unknown_and_circles_end() {
        check(
            &json!({"properties": {"a": {}, "b": {"$ref": "http://x"}, "c": {"type": "odd"}}}),
            "input: { a?: unknown; b?: unknown; c?: unknown }",
        );
        let circle = json!({"type": "object", "properties": {"next": {"$ref": "#"}}});
        let told = function("f", "", &circle);
        assert!(told.ends_with("unknown } } } })") && told.len() < 200, "{told}");
        for odd in
            [json!(null), json!(true), json!([]), json!({"type": {}, "required": 3, "enum": {}})]
        {
            assert!(function("f", "", &odd).starts_with("f("), "{odd}");
        }
    }

    #[test]
    fn a_description_cannot_end_its_comment() {
        let told = function("f", "a */ evil() /*\nb", &json!({"type": "object"}));
        assert_eq!(told, "/** a * / evil() /* b */\nf()");
        assert!(function("f", &"x".repeat(1000), &json!({"type": "object"})).len() < 400);
    }
}

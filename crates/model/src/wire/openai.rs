//! What both of OpenAI's wire formats have in common.

use serde_json::Value;

use super::Dialect;
use crate::request::{Effort, Request};

/// Whether a model of OpenAI thinks at all; one that does not refuses to be told how much.
pub(super) fn is_reasoning(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    let old = ["gpt-3", "gpt-4", "chatgpt-4", "davinci", "babbage"];
    !old.iter().any(|it| name.starts_with(it)) && !name.contains("-chat-latest")
}

/// The word for how much to think. Each generation of models has its own smallest and largest.
pub(super) fn effort(request: &Request, dialect: Dialect) -> Option<&'static str> {
    let effort = request.effort?;
    let name = request.model.rsplit('/').next().unwrap_or(&request.model);
    if dialect == Dialect::Official && !is_reasoning(name) {
        return None;
    }
    let is_o = name.starts_with("o1") || name.starts_with("o3") || name.starts_with("o4");
    let is_five = name == "gpt-5" || name.starts_with("gpt-5-");
    let is_five_one = name.starts_with("gpt-5.1");
    Some(match effort {
        Effort::None if is_o => "low",
        Effort::None if is_five => "minimal",
        Effort::None => "none",
        Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High => "high",
        Effort::Max if dialect == Dialect::Compatible || is_o || is_five || is_five_one => "high",
        Effort::Max => "xhigh",
    })
}

/// Whether a schema is of the kind that OpenAI can enforce: every object closed, every property required. Any other
/// one is refused when it is asked for strictly.
pub(super) fn is_strict(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => {
            let is_object = fields.get("type").is_some_and(|it| it == "object")
                || fields.contains_key("properties");
            let closed = fields.get("additionalProperties") == Some(&Value::Bool(false));
            let names = fields.get("properties").and_then(Value::as_object);
            let required = fields.get("required").and_then(Value::as_array);
            let all = names.is_none_or(|names| {
                names.keys().all(|name| required.is_some_and(|it| it.iter().any(|it| it == name)))
            });
            let unknown = ["oneOf", "allOf", "not", "if", "patternProperties"];
            (!is_object || (closed && all))
                && !unknown.iter().any(|it| fields.contains_key(*it))
                && fields.iter().all(|(key, value)| match (key.as_str(), value) {
                    ("enum" | "const" | "default" | "examples", _) => true,
                    ("properties" | "$defs" | "definitions", Value::Object(inner)) => {
                        inner.values().all(is_strict)
                    }
                    _ => is_strict(value),
                })
        }
        Value::Array(items) => items.iter().all(is_strict),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn strict_is_what_is_closed_and_required_all_the_way_down() {
        let closed = json!({
            "type": "object",
            "properties": {"a": {"type": "string"}, "properties": {"enum": ["x"]}},
            "required": ["a", "properties"],
            "additionalProperties": false,
        });
        assert!(is_strict(&closed));
        assert!(is_strict(
            &json!({"type": "array", "items": closed, "default": {"type": "object"}})
        ));
        for (key, value) in [
            ("required", json!(["a"])),
            ("additionalProperties", json!(true)),
            ("oneOf", json!([])),
            ("$defs", json!({"open": {"type": "object"}})),
        ] {
            let mut open = closed.clone();
            open[key] = value;
            assert!(!is_strict(&open), "{key}");
            assert!(!is_strict(&json!({"anyOf": [{"type": "null"}, open]})), "{key}");
        }
    }

    #[test]
    fn each_generation_has_its_words() {
        let word = |model: &str, effort, dialect| {
            super::effort(&Request::new(model).with_effort(effort), dialect).unwrap_or("-")
        };
        let row = |model| {
            [Effort::None, Effort::Low, Effort::Medium, Effort::High, Effort::Max]
                .map(|effort| word(model, effort, Dialect::Official))
        };
        assert_eq!(row("gpt-4.1"), ["-"; 5]);
        assert_eq!(row("o3"), ["low", "low", "medium", "high", "high"]);
        assert_eq!(row("gpt-5-mini"), ["minimal", "low", "medium", "high", "high"]);
        assert_eq!(row("gpt-5.1"), ["none", "low", "medium", "high", "high"]);
        assert_eq!(row("gpt-5.4"), ["none", "low", "medium", "high", "xhigh"]);
        assert_eq!(word("qwen3", Effort::Max, Dialect::Compatible), "high");
    }
}

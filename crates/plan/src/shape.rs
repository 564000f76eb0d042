//! What a value can be, by its JSON Schema: enough to tell that a field can never be there, and no more.
//!
//! Whatever is not understood is possible. A finding is only made of what the schema rules out.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::reference::Step;

/// How many references of a schema are followed.
const MAX_DEPTH: usize = 16;

/// Where steps into a value lead.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Reach {
    /// To something of this schema; `true` for anything.
    Schema(Value),
    /// Nowhere, and why.
    Nowhere(String),
}

/// Follows steps into whatever a schema describes.
pub(crate) fn reach(schema: &Value, path: &[Step]) -> Reach {
    let mut here = schema.clone();
    for step in path {
        match into(&here, schema, step, 0) {
            Reach::Schema(next) => here = next,
            nowhere @ Reach::Nowhere(_) => return nowhere,
        }
    }
    Reach::Schema(here)
}

fn into(schema: &Value, root: &Value, step: &Step, depth: usize) -> Reach {
    let anything = || Reach::Schema(Value::Bool(true));
    let Value::Object(keys) = schema else { return anything() };
    if depth > MAX_DEPTH {
        return anything();
    }
    if let Some(target) = keys.get("$ref").and_then(Value::as_str) {
        let found = target.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
        return found.map_or_else(anything, |it| into(it, root, step, depth + 1));
    }
    for word in ["anyOf", "oneOf"] {
        let Some(choices) = keys.get(word).and_then(Value::as_array) else { continue };
        let mut ways: Vec<Reach> =
            choices.iter().map(|it| into(it, root, step, depth + 1)).collect();
        // If one of them leads somewhere, the value may be that one; if several do, it may be anything of them.
        let open: Vec<usize> =
            (0..ways.len()).filter(|at| matches!(ways[*at], Reach::Schema(_))).collect();
        return match open.as_slice() {
            [] => ways.pop().unwrap_or_else(anything),
            [one] => ways.swap_remove(*one),
            _ => anything(),
        };
    }
    if let Some(parts) = keys.get("allOf").and_then(Value::as_array) {
        let ways = parts.iter().map(|it| into(it, root, step, depth + 1));
        let mut known = None;
        for way in ways {
            match way {
                Reach::Nowhere(why) => return Reach::Nowhere(why),
                Reach::Schema(Value::Bool(true)) => {}
                Reach::Schema(schema) => known = Some(schema),
            }
        }
        if let Some(schema) = known {
            return Reach::Schema(schema);
        }
    }
    let wanted = match step {
        Step::Key(_) => "object",
        Step::At(_) => "array",
    };
    if let Some(types) = types(schema).filter(|it| !it.contains(wanted)) {
        let found = types.into_iter().collect::<Vec<_>>().join(" or ");
        return Reach::Nowhere(match step {
            Step::Key(key) => format!("it is {}, so it has no `{key}`", with_article(&found)),
            Step::At(_) => format!("it is {}, not a list", with_article(&found)),
        });
    }
    match step {
        Step::Key(key) => {
            let properties = keys.get("properties").and_then(Value::as_object);
            if let Some(schema) = properties.and_then(|it| it.get(key)) {
                return Reach::Schema(schema.clone());
            }
            match keys.get("additionalProperties") {
                Some(Value::Bool(false)) if !keys.contains_key("patternProperties") => {
                    let known: Vec<&String> =
                        properties.into_iter().flat_map(serde_json::Map::keys).collect();
                    Reach::Nowhere(missing(key, &known))
                }
                Some(schema @ Value::Object(_)) => Reach::Schema(schema.clone()),
                // A schema that names its properties and says nothing about others: that it means others, too, is not what
                // people think.
                None if properties.is_some_and(|it| !it.is_empty())
                    && !keys.contains_key("patternProperties") =>
                {
                    let known: Vec<&String> =
                        properties.into_iter().flat_map(serde_json::Map::keys).collect();
                    Reach::Nowhere(missing(key, &known))
                }
                _ => anything(),
            }
        }
        Step::At(_) => match keys.get("items") {
            Some(schema @ Value::Object(_)) => Reach::Schema(schema.clone()),
            _ => anything(),
        },
    }
}

fn missing(key: &str, known: &[&String]) -> String {
    let near = agents_system::nearest::nearest(key, known.iter().map(|it| it.as_str()));
    let named =
        if near.is_empty() { known.iter().map(|it| it.as_str()).collect::<Vec<_>>() } else { near };
    match named.as_slice() {
        [] => format!("it has no `{key}`"),
        named => {
            let named = agents_system::nearest::quoted_list(named, "and");
            format!("it has no `{key}`, but {named}")
        }
    }
}

fn with_article(words: &str) -> String {
    let article = if words.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {words}")
}

/// The types that a value can have; `None` if it can be anything.
pub(crate) fn types(schema: &Value) -> Option<BTreeSet<&str>> {
    match schema.get("type") {
        Some(Value::String(one)) => Some(BTreeSet::from([one.as_str()])),
        Some(Value::Array(several)) => Some(several.iter().filter_map(Value::as_str).collect()),
        _ => None,
    }
}

/// Whether two values can be compared so that the answer is not always the same.
pub(crate) fn comparable(one: &Value, other: &Value) -> bool {
    let (Some(one), Some(other)) = (types(one), types(other)) else { return true };
    let number = |it: &&str| matches!(*it, "integer" | "number");
    one.intersection(&other).next().is_some()
        || (one.iter().any(number) && other.iter().any(number))
}

/// The schema of a value that is known.
pub(crate) fn schema_of(value: &Value) -> Value {
    let word = match value {
        Value::Null => return Value::Bool(true),
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    json!({ "type": word })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(schema: &Value, path: &[&str]) -> Reach {
        let step = |it: &&str| it.parse().map_or_else(|_| Step::Key((*it).to_owned()), Step::At);
        reach(schema, &path.iter().map(step).collect::<Vec<_>>())
    }

    #[test]
    fn steps_lead_to_what_the_schema_says() {
        let schema = json!({
            "$defs": { "row": { "type": "object", "properties": { "n": { "type": "integer" } } } },
            "type": "object",
            "properties": {
                "rows": { "type": "array", "items": { "$ref": "#/$defs/row" } },
                "free": {},
                "either": { "anyOf": [{ "type": "null" }, { "type": "object", "properties": { "x": { "type": "string" } } }] },
                "map": { "type": "object", "additionalProperties": { "type": "boolean" } },
            },
        });
        assert_eq!(to(&schema, &["rows", "3", "n"]), Reach::Schema(json!({ "type": "integer" })));
        assert_eq!(to(&schema, &["free", "what", "ever"]), Reach::Schema(json!(true)));
        assert_eq!(to(&schema, &["either", "x"]), Reach::Schema(json!({ "type": "string" })));
        assert_eq!(to(&schema, &["map", "k"]), Reach::Schema(json!({ "type": "boolean" })));
        let nowhere = |path: &[&str]| match to(&schema, path) {
            Reach::Nowhere(why) => why,
            Reach::Schema(schema) => panic!("{schema}"),
        };
        assert_eq!(nowhere(&["row"]), "it has no `row`, but `rows`");
        assert_eq!(nowhere(&["rows", "n"]), "it is an array, so it has no `n`");
        assert_eq!(
            nowhere(&["rows", "0", "n", "deeper"]),
            "it is an integer, so it has no `deeper`"
        );
        assert_eq!(nowhere(&["map", "k", "0"]), "it is a boolean, not a list");
    }

    #[test]
    fn a_schema_that_refers_to_itself_ends() {
        let schema = json!({ "$ref": "#" });
        assert_eq!(to(&schema, &["x"]), Reach::Schema(json!(true)));
    }
}

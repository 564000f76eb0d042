//! `yield`: the tool that an agent hands in its result with.
//!
//! It is the loop's own: no rights take it away, and no executor runs it.

use agents_model::{ToolInput, ToolSpec};
use agents_system::nested;
use serde_json::{Map, Value, json};

use crate::schema::{Issue, Schema};

/// The name that is reserved for it.
pub const YIELD: &str = "yield";

/// What an agent handed in.
#[derive(Debug, Clone, PartialEq)]
pub enum Submission {
    /// A result that is what the schema says, if there is one.
    Result(Value),
    /// It could not be done.
    GaveUp(String),
}

/// What is wrong with what an agent handed in.
#[derive(Debug, Clone, PartialEq)]
pub enum Wrong {
    /// Nobody knows what it is.
    Call(&'static str),
    /// It is not what the schema says.
    Result {
        /// What it is.
        value: Value,
        /// Everything that is wrong with it.
        issues: Vec<Issue>,
    },
}

impl Wrong {
    /// What the agent is told, while it can still do better.
    #[must_use]
    pub fn told(&self) -> String {
        match self {
            Self::Call(what) => format!("`{YIELD}` was not understood: {what}"),
            Self::Result { issues, .. } => {
                let lines: Vec<String> = issues.iter().map(|it| format!("- {it}")).collect();
                format!(
                    "the result is not what its schema says:\n{}\ncall `{YIELD}` again with all of it",
                    lines.join("\n")
                )
            }
        }
    }
}

/// The tool as the model is shown it.
#[must_use]
pub fn spec(schema: Option<&Schema>) -> ToolSpec {
    let data = schema.map_or_else(
        || json!({ "description": "The result, of any type." }),
        |schema| schema.json().clone(),
    );
    let mut input = json!({
        "type": "object",
        "properties": {
            "data": data,
            "error": { "type": "string", "description": "Why it cannot be done. Not together with `data`." },
        },
    });
    // References inside a schema are from its root: it takes its definitions along.
    for key in ["$defs", "definitions"] {
        let moved = input["properties"]["data"].as_object_mut().and_then(|it| it.shift_remove(key));
        if let Some(moved) = moved {
            input[key] = moved;
        }
    }
    ToolSpec {
        name: YIELD.to_owned(),
        description: "Hands in your result and ends your work. Call it once, at the very end, with either `data` or `error`."
            .to_owned(),
        schema: input,
    }
}

/// Reads a call of the tool: `{data}` or `{error}`, also inside of `{result}`, and the result itself where a schema makes clear
/// that it is one.
///
/// # Errors
/// What is wrong with it.
pub fn read(input: &ToolInput, schema: Option<&Schema>) -> Result<Submission, Wrong> {
    let ToolInput::Json(Value::Object(whole)) = input else {
        return Err(Wrong::Call("its input is not a JSON object"));
    };
    let inner = match whole.get("result") {
        Some(Value::Object(inner)) if whole.len() == 1 => inner,
        _ => whole,
    };
    let error = inner.get("error").and_then(Value::as_str).map(str::trim);
    let error = error.filter(|it| !it.is_empty());
    let data = inner.get("data").filter(|it| !it.is_null());
    match (data, error) {
        (Some(_), Some(_)) => Err(Wrong::Call("it has both `data` and `error`")),
        (None, Some(reason)) => Ok(Submission::GaveUp(reason.to_owned())),
        (Some(data), None) => accept(data.clone(), schema),
        (None, None) => bare(whole, schema),
    }
}

/// Models leave the wrapping out.
fn bare(whole: &Map<String, Value>, schema: Option<&Schema>) -> Result<Submission, Wrong> {
    let value = Value::Object(whole.clone());
    match schema {
        Some(schema) if !whole.is_empty() && schema.issues(&value).is_empty() => {
            Ok(Submission::Result(value))
        }
        _ => Err(Wrong::Call("it has neither `data` nor `error`")),
    }
}

fn accept(value: Value, schema: Option<&Schema>) -> Result<Submission, Wrong> {
    let Some(schema) = schema else { return Ok(Submission::Result(value)) };
    let issues = schema.issues(&value);
    if issues.is_empty() {
        return Ok(Submission::Result(value));
    }
    // Models write JSON into a text.
    if let Value::String(text) = &value
        && let Some(inner) = valid_json(text, schema)
    {
        return Ok(Submission::Result(inner));
    }
    Err(Wrong::Result { value, issues })
}

/// The value that a text is, if it is what a schema says: alone, between the fences of a code block, or as its `data`.
#[must_use]
pub fn valid_json(text: &str, schema: &Schema) -> Option<Value> {
    let text = text.trim();
    let fenced = text.strip_prefix("```json").or_else(|| text.strip_prefix("```"));
    let text = fenced.and_then(|it| it.strip_suffix("```")).unwrap_or(text);
    let value = nested::parse(text)?;
    if let Some(data) = value.get("data")
        && schema.issues(data).is_empty()
    {
        return Some(data.clone());
    }
    let fine = !value.is_null() && schema.issues(&value).is_empty();
    fine.then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> Schema {
        Schema::compile(&json!({ "properties": { "n": { "type": "uint8" } } })).unwrap()
    }

    fn json(value: Value) -> ToolInput {
        ToolInput::Json(value)
    }

    #[test]
    fn either_data_or_error() {
        let result = |value| Ok(Submission::Result(value));
        let gave_up = Ok(Submission::GaveUp("no".to_owned()));
        for (input, expected) in [
            (json!({ "data": "x" }), result(json!("x"))),
            (json!({ "data": false }), result(json!(false))),
            (json!({ "result": { "data": [1] } }), result(json!([1]))),
            (json!({ "error": "no" }), gave_up.clone()),
            (json!({ "result": { "error": "no" } }), gave_up),
            (json!({ "data": "x", "error": "" }), result(json!("x"))),
            (json!({ "data": "x", "error": null }), result(json!("x"))),
            (json!({ "data": 1, "error": "no" }), Err("it has both `data` and `error`")),
            (json!({}), Err("it has neither `data` nor `error`")),
            (json!({ "data": null }), Err("it has neither `data` nor `error`")),
            (json!({ "summary": "x" }), Err("it has neither `data` nor `error`")),
            (json!([]), Err("its input is not a JSON object")),
        ] {
            assert_eq!(read(&json(input.clone()), None), expected.map_err(Wrong::Call), "{input}");
        }
        let raw = read(&ToolInput::Raw("{".to_owned()), None);
        assert_eq!(raw, Err(Wrong::Call("its input is not a JSON object")));
    }

    #[test]
    fn a_result_is_checked_and_what_is_meant_is_understood() {
        let schema = schema();
        let good = Ok(Submission::Result(json!({ "n": 1 })));
        for input in [
            json!({ "data": { "n": 1 } }),
            json!({ "n": 1 }),
            json!({ "data": "{\"n\": 1}" }),
            json!({ "data": "```json\n{\"n\": 1}\n```" }),
        ] {
            assert_eq!(read(&json(input.clone()), Some(&schema)), good, "{input}");
        }
        let wrong =
            read(&json(json!({ "data": { "n": 300, "m": 1 } })), Some(&schema)).unwrap_err();
        let told = wrong.told();
        assert!(told.contains("- /n: 300"), "{told}");
        assert!(told.contains("'m'"), "{told}");
        assert!(matches!(
            read(&json(json!({ "data": "null" })), Some(&schema)),
            Err(Wrong::Result { .. })
        ));
    }

    #[test]
    fn a_result_that_could_not_be_kept_is_none() {
        let anything = Schema::compile(&json!(true)).unwrap();
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(valid_json(&nested(nested::MAX_DEPTH), &anything).is_some());
        assert!(valid_json(&nested(nested::MAX_DEPTH + 1), &anything).is_none());
    }

    #[test]
    fn references_in_a_schema_still_lead_somewhere() {
        let schema = Schema::compile(&json!({
            "definitions": { "name": { "type": "string" } },
            "elements": { "ref": "name" },
        }))
        .unwrap();
        let spec = spec(Some(&schema));
        let whole = Schema::compile(&spec.schema).unwrap();
        assert_eq!(whole.issues(&json!({ "data": ["a"] })), []);
        assert_ne!(whole.issues(&json!({ "data": [1] })), []);
    }
}

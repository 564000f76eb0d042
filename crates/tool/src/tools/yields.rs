//! `yield`: how an agent hands in what it was asked for.
//!
//! The tool understands what is handed in and gives it to a [`Receiver`]; whether it is what the schema asks for, how often that may
//! be tried again and what becomes of the agent is the receiver's to decide.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};

use crate::{
    context::CallContext,
    policy::Effects,
    tool::{Intent, Output, Tool, ToolError},
};

/// What an agent hands in.
#[derive(Debug, Clone, PartialEq)]
pub enum Submission {
    /// The result.
    Result(Value),
    /// A part of the result, under these labels; more may follow.
    Section {
        /// The properties of the result that it belongs to.
        labels: Vec<String>,
        /// The part.
        data: Value,
    },
    /// What it said last is the result, with a label if it gave one.
    LastText(Option<String>),
    /// It could not be done, for this reason.
    Failure(String),
}

/// Whoever waits for it.
pub trait Receiver: Send + Sync {
    /// Takes it, or says what is wrong with it, so that the agent can try again. Gives what the agent is told.
    fn receive(&self, submission: Submission) -> BoxFuture<'_, Result<String, String>>;
}

/// Hands in a result.
pub struct Yield {
    schema: Option<Value>,
    receiver: Arc<dyn Receiver>,
}

impl Yield {
    /// For a result with this schema, if there is one.
    #[must_use]
    pub fn new(schema: Option<Value>, receiver: Arc<dyn Receiver>) -> Self {
        Self { schema, receiver }
    }
}

impl Tool for Yield {
    fn name(&self) -> &'static str {
        "yield"
    }

    fn description(&self) -> &'static str {
        "Hands in your result and ends your work. Give `data`; or `error` if it cannot be done, with the reason. With a list of names as `type`, `data` is \
         only that part of the result and you go on. Without `data` and with a name as `type`, what you said last is the result."
    }

    fn schema(&self) -> Arc<Value> {
        let data = self.schema.clone().unwrap_or_else(|| json!({}));
        let schema = json!({
            "type": "object",
            "properties": {
                "data": data,
                "error": {"type": "string", "description": "Why it could not be done; instead of `data`."},
                "type": {
                    "description": "The parts of the result that `data` is, as a list; or a name for what you said last.",
                    "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
                },
            },
        });
        schema.into()
    }

    fn intent(&self, input: &Value, _: &CallContext) -> Result<Intent, ToolError> {
        parse(input).map(|_| Intent::plain(Effects::NONE))
    }

    fn call<'a>(
        &'a self,
        input: Value,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<Output, ToolError>> {
        Box::pin(async move {
            let submission = parse(&input)?;
            let received = self.receiver.receive(submission).await;
            received.map(Output::said).map_err(ToolError::failed)
        })
    }
}

/// What is handed in: `{data, error, type}`, or the older `{result: {data}}` and `{result: {error}}`.
fn parse(input: &Value) -> Result<Submission, ToolError> {
    let wrong =
        |what: &str| Err(ToolError::hinted(what, "give `data`, or `error` with the reason"));
    let empty = Map::new();
    let object = match input {
        Value::Object(object) => object,
        Value::Null => &empty,
        _ => return wrong("the input must be an object"),
    };
    let (object, older) = match object.get("result") {
        Some(Value::Object(result)) if object.len() == 1 => (result, true),
        Some(_) if object.len() == 1 => return wrong("`result` must be an object"),
        _ => (object, false),
    };
    let error = match object.get("error") {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) if text.trim().is_empty() => None,
        Some(Value::String(text)) => Some(text.clone()),
        Some(other) => Some(other.to_string()),
    };
    let data = object.get("data").filter(|it| !it.is_null()).cloned();
    let (label, labels) = match object.get("type") {
        None | Some(Value::Null) => (None, None),
        Some(Value::String(label)) => (Some(label.trim().to_owned()), None),
        Some(Value::Array(items)) => {
            let names = items.iter().map(|it| it.as_str().map(str::to_owned));
            match names.collect::<Option<Vec<_>>>() {
                Some(names) if !names.is_empty() => (None, Some(names)),
                _ => return wrong("`type` must be a name or a list of names"),
            }
        }
        Some(_) => return wrong("`type` must be a name or a list of names"),
    };
    match (data, error) {
        (Some(_), Some(_)) => wrong("there are both `data` and `error`"),
        (None, Some(error)) => Ok(Submission::Failure(error)),
        (Some(data), None) => Ok(match labels {
            Some(labels) => Submission::Section { labels, data },
            None => Submission::Result(data),
        }),
        (None, None) if labels.is_some() => wrong("a part of the result needs `data`"),
        (None, None) if older => wrong("there is neither `data` nor `error`"),
        (None, None) => Ok(Submission::LastText(label.filter(|it| !it.is_empty()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_handed_in() {
        use Submission::{Failure, LastText, Result, Section};
        let section =
            Section { labels: vec!["a".to_owned(), "b".to_owned()], data: json!({"a": 1, "b": 2}) };
        for (input, expected) in [
            (json!({"data": {"a": 1}}), Some(Result(json!({"a": 1})))),
            (json!({"data": [1], "error": ""}), Some(Result(json!([1])))),
            (json!({"data": false, "error": null}), Some(Result(json!(false)))),
            (json!({"error": "no network"}), Some(Failure("no network".to_owned()))),
            (json!({"data": null, "error": "x"}), Some(Failure("x".to_owned()))),
            (json!({"type": ["a", "b"], "data": {"a": 1, "b": 2}}), Some(section)),
            (json!({"type": "summary"}), Some(LastText(Some("summary".to_owned())))),
            (json!({"type": "summary", "data": "x"}), Some(Result(json!("x")))),
            (json!({}), Some(LastText(None))),
            (Value::Null, Some(LastText(None))),
            (json!({"result": {"data": 1}}), Some(Result(json!(1)))),
            (json!({"result": {"error": "x"}}), Some(Failure("x".to_owned()))),
            (json!({"result": {"data": 1, "error": "x"}}), None),
            (json!({"result": {"data": null}}), None),
            (json!({"result": {}}), None),
            (json!({"result": 3}), None),
            (json!({"data": 1, "error": "x"}), None),
            (json!({"type": []}), None),
            (json!({"type": ["a"]}), None),
            (json!({"type": [1], "data": 1}), None),
            (json!({"type": 7}), None),
            (json!("text"), None),
        ] {
            assert_eq!(parse(&input).ok(), expected, "{input}");
        }
    }
}

//! `request_secret`: how an agent asks.

use std::sync::Arc;

use agents_tool::{CallContext, Effects, Intent, Output, Tool, ToolError};
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Pocket, told};

/// What the tool is called.
pub const REQUEST_SECRET: &str = "request_secret";

/// Asks for a secret.
pub struct RequestSecret {
    pocket: Arc<Pocket>,
    description: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    key: String,
    #[serde(default)]
    reason: Option<String>,
}

impl RequestSecret {
    /// For the task whose pocket it is.
    #[must_use]
    pub fn new(pocket: Arc<Pocket>) -> Self {
        let names: Vec<String> =
            pocket.allowed().iter().map(|it| format!("`{}`", it.as_str())).collect();
        let description = format!(
            "Asks for a secret that you need for a command. You never see its value: once approved it is a variable in the environment of \
             the commands that name it, as in `\"$NAME\"`. You may ask for {}.",
            names.join(", ")
        );
        Self { pocket, description }
    }
}

fn input(value: &Value) -> Result<Input, ToolError> {
    Input::deserialize(value)
        .map_err(|source| ToolError::Input { tool: REQUEST_SECRET.to_owned(), source })
}

impl Tool for RequestSecret {
    fn name(&self) -> &'static str {
        REQUEST_SECRET
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn schema(&self) -> Arc<Value> {
        let schema = json!({
            "type": "object",
            "properties": {
                "key": { "type": "string", "description": "The name of the secret." },
                "reason": { "type": "string", "description": "What it is needed for, in a sentence: whoever decides reads it." },
            },
            "required": ["key"],
            "additionalProperties": false,
        });
        schema.into()
    }

    fn intent(&self, value: &Value, _: &CallContext) -> Result<Intent, ToolError> {
        input(value).map(|_| Intent::plain(Effects::NONE))
    }

    fn call<'a>(
        &'a self,
        value: Value,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<Output, ToolError>> {
        Box::pin(async move {
            let Input { key, reason } = input(&value)?;
            let answer = context.bounded(self.pocket.ask(&key, reason.as_deref())).await?;
            Ok(Output { failed: answer.is_err(), ..Output::said(told(&key, &answer)) })
        })
    }
}

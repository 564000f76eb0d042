//! `write`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::about;
use crate::{
    context::CallContext,
    policy::Effects,
    tool::{Intent, Output, ToolError, Typed},
};

/// Writes a file.
#[derive(Debug, Clone, Copy)]
pub struct Write;

/// What to write.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteInput {
    /// The file, relative to the working directory or absolute. Missing directories are made.
    pub path: String,
    /// All of its content.
    pub content: String,
}

impl Typed for Write {
    type Input = WriteInput;

    const NAME: &'static str = "write";
    const DESCRIPTION: &'static str = "Writes a whole file; one that is there is replaced. Use `edit` to change a part of a file.";

    fn intent(&self, input: &WriteInput, context: &CallContext) -> Result<Intent, ToolError> {
        about(&input.path, Effects::WRITES, context)
    }

    async fn run(&self, input: WriteInput, context: &CallContext) -> Result<Output, ToolError> {
        context
            .blocking(move |context| {
                let place = context.area.locate(&input.path)?;
                context.area.write(&place, input.content.as_bytes())?;
                let shown = context.area.shown(&place);
                Ok(Output::said(format!("wrote {} bytes to `{shown}`", input.content.len())))
            })
            .await
    }
}

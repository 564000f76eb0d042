//! `read`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{MAX_FILE, about};
use crate::{
    artifacts::ArtifactId,
    context::CallContext,
    policy::Effects,
    rights::Subject,
    tool::{Intent, Output, ToolError, Typed},
};

/// Reads a file.
#[derive(Debug, Clone, Copy)]
pub struct Read;

/// What to read.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadInput {
    /// The file, relative to the working directory or absolute; or `artifact:...`, what was left out of an earlier result.
    pub path: String,
    /// The first line to read, counted from 1.
    #[serde(default)]
    pub offset: Option<usize>,
    /// How many lines to read at most.
    #[serde(default)]
    pub limit: Option<usize>,
}

impl Typed for Read {
    type Input = ReadInput;

    const NAME: &'static str = "read";
    const DESCRIPTION: &'static str = "Reads a text file. Every line is given with its number and a tab before it, neither of which is part of the file. \
        Use `offset` and `limit` for a part of a long file. `artifact:...` reads what was left out of an earlier result.";

    fn intent(&self, input: &ReadInput, context: &CallContext) -> Result<Intent, ToolError> {
        match ArtifactId::parse(&input.path) {
            // No file: who knows the name has been shown a part of it already.
            Some(_) => Ok(Intent { subject: Subject::Tree, ..Intent::plain(Effects::READS) }),
            None => about(&input.path, Effects::READS, context),
        }
    }

    async fn run(&self, input: ReadInput, context: &CallContext) -> Result<Output, ToolError> {
        context.blocking(move |context| read(&input, context)).await
    }
}

fn read(input: &ReadInput, context: &CallContext) -> Result<Output, ToolError> {
    if let Some(id) = ArtifactId::parse(&input.path) {
        let text = context.artifacts.read(&id);
        let text =
            text.map_err(|error| ToolError::failed(format!("there is no `{id}`: {error}")))?;
        return Ok(numbered(&text, input));
    }
    let place = context.area.locate(&input.path)?;
    let bytes = context.area.read(&place, MAX_FILE)?;
    if bytes.iter().take(8 * 1024).any(|byte| *byte == 0) {
        let size = bytes.len();
        return Err(ToolError::failed(format!(
            "`{}` is not text: {size} bytes",
            context.area.shown(&place)
        )));
    }
    Ok(numbered(&String::from_utf8_lossy(&bytes), input))
}

fn numbered(text: &str, input: &ReadInput) -> Output {
    let first = input.offset.unwrap_or(1).max(1);
    let count = input.limit.unwrap_or(usize::MAX);
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut shown = String::new();
    for (index, line) in text.lines().enumerate().skip(first - 1).take(count) {
        shown.push_str(&format!("{}\t{line}\n", index + 1));
    }
    match (text.is_empty(), shown.is_empty()) {
        (true, _) => Output::said("the file is empty"),
        (false, true) => {
            Output::said(format!("there is no line {first}: there are {}", text.lines().count()))
        }
        (false, false) => Output::data(shown),
    }
}

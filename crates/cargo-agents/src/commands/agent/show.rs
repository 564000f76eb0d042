//! `cargo agents agent show <agent>`

use std::process::ExitCode;

use agents_agent::{
    Standing, bundled,
    definition::Dialect,
    render::{Loss, Rendered, render},
};
use agents_host::Host;
use agents_system::{explain::ErrorKind, finding::Finding};
use serde::Serialize;

use super::{Found, source_in_words};
use crate::{failure::Failure, output::Output};

/// `cargo agents agent show --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct AgentShowDocument {
    name: String,
    source: String,
    /// Absent for what is in the program
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// The file as it is written
    text: String,
    /// What it means, without what it may not say
    definition: serde_json::Value,
}

/// `cargo agents agent show --for <host> --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct AgentForHostDocument {
    name: String,
    /// Who it was rendered for
    host: String,
    /// What the file is called there
    file_name: String,
    text: String,
    /// What the host cannot be told
    losses: Vec<LossView>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct LossView {
    /// The same as a sentence
    message: String,
    /// Whether the agent may do more, or for longer, than its definition allows
    weakens: bool,
}

impl From<&Loss> for LossView {
    fn from(loss: &Loss) -> Self {
        Self { message: loss.to_string(), weakens: loss.weakens() }
    }
}

/// The definition as one host gets it.
pub(super) fn for_host(
    found: &Found,
    output: &Output,
    name: &str,
    host: &Host,
) -> Result<ExitCode, Failure> {
    let definition = found.agents.lookup(name)?;
    if let Some(why) = host.agents.reason() {
        let said = format!("{} has no files of agents: {why}", host.name);
        return Err(Failure::new(ErrorKind::Usage, said));
    }
    let rendered = render(definition, Dialect::of_host(&host.id));
    let Rendered { file_name, text, losses, .. } = rendered;
    if output.is_json() {
        output.document(&AgentForHostDocument {
            name: name.to_owned(),
            host: host.id.to_string(),
            file_name,
            text,
            losses: losses.iter().map(LossView::from).collect(),
        })?;
        return Ok(ExitCode::SUCCESS);
    }
    // Only the text, so that it can be written to a file.
    output.text(text)?;
    output.flush()?;
    // They were asked for, so they are no mere notes here.
    let said = |loss: &Loss| Finding::warning(format!("agent `{name}` in {}: {loss}", host.name));
    output.findings(&losses.iter().map(said).collect::<Vec<_>>());
    Ok(ExitCode::SUCCESS)
}

pub(super) fn run(found: &Found, output: &Output, name: &str) -> Result<ExitCode, Failure> {
    let definition = found.agents.lookup(name)?;
    let origin = &definition.origin;
    let text = match &origin.file {
        Some(file) => fs_err::read_to_string(file)
            .map_err(|error| Failure::new(ErrorKind::Failure, error.to_string()))?,
        None => {
            let mut files = bundled::files().into_iter();
            files.find(|file| file.name == name).map(|file| file.text).unwrap_or_default()
        }
    };
    if output.is_json() {
        let value = serde_json::to_value(definition);
        let definition = value.map_err(|error| Failure::new(ErrorKind::Bug, error.to_string()))?;
        output.document(&AgentShowDocument {
            name: name.to_owned(),
            source: source_in_words(&origin.source),
            file: origin.file.as_ref().map(ToString::to_string),
            text,
            definition,
        })?;
        return Ok(ExitCode::SUCCESS);
    }
    match &origin.file {
        Some(file) => output.line(format!("# {file}\n"))?,
        None => output.line("# in the program; `cargo agents agent unpack` makes it a file\n")?,
    }
    output.text(text.trim_end())?;
    output.line("")?;
    output.flush()?;
    let winner = found.agents.chain(name).find(|it| it.standing == Standing::Wins);
    output.findings(winner.into_iter().flat_map(|it| &it.findings));
    Ok(ExitCode::SUCCESS)
}

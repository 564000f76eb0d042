//! `cargo agents agent show <agent>`

use std::process::ExitCode;

use agents_agent::bundled;
use agents_system::explain::ErrorKind;
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
    let winner = found.agents.chain(name).next();
    output.findings(winner.into_iter().flat_map(|it| &it.findings));
    Ok(ExitCode::SUCCESS)
}

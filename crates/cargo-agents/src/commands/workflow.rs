//! `cargo agents command list|show`

use std::process::ExitCode;

use agents_agent::commands::{self, Command, Commands};
use agents_system::{explain::ErrorKind, nearest::quoted_list};
use serde::Serialize;

use super::{
    agent::{one_line, scope_of, source_in_words},
    wanted,
};
use crate::{
    args::WorkflowCommand,
    failure::{Failure, FindingView},
    output::Output,
    settings::Settings,
};

/// `cargo agents command list --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct CommandListDocument {
    commands: Vec<CommandView>,
    findings: Vec<FindingView>,
}

/// `cargo agents command show --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct CommandShowDocument {
    #[serde(flatten)]
    command: CommandView,
    /// What an agent is told, with the given input in its place
    instructions: String,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CommandView {
    name: String,
    description: String,
    /// `project`, `user`, `plugin` or `bundled`
    scope: &'static str,
    source: String,
    /// Whose way of keeping commands it is
    family: String,
    /// Absent for what is in the program
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
}

pub(crate) fn run(
    settings: &Settings,
    output: &Output,
    command: &WorkflowCommand,
) -> Result<ExitCode, Failure> {
    let (hosts, mut findings) = wanted::all_hosts(settings)?;
    let home = wanted::home()?;
    let roots = wanted::roots(&home, None);
    let all = commands::discover(&commands::search(&settings.cwd, &hosts, &roots));
    findings.extend(all.findings.iter().cloned());
    match command {
        WorkflowCommand::List => {
            if output.is_json() {
                let findings = findings.iter().map(FindingView::from).collect();
                let commands = all.commands.iter().map(view).collect();
                output.document(&CommandListDocument { commands, findings })?;
                return Ok(ExitCode::SUCCESS);
            }
            list(&all, output)?;
        }
        WorkflowCommand::Show { command, input } => {
            let found = all.get(command).ok_or_else(|| unknown(&all, command))?;
            let input = input.join(" ");
            let instructions =
                if input.is_empty() { found.instructions.clone() } else { found.expand(&input) };
            if output.is_json() {
                output.document(&CommandShowDocument { command: view(found), instructions })?;
                return Ok(ExitCode::SUCCESS);
            }
            output.text(instructions.trim_end())?;
            output.line("")?;
        }
    }
    output.flush()?;
    output.findings(&findings);
    Ok(ExitCode::SUCCESS)
}

fn list(all: &Commands, output: &Output) -> Result<(), Failure> {
    let names = all.commands.iter().map(|it| it.name.chars().count()).max().unwrap_or(0);
    for command in &all.commands {
        let source = source_in_words(&command.source);
        let description = one_line(&command.description, 80);
        let line = format!("{:names$}  {source:8}  {description}", command.name);
        output.line(line.trim_end())?;
    }
    Ok(())
}

fn view(command: &Command) -> CommandView {
    CommandView {
        name: command.name.clone(),
        description: command.description.clone(),
        scope: scope_of(&command.source),
        source: source_in_words(&command.source),
        family: command.family.clone(),
        file: command.file.as_ref().map(ToString::to_string),
    }
}

fn unknown(all: &Commands, name: &str) -> Failure {
    let failure = Failure::new(ErrorKind::Usage, format!("there is no command `{name}`"));
    let near = all.nearest(name);
    failure.hint(if near.is_empty() {
        "`cargo agents command list` lists all of them".to_owned()
    } else {
        format!("did you mean {}?", quoted_list(&near, "or"))
    })
}

//! `cargo agents agent unpack`

use std::process::ExitCode;

use agents_agent::{
    agents::UnknownAgent,
    bundled,
    unpack::{Action, Existing, apply_unpack, plan_unpack},
};
use agents_system::{atomic::remove_unfinished, explain::ErrorKind};
use camino::Utf8PathBuf;
use serde::Serialize;

use super::change::{pen, project_root};
use crate::{
    args::UnpackArgs, commands::wanted, failure::Failure, output::Output, settings::Settings,
};

/// `cargo agents agent unpack --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct AgentUnpackDocument {
    dir: String,
    files: Vec<UnpackedView>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct UnpackedView {
    name: &'static str,
    file: String,
    /// `written`, `replaced`, `kept` (another one is there) or `same`
    action: &'static str,
}

pub(super) fn run(
    settings: &Settings,
    output: &Output,
    args: &UnpackArgs,
) -> Result<ExitCode, Failure> {
    let mut files = bundled::files();
    for name in &args.names {
        if !files.iter().any(|file| file.name == name) {
            let available = files.iter().map(|file| file.name.to_owned()).collect();
            return Err(UnknownAgent { name: name.clone(), available }.into());
        }
    }
    if !args.names.is_empty() {
        files.retain(|file| args.names.iter().any(|name| file.name == name));
    }
    let dir = target(settings, args)?;
    let existing = if args.force { Existing::Replace } else { Existing::Keep };
    let plan = plan_unpack(&dir, files, existing)?;
    let pen = pen(settings)?;
    remove_unfinished(&dir);
    apply_unpack(&plan).map_err(|error| Failure::new(ErrorKind::Failure, error.to_string()))?;
    drop(pen);
    let word = |action: Action| match action {
        Action::Write => "written",
        Action::Replace => "replaced",
        Action::Keep => "kept",
        Action::Same => "same",
    };
    if output.is_json() {
        let files = plan.iter().map(|it| UnpackedView {
            name: it.name,
            file: it.file.to_string(),
            action: word(it.action),
        });
        output.document(&AgentUnpackDocument { dir: dir.to_string(), files: files.collect() })?;
        return Ok(ExitCode::SUCCESS);
    }
    for unpacked in &plan {
        output.line(format!("{:8}  {}", word(unpacked.action), unpacked.file))?;
    }
    if plan.iter().any(|it| it.action == Action::Keep) {
        output.flush()?;
        output.talk("hint: `--force` replaces what is there already");
    }
    Ok(ExitCode::SUCCESS)
}

fn target(settings: &Settings, args: &UnpackArgs) -> Result<Utf8PathBuf, Failure> {
    if let Some(dir) = &args.dir {
        return Ok(settings.cwd.join(dir));
    }
    if !args.project {
        return Ok(wanted::home()?.join(".agents/agents"));
    }
    Ok(project_root(settings)?.join(".agents/agents"))
}

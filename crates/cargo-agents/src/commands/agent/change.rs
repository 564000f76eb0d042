//! What `agent new`, `edit` and `remove` have in common: whose file it is, what changes in it, and how that is said.

use std::{process::ExitCode, time::Duration};

use agents_agent::{Candidate, Standing, assign::Assignment, definition::Source, render::Loss};
use agents_sync::{ApplyError, Places};
use agents_system::{
    explain::{Code, ErrorKind},
    finding::{Finding, Severity},
    foreign::remove_unfinished,
    lock::Lock,
};
use agents_workspace::Workspaces;
use camino::{Utf8Path, Utf8PathBuf};
use serde::Serialize;

use super::{Found, show::LossView};
use crate::{
    commands::sync_hosts::unified,
    failure::{Failure, FindingView},
    given,
    output::Output,
    settings::Settings,
};

/// How long a sync may take before we give up.
const PATIENCE: Duration = Duration::from_secs(120);

/// Whether something is done, or only shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doing {
    It,
    /// `--dry-run`.
    Nothing,
}

impl Doing {
    pub(super) fn new(dry_run: bool) -> Self {
        if dry_run { Self::Nothing } else { Self::It }
    }
}

/// `cargo agents agent new --json`, `… edit --json` and `… remove --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct AgentChangeDocument {
    name: String,
    file: String,
    /// `created`, `replaced`, `changed`, `unchanged` or `removed`
    action: &'static str,
    /// Whether it was done; not with `--dry-run`
    applied: bool,
    /// The change of the file as a unified diff
    diff: String,
    /// What the format of the file cannot say
    losses: Vec<LossView>,
    findings: Vec<FindingView>,
}

/// A change of a file, and what there is to say about it.
pub(super) struct Account<'a> {
    pub(super) name: &'a str,
    pub(super) file: &'a Utf8Path,
    pub(super) before: Option<&'a str>,
    pub(super) after: Option<&'a str>,
    pub(super) losses: &'a [Loss],
    pub(super) findings: Vec<Finding>,
}

impl Account<'_> {
    fn action(&self) -> &'static str {
        match (self.before, self.after) {
            (None, _) => "created",
            (_, None) => "removed",
            (before, after) if before == after => "unchanged",
            _ => "changed",
        }
    }

    pub(super) fn report(self, output: &Output, doing: Doing) -> Result<ExitCode, Failure> {
        let diff = unified(self.file, self.before, self.after);
        if output.is_json() {
            output.document(&AgentChangeDocument {
                name: self.name.to_owned(),
                file: self.file.to_string(),
                action: self.action(),
                applied: doing == Doing::It,
                diff,
                losses: self.losses.iter().map(LossView::from).collect(),
                findings: self.findings.iter().map(FindingView::from).collect(),
            })?;
            return Ok(ExitCode::SUCCESS);
        }
        match doing {
            Doing::It => output.line(format!("{:9}  {}", self.action(), self.file))?,
            Doing::Nothing if diff.is_empty() => output.line("Nothing would change.")?,
            Doing::Nothing => output.text(diff)?,
        }
        output.flush()?;
        let lost = |loss: &Loss| {
            let said = format!("agent `{}`: {loss}", self.name);
            Finding::new(if loss.weakens() { Severity::Warning } else { Severity::Note }, said)
        };
        output.findings(&self.losses.iter().map(lost).collect::<Vec<_>>());
        output.findings(&self.findings);
        Ok(ExitCode::SUCCESS)
    }
}

/// The file of the agent of that name, if it is one that may be changed.
pub(super) fn own_file<'f>(
    found: &'f Found,
    name: &str,
) -> Result<(&'f Candidate, &'f Utf8Path), Failure> {
    found.agents.lookup(name)?;
    let refused = |message: String, hint: String| {
        Failure::new(ErrorKind::Refused, message).code(Code::AgentUnchangeable).hint(hint)
    };
    let winner = found.agents.chain(name).find(|it| it.standing == Standing::Wins);
    let Some((winner, Some(file))) = winner.map(|it| (it, it.file.as_deref())) else {
        return Err(refused(
            format!("`{name}` is an agent of this program"),
            format!("`cargo agents agent unpack {name}` makes it a file of your own"),
        ));
    };
    let whose = match &winner.source {
        Source::Named | Source::Project | Source::User => return Ok((winner, file)),
        Source::Plugin(plugin) => format!("plugin `{plugin}`"),
        Source::Crate(krate, version) => format!("crate {krate} {version}"),
        Source::Bundled => "this program".to_owned(),
    };
    Err(refused(
        format!("`{name}` is an agent of {whose}"),
        format!(
            "`cargo agents agent new {name} --from {name}` makes a copy of your own, which comes first"
        ),
    ))
}

/// The right to write definitions, until dropped. It is that of a sync, which writes agents of plugins into the same directories.
pub(crate) fn pen(settings: &Settings) -> Result<Lock, Failure> {
    let lock = Places::below(&settings.dirs.state).lock;
    Ok(Lock::acquire(&lock, PATIENCE, &settings.progress).map_err(ApplyError::Lock)?)
}

/// The right to write this one. What a killed writer left beside it is gone: it would stay there, and be committed.
pub(crate) fn pen_at(settings: &Settings, file: &Utf8Path) -> Result<Lock, Failure> {
    let pen = pen(settings)?;
    remove_unfinished(file);
    Ok(pen)
}

/// The right to write this one, if that is done.
pub(super) fn pen_for(
    settings: &Settings,
    file: &Utf8Path,
    doing: Doing,
) -> Result<Option<Lock>, Failure> {
    if doing == Doing::Nothing {
        return Ok(None);
    }
    pen_at(settings, file).map(Some)
}

/// What is asked for: `KEY=VALUE`, keys to take away, and a prompt from a file.
pub(super) fn assignments(
    settings: &Settings,
    changes: &[String],
    unset: &[String],
    prompt_file: Option<&Utf8Path>,
) -> Result<Vec<Assignment>, Failure> {
    let mut all = Vec::new();
    for change in changes {
        all.push(Assignment::parse(change)?);
    }
    for key in unset {
        all.push(Assignment::unset(key)?);
    }
    if let Some(file) = prompt_file {
        let text = prompt(&settings.cwd, file)?;
        all.push(Assignment::set("prompt", text.trim())?);
    }
    Ok(all)
}

fn prompt(cwd: &Utf8Path, file: &Utf8Path) -> Result<String, Failure> {
    let read = match file.as_str() {
        "-" => given::standard_input(),
        _ => given::text_in(&cwd.join(file)),
    };
    read.map_err(|error| Failure::new(ErrorKind::Usage, format!("no prompt: {error}")))
}

/// The root of the workspace; outside of one, where the user stands.
pub(super) fn project_root(settings: &Settings) -> Result<Utf8PathBuf, Failure> {
    let workspaces = Workspaces {
        cache: &settings.dirs.cache,
        cargo: &settings.cargo,
        progress: &settings.progress,
    };
    let workspace = workspaces.find(&settings.cwd)?;
    Ok(workspace.map_or_else(|| settings.cwd.clone(), |workspace| workspace.root))
}

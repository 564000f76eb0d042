//! `cargo agents task …`

pub(super) mod asks;
mod assignment;
#[cfg(unix)]
mod attach;
#[cfg(unix)]
pub(crate) mod background;
mod batch;
#[cfg(unix)]
pub(crate) mod control;
pub(crate) mod gc;
pub(crate) mod list;
pub(super) mod live;
mod logs;
pub(crate) mod place;
mod resume;
mod run;
pub(crate) mod secrets;
pub(crate) mod show;
mod terminal;
mod told;
pub(crate) mod wait;
mod work;

use std::process::ExitCode;

use agents_agent::definition::PermissionMode;
use agents_system::{dirs::Dirs, explain::ErrorKind};
use agents_task::{
    Outcome, TaskId, TaskRequest,
    isolate::{Carry, IsolationSettings, Manner, Worktrees},
    telemetry,
    transcript::{Retention, Store},
    workplace::Settle,
};
use agents_tool::{Grant, GrantKind};
use camino::Utf8PathBuf;

use self::{
    assignment::Input,
    terminal::Terminal,
    work::{Job, run_all},
};
pub(super) use self::{place::Place, work::HOOKS};
use crate::{
    args::{BatchArgs, ResumeArgs, RunArgs, TaskCommand},
    failure::Failure,
    output::Output,
    settings::Settings,
};

/// Which transcripts are kept. How old they are says nothing as long as nobody asks: a clock that is wrong for a moment would take them all.
const KEPT: Retention = Retention { files: 2000, age: None };

pub(crate) fn run(
    settings: &Settings,
    output: &Output,
    command: &TaskCommand,
) -> Result<ExitCode, Failure> {
    match command {
        TaskCommand::Run(RunArgs { manner, .. })
        | TaskCommand::Batch(BatchArgs { manner, .. })
        | TaskCommand::Resume(ResumeArgs { manner, .. })
            if manner.background =>
        {
            in_background(settings, output, command)
        }
        TaskCommand::Run(_) | TaskCommand::Resume(_) => {
            told::one(output, &in_front(settings, output, command)?)
        }
        TaskCommand::Batch(_) => told::many(output, &in_front(settings, output, command)?),
        TaskCommand::Wait { ids } => wait::run(settings, output, ids),
        TaskCommand::Collect { id } => wait::collect(settings, output, id),
        TaskCommand::Attach { .. }
        | TaskCommand::Cancel { .. }
        | TaskCommand::Asks
        | TaskCommand::Approve { .. }
        | TaskCommand::Deny { .. }
        | TaskCommand::Supervisor { .. } => from_afar(settings, output, command),
        TaskCommand::List { most } => list::run(settings, output, *most),
        TaskCommand::Show { id, format, output: file } => {
            show::run(settings, output, id, *format, file.as_deref())
        }
        TaskCommand::Logs { id, follow } => {
            let follow = if *follow { logs::Follow::Until } else { logs::Follow::No };
            logs::run(settings, output, id, follow)
        }
        TaskCommand::Gc { older_than, dry_run } => {
            let manner = if *dry_run { Manner::OnlyShow } else { Manner::Do };
            gc::run(settings, output, *older_than, manner)
        }
    }
}

/// Runs it here, in front of the user.
fn in_front(
    settings: &Settings,
    output: &Output,
    command: &TaskCommand,
) -> Result<Vec<Outcome>, Failure> {
    match Job::of(command, settings, Input::Standard)? {
        Some(job) => run_all(settings, job, &mut Terminal::new(output)),
        None => Ok(Vec::new()),
    }
}

/// Runs one task for another command, which says itself what came of it.
pub(super) fn result_of(
    settings: &Settings,
    output: &Output,
    request: TaskRequest,
    named: &[Utf8PathBuf],
) -> Result<Outcome, Failure> {
    let job = Job {
        batch: request.into(),
        modes: (PermissionMode::Default, PermissionMode::Default),
        allowed: Vec::new(),
        secrets: Vec::new(),
        concurrency: None,
        carry: Carry::Committed,
        settle: Settle::Apply,
        named: named.to_vec(),
        findings: Vec::new(),
    };
    let outcomes = run_all(settings, job, &mut Terminal::meanwhile(output))?;
    let missing = || Failure::new(ErrorKind::Bug, "the task has no outcome");
    outcomes.into_iter().next().ok_or_else(missing)
}

#[cfg(unix)]
use background::hand_over as in_background;

/// What is asked of the supervisor.
#[cfg(unix)]
fn from_afar(
    settings: &Settings,
    output: &Output,
    command: &TaskCommand,
) -> Result<ExitCode, Failure> {
    use agents_task::broker::Reply;
    match command {
        TaskCommand::Attach { id } => attach::run(settings, output, id),
        TaskCommand::Cancel { ids } => control::cancel(settings, output, ids),
        TaskCommand::Approve { ask, lasting } => {
            control::answer(settings, output, ask, Reply::from(*lasting))
        }
        TaskCommand::Deny { ask } => control::answer(settings, output, ask, Reply::No),
        TaskCommand::Supervisor { stop, cancel } => {
            control::supervisor(settings, output, control::Stop::said(*stop, *cancel))
        }
        _ => control::asks(settings, output),
    }
}

#[cfg(not(unix))]
use from_afar as in_background;

/// There is no supervisor where there are no sockets with a known user at the other end.
#[cfg(not(unix))]
fn from_afar(_: &Settings, _: &Output, _: &TaskCommand) -> Result<ExitCode, Failure> {
    let message = "tasks run in the background on Unix only";
    Err(Failure::new(ErrorKind::Usage, message))
}

/// Whatever is asked of the supervisor from elsewhere than a terminal.
#[cfg(all(unix, feature = "http"))]
pub(super) mod afar {
    pub(crate) use super::{
        background::resume,
        control::{TaskAsksDocument, answer_one, cancel_one},
    };
}

/// The task that is meant: the beginning of an id, or `last` for the newest one that nobody but the user started.
fn meant(store: &Store, text: &str) -> Result<TaskId, Failure> {
    if text == "last" {
        let (metas, _) = store.list()?;
        let newest = metas.iter().filter(|it| it.parent.is_none()).map(|it| it.id).max();
        return newest.ok_or_else(|| {
            Failure::new(ErrorKind::Usage, "no task has run yet")
                .hint("`cargo agents task run` starts one")
        });
    }
    Ok(store.find_by_prefix(text)?)
}

/// Where transcripts are. What cannot be written there is not done.
pub(crate) fn transcripts(settings: &Settings) -> Store {
    Store::with(&settings.dirs.state.join("transcripts"), KEPT, None)
        .insisting()
        .within(telemetry::outer_trace())
}

/// Where worktrees and their builds are.
pub(super) fn worktrees(dirs: &Dirs) -> Worktrees {
    let (home, builds) = (dirs.state.join("worktrees"), dirs.cache.join("builds"));
    Worktrees::new(&home, &builds, IsolationSettings::default())
}

/// What `--allow` says, as grants.
pub(crate) fn grants(allow: &[String]) -> Vec<Grant> {
    let grant =
        |tool: &String| Grant { kind: GrantKind::Tool(tool.trim().to_owned()), until: None };
    allow.iter().map(grant).collect()
}

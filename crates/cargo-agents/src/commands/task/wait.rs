//! `cargo agents task wait|collect`: until tasks have ended, wherever they run.

use std::{process::ExitCode, time::Duration};

use agents_system::explain::{Code, ErrorKind};
use agents_task::{
    Outcome, TaskId,
    event::{Event, What},
    transcript::{Meta, Standing, Store},
};
use serde::Serialize;

use super::{meant, told, transcripts};
use crate::{failure::Failure, output::Output, settings::Settings};

/// How often it is looked at a task that runs in another terminal.
const PAUSE: Duration = Duration::from_millis(200);

/// `cargo agents task wait --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct TaskWaitDocument {
    /// In the order in which they were named
    tasks: Vec<EndedView>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct EndedView {
    id: String,
    path: String,
    /// `interrupted`, `completed`, `failed`, `cancelled`, `out-of-limits` or `refused`
    state: &'static str,
}

pub(super) fn run(
    settings: &Settings,
    output: &Output,
    prefixes: &[String],
) -> Result<ExitCode, Failure> {
    let store = transcripts(settings);
    let ids: Result<Vec<TaskId>, Failure> =
        prefixes.iter().map(|prefix| meant(&store, prefix)).collect();
    let (mut tasks, mut outcomes, mut interrupted) = (Vec::new(), Vec::new(), false);
    for id in ids? {
        let (meta, standing) = until_ended(settings, &store, id)?;
        tasks.push(EndedView {
            id: id.to_string(),
            path: meta.path.to_string(),
            state: standing.word(),
        });
        match standing {
            Standing::Ended(_) => outcomes.push(outcome(&store, id)?),
            _ => interrupted = true,
        }
    }
    if output.is_json() {
        output.document(&TaskWaitDocument { tasks })?;
    } else {
        for task in &tasks {
            output.line(format!("{}  {}  {}", task.id, task.path, task.state))?;
        }
    }
    Ok(if interrupted { ExitCode::FAILURE } else { told::code(&outcomes) })
}

pub(super) fn collect(
    settings: &Settings,
    output: &Output,
    prefix: &str,
) -> Result<ExitCode, Failure> {
    let store = transcripts(settings);
    let id = meant(&store, prefix)?;
    until_ended(settings, &store, id)?;
    result(output, &store, id)
}

/// The result of a task that has ended, as whoever ran it would have got it.
pub(super) fn result(output: &Output, store: &Store, id: TaskId) -> Result<ExitCode, Failure> {
    let outcome = outcome(store, id)?;
    if output.is_json() {
        let what = What::Ended { outcome: Box::new(outcome.clone()) };
        output.json_line(&Event { task: id, path: outcome.path.clone(), what })?;
    }
    told::one(output, &[outcome])
}

/// How whoever ran a task would have ended. It is waited for.
#[cfg(unix)]
pub(super) fn code(settings: &Settings, store: &Store, id: TaskId) -> Result<ExitCode, Failure> {
    until_ended(settings, store, id)?;
    Ok(told::code(&[outcome(store, id)?]))
}

/// Waits for it, and tells how it is then: not running.
pub(super) fn until_ended(
    settings: &Settings,
    store: &Store,
    id: TaskId,
) -> Result<(Meta, Standing), Failure> {
    loop {
        let meta = store.meta(id)?;
        let standing = store.standing(&meta);
        if standing != Standing::Running {
            return Ok((meta, standing));
        }
        if !told_when_over(settings, id) {
            std::thread::sleep(PAUSE);
        }
    }
}

/// Waits for a task of the supervisor; `false` if it is none.
#[cfg(unix)]
fn told_when_over(settings: &Settings, task: TaskId) -> bool {
    use super::background::{
        client::{Start, ask},
        wire::{Request, Say},
    };
    matches!(ask(settings, &Request::Wait { task }, Start::Never), Ok(Some(Say::Done { .. })))
}

#[cfg(not(unix))]
fn told_when_over(_: &Settings, _: TaskId) -> bool {
    false
}

/// What became of a task, from its transcript.
fn outcome(store: &Store, id: TaskId) -> Result<Outcome, Failure> {
    let loaded = store.load(id)?;
    let Some(outcome) = loaded.outcome() else {
        let message = format!("task `{}` was interrupted: what ran it is gone", id.short());
        return Err(Failure::new(ErrorKind::Failure, message)
            .code(Code::Interrupted)
            .hint(format!("`cargo agents task resume {}` continues it", id.short())));
    };
    serde_json::from_value(outcome.clone()).map_err(|error| {
        let message = format!("the outcome of task `{}` is not understood: {error}", id.short());
        Failure::new(ErrorKind::Failure, message).code(Code::TranscriptDamaged)
    })
}

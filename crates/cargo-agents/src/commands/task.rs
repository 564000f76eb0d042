//! `cargo agents task …`

mod asks;
mod assignment;
pub(crate) mod batch;
pub(crate) mod gc;
pub(crate) mod list;
mod live;
mod logs;
pub(crate) mod place;
mod resume;
mod run;
pub(crate) mod show;
mod told;

use std::{process::ExitCode, sync::Arc, time::Duration};

use agents_agent::definition::PermissionMode;
use agents_system::{explain::ErrorKind, process};
use agents_task::{
    Batch, Broker, Outcome, Patience, Runner, TaskSettings,
    event::Event,
    id::TaskId,
    isolate::{Carry, IsolationSettings, Manner, Worktrees},
    outcome::Ending,
    runner::Common,
    transcript::{Retention, Store},
    workplace::Settle,
};
use agents_tool::{Grant, GrantKind, artifacts::ArtifactDir};
use camino::Utf8PathBuf;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use self::{live::Live, place::Place};
use crate::{args::TaskCommand, failure::Failure, output::Output, settings::Settings};

/// How often the status line is drawn anew, and Ctrl-C looked for.
const TICK: Duration = Duration::from_millis(100);
/// Which transcripts are kept.
const KEPT: Retention =
    Retention { files: 2000, age: Some(Duration::from_secs(90 * 24 * 60 * 60)) };

pub(crate) fn run(
    settings: &Settings,
    output: &Output,
    command: &TaskCommand,
) -> Result<ExitCode, Failure> {
    match command {
        TaskCommand::Run(args) => run::run(settings, output, args),
        TaskCommand::Batch(args) => batch::run(settings, output, args),
        TaskCommand::List { most } => list::run(settings, output, *most),
        TaskCommand::Show { id, format, output: file } => {
            show::run(settings, output, id, *format, file.as_deref())
        }
        TaskCommand::Logs { id, follow } => {
            let follow = if *follow { logs::Follow::Until } else { logs::Follow::No };
            logs::run(settings, output, id, follow)
        }
        TaskCommand::Resume(args) => resume::run(settings, output, args),
        TaskCommand::Gc { older_than, dry_run } => {
            let manner = if *dry_run { Manner::OnlyShow } else { Manner::Do };
            gc::run(settings, output, *older_than, manner)
        }
    }
}

/// What is to be run, and how.
struct Job {
    batch: Batch,
    /// The highest mode that any of them gets, and the one of those that say none.
    modes: (PermissionMode, PermissionMode),
    /// What they may do without asking.
    allowed: Vec<Grant>,
    /// How many run at the same time.
    concurrency: Option<usize>,
    /// How they get worktrees of their own.
    carry: Carry,
    settle: Settle,
    /// Definitions named on the command line.
    named: Vec<Utf8PathBuf>,
}

/// Runs it, shows what happens, and gives what became of each task, in order. A second Ctrl-C does not wait for anybody.
fn run_all(settings: &Settings, output: &Output, job: Job) -> Result<Vec<Outcome>, Failure> {
    let said = TaskSettings::load(&settings.dirs)?;
    let place = Arc::new(Place::here(settings, &job.named, (job.carry, job.settle))?);
    output.findings(said.findings.iter().chain(place.findings()));
    let asker = output.asker();
    let (broker, mut asks) = match asker {
        Some(_) => {
            let (broker, asks) = Broker::new(said.approval);
            (broker, Some(asks))
        }
        None => (Broker::unattended(), None),
    };
    let (send, mut events) = mpsc::unbounded_channel::<Event>();
    let cancel = CancellationToken::new();
    let interrupt = cancel.clone();
    let common = Common {
        settings: said.for_preflight(place.preferences()),
        broker,
        sink: Arc::new(move |event: &Event| {
            // A program that ended because of Ctrl-C is not a reason to ask the model again.
            if process::interrupted() {
                interrupt.cancel();
            }
            // Whoever shows events may be gone; the tasks go on.
            drop(send.send(event.clone()));
        }),
        artifacts: Arc::new(ArtifactDir::new(&settings.dirs.state.join("artifacts"))),
        transcripts: Some(transcripts(settings)),
        secrets: None,
        patience: Patience::default(),
        concurrency: job.concurrency.unwrap_or(said.concurrency),
        cancel: cancel.clone(),
    };
    let runner = Runner::new(Arc::clone(&place) as Arc<dyn agents_task::Surroundings>, common);
    let mut user = runner.user(job.modes.0, job.modes.1);
    job.allowed.into_iter().for_each(|grant| user.standing.grants.add(grant));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| {
        Failure::new(ErrorKind::Failure, format!("cannot start the runtime: {error}"))
    })?;
    process::listen_for_interrupts();
    let mut live = Live::new(output, &place);
    let outcomes = runtime.block_on(async {
        let checked = runner.check(&job.batch, &user).and_then(|agents| {
            live.begins(&agents);
            runner.start(&job.batch, &user)
        });
        let started = match checked {
            Ok(started) => started,
            Err(refused) => return live.refused(refused),
        };
        let waiting = async {
            let mut outcomes = Vec::new();
            for running in started {
                outcomes.push(running.outcome().await);
            }
            outcomes
        };
        tokio::pin!(waiting);
        let outcomes = loop {
            tokio::select! {
                biased;
                Some(event) = events.recv() => live.event(&event)?,
                Some(ask) = next(&mut asks) => {
                    live.pause();
                    if let Some(asker) = asker {
                        asks::answer(asker, ask).await;
                    }
                }
                outcomes = &mut waiting => break outcomes,
                () = tokio::time::sleep(TICK) => {
                    if process::interrupted() {
                        cancel.cancel();
                    }
                    live.tick();
                }
            }
        };
        while let Ok(event) = events.try_recv() {
            live.event(&event)?;
        }
        live.pause();
        place.end().await;
        output.findings(&place.heard());
        Ok(outcomes)
    });
    // A tool that does not end is not waited for.
    runtime.shutdown_timeout(Duration::from_millis(200));
    outcomes
}

async fn next(asks: &mut Option<agents_task::broker::Asks>) -> Option<agents_task::broker::Ask> {
    match asks {
        Some(asks) => asks.recv().await,
        None => std::future::pending().await,
    }
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

/// Where transcripts are.
pub(crate) fn transcripts(settings: &Settings) -> Store {
    Store::with(&settings.dirs.state.join("transcripts"), KEPT, None)
}

/// Where worktrees and their builds are.
fn worktrees(settings: &Settings) -> Worktrees {
    let (home, builds) =
        (settings.dirs.state.join("worktrees"), settings.dirs.cache.join("builds"));
    Worktrees::new(&home, &builds, IsolationSettings::default())
}

/// What `--allow` says, as grants.
pub(crate) fn grants(allow: &[String]) -> Vec<Grant> {
    let grant =
        |tool: &String| Grant { kind: GrantKind::Tool(tool.trim().to_owned()), until: None };
    allow.iter().map(grant).collect()
}

/// A task that never began, because of a rule.
fn refused(rule: &str, message: String) -> Outcome {
    let ending = Ending::Refused { rule: rule.to_owned(), message };
    let path = agents_task::TaskPath::root();
    Outcome { id: TaskId::new(), path, ending, report: agents_task::Report::default() }
}

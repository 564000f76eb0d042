//! Running tasks: the same for whoever shows them, a terminal or the pipe to the supervisor.

use std::{sync::Arc, time::Duration};

use agents_agent::{AgentDefinition, definition::PermissionMode};
use agents_system::{explain::ErrorKind, finding::Finding, process};
use agents_task::{
    Batch, Broker, EffectiveAgent, Outcome, Patience, Refused, Runner, Running, TaskId,
    TaskSettings,
    broker::{Ask, Asks},
    event::{Event, Sink},
    isolate::Carry,
    runner::Common,
    subagents::LifeHooks,
    telemetry::{self, Telemetry, TelemetrySettings},
    workplace::Settle,
};
use agents_tool::{Grant, artifacts::ArtifactDir};
use camino::Utf8PathBuf;
use futures_util::future::LocalBoxFuture;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{
    assignment::Input,
    batch,
    place::Place,
    resume, run,
    secrets::{Attended, Secrets},
    transcripts,
};
use crate::{args::TaskCommand, failure::Failure, settings::Settings};

/// How long hooks of tasks that have ended are waited for.
pub(crate) const HOOKS: Duration = Duration::from_secs(30);

/// What is to be run, and how.
pub(super) struct Job {
    pub(super) batch: Batch,
    /// The highest mode that any of them gets, and the one of those that say none.
    pub(super) modes: (PermissionMode, PermissionMode),
    /// What they may do without asking.
    pub(super) allowed: Vec<Grant>,
    /// The secrets that they get without asking.
    pub(super) secrets: Vec<String>,
    /// How many run at the same time.
    pub(super) concurrency: Option<usize>,
    /// How they get worktrees of their own.
    pub(super) carry: Carry,
    pub(super) settle: Settle,
    /// Definitions named on the command line.
    pub(super) named: Vec<Utf8PathBuf>,
    /// What was found out while it was put together.
    pub(super) findings: Vec<Finding>,
}

impl Job {
    /// What a command wants to have run; `None` for those that run nothing.
    pub(super) fn of(
        command: &TaskCommand,
        settings: &Settings,
        input: Input,
    ) -> Result<Option<Self>, Failure> {
        match command {
            TaskCommand::Run(args) => run::job(settings, args, input).map(Some),
            TaskCommand::Batch(args) => batch::job(settings, args, input).map(Some),
            TaskCommand::Resume(args) => resume::job(settings, args, input).map(Some),
            _ => Ok(None),
        }
    }
}

/// What whoever shows tasks wants.
pub(super) enum Wish {
    Nothing,
    /// That everything ends.
    EndAll,
    /// That a task ends, with everything that it started.
    #[cfg_attr(not(unix), expect(dead_code, reason = "there is no supervisor"))]
    End(TaskId),
}

/// Whoever shows tasks, and answers for the user.
pub(super) trait Front {
    /// Who answers questions.
    fn attended(&self) -> Attended;
    /// What was found out.
    fn findings(&mut self, findings: &[Finding]);
    /// What is going to run, of all definitions that there are.
    fn begins(&mut self, place: &Place, agents: &[EffectiveAgent], known: &[Arc<AgentDefinition>]);
    /// It runs.
    fn started(&mut self, tasks: &[Running]) -> Result<(), Failure>;
    /// A rule stands in the way.
    fn refused(&mut self, refusal: Refused) -> Result<Vec<Outcome>, Failure>;
    /// Something happened.
    fn event(&mut self, event: &Event) -> Result<(), Failure>;
    /// A task asks. Whoever leaves instead of answering ends everything first, so that nobody goes on with a no.
    fn ask<'a>(&'a mut self, ask: Ask, cancel: &'a CancellationToken) -> LocalBoxFuture<'a, ()>;
    /// What comes next, or nothing after a moment. It may be dropped at any time.
    fn wish(&mut self) -> LocalBoxFuture<'_, Wish>;
    /// Nothing more happens.
    fn over(&mut self);
}

/// Runs it, has it shown, and gives what became of each task, in order. A second Ctrl-C does not wait for anybody.
pub(super) fn run_all(
    settings: &Settings,
    job: Job,
    front: &mut dyn Front,
) -> Result<Vec<Outcome>, Failure> {
    let said = TaskSettings::load(&settings.dirs)?;
    let transcripts = transcripts(settings);
    transcripts.ready()?;
    let place = Arc::new(Place::to_run(settings, &job.named, (job.carry, job.settle))?);
    front.findings(&job.findings);
    front.findings(&said.findings);
    front.findings(place.findings());
    let secrets = Secrets::load(settings, &job.secrets)?;
    let (broker, mut asks) = if front.attended() == Attended::No {
        (Broker::unattended(), None)
    } else {
        let (broker, asks) = Broker::new(said.approval);
        (broker, Some(asks))
    };
    let desk = secrets.desk(&broker, front.attended(), &said, &place);
    let spans = TelemetrySettings::load(&settings.dirs)?;
    front.findings(&spans.findings);
    let spans = Telemetry::start(&spans);
    let (send, mut events) = mpsc::unbounded_channel::<Event>();
    let cancel = CancellationToken::new();
    let interrupt = cancel.clone();
    let shown = Arc::new(move |event: &Event| {
        // A program that ended because of Ctrl-C is not a reason to ask the model again.
        if process::interrupted() {
            interrupt.cancel();
        }
        // Whoever shows events may be gone; the tasks go on.
        drop(send.send(event.clone()));
    });
    let (start, stop) = (said.start_hooks.clone(), said.stop_hooks.clone());
    let hooks = Arc::new(LifeHooks::new(start, stop, shown));
    let common = Common {
        settings: said.for_preflight(place.preferences()),
        broker,
        sink: telemetry::besides(spans.as_ref(), Arc::clone(&hooks) as Arc<dyn Sink>),
        artifacts: Arc::new(ArtifactDir::new(&settings.dirs.state.join("artifacts"))),
        transcripts: Some(transcripts),
        secrets: Some(desk),
        patience: Patience::default(),
        concurrency: job.concurrency.unwrap_or(said.concurrency),
        cancel: cancel.clone(),
    };
    let runner = Runner::new(Arc::clone(&place) as Arc<dyn agents_task::Surroundings>, common);
    secrets.hide(&runner);
    if let Some(spans) = &spans {
        spans.hide(&runner.around().mask);
    }
    let mut user = runner.user(job.modes.0, job.modes.1);
    job.allowed.into_iter().for_each(|grant| user.standing.grants.add(grant));
    let runtime = runtime()?;
    process::listen_for_interrupts();
    let outcomes = runtime.block_on(async {
        let begins = |agents: &[EffectiveAgent], known: &[Arc<AgentDefinition>]| {
            front.begins(&place, agents, known);
        };
        let started = match runner.start_after(&job.batch, &user, begins) {
            Ok(started) => started,
            Err(refused) => return front.refused(refused),
        };
        front.started(&started)?;
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
                Some(event) = events.recv() => front.event(&event)?,
                Some(ask) = next(&mut asks) => front.ask(ask, &cancel).await,
                outcomes = &mut waiting => break outcomes,
                wish = front.wish() => match wish {
                    Wish::Nothing => {}
                    Wish::EndAll => cancel.cancel(),
                    Wish::End(task) => { runner.cancel(task); }
                }
            }
        };
        while let Ok(event) = events.try_recv() {
            front.event(&event)?;
        }
        front.over();
        tokio::join!(place.end(), hooks.drained(HOOKS));
        front.findings(&place.heard().all());
        Ok(outcomes)
    });
    // A tool that does not end is not waited for.
    runtime.shutdown_timeout(Duration::from_millis(200));
    if let Some(lost) = spans.and_then(|it| it.finish(telemetry::PATIENCE)) {
        front.findings(&[Finding::warning(lost)]);
    }
    outcomes
}

/// Where everything runs that waits.
pub(super) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| {
        Failure::new(ErrorKind::Failure, format!("cannot start the runtime: {error}"))
    })
}

async fn next(asks: &mut Option<Asks>) -> Option<Ask> {
    match asks {
        Some(asks) => asks.recv().await,
        None => std::future::pending().await,
    }
}

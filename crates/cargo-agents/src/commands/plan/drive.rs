//! Runs that belong to this process: driven to their end, or until somebody interrupts.

use std::{
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use agents_agent::definition::PermissionMode;
use agents_plan::{
    engine::{DriveError, Driver, Handle, Recall, wall_clock},
    event::{Event, Index, PlanEnding, What},
    graph::Graph,
    journal::{Journal, Journals, Options, Origin, RunId},
    schedule::{Scheduler, State},
};
use agents_system::{
    explain::{ErrorKind, Explain as _, with_causes},
    process,
};
use agents_task::{
    Broker, Caller, Runner, TaskRequest, TaskSettings,
    broker::Asks,
    event::{Event as TaskEvent, Sink},
    isolate::Carry,
    subagents::LifeHooks,
    telemetry::{self, Telemetry, TelemetrySettings},
    workplace::Settle,
};
use camino::Utf8PathBuf;
use tokio::{sync::mpsc, time::MissedTickBehavior};
use tokio_util::sync::CancellationToken;

use super::{
    super::task::{
        self, Place,
        secrets::{Attended, Secrets},
    },
    board::Board,
    inquiry::{Came, Failures, Inquiry, Question},
    live::Live,
    orders::Orders,
    team::Team,
    told,
    view::{self, EventView, PlanLine, PlanRunDocument, Stand},
    work::{self, Crew, Floor, Leave, Performer, Questions},
};
use crate::{
    args::{Engine, PlanManner},
    failure::Failure,
    output::Output,
    settings::Settings,
};

/// How often the status line is drawn anew, and Ctrl-C and orders looked for.
const TICK: Duration = Duration::from_millis(100);
/// How long tasks that were told to stop are waited for.
const PARTING: Duration = Duration::from_secs(5);

/// Everything that the tasks of a run need.
pub(super) struct Studio {
    place: Arc<Place>,
    runner: Runner,
    caller: Caller,
    leave: Leave,
    floor: Floor,
    /// What runs when its tasks begin and end.
    hooks: Arc<LifeHooks>,
    tasks: mpsc::UnboundedReceiver<(String, Box<TaskEvent>)>,
    asks: Option<Asks>,
    cancel: CancellationToken,
    /// How many tasks run at the same time, as the user's configuration says.
    pub(super) concurrency: usize,
    engine: Engine,
    /// What the user should know about those that run tasks elsewhere.
    notes: mpsc::UnboundedReceiver<String>,
    #[cfg(feature = "restate")]
    pub(super) far: Far,
    pub(super) isolated: (Carry, Settle),
    #[cfg(feature = "restate")]
    pub(super) allow: Vec<String>,
}

/// What those need that run tasks elsewhere.
#[cfg(feature = "restate")]
pub(super) struct Far {
    pub(super) settings: agents_plan::engine::settings::RestateSettings,
    pub(super) tell: mpsc::UnboundedSender<(String, Box<TaskEvent>)>,
    pub(super) note: mpsc::UnboundedSender<String>,
}

impl Studio {
    /// Where the user stands, with what they let tasks do.
    pub(super) fn new(
        settings: &Settings,
        output: &Output,
        manner: &PlanManner,
        named: &[Utf8PathBuf],
        engine: Engine,
    ) -> Result<Self, Failure> {
        if let (Engine::Restate, Some(name)) = (engine, manner.secrets.first()) {
            let message =
                format!("secrets do not travel to workers, so nobody there gets `{name}`");
            return Err(Failure::new(ErrorKind::Usage, message)
                .hint("run the plan with `--engine local`, or without `--secret`"));
        }
        let said = TaskSettings::load(&settings.dirs)?;
        let carry = if manner.dirty { Carry::Everything } else { Carry::Committed };
        let isolated = (carry, manner.settle());
        let place = match engine {
            Engine::Local => Place::here(settings, named, isolated)?,
            // Those that run tasks there have models of their own.
            Engine::Restate => Place::even_without_models(settings, named, isolated)?.0,
        };
        let place = Arc::new(place);
        output.findings(said.findings.iter().chain(place.findings()));
        let (broker, asks) = match output.asker() {
            Some(_) => {
                let (broker, asks) = Broker::new(said.approval);
                (broker, Some(asks))
            }
            None => (Broker::unattended(), None),
        };
        let secrets = Secrets::load(settings, &manner.secrets)?;
        let attended = if asks.is_some() { Attended::Here } else { Attended::No };
        let desk = secrets.desk(&broker, attended, &said, &place);
        let spans = TelemetrySettings::load(&settings.dirs)?;
        output.findings(&spans.findings);
        let spans = Telemetry::start(&spans);
        let (floor, cancel) = (Floor::default(), CancellationToken::new());
        let (send, tasks) = mpsc::unbounded_channel();
        let (note, notes) = mpsc::unbounded_channel::<String>();
        #[cfg(feature = "restate")]
        let far = Far {
            settings: agents_plan::engine::settings::RestateSettings::load(&settings.dirs)?,
            tell: send.clone(),
            note,
        };
        // Where all tasks run here, nobody has anything to say about others.
        #[cfg(not(feature = "restate"))]
        drop(note);
        let (heard, interrupt) = (floor.clone(), cancel.clone());
        let shown = Arc::new(move |event: &TaskEvent| {
            // A program that ended because of Ctrl-C is not a reason to ask the model again.
            if process::interrupted() {
                interrupt.cancel();
            }
            if let Some(node) = heard.heard(event) {
                // Whoever shows events may be gone; the tasks go on.
                drop(send.send((node.to_string(), Box::new(event.clone()))));
            }
        });
        let (start, stop) = (said.start_hooks.clone(), said.stop_hooks.clone());
        let hooks = Arc::new(LifeHooks::new(start, stop, shown));
        let sink = telemetry::besides(spans.as_ref(), Arc::clone(&hooks) as Arc<dyn Sink>);
        let asked = Questions { broker, secrets: Some(desk) };
        let runner = work::runner(settings, &said, &place, asked, sink, cancel.clone());
        secrets.hide(&runner);
        if let Some(spans) = &spans {
            spans.hide(&runner.around().mask);
        }
        let leave = Leave {
            mode: manner.mode.map(PermissionMode::from),
            grants: task::grants(&manner.allow),
        };
        let caller = leave.caller(&runner, leave.mode);
        let concurrency = said.concurrency;
        Ok(Self {
            place,
            runner,
            caller,
            leave,
            floor,
            hooks,
            tasks,
            notes,
            asks,
            cancel,
            concurrency,
            engine,
            #[cfg(feature = "restate")]
            far,
            isolated,
            #[cfg(feature = "restate")]
            allow: manner.allow.clone(),
        })
    }

    /// Those that run tasks here.
    pub(super) fn crew(&self) -> Crew {
        Crew {
            team: Performer {
                runner: self.runner.clone(),
                caller: self.caller.clone(),
                leave: self.leave.clone(),
            },
            floor: self.floor.clone(),
            root: self.place.root().to_owned(),
            settle: self.isolated.1,
        }
    }

    pub(super) fn engine(&self) -> Engine {
        self.engine
    }

    #[cfg(feature = "restate")]
    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    #[cfg(feature = "restate")]
    pub(super) fn leave(&self) -> &Leave {
        &self.leave
    }

    /// The provider that would answer for an agent.
    pub(super) fn provider(&self, agent: &str) -> Option<String> {
        let batch = TaskRequest::new(agent, "which model?").into();
        let agents = self.runner.check(&batch, &self.caller).ok()?;
        agents.first().map(|it| it.model.model.provider.clone())
    }
}

/// Which run, and whose.
pub(super) struct Run<'a> {
    pub(super) output: &'a Output,
    pub(super) journals: &'a Journals,
    pub(super) manner: &'a PlanManner,
    pub(super) origin: Origin,
    pub(super) recall: Recall,
}

/// A run that is open.
pub(super) type Opened = (Journal, Scheduler);

/// What the driver tells whoever shows it.
enum Told {
    Event(Box<EventView>),
    /// Somebody must say what to do about these, or no longer.
    Asks(Failures),
}

/// Why a run was left before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Left {
    Interrupted,
    /// Only answers help.
    Unanswered,
}

/// Says something to a run before it is driven.
pub(super) fn tell((journal, scheduler): &mut Opened, what: What) -> Result<(), Failure> {
    tell_all((journal, scheduler), vec![what])
}

/// The same with several things that belong together.
pub(super) fn tell_all(
    (journal, scheduler): (&mut Journal, &mut Scheduler),
    all: Vec<What>,
) -> Result<(), Failure> {
    let at = wall_clock().max(scheduler.now());
    let mut events: Vec<Event> = Vec::new();
    for what in all {
        let event = what.at(at);
        scheduler
            .accept(event.clone())
            .map_err(|rejected| Failure::new(ErrorKind::Usage, rejected.to_string()))?;
        events.push(event);
    }
    runtime()?.block_on(journal.append(events))?;
    Ok(())
}

pub(super) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| {
        Failure::new(ErrorKind::Failure, format!("cannot start the runtime: {error}"))
    })
}

/// Drives a run, shows what happens, and tells what became of it.
pub(super) fn drive(
    run: &Run<'_>,
    mut studio: Studio,
    opened: Opened,
) -> Result<ExitCode, Failure> {
    let Run { output, journals, origin, .. } = run;
    let id = opened.0.id().clone();
    let orders = Orders::of(journals, &id);
    let runtime = runtime()?;
    process::listen_for_interrupts();
    let graph = opened.1.graph();
    let tasks = agents_of(graph).count();
    let mut live = Live::new(output, graph.name());
    live.json(&PlanLine::Begin { run: id.to_string(), plan: graph.name().to_owned(), tasks });
    live.line(&format!("{id}   {tasks} {}", if tasks == 1 { "task" } else { "tasks" }));
    let driven = runtime.block_on(driven(run, &mut studio, opened, &orders, &mut live));
    // A tool that does not end is not waited for.
    runtime.shutdown_timeout(Duration::from_millis(200));
    live.pause();
    if matches!(driven, Ok(Driven::Left(_))) && studio.engine == Engine::Restate {
        output.talk(&format!(
            "what runs on the cluster keeps running; `cargo agents plan cancel {id}` stops it"
        ));
    }
    let (stand, scheduler, left) = match driven? {
        Driven::Ended(ending, scheduler) => (Stand::Ended(ending), scheduler, None),
        Driven::Left(left) => (Stand::Suspended, Box::new(journals.view(&id)?.now()?), Some(left)),
    };
    let document = PlanRunDocument::new(&id, origin, stand, &scheduler);
    live.json(&PlanLine::End(Box::new(document)));
    live.heard()?;
    told::summary(run, &id, &scheduler, stand, left)
}

enum Driven {
    Ended(PlanEnding, Box<Scheduler>),
    Left(Left),
}

async fn driven(
    run: &Run<'_>,
    studio: &mut Studio,
    opened: Opened,
    orders: &Orders,
    live: &mut Live<'_>,
) -> Result<Driven, Failure> {
    let (send, mut events) = mpsc::unbounded_channel();
    let team = Arc::new(Team::of(studio, opened.0.id())?);
    drop(send.send(Told::Asks(asking(&opened.1))));
    let board = live.board();
    if let Some(board) = &board {
        board.look(&opened.1);
    }
    let watcher = watcher(send, board);
    let mut driver = Driver::new(opened, Arc::clone(&team)).watched(watcher);
    match run.journals.memo() {
        Ok(memo) => driver = driver.recalling(memo, run.recall),
        // It costs money, and nothing else.
        Err(error) => run.output.findings([&Failure::from(error).into_finding("earlier results")]),
    }
    let handle = driver.handle();
    let mut inquiry = Inquiry::new(run.output.asker(), handle.clone());
    let mut driving = tokio::spawn(driver.run());
    let mut left = None;
    let mut unanswered = Vec::new();
    // One for all passes, and looked at first: agents that talk without a pause must not keep us from listening.
    let mut tick = tokio::time::interval(TICK);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let ended = loop {
        tokio::select! {
            biased;
            _ = tick.tick() => {
                if process::interrupted() && left != Some(Left::Interrupted) {
                    left = Some(Left::Interrupted);
                    suspend(&handle);
                }
                orders.obey(&handle).await;
                live.tick();
            }
            Some(told) = events.recv() => match told {
                Told::Event(event) => live.event(*event),
                Told::Asks(failures) => {
                    inquiry.heard(failures).iter().for_each(|it| live.line(&format!("  {it}")));
                }
            },
            Some((task, event)) = studio.tasks.recv() => live.task(task, event),
            Some(note) = studio.notes.recv() => live.line(&note),
            came = inquiry.came() => {
                live.release();
                match came {
                    Came::Settled => {}
                    Came::TakenBack(ask) => unanswered.push(ask),
                    Came::Leaves(ask) => {
                        left = Some(Left::Interrupted);
                        suspend(&handle);
                        unanswered.extend(ask);
                    }
                }
            }
            Some(ask) = next(&mut studio.asks), if inquiry.is_free() && left.is_none() => {
                inquiry.ask(ask);
            }
            ended = &mut driving => break ended,
        }
        if left.is_none() {
            inquiry.go_on();
            if inquiry.is_unanswered() {
                left = Some(Left::Unanswered);
                suspend(&handle);
            }
        }
        if !inquiry.is_free() {
            live.hold();
        }
    };
    unanswered.extend(inquiry.close().await);
    live.release();
    if let Ok(Ok(_)) = &ended {
        _ = tokio::time::timeout(PARTING, team.tidy()).await;
    }
    // Those that were stopped say so, and end what they started.
    studio.cancel.cancel();
    drop(unanswered);
    let parting = async {
        while !studio.floor.is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    // Whoever does not stop in time is ended with the runtime.
    _ = tokio::time::timeout(PARTING, parting).await;
    while let Ok(told) = events.try_recv() {
        if let Told::Event(event) = told {
            live.event(*event);
        }
    }
    while let Ok((task, event)) = studio.tasks.try_recv() {
        live.task(task, event);
    }
    live.pause();
    tokio::join!(studio.place.end(), studio.hooks.drained(task::HOOKS));
    run.output.findings(&studio.place.heard().all());
    match ended {
        Ok(Ok((ending, scheduler))) => Ok(Driven::Ended(ending, Box::new(scheduler))),
        Ok(Err(DriveError::Suspended)) => Ok(Driven::Left(left.unwrap_or(Left::Interrupted))),
        Ok(Err(DriveError::Journal(error))) => {
            let hint = error.hint();
            let failure = Failure::from(error);
            Err(if hint.is_some() {
                failure
            } else {
                failure.hint("`cargo agents plan resume` continues the run")
            })
        }
        Ok(Err(error @ DriveError::Unreachable(_))) => {
            Err(Failure::new(ErrorKind::Network, with_causes(&error))
                .hint("`cargo agents plan resume` continues the run"))
        }
        Err(error) => Err(Failure::new(ErrorKind::Bug, format!("the run broke down: {error}"))),
    }
}

/// Not waited for: whoever drives may be about to end.
fn suspend(handle: &Handle) {
    let handle = handle.clone();
    tokio::spawn(async move { handle.suspend().await });
}

async fn next(asks: &mut Option<Asks>) -> Option<agents_task::broker::Ask> {
    match asks {
        Some(asks) => asks.recv().await,
        None => std::future::pending().await,
    }
}

fn watcher(
    send: mpsc::UnboundedSender<Told>,
    board: Option<Board>,
) -> agents_plan::engine::Watcher {
    let asks = AtomicBool::new(true);
    Arc::new(move |event: &Event, scheduler: &Scheduler| {
        if let Some(board) = &board {
            board.look(scheduler);
        }
        drop(send.send(Told::Event(Box::new(EventView::new(event, scheduler.graph())))));
        let failed = match &event.what {
            What::Ended { outcome, .. } => outcome.ending != agents_plan::event::Ending::Completed,
            What::Started { .. } | What::Rested { .. } => false,
            _ => true,
        };
        // To look at all of them takes long in a large plan, and they are rarely asked about.
        if failed || asks.load(Ordering::Relaxed) {
            let failures = asking(scheduler);
            asks.store(!failures.open.is_empty(), Ordering::Relaxed);
            drop(send.send(Told::Asks(failures)));
        }
    })
}

/// The tasks about whose failure somebody must say something.
fn asking(scheduler: &Scheduler) -> Failures {
    let graph = scheduler.graph();
    let asks = graph.indices().filter(|it| scheduler.state(*it) == State::Asking);
    let open: Vec<Question> = asks
        .map(|node| {
            let why = scheduler.outcome(node).map(|it| it.message.as_str()).unwrap_or_default();
            Question {
                node,
                attempt: scheduler.attempt(node).map_or(0, |it| it.number),
                text: format!("{}: {why}", view::name(graph, node)),
            }
        })
        .collect();
    let moves = |state: State| state.is_busy() || matches!(state, State::Ready | State::Resting);
    let is_stuck = !open.is_empty() && !graph.indices().any(|it| moves(scheduler.state(it)));
    Failures { open, is_stuck }
}

/// The nodes on which agents work.
pub(super) fn agents_of(graph: &Graph) -> impl Iterator<Item = Index> + '_ {
    let works = |index: &Index| {
        graph.node(*index).is_some_and(|it| matches!(it.work, agents_plan::graph::Work::Agent(_)))
    };
    graph.indices().filter(works)
}

/// Takes up a run. Somebody who only looks holds it for a moment.
pub(super) fn open(journals: &Journals, id: &RunId) -> Result<Opened, Failure> {
    for _ in 0..10 {
        match journals.open(id, Options::default()) {
            Err(agents_plan::journal::JournalError::Locked(_)) => {
                std::thread::sleep(Duration::from_millis(50));
            }
            opened => return Ok(opened?),
        }
    }
    Ok(journals.open(id, Options::default())?)
}

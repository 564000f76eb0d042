//! From decisions to deeds: the loop between the scheduler, the journal and whoever runs tasks.
//!
//! One [`Driver`] owns the state of a run. Whatever happens is applied, made durable, and only then acted on. Who runs tasks is an
//! [`Executor`]: one method that must be there, and two for engines that outlive their driver.

mod handle;
mod life;
mod recall;
#[cfg(feature = "restate")]
pub mod restate;
pub mod settings;
pub mod wire;

use std::{
    collections::{HashMap, HashSet},
    fmt,
    future::Future,
    sync::Arc,
    time::{Duration, SystemTime},
};

use agents_system::cache::{Digest, digest};
use agents_task::{Limits, TaskRequest};
use camino::Utf8PathBuf;
use tokio::{
    sync::mpsc,
    task::{AbortHandle, JoinError, JoinSet},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use crate::{
    event::{Action, Allowance, Attempt, Ending, Event, Index, Millis, Outcome, PlanEnding, What},
    graph::{Assignment, NodeId, Work},
    ground::Ground,
    journal::{Journal, JournalError, Memo},
    reference::Template,
    schedule::{Scheduler, State},
};

use handle::{Command, Order};
pub use handle::{Handle, NotDone};
use life::Beat;
pub use life::Life;
pub use recall::Recall;
use recall::{Trial, Tried, Writes};

/// What is to be run.
#[derive(Debug, Clone, PartialEq)]
pub struct Start {
    /// The node.
    pub node: NodeId,
    /// The number of the attempt, counted from 1. With the node and the run it names what is done, once and for all.
    pub attempt: u32,
    /// What is to be done, within what is left of the budget.
    pub request: TaskRequest,
    /// The paths below which it says that it reads and writes; it may be anywhere if it says nothing.
    pub files: Vec<Utf8PathBuf>,
}

/// Whoever runs tasks.
pub trait Executor: Send + Sync + 'static {
    /// Runs a task until it has ended, one way or the other. When [`Life::stopped`] returns it should end soon; when the future
    /// is dropped it must not go on. A task that cannot begin now, and may later, ends as [`Ending::Busy`].
    fn run(&self, start: Start, life: Life) -> impl Future<Output = Outcome> + Send;

    /// What the result depends on, as it is now, if a result of an earlier run can stand for it: its effects included. Asked before a
    /// task is run, and again when it has completed, while it still holds what it uses.
    fn ground(&self, start: &Start) -> impl Future<Output = Option<Ground>> + Send {
        _ = start;
        std::future::ready(None)
    }

    /// Which of the attempts that were busy when an earlier driver went away still are this executor's: worked on, or ended and not told
    /// yet. [`run`](Self::run) is called for each of them, and goes on with it; the others were interrupted.
    ///
    /// # Errors
    /// Nobody can tell now. The run is left as it is.
    fn living(
        &self,
        attempts: &[(NodeId, u32)],
    ) -> impl Future<Output = Result<HashSet<(NodeId, u32)>, Unreachable>> + Send {
        _ = attempts;
        std::future::ready(Ok(HashSet::new()))
    }

    /// What becomes of attempts when their driver goes away.
    fn parting(&self) -> Parting {
        Parting::Stop
    }
}

/// What becomes of attempts when their driver goes away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parting {
    /// They are stopped.
    Stop,
    /// They go on, and the next driver finds them.
    Leave,
}

/// Whoever runs tasks cannot be asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unreachable(pub String);

/// Why a run could not be driven to its end.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// What happened could not be written down. What ran was stopped; the run can be resumed.
    #[error("the run cannot go on")]
    Journal(#[from] JournalError),
    /// Nobody can tell what became of the attempts that ran. The run can be resumed.
    #[error("whoever runs the tasks cannot be asked about them")]
    Unreachable(#[from] Unreachable),
    /// Whoever drives asked for it. The run can be resumed.
    #[error("the run was suspended")]
    Suspended,
}

/// Told what happens, after it is durable.
pub type Watcher = Arc<dyn Fn(&Event, &Scheduler) + Send + Sync>;

/// Drives one run.
pub struct Driver<E> {
    scheduler: Scheduler,
    journal: Journal,
    executor: Arc<E>,
    memo: Option<(Arc<Memo>, Recall)>,
    watcher: Option<Watcher>,
    orders: mpsc::UnboundedReceiver<Order>,
    handle: Handle,
    clock: Clock,
    running: JoinSet<Tried>,
    attempts: HashMap<tokio::task::Id, Attempt>,
    controls: HashMap<Attempt, Control>,
    beats: (mpsc::UnboundedSender<Beat>, mpsc::UnboundedReceiver<Beat>),
}

struct Control {
    token: CancellationToken,
    abort: AbortHandle,
}

/// Never goes back, and does not care what happens to the clock of the machine while it runs.
struct Clock {
    base: Millis,
    since: Instant,
}

impl Clock {
    fn now(&self) -> Millis {
        self.base.after(self.since.elapsed())
    }

    fn at(&self, instant: Instant) -> Millis {
        self.base.after(instant.saturating_duration_since(self.since))
    }

    fn instant(&self, at: Millis) -> Instant {
        self.since + at.since(self.base)
    }
}

/// The time of the machine.
#[must_use]
pub fn wall_clock() -> Millis {
    let since = SystemTime::UNIX_EPOCH.elapsed().unwrap_or(Duration::ZERO);
    Millis(0).after(since)
}

impl<E> fmt::Debug for Driver<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver").field("run", self.journal.id()).finish_non_exhaustive()
    }
}

impl<E: Executor> Driver<E> {
    /// For a run that was created, opened or forked. Must be called within a tokio runtime.
    #[must_use]
    pub fn new((journal, scheduler): (Journal, Scheduler), executor: Arc<E>) -> Self {
        let (sender, orders) = mpsc::unbounded_channel();
        // The clock of the machine may have been set back since the last event.
        let base = wall_clock().max(scheduler.now());
        Self {
            scheduler,
            journal,
            executor,
            memo: None,
            watcher: None,
            orders,
            handle: Handle::new(sender),
            clock: Clock { base, since: Instant::now() },
            running: JoinSet::new(),
            attempts: HashMap::new(),
            controls: HashMap::new(),
            beats: mpsc::unbounded_channel(),
        }
    }

    /// The same, with results of earlier runs. Those of this one are kept for later ones in any case.
    #[must_use]
    pub fn recalling(mut self, memo: Memo, recall: Recall) -> Self {
        self.memo = Some((Arc::new(memo), recall));
        self
    }

    /// The same, telling somebody what happens.
    #[must_use]
    pub fn watched(mut self, watcher: Watcher) -> Self {
        self.watcher = Some(watcher);
        self
    }

    /// To say something to the run while it is driven.
    #[must_use]
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Drives the run to its end, or until every way to it leads through an answer that nobody gives.
    ///
    /// # Errors
    /// It has not ended, and can be resumed.
    pub async fn run(mut self) -> Result<(PlanEnding, Scheduler), DriveError> {
        let mut batch: Vec<Event> = Vec::new();
        self.take_up(&mut batch).await?;
        loop {
            // Whatever came in time counts, however long it took us to look.
            self.drain(&mut batch);
            self.scheduler.advance(self.clock.now(), &mut batch);
            let actions: Vec<Action> = self.scheduler.actions().collect();
            self.write(&mut batch).await?;
            for action in actions {
                self.act(action);
            }
            if let Some(ending) = self.scheduler.ending() {
                return Ok((ending, self.scheduler));
            }
            self.wait(&mut batch).await?;
        }
    }

    /// Goes on with the attempts of an earlier driver that still are somewhere; whoever ran the others is gone.
    async fn take_up(&mut self, batch: &mut Vec<Event>) -> Result<(), DriveError> {
        let busy: Vec<Attempt> = self.scheduler.busy().collect();
        let named = |it: &Attempt| {
            let node = self.scheduler.graph().node(it.node);
            node.map(|node| (node.id.clone(), it.number))
        };
        let names: Vec<(NodeId, u32)> = busy.iter().filter_map(named).collect();
        let living = self.executor.living(&names).await?;
        for attempt in busy {
            let node = self.scheduler.graph().node(attempt.node);
            if node.is_some_and(|it| living.contains(&(it.id.clone(), attempt.number))) {
                self.start(attempt, Allowance::default());
                if self.scheduler.state(attempt.node) == State::Stopping {
                    self.act(Action::Stop { attempt });
                }
            } else {
                self.take(What::Interrupted { attempt }, batch);
            }
        }
        Ok(())
    }

    /// Applies an event from outside; one that does not fit is nothing that happened.
    fn take(&mut self, what: What, batch: &mut Vec<Event>) {
        let event = what.at(self.clock.now());
        if self.scheduler.accept(event.clone()).is_ok() {
            batch.push(event);
        }
    }

    async fn write(&mut self, batch: &mut Vec<Event>) -> Result<(), DriveError> {
        if batch.is_empty() {
            return Ok(());
        }
        let events = std::mem::take(batch);
        let given_up: Vec<Attempt> = events
            .iter()
            .filter_map(|it| match &it.what {
                What::Abandoned { attempt } => Some(*attempt),
                _ => None,
            })
            .collect();
        let told = if self.watcher.is_some() { events.clone() } else { Vec::new() };
        if let Err(error) = self.journal.append(events).await {
            // Nobody may go on with what is not written down.
            self.running.shutdown().await;
            return Err(error.into());
        }
        // They did not stop when they were told to.
        for control in given_up.iter().filter_map(|it| self.controls.get(it)) {
            control.abort.abort();
        }
        if let Some(watcher) = &self.watcher {
            told.iter().for_each(|event| watcher(event, &self.scheduler));
        }
        Ok(())
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Start { attempt, allowance } => {
                self.start(attempt, allowance.map(|it| *it).unwrap_or_default());
            }
            Action::Stop { attempt } => {
                if let Some(control) = self.controls.get(&attempt) {
                    control.token.cancel();
                }
            }
            Action::Ask { .. } | Action::Finish { .. } => {}
        }
    }

    fn start(&mut self, attempt: Attempt, allowance: Allowance) {
        let Some(start) = self.start_of(attempt, allowance) else { return };
        let trial = Trial {
            executor: Arc::clone(&self.executor),
            memo: self.memo.clone(),
            inputs: self.inputs(attempt.node),
            writes: self.writes(attempt.node),
        };
        let token = CancellationToken::new();
        let life = Life::new(attempt, token.clone(), self.beats.0.clone());
        let abort = self.running.spawn(trial.run(start, life));
        self.attempts.insert(abort.id(), attempt);
        self.controls.insert(attempt, Control { token, abort });
    }

    fn start_of(&self, attempt: Attempt, allowance: Allowance) -> Option<Start> {
        let node = self.scheduler.graph().node(attempt.node)?;
        let Work::Agent(assignment) = &node.work else { return None };
        let prompt = self.scheduler.prompt(attempt.node)?;
        let mut request = assignment.request(&node.id, prompt, node.deadlines.run);
        request.limits = request.limits.meet(Limits {
            turns: allowance.turns,
            tokens: allowance.tokens,
            cost: allowance.cost,
            ..Limits::default()
        });
        let files = node.uses.reads.iter().chain(&node.uses.writes).cloned().collect();
        Some(Start { node: node.id.clone(), attempt: attempt.number, request, files })
    }

    /// What a node is told, whatever it is called, wherever it stands and however often it was tried.
    fn inputs(&self, index: Index) -> Digest {
        let work = self.scheduler.graph().node(index).map(|it| &it.work);
        let Some(Work::Agent(assignment)) = work else { return Digest::default() };
        let prompt = self.scheduler.subject(index).unwrap_or_default();
        let told = Assignment { prompt: Template::plain(prompt), ..Assignment::clone(assignment) };
        digest(&serde_json::to_vec(&told).unwrap_or_default())
    }

    /// Whether nobody else changes what a node says that it changes.
    fn writes(&self, index: Index) -> Writes {
        let held = self.scheduler.graph().node(index).is_some_and(|it| !it.uses.writes.is_empty());
        if held { Writes::Held } else { Writes::Unknown }
    }

    /// Waits until something happens, and takes in all that has.
    async fn wait(&mut self, batch: &mut Vec<Event>) -> Result<(), DriveError> {
        let deadline = self.scheduler.next_deadline().map(|it| self.clock.instant(it));
        let sleep = async {
            match deadline {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            Some(order) = self.orders.recv() => self.obey(order, batch).await?,
            Some(joined) = self.running.join_next_with_id(), if !self.running.is_empty() => {
                self.joined(joined, batch);
            }
            Some((attempt, at)) = self.beats.1.recv() => {
                self.scheduler.heard(attempt, self.clock.at(at));
            }
            () = sleep => {}
        }
        Ok(())
    }

    /// Takes in all that is there already; it shares one flush.
    fn drain(&mut self, batch: &mut Vec<Event>) {
        while let Ok((attempt, at)) = self.beats.1.try_recv() {
            self.scheduler.heard(attempt, self.clock.at(at));
        }
        while let Some(joined) = self.running.try_join_next_with_id() {
            self.joined(joined, batch);
        }
    }

    fn joined(
        &mut self,
        joined: Result<(tokio::task::Id, Tried), JoinError>,
        batch: &mut Vec<Event>,
    ) {
        let (id, Tried { outcome, keep }) = match joined {
            Ok((id, tried)) => (id, tried),
            Err(error) => {
                let why =
                    if error.is_panic() { "whoever ran it panicked" } else { "it was dropped" };
                (error.id(), Tried { outcome: Outcome::ended(Ending::Lost, why), keep: None })
            }
        };
        let Some(attempt) = self.attempts.remove(&id) else { return };
        self.controls.remove(&attempt);
        let before = batch.len();
        let outcome = Arc::new(outcome);
        self.take(What::Ended { attempt, outcome: Arc::clone(&outcome) }, batch);
        // A result that came too late is none for others either.
        let completed = self.scheduler.state(attempt.node) == State::Completed;
        if batch.len() > before
            && completed
            && let (Some((memo, _)), Some(fingerprint)) = (&self.memo, keep)
        {
            // Not being able to keep it costs money in the next run, and nothing in this one.
            _ = memo.keep(&fingerprint, &outcome, self.clock.now());
        }
    }

    async fn obey(&mut self, order: Order, batch: &mut Vec<Event>) -> Result<(), DriveError> {
        let what = match order.command {
            Command::Tell(what) => what,
            Command::Suspend => {
                if self.executor.parting() == Parting::Stop {
                    self.controls.values().for_each(|it| it.token.cancel());
                }
                self.running.shutdown().await;
                return Err(DriveError::Suspended);
            }
        };
        let event = what.at(self.clock.now());
        match self.scheduler.accept(event.clone()) {
            Err(rejected) => _ = order.reply.send(Err(rejected)),
            Ok(()) => {
                // Whoever said it hears that it is done when it is durable.
                batch.push(event);
                let actions: Vec<Action> = self.scheduler.actions().collect();
                self.write(batch).await?;
                for action in actions {
                    self.act(action);
                }
                _ = order.reply.send(Ok(()));
            }
        }
        Ok(())
    }
}

//! What runs next: a state machine that takes events, decides, and says what is to be done. It has no clock and does no I/O.
//!
//! Whatever changes the state is an [`Event`]. Those that come from outside are given to [`Scheduler::accept`], which takes them or
//! says why not; those that the scheduler decides itself come out of [`Scheduler::advance`], already applied. Both must be made
//! durable before the [`Action`]s that they lead to are done ([`Scheduler::actions`]). A scheduler that is given the same
//! events again, also those that it decided itself, is in the same state again: so a plan is resumed.
//!
//! # States
//! A node is `waiting` until all that it needs is done, then `ready`, `running` and one of `completed`, `failed`, `skipped` (its
//! condition did not hold, or something that it needs did not complete) and `cancelled`. On the way it may be `stopping` (told to stop,
//! and it still holds its leases, since nobody knows what it does until it has said that it stopped), `resting` (until the
//! next attempt) and `asking` (the user must say what to do about a failure).
//!
//! # What a failure does
//! It is tried again if [`Retry`](crate::graph::Retry) says so; then [`OnFailure`] decides: `abort` stops everything, `skip-dependents` leaves out
//! what needs it, `continue` treats it as done, `ask` waits for an answer while everything else goes on.
//!
//! # Cost
//! Every event costs the logarithm of what is waiting, times what the node itself claims. A node that cannot start is put into the queue of the one
//! thing that is in its way, and looked at again when some of that comes back.

mod claims;
mod gather;
mod leases;
mod money;
mod view;

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap},
    sync::Arc,
    time::Duration,
};

use crate::{
    event::{
        Action, Allowance, Answer, Attempt, Deadline, Ending, Event, Index, Millis, Outcome,
        PlanEnding, Rejected, Spent, What,
    },
    file::OnFailure,
    graph::{Graph, GraphError, Injection, Join, Until, Work},
};
use claims::{Claims, NOWHERE, Queue};
use money::Afford;

pub use view::{Results, State};

/// How long an attempt that is to stop may take to say that it has.
pub const GRACE: Duration = Duration::from_secs(30);
/// The first wait of a node for which there was no room, and the longest.
const BUSY: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// Why an attempt is to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    Cancelled,
    TimedOut(Deadline),
}

/// Whether what needs a failed node may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Passage {
    Closed,
    Open,
}

#[derive(Debug)]
struct Cell {
    state: State,
    passage: Passage,
    stop: Stop,
    /// The number of the last attempt.
    attempt: u32,
    failures: u32,
    /// How often there was no room for it in a row.
    busy: u32,
    /// Which queue it was taken from last.
    woken: Queue,
    since: Millis,
    heard: Millis,
    until: Millis,
    /// The join whose contender it is.
    race: Option<Index>,
    outcome: Option<Arc<Outcome>>,
}

impl Default for Cell {
    fn default() -> Self {
        Self {
            state: State::Waiting,
            passage: Passage::Closed,
            stop: Stop::Cancelled,
            attempt: 0,
            failures: 0,
            busy: 0,
            woken: NOWHERE,
            since: Millis(0),
            heard: Millis(0),
            until: Millis(0),
            race: None,
            outcome: None,
        }
    }
}

/// Nobody waits any more.
const OVER: u32 = u32::MAX;

/// What of a node matters at every step.
#[derive(Debug, Clone, Copy)]
struct Traits {
    /// Its place among those that are ready.
    key: u64,
    /// Whether it is ready as soon as its needs are met: no join, no condition.
    plain: bool,
    timed: bool,
    claims: bool,
}

/// Whether anything may start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flow {
    Open,
    Paused,
}

/// The scheduler of one plan.
pub struct Scheduler {
    graph: Graph,
    cells: Vec<Cell>,
    /// How many needs of a node are open; [`OVER`] once it does not wait for them any more.
    unmet: Vec<u32>,
    /// What is asked for again and again, in little room.
    traits: Vec<Traits>,
    claims: Claims,
    /// By priority, then by position.
    ready: BinaryHeap<u64>,
    /// What must be looked at when. Some of it may have been taken care of already.
    clock: BinaryHeap<Reverse<(Millis, Index, u32)>>,
    running: u32,
    open: usize,
    /// Nodes that failed or were stopped one by one.
    flaws: usize,
    flow: Flow,
    fate: Option<PlanEnding>,
    ended: Option<PlanEnding>,
    spent: Spent,
    held: HashMap<Index, Allowance>,
    now: Millis,
    actions: Vec<Action>,
    /// Nodes that have ended and whose dependents do not know yet.
    agenda: Vec<Index>,
}

impl std::fmt::Debug for Scheduler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut told = f.debug_struct("Scheduler");
        told.field("plan", &self.graph.name()).field("open", &self.open);
        told.field("running", &self.running).field("ended", &self.ended).finish_non_exhaustive()
    }
}

impl Scheduler {
    /// For a plan that has not begun.
    #[must_use]
    pub fn new(graph: Graph) -> Self {
        let mut scheduler = Self {
            claims: Claims::new(&graph),
            graph,
            cells: Vec::new(),
            unmet: Vec::new(),
            traits: Vec::new(),
            ready: BinaryHeap::new(),
            clock: BinaryHeap::new(),
            running: 0,
            open: 0,
            flaws: 0,
            flow: Flow::Open,
            fate: None,
            ended: None,
            spent: Spent::default(),
            held: HashMap::new(),
            now: Millis(0),
            actions: Vec::new(),
            agenda: Vec::new(),
        };
        scheduler.grow();
        scheduler.conclude();
        scheduler
    }

    /// Takes an event, or says why not; then nothing has changed.
    ///
    /// # Errors
    /// It does not fit the state.
    pub fn accept(&mut self, event: &Event) -> Result<(), Rejected> {
        self.admit(&event.what)?;
        if let What::Injected { injection } = &event.what {
            self.inject(injection)?;
        }
        self.apply(event);
        Ok(())
    }

    fn apply(&mut self, event: &Event) {
        // A clock that goes back does not make anything younger.
        self.now = self.now.max(event.at);
        match &event.what {
            What::Started { attempt, allowance } => self.start(*attempt, allowance.clone()),
            What::Ended { attempt, outcome } => self.end(attempt.node, Arc::clone(outcome)),
            What::Recalled { node, outcome } => {
                self.finish(*node, State::Completed, Some(Arc::clone(outcome)));
            }
            What::TimedOut { attempt, deadline } => {
                self.stop(attempt.node, Stop::TimedOut(*deadline));
            }
            What::Abandoned { attempt } => {
                let lost = Outcome::ended(
                    Ending::Lost,
                    "it was told to stop, and did not say that it has",
                );
                self.end(attempt.node, Arc::new(lost));
            }
            What::Rested { node } => self.make_ready(*node),
            What::Interrupted { attempt } => self.interrupt(attempt.node),
            What::Paused => self.flow = Flow::Paused,
            What::Resumed => self.flow = Flow::Open,
            What::Cancelled { node: Some(node) } => self.cancel(*node),
            What::Cancelled { node: None } => self.give_up(PlanEnding::Cancelled),
            What::Answered { node, answer } => self.answer(*node, *answer),
            What::Injected { .. } => self.grow(),
            What::Reopened => self.reopen(),
            What::RanOut => self.give_up(PlanEnding::OutOfBudget),
        }
        self.settle();
        self.conclude();
    }

    /// Decides what is due at a time: deadlines that have passed, and what starts. The events are applied already, and added to those
    /// that are to be made durable.
    pub fn advance(&mut self, now: Millis, decided: &mut Vec<Event>) {
        self.now = self.now.max(now);
        while let Some(Reverse((when, index, number))) = self.clock.peek().copied()
            && when <= self.now
        {
            self.clock.pop();
            if let Some(what) = self.overdue(index, number) {
                self.decide(what, decided);
            }
        }
        while let Some(what) = self.pick() {
            self.decide(what, decided);
        }
    }

    /// What it decides itself fits its own state.
    fn decide(&mut self, what: What, decided: &mut Vec<Event>) {
        let event = what.at(self.now);
        self.apply(&event);
        decided.push(event);
    }

    /// What is to be done outside, once the events that led to it are durable.
    pub fn actions(&mut self) -> std::vec::Drain<'_, Action> {
        self.actions.drain(..)
    }

    /// A sign of life of an attempt. It is no event: nothing is lost if it is forgotten.
    pub fn heard(&mut self, attempt: Attempt, at: Millis) {
        if let Some(cell) = self.cells.get_mut(attempt.node.at())
            && cell.attempt == attempt.number
        {
            cell.heard = cell.heard.max(at);
        }
    }

    fn admit(&self, what: &What) -> Result<(), Rejected> {
        let cell = match what.node() {
            Some(index) => match self.cells.get(index.at()) {
                Some(cell) => Some((index, cell)),
                None => return Err(Rejected::Unknown(index)),
            },
            None => None,
        };
        let unfit = |index: Index, cell: &Cell| Rejected::Unfit {
            node: self.graph.nodes()[index.at()].id.clone(),
            state: cell.state.word(),
            event: what.word(),
        };
        if let What::Ended { attempt, .. }
        | What::TimedOut { attempt, .. }
        | What::Abandoned { attempt }
        | What::Interrupted { attempt } = what
            && let Some((index, cell)) = cell
        {
            let fits = match what {
                What::TimedOut { .. } => cell.state == State::Running,
                What::Abandoned { .. } => cell.state == State::Stopping,
                _ => cell.state.is_busy(),
            };
            if cell.attempt != attempt.number || !fits {
                let node = self.graph.nodes()[index.at()].id.clone();
                return Err(Rejected::Stale { node, attempt: *attempt });
            }
            return Ok(());
        }
        match (what, self.ended) {
            (What::Reopened, None | Some(PlanEnding::Completed)) => return Err(Rejected::NotOver),
            (What::Reopened, _) => return Ok(()),
            (_, Some(_)) => return Err(Rejected::Over),
            (_, None) => {}
        }
        let Some((index, cell)) = cell else { return Ok(()) };
        let fits = match what {
            What::Started { attempt, .. } => {
                cell.state == State::Ready && attempt.number == cell.attempt + 1
            }
            What::Recalled { .. } => cell.state == State::Ready,
            What::Rested { .. } => cell.state == State::Resting,
            What::Cancelled { .. } => !cell.state.is_over() && cell.state != State::Stopping,
            What::Answered { answer: Answer::Retry, .. } => {
                cell.state == State::Asking && self.join(index).is_none()
            }
            What::Answered { .. } => cell.state == State::Asking,
            _ => true,
        };
        if fits { Ok(()) } else { Err(unfit(index, cell)) }
    }

    fn join(&self, index: Index) -> Option<&Join> {
        match &self.graph.nodes()[index.at()].work {
            Work::Join(join) => Some(join),
            Work::Agent(_) => None,
        }
    }

    /// The next thing to start, if something may.
    fn pick(&mut self) -> Option<What> {
        if self.flow == Flow::Paused || self.fate.is_some() || self.ended.is_some() {
            return None;
        }
        while self.running < self.graph.concurrency().total.max(1) {
            let key = self.ready.pop()?;
            let index = claims::index_of(key);
            let cell = &mut self.cells[index.at()];
            let woken = std::mem::replace(&mut cell.woken, NOWHERE);
            if cell.state != State::Ready {
                self.wake(woken);
                continue;
            }
            let attempt = Attempt { node: index, number: cell.attempt + 1 };
            if self.traits[index.at()].claims
                && let Some(queue) = self.claims.blocked(index)
            {
                self.claims.park(queue, key);
                if queue != woken {
                    self.wake(woken);
                }
                continue;
            }
            match self.afford(index) {
                Afford::Yes(allowance) => {
                    self.wake(woken);
                    return Some(What::Started { attempt, allowance });
                }
                Afford::Later => {
                    self.ready.push(key);
                    self.cells[index.at()].woken = woken;
                    return None;
                }
                Afford::Never => return Some(What::RanOut),
            }
        }
        None
    }

    /// Looks again at the first one that waits in a queue. It wakes the next one when it no longer needs to wait there.
    fn wake(&mut self, queue: Queue) {
        if let Some(key) = self.claims.unpark(queue) {
            self.cells[claims::index_of(key).at()].woken = queue;
            self.ready.push(key);
        }
    }

    fn start(&mut self, attempt: Attempt, allowance: Option<Box<Allowance>>) {
        let now = self.now;
        let cell = &mut self.cells[attempt.node.at()];
        cell.state = State::Running;
        cell.attempt = attempt.number;
        (cell.since, cell.heard) = (now, now);
        self.running += 1;
        let Traits { claims, timed, .. } = self.traits[attempt.node.at()];
        if claims {
            self.claims.take(attempt.node);
        }
        if let Some(allowance) = &allowance {
            self.held.insert(attempt.node, **allowance);
        }
        if timed && let Some((when, _)) = self.deadline(attempt.node) {
            self.clock.push(Reverse((when, attempt.node, attempt.number)));
        }
        self.actions.push(Action::Start { attempt, allowance });
    }

    fn deadline(&self, index: Index) -> Option<(Millis, Deadline)> {
        let deadlines = self.graph.nodes()[index.at()].deadlines;
        let cell = &self.cells[index.at()];
        let run = deadlines.run.map(|it| (cell.since.after(it), Deadline::Run));
        let idle = deadlines.idle.map(|it| (cell.heard.after(it), Deadline::Idle));
        match (run, idle) {
            // If both have passed, it is the whole time that counts.
            (Some(run), Some(idle)) => Some(if run.0 <= idle.0 { run } else { idle }),
            (run, idle) => run.or(idle),
        }
    }

    fn overdue(&mut self, index: Index, number: u32) -> Option<What> {
        let cell = &self.cells[index.at()];
        if cell.attempt != number {
            return None;
        }
        let attempt = Attempt { node: index, number };
        let (when, what) = match cell.state {
            State::Running => {
                let (when, deadline) = self.deadline(index)?;
                (when, What::TimedOut { attempt, deadline })
            }
            State::Stopping => (cell.until, What::Abandoned { attempt }),
            State::Resting => (cell.until, What::Rested { node: index }),
            _ => return None,
        };
        if when > self.now {
            self.clock.push(Reverse((when, index, number)));
            return None;
        }
        Some(what)
    }

    /// When to call [`Scheduler::advance`] at the latest, if nothing happens before.
    pub fn next_deadline(&mut self) -> Option<Millis> {
        while let Some(Reverse((when, index, number))) = self.clock.peek().copied() {
            let cell = &self.cells[index.at()];
            if cell.attempt == number && (cell.state.is_busy() || cell.state == State::Resting) {
                return Some(when);
            }
            self.clock.pop();
        }
        None
    }

    fn stop(&mut self, index: Index, stop: Stop) {
        let until = self.now.after(GRACE);
        let cell = &mut self.cells[index.at()];
        if cell.state != State::Running {
            return;
        }
        cell.state = State::Stopping;
        (cell.stop, cell.until) = (stop, until);
        let attempt = Attempt { node: index, number: cell.attempt };
        self.clock.push(Reverse((until, index, attempt.number)));
        self.actions.push(Action::Stop { attempt });
    }

    fn release(&mut self, index: Index) {
        self.running -= 1;
        if !self.held.is_empty() {
            self.held.remove(&index);
        }
        if self.traits[index.at()].claims {
            for queue in self.claims.give_back(index) {
                self.wake(queue);
            }
        }
    }

    fn end(&mut self, index: Index, outcome: Arc<Outcome>) {
        self.release(index);
        self.spent = self.spent.and(outcome.spent);
        let cell = &mut self.cells[index.at()];
        let (state, stop) = (cell.state, cell.stop);
        if outcome.ending != Ending::Busy {
            cell.busy = 0;
        }
        match (state, stop, outcome.ending) {
            // What came too late is kept, and it was too late.
            (State::Stopping, Stop::TimedOut(deadline), _) => {
                let message = match deadline {
                    Deadline::Run => "it took too long".to_owned(),
                    Deadline::Idle => "it gave no sign of life for too long".to_owned(),
                };
                let late = Outcome { ending: Ending::TimedOut, message, ..(*outcome).clone() };
                self.fail(index, Arc::new(late));
            }
            (_, _, Ending::Completed) => self.finish(index, State::Completed, Some(outcome)),
            (State::Stopping, Stop::Cancelled, _) | (_, _, Ending::Cancelled) => {
                self.finish(index, State::Cancelled, Some(outcome));
            }
            (_, _, Ending::Busy) => {
                let wait = BUSY.0.saturating_mul(1 << cell.busy.min(10)).min(BUSY.1);
                cell.busy += 1;
                self.rest(index, wait);
            }
            _ => self.fail(index, outcome),
        }
    }

    fn rest(&mut self, index: Index, wait: Duration) {
        let until = self.now.after(wait);
        let cell = &mut self.cells[index.at()];
        (cell.state, cell.until) = (State::Resting, until);
        self.clock.push(Reverse((until, index, cell.attempt)));
    }

    fn interrupt(&mut self, index: Index) {
        match (self.cells[index.at()].state, self.cells[index.at()].stop) {
            (State::Stopping, _) => {
                let lost = Outcome::ended(Ending::Lost, "the process that ran it is gone");
                self.end(index, Arc::new(lost));
            }
            _ => {
                self.release(index);
                self.make_ready(index);
            }
        }
    }

    /// An attempt failed: once more, or for good.
    fn fail(&mut self, index: Index, outcome: Arc<Outcome>) {
        let retry = &self.graph.nodes()[index.at()].retry;
        let cell = &mut self.cells[index.at()];
        cell.failures += 1;
        let again = retry.on.contains(&outcome.ending) && cell.failures < retry.attempts;
        let wait = retry.wait(cell.failures);
        cell.outcome = Some(Arc::clone(&outcome));
        if again && self.fate.is_none() {
            self.rest(index, wait);
        } else {
            self.fail_for_good(index, outcome);
        }
    }

    fn fail_for_good(&mut self, index: Index, outcome: Arc<Outcome>) {
        let strategy = self.graph.nodes()[index.at()].on_failure;
        if strategy == OnFailure::Ask && self.fate.is_none() {
            let cell = &mut self.cells[index.at()];
            cell.state = State::Asking;
            cell.outcome = Some(outcome);
            self.actions.push(Action::Ask { node: index });
            return;
        }
        self.fail_as(index, strategy, outcome);
    }

    fn fail_as(&mut self, index: Index, strategy: OnFailure, outcome: Arc<Outcome>) {
        if strategy == OnFailure::Continue {
            self.cells[index.at()].passage = Passage::Open;
        }
        self.finish(index, State::Failed, Some(outcome));
        if matches!(strategy, OnFailure::Abort) {
            self.give_up(PlanEnding::Failed);
        }
    }

    fn answer(&mut self, index: Index, answer: Answer) {
        let outcome = self.cells[index.at()].outcome.clone();
        let outcome = outcome.unwrap_or_else(|| Arc::new(Outcome::ended(Ending::Failed, "")));
        match answer {
            Answer::Retry => {
                self.cells[index.at()].failures = 0;
                self.make_ready(index);
            }
            Answer::SkipDependents => self.fail_as(index, OnFailure::SkipDependents, outcome),
            Answer::Continue => self.fail_as(index, OnFailure::Continue, outcome),
            Answer::Abort => self.fail_as(index, OnFailure::Abort, outcome),
        }
    }

    fn cancel(&mut self, index: Index) {
        match self.cells[index.at()].state {
            State::Running => self.stop(index, Stop::Cancelled),
            state if state.is_over() || state == State::Stopping => {}
            _ => self.finish(index, State::Cancelled, None),
        }
    }

    /// Nothing starts any more, and what runs is stopped.
    fn give_up(&mut self, ending: PlanEnding) {
        if self.fate.is_some() {
            return;
        }
        self.fate = Some(ending);
        for index in self.graph.indices() {
            self.cancel(index);
        }
    }

    fn make_ready(&mut self, index: Index) {
        self.cells[index.at()].state = State::Ready;
        self.ready.push(self.traits[index.at()].key);
    }

    fn finish(&mut self, index: Index, state: State, outcome: Option<Arc<Outcome>>) {
        let cell = &mut self.cells[index.at()];
        cell.state = state;
        if outcome.is_some() {
            cell.outcome = outcome;
        }
        if matches!(state, State::Failed | State::Cancelled) && cell.race.is_none() {
            self.flaws += 1;
        }
        self.unmet[index.at()] = OVER;
        self.open -= 1;
        self.agenda.push(index);
    }

    /// Tells the dependents of what has ended, until nothing new ends by that.
    fn settle(&mut self) {
        while let Some(index) = self.agenda.pop() {
            if self.cells[index.at()].race.is_some() {
                self.decide_race(index);
            }
            let opens = self.opens(index, Until::Completed);
            for at in 0..self.graph.dependents(index).len() {
                let (to, until) = self.graph.dependents(index)[at];
                let unmet = &mut self.unmet[to.at()];
                if *unmet == OVER {
                    continue;
                }
                if opens || until == Until::Ended {
                    *unmet -= 1;
                    if *unmet == 0 {
                        self.unblock(to);
                    }
                } else {
                    self.finish(to, State::Skipped, None);
                }
            }
        }
    }

    /// Whether a node that has ended is what somebody waits for.
    fn opens(&self, index: Index, until: Until) -> bool {
        let cell = &self.cells[index.at()];
        until == Until::Ended || cell.state == State::Completed || cell.passage == Passage::Open
    }

    /// Everything that a node needs is there.
    fn unblock(&mut self, index: Index) {
        if self.traits[index.at()].plain {
            return self.make_ready(index);
        }
        let node = &self.graph.nodes()[index.at()];
        let holds = match &node.when {
            Some(condition) => condition.holds(&Results(self)),
            None => Ok(true),
        };
        match (holds, self.join(index).is_some()) {
            (Ok(true), true) => self.gather(index),
            (Ok(true), false) => self.make_ready(index),
            (Ok(false), _) => self.finish(index, State::Skipped, None),
            (Err(why), _) => {
                let message = format!("its condition cannot be decided: {why}");
                self.fail_for_good(index, Arc::new(Outcome::ended(Ending::Failed, message)));
            }
        }
    }

    fn conclude(&mut self) {
        if self.open > 0 || self.ended.is_some() {
            return;
        }
        let flawless = if self.flaws == 0 { PlanEnding::Completed } else { PlanEnding::Partly };
        let ending = self.fate.unwrap_or(flawless);
        self.ended = Some(ending);
        self.actions.push(Action::Finish { ending });
    }

    /// Takes in the nodes that the graph has and the scheduler does not know yet.
    fn grow(&mut self) {
        let first = self.cells.len();
        self.cells.resize_with(self.graph.nodes().len(), Cell::default);
        self.unmet.resize(self.cells.len(), 0);
        let new = self.graph.indices().zip(self.graph.nodes()).skip(first);
        self.traits.extend(new.map(|(index, node)| Traits {
            key: claims::key_of(node.priority, index),
            plain: node.when.is_none() && matches!(node.work, Work::Agent(_)),
            timed: node.deadlines != Default::default(),
            claims: Claims::wants(node, &self.graph),
        }));
        self.open += self.cells.len() - first;
        self.claims.grow(&self.graph);
        for at in first..self.cells.len() {
            let Work::Join(join) = &self.graph.nodes()[at].work else { continue };
            let judge = if let Join::Judge { judge, .. } = join { Some(judge) } else { None };
            let contenders = join.of().iter().filter(|_| join.is_race()).chain(judge);
            for index in contenders.filter_map(|id| self.graph.find(id)) {
                self.cells[index.at()].race = Some(Index(u32::try_from(at).unwrap_or(u32::MAX)));
            }
        }
        let new: Vec<Index> = self.graph.indices().skip(first).collect();
        self.ready.reserve(new.len());
        self.enlist(&new);
    }

    /// Nodes that are waiting: counts what they wait for, and goes on with those that wait for nothing.
    fn enlist(&mut self, nodes: &[Index]) {
        let mut doomed = Vec::new();
        for index in nodes {
            let mut unmet = 0;
            for need in &self.graph.nodes()[index.at()].needs {
                let Some(on) = self.graph.find(&need.on) else { continue };
                let over = self.cells[on.at()].state.is_over();
                if over && !self.opens(on, need.until) {
                    doomed.push(*index);
                }
                unmet += u32::from(!over);
            }
            self.unmet[index.at()] = unmet;
        }
        for index in doomed {
            if self.cells[index.at()].state == State::Waiting {
                self.finish(index, State::Skipped, None);
            }
        }
        for index in nodes {
            if self.cells[index.at()].state == State::Waiting && self.unmet[index.at()] == 0 {
                self.unblock(*index);
            }
        }
        self.settle();
    }

    fn inject(&mut self, injection: &Injection) -> Result<(), Rejected> {
        let mut more: Vec<Index> = Vec::new();
        for (id, _) in &injection.needed_by {
            let Some(index) = self.graph.find(id) else { continue };
            if !matches!(self.cells[index.at()].state, State::Waiting | State::Ready) {
                return Err(GraphError::Begun(id.clone()).into());
            }
            more.push(index);
        }
        self.graph.inject(injection)?;
        for index in more {
            let cell = &mut self.cells[index.at()];
            // The new nodes have not ended: whoever needs them waits.
            cell.state = State::Waiting;
            self.unmet[index.at()] += 1;
        }
        Ok(())
    }

    /// What failed or was stopped, and all that comes after it, once more.
    fn reopen(&mut self) {
        let redo = self.to_redo();
        for index in &redo {
            let old = std::mem::take(&mut self.cells[index.at()]);
            // Attempts are counted on: what comes late from before must not be taken for new.
            self.cells[index.at()] =
                Cell { attempt: old.attempt, race: old.race, ..Cell::default() };
        }
        self.open = redo.len();
        (self.fate, self.ended, self.flow) = (None, None, Flow::Open);
        let over =
            |it: &&Cell| matches!(it.state, State::Failed | State::Cancelled) && it.race.is_none();
        self.flaws = self.cells.iter().filter(over).count();
        self.enlist(&redo);
    }
}

#[cfg(test)]
mod tests;

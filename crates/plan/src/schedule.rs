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
//! It is tried again if [`Retry`](crate::graph::Retry) says so; then [`OnFailure`](crate::file::OnFailure) decides: `abort` stops everything, `skip-dependents` leaves out
//! what needs it, `continue` treats it as done, `ask` waits for an answer while everything else goes on.
//!
//! # Cost
//! Every event costs the logarithm of what is waiting, times what the node itself claims. A node that cannot start is put into the queue of the one
//! thing that is in its way, and looked at again when some of that comes back.

mod admit;
mod claims;
mod ending;
mod gather;
mod growth;
mod leases;
mod money;
mod ready;
mod view;

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap},
    iter,
    sync::Arc,
    time::Duration,
};

use crate::{
    event::{
        Action, Allowance, Attempt, Deadline, Ending, Event, Index, Millis, Outcome, PlanEnding,
        Rejected, Spent, What,
    },
    graph::{Graph, Join, Until, Work},
};
use claims::{Claims, NOWHERE, Queue};
use money::Afford;
use ready::{Rank, Ready};

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
    rank: Rank,
    /// Whether it is ready as soon as its needs are met: no join, no condition.
    plain: bool,
    timed: bool,
    claims: bool,
}

/// What comes next, while something may start.
enum Next {
    Start(Attempt, Option<Box<Allowance>>),
    /// Nothing is left to pay it with.
    RanOut,
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
    ready: Ready,
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
        // As much as can start, or end, at once.
        let at_once = graph.nodes().len().min(graph.concurrency().total.max(1) as usize);
        let mut scheduler = Self {
            claims: Claims::new(&graph),
            graph,
            cells: Vec::new(),
            unmet: Vec::new(),
            traits: Vec::new(),
            ready: Ready::default(),
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
            actions: Vec::with_capacity(at_once),
            agenda: Vec::with_capacity(at_once),
        };
        scheduler.grow();
        scheduler.conclude();
        scheduler
    }

    /// Takes an event, or says why not; then nothing has changed.
    ///
    /// # Errors
    /// It does not fit the state.
    pub fn accept(&mut self, event: Event) -> Result<(), Rejected> {
        self.admit(&event.what)?;
        if let What::Injected { injection } = &event.what {
            self.inject(injection)?;
        }
        // A clock that goes back does not make anything younger.
        self.now = self.now.max(event.at);
        self.apply(event.what);
        Ok(())
    }

    fn apply(&mut self, what: What) {
        match what {
            // Nothing ends by it.
            What::Started { attempt, allowance } => return self.start(attempt, allowance),
            What::Ended { attempt, outcome } => self.end(attempt.node, outcome),
            What::Recalled { node, outcome } => {
                self.finish(node, State::Completed, Some(outcome));
            }
            What::TimedOut { attempt, deadline } => {
                self.stop(attempt.node, Stop::TimedOut(deadline));
            }
            What::Abandoned { attempt } => {
                let lost = Outcome::ended(
                    Ending::Lost,
                    "it was told to stop, and did not say that it has",
                );
                self.end(attempt.node, Arc::new(lost));
            }
            What::Rested { node } => self.make_ready(node),
            What::Interrupted { attempt } => self.interrupt(attempt.node),
            What::Paused => self.flow = Flow::Paused,
            What::Resumed => self.flow = Flow::Open,
            What::Cancelled { node: Some(node) } => self.cancel(node),
            What::Cancelled { node: None } => self.give_up(PlanEnding::Cancelled),
            What::Answered { node, answer } => self.answer(node, answer),
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
        while let Some(next) = self.pick() {
            match next {
                // By far the most frequent decision: told and done without a way round.
                Next::Start(attempt, allowance) => {
                    let (now, told) = (self.now, allowance.clone());
                    self.start(attempt, allowance);
                    // Made in its place: a copy costs as much as the rest.
                    let started = || What::Started { attempt, allowance: told }.at(now);
                    decided.extend(iter::once_with(started));
                }
                Next::RanOut => self.decide(What::RanOut, decided),
            }
        }
    }

    /// What it decides itself fits its own state.
    fn decide(&mut self, what: What, decided: &mut Vec<Event>) {
        decided.push(what.clone().at(self.now));
        self.apply(what);
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

    fn join(&self, index: Index) -> Option<&Join> {
        match &self.graph.nodes()[index.at()].work {
            Work::Join(join) => Some(join),
            Work::Agent(_) => None,
        }
    }

    /// The next thing to start, if something may. In a plan that stops or has ended, nothing is ready.
    #[inline]
    fn pick(&mut self) -> Option<Next> {
        if self.flow == Flow::Paused {
            return None;
        }
        while self.running < self.graph.concurrency().total.max(1) {
            let index = self.ready.pop()?;
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
                self.claims.park(queue, self.key(index));
                if queue != woken {
                    self.wake(woken);
                }
                continue;
            }
            match self.afford(index) {
                Afford::Yes(allowance) => {
                    self.wake(woken);
                    return Some(Next::Start(attempt, allowance));
                }
                Afford::Later => {
                    self.ready.insert(self.traits[index.at()].rank);
                    self.cells[index.at()].woken = woken;
                    return None;
                }
                Afford::Never => return Some(Next::RanOut),
            }
        }
        None
    }

    /// Its place among those that wait for the same thing.
    fn key(&self, index: Index) -> u64 {
        claims::key_of(self.graph.nodes()[index.at()].priority, index)
    }

    /// Looks again at the first one that waits in a queue. It wakes the next one when it no longer needs to wait there.
    fn wake(&mut self, queue: Queue) {
        if let Some(key) = self.claims.unpark(queue) {
            let index = claims::index_of(key);
            self.cells[index.at()].woken = queue;
            self.ready.insert(self.traits[index.at()].rank);
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

    fn make_ready(&mut self, index: Index) {
        self.cells[index.at()].state = State::Ready;
        self.ready.insert(self.traits[index.at()].rank);
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
}

#[cfg(test)]
mod tests;

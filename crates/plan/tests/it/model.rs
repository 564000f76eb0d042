//! The scheduler against a model of it that is too simple to be wrong: random graphs with random failures, retries, cancellations,
//! deadlines, injections, pauses and crashes. Whatever happens: nothing starts before what it needs, nothing exceeds a limit, nobody
//! reads or writes where somebody writes, nothing waits that could run, and everything ends as documented.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use agents_plan::{
    event::{
        Action, Answer, Attempt, Ending, Event, Index, Millis, Outcome, PlanEnding, Rejected, What,
    },
    file::OnFailure,
    graph::{Budget, Concurrency, Graph, Injection, Need, Node, NodeId, Until},
    reference::{Condition, Template},
    schedule::{Scheduler, State},
};
use proptest::prelude::*;
use serde_json::json;

/// Small, and the same everywhere.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides.max(1) as u64).unwrap()
    }

    fn one_in(&mut self, sides: usize) -> bool {
        self.roll(sides) == 0
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.roll(from.len())]
    }
}

const AGENTS: [&str; 3] = ["a", "b", "c"];
const PATHS: [&str; 7] =
    [".", "crates", "crates/x", "crates/x/src", "crates/y", "docs", "crates/xy"];

fn random_node(dice: &mut Dice, at: usize, prefix: &str) -> Node {
    let mut node = Node::agent(format!("{prefix}{at}"), *dice.pick(&AGENTS), Template::plain("go"));
    let reach = 1 + dice.roll(12);
    for back in 1..=at.min(reach) {
        if dice.one_in(4) {
            let on = NodeId::new(format!("{prefix}{}", at - back));
            let until = if dice.one_in(4) { Until::Ended } else { Until::Completed };
            node.needs.push(Need { on, until });
        }
    }
    node.on_failure = match dice.roll(40) {
        0 => OnFailure::Abort,
        1..=3 => OnFailure::Ask,
        4..=12 => OnFailure::Continue,
        _ => OnFailure::SkipDependents,
    };
    if dice.one_in(3) {
        node.retry.attempts = 1 + u32::try_from(dice.roll(3)).unwrap();
        if dice.one_in(3) {
            node.retry.on.remove(dice.roll(3));
        }
        node.retry.backoff = Duration::from_secs(dice.roll(3) as u64 * 10);
    }
    if dice.one_in(4) {
        node.uses.writes.push((*dice.pick(&PATHS)).into());
    }
    if dice.one_in(3) {
        node.uses.reads.push((*dice.pick(&PATHS)).into());
    }
    if dice.one_in(3) {
        node.uses.resources.insert("cargo".to_owned(), 1);
    }
    if dice.one_in(4) {
        node.deadlines.run = Some(Duration::from_secs(30));
    }
    if dice.one_in(10) {
        node.when = Some(Condition::parse(["true", "false"][dice.roll(2)]).unwrap());
    }
    node.priority = i32::try_from(dice.roll(3)).unwrap();
    node
}

/// What the test itself knows about a node, from what it was told and what it said.
#[derive(Default, Clone)]
struct Known {
    attempt: u32,
    busy: bool,
    failures: u32,
    /// How the last failure was.
    failed: Option<Ending>,
    last: Option<Ending>,
    timed_out: bool,
    cancelled: bool,
    answer: Option<Answer>,
}

struct Simulation {
    dice: Dice,
    it: Scheduler,
    log: Vec<Event>,
    first: Graph,
    known: Vec<Known>,
    now: Millis,
    paused: bool,
    cancelled: bool,
    injected: usize,
}

impl Simulation {
    fn new(seed: u64, nodes: usize) -> Self {
        let mut dice = Dice(seed | 1);
        let nodes: Vec<Node> = (0..nodes).map(|at| random_node(&mut dice, at, "n")).collect();
        let limits = Concurrency {
            total: 1 + u32::try_from(dice.roll(8)).unwrap(),
            agents: BTreeMap::from([("a".to_owned(), 1 + u32::try_from(dice.roll(3)).unwrap())]),
            providers: BTreeMap::new(),
            resources: BTreeMap::from([(
                "cargo".to_owned(),
                1 + u32::try_from(dice.roll(2)).unwrap(),
            )]),
        };
        let graph = Graph::new("random", nodes).unwrap().within(limits, Budget::default());
        let known = vec![Known::default(); graph.nodes().len()];
        Self {
            dice,
            it: Scheduler::new(graph.clone()),
            log: Vec::new(),
            first: graph,
            known,
            now: Millis(1),
            paused: false,
            cancelled: false,
            injected: 0,
        }
    }

    fn node(&self, index: Index) -> &Node {
        self.it.graph().node(index).unwrap()
    }

    fn tell(&mut self, what: What) -> Result<(), Rejected> {
        let event = what.at(self.now);
        self.it.accept(event.clone())?;
        self.log.push(event);
        Ok(())
    }

    /// Lets the scheduler decide, and checks all that it does.
    fn advance(&mut self) {
        let mut decided = Vec::new();
        self.it.advance(self.now, &mut decided);
        for event in &decided {
            match &event.what {
                What::TimedOut { attempt, .. } => self.known[attempt.node.at()].timed_out = true,
                // It is given up: what it holds is free.
                What::Abandoned { attempt } => {
                    let stopping = !self.known[attempt.node.at()].timed_out;
                    self.ended(attempt.node, Ending::Lost, stopping);
                }
                What::Started { attempt, .. } => {
                    self.check_start(*attempt);
                    let known = &mut self.known[attempt.node.at()];
                    (known.busy, known.timed_out) = (true, false);
                    known.attempt = attempt.number;
                    self.check_limits();
                }
                What::Rested { .. } => {}
                other => panic!("{other:?} is nothing to decide"),
            }
        }
        for action in self.it.actions() {
            if let Action::Start { attempt, .. } | Action::Stop { attempt } = action {
                assert!(self.known[attempt.node.at()].attempt >= attempt.number);
            }
        }
        self.log.extend(decided);
        self.check_nothing_waits_that_could_run();
    }

    fn check_start(&self, attempt: Attempt) {
        let node = self.node(attempt.node);
        let known = &self.known[attempt.node.at()];
        assert!(!known.busy, "`{}` runs twice", node.id);
        assert!(attempt.number > known.attempt, "an attempt has a number that was taken");
        assert!(!self.paused && !self.cancelled && !self.is_aborted());
        if let Some(ending) = known.failed {
            let again = known.failures < node.retry.attempts && node.retry.on.contains(&ending);
            assert!(again, "`{}` is tried too often", node.id);
        }
        assert!(node.when.as_ref().is_none_or(|it| it.holds(&NoTasks).unwrap()));
        for need in &node.needs {
            let on = self.it.graph().find(&need.on).unwrap();
            assert!(self.is_open(on, need.until), "`{}` started before `{}`", node.id, need.on);
        }
    }

    /// Whether a need is met, as far as the test knows.
    fn is_open(&self, on: Index, until: Until) -> bool {
        let known = &self.known[on.at()];
        let state = self.it.state(on);
        assert!(state.is_over() && !known.busy, "a need has not ended");
        let passed_over = match known.answer {
            Some(answer) => answer == Answer::Continue,
            None => self.node(on).on_failure == OnFailure::Continue,
        };
        until == Until::Ended
            || (known.last == Some(Ending::Completed) && state == State::Completed)
            || (state == State::Failed && passed_over)
    }

    fn busy(&self) -> Vec<Index> {
        self.it.graph().indices().filter(|it| self.known[it.at()].busy).collect()
    }

    fn check_limits(&self) {
        let limits = self.it.graph().concurrency();
        let busy = self.busy();
        assert!(busy.len() <= limits.total as usize);
        assert!(self.count(&busy, is_a) <= limits.agents["a"] as usize);
        assert!(self.count(&busy, uses_cargo) <= limits.resources["cargo"] as usize);
        for one in &busy {
            for other in busy.iter().filter(|it| *it != one) {
                assert!(
                    !in_the_way(self.node(*one), self.node(*other)),
                    "{one:?} and {other:?} share a lease"
                );
            }
        }
    }

    fn count(&self, of: &[Index], is: fn(&Node) -> bool) -> usize {
        of.iter().filter(|it| is(self.node(**it))).count()
    }

    fn check_nothing_waits_that_could_run(&self) {
        let limits = self.it.graph().concurrency();
        let busy = self.busy();
        if self.paused || self.it.ending().is_some() || busy.len() == limits.total as usize {
            return;
        }
        if self.is_aborted() || self.cancelled {
            return;
        }
        for index in self.it.graph().indices().filter(|it| self.it.state(*it) == State::Ready) {
            let node = self.node(index);
            let full_agent = is_a(node) && self.count(&busy, is_a) == limits.agents["a"] as usize;
            let full_cargo = uses_cargo(node)
                && self.count(&busy, uses_cargo) == limits.resources["cargo"] as usize;
            let leased = busy.iter().any(|it| in_the_way(node, self.node(*it)));
            assert!(full_agent || full_cargo || leased, "`{}` could run and waits", node.id);
        }
    }

    fn is_aborted(&self) -> bool {
        self.it.graph().indices().any(|it| {
            let answer = self.known[it.at()].answer;
            let abort = answer
                .map_or(self.node(it).on_failure == OnFailure::Abort, |it| it == Answer::Abort);
            self.it.state(it) == State::Failed && abort
        })
    }

    fn end_one(&mut self) {
        let busy = self.busy();
        if busy.is_empty() {
            return;
        }
        let index = *self.dice.pick(&busy);
        let attempt = Attempt { node: index, number: self.known[index.at()].attempt };
        let ending = match self.dice.roll(10) {
            0..=5 => Ending::Completed,
            6 => Ending::Busy,
            7 if self.dice.one_in(5) => Ending::Cancelled,
            8 => Ending::Lost,
            _ => Ending::Failed,
        };
        let stale = Attempt { number: attempt.number + 1, ..attempt };
        let outcome = Arc::new(Outcome::ended(ending, "why"));
        assert!(self.tell(What::Ended { attempt: stale, outcome: Arc::clone(&outcome) }).is_err());
        let stopping = self.it.state(index) == State::Stopping;
        self.tell(What::Ended { attempt, outcome }).unwrap();
        self.ended(index, ending, stopping);
    }

    fn ended(&mut self, index: Index, ending: Ending, stopping: bool) {
        let known = &mut self.known[index.at()];
        known.busy = false;
        let ending = if known.timed_out { Ending::TimedOut } else { ending };
        let stopped = stopping && !known.timed_out && ending != Ending::Completed;
        known.cancelled |= ending == Ending::Cancelled || stopped;
        known.last = Some(ending);
        let failed = !matches!(ending, Ending::Completed | Ending::Busy | Ending::Cancelled);
        if failed && !stopped {
            known.failures += 1;
            known.failed = Some(ending);
        }
    }

    fn step(&mut self) {
        match self.dice.roll(100) {
            0..=1 => {
                let node = Index(u32::try_from(self.dice.roll(self.known.len())).unwrap());
                if self.tell(What::Cancelled { node: Some(node) }).is_ok() {
                    self.known[node.at()].cancelled |= !self.known[node.at()].busy;
                }
            }
            2..=4 => {
                self.paused = !self.paused;
                let what = if self.paused { What::Paused } else { What::Resumed };
                self.tell(what).unwrap();
            }
            5..=6 if self.injected < 5 => self.inject(),
            7 if self.dice.one_in(20) => {
                self.tell(What::Cancelled { node: None }).unwrap();
                self.cancelled = true;
                if self.dice.one_in(2) {
                    self.inject();
                }
            }
            8..=15 => self.pass_time(),
            16..=18 => self.crash(),
            19..=30 => self.answer(),
            _ => self.end_one(),
        }
        if self.it.ending().is_none() && self.busy().is_empty() && !self.paused {
            self.answer();
            self.pass_time();
        }
    }

    fn pass_time(&mut self) {
        if let Some(next) = self.it.next_deadline() {
            self.now = self.now.max(next);
        }
        self.advance();
    }

    fn answer(&mut self) {
        let asking: Vec<Index> =
            self.it.graph().indices().filter(|it| self.it.state(*it) == State::Asking).collect();
        let Some(node) = asking.first().copied() else { return };
        let answers = [Answer::Retry, Answer::SkipDependents, Answer::Continue, Answer::Abort];
        let answer = *self.dice.pick(&answers[..3 + usize::from(self.dice.0.is_multiple_of(5))]);
        self.tell(What::Answered { node, answer }).unwrap();
        match answer {
            Answer::Retry => {
                self.known[node.at()].failures = 0;
                self.known[node.at()].failed = None;
            }
            answer => self.known[node.at()].answer = Some(answer),
        }
    }

    fn inject(&mut self) {
        self.injected += 1;
        let prefix = format!("i{}-", self.injected);
        let mut nodes: Vec<Node> =
            (0..1 + self.dice.roll(4)).map(|at| random_node(&mut self.dice, at, &prefix)).collect();
        let old = self.dice.roll(self.known.len());
        nodes[0].needs.push(Need::completed(NodeId::new(self.node_id(old))));
        let by = self.dice.roll(self.known.len());
        let need = Need::completed(nodes[0].id.clone());
        let mut needed_by = vec![(NodeId::new(self.node_id(by)), need)];
        // Of a plan that stops, everything has begun: it only takes what nobody needs.
        if self.cancelled || self.dice.one_in(3) {
            needed_by.clear();
        }
        let before = self.it.graph().clone();
        let added = nodes.len();
        let what = What::Injected { injection: Arc::new(Injection { nodes, needed_by }) };
        match self.tell(what) {
            Ok(()) => self.known.resize(self.known.len() + added, Known::default()),
            Err(_) => assert_eq!(*self.it.graph(), before, "a refused injection left something"),
        }
    }

    fn node_id(&self, at: usize) -> String {
        self.it.graph().nodes()[at].id.to_string()
    }

    /// The process is gone: the state is made again from the events, and what ran is started again.
    fn crash(&mut self) {
        let mut again = Scheduler::new(self.first.clone());
        for event in &self.log {
            again.accept(event.clone()).unwrap();
        }
        drop(again.actions());
        for index in self.it.graph().indices() {
            assert_eq!(
                again.state(index),
                self.it.state(index),
                "replay of `{}`",
                self.node(index).id
            );
            assert_eq!(again.attempt(index), self.it.attempt(index));
        }
        self.it = again;
        for attempt in self.it.busy().collect::<Vec<_>>() {
            let stopping = self.it.state(attempt.node) == State::Stopping;
            self.tell(What::Interrupted { attempt }).unwrap();
            if stopping {
                let timed_out = self.known[attempt.node.at()].timed_out;
                self.ended(attempt.node, Ending::Lost, !timed_out);
            }
            self.known[attempt.node.at()].busy = false;
        }
    }

    fn check_the_end(&self) {
        let mut flaws = 0;
        for index in self.it.graph().indices() {
            let (node, known, state) =
                (self.node(index), &self.known[index.at()], self.it.state(index));
            flaws += usize::from(matches!(state, State::Failed | State::Cancelled));
            match state {
                State::Completed => assert_eq!(known.last, Some(Ending::Completed), "{}", node.id),
                State::Failed => {
                    let ending = known.last.unwrap();
                    let used_up =
                        known.failures == node.retry.attempts || !node.retry.on.contains(&ending);
                    assert!(
                        used_up || self.is_aborted() || self.cancelled,
                        "{}: {ending}",
                        node.id
                    );
                }
                State::Skipped => {
                    let off = node.when.as_ref().is_some_and(|it| !it.holds(&NoTasks).unwrap());
                    let closed = node.needs.iter().any(|need| {
                        !self.is_open(self.it.graph().find(&need.on).unwrap(), need.until)
                    });
                    assert!(off || closed, "`{}` was left out without a reason", node.id);
                    assert!(!known.busy);
                }
                State::Cancelled => {
                    assert!(known.cancelled || self.is_aborted() || self.cancelled, "{}", node.id);
                }
                other => panic!("`{}` is {}", node.id, other.word()),
            }
        }
        let ending = self.it.ending().unwrap();
        if self.cancelled || self.is_aborted() {
            assert!(matches!(ending, PlanEnding::Cancelled | PlanEnding::Failed));
        } else {
            assert_eq!(ending, if flaws == 0 { PlanEnding::Completed } else { PlanEnding::Partly });
        }
    }
}

struct NoTasks;

impl agents_plan::reference::Lookup for NoTasks {
    fn look_up(&self, _: &agents_plan::reference::Reference) -> Option<serde_json::Value> {
        Some(json!(null))
    }
}

fn is_a(node: &Node) -> bool {
    matches!(&node.work, agents_plan::graph::Work::Agent(it) if it.agent == "a")
}

fn uses_cargo(node: &Node) -> bool {
    node.uses.resources.contains_key("cargo")
}

/// Whether one writes where the other reads or writes.
fn in_the_way(one: &Node, other: &Node) -> bool {
    let all = |node: &Node| -> Vec<camino::Utf8PathBuf> {
        node.uses.reads.iter().chain(&node.uses.writes).cloned().collect()
    };
    let overlap = |a: &camino::Utf8PathBuf, b: &camino::Utf8PathBuf| {
        let whole = |it: &camino::Utf8PathBuf| it == ".";
        whole(a) || whole(b) || a.starts_with(b) || b.starts_with(a)
    };
    let clash = |writer: &Node, any: &Node| {
        writer.uses.writes.iter().any(|a| all(any).iter().any(|b| overlap(a, b)))
    };
    clash(one, other) || clash(other, one)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_the_scheduler_keeps_its_word(seed in any::<u64>(), nodes in 1_usize..200) {
        let mut simulation = Simulation::new(seed, nodes);
        let mut steps = 0;
        simulation.advance();
        while simulation.it.ending().is_none() {
            simulation.step();
            simulation.advance();
            steps += 1;
            prop_assert!(steps < 100_000, "it does not end");
        }
        simulation.check_the_end();
    }
}

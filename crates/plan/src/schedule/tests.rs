use serde_json::{Value, json};

use super::*;
use crate::{
    event::Answer,
    file::OnFailure,
    graph::{Budget, Concurrency, Injection, Need, Node, NodeId, Retry},
    reference::{Condition, Template},
};

mod changes;
mod events;
mod races;
mod view;
mod waiting;

/// A scheduler with short ways to drive it. Time stands still unless a test moves it.
struct Drive {
    it: Scheduler,
    now: Millis,
    asked: Vec<String>,
    stopped: Vec<String>,
}

fn node(id: &str, needs: &[&str]) -> Node {
    let mut node = Node::agent(id, "any", Template::plain(format!("do {id}"))).needs(needs);
    node.on_failure = OnFailure::SkipDependents;
    node
}

fn with(mut node: Node, change: impl FnOnce(&mut Node)) -> Node {
    change(&mut node);
    node
}

fn drive(nodes: Vec<Node>) -> Drive {
    drive_within(nodes, Concurrency::default(), Budget::default())
}

fn drive_within(nodes: Vec<Node>, concurrency: Concurrency, budget: Budget) -> Drive {
    let graph = Graph::new("test", nodes).unwrap().within(concurrency, budget);
    Drive { it: Scheduler::new(graph), now: Millis(0), asked: Vec::new(), stopped: Vec::new() }
}

impl Drive {
    fn index(&self, id: &str) -> Index {
        self.it.graph().find(&NodeId::new(id)).unwrap()
    }

    fn name(&self, index: Index) -> String {
        self.it.graph().node(index).unwrap().id.to_string()
    }

    /// What starts now.
    fn started(&mut self) -> Vec<String> {
        self.it.advance(self.now, &mut Vec::new());
        let mut started = Vec::new();
        for action in self.it.actions().collect::<Vec<_>>() {
            match action {
                Action::Start { attempt, .. } => started.push(self.name(attempt.node)),
                Action::Stop { attempt } => self.stopped.push(self.name(attempt.node)),
                Action::Ask { node } => self.asked.push(self.name(node)),
                Action::Finish { .. } => {}
            }
        }
        started
    }

    fn tell(&mut self, what: What) -> Result<(), Rejected> {
        self.it.accept(what.at(self.now))
    }

    fn end(&mut self, id: &str, outcome: Outcome) {
        let attempt = self.it.attempt(self.index(id)).unwrap();
        self.tell(What::Ended { attempt, outcome: Arc::new(outcome) }).unwrap();
    }

    fn done(&mut self, id: &str) {
        self.end(id, Outcome::completed(json!({ "from": id })));
    }

    fn fails(&mut self, id: &str) {
        self.end(id, Outcome::ended(Ending::Failed, format!("{id} broke")));
    }

    fn later(&mut self, seconds: u64) -> &mut Self {
        self.now = self.now.after(Duration::from_secs(seconds));
        self
    }

    fn states(&self) -> String {
        let nodes = self.it.graph().nodes().iter().zip(self.it.graph().indices());
        let states =
            nodes.map(|(node, index)| format!("{} {}", node.id, self.it.state(index).word()));
        states.collect::<Vec<_>>().join(", ")
    }
}

#[test]
fn what_needs_nothing_starts_and_the_rest_follows() {
    let mut plan =
        drive(vec![node("a", &[]), node("b", &["a"]), node("c", &["a"]), node("d", &["b", "c"])]);
    assert_eq!(plan.started(), ["a"]);
    assert_eq!(plan.started(), [""; 0]);
    plan.done("a");
    assert_eq!(plan.started(), ["b", "c"]);
    plan.done("c");
    assert_eq!(plan.started(), [""; 0]);
    plan.done("b");
    assert_eq!(plan.started(), ["d"]);
    plan.done("d");
    assert_eq!(plan.it.ending(), Some(PlanEnding::Completed));
    assert_eq!(plan.tell(What::Paused), Err(Rejected::Over));
}

#[test]
fn an_empty_plan_is_done() {
    assert_eq!(drive(Vec::new()).it.ending(), Some(PlanEnding::Completed));
}

#[test]
fn more_priority_starts_first_and_limits_hold() {
    let loud = |id: &str, priority| with(node(id, &[]), |it| it.priority = priority);
    let limits = Concurrency { total: 2, ..Concurrency::default() };
    let mut plan = drive_within(
        vec![loud("low", -1), loud("mid", 0), loud("high", 7)],
        limits,
        Budget::default(),
    );
    assert_eq!(plan.started(), ["high", "mid"]);
    plan.done("mid");
    assert_eq!(plan.started(), ["low"]);
}

#[test]
fn two_never_write_below_the_same_path() {
    let writes =
        |id: &str, path: &str| with(node(id, &[]), |it| it.uses.writes = vec![path.into()]);
    let reads = |id: &str, path: &str| with(node(id, &[]), |it| it.uses.reads = vec![path.into()]);
    let mut plan = drive(vec![
        writes("w1", "crates/a"),
        writes("w2", "crates/a/src"),
        reads("r1", "crates"),
        reads("r2", "crates/b"),
    ]);
    assert_eq!(plan.started(), ["w1", "r2"]);
    plan.done("w1");
    assert_eq!(plan.started(), ["w2"]);
    plan.done("w2");
    assert_eq!(plan.started(), ["r1"]);
}

#[test]
fn a_failure_leaves_out_what_needs_it_and_nothing_else() {
    let mut plan =
        drive(vec![node("a", &[]), node("b", &["a"]), node("c", &["b"]), node("d", &[])]);
    plan.started();
    plan.fails("a");
    plan.done("d");
    assert_eq!(plan.states(), "a failed, b skipped, c skipped, d completed");
    assert_eq!(plan.it.ending(), Some(PlanEnding::Partly));
}

#[test]
fn a_failure_that_is_passed_over_opens_the_way() {
    let mut plan = drive(vec![
        with(node("a", &[]), |it| it.on_failure = OnFailure::Continue),
        node("b", &["a"]),
    ]);
    plan.started();
    plan.fails("a");
    assert_eq!(plan.started(), ["b"]);
    plan.done("b");
    assert_eq!(plan.it.ending(), Some(PlanEnding::Partly));
}

#[test]
fn abort_stops_what_runs_and_waits_for_it() {
    let mut plan = drive(vec![
        with(node("a", &[]), |it| it.on_failure = OnFailure::Abort),
        node("b", &[]),
        node("c", &["b"]),
    ]);
    plan.started();
    plan.fails("a");
    assert_eq!(plan.it.ending(), None);
    assert_eq!(plan.started(), [""; 0]);
    assert_eq!(plan.stopped, ["b"]);
    plan.end("b", Outcome::ended(Ending::Cancelled, ""));
    assert_eq!(plan.states(), "a failed, b cancelled, c cancelled");
    assert_eq!(plan.it.ending(), Some(PlanEnding::Failed));
}

#[test]
fn the_user_is_asked_while_everything_else_goes_on() {
    let ask = |id: &str, needs: &[&str]| with(node(id, needs), |it| it.on_failure = OnFailure::Ask);
    let mut plan = drive(vec![ask("a", &[]), node("b", &["a"]), node("c", &[])]);
    plan.started();
    plan.fails("a");
    plan.done("c");
    plan.started();
    assert_eq!(plan.asked, ["a"]);
    assert_eq!(plan.it.ending(), None);
    let a = plan.index("a");
    plan.tell(What::Answered { node: a, answer: Answer::Retry }).unwrap();
    assert_eq!(plan.started(), ["a"]);
    assert_eq!(
        plan.tell(What::Answered { node: a, answer: Answer::Retry }).unwrap_err().to_string(),
        "`a` is running, so it cannot be answered"
    );
    plan.fails("a");
    plan.tell(What::Answered { node: a, answer: Answer::SkipDependents }).unwrap();
    assert_eq!(plan.states(), "a failed, b skipped, c completed");
}

#[test]
fn retries_wait_longer_each_time_and_know_what_went_wrong() {
    let retry = Retry { attempts: 3, backoff: Duration::from_secs(10), ..Retry::default() };
    let mut plan = drive(vec![with(node("a", &[]), |it| it.retry = retry)]);
    plan.started();
    plan.fails("a");
    assert_eq!(plan.started(), [""; 0]);
    assert_eq!(plan.it.next_deadline(), Some(Millis(10_000)));
    assert_eq!(plan.later(10).started(), ["a"]);
    let a = plan.index("a");
    assert_eq!(
        plan.it.prompt(a).unwrap(),
        "do a\n\nAn earlier attempt did not succeed (failed): a broke\n"
    );
    plan.fails("a");
    assert_eq!(plan.later(19).started(), [""; 0]);
    assert_eq!(plan.later(1).started(), ["a"]);
    plan.fails("a");
    assert_eq!(plan.states(), "a failed");
}

#[test]
fn only_the_endings_that_are_named_are_tried_again() {
    let retry = Retry { attempts: 3, on: vec![Ending::Lost], ..Retry::default() };
    let mut plan = drive(vec![with(node("a", &[]), |it| it.retry = retry)]);
    plan.started();
    plan.end("a", Outcome::ended(Ending::Lost, ""));
    assert_eq!(plan.started(), ["a"]);
    plan.fails("a");
    assert_eq!(plan.states(), "a failed");
}

#[test]
fn no_room_is_no_failure() {
    let mut plan = drive(vec![node("a", &[])]);
    for wait in [100, 200, 400] {
        assert_eq!(plan.started(), ["a"]);
        plan.end("a", Outcome::ended(Ending::Busy, ""));
        plan.started();
        assert_eq!(plan.it.next_deadline(), Some(plan.now.after(Duration::from_millis(wait))));
        plan.now = plan.now.after(Duration::from_millis(wait));
    }
    assert_eq!(plan.started(), ["a"]);
    let a = plan.index("a");
    assert_eq!(plan.it.prompt(a).unwrap(), "do a");
}

#[test]
fn deadlines_stop_an_attempt_and_hold_its_leases_until_it_has_stopped() {
    let slow = |id: &str| {
        with(node(id, &[]), |it| {
            it.deadlines.run = Some(Duration::from_secs(60));
            it.deadlines.idle = Some(Duration::from_secs(20));
            it.uses.writes = vec!["x".into()];
        })
    };
    let mut plan = drive(vec![slow("a"), slow("b")]);
    assert_eq!(plan.started(), ["a"]);
    let a = plan.it.attempt(plan.index("a")).unwrap();
    plan.later(15);
    plan.it.heard(a, plan.now);
    plan.later(15).started();
    assert_eq!(plan.stopped, [""; 0]);
    // 20 seconds after the last sign of life.
    plan.later(5);
    assert_eq!(plan.started(), [""; 0]);
    assert_eq!(plan.stopped, ["a"]);
    plan.end("a", Outcome { text: "half".to_owned(), ..Outcome::ended(Ending::Cancelled, "") });
    assert_eq!(plan.started(), ["b"]);
    let outcome = plan.it.outcome(plan.index("a")).unwrap();
    assert_eq!((outcome.ending, outcome.text.as_str()), (Ending::TimedOut, "half"));
    assert_eq!(outcome.message, "it gave no sign of life for too long");
    // One that does not stop is given up, and what it says later is not heard.
    let b = plan.it.attempt(plan.index("b")).unwrap();
    plan.later(20).started();
    plan.later(30).started();
    assert_eq!(plan.states(), "a failed, b failed");
    let late = What::Ended { attempt: b, outcome: Arc::new(Outcome::completed(json!(1))) };
    assert_eq!(
        plan.tell(late).unwrap_err().to_string(),
        "attempt 1 of `b` is not the one that runs"
    );
}

#[test]
fn events_of_earlier_attempts_are_rejected() {
    let retry = Retry { attempts: 2, ..Retry::default() };
    let mut plan = drive(vec![with(node("a", &[]), |it| it.retry = retry)]);
    plan.started();
    let first = plan.it.attempt(plan.index("a")).unwrap();
    plan.fails("a");
    plan.started();
    let late = What::Ended { attempt: first, outcome: Arc::new(Outcome::completed(json!(1))) };
    assert!(matches!(plan.tell(late), Err(Rejected::Stale { .. })));
    let unknown = What::Cancelled { node: Some(Index(9)) };
    assert_eq!(plan.tell(unknown), Err(Rejected::Unknown(Index(9))));
}

#[test]
fn conditions_leave_out_and_let_through() {
    let when = |id: &str, needs: &[&str], text: &str| {
        with(node(id, needs), |it| it.when = Some(Condition::parse(text).unwrap()))
    };
    let mut plan = drive(vec![
        node("a", &[]),
        when("b", &["a"], "tasks.a.output.from == 'a'"),
        when("c", &["a"], "tasks.a.output.from == 'x'"),
        node("d", &["c"]),
        with(node("e", &[]), |it| it.needs.push(Need::ended(NodeId::new("c")))),
        when("f", &["a"], "tasks.a.output > 3"),
    ]);
    plan.started();
    plan.done("a");
    assert_eq!(plan.started(), ["b", "e"]);
    assert_eq!(plan.states(), "a completed, b running, c skipped, d skipped, e running, f failed");
}

#[test]
fn pause_resume_and_cancel() {
    let mut plan = drive(vec![node("a", &[]), node("b", &["a"]), node("c", &["b"])]);
    plan.started();
    plan.tell(What::Paused).unwrap();
    assert!(plan.it.is_paused());
    plan.done("a");
    assert_eq!(plan.started(), [""; 0]);
    plan.tell(What::Resumed).unwrap();
    assert!(!plan.it.is_paused());
    assert_eq!(plan.started(), ["b"]);
    let c = plan.index("c");
    plan.tell(What::Cancelled { node: Some(c) }).unwrap();
    plan.tell(What::Cancelled { node: None }).unwrap();
    plan.started();
    assert_eq!(plan.stopped, ["b"]);
    // It was done before it heard: that is what counts.
    plan.done("b");
    assert_eq!(plan.states(), "a completed, b completed, c cancelled");
    assert_eq!(plan.it.ending(), Some(PlanEnding::Cancelled));
}

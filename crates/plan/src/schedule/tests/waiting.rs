//! Who waits for what, and for how long.

use super::*;

#[test]
fn agents_providers_and_resources_have_limits_of_their_own() {
    let limits = Concurrency {
        total: 10,
        agents: [("slow".to_owned(), 1)].into(),
        providers: [("p".to_owned(), 1)].into(),
        resources: [("cargo".to_owned(), 3)].into(),
    };
    let slow = |id: &str| Node::agent(id, "slow", Template::plain(""));
    let by = |id: &str| with(node(id, &[]), |it| it.uses.provider = Some("p".to_owned()));
    let heavy = |id: &str, much| {
        with(node(id, &[]), |it| it.uses.resources = [("cargo".to_owned(), much)].into())
    };
    let nodes = vec![
        slow("s1"),
        slow("s2"),
        by("p1"),
        by("p2"),
        heavy("c1", 2),
        heavy("c2", 2),
        heavy("c3", 1),
    ];
    let mut plan = drive_within(nodes, limits, Budget::default());
    assert_eq!(plan.started(), ["s1", "p1", "c1", "c3"]);
    // What waits for one of them does not wait for another.
    for (done, next) in [("c1", "c2"), ("p1", "p2"), ("s1", "s2")] {
        plan.done(done);
        assert_eq!(plan.started(), [next]);
    }
}

/// Something that reads or writes below a path.
fn user(id: &str, priority: i32, reads: &[&str], writes: &[&str]) -> Node {
    with(node(id, &[]), |it| {
        it.priority = priority;
        it.uses.reads = reads.iter().map(Into::into).collect();
        it.uses.writes = writes.iter().map(Into::into).collect();
    })
}

#[test]
fn who_reads_passes_those_who_must_wait_to_write() {
    let mut plan = drive(vec![
        user("first", 9, &[], &["x"]),
        user("reader", 3, &["x"], &[]),
        user("writer", 2, &[], &["x"]),
        user("other writer", 2, &[], &["x"]),
        user("late reader", 1, &["x"], &[]),
    ]);
    assert_eq!(plan.started(), ["first"]);
    plan.done("first");
    assert_eq!(plan.started(), ["reader", "late reader"]);
    plan.done("reader");
    assert_eq!(plan.started(), [""; 0]);
    plan.done("late reader");
    assert_eq!(plan.started(), ["writer"]);
}

#[test]
fn who_waits_for_a_path_does_not_wait_for_what_is_below_another() {
    let mut plan = drive(vec![
        user("reads all", 9, &["crates"], &[]),
        user("reads a", 9, &["crates/a"], &[]),
        user("writes all", 1, &[], &["crates"]),
        user("writes b", 0, &[], &["crates/b"]),
    ]);
    assert_eq!(plan.started(), ["reads all", "reads a"]);
    plan.done("reads all");
    assert_eq!(plan.started(), ["writes b"]);
    plan.done("reads a");
    assert_eq!(plan.started(), [""; 0]);
    plan.done("writes b");
    assert_eq!(plan.started(), ["writes all"]);
}

#[test]
fn what_an_attempt_did_not_use_is_there_for_the_next() {
    let limits = Concurrency { total: 2, ..Concurrency::default() };
    let budget = Budget { tokens: Some(100), ..Budget::default() };
    let nodes = vec![node("a", &[]), node("b", &[]), node("c", &[])];
    let mut plan = drive_within(nodes, limits, budget);
    assert_eq!(plan.started(), ["a", "b"]);
    let spent = Spent { tokens: 10, ..Spent::default() };
    plan.end("a", Outcome { spent, ..Outcome::completed(json!(1)) });
    assert_eq!(plan.it.spent(), spent);
    let mut decided = Vec::new();
    plan.it.advance(plan.now, &mut decided);
    let attempt = Attempt { node: plan.index("c"), number: 1 };
    // All that is left besides the 50 that `b` holds.
    let allowance = Some(Box::new(Allowance { tokens: Some(40), ..Allowance::default() }));
    assert_eq!(decided, [What::Started { attempt, allowance }.at(plan.now)]);
}

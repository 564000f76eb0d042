//! Plans that change, end early or start again.

use super::*;

#[test]
fn what_is_injected_fits_or_changes_nothing() {
    let mut plan = drive(vec![node("a", &[]), node("b", &["a"])]);
    plan.started();
    let inject = |nodes: Vec<Node>, by: &[(&str, &str)]| {
        let needed_by =
            by.iter().map(|(id, on)| (NodeId::new(*id), Need::completed(NodeId::new(*on))));
        What::Injected { injection: Arc::new(Injection { nodes, needed_by: needed_by.collect() }) }
    };
    let refused = |plan: &mut Drive, what: What| {
        let before = plan.it.graph().clone();
        let told = plan.tell(what).unwrap_err().to_string();
        assert_eq!(*plan.it.graph(), before);
        told
    };
    let told = refused(&mut plan, inject(vec![node("x", &["b"])], &[("b", "x")]));
    assert_eq!(told, "the tasks cannot be added: tasks need each other: `b` needs `x` needs `b`");
    let told = refused(&mut plan, inject(vec![node("x", &[])], &[("a", "x")]));
    assert_eq!(told, "the tasks cannot be added: `a` has begun already");
    let told = refused(&mut plan, inject(vec![node("x", &["y"])], &[]));
    assert_eq!(told, "the tasks cannot be added: `x` needs `y`, which does not exist");
    let told = refused(&mut plan, inject(vec![node("x", &[]), node("x", &[])], &[]));
    assert_eq!(told, "the tasks cannot be added: there are two nodes named `x`");
    let told = refused(&mut plan, inject(vec![node("x", &[])], &[("b", "a")]));
    assert_eq!(told, "the tasks cannot be added: `b` needs `a`, which does not exist");
    plan.tell(inject(vec![node("x", &["a"])], &[("b", "x")])).unwrap();
    plan.done("a");
    assert_eq!(plan.started(), ["x"]);
    plan.done("x");
    assert_eq!(plan.started(), ["b"]);
    plan.fails("b");
    assert_eq!(plan.it.ending(), Some(PlanEnding::Partly));
}

#[test]
fn what_is_injected_after_a_failure_that_it_needs_is_left_out() {
    let mut plan = drive(vec![node("a", &[]), node("b", &[]), node("c", &[])]);
    plan.started();
    plan.fails("a");
    plan.fails("b");
    let nodes = vec![node("x", &["a", "b"]), node("y", &["x"]), node("z", &["c"])];
    let injection = Arc::new(Injection { nodes, needed_by: Vec::new() });
    plan.tell(What::Injected { injection }).unwrap();
    assert_eq!(plan.states(), "a failed, b failed, c running, x skipped, y skipped, z waiting");
    plan.done("c");
    assert_eq!(plan.started(), ["z"]);
    plan.done("z");
    assert_eq!(plan.it.ending(), Some(PlanEnding::Partly));
}

#[test]
fn what_is_injected_into_a_plan_that_stops_does_not_begin() {
    let mut plan = drive(vec![node("a", &[])]);
    plan.started();
    plan.tell(What::Cancelled { node: None }).unwrap();
    let injection = Arc::new(Injection { nodes: vec![node("x", &[])], needed_by: Vec::new() });
    plan.tell(What::Injected { injection }).unwrap();
    assert_eq!(plan.started(), [""; 0]);
    plan.end("a", Outcome::ended(Ending::Cancelled, ""));
    assert_eq!(plan.states(), "a cancelled, x cancelled");
    assert_eq!(plan.it.ending(), Some(PlanEnding::Cancelled));
}

#[test]
fn the_budget_is_shared_and_ends_the_plan() {
    let budget = Budget { tokens: Some(100), ..Budget::default() };
    let limits = Concurrency { total: 2, ..Concurrency::default() };
    let mut plan =
        drive_within(vec![node("a", &[]), node("b", &[]), node("c", &[])], limits, budget);
    plan.it.advance(plan.now, &mut Vec::new());
    let given: Vec<Option<u64>> = plan
        .it
        .actions()
        .filter_map(|it| {
            if let Action::Start { allowance, .. } = it {
                Some(allowance.unwrap().tokens)
            } else {
                None
            }
        })
        .collect();
    assert_eq!(given, [Some(50), Some(50)]);
    let spent = |tokens| Outcome {
        spent: Spent { tokens, ..Spent::default() },
        ..Outcome::completed(json!(1))
    };
    plan.end("a", spent(50));
    // What `b` does not use may be enough for `c`.
    assert_eq!(plan.started(), [""; 0]);
    assert_eq!(plan.stopped, [""; 0]);
    plan.end("b", spent(60));
    plan.started();
    assert_eq!(plan.states(), "a completed, b completed, c cancelled");
    assert_eq!(plan.it.ending(), Some(PlanEnding::OutOfBudget));
}

#[test]
fn what_did_not_complete_is_done_again() {
    let abort =
        |id: &str, needs: &[&str]| with(node(id, needs), |it| it.on_failure = OnFailure::Abort);
    let mut plan =
        drive(vec![abort("a", &[]), abort("b", &[]), abort("c", &["a", "b"]), abort("d", &[])]);
    plan.started();
    assert_eq!(plan.tell(What::Reopened), Err(Rejected::NotOver));
    plan.done("a");
    plan.fails("b");
    plan.end("d", Outcome::ended(Ending::Cancelled, ""));
    assert_eq!(plan.states(), "a completed, b failed, c cancelled, d cancelled");
    plan.tell(What::Reopened).unwrap();
    assert_eq!(plan.started(), ["b", "d"]);
    assert_eq!(plan.it.attempt(plan.index("b")).unwrap().number, 2);
    plan.done("b");
    plan.done("d");
    assert_eq!(plan.started(), ["c"]);
    plan.done("c");
    assert_eq!(plan.it.ending(), Some(PlanEnding::Completed));
    assert_eq!(plan.tell(What::Reopened), Err(Rejected::AllDone));
}

#[test]
fn an_attempt_whose_process_is_gone_starts_again_under_a_new_number() {
    let mut plan = drive(vec![node("a", &[])]);
    plan.started();
    let first = plan.it.attempt(plan.index("a")).unwrap();
    plan.tell(What::Interrupted { attempt: first }).unwrap();
    assert_eq!(plan.started(), ["a"]);
    assert!(plan.tell(What::Interrupted { attempt: first }).is_err());
    assert_eq!(plan.it.prompt(Index(0)).unwrap(), "do a");
}

#[test]
fn a_clock_that_goes_back_does_no_harm() {
    let mut plan =
        drive(vec![with(node("a", &[]), |it| it.deadlines.run = Some(Duration::from_secs(10)))]);
    plan.later(100).started();
    plan.now = Millis(0);
    assert_eq!(plan.started(), [""; 0]);
    plan.done("a");
    assert_eq!((plan.it.now(), plan.it.next_deadline()), (Millis(100_000), None));
    assert_eq!(plan.states(), "a completed");
}

//! What becomes of joins and of those whose results they gather.

use super::*;

/// Contenders `fix/1`, `fix/2`, ... for `fix`, of which two run at once, and `after`, which needs it.
fn race(size: usize, on_failure: OnFailure) -> Drive {
    let of: Vec<NodeId> = (1..=size).map(|at| NodeId::new(format!("fix/{at}"))).collect();
    let contender =
        |id: &NodeId| with(node(id.as_str(), &[]), |it| it.on_failure = OnFailure::Continue);
    let mut nodes: Vec<Node> = of.iter().map(contender).collect();
    let mut join = Node::of(NodeId::new("fix"), Work::Join(Join::First { of: of.clone() }));
    join.needs = of.into_iter().map(Need::ended).collect();
    join.on_failure = on_failure;
    nodes.extend([join, node("after", &["fix"])]);
    let limits = Concurrency { total: 2, ..Concurrency::default() };
    drive_within(nodes, limits, Budget::default())
}

#[test]
fn the_first_contender_wins_and_the_others_stop() {
    let mut plan = race(3, OnFailure::SkipDependents);
    assert_eq!(plan.started(), ["fix/1", "fix/2"]);
    plan.fails("fix/1");
    assert_eq!(plan.started(), ["fix/3"]);
    plan.done("fix/3");
    assert_eq!(plan.started(), ["after"]);
    assert_eq!(plan.stopped, ["fix/2"]);
    plan.end("fix/2", Outcome::ended(Ending::Cancelled, ""));
    assert_eq!(plan.it.outcome(plan.index("fix")).unwrap().output, json!({ "from": "fix/3" }));
    plan.done("after");
    assert_eq!(plan.it.ending(), Some(PlanEnding::Completed));
}

#[test]
fn a_race_that_is_decided_starts_nobody_and_waits_for_who_is_stopping() {
    let mut plan = race(3, OnFailure::SkipDependents);
    assert_eq!(plan.started(), ["fix/1", "fix/2"]);
    let first = plan.index("fix/1");
    plan.tell(What::Cancelled { node: Some(first) }).unwrap();
    plan.done("fix/2");
    assert_eq!(
        plan.states(),
        "fix/1 stopping, fix/2 completed, fix/3 cancelled, fix completed, after ready"
    );
    assert_eq!(plan.started(), ["after"]);
    assert_eq!(plan.stopped, ["fix/1"]);
}

#[test]
fn what_a_winner_used_is_counted_once() {
    let mut plan = race(2, OnFailure::SkipDependents);
    plan.started();
    let spent = Spent { turns: 1, tokens: 5, ..Spent::default() };
    plan.end("fix/1", Outcome { spent, ..Outcome::completed(json!("won")) });
    let [contender, race] = ["fix/1", "fix"].map(|id| plan.it.outcome(plan.index(id)).unwrap());
    assert_eq!((contender.spent, plan.it.spent()), (spent, spent));
    assert_eq!((race.spent, Value::clone(&race.output)), (Spent::default(), json!("won")));
}

#[test]
fn a_race_that_nobody_won_is_run_again() {
    let mut plan = race(2, OnFailure::SkipDependents);
    plan.started();
    plan.fails("fix/1");
    plan.fails("fix/2");
    assert_eq!(plan.states(), "fix/1 failed, fix/2 failed, fix failed, after skipped");
    assert_eq!(plan.it.ending(), Some(PlanEnding::Partly));
    plan.tell(What::Reopened).unwrap();
    assert_eq!(plan.started(), ["fix/1", "fix/2"]);
    plan.done("fix/2");
    assert_eq!(plan.started(), ["after"]);
    assert_eq!(plan.stopped, ["fix/1"]);
}

#[test]
fn who_lost_a_race_that_was_won_does_not_run_again() {
    let mut plan = race(2, OnFailure::SkipDependents);
    plan.started();
    plan.fails("fix/1");
    plan.done("fix/2");
    plan.started();
    plan.fails("after");
    assert_eq!(plan.it.ending(), Some(PlanEnding::Partly));
    plan.tell(What::Reopened).unwrap();
    assert_eq!(plan.started(), ["after"]);
    plan.done("after");
    assert_eq!(plan.it.ending(), Some(PlanEnding::Completed));
}

#[test]
fn why_nobody_won_is_told_of_the_first_five() {
    for (size, more) in [(5, ""), (6, "; ...")] {
        let mut plan = race(size, OnFailure::SkipDependents);
        plan.started();
        plan.end("fix/1", Outcome::ended(Ending::Failed, ""));
        for at in 2..=size {
            plan.started();
            plan.fails(&format!("fix/{at}"));
        }
        assert_eq!(
            plan.it.outcome(plan.index("fix")).unwrap().message,
            format!(
                "none of {size} completed: `fix/1` failed; `fix/2` failed: fix/2 broke; `fix/3` failed: fix/3 broke; \
                 `fix/4` failed: fix/4 broke; `fix/5` failed: fix/5 broke{more}"
            )
        );
    }
}

#[test]
fn nobody_can_be_told_to_try_a_join_again() {
    let mut plan = race(1, OnFailure::Ask);
    plan.started();
    plan.fails("fix/1");
    plan.started();
    assert_eq!(plan.asked, ["fix"]);
    let answered = |answer| What::Answered { node: Index(1), answer };
    assert_eq!(
        plan.tell(answered(Answer::Retry)).unwrap_err().to_string(),
        "`fix` is asking, so it cannot be answered"
    );
    plan.tell(answered(Answer::Continue)).unwrap();
    assert_eq!(plan.started(), ["after"]);
}

#[test]
fn what_failed_has_no_result_among_the_others() {
    let of = vec![NodeId::new("up/1"), NodeId::new("up/2")];
    let each = Join::Each { of: of.clone(), items: vec![json!(1), json!(2)] };
    let mut join = Node::of(NodeId::new("up"), Work::Join(each));
    join.needs = of.into_iter().map(Need::ended).collect();
    let mut plan = drive(vec![node("up/1", &[]), node("up/2", &[]), join]);
    plan.started();
    let half = Outcome { output: json!("half").into(), ..Outcome::ended(Ending::Failed, "no") };
    plan.end("up/1", half);
    plan.done("up/2");
    let output = &plan.it.outcome(plan.index("up")).unwrap().output;
    assert_eq!(**output, json!([null, { "from": "up/2" }]));
}

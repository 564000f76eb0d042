//! What can be seen of a plan.

use super::*;

#[test]
fn what_a_node_does_can_be_seen() {
    let retry = Retry { attempts: 2, backoff: Duration::from_secs(10), ..Retry::default() };
    let mut plan = drive(vec![with(node("a", &[]), |it| it.retry = retry), node("b", &["a"])]);
    let [a, b] = ["a", "b"].map(|id| plan.index(id));
    assert_eq!((plan.it.attempt(a), plan.it.busy().count()), (None, 0));
    plan.later(5).started();
    let first = Attempt { node: a, number: 1 };
    assert_eq!((plan.it.attempt(a), plan.it.attempt(b)), (Some(first), None));
    assert_eq!(plan.it.busy().collect::<Vec<_>>(), [first]);
    assert_eq!(plan.it.rests_until(a), None);
    plan.fails("a");
    assert_eq!(plan.it.rests_until(a), Some(Millis(15_000)));
    assert_eq!(plan.it.busy().count(), 0);
    assert_eq!(
        format!("{:?}", plan.it),
        r#"Scheduler { plan: "test", open: 2, running: 0, ended: None, .. }"#
    );
}

#[test]
fn how_a_task_ended_is_known_when_it_has() {
    let slow = with(node("a", &[]), |it| it.deadlines.run = Some(Duration::from_secs(10)));
    let mut plan = drive(vec![slow, node("b", &["a"]), node("c", &[])]);
    let endings = |plan: &Drive| {
        ["a", "b", "c"].map(|id| {
            let template = Template::parse(&format!("${{{{ tasks.{id}.ending }}}}")).unwrap();
            template.value(&Results(&plan.it))
        })
    };
    plan.started();
    plan.done("c");
    plan.later(10).started();
    assert_eq!(plan.states(), "a stopping, b waiting, c completed");
    assert_eq!(endings(&plan), [json!(null), json!(null), json!("completed")]);
    plan.end("a", Outcome::ended(Ending::Cancelled, ""));
    assert_eq!(endings(&plan), [json!("timed-out"), json!("skipped"), json!("completed")]);
}

#[test]
fn who_tries_again_because_the_user_says_so_knows_what_went_wrong() {
    let mut plan = drive(vec![with(node("a", &[]), |it| it.on_failure = OnFailure::Ask)]);
    plan.started();
    plan.fails("a");
    let a = plan.index("a");
    plan.tell(What::Answered { node: a, answer: Answer::Retry }).unwrap();
    assert_eq!(plan.started(), ["a"]);
    assert_eq!(
        plan.it.prompt(a).unwrap(),
        "do a\n\nAn earlier attempt did not succeed (failed): a broke\n"
    );
    plan.done("a");
    assert_eq!(plan.it.prompt(a).unwrap(), "do a");
}

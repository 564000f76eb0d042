//! Structured results.

use agents_task::{Ending, Failure, event::What, evidence::Verdict, outcome::Validity};
use agents_tool::Rights;
use serde_json::{Value, json};

use crate::World;

fn number() -> Value {
    json!({ "type": "object", "required": ["n"], "properties": { "n": { "type": "integer" } } })
}

#[test]
fn invalid_twice_then_valid() {
    let world = World::playing(
        r#"
        [[replies]]
        calls = [{ name = "yield", input = { data = { n = "one" } } }]
        [[replies]]
        when = { result = "/n: \"one\" is not of type \"integer\"" }
        times = 1
        calls = [{ name = "yield", input = { data = {} } }]
        [[replies]]
        when = { result = "\"n\" is a required property" }
        calls = [{ name = "yield", input = { data = { n = 1 } } }]
    "#,
    )
    .wanting(number());
    let outcome = world.run();
    assert_eq!(outcome.ending, Ending::Completed);
    let output = outcome.report.output.unwrap();
    assert_eq!((output.value, output.validity), (json!({ "n": 1 }), Validity::Valid));
    assert_eq!(world.count(|it| matches!(it, What::Rejected { .. })), 2);
}

#[test]
fn never_valid() {
    let outcome = World::playing(
        r#"
        [[replies]]
        when = { tool = "yield" }
        calls = [{ name = "yield", input = { data = { n = "one" } } }]
    "#,
    )
    .wanting(number())
    .run();
    assert!(
        matches!(&outcome.ending, Ending::Failed { why: Failure::InvalidResult { issues } } if issues.len() == 1)
    );
    assert_eq!(outcome.report.turns, 3);
    let output = outcome.report.output.unwrap();
    assert_eq!(output.value, json!({ "n": "one" }), "it is kept");
    assert!(matches!(output.validity, Validity::Invalid(_)), "and never passed off as valid");
}

#[test]
fn who_never_hands_in_is_reminded_three_times() {
    let world = World::playing("[[replies]]\nwhen = { tool = \"yield\" }\ntext = \"I am done.\"")
        .wanting(number());
    let outcome = world.run();
    assert_eq!(outcome.ending, Ending::Failed { why: Failure::NoResult });
    assert_eq!(outcome.report.text, "I am done.", "what it said is kept");
    assert_eq!((outcome.report.turns, outcome.report.output), (4, None));
    assert_eq!(world.count(|it| matches!(it, What::Reminded { .. })), 3);
}

#[test]
fn a_reminder_is_enough_for_most() {
    let outcome = World::playing(
        r#"
        [[replies]]
        text = "The number is one."
        [[replies]]
        when = { text = "reminder 1 of 3" }
        calls = [{ name = "yield", input = { data = { n = 1 } } }]
    "#,
    )
    .wanting(number())
    .run();
    assert_eq!(outcome.ending, Ending::Completed);
}

#[test]
fn a_text_that_is_the_result_is_taken() {
    let outcome = World::playing(
        "[[replies]]\ntext = '```json\n{\"n\": 7}\n```'".replace("'", "'''").as_str(),
    )
    .wanting(number())
    .run();
    assert_eq!(outcome.ending, Ending::Completed);
    assert_eq!(outcome.report.output.unwrap().value, json!({ "n": 7 }));
}

#[test]
fn an_empty_answer_is_no_result() {
    let outcome = World::playing("[[replies]]\n[[replies]]\ntext = \"Sorry: it is done.\"").run();
    assert_eq!(outcome.ending, Ending::Completed);
    assert_eq!((outcome.report.turns, outcome.report.text.as_str()), (2, "Sorry: it is done."));
}

#[test]
fn calls_of_yield_that_nobody_understands_do_not_go_on_for_ever() {
    let outcome = World::playing(
        "[[replies]]\nwhen = { tool = \"yield\" }\ncalls = [{ name = \"yield\", input = { data = 1, error = \"x\" } }]",
    )
    .run();
    assert_eq!(outcome.ending, Ending::Failed { why: Failure::NoResult });
    assert_eq!(outcome.report.turns, 6);
}

#[test]
fn what_is_called_along_with_yield_is_done_first_and_the_first_valid_result_counts() {
    let world = World::playing(
        r#"
        [[replies]]
        calls = [
            { name = "yield", input = { data = { n = 1 } } },
            { name = "write", input = { path = "a.txt", content = "new" } },
            { name = "yield", input = { data = { n = "two" } } },
        ]
    "#,
    )
    .wanting(number());
    let outcome = world.run();
    assert_eq!(outcome.ending, Ending::Completed);
    assert_eq!(outcome.report.output.unwrap().value, json!({ "n": 1 }));
    assert_eq!(world.text("a.txt"), "new");
}

#[test]
fn an_agent_without_any_tools_can_still_hand_in() {
    let mut world =
        World::playing("[[replies]]\ncalls = [{ name = \"yield\", input = { data = { n = 1 } } }]")
            .wanting(number());
    world.agent.tools = agents_agent::tools::Tools::nothing();
    assert!(!world.effective().standing.rights.allows("read"));
    assert_ne!(world.effective().standing.rights, Rights::all());
    let outcome = world.run();
    assert_eq!(outcome.ending, Ending::Completed);
    assert_eq!(outcome.report.evidence.doubt, None, "there was nothing to use");
}

fn with_evidence() -> Value {
    json!({ "properties": { "answer": { "type": "string" }, "evidence": { "elements": { "type": "string" } } } })
}

#[test]
fn a_fabricated_reference_is_caught_and_can_be_put_right() {
    let outcome = World::playing(
        r##"
        [[replies]]
        calls = [{ name = "read", input = { path = "a.txt" } }]
        [[replies]]
        when = { result = "[evidence: #1 or a.txt@" }
        times = 1
        calls = [{ name = "yield", input = { data = { answer = "42", evidence = ["#1", "#2"] } } }]
        [[replies]]
        when = { result = "rests on what never happened here: #2." }
        calls = [{ name = "yield", input = { data = { answer = "42", evidence = ["#1"] } } }]
    "##,
    )
    .wanting(with_evidence())
    .file("a.txt", "42")
    .run();
    assert_eq!(outcome.ending, Ending::Completed, "{:?}", outcome.ending);
    let claims = outcome.report.evidence.claims;
    assert_eq!(claims.len(), 1);
    assert_eq!(claims[0].verdict, Verdict::Holds);
}

#[test]
fn who_keeps_making_things_up_has_failed() {
    let outcome = World::playing(
        r#"
        [[replies]]
        when = { tool = "yield" }
        calls = [{ name = "yield", input = { data = { answer = "42", evidence = ["call_9999"] } } }]
    "#,
    )
    .wanting(with_evidence())
    .run();
    let claims = vec!["call_9999".to_owned()];
    assert_eq!(outcome.ending, Ending::Failed { why: Failure::FalseEvidence { claims } });
    assert!(outcome.report.output.is_some());
}

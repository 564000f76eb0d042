//! How tasks end.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use agents_agent::definition::PermissionMode;
use agents_model::cost::{MicroDollars, Price};
use agents_task::{
    Ending, Failure, Limit, Limits,
    broker::{Broker, Reply},
    event::What,
    evidence::Doubt,
};
use agents_tool::{CallContext, Effects, Intent, Output, Tool, ToolError};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use crate::{World, block_on};

#[test]
fn a_text_is_a_result_where_no_schema_is_set() {
    let world = World::playing(
        r#"
        [[replies]]
        text = "Let me look."
        calls = [{ name = "read", input = { path = "a.txt" } }]
        [[replies]]
        when = { result = "the secret is 42" }
        text = "It is 42."
    "#,
    )
    .file("a.txt", "the secret is 42");
    let outcome = world.run();
    assert_eq!(outcome.ending, Ending::Completed);
    assert_eq!(outcome.report.text, "It is 42.");
    assert_eq!((outcome.report.turns, outcome.report.tool_calls), (2, 1));
    assert_eq!(outcome.report.usage.input, 200);
    assert_eq!(outcome.report.cost, None, "nobody knows the price");
    assert_eq!(outcome.report.evidence.doubt, None);
    assert_eq!(outcome.report.model, "any");
    assert_eq!(outcome.path.to_string(), "worker");
}

#[test]
fn a_report_from_who_had_tools_and_used_none_is_flagged() {
    let outcome = World::playing("[[replies]]\ntext = \"All tests pass.\"").run();
    assert_eq!(outcome.ending, Ending::Completed);
    assert_eq!(outcome.report.evidence.doubt, Some(Doubt::NoToolUsed));
}

#[test]
fn an_agent_may_give_up() {
    let outcome = World::playing(
        r#"
        [[replies]]
        calls = [{ name = "yield", input = { error = "there is no such crate" } }]
    "#,
    )
    .run();
    let reason = "there is no such crate".to_owned();
    assert_eq!(outcome.ending, Ending::Failed { why: Failure::GaveUp { reason } });
}

#[test]
fn a_model_that_refuses_and_one_that_fails() {
    let outcome = World::playing("[[replies]]\ntext = \"No.\"\nstop = \"refusal\"").run();
    assert_eq!(outcome.ending, Ending::Failed { why: Failure::ModelRefused });
    assert_eq!(outcome.report.text, "No.");
    let outcome =
        World::playing("[[replies]]\nfault = { status = { code = 401, message = \"bad key\" } }")
            .run();
    match outcome.ending {
        Ending::Failed { why: Failure::Model { message, .. } } => {
            assert!(message.starts_with("`script`: the key was not accepted"), "{message}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_connection_that_breaks_leaves_what_was_said() {
    let outcome =
        World::playing("[[replies]]\ntext = \"So far I found\"\nfault = { drop-after = 2 }").run();
    assert!(matches!(outcome.ending, Ending::Failed { why: Failure::Model { .. } }));
    assert_eq!(outcome.report.text, "So far I found");
}

#[test]
fn the_turn_after_the_last_one_is_refused_and_the_agent_was_told() {
    let world = World::playing(
        r#"
        [[replies]]
        when = { tool = "find" }
        text = "Still looking."
        calls = [{ name = "find", input = { pattern = "*.rs" } }]
    "#,
    )
    .limited(Limits { turns: Some(5), ..Limits::default() });
    let outcome = world.run();
    assert_eq!(outcome.ending, Ending::OutOfLimits { limit: Limit::Turns });
    assert_eq!((outcome.report.turns, outcome.report.text.as_str()), (5, "Still looking."));
    assert_eq!(world.count(|it| matches!(it, What::Notice { limit: Limit::Turns, .. })), 1);
}

#[test]
fn the_agent_can_come_to_an_end_when_it_is_told() {
    let outcome = World::playing(
        r#"
        [[replies]]
        when = { text = "4 of 5 turns are used" }
        calls = [{ name = "yield", input = { data = "half of it" } }]
        [[replies]]
        when = { tool = "find" }
        calls = [{ name = "find", input = { pattern = "*.rs" } }]
    "#,
    )
    .limited(Limits { turns: Some(5), ..Limits::default() })
    .run();
    assert_eq!(outcome.ending, Ending::Completed);
    assert_eq!(outcome.report.output.unwrap().value, json!("half of it"));
}

#[test]
fn tokens_and_money_run_out() {
    let script = r#"
        [[replies]]
        when = { tool = "find" }
        calls = [{ name = "find", input = { pattern = "*.rs" } }]
        usage = { input = 1000, output = 100 }
    "#;
    let limits = Limits { tokens: Some(3000), ..Limits::default() };
    let outcome = World::playing(script).limited(limits).run();
    assert_eq!(outcome.ending, Ending::OutOfLimits { limit: Limit::Tokens });
    assert_eq!(outcome.report.turns, 3);
    let limits = Limits { cost: Some(MicroDollars(5000)), ..Limits::default() };
    let mut world = World::playing(script).limited(limits);
    world.price = Some(Price { input: 1_000_000, output: 10_000_000, ..Price::default() });
    let outcome = world.run();
    assert_eq!(outcome.ending, Ending::OutOfLimits { limit: Limit::Cost });
    assert_eq!((outcome.report.turns, outcome.report.cost), (3, Some(MicroDollars(6000))));
}

#[test]
fn an_answer_that_was_cut_off_goes_on() {
    let world = World::playing(
        r#"
        [[replies]]
        text = "First half"
        stop = "max-tokens"
        [[replies]]
        when = { text = "cut off" }
        text = "second half"
    "#,
    );
    assert_eq!(world.run().ending, Ending::Completed);
    assert_eq!(world.count(|it| matches!(it, What::Reminded { .. })), 1);
}

/// Counts how many of its calls run at the same time.
struct Together {
    name: &'static str,
    effects: Effects,
    now: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

impl Tool for Together {
    fn name(&self) -> &str {
        self.name
    }

    fn description(&self) -> &str {
        "counts"
    }

    fn schema(&self) -> Arc<Value> {
        json!({ "type": "object" }).into()
    }

    fn intent(&self, _: &Value, _: &CallContext) -> Result<Intent, ToolError> {
        Ok(Intent::plain(self.effects))
    }

    fn call<'a>(
        &'a self,
        input: Value,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<Output, ToolError>> {
        Box::pin(async move {
            let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
            self.most.fetch_max(now, Ordering::SeqCst);
            // The others get their turn.
            for _ in 0..10 {
                tokio::task::yield_now().await;
            }
            self.now.fetch_sub(1, Ordering::SeqCst);
            Ok(Output::said(format!("{} at a time, for {}", now, input["n"])))
        })
    }
}

#[test]
fn calls_that_do_not_conflict_run_at_the_same_time_and_results_keep_their_order() {
    for (effects, expected) in [(Effects::READS, 3), (Effects::WRITES, 1)] {
        let (now, most) = (Arc::default(), Arc::<AtomicUsize>::default());
        let tool = Together { name: "count", effects, now, most: Arc::clone(&most) };
        let world = World::playing(
            r#"
            [[replies]]
            calls = [{ name = "count", input = { n = 1 } }, { name = "count", input = { n = 2 } }, { name = "count", input = { n = 3 } }]
            [[replies]]
            text = "done"
        "#,
        )
        .having(tool);
        assert_eq!(world.run().ending, Ending::Completed);
        assert_eq!(most.load(Ordering::SeqCst), expected);
        let started: Vec<String> = world
            .events
            .lock()
            .unwrap()
            .iter()
            .filter_map(|it| match it {
                What::ToolStarted { input, .. } => Some(input["n"].to_string()),
                _ => None,
            })
            .collect();
        assert_eq!(started, ["1", "2", "3"]);
    }
}

#[test]
fn a_call_that_is_not_json_or_of_no_tool_goes_back_to_the_agent() {
    let outcome = World::playing(
        r#"
        [[replies]]
        calls = [{ name = "read", input = "{\"path\": " }, { name = "reed", input = { path = "a" } }]
        [[replies]]
        when = { result = "is not JSON" }
        text = "I see."
    "#,
    )
    .run();
    assert_eq!(outcome.ending, Ending::Completed);
    assert_eq!(outcome.report.tool_calls, 2);
}

#[test]
fn a_long_conversation_is_made_shorter_and_the_assignment_stays() {
    let mut world = World::playing(
        r#"
        [[replies]]
        when = { text = "earlier messages of this conversation were left out" }
        text = "I still know what to do."
        [[replies]]
        when = { tool = "read" }
        calls = [{ name = "read", input = { path = "long.txt" } }]
    "#,
    )
    .file("long.txt", &"a line of text\n".repeat(400));
    world.window = Some(8000);
    let outcome = world.run();
    assert_eq!(outcome.ending, Ending::Completed);
    assert!(outcome.report.turns > 3);
    assert_eq!(world.count(|it| matches!(it, What::Compacted { .. })), 1);
}

#[test]
fn a_conversation_that_the_model_finds_too_long_is_made_shorter_until_nothing_is_left_to_leave_out()
{
    let too_long = r#"
        [[replies]]
        when = { text = "earlier messages" }
        text = "Now it fits."
        [[replies]]
        when = { result = "x" }
        fault = { status = { code = 400, message = "prompt is too long: 210000 tokens > 200000 maximum" } }
        [[replies]]
        calls = [{ name = "find", input = { pattern = "a*" } }]
        [[replies]]
        calls = [{ name = "read", input = { path = "x.txt" } }]
    "#;
    let outcome = World::playing(too_long).file("x.txt", "x").run();
    assert_eq!(outcome.ending, Ending::Completed, "{:?}", outcome.ending);
    let always = r#"
        [[replies]]
        when = { text = "do the work" }
        fault = { status = { code = 400, message = "prompt is too long: 210000 tokens > 200000 maximum" } }
    "#;
    assert!(matches!(
        World::playing(always).run().ending,
        Ending::Failed { why: Failure::Model { .. } }
    ));
}

const ASKS: &str = r#"
    [[replies]]
    calls = [{ name = "write", input = { path = "a.txt", content = "new" } }]
    [[replies]]
    when = { result = "nobody agreed" }
    text = "I was not allowed to."
    [[replies]]
    text = "It is written."
"#;

#[test]
fn without_anybody_to_ask_the_agent_is_refused_and_the_outcome_says_so() {
    let mut world = World::playing(ASKS);
    world.mode = PermissionMode::Default;
    let outcome = world.run();
    assert_eq!(outcome.report.text, "I was not allowed to.");
    assert_eq!(outcome.report.not_agreed, ["`write` changes `a.txt`: nobody is there to agree"]);
}

#[test]
fn an_approval_that_nobody_gives_is_a_refusal_when_its_time_is_over() {
    let mut world = World::playing(ASKS);
    world.mode = PermissionMode::Default;
    let (broker, asks) = Broker::new(Duration::from_millis(20));
    world.broker = broker;
    let outcome = world.run();
    assert_eq!(outcome.report.not_agreed, ["`write` changes `a.txt`: nobody answered in time"]);
    drop(asks);
}

#[test]
fn an_approval_that_is_given_lets_the_call_through() {
    let mut world = World::playing(ASKS);
    world.mode = PermissionMode::Default;
    let (broker, mut asks) = Broker::new(Duration::from_secs(60));
    world.broker = broker;
    let outcome = block_on(async {
        let answering = async {
            let ask = asks.recv().await.unwrap();
            assert_eq!(ask.path.to_string(), "worker");
            ask.answer(Reply::Task);
        };
        tokio::join!(world.go(), answering).0
    });
    assert_eq!(outcome.report.text, "It is written.");
    assert_eq!(world.text("a.txt"), "new");
    assert!(outcome.report.not_agreed.is_empty());
}

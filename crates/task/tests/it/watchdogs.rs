//! Everything that misbehaves ends within its deadline, with what there was, and leaves nothing behind.

use std::time::Duration;

use agents_model::Deadlines;
use agents_task::{Ending, Limit, Limits, event::What};
use agents_tool::{CallContext, Effects, Intent, Output, Tool, ToolError};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use crate::{World, block_on};

fn impatient(mut world: World) -> World {
    world.patience.model = Deadlines {
        first_token: Duration::from_millis(50),
        idle: Duration::from_millis(50),
        total: Duration::from_secs(30),
    };
    world
}

#[test]
fn no_first_token() {
    let outcome = impatient(World::playing("[[replies]]\nfault = \"silence\"")).run();
    assert_eq!(outcome.ending, Ending::OutOfLimits { limit: Limit::FirstToken });
    assert_eq!(outcome.report.turns, 1);
}

#[test]
fn silence_in_the_middle_of_a_text() {
    let outcome = impatient(World::playing(
        "[[replies]]\ntext = \"What I have found until now\"\nfault = { stall-after = 2 }",
    ))
    .run();
    assert_eq!(outcome.ending, Ending::OutOfLimits { limit: Limit::Idle });
    assert_eq!(outcome.report.text, "What I have foun", "the partial result is kept");
}

#[test]
fn silence_in_the_middle_of_the_input_of_a_call() {
    let world = impatient(World::playing(
        r#"
        [[replies]]
        calls = [{ name = "write", input = { path = "a.txt", content = "new" } }]
        fault = { stall-after = 3 }
    "#,
    ));
    let outcome = world.run();
    assert_eq!(outcome.ending, Ending::OutOfLimits { limit: Limit::Idle });
    assert_eq!(outcome.report.tool_calls, 0, "half a call is none");
    assert!(!world.scratch.path("root/a.txt").exists());
}

#[test]
fn a_drip_that_never_comes_to_its_end() {
    let mut world = impatient(World::playing(&format!(
        "[[replies]]\ntext = \"{}\"\npiece = 1\npace-ms = 20",
        "x".repeat(5000)
    )));
    world.patience.model.total = Duration::from_millis(300);
    let outcome = world.run();
    assert_eq!(outcome.ending, Ending::OutOfLimits { limit: Limit::Answer });
    assert!(outcome.report.text.starts_with("xx"));

    let world = impatient(World::playing(&format!(
        "[[replies]]\ntext = \"{}\"\npiece = 1\npace-ms = 20",
        "x".repeat(5000)
    )))
    .limited(Limits { time: Some(Duration::from_millis(300)), ..Limits::default() });
    let outcome = world.run();
    assert_eq!(outcome.ending, Ending::OutOfLimits { limit: Limit::Time }, "the task's own end");
}

/// Never returns and hears nothing.
struct Deaf;

impl Tool for Deaf {
    fn name(&self) -> &str {
        "deaf"
    }

    fn description(&self) -> &str {
        "never returns"
    }

    fn schema(&self) -> std::sync::Arc<Value> {
        json!({ "type": "object" }).into()
    }

    fn intent(&self, _: &Value, _: &CallContext) -> Result<Intent, ToolError> {
        Ok(Intent::plain(Effects::READS))
    }

    fn call<'a>(
        &'a self,
        input: Value,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<Output, ToolError>> {
        assert!(input.get("panic").is_none(), "asked to");
        Box::pin(std::future::pending())
    }
}

#[test]
fn a_tool_that_never_returns_is_left_behind_and_the_agent_goes_on() {
    let mut world = World::playing(
        r#"
        [[replies]]
        calls = [{ name = "deaf" }, { name = "find", input = { pattern = "*" } }]
        [[replies]]
        when = { result = "did not end when it was told to" }
        text = "Then without it."
    "#,
    )
    .having(Deaf);
    world.patience.tool = Duration::from_millis(30);
    world.patience.grace = Duration::from_millis(10);
    let outcome = world.run();
    assert_eq!(outcome.ending, Ending::Completed);
    assert_eq!(outcome.report.text, "Then without it.");
}

#[test]
fn a_tool_that_panics_does_not_take_the_task_with_it() {
    let outcome = World::playing(
        r#"
        [[replies]]
        calls = [{ name = "deaf", input = { panic = true } }]
        [[replies]]
        when = { result = "broke down" }
        text = "Then without it."
    "#,
    )
    .having(Deaf)
    .run();
    assert_eq!(outcome.ending, Ending::Completed);
}

/// A program that ignores signals, with a child that does, too.
const STUBBORN: &str = r#"
    [[replies]]
    text = "I start it."
    calls = [{ name = "bash", input = { command = "trap '' TERM INT HUP; (trap '' TERM INT HUP; echo $BASHPID > child; exec sleep 600) & echo $$ > leader; sleep 600" } }]
    [[replies]]
    text = "It was stopped."
"#;

fn is_running(world: &World, file: &str) -> bool {
    let pid = world.text(file);
    // A zombie has ended, too.
    let stat = fs_err::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    !(stat.is_empty() || stat.contains(") Z "))
}

#[test]
fn a_program_that_ignores_signals_ends_with_its_time_and_nothing_is_left() {
    let mut world = World::playing(STUBBORN);
    world.patience.tool = Duration::from_secs(1);
    let outcome = world.run();
    assert_eq!(outcome.ending, Ending::Completed);
    assert_eq!(outcome.report.text, "It was stopped.");
    assert!(!is_running(&world, "leader") && !is_running(&world, "child"));
}

#[test]
fn a_cancelled_task_ends_with_what_it_had_and_its_programs() {
    let world = World::playing(STUBBORN);
    let outcome = block_on(async {
        let cancelling = async {
            while !world.scratch.path("root/leader").exists() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            world.cancel.cancel();
        };
        tokio::join!(world.go(), cancelling).0
    });
    assert_eq!(outcome.ending, Ending::Cancelled);
    assert_eq!(outcome.report.text, "I start it.");
    assert!(!is_running(&world, "leader") && !is_running(&world, "child"));
}

#[test]
fn a_task_whose_time_is_over_ends_with_its_programs() {
    let world = World::playing(STUBBORN)
        .limited(Limits { time: Some(Duration::from_secs(1)), ..Limits::default() });
    let outcome = world.run();
    assert_eq!(outcome.ending, Ending::OutOfLimits { limit: Limit::Time });
    assert!(!is_running(&world, "leader") && !is_running(&world, "child"));
}

#[test]
fn who_is_cancelled_before_it_begins_asks_nobody() {
    let world = World::playing("[[replies]]\ntext = \"too late\"");
    world.cancel.cancel();
    let outcome = world.run();
    assert_eq!((outcome.ending, outcome.report.turns), (Ending::Cancelled, 0));
    assert_eq!(world.count(|it| matches!(it, What::Turn { .. })), 0);
}

#[test]
fn a_task_that_is_cancelled_while_the_model_is_silent_ends_at_once() {
    let world =
        World::playing("[[replies]]\ntext = \"So far so good, and\"\nfault = { stall-after = 2 }");
    let outcome = block_on(async {
        let cancelling = async {
            while world.count(|it| matches!(it, What::Text { .. })) == 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            world.cancel.cancel();
        };
        tokio::join!(world.go(), cancelling).0
    });
    assert_eq!(outcome.ending, Ending::Cancelled);
    assert_eq!(outcome.report.text, "So far so good, ");
}

#[test]
fn a_task_that_is_dropped_has_a_last_event() {
    let world = World::playing("[[replies]]\nfault = \"silence\"");
    block_on(async {
        let _ = tokio::time::timeout(Duration::from_millis(50), world.go()).await;
    });
    let events = world.events.lock().unwrap();
    match events.last() {
        Some(What::Ended { outcome }) => assert_eq!(outcome.ending, Ending::Cancelled),
        other => panic!("{other:?}"),
    }
}

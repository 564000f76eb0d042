//! Many turns, and many tasks at a time.

use std::time::Duration;

use agents_task::{Ending, Limits, event::What};
use futures_util::future::join_all;

use crate::{World, block_on};

#[test]
fn ten_thousand_turns_of_one_agent() {
    let turns = 10_000;
    let mut world = World::playing(
        r#"
        [[replies]]
        when = { tool = "read" }
        calls = [{ name = "read", input = { path = "a.txt" } }]
    "#,
    )
    .file("a.txt", "a line")
    .limited(Limits {
        turns: Some(turns),
        time: Some(Duration::from_secs(3600)),
        tokens: Some(u64::MAX),
        ..Limits::default()
    });
    world.agent.limits.history = Some(40);
    let outcome = world.run();
    assert_eq!(outcome.ending.word(), "out-of-limits");
    assert_eq!((outcome.report.turns, outcome.report.tool_calls), (turns, turns));
    let left_out: usize = world
        .events
        .lock()
        .unwrap()
        .iter()
        .filter_map(|it| match it {
            What::Compacted { left_out } => Some(*left_out),
            _ => None,
        })
        .sum();
    assert!(left_out >= 2 * 9_900, "what it keeps in mind stays short: {left_out}");
}

#[test]
fn a_thousand_tasks_at_a_time() {
    let worlds: Vec<World> = (0..1000)
        .map(|_| {
            World::playing(
                r#"
                [[replies]]
                delay-ms = 20
                calls = [{ name = "find", input = { pattern = "*" } }]
                [[replies]]
                text = "done"
            "#,
            )
        })
        .collect();
    let outcomes = block_on(join_all(worlds.iter().map(World::go)));
    assert_eq!(outcomes.len(), 1000);
    assert!(outcomes.iter().all(|it| it.ending == Ending::Completed && it.report.turns == 2));
}

//! What must hold before a task is done.

use agents_task::{Ending, Failure, done_when::Unmet, event::What};

use crate::World;

const MANIFEST: &str =
    "[package]\nname = \"sum\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n";

fn wrong(body: &str) -> String {
    format!(
        "pub fn sum(a: i32, b: i32) -> i32 {{ {body} }}\n#[test]\nfn adds() {{ assert_eq!(sum(2, 3), 5); }}\n"
    )
}

#[test]
fn a_failing_crate_is_fixed_in_the_third_attempt() {
    let mut world = World::playing(
        r#"
        [[replies]]
        text = "It is fine as it is."
        [[replies]]
        when = { text = "`cargo test --offline --quiet` does not succeed" }
        times = 1
        calls = [{ name = "edit", input = { path = "src/lib.rs", edits = [{ old = "a - b", new = "a * b" }] } }]
        [[replies]]
        calls = [{ name = "yield", input = { data = "fixed" } }]
        [[replies]]
        when = { result = "it is not done yet" }
        times = 1
        calls = [{ name = "edit", input = { path = "src/lib.rs", edits = [{ old = "a * b", new = "a + b" }] } }]
        [[replies]]
        calls = [{ name = "yield", input = { data = "now it is" } }]
    "#,
    )
    .file("Cargo.toml", MANIFEST)
    .file("src/lib.rs", &wrong("a - b"));
    world.request.done_when.commands = vec!["cargo test --offline --quiet".to_owned()];
    world.request.done_when.changed = vec!["src/**".to_owned()];
    let outcome = world.run();
    assert_eq!(outcome.ending, Ending::Completed, "{:?}", outcome.ending);
    assert_eq!(outcome.report.output.unwrap().value, "now it is");
    assert!(world.text("src/lib.rs").contains("a + b"));
    assert_eq!(world.count(|it| matches!(it, What::Rejected { .. })), 2);
}

#[test]
fn who_only_says_that_it_is_done_does_not_complete() {
    let mut world = World::playing(
        "[[replies]]\nwhen = { tool = \"yield\" }\ncalls = [{ name = \"yield\", input = { data = \"all tests pass\" } }]",
    );
    world.request.done_when.commands = vec!["echo no such luck; false".to_owned()];
    let outcome = world.run();
    match &outcome.ending {
        Ending::Failed { why: Failure::NotDone { unmet } } => {
            let Unmet::Command { command, printed } = &unmet[0] else { panic!("{unmet:?}") };
            assert_eq!(command, "echo no such luck; false");
            assert!(printed.starts_with("no such luck"), "{printed}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(outcome.ending.told(), "failed: `echo no such luck; false` does not succeed");
}

#[test]
fn what_must_not_change_goes_back_until_it_is_as_it_was() {
    let mut world = World::playing(
        r#"
        [[replies]]
        calls = [{ name = "write", input = { path = "tests/t.rs", content = "// nothing to test" } }]
        [[replies]]
        text = "All tests pass."
        [[replies]]
        when = { text = "`tests/t.rs` must not change" }
        times = 1
        calls = [{ name = "write", input = { path = "tests/t.rs", content = "original" } }]
        [[replies]]
        text = "I have put it back."
    "#,
    )
    .file("tests/t.rs", "original");
    world.request.done_when.unchanged = vec!["tests/**".to_owned()];
    let outcome = world.run();
    assert_eq!(outcome.ending, Ending::Completed, "{:?}", outcome.ending);
    assert_eq!(world.text("tests/t.rs"), "original");
    assert_eq!(outcome.report.text, "I have put it back.");
}

#[test]
fn the_contract_of_a_definition_is_no_way_around_the_rights_of_the_agent() {
    let mut world = World::playing(
        "[[replies]]\nwhen = { tool = \"yield\" }\ncalls = [{ name = \"yield\", input = { data = \"done\" } }]",
    );
    let said = serde_json::json!({ "commands": ["touch broken-out"] });
    world.agent.extra.insert("done-when".to_owned(), said);
    world.agent.tools.allow = Some(vec![agents_agent::tools::ToolPattern::new("read")]);
    let outcome = world.run();
    assert!(matches!(&outcome.ending, Ending::Failed { why: Failure::NotDone { .. } }));
    assert!(!world.scratch.path("root/broken-out").exists());
    // The user's own word is another matter.
    world.agent.extra.clear();
    world.request.done_when.commands = vec!["touch asked-for".to_owned()];
    world.events.lock().unwrap().clear();
    assert_eq!(world.run().ending, Ending::Completed);
    assert!(world.scratch.path("root/asked-for").exists());
}

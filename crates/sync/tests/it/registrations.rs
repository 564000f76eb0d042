//! Hooks: items of lists that others use too, keys that a file of ours needs, and files that are ours as a whole.

use agents_sync::{Applied, Desired, DesiredFile, DesiredPart, Edited};
use agents_system::ledger::{Share, What};
use agents_testkit::scratch::Scratch;
use serde_json::{Value, json};

use crate::world::{MARK, World, host, item, server};

const FILE: &str = "settings.json";

fn hook(world: &World, timeout: u32) -> DesiredPart {
    let value = json!({ "matcher": "*", "command": format!("{MARK}pre"), "timeout": timeout });
    item(&world.path(FILE), &["hooks", "Pre"], value)
}

fn wanted(parts: impl IntoIterator<Item = DesiredPart>) -> Desired {
    Desired { parts: parts.into_iter().collect(), ..Desired::default() }
}

/// The actions of the changes, and the findings.
fn said(applied: &Applied) -> Vec<String> {
    let changes = applied.plan.changes.iter().map(|change| change.action().word().to_owned());
    changes.chain(applied.plan.findings.iter().map(|it| it.message.clone())).collect()
}

fn list(world: &World) -> Vec<Value> {
    let text = world.read(FILE).unwrap_or_default();
    let document = agents_system::edit::read(agents_system::edit::Format::Json, &text).unwrap();
    document["hooks"]["Pre"].as_array().cloned().unwrap_or_default()
}

const THEIRS: &str = "{\n  \"hooks\": {\n    \"Pre\": [\n      // mine, first\n      { \"command\": \"audit\" } // keep\n    ]\n  }\n}\n";

#[test]
fn an_item_goes_beside_those_of_others_and_away_again_to_the_byte() {
    for before in [
        Some(THEIRS),
        Some("{}"),
        Some("{\"hooks\": {\"Pre\": []}}"),
        Some("{ \"hooks\": {} } // end\n"),
        None,
    ] {
        let scratch = Scratch::new();
        let world = World::at(scratch.root());
        if let Some(text) = before {
            world.write(FILE, text);
        }
        world.sync(&wanted([hook(&world, 10)]));
        let items = list(&world);
        assert_eq!(items.last().unwrap()["timeout"], 10);
        assert_eq!(items.len(), if before == Some(THEIRS) { 2 } else { 1 });
        // A later version of us writes another form of it.
        assert_eq!(said(&world.sync(&wanted([hook(&world, 20)]))), ["updated"]);
        assert_eq!(list(&world).len(), items.len());
        assert_eq!(list(&world).last().unwrap()["timeout"], 20);
        world.uninstall();
        assert_eq!(world.read(FILE).as_deref(), before);
    }
}

#[test]
fn an_edited_item_is_kept_until_told_otherwise() {
    let scratch = Scratch::new();
    let world = World::at(scratch.root());
    world.write(FILE, THEIRS);
    world.sync(&wanted([hook(&world, 10)]));
    let edited = world.read(FILE).unwrap().replace("\"*\"", "\"Bash\"");
    world.write(FILE, &edited);
    let kept = "the hook for `Pre` was edited after it was registered, and is kept as it is";
    assert_eq!(said(&world.sync(&wanted([hook(&world, 20)]))), [kept]);
    assert_eq!(world.read(FILE).unwrap(), edited);
    let overwritten = world.sync_as(&wanted([hook(&world, 20)]), Edited::Overwrite);
    assert_eq!(said(&overwritten), ["updated"]);
    assert_eq!(list(&world).len(), 2);
    assert_eq!(list(&world)[1], hook(&world, 20).value);
    world.write(FILE, &edited);
    let left = "the hook for `Pre` was edited after it was registered, and is left to you";
    assert_eq!(said(&world.uninstall()[0]), [left]);
    assert_eq!(world.read(FILE).unwrap(), edited);
}

/// A team keeps the file in version control, or another version of us was here: the host calls us already, and a second
/// entry would make it call twice.
#[test]
fn an_item_of_ours_that_somebody_else_wrote_is_enough() {
    let scratch = Scratch::new();
    let world = World::at(scratch.root());
    let text =
        format!("{{\"hooks\": {{\"Pre\": [{{\"hooks\": [{{\"command\": \"{MARK}pre\"}}]}}]}}}}");
    world.write(FILE, &text);
    let applied = world.sync(&wanted([hook(&world, 10)]));
    assert_eq!((said(&applied), applied.plan.unchanged), (Vec::new(), 1));
    world.uninstall();
    assert_eq!(world.read(FILE).unwrap(), text);
}

#[test]
fn what_is_not_a_list_is_left_alone() {
    let scratch = Scratch::new();
    let world = World::at(scratch.root());
    for text in ["{\"hooks\": []}", "{\"hooks\": {\"Pre\": {}}}", "{\"hooks\": {\"Pre\": \"x\"}}"] {
        world.write(FILE, text);
        let applied = world.sync(&wanted([hook(&world, 10)]));
        assert_eq!(applied.plan.findings.len(), 1, "{text}: {:?}", said(&applied));
        assert_eq!(world.read(FILE).unwrap(), text);
        assert_eq!(world.ledger().entries, []);
    }
}

fn version(world: &World) -> DesiredPart {
    let part = server(&world.path(FILE), &["version"], json!(1));
    DesiredPart { share: Share::Scaffold, what: What::Hook, ..part }
}

#[test]
fn a_file_that_we_make_has_what_it_needs_and_goes_as_a_whole() {
    let scratch = Scratch::new();
    let world = World::at(scratch.root());
    let both = wanted([version(&world), hook(&world, 10)]);
    world.sync(&both);
    assert!(world.read(FILE).unwrap().contains("\"version\": 1"));
    world.uninstall();
    assert_eq!(world.read(FILE), None);
    // What the user put beside ours needs it too.
    world.sync(&both);
    let text =
        world.read(FILE).unwrap().replace("\"Pre\": [", "\"Pre\": [{ \"command\": \"own\" }, ");
    world.write(FILE, text);
    world.uninstall();
    assert!(world.read(FILE).unwrap().contains("\"version\": 1"));
    assert_eq!(list(&world), [json!({ "command": "own" })]);
}

#[test]
fn a_file_that_does_without_it_is_not_completed() {
    let scratch = Scratch::new();
    let world = World::at(scratch.root());
    world.write(FILE, "{ \"hooks\": {} }");
    world.sync(&wanted([version(&world), hook(&world, 10)]));
    assert!(!world.read(FILE).unwrap().contains("version"));
    world.uninstall();
    assert_eq!(world.read(FILE).unwrap(), "{ \"hooks\": {} }");
}

fn whole(world: &World, text: &str) -> Desired {
    let file = DesiredFile {
        host: host("copilot"),
        file: world.path("hooks/cargo-agents.json"),
        text: text.to_owned(),
        what: What::Hook,
        name: "every event".to_owned(),
        from: "cargo-agents".to_owned(),
    };
    Desired { files: vec![file], ..Desired::default() }
}

#[test]
fn a_file_of_ours_comes_changes_and_goes_with_its_directory() {
    let scratch = Scratch::new();
    let world = World::at(scratch.root());
    assert_eq!(said(&world.sync(&whole(&world, "1"))), ["new"]);
    assert_eq!(said(&world.sync(&whole(&world, "1"))), [""; 0]);
    assert_eq!(said(&world.sync(&whole(&world, "2"))), ["updated"]);
    assert_eq!(world.read("hooks/cargo-agents.json").unwrap(), "2");
    assert_eq!(said(&world.sync(&Desired::default())), ["removed"]);
    assert!(!world.path("hooks").exists());
}

#[test]
fn a_file_that_somebody_edited_or_made_is_theirs() {
    let scratch = Scratch::new();
    let world = World::at(scratch.root());
    let path = "hooks/cargo-agents.json";
    world.write(path, "theirs");
    let not_ours = ["not written: a file is there that is not ours"];
    assert_eq!(said(&world.sync(&whole(&world, "1"))), not_ours);
    assert_eq!(said(&world.sync_as(&whole(&world, "1"), Edited::Overwrite)), not_ours);
    // The same as ours, but theirs.
    assert_eq!(said(&world.sync(&whole(&world, "theirs"))), [""; 0]);
    assert!(world.uninstall().is_empty());
    fs_err::remove_file(world.path(path)).unwrap();
    world.sync(&whole(&world, "1"));
    world.write(path, "edited");
    let kept = ["it was edited after it was written, and is kept as it is"];
    assert_eq!(said(&world.sync(&whole(&world, "2"))), kept);
    assert_eq!(said(&world.sync_as(&whole(&world, "2"), Edited::Overwrite)), ["updated"]);
    world.write(path, "edited");
    let left = ["it was edited after it was written, and is left to you"];
    assert_eq!(said(&world.uninstall()[0]), left);
    assert_eq!(world.read(path).unwrap(), "edited");
}

/// Two workspaces register one server for all workspaces, in different forms.
#[test]
fn a_key_that_another_workspace_wants_otherwise_is_said() {
    let scratch = Scratch::new();
    let world = World::at(scratch.root());
    let demo = |value| wanted([server(&world.path(FILE), &["servers", "demo"], json!(value))]);
    world.sync(&demo(1));
    let progress = agents_system::progress::Progress::silent();
    let other = world.path("other");
    let applied =
        agents_sync::sync(&world.places(), &demo(2), &other, Edited::Keep, &progress).unwrap();
    let replaced = format!(
        "the MCP server `demo` replaces what the workspace `{}` registered for all workspaces",
        world.workspace()
    );
    assert_eq!(said(&applied), ["updated", &replaced]);
}

//! `auto-sync`: hosts are brought up to date while they work.

use agents_testkit::scratch;
use serde_json::{Value, json};

use crate::{
    hooks::call,
    world::{Run, World},
};

const SYNCING: &str = "hosts = [\"claude\", \"codex\"]\nhook-scope = \"project\"\n\
                       [defaults]\nsymposium-recommendations = false\n";

/// A plugin with a skill.
fn skilled() -> World {
    let world = World::new();
    world.config(SYNCING);
    add_skill(&world, "queries");
    world
}

fn add_skill(world: &World, name: &str) {
    let manifest =
        format!("name = \"{name}\"\ncrates = [\"serde\"]\n[[skills]]\nsource.path = \"skills\"\n");
    let plugin = world.plugin(name, &manifest);
    let skill = plugin.parent().unwrap().join(format!("skills/{name}/SKILL.md"));
    scratch::write(&skill, format!("---\nname: {name}\ndescription: Use it\n---\nDo.\n"));
}

/// What the model is told by a call.
fn context(run: &Run) -> String {
    let said: Value = serde_json::from_str(&run.stdout).unwrap();
    said["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned()
}

fn start(world: &World) -> Run {
    let input =
        json!({ "hook_event_name": "SessionStart", "source": "startup", "transcript_path": "/t" });
    call(world, "claude", "session-start", &input)
}

#[test]
fn a_session_begins_with_everything_in_place_and_says_what_is_new_once() {
    let world = skilled();
    let skill = world.sample.root().join(".claude/skills/queries/SKILL.md");
    let first = start(&world);
    assert!(skill.exists(), "{first:?}");
    let news = "New in this workspace: the skill `queries` (serde 1.0.200).";
    assert!(context(&first).contains(news), "{first:?}");
    assert_eq!((first.code, first.stderr.as_str()), (Some(0), ""));
    let second = start(&world);
    assert!(!context(&second).contains("New in this workspace"), "{second:?}");
    // During the session, only when what the workspace is made of has changed.
    add_skill(&world, "more");
    let prompt =
        json!({ "hook_event_name": "UserPromptSubmit", "prompt": "hi", "transcript_path": "/t" });
    let ask = || call(&world, "claude", "user-prompt-submit", &prompt);
    assert!(context(&ask()).contains("the skill `more`"));
    assert_eq!(ask().stdout, "{}");
}

#[test]
fn nothing_is_brought_without_the_users_wish_nor_while_somebody_else_is_at_it() {
    let world = skilled();
    let skill = world.sample.root().join(".claude/skills/queries");
    world.config(&format!("auto-sync = false\n{SYNCING}"));
    start(&world);
    assert!(!skill.exists());
    world.config(SYNCING);
    let lock = world.home().join("state/sync.lock");
    std::fs::create_dir_all(lock.parent().unwrap()).unwrap();
    let held = std::fs::File::create(&lock).unwrap();
    held.lock().unwrap();
    let run = start(&world);
    assert!(!skill.exists() && !context(&run).contains("New"), "{run:?}");
    drop(held);
    start(&world);
    assert!(skill.exists());
}

/// Codex lets nobody write to `.agents` and `.codex` from inside its sandbox.
#[test]
fn where_nothing_may_be_written_a_session_begins_in_silence() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = skilled();
    let claude = world.sample.root().join(".claude");
    std::fs::create_dir_all(&claude).unwrap();
    // Root may write anywhere; a file in place of the directory stops it as well.
    scratch::write(&claude.join("skills"), "in the way");
    std::fs::set_permissions(&claude, std::fs::Permissions::from_mode(0o555)).unwrap();
    let run = start(&world);
    std::fs::set_permissions(&claude, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    assert!(!context(&run).contains("queries"), "{run:?}");
}

#[test]
fn a_session_is_told_about_new_agents() {
    let world = World::new();
    world.config(SYNCING);
    let manifest = "name = \"tools\"\ncrates = [\"serde\"]\n[[agents]]\nsource.path = \"agents\"\n";
    let plugin = world.plugin("tools", manifest);
    let file = plugin.parent().unwrap().join("agents/reviewer.md");
    scratch::write(&file, "---\nname: reviewer\ndescription: Reviews\n---\nReview.\n");
    let first = start(&world);
    assert!(world.sample.root().join(".claude/agents/reviewer.md").exists(), "{first:?}");
    let news =
        "New in this workspace: the agent `reviewer` (serde 1.0.200), from the next session on.";
    assert!(context(&first).contains(news), "{first:?}");
    assert!(!context(&start(&world)).contains("New in this workspace"));
}

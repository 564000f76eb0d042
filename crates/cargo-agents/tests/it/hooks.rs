//! `cargo agents hook <host> <event>`, as hosts call it.

use std::{io::Write as _, process::Stdio};

use agents_testkit::scratch;
use camino::Utf8Path;
use serde_json::{Value, json};

use crate::world::{Run, World};

/// Denies every command that publishes.
const GUARD: &str = "#!/bin/sh\ninput=$(cat)\ncase \"$input\" in\n*'cargo publish'*) echo 'CI publishes' >&2; exit 2;;\nesac\n";

pub(crate) fn guarded(gate: &str) -> World {
    let world = World::new();
    guard(&world, gate, "");
    world
}

pub(crate) fn guard(world: &World, gate: &str, more: &str) {
    world.plugin(
        "guard",
        &format!(
            "name = \"guard\"\n{gate}\n[[hooks]]\nname = \"no-publish\"\nevent = \"PreToolUse\"\ncommand = {{ script = \"guard.sh\" }}\n{more}\n"
        ),
    );
    world.plugin_script("guard", "guard.sh", GUARD);
}

/// Calls as a host does.
pub(crate) fn call(world: &World, host: &str, event: &str, input: &Value) -> Run {
    call_in(world, &world.sample.root(), host, event, input.to_string().as_bytes(), &[])
}

pub(crate) fn call_in(
    world: &World,
    dir: &Utf8Path,
    host: &str,
    event: &str,
    input: &[u8],
    env: &[(&str, &str)],
) -> Run {
    let mut command = world.command_in(dir, &["hook", host, event]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.envs(env.iter().copied());
    let mut child = command.spawn().unwrap();
    // A child that does not want to read everything is no failure of the test.
    let _ = child.stdin.take().unwrap().write_all(input);
    Run::from(child.wait_with_output().unwrap())
}

pub(crate) fn bash(command: &str) -> Value {
    json!({
        "hook_event_name": "PreToolUse", "session_id": "s", "transcript_path": "/t",
        "tool_name": "Bash", "tool_input": { "command": command },
    })
}

pub(crate) fn denied(run: &Run) -> bool {
    let said: Value = serde_json::from_str(&run.stdout).unwrap_or_default();
    run.code == Some(2) || said["hookSpecificOutput"]["permissionDecision"] == "deny"
}

#[test]
fn a_plugin_of_a_dependency_denies_and_other_commands_run() {
    let world = guarded("crates = [\"serde\"]");
    let run = call(&world, "claude", "pre-tool-use", &bash("cargo publish"));
    assert!(denied(&run), "{run:?}");
    assert!(format!("{}{}", run.stdout, run.stderr).contains("CI publishes"), "{run:?}");
    let run = call(&world, "claude", "pre-tool-use", &bash("cargo test"));
    assert_eq!((run.code, denied(&run), run.stderr.as_str()), (Some(0), false, ""), "{run:?}");
}

#[test]
fn without_the_dependency_nothing_runs() {
    let world = guarded("crates = [\"diesel\"]");
    let run = call(&world, "claude", "pre-tool-use", &bash("cargo publish"));
    assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (Some(0), "{}", ""));
}

#[test]
fn the_index_notices_every_change() {
    let world = World::new();
    let publish = bash("cargo publish");
    let now = || denied(&call(&world, "claude", "pre-tool-use", &publish));
    assert!(!now());
    guard(&world, "crates = [\"serde\"]", "");
    assert!(now(), "a plugin that is new");
    guard(&world, "crates = [\"diesel\"]", "");
    assert!(!now(), "a gate that was edited");
    guard(&world, "crates = [\"serde\"]", "matcher = \"Edit\"");
    assert!(!now(), "a matcher that was edited");
    guard(&world, "crates = [\"serde\"]", "matcher = \"Bash\"");
    assert!(now());
    let config =
        "[defaults]\nsymposium-recommendations = false\n[plugins]\ndisable = [\"guard\"]\n";
    world.config(config);
    assert!(!now(), "turned off");
    world.config("[defaults]\nsymposium-recommendations = false\n");
    assert!(now(), "turned on again");
    // The dependency goes, first from the manifest alone: nobody has resolved it yet, and what held still does.
    world.sample.package(".", "app", "0.1.0", "[dependencies]\ntiny-sql = \"0.3\"\n");
    assert!(now(), "not resolved yet");
    world.sample.lock();
    assert!(!now(), "the dependency is gone");
}

/// What decides is outside of everything that an index can watch.
#[test]
fn a_condition_is_asked_at_every_call() {
    let world = guarded("crates = [\"serde\"]\npredicates = [\"path_exists(guarded)\"]");
    let publish = bash("cargo publish");
    let now = || denied(&call(&world, "claude", "pre-tool-use", &publish));
    assert!(!now());
    let flag = scratch::write(&world.sample.root().join("guarded"), "");
    assert!(now());
    std::fs::remove_file(flag).unwrap();
    assert!(!now());
}

#[test]
fn a_hook_for_one_host_runs_in_that_one_only() {
    let world = World::new();
    guard(&world, "crates = [\"serde\"]", "agent = \"codex\"");
    assert!(!denied(&call(&world, "claude", "pre-tool-use", &bash("cargo publish"))));
    assert!(denied(&call(&world, "codex", "pre-tool-use", &bash("cargo publish"))));
}

/// A workspace without a lock file, or whose manifest nobody can read, is no way around a guard that is for all.
#[test]
fn a_guard_for_every_workspace_does_not_wait_for_cargo() {
    let world = guarded("crates = [\"*\"]");
    let publish = bash("cargo publish");
    for manifest in
        ["[package]\nname = \"new\"\nversion = \"0.1.0\"\nedition = \"2021\"\n", "[package\n"]
    {
        let dir = world.sample.scratch().path("tree/fresh");
        scratch::write(&dir.join("Cargo.toml"), manifest);
        scratch::write(&dir.join("src/lib.rs"), "");
        let sent = publish.to_string();
        let run = call_in(&world, &dir, "claude", "pre-tool-use", sent.as_bytes(), &[]);
        assert!(denied(&run), "{manifest}: {run:?}");
        assert!(!dir.join("Cargo.lock").exists());
    }
}

/// A workspace may only have been cloned.
#[test]
fn hooks_of_the_workspace_itself_need_the_users_word() {
    let world = World::new();
    let root = world.sample.root();
    let manifest = "[[hooks]]\nname = \"no-publish\"\nevent = \"PreToolUse\"\ncommand = { script = \"guard.sh\" }\n";
    scratch::write(&root.join("SYMPOSIUM.toml"), format!("name = \"app-guard\"\n{manifest}"));
    world.sample.scratch().script(root.join("guard.sh"), GUARD);
    let publish = bash("cargo publish");
    assert!(!denied(&call(&world, "claude", "pre-tool-use", &publish)));
    world.config(
        "[defaults]\nsymposium-recommendations = false\n[plugins]\nuse = [\"app-guard\"]\n",
    );
    assert!(denied(&call(&world, "claude", "pre-tool-use", &publish)));
}

#[test]
fn the_payload_says_where_the_call_is_about() {
    let world = guarded("crates = [\"serde\"]");
    let mut input = bash("cargo publish");
    input["cwd"] = json!(world.sample.root());
    let outside = world.outside();
    let run =
        call_in(&world, &outside, "claude", "pre-tool-use", input.to_string().as_bytes(), &[]);
    assert!(denied(&run), "{run:?}");
    input["cwd"] = json!(outside);
    let inside = world.sample.root();
    let run = call_in(&world, &inside, "claude", "pre-tool-use", input.to_string().as_bytes(), &[]);
    assert!(!denied(&run), "{run:?}");
}

/// Seen in Copilot CLI 1.0.102: it runs the hooks of the project's `.claude/settings.json` beside its own.
#[test]
fn what_copilot_runs_of_claudes_hooks_keeps_quiet() {
    let world = guarded("crates = [\"serde\"]");
    let copilots = json!({
        "hook_event_name": "PreToolUse", "session_id": "s", "timestamp": "2026-11-15T23:27:28.352Z",
        "tool_name": "Bash", "tool_input": { "command": "cargo publish" },
    });
    let root = world.sample.root();
    let copilot = [("COPILOT_CLI", "1")];
    let input = copilots.to_string();
    let run = call_in(&world, &root, "claude", "pre-tool-use", input.as_bytes(), &copilot);
    assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (Some(0), "", ""));
    // Of some events it says where its transcript is, as Claude Code always does, and the model may speak of anything.
    for (event, more) in [
        (
            "stop",
            json!({ "transcript_path": "/h/.copilot/s/events.jsonl", "stop_reason": "end_turn" }),
        ),
        ("pre-tool-use", json!({ "tool_input": { "command": "echo '\"transcript_path\"'" } })),
    ] {
        let mut input = copilots.clone();
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let input = input.to_string();
        let run = call_in(&world, &root, "claude", event, input.as_bytes(), &copilot);
        assert_eq!(
            (run.code, run.stdout.as_str(), run.stderr.as_str()),
            (Some(0), "", ""),
            "{event}"
        );
    }
    // Claude Code that was started from within Copilot CLI is still Claude Code.
    let input = bash("cargo publish").to_string();
    let run = call_in(&world, &root, "claude", "pre-tool-use", input.as_bytes(), &copilot);
    assert!(denied(&run), "{run:?}");
}

const GARBAGE: [&str; 6] = ["", "{", "[]", "nonsense", "{\"tool_name\": 1}", "\u{0}"];

/// Otherwise a model could have a tool called in a way that its guards do not understand.
#[test]
fn what_cannot_be_read_does_not_get_past_a_guard() {
    let world = guarded("crates = [\"serde\"]");
    let root = world.sample.root();
    for garbage in GARBAGE {
        let run = call_in(&world, &root, "claude", "pre-tool-use", garbage.as_bytes(), &[]);
        assert!(denied(&run), "{garbage:?}: {run:?}");
        assert!(run.stdout.contains("cannot tell what this call is about"), "{run:?}");
        // Nobody guards these.
        for (host, event) in [("claude", "permission-request"), ("claude", "post-tool-use")] {
            let run = call_in(&world, &root, host, event, garbage.as_bytes(), &[]);
            assert_eq!((run.code, run.stdout.as_str()), (Some(0), "{}"), "{garbage:?}: {run:?}");
        }
    }
    guard(&world, "crates = [\"serde\"]", "agent = \"codex\"");
    let run = call_in(&world, &root, "claude", "pre-tool-use", b"{", &[]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "{}"), "{run:?}");
}

/// Exit code 2 is a denial to most hosts.
#[test]
fn nothing_that_goes_wrong_looks_like_a_denial() {
    let world = guarded("crates = [\"diesel\"]");
    let root = world.sample.root();
    for garbage in GARBAGE {
        let run = call_in(&world, &root, "claude", "pre-tool-use", garbage.as_bytes(), &[]);
        assert_eq!((run.code, run.stdout.as_str()), (Some(0), "{}"), "{garbage:?}: {run:?}");
    }
    world.config("hosts = [");
    let run = call(&world, "claude", "pre-tool-use", &bash("cargo test"));
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "{}"), "{run:?}");
    assert!(run.stderr.contains("configuration"), "{run:?}");
    for words in [["nobody", "pre-tool-use"], ["claude", "nonsense"]] {
        let run = world.agents(&["hook", words[0], words[1]]);
        assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{run:?}");
    }
    assert_eq!(world.agents(&["hook"]).code, Some(1));
}

#[test]
fn a_guard_still_guards_while_the_configuration_is_broken() {
    let world = guarded("crates = [\"serde\"]");
    assert!(denied(&call(&world, "claude", "pre-tool-use", &bash("cargo publish"))));
    world.config("hosts = [");
    assert!(denied(&call(&world, "claude", "pre-tool-use", &bash("cargo publish"))));
}

#[test]
fn a_session_is_told_what_there_is_to_discover() {
    let world = World::new();
    let start =
        json!({ "hook_event_name": "SessionStart", "source": "startup", "transcript_path": "/t" });
    let run = call(&world, "claude", "session-start", &start);
    let said: Value = serde_json::from_str(&run.stdout).unwrap();
    let context = said["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    assert!(context.contains("Run `cargo agents --help`"), "{context}");
    assert!(context.contains("'Commands for agents'"), "{context}");
    let outside = world.outside();
    let input = start.to_string();
    let run = call_in(&world, &outside, "claude", "session-start", input.as_bytes(), &[]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "{}"));
}

#[test]
fn a_missing_program_is_said_and_stops_nobody() {
    let world = World::new();
    world.plugin(
        "guard",
        "name = \"guard\"\ncrates = [\"serde\"]\n[[hooks]]\nname = \"h\"\nevent = \"PreToolUse\"\ncommand = { source = \"cargo\", crate = \"no-such-crate-here\" }\n",
    );
    let run = call(&world, "claude", "pre-tool-use", &bash("ls"));
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "{}"), "{run:?}");
    assert!(run.stderr.contains("not installed"), "{run:?}");
}

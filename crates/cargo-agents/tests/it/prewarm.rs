//! The programs of hooks are brought up to date when a session begins, by a process that nobody waits for.

use std::time::{Duration, Instant};

use camino::Utf8PathBuf;
use serde_json::{Value, json};

use crate::{
    hooks::{bash, call, call_in},
    world::{Run, World},
};

const CONFIG: &str = "hosts = [\"claude\"]\nhook-scope = \"project\"\n[defaults]\nsymposium-recommendations = false\n";

/// A plugin whose hook is the vendored program `tool`, which tells its version.
fn world() -> World {
    let world = World::new();
    world.config(CONFIG);
    publish(&world, "1.0.0");
    world.plugin("p", "name = \"p\"\ncrates = [\"serde\"]\n[[hooks]]\nname = \"tell\"\nevent = \"PreToolUse\"\ncommand = { source = \"cargo\", crate = \"tool\" }\n");
    world
}

fn publish(world: &World, version: &str) {
    let context =
        format!("{{\\\"PreToolUse\\\":{{\\\"additionalContext\\\":\\\"v{version}\\\"}}}}");
    world.sample.vendor().program("tool", version, &format!("println!(\"{{}}\", \"{context}\");"));
}

fn start(world: &World, env: &[(&str, &str)]) -> Run {
    let input =
        json!({ "hook_event_name": "SessionStart", "source": "startup", "transcript_path": "/t" });
    let input = input.to_string();
    call_in(world, &world.sample.root(), "claude", "session-start", input.as_bytes(), env)
}

/// What is written down about the only program.
fn state_file(world: &World) -> Option<Utf8PathBuf> {
    let slots = world.home().join("cache/installations").read_dir_utf8().ok()?;
    slots.flatten().map(|slot| slot.path().join("current.json")).find(|file| file.exists())
}

fn state(world: &World) -> Value {
    serde_json::from_slice(&std::fs::read(state_file(world).unwrap()).unwrap()).unwrap()
}

/// As if nobody had looked for a long time.
fn age(world: &World) {
    let mut state = state(world);
    state["checked"] = json!(1);
    std::fs::write(state_file(world).unwrap(), state.to_string()).unwrap();
}

fn told(world: &World) -> String {
    let run = call(world, "claude", "pre-tool-use", &bash("true"));
    let said: Value = serde_json::from_str(&run.stdout).unwrap();
    said["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn an_installed_program_is_newer_some_time_after_the_session_began() {
    let world = world();
    world.ok(&["sync"]);
    assert!(told(&world).ends_with("v1.0.0"), "{}", told(&world));
    publish(&world, "1.1.0");
    age(&world);
    let run = start(&world, &[]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    let since = Instant::now();
    while state(&world)["current"]["version"] != "1.1.0" {
        assert!(since.elapsed() < Duration::from_secs(300), "it never came: {}", state(&world));
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(told(&world).ends_with("v1.1.0"), "{}", told(&world));
}

/// The process that does the work, run to its end.
fn prewarm(world: &World, env: &[(&str, &str)]) {
    let mut command = world.command(&["__prewarm"]);
    let run = Run::from(command.envs(env.iter().copied()).output().unwrap());
    assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (Some(0), "", ""));
}

#[test]
fn nothing_is_installed_that_is_not_there() {
    let world = world();
    prewarm(&world, &[]);
    assert_eq!(state_file(&world), None);
}

#[test]
fn nothing_is_looked_for_offline_nor_if_the_user_does_not_want_it_nor_twice_a_day() {
    let world = world();
    world.ok(&["sync"]);
    publish(&world, "1.1.0");
    prewarm(&world, &[]);
    assert_eq!(state(&world)["current"]["version"], "1.0.0", "it has just been installed");
    age(&world);
    prewarm(&world, &[("CARGO_NET_OFFLINE", "true")]);
    world.config(&format!("auto-sync = false\n{CONFIG}"));
    prewarm(&world, &[]);
    assert_eq!(state(&world)["checked"], 1);
    world.config(CONFIG);
    prewarm(&world, &[]);
    assert_eq!(state(&world)["current"]["version"], "1.1.0");
}

//! Hooks that have nothing to do, too much to do, or to do with somebody hostile.

use std::process::Stdio;

use serde_json::Value;

use crate::{
    hooks::{bash, call, call_in, denied, guarded},
    world::{Run, World},
};

/// A host waits for every one of them, before every tool call. Times would depend on the machine; this does not.
#[test]
fn with_nothing_to_do_few_system_calls_are_made_and_nothing_is_started() {
    if std::process::Command::new("strace").arg("-V").output().is_err() {
        eprintln!("there is no `strace` to count with");
        return;
    }
    let world = World::new();
    for at in 0..300 {
        let manifest = format!("name = \"plugin-{at}\"\ncrates = [\"serde\"]\n");
        world.plugin(&format!("plugin-{at}"), &manifest);
    }
    let inside = world.sample.root();
    for dir in [inside, world.outside()] {
        let plain = world.command_in(&dir, &["hook", "claude", "pre-tool-use"]);
        assert!(Run::from(command(&plain, &[]).output().unwrap()).stdout == "{}");
        let log = world.sample.scratch().path("calls");
        let traced = command(&plain, &["strace", "-f", "-o", log.as_str()]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&traced.stdout), "{}", "{traced:?}");
        let calls = std::fs::read_to_string(log).unwrap();
        assert!(calls.lines().count() > 50, "{calls}");
        assert!(calls.lines().count() <= 300, "{}:\n{calls}", calls.lines().count());
        let started = ["clone", "fork", "socket("].map(|word| calls.matches(word).count());
        assert_eq!(started, [0, 0, 0], "{calls}");
        assert_eq!(calls.matches("execve(").count(), 1, "{calls}");
    }
}

/// The same command, run by another one.
fn command(plain: &std::process::Command, by: &[&str]) -> std::process::Command {
    let mut words = by.iter().map(|word| (*word).into()).chain([plain.get_program().to_owned()]);
    let mut command = std::process::Command::new(words.next().unwrap());
    command.args(words).args(plain.get_args()).current_dir(plain.get_current_dir().unwrap());
    for (name, value) in plain.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.stdin(Stdio::null());
    command
}

/// Hosts give up after thirty seconds and then do as they like.
#[test]
fn hostile_handlers_end_with_the_deadline_and_the_others_count() {
    let world = guarded("crates = [\"serde\"]");
    let hostile = [
        ("sleeps", "sleep 600"),
        ("ignores", "trap '' TERM; while :; do sleep 600; done"),
        ("floods", "while :; do echo yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy; done"),
        ("forks", "(sleep 600 &) ; (sleep 600 &); exit 1"),
        ("garbles", "printf '\\377\\376'"),
        ("dies", "kill -SEGV $$"),
    ];
    let mut manifest = "name = \"hostile\"\ncrates = [\"serde\"]\n".to_owned();
    for (name, body) in hostile {
        manifest += &format!(
            "[[hooks]]\nname = \"{name}\"\nevent = \"PreToolUse\"\ncommand = {{ script = \"{name}.sh\" }}\n"
        );
        world.plugin_script("hostile", &format!("{name}.sh"), &format!("#!/bin/sh\n{body}\n"));
    }
    world.plugin("hostile", &manifest);
    let root = world.sample.root();
    let sent = bash("cargo publish").to_string();
    let env = [("CARGO_AGENTS_HOOK_DEADLINE", "1.5")];
    let started = std::time::Instant::now();
    let run = call_in(&world, &root, "claude", "pre-tool-use", sent.as_bytes(), &env);
    assert!(denied(&run), "{run:?}");
    let said: Value = serde_json::from_str(&run.stdout).unwrap();
    let reason = said["hookSpecificOutput"]["permissionDecisionReason"].as_str();
    assert_eq!(reason, Some("[guard] CI publishes"));
    // Not a measurement: without the deadline it would be ten minutes.
    assert!(started.elapsed().as_secs() < 300);
}

/// While many hosts call and a sync runs, every answer is right and no index is torn.
#[test]
fn two_hundred_calls_at_once_during_a_sync_are_all_answered_right() {
    let world = guarded("crates = [\"serde\"]");
    let config = "hosts = [\"claude\", \"codex\"]\nhook-scope = \"project\"\n\
                  [defaults]\nsymposium-recommendations = false\n";
    world.config(config);
    std::thread::scope(|scope| {
        let sync = scope.spawn(|| {
            for round in 0..5 {
                // The index is stale again and again.
                world.plugin(
                    &format!("more-{round}"),
                    &format!("name = \"more-{round}\"\ncrates = [\"serde\"]\n"),
                );
                world.ok(&["sync"]);
            }
        });
        let callers: Vec<_> = (0..200)
            .map(|at| {
                let world = &world;
                scope.spawn(move || {
                    let command = if at % 2 == 0 { "cargo publish" } else { "cargo test" };
                    let run = call(world, "claude", "pre-tool-use", &bash(command));
                    assert_eq!(denied(&run), at % 2 == 0, "{at}: {run:?}");
                    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{at}: {run:?}");
                })
            })
            .collect();
        for caller in callers {
            caller.join().unwrap();
        }
        sync.join().unwrap();
    });
}

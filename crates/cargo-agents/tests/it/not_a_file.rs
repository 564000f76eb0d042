//! One of our own files is a pipe that nobody writes to: it is named, and nobody waits for it.

use agents_testkit::scratch;
use camino::Utf8Path;

use crate::{
    trust::Trusting,
    world::{Run, World},
};

/// Far longer than any command takes, and short enough to see that one waits.
const DEADLINE: &str = "60";

fn pipe(path: &Utf8Path) {
    let _ = std::fs::remove_file(path);
    scratch::run(std::process::Command::new("mkfifo").arg(path.as_std_path()));
}

/// A run that is ended where it waits.
fn run(world: &World, args: &[&str]) -> Run {
    let command = world.command(args);
    let mut bounded = std::process::Command::new("timeout");
    bounded.args(["--signal=KILL", DEADLINE]).arg(command.get_program()).args(args);
    bounded.current_dir(world.sample.root()).stdin(std::process::Stdio::null());
    for (key, value) in command.get_envs() {
        match value {
            Some(value) => bounded.env(key, value),
            None => bounded.env_remove(key),
        };
    }
    Run::from(bounded.output().unwrap())
}

fn check(world: &World, file: &Utf8Path, commands: &[&[&str]]) {
    pipe(file);
    for args in commands {
        let run = run(world, args);
        assert!(run.code.is_some(), "{args:?} waits for `{file}`: {run:?}");
        let said = format!("{}{}", run.stdout, run.stderr);
        assert!(said.contains("is a pipe, socket or device, not a file"), "{args:?}: {run:?}");
        // A hook must not stop its host.
        assert!(run.code != Some(0) || args[0] == "hook", "{args:?}: {run:?}");
    }
    std::fs::remove_file(file).unwrap();
}

const SESSION: &[&str] = &["hook", "claude", "session-start"];

#[test]
fn our_own_files_are_not_waited_for() {
    let it = Trusting::new();
    it.ok(&["sync"]);
    let world = &it.world;
    let config = std::fs::read(world.home().join("config.toml")).unwrap();
    let commands: &[&[&str]] =
        &[&["status"], &["sync"], &["doctor"], &["config", "show"], &["use", "x"]];
    check(world, &world.home().join("config.toml"), commands);
    std::fs::write(world.home().join("config.toml"), config).unwrap();
    let commands: &[&[&str]] = &[&["status"], &["sync"], &["agent", "list"], &["init", "--yes"]];
    check(world, &world.home().join("hosts.toml"), commands);
    let commands: &[&[&str]] = &[&["status"], &["sync"], &["audit"], &["doctor"]];
    check(world, &it.path("agents.lock"), commands);
    check(world, &it.path("agents-audits.toml"), &[&["audit"]]);
    let ledger = world.home().join("state/ledger.json");
    assert!(ledger.is_file());
    check(world, &ledger, &[&["status"], &["sync"], &["uninstall"]]);
}

#[test]
fn a_hook_does_not_wait_for_our_own_files() {
    let it = Trusting::new();
    it.ok(&["sync"]);
    for file in ["hosts.toml", "state/ledger.json", "config.toml"] {
        pipe(&it.world.home().join(file));
        let run = run(&it.world, SESSION);
        assert!(run.code.is_some(), "it waits for `{file}`: {run:?}");
    }
}

#[test]
fn the_manifest_of_a_dependency_is_a_finding_and_not_waited_for() {
    let it = Trusting::new();
    it.ok(&["sync"]);
    let manifest = it.world.sample.vendor().dir().join("tiny-sql-0.3.1/SYMPOSIUM.toml");
    pipe(&manifest);
    for args in [&["status"], &["sync"], &["audit"], &["diff"]] {
        let run = run(&it.world, args);
        assert!(run.code.is_some(), "{args:?} waits: {run:?}");
    }
    let run = run(&it.world, &["status"]);
    let said = format!("{}{}", run.stdout, run.stderr);
    assert!(said.contains("is a pipe, socket or device, not a file"), "{run:?}");
}

#[test]
fn a_prompt_that_never_ends_is_an_error() {
    let world = World::new();
    let new = ["agent", "new", "x", "--description", "d", "--dry-run", "--prompt-file"];
    let run = run(&world, &[&new[..], &["/dev/zero"]].concat());
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.stderr.contains("no prompt: `/dev/zero` is longer than 16777216 bytes"), "{run:?}");
}

/// What ends `sync` when this file holds each of these, one after the other.
fn codes(world: &World, file: &Utf8Path) -> Vec<Option<i32>> {
    let broken: [fn(&Utf8Path); 6] = [
        |file| std::fs::write(file, "= [").unwrap(),
        |file| std::fs::write(file, b"\xff\xfe\0").unwrap(),
        |file| std::fs::create_dir(file).unwrap(),
        |file| pipe(file),
        |file| std::os::unix::fs::symlink(file, file).unwrap(),
        |file| std::os::unix::fs::symlink("nowhere", file).unwrap(),
    ];
    let sync = |make: fn(&Utf8Path)| {
        let _ = std::fs::remove_file(file);
        let _ = std::fs::remove_dir(file);
        make(file);
        run(world, &["sync"]).code
    };
    broken.into_iter().map(sync).collect()
}

#[test]
fn whatever_is_wrong_with_a_file_the_exit_code_is_the_same() {
    let it = Trusting::new();
    it.ok(&["sync"]);
    let world = &it.world;
    assert_eq!(codes(world, &it.path("agents.lock"))[..4], [Some(2); 4]);
    std::fs::remove_file(it.path("agents.lock")).unwrap();
    for content in [&b""[..], b"\xff\xfe\0"] {
        std::fs::write(it.path("Cargo.toml"), content).unwrap();
        let run = run(world, &["sync"]);
        assert_eq!(run.code, Some(2), "{run:?}");
        assert!(run.stderr.contains("E0021"), "{run:?}");
    }
    assert_eq!(codes(world, &world.home().join("config.toml")), [Some(2); 6]);
}

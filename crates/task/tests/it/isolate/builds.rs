//! Several tasks that build the same workspace.

use std::{
    collections::BTreeSet,
    process::Output,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use agents_task::{
    TaskId,
    isolate::{Carry, Claim, Manner, SlotError, What, Worktree, Worktrees},
};
use camino::Utf8Path;
use tokio_util::sync::CancellationToken;

use super::{User, worktrees};
use crate::block_on;

/// A workspace with a library, a program that uses it, and a test.
fn workspace() -> User {
    let user = User::new();
    user.repo
        .write("Cargo.toml", "[workspace]\nmembers = [\"lib\", \"bin\"]\nresolver = \"3\"\n")
        .write("lib/Cargo.toml", "[package]\nname = \"answer\"\nedition = \"2024\"\n")
        .write("lib/src/lib.rs", "pub fn answer() -> u32 { 0 }\n")
        .write("bin/Cargo.toml", "[package]\nname = \"tell\"\nedition = \"2024\"\n[dependencies]\nanswer = { path = \"../lib\" }\n")
        .write("bin/src/main.rs", "fn main() { println!(\"{}\", answer::answer()); }\n#[test]\nfn t() { println!(\"tested {}\", answer::answer()); }\n")
        .commit("workspace");
    user
}

fn with_slot(user: &User, worktrees: &Worktrees) -> Worktree {
    let repository = user.repository();
    let mut worktree =
        worktrees.create(&repository, TaskId::new(), "build", Carry::Committed).unwrap();
    let slot = block_on(worktrees.slot(&repository, Claim::Own, &CancellationToken::new(), |_| {}))
        .unwrap();
    worktree.hold(slot);
    worktree
}

fn cargo(worktree: &Worktree, args: &[&str]) -> String {
    String::from_utf8(run_cargo(worktree, args).stdout).unwrap()
}

fn run_cargo(worktree: &Worktree, args: &[&str]) -> Output {
    #[expect(clippy::disallowed_methods, reason = "a test")]
    let mut cargo = std::process::Command::new("cargo");
    // What cargo tells the tests is not for this one.
    for name in ["CARGO_TARGET_DIR", "RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "RUSTC_WRAPPER"] {
        cargo.env_remove(name);
    }
    cargo.envs(worktree.variables()).current_dir(worktree.cwd()).args(args);
    cargo.env("CARGO_NET_OFFLINE", "true");
    let output = agents_testkit::scratch::run(&mut cargo);
    let waited =
        String::from_utf8_lossy(&output.stderr).contains("Blocking waiting for file lock on build");
    assert!(!waited, "cargo waited for another task");
    output
}

/// What an agent does that makes the answer `number`.
fn work(worktree: &Worktree, number: usize) -> (String, bool) {
    let library = format!("pub fn answer() -> u32 {{ {number} }}\n");
    fs_err::write(worktree.root().join("lib/src/lib.rs"), library).unwrap();
    cargo(worktree, &["build", "--quiet"]);
    let told = cargo(worktree, &["run", "--quiet"]);
    let tested = cargo(worktree, &["test", "--quiet", "--", "--nocapture"]);
    (told.trim().to_owned(), tested.contains(&format!("tested {number}")))
}

#[test]
fn four_at_once_are_as_good_as_one_after_the_other() {
    let user = workspace();
    let expected: Vec<(String, bool)> = (1..=4).map(|it| (it.to_string(), true)).collect();
    let dirs = std::sync::Mutex::new(BTreeSet::new());
    let parallel: Vec<(String, bool)> = std::thread::scope(|scope| {
        let tasks: Vec<_> = (1..=4)
            .map(|number| {
                let (user, dirs) = (&user, &dirs);
                scope.spawn(move || {
                    let mut worktree = with_slot(user, &user.worktrees);
                    dirs.lock().unwrap().insert(worktree.variables());
                    let done = work(&worktree, number);
                    let changes = worktree.collect().unwrap();
                    worktree.remove().unwrap();
                    let library =
                        user.repo.git(&["show", &format!("{}:lib/src/lib.rs", changes.branch)]);
                    assert!(library.contains(&format!("{{ {number} }}")));
                    done
                })
            })
            .collect();
        tasks.into_iter().map(|it| it.join().unwrap()).collect()
    });
    assert_eq!(parallel, expected);
    assert_eq!(dirs.lock().unwrap().len(), 4);

    // One slot after the other: every task gets what the one before it used.
    let one = worktrees(user.scratch.root(), 1);
    // All sources are older than anything that is built: by its clock, cargo would take what is there for fresh.
    let repository = user.repository();
    let made: Vec<Worktree> = (1..=4)
        .map(|number| {
            let worktree =
                one.create(&repository, TaskId::new(), "late", Carry::Committed).unwrap();
            let library = format!("pub fn answer() -> u32 {{ {number} }}\n");
            fs_err::write(worktree.root().join("lib/src/lib.rs"), library).unwrap();
            worktree
        })
        .collect();
    for (number, mut worktree) in (1..).zip(made) {
        let slot =
            block_on(one.slot(&repository, Claim::Own, &CancellationToken::new(), |_| {})).unwrap();
        worktree.hold(slot);
        assert_eq!(cargo(&worktree, &["run", "--quiet"]).trim(), format!("{number}"));
    }
}

#[test]
fn dependencies_of_a_registry_stay_built_and_the_workspace_does_not() {
    let user = workspace();
    // One that the tests are built with, so it is in cargo's home.
    user.repo
        .write(
            "lib/Cargo.toml",
            "[package]\nname = \"answer\"\nedition = \"2024\"\n[dependencies]\nitoa = \"1\"\n",
        )
        .commit("a dependency");
    let debug = |worktree: &Worktree| Utf8Path::new(&worktree.variables()[0].1).join("debug");
    let built = |worktree: &Worktree| {
        let said = run_cargo(worktree, &["build", "--verbose"]).stderr;
        let said = String::from_utf8(said).unwrap();
        let mut lines: Vec<String> = said
            .lines()
            .map(str::trim)
            .filter(|it| it.starts_with("Fresh") || it.starts_with("Compiling"))
            .map(|it| it.split(' ').take(2).collect::<Vec<_>>().join(" "))
            .collect();
        lines.sort();
        lines
    };
    let first = with_slot(&user, &user.worktrees);
    assert_eq!(built(&first), ["Compiling answer", "Compiling itoa", "Compiling tell"]);
    let dir = debug(&first);
    drop(first);
    let second = with_slot(&user, &user.worktrees);
    assert_eq!(debug(&second), dir);
    assert!(!dir.join("tell").exists());
    assert_eq!(built(&second), ["Compiling answer", "Compiling tell", "Fresh itoa"]);
}

#[test]
fn who_waits_is_told_gets_the_next_one_and_can_give_up() {
    let user = User::new();
    let one = worktrees(user.scratch.root(), 1);
    let repository = user.repository();
    let cancel = CancellationToken::new();
    let held = block_on(one.slot(&repository, Claim::Own, &cancel, |_| {})).unwrap();
    let told = AtomicUsize::new(0);
    let refused = block_on(one.slot(&repository, Claim::Own, &cancel, |waiting| {
        assert_eq!(waiting.slots, 1);
        if told.fetch_add(1, Ordering::Relaxed) == 2 {
            cancel.cancel();
        }
    }));
    assert!(matches!(refused, Err(SlotError::Cancelled)));
    // Whoever is waited for by somebody who has a slot does not wait.
    let cancel = CancellationToken::new();
    let child = block_on(one.slot(&repository, Claim::OfHolder, &cancel, |_| panic!("waits")));
    assert_ne!(child.unwrap().dir(), held.dir());
    // Somebody else's repository waits for the same machine.
    let held = std::cell::Cell::new(Some(held));
    let other = User::new();
    let got =
        block_on(one.slot(&other.repository(), Claim::Own, &CancellationToken::new(), |_| {
            drop(held.take());
        }));
    assert!(held.take().is_none());
    let dir = got.unwrap().dir().to_owned();
    // Until nobody uses them for long.
    assert!(one.gc(Duration::ZERO, Manner::Do).is_empty() && dir.exists());
    let settings = agents_task::isolate::IsolationSettings {
        keep_builds: Duration::ZERO,
        ..agents_task::isolate::IsolationSettings::default()
    };
    let impatient = Worktrees::new(&user.home(), &user.scratch.path("builds"), settings);
    let used =
        block_on(one.slot(&repository, Claim::Own, &CancellationToken::new(), |_| {})).unwrap();
    // All of that number is held, whoever it is for.
    assert_eq!(impatient.gc(Duration::ZERO, Manner::Do).len(), 1);
    assert!(used.dir().exists() && dir.exists());
    drop(used);
    let freed = impatient.gc(Duration::ZERO, Manner::Do);
    assert_eq!(freed.len(), 2);
    assert!(freed.iter().all(|it| it.what == What::Freed && !it.path.exists()));
}

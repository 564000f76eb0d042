//! An agent in its worktree and in the sandbox: what it can do, and what it cannot.

use std::{sync::Arc, time::Duration};

use agents_system::sandbox::{Availability, available};
use agents_task::isolate::{Carry, Claim, Worktree};
use agents_tool::{
    Area, CallContext, Confinement, Tool as _, artifacts::ArtifactDir, context::Sandbox,
    tools::Bash,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{User, listed};
use crate::{block_on, keeper};

/// Runs a command as the agent of this worktree would.
fn bash(user: &User, worktree: &Worktree, command: &str) -> (bool, String) {
    let area = Area::workspace(&worktree.root()).unwrap();
    let artifacts = Arc::new(ArtifactDir::new(&user.scratch.path("artifacts")));
    let mut context = CallContext::new(area, artifacts, Duration::from_secs(120));
    context.confinement = Confinement::Sandbox(Sandbox {
        read: worktree.git_dirs().to_vec(),
        write: worktree.build_dir().map(ToOwned::to_owned).into_iter().collect(),
        ..Sandbox::default()
    });
    // Git ends if there is a configuration of the user's that it may not read.
    let no_config = ("GIT_CONFIG_GLOBAL".to_owned(), "/dev/null".to_owned());
    let variables = worktree.variables().into_iter().chain([no_config]);
    context.secrets = variables.map(|(name, value)| (name, value.into())).collect();
    let done = block_on(Bash::new(keeper()).call(json!({ "command": command }), &context)).unwrap();
    (!done.failed, done.text)
}

#[test]
fn it_builds_and_looks_and_what_it_leaves_is_committed_for_it() {
    if matches!(available(), Availability::Unavailable(_)) {
        return;
    }
    let user = User::new();
    user.repo
        .write("Cargo.toml", "[package]\nname = \"x\"\nedition = \"2024\"\n")
        .write("src/main.rs", "fn main() { println!(\"before\"); }\n")
        .commit("a crate");
    let mut worktree = user.worktree(Carry::Committed);
    let repository = user.repository();
    let slot =
        block_on(user.worktrees.slot(&repository, Claim::Own, &CancellationToken::new(), |_| {}));
    worktree.hold(slot.unwrap());
    let before = user.seen();
    let config = fs_err::read(user.repo.dir().join(".git/config")).unwrap();

    let (fine, text) =
        bash(&user, &worktree, "sed -i s/before/after/ src/main.rs && cargo run --quiet --offline");
    assert!(fine && text.contains("after"), "{text}");
    let (fine, text) =
        bash(&user, &worktree, "git status --porcelain && git diff && git log --oneline");
    assert!(fine && text.contains("M src/main.rs") && text.contains("a crate"), "{text}");

    let own = user.repo.dir();
    for forbidden in [
        "git commit -am x".to_owned(),
        "git config core.fsmonitor /bin/true".to_owned(),
        "git stash".to_owned(),
        format!("echo x > {own}/a.txt"),
        format!("echo x > {own}/.git/hooks/pre-commit"),
        format!("touch {}/trees/x", user.home()),
        format!("cat {own}/a.txt"),
    ] {
        let (fine, text) = bash(&user, &worktree, &forbidden);
        assert!(!fine, "{forbidden}: {text}");
    }
    assert_eq!(user.seen(), before);
    assert_eq!(fs_err::read(own.join(".git/config")).unwrap(), config);
    let changes = worktree.collect().unwrap();
    assert_eq!(listed(&changes), ["A Cargo.lock", "M src/main.rs"]);
    worktree.remove().unwrap();
}

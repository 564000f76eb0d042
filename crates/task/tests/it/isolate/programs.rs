//! Programs that the configuration of a repository names. None of them runs.

use std::time::Duration;

use agents_task::isolate::{Applied, Carry, Manner};

use super::{User, git_in, listed, with_line};

const HOOKS: &[&str] = &[
    "post-checkout",
    "pre-commit",
    "post-commit",
    "commit-msg",
    "prepare-commit-msg",
    "post-index-change",
    "reference-transaction",
    "post-merge",
    "pre-auto-gc",
];

/// A program that tells that it ran.
fn tell_tale(user: &User, name: &str) -> String {
    let trace = user.scratch.path("ran");
    user.scratch.script(format!("evil/{name}"), &format!("echo {name} >> {trace}; cat")).to_string()
}

/// Whether one ran; git itself would have.
fn ran(user: &User) -> String {
    fs_err::read_to_string(user.scratch.path("ran")).unwrap_or_default()
}

/// All that can happen to a worktree.
fn life(user: &User) {
    let mut worktree = user.worktree(Carry::Everything);
    fs_err::write(worktree.root().join("new.txt"), "x").unwrap();
    fs_err::write(worktree.root().join("b.txt"), "by the agent\n").unwrap();
    let changes = worktree.collect().unwrap();
    assert_eq!(listed(&changes), ["M b.txt", "A new.txt"]);
    assert!(matches!(worktree.apply().unwrap(), Applied::Clean { .. }));
    worktree.remove().unwrap();
    fs_err::write(user.worktree(Carry::Everything).root().join("left.txt"), "x").unwrap();
    user.worktrees.gc(Duration::ZERO, Manner::Do);
}

#[test]
fn hooks() {
    let user = User::new();
    for hook in HOOKS {
        let program = tell_tale(&user, hook);
        let at = user.repo.dir().join(".git/hooks").join(hook);
        fs_err::create_dir_all(at.parent().unwrap()).unwrap();
        fs_err::os::unix::fs::symlink(program, at).unwrap();
    }
    user.repo.write("sub/c.txt", "dirty\n");
    life(&user);
    assert_eq!(ran(&user), "");
    // They would have run.
    git_in(user.repo.dir(), &["commit", "--quiet", "-am", "x"]);
    assert!(ran(&user).contains("pre-commit"));
}

#[test]
fn programs_of_the_configuration() {
    let user = User::new();
    user.repo
        .write(".gitattributes", "*.txt filter=evil merge=evil diff=evil\n")
        .commit("attributes");
    for key in [
        "core.fsmonitor",
        "core.sshCommand",
        "core.editor",
        "core.pager",
        "core.askPass",
        "filter.evil.clean",
        "filter.evil.smudge",
        "merge.evil.driver",
        "diff.evil.textconv",
        "diff.evil.command",
        "diff.external",
        "credential.helper",
        "gpg.program",
        "core.alternateRefsCommand",
    ] {
        user.repo.git(&["config", key, &tell_tale(&user, key)]);
    }
    for (key, value) in [
        ("filter.evil.required", "true"),
        ("commit.gpgSign", "true"),
        ("log.showSignature", "true"),
    ] {
        user.repo.git(&["config", key, value]);
    }
    let _ = fs_err::remove_file(user.scratch.path("ran"));
    user.repo.write("sub/c.txt", "dirty\n");
    life(&user);
    assert_eq!(ran(&user), "");
    let _ = super::git_may_fail(user.repo.dir(), &["add", "."]);
    assert!(ran(&user).contains("filter.evil.clean"));
}

#[test]
fn a_merge_driver_that_does_not_run_is_a_conflict() {
    let user = User::new();
    user.repo.write(".gitattributes", "a.txt merge=evil\n").commit("attributes");
    user.repo.git(&["config", "merge.evil.driver", &tell_tale(&user, "driver")]);
    let mut worktree = user.worktree(Carry::Committed);
    let text = user.read("a.txt");
    fs_err::write(worktree.root().join("a.txt"), with_line(&text, 1, "agent")).unwrap();
    worktree.collect().unwrap();
    user.repo.write("a.txt", with_line(&text, 7, "user"));
    assert!(matches!(worktree.apply().unwrap(), Applied::Conflicts { .. }));
    assert_eq!(ran(&user), "");
}

/// What an agent that may write to nothing but its worktree can put there.
#[test]
fn a_repository_that_an_agent_puts_in_the_place_of_ours() {
    let user = User::new();
    let mut worktree = user.worktree(Carry::Committed);
    let root = worktree.root();
    let evil = |dir: &camino::Utf8Path| {
        for key in ["core.fsmonitor", "filter.evil.clean", "filter.evil.smudge"] {
            git_in(dir, &["config", key, &tell_tale(&user, key)]);
        }
    };
    fs_err::remove_file(root.join(".git")).unwrap();
    git_in(&root, &["init", "--quiet"]);
    evil(&root);
    fs_err::write(root.join(".gitattributes"), "* filter=evil\n").unwrap();
    fs_err::write(root.join("b.txt"), "by the agent\n").unwrap();
    // And one below, where git would look for what changed in a submodule.
    fs_err::create_dir(root.join("nested")).unwrap();
    git_in(&root.join("nested"), &["init", "--quiet"]);
    git_in(&root.join("nested"), &["commit", "--quiet", "--allow-empty", "-m", "x"]);
    evil(&root.join("nested"));
    let changes = worktree.collect().unwrap();
    assert_eq!(listed(&changes), ["A .gitattributes", "M b.txt"]);
    assert!(matches!(worktree.apply().unwrap(), Applied::Clean { .. }));
    assert!(worktree.remove().is_err());
    assert_eq!(ran(&user), "");
    git_in(&root, &["add", "b.txt"]);
    assert!(ran(&user).contains("filter.evil.clean"));
}

#[test]
fn a_submodule_that_an_agent_filled() {
    let user = User::new();
    agents_testkit::repo::Repo::init(user.scratch.path("other")).write("x", "x").commit("x");
    user.repo.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        "../other",
        "module",
    ]);
    user.repo.commit("module");
    let mut worktree = user.worktree(Carry::Committed);
    let module = worktree.root().join("module");
    git_in(&module, &["init", "--quiet"]);
    fs_err::write(module.join("file"), "x").unwrap();
    git_in(&module, &["add", "."]);
    git_in(&module, &["commit", "--quiet", "-m", "x"]);
    git_in(&module, &["config", "core.fsmonitor", &tell_tale(&user, "fsmonitor")]);
    fs_err::write(worktree.root().join("b.txt"), "by the agent\n").unwrap();
    let changes = worktree.collect().unwrap();
    assert_eq!(
        (listed(&changes), changes.left_out),
        (vec!["M b.txt".to_owned()], vec!["module".to_owned()])
    );
    assert!(worktree.remove().is_err());
    assert_eq!(ran(&user), "");
    git_in(&worktree.root(), &["status"]);
    assert!(ran(&user).contains("fsmonitor"));
}

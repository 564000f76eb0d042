//! Worktrees of real repositories, with real git and real cargo.

mod agents;
mod applying;
mod builds;
mod carrying;
mod collecting;
mod jail;
mod killed;
mod parcels;
mod programs;
mod refusing;

use std::num::NonZeroUsize;

use agents_task::{
    TaskId,
    isolate::{Carry, Changes, IsolationSettings, Repository, Worktree, Worktrees},
};
use agents_testkit::{repo::Repo, scratch::Scratch};
use camino::{Utf8Path, Utf8PathBuf};

/// A user with a repository.
pub(crate) struct User {
    pub(crate) scratch: Scratch,
    pub(crate) repo: Repo,
    pub(crate) worktrees: Worktrees,
}

impl User {
    pub(crate) fn new() -> Self {
        Self::at("repo")
    }

    pub(crate) fn at(name: &str) -> Self {
        let scratch = Scratch::new();
        let repo = Repo::init(scratch.path(name));
        repo.write("a.txt", "one\ntwo\nthree\nfour\nfive\nsix\nseven\n")
            .write("b.txt", "b\n")
            .write("sub/c.txt", "c\n")
            .write(".gitignore", "*.ignored\n/target\n")
            .commit("first");
        let worktrees = worktrees(scratch.root(), 4);
        Self { scratch, repo, worktrees }
    }

    pub(crate) fn repository(&self) -> Repository {
        self.worktrees.usable(self.repo.dir()).unwrap()
    }

    pub(crate) fn worktree(&self, carry: Carry) -> Worktree {
        let repository = self.repository();
        self.worktrees.create(&repository, TaskId::new(), "Work on it", carry).unwrap()
    }

    pub(crate) fn home(&self) -> Utf8PathBuf {
        self.scratch.path("state")
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs_err::read_to_string(self.repo.dir().join(path)).unwrap()
    }

    /// Everything that git says about the user's own tree.
    pub(crate) fn seen(&self) -> Vec<String> {
        let own = [
            "status --porcelain=v2 --untracked-files=all",
            "stash list",
            "branch --show-current",
            "diff",
            "diff --cached",
        ];
        own.iter().map(|it| self.repo.git(&it.split(' ').collect::<Vec<_>>())).collect()
    }

    pub(crate) fn branches(&self) -> String {
        self.repo.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads/agents"])
    }

    /// The worktrees that git knows besides the first one.
    pub(crate) fn known_worktrees(&self) -> usize {
        self.repo.git(&["worktree", "list", "--porcelain"]).matches("worktree /").count() - 1
    }
}

pub(crate) fn worktrees(root: &Utf8Path, slots: usize) -> Worktrees {
    let settings = IsolationSettings {
        slots: NonZeroUsize::new(slots).unwrap(),
        jobs: NonZeroUsize::MIN,
        ..IsolationSettings::default()
    };
    Worktrees::new(&root.join("state"), &root.join("builds"), settings)
}

/// Runs git in a worktree, as an agent would.
pub(crate) fn git_in(dir: &Utf8Path, args: &[&str]) -> String {
    git_may_fail(dir, args).unwrap_or_else(|said| panic!("git {args:?}: {said}"))
}

pub(crate) fn git_may_fail(dir: &Utf8Path, args: &[&str]) -> Result<String, String> {
    #[expect(clippy::disallowed_methods, reason = "a test")]
    let mut git = std::process::Command::new("git");
    for role in ["AUTHOR", "COMMITTER"] {
        git.env(format!("GIT_{role}_NAME"), "Agent").env(format!("GIT_{role}_EMAIL"), "a@b");
    }
    git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_EDITOR", "true");
    let done = git.current_dir(dir).args(args).output().unwrap();
    if done.status.success() {
        Ok(String::from_utf8_lossy(&done.stdout).trim().to_owned())
    } else {
        Err(String::from_utf8_lossy(&done.stderr).into_owned())
    }
}

pub(crate) fn listed(changes: &Changes) -> Vec<String> {
    changes.files.iter().map(|it| format!("{} {}", it.status, it.path)).collect()
}

/// Lines of a file with one of them changed.
pub(crate) fn with_line(text: &str, number: usize, line: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    lines[number - 1] = line;
    lines.join("\n") + "\n"
}

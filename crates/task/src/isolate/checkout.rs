//! The checkouts of a worker: used by whoever holds them, and taken away when they are old and nobody does.

use std::time::{Duration, SystemTime};

use agents_system::lock::Lock;
use camino::{Utf8Path, Utf8PathBuf};

use super::{IsolateError, gc::remove_tree, git::Git};

/// How many checkouts of a workspace are kept, in use or not.
const MOST: usize = 8;
/// How long one is kept that nobody uses.
const OLDEST: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// What says that one is whole; when it was last used is when this was written.
const DONE: &str = ".done";

/// A working tree that was unpacked. As long as it is held, nobody takes it away.
#[derive(Debug)]
pub struct Checkout {
    /// Where its files are.
    pub tree: Utf8PathBuf,
    _held: Lock,
}

/// Where the checkouts of one workspace are.
pub(super) struct Trees<'h>(pub(super) &'h Utf8Path);

impl Trees<'_> {
    pub(super) fn tree(&self, commit: &str) -> Utf8PathBuf {
        self.0.join(commit)
    }

    fn done(&self, commit: &str) -> Utf8PathBuf {
        self.0.join(format!("{commit}{DONE}"))
    }

    fn lock(&self, commit: &str) -> Utf8PathBuf {
        self.0.join(format!("{commit}.lock"))
    }

    pub(super) fn is_whole(&self, commit: &str) -> bool {
        self.done(commit).is_file() && self.tree(commit).is_dir()
    }

    /// It is used from now on. Whoever sees to it that nobody else changes checkouts meanwhile.
    pub(super) fn hold(&self, commit: &str) -> Result<Checkout, IsolateError> {
        fs_err::write(self.done(commit), "")?;
        let held = Lock::try_join(&self.lock(commit))?;
        let held = held.ok_or_else(|| std::io::Error::other("somebody removes it"))?;
        Ok(Checkout { tree: self.tree(commit), _held: held })
    }

    /// Takes away those that were not used for long, and those that are too many, the longest unused first; never one that is used.
    pub(super) fn sweep(&self, git: &Git, now: SystemTime) -> Result<(), IsolateError> {
        let mut known: Vec<(SystemTime, String)> = Vec::new();
        for entry in fs_err::read_dir(self.0)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if let Some(commit) = name.strip_suffix(DONE) {
                known.push((entry.metadata()?.modified()?, commit.to_owned()));
            }
        }
        known.sort_unstable_by(|one, other| other.cmp(one));
        let old = |used: SystemTime| now.duration_since(used).is_ok_and(|age| age > OLDEST);
        let mut removed = false;
        for (at, (used, commit)) in known.iter().enumerate() {
            if at < MOST && !old(*used) {
                continue;
            }
            let lock = self.lock(commit);
            let Some(_nobody_else) = Lock::try_acquire(&lock)? else { continue };
            // First what says that it is whole: somebody may be killed in the middle of it.
            fs_err::remove_file(self.done(commit))?;
            let tree = self.tree(commit);
            // If git cannot, it is only left with a name.
            let _ = git.run(None, ["worktree", "remove", "--force", tree.as_str()]);
            remove_tree(&tree)?;
            git.run(None, ["update-ref", "-d", &format!("refs/agents/workspaces/{commit}")])?;
            fs_err::remove_file(&lock)?;
            removed = true;
        }
        if removed {
            // What nothing leads to any more goes in time, and not while somebody may be writing it; worktrees that are being made do not.
            let settings = ["-c", "gc.autoDetach=false", "-c", "gc.worktreePruneExpire=never"];
            git.run(None, settings.into_iter().chain(["gc", "--auto", "--quiet"]))?;
        }
        Ok(())
    }
}

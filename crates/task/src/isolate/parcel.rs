//! A working tree for a task on another machine: packed here, unpacked there, and what was done there taken back.
//!
//! What travels is one commit without history. It is the same for the same files, whoever packs them and whenever, so its name says
//! whether a machine has it already; and git checks that what arrived is what was sent. What comes back is a patch, which
//! [`Worktrees::take_back`] turns into a worktree that is closed like one that was worked in here.

use std::time::{Duration, SystemTime};

use agents_system::{finding::Finding, lock::Lock, progress::Progress};
use camino::{Utf8Path, Utf8PathBuf};

use super::{
    Beginning, Carry, IsolateError, Repository, Worktree, Worktrees, carried,
    checkout::{Checkout, Trees},
    gc::remove_tree,
    git::Git,
    repository, utf8,
};
use crate::id::TaskId;

/// How long others may be unpacking for the same workspace.
const PATIENCE: Duration = Duration::from_secs(600);
/// The message of what travels. It is a part of its name.
const MESSAGE: &str = "A workspace for a worker";

/// A working tree that was packed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parcel {
    /// The commit here that it was made of: what was done elsewhere is taken back onto it.
    pub base: String,
    /// The commit that it is elsewhere.
    pub commit: String,
    /// What is not in it.
    pub findings: Vec<Finding>,
}

/// Where a parcel is unpacked from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A file that [`Worktrees::pack`] wrote.
    File(Utf8PathBuf),
    /// A remote that [`Worktrees::send`] sent it to.
    Remote {
        /// Its address.
        url: String,
        /// The reference that leads to it there.
        reference: String,
    },
}

impl Worktrees {
    /// Says what a task would begin with, without packing it.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn wrap(&self, repository: &Repository, carry: Carry) -> Result<Parcel, IsolateError> {
        let (git, programs) = repository.quiet_git()?;
        let mut findings = repository.surprises(&git, &programs)?;
        let head = git.line(None, ["rev-parse", "--verify", "HEAD^{commit}"])?;
        let base = match carry {
            Carry::Committed => head,
            Carry::Everything => {
                let largest = self.settings.largest;
                let (commit, left_out) =
                    carried(&self.shelf, repository, largest, &git, head, None)?;
                findings.extend(left_out);
                commit
            }
        };
        let commit = git.clone().timeless().first_commit(&git.tree_of(&base)?, MESSAGE)?;
        Ok(Parcel { base, commit, findings })
    }

    /// Packs it into a file.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn pack(
        &self,
        repository: &Repository,
        parcel: &Parcel,
        file: &Utf8Path,
    ) -> Result<(), IsolateError> {
        let (git, _) = repository.quiet_git()?;
        // A bundle is made of references. Nobody else uses this one.
        let reference = format!("refs/agents/parcels/{}", TaskId::new());
        git.run(None, ["update-ref", &reference, &parcel.commit])?;
        let made = git.run(None, ["bundle", "create", "--quiet", file.as_str(), &reference]);
        git.run(None, ["update-ref", "-d", &reference])?;
        made?;
        Ok(())
    }

    /// Sends it to a remote instead, and tells the reference that leads to it there.
    ///
    /// # Errors
    /// The remote does not take it.
    pub fn send(
        &self,
        repository: &Repository,
        parcel: &Parcel,
        url: &str,
    ) -> Result<String, IsolateError> {
        let (git, _) = repository.quiet_git()?;
        let reference = format!("refs/agents/workspaces/{}", parcel.commit);
        let what = format!("{}:{reference}", parcel.commit);
        git.outward().run(None, ["push", "--quiet", "--no-verify", "--", url, &what])?;
        Ok(reference)
    }

    /// Unpacks it below `home`, where all commits of one workspace share what they have in common. What is there already is not
    /// unpacked again; what has not been used for long is taken away.
    ///
    /// # Errors
    /// It cannot be had, or is not what it is said to be.
    pub fn unpack(
        &self,
        home: &Utf8Path,
        commit: &str,
        source: &Source,
    ) -> Result<Checkout, IsolateError> {
        let (store, trees) = (home.join("store"), home.join("trees"));
        let trees = Trees(&trees);
        let tree = trees.tree(commit);
        let _one_at_a_time = Lock::acquire(&home.join("lock"), PATIENCE, &Progress::silent())?;
        if trees.is_whole(commit) {
            return trees.hold(commit);
        }
        fs_err::create_dir_all(trees.0)?;
        let git = Git::of(&store);
        if !store.join("HEAD").is_file() {
            Git::anywhere().run(None, ["init", "--quiet", "--bare", "--", store.as_str()])?;
        }
        if git.commit(commit).is_none() {
            match source {
                Source::File(file) => git.run(None, ["bundle", "unbundle", file.as_str()])?,
                Source::Remote { url, reference } => {
                    let fetch =
                        ["fetch", "--quiet", "--no-tags", "--depth=1", "--", url, reference];
                    git.clone().outward().run(None, fetch)?
                }
            };
        }
        // Somebody may have been killed in the middle of it; git then thinks that it is there, unless it is forced. It is not told to look
        // through all of them: another process may be making one, of which there is not enough yet to be kept.
        remove_tree(&tree)?;
        // Nothing else leads to it, and what nothing leads to is removed some day.
        git.run(None, ["update-ref", &format!("refs/agents/workspaces/{commit}"), commit])?;
        let add =
            ["worktree", "add", "--force", "--quiet", "--detach", "--", tree.as_str(), commit];
        // Tasks in checkouts that are there already get worktrees of the same store.
        let _adding = self.shelf.worktrees_lock_at(&repository::real(&store))?;
        git.run(None, add)?;
        let checkout = trees.hold(commit)?;
        // Whoever cannot be rid of the old ones still has the new one.
        let _ = trees.sweep(&git, SystemTime::now());
        Ok(checkout)
    }

    /// A worktree that begins from the commit that a parcel was made of, with what was done elsewhere in it.
    ///
    /// # Errors
    /// The commit is gone, or the patch does not fit it. Nothing is left of the worktree.
    pub fn take_back(
        &self,
        repository: &Repository,
        (task, name): (TaskId, &str),
        base: &str,
        patch: &[u8],
    ) -> Result<Worktree, IsolateError> {
        let mut worktree = self.begin(repository, task, name, Beginning::At(base))?;
        match worktree.patch(patch) {
            Ok(()) => Ok(worktree),
            Err(error) => {
                // What this leaves is found by its record.
                let _ = worktree.discard();
                Err(error)
            }
        }
    }
}

impl Worktree {
    fn patch(&mut self, patch: &[u8]) -> Result<(), IsolateError> {
        if patch.is_empty() {
            return Ok(());
        }
        let scratch = self.shelf.scratch()?;
        let file = utf8(&scratch)?.join("patch");
        fs_err::write(&file, patch)?;
        let apply = ["apply", "--binary", "--whitespace=nowarn", "--", file.as_str()];
        self.git()?.run(Some(&self.lock), apply)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, time::Duration};

    use agents_testkit::{repo::Repo, scratch::Scratch};

    use super::*;
    use crate::isolate::IsolationSettings;

    #[test]
    fn nobody_adds_a_checkout_while_a_task_gets_a_worktree_of_the_same_store() {
        let scratch = Scratch::new();
        let repo = Repo::init(scratch.path("repo"));
        repo.write("a.txt", "a\n");
        repo.commit("first");
        let settings = IsolationSettings::default();
        let worktrees = Worktrees::new(&scratch.path("state"), &scratch.path("builds"), settings);
        let repository = worktrees.usable(repo.dir()).unwrap();
        let parcel = worktrees.wrap(&repository, Carry::Committed).unwrap();
        let (file, home) = (scratch.path("parcel"), scratch.path("home"));
        worktrees.pack(&repository, &parcel, &file).unwrap();
        let adding =
            worktrees.shelf.worktrees_lock_at(&repository::real(&home.join("store"))).unwrap();
        let (source, (tell, told)) = (Source::File(file), mpsc::channel());
        std::thread::scope(|scope| {
            scope.spawn(|| tell.send(worktrees.unpack(&home, &parcel.commit, &source).is_ok()));
            assert_eq!(told.recv_timeout(Duration::from_millis(500)).ok(), None);
            drop(adding);
            assert_eq!(told.recv().ok(), Some(true));
        });
    }
}

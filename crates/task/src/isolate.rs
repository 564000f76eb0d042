//! A git worktree of its own for a task, so that what it does stands beside what the user does until it is good.
//!
//! [`Worktrees::create`] makes one outside of the repository, from what is committed or from everything that is there.
//! [`Worktree::collect`] turns all that was done in it into commits on its branch and a patch; [`Worktree::apply`] merges that into the
//! user's files if nothing of theirs is in the way; [`Worktree::remove`] removes the worktree once everything in it is held elsewhere.
//! [`Worktrees::gc`] does the same for those whose owner is dead. Nothing here touches the user's index, stash, or branches.
//!
//! Builds go to a [`BuildSlot`]: a directory for cargo that one task has for itself as long as it runs.
//!
//! Everything but waiting for a slot blocks: async callers run it on a thread of its own.

mod apply;
mod changes;
mod checkout;
mod gc;
mod git;
mod parcel;
mod record;
mod repository;
mod slots;
mod snapshot;

use std::{io, num::NonZeroUsize, time::Duration};

use agents_system::{
    explain::{Code, ErrorKind, Explain},
    finding::Finding,
    lock::{Lock, LockError},
};
use camino::{Utf8Path, Utf8PathBuf};

pub use self::{
    apply::Applied,
    changes::{Changes, Commit, FileChange},
    checkout::Checkout,
    gc::{Collected, Manner, What},
    git::GitError,
    parcel::{Parcel, Source},
    record::{Fate, Owner, Record, State},
    repository::{NotIsolated, Repository},
    slots::{BuildSlot, Claim, SlotError, Waiting},
};
use self::{
    git::Git,
    record::Shelf,
    snapshot::{Camera, Hidden, copy},
};
use crate::id::TaskId;

/// How worktrees and builds are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IsolationSettings {
    /// How many bytes of new or changed files may be carried over or collected.
    pub largest: u64,
    /// How long a patch is kept after its worktree is gone.
    pub keep_patches: Duration,
    /// How long a directory of builds is kept that nobody uses.
    pub keep_builds: Duration,
    /// How many tasks may build at the same time, in all repositories together.
    pub slots: NonZeroUsize,
    /// How many compilers each of them may run.
    pub jobs: NonZeroUsize,
}

impl Default for IsolationSettings {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        // Agents mostly wait for their models: a few more than could build at the same time.
        let slots = NonZeroUsize::new((cores.get() / 2).max(4)).unwrap_or(NonZeroUsize::MIN);
        Self {
            largest: 2 * 1024 * 1024 * 1024,
            keep_patches: Duration::from_secs(30 * 24 * 60 * 60),
            keep_builds: Duration::from_secs(14 * 24 * 60 * 60),
            slots,
            jobs: NonZeroUsize::new(cores.get() / slots).unwrap_or(NonZeroUsize::MIN),
        }
    }
}

/// What a worktree begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carry {
    /// The commit that is checked out.
    Committed,
    /// That, and every change and every new file that git does not ignore.
    Everything,
}

/// Why something about a worktree did not work. Nothing is lost by any of them.
#[derive(Debug, thiserror::Error)]
pub enum IsolateError {
    /// Git.
    #[error(transparent)]
    Git(#[from] GitError),
    /// A file of ours.
    #[error("cannot keep the files of a worktree")]
    Io(#[from] io::Error),
    /// Somebody else changes the same files.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// There is one of this name, and somebody has it.
    #[error("the worktree `{0}` is somebody else's")]
    Taken(String),
    /// Git keeps it under another name than we asked for.
    #[error("git did not make the worktree where it was told to, `{0}`")]
    Elsewhere(Utf8PathBuf),
    /// Too much for commits.
    #[error("{} MiB of files are new or changed, more than the {} MiB that are kept in commits", size / 1024 / 1024, largest / 1024 / 1024)]
    TooLarge {
        /// How many bytes.
        size: u64,
        /// How many may be.
        largest: u64,
    },
    /// Nothing is remembered of it.
    #[error("there is no worktree `{0}`")]
    Unknown(String),
    /// It is not made yet, or not there any more.
    #[error("the worktree `{0}` is not there to work in")]
    Unfinished(String),
    /// What is in it is not held elsewhere.
    #[error("the worktree `{slug}` is kept: {why}")]
    HoldsMore {
        /// Which.
        slug: String,
        /// What would be lost.
        why: String,
    },
}

impl Explain for IsolateError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Lock(error) => error.kind(),
            Self::Elsewhere(_) => ErrorKind::Bug,
            _ => ErrorKind::Failure,
        }
    }

    fn code(&self) -> Option<Code> {
        match self {
            Self::Lock(error) => error.code(),
            Self::Elsewhere(_) => None,
            _ => Some(Code::NoWorktree),
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::TooLarge { .. } => {
                Some("add what is made by programs to `.gitignore`, or move it away".to_owned())
            }
            Self::HoldsMore { .. } => Some(
                "look into it; `cargo agents task gc` removes it when nothing can be lost"
                    .to_owned(),
            ),
            _ => None,
        }
    }
}

/// What a worktree is made from.
#[derive(Debug, Clone, Copy)]
enum Beginning<'a> {
    Carry(Carry),
    /// A commit that is there.
    At(&'a str),
}

/// Where worktrees are made and found again.
#[derive(Debug, Clone)]
pub struct Worktrees {
    shelf: Shelf,
    builds: Utf8PathBuf,
    settings: IsolationSettings,
}

/// A worktree of a task. As long as this value lives, nobody else touches it; dropped before [`Worktree::remove`], the
/// worktree stays, and [`Worktrees::gc`] may collect it.
#[derive(Debug)]
pub struct Worktree {
    shelf: Shelf,
    settings: IsolationSettings,
    record: Record,
    lock: Lock,
    slot: Option<BuildSlot>,
    findings: Vec<Finding>,
}

impl Worktrees {
    /// Worktrees in `home`, below our state; builds in `builds`, below our cache. Nothing is made yet.
    #[must_use]
    pub fn new(home: &Utf8Path, builds: &Utf8Path, settings: IsolationSettings) -> Self {
        // Git says where things are without links, and so do we.
        let shelf = Shelf::new(repository::real(home));
        Self { shelf, builds: repository::real(builds), settings }
    }

    /// The repository that tasks from here would get worktrees of.
    ///
    /// # Errors
    /// Why they cannot.
    pub fn usable(&self, cwd: &Utf8Path) -> Result<Repository, NotIsolated> {
        Repository::find(cwd, self.shelf.home())
    }

    /// Makes a worktree.
    ///
    /// # Errors
    /// It could not be made; nothing is left of it.
    pub fn create(
        &self,
        repository: &Repository,
        task: TaskId,
        name: &str,
        carry: Carry,
    ) -> Result<Worktree, IsolateError> {
        self.begin(repository, task, name, Beginning::Carry(carry))
    }

    fn begin(
        &self,
        repository: &Repository,
        task: TaskId,
        name: &str,
        beginning: Beginning<'_>,
    ) -> Result<Worktree, IsolateError> {
        let slug = record::slug(name, task);
        let lock = self.shelf.lock(&slug)?.ok_or_else(|| IsolateError::Taken(slug.clone()))?;
        if self.shelf.read(&slug).is_ok() {
            return Err(IsolateError::Taken(slug));
        }
        let mut record = Record {
            task,
            branch: format!("agents/{slug}"),
            slug,
            owner: Owner::this(),
            changed: 0,
            repository: repository.clone(),
            base: None,
            state: State::Making,
            changes: None,
        };
        self.shelf.close()?;
        self.shelf.write(&mut record)?;
        let mut worktree = self.holding(record, lock);
        match worktree.make(beginning) {
            Ok(()) => Ok(worktree),
            Err(error) => {
                // What this leaves is found by its record.
                let _ = worktree.discard();
                Err(error)
            }
        }
    }

    /// All worktrees that are remembered, and what is left of those that are gone.
    #[must_use]
    pub fn records(&self) -> Vec<Record> {
        self.shelf.slugs().iter().filter_map(|slug| self.shelf.read(slug).ok()).collect()
    }

    /// Takes over a worktree whose owner is gone, to go on in it or to collect it.
    ///
    /// # Errors
    /// Somebody has it, it was never finished, or nothing is remembered of it.
    pub fn adopt(&self, slug: &str) -> Result<Worktree, IsolateError> {
        if !self.shelf.slugs().iter().any(|it| it == slug) {
            return Err(IsolateError::Unknown(slug.to_owned()));
        }
        let lock = self.shelf.lock_of_nobody(slug)?;
        let lock = lock.ok_or_else(|| IsolateError::Taken(slug.to_owned()))?;
        let mut record = self.shelf.read(slug)?;
        if !matches!(record.state, State::Ready | State::Collected | State::Applied) {
            return Err(IsolateError::Unfinished(slug.to_owned()));
        }
        record.owner = Owner::this();
        self.shelf.write(&mut record)?;
        Ok(self.holding(record, lock))
    }

    fn holding(&self, record: Record, lock: Lock) -> Worktree {
        Worktree {
            shelf: self.shelf.clone(),
            settings: self.settings.clone(),
            record,
            lock,
            slot: None,
            findings: Vec::new(),
        }
    }
}

impl Worktree {
    fn make(&mut self, beginning: Beginning<'_>) -> Result<(), IsolateError> {
        let repository = self.record.repository.clone();
        let (git, programs) = repository.quiet_git()?;
        self.findings = repository.surprises(&git, &programs)?;
        let head = git.line(Some(&self.lock), ["rev-parse", "--verify", "HEAD^{commit}"])?;
        let base = match beginning {
            Beginning::Carry(Carry::Committed) => head,
            Beginning::Carry(Carry::Everything) => self.carried(&git, head)?,
            Beginning::At(commit) => commit.to_owned(),
        };
        self.record.base = Some(base.clone());
        self.shelf.write(&mut self.record)?;
        let tree = self.root();
        fs_err::create_dir_all(self.shelf.trees())?;
        let reason = format!("cargo agents task {}", self.record.task);
        let add = ["worktree", "add", "--quiet", "--lock", "--reason", &reason, "--no-track", "-b"];
        let add = add.into_iter().chain([self.record.branch.as_str(), "--", tree.as_str(), &base]);
        let adding = self.shelf.worktrees_lock(&repository)?;
        git.run(Some(&self.lock), add)?;
        drop(adding);
        let index = self.git_dir().join("index");
        if !index.is_file() {
            return Err(IsolateError::Elsewhere(tree));
        }
        copy(&index, &self.shelf.index(&self.record.slug))?;
        self.record.state = State::Ready;
        self.shelf.write(&mut self.record)?;
        Ok(())
    }

    fn carried(&mut self, git: &Git, head: String) -> Result<String, IsolateError> {
        let (repository, largest) = (&self.record.repository, self.settings.largest);
        let (commit, findings) =
            carried(&self.shelf, repository, largest, git, head, Some(&self.lock))?;
        self.findings.extend(findings);
        Ok(commit)
    }

    /// The directory in the worktree that the user stands in, in the repository; the nearest one if that is not there.
    #[must_use]
    pub fn cwd(&self) -> Utf8PathBuf {
        let root = self.root();
        let within = &self.record.repository.within;
        let wanted = if within.as_str().is_empty() { root.clone() } else { root.join(within) };
        let above = wanted.ancestors().take_while(|it| it.starts_with(&root));
        above.into_iter().find(|it| it.is_dir()).map_or(root.clone(), Utf8Path::to_owned)
    }

    /// Its top.
    #[must_use]
    pub fn root(&self) -> Utf8PathBuf {
        self.shelf.tree(&self.record.slug)
    }

    /// What is remembered of it.
    #[must_use]
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// What is different in it, and was not asked for.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// What git must be able to read for it outside of its root: in a sandbox, `git status`, `diff` and `log` need it. Whoever may
    /// write there may change what the user's git runs.
    #[must_use]
    pub fn git_dirs(&self) -> [Utf8PathBuf; 2] {
        [self.record.repository.common_dir.clone(), self.git_dir()]
    }

    /// It as the repository of tasks that are started from it. Nothing that an agent wrote into it is asked.
    #[must_use]
    pub fn repository(&self) -> Repository {
        Repository {
            root: self.root(),
            within: self.record.repository.within.clone(),
            git_dir: self.git_dir(),
            common_dir: self.record.repository.common_dir.clone(),
        }
    }

    /// Builds in it go to this slot from now on, until the worktree is removed or dropped.
    pub fn hold(&mut self, slot: BuildSlot) {
        self.slot = Some(slot);
    }

    /// Where builds in it go; a sandbox must let programs write there.
    #[must_use]
    pub fn build_dir(&self) -> Option<&Utf8Path> {
        self.slot.as_ref().map(BuildSlot::dir)
    }

    /// Variables for the programs that run in it.
    #[must_use]
    pub fn variables(&self) -> Vec<(String, String)> {
        self.slot.as_ref().map(BuildSlot::variables).unwrap_or_default()
    }

    /// What git keeps for it. Its name is its slug, because nothing else is called so.
    fn git_dir(&self) -> Utf8PathBuf {
        self.record.repository.common_dir.join("worktrees").join(&self.record.slug)
    }

    fn base(&self) -> Result<&str, IsolateError> {
        let base = self.record.base.as_deref().filter(|_| self.record.state != State::Making);
        base.ok_or_else(|| IsolateError::Unfinished(self.record.slug.clone()))
    }
}

/// A commit of everything that there is, on top of what is checked out. No reference leads to it but ours.
fn carried(
    shelf: &Shelf,
    repository: &Repository,
    largest: u64,
    git: &Git,
    head: String,
    lock: Option<&Lock>,
) -> Result<(String, Vec<Finding>), IsolateError> {
    let scratch = shelf.scratch()?;
    let (root, scratch) = (&repository.root, utf8(&scratch)?);
    let camera = Camera { git, root, scratch, lock, largest, hidden: Hidden::StayHidden };
    let index = repository.git_dir.join("index");
    let (snapshot, git) = camera.shoot(&index, None)?;
    let left_out = |path: String| {
        let message = format!("`{path}` is a repository of its own: it is not carried over");
        Finding::warning(message)
    };
    let findings = snapshot.repositories.into_iter().map(left_out).collect();
    if git.tree_of(&head)? == snapshot.tree {
        return Ok((head, findings));
    }
    let message = "What was not committed when the task began";
    Ok((git.commit_tree(lock, &snapshot.tree, &head, message)?, findings))
}

fn utf8(dir: &tempfile::TempDir) -> Result<&Utf8Path, IsolateError> {
    let not = || io::Error::other("the path of a directory of ours is not UTF-8");
    Ok(Utf8Path::from_path(dir.path()).ok_or_else(not)?)
}

/// The commit of a submodule, and its path.
#[doc(hidden)]
pub type LinkParts = (String, Vec<u8>);

/// What git printed, as each of its commands is understood: files that differ, commits, and submodules with their commits.
#[doc(hidden)]
#[must_use]
pub fn read_printed(printed: &[u8]) -> (Vec<FileChange>, Vec<Commit>, Vec<LinkParts>) {
    let links = snapshot::parse_links(printed).into_iter().map(|it| (it.commit, it.path));
    let commits = changes::parse_commits(&String::from_utf8_lossy(printed));
    (changes::parse_files(printed), commits, links.collect())
}

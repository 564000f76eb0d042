//! Worktrees are removed here, and nowhere else, and only when nothing can be lost.

use std::{io, time::Duration};

use camino::{Utf8Path, Utf8PathBuf};

use super::{
    Changes, IsolateError, Record, State, Worktree, Worktrees,
    record::{Fate, names, now},
    slots,
};
use crate::id::TaskId;

/// How long what a process left in the middle of a call may be of use to it.
const SCRATCH: Duration = Duration::from_secs(60 * 60);

/// Whether something happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// It is only told what would be.
    OnlyShow,
    /// It is done.
    Do,
}

/// What became of one thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collected {
    /// What it is called.
    pub name: String,
    /// Where it is, or was.
    pub path: Utf8PathBuf,
    /// The task that it was made for, if it is a worktree.
    pub task: Option<TaskId>,
    /// What became of it.
    pub what: What,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// Somebody uses it.
    Live,
    /// Its time has not come.
    Young,
    /// It is removed, or would be. What was done in it is on this branch; `None` if that was nothing, or is applied.
    Removed {
        /// The branch.
        branch: Option<String>,
    },
    /// The last that was remembered of a worktree that is gone, its patch, is removed, or would be.
    Forgotten,
    /// A directory of builds is removed, or would be.
    Freed,
    /// It stays.
    Kept {
        /// Why.
        why: String,
    },
}

impl Worktree {
    /// Removes the worktree, if everything in it is held by its branch and its patch. Its branch stays, unless nothing was done, or
    /// what was done has been applied; the patch stays either way. Tells the branch that stays.
    ///
    /// # Errors
    /// It stays.
    pub fn remove(&mut self) -> Result<Option<String>, IsolateError> {
        let fate = match self.record.state {
            State::Removing(fate) => fate,
            _ => {
                let fate = self.fate()?;
                self.record.state = State::Removing(fate);
                self.shelf.write(&mut self.record)?;
                fate
            }
        };
        self.clear()?;
        let changes = self.record.changes.clone();
        if let (Fate::Goes, Some(changes)) = (fate, &changes) {
            self.delete_branch(&changes.branch, &changes.head);
        }
        self.slot = None;
        self.record.state = State::Removed;
        if changes.as_ref().is_none_or(Changes::is_empty) {
            self.shelf.forget(&self.record.slug)?;
        } else {
            self.shelf.write(&mut self.record)?;
        }
        Ok(changes.filter(|_| fate == Fate::Stays).map(|it| it.branch))
    }

    /// What becomes of its branch, if everything in it is held by that and by the patch.
    fn fate(&self) -> Result<Fate, IsolateError> {
        let holds = |why: String| IsolateError::HoldsMore { slug: self.record.slug.clone(), why };
        let Some(changes) = &self.record.changes else {
            return Err(holds("what was done in it has not been collected".to_owned()));
        };
        let git = self.git()?;
        if let Some(why) = self.look(&git)?.beyond(&git, &changes.head)? {
            return Err(holds(why));
        }
        if changes.is_empty() {
            return Ok(Fate::Goes);
        }
        let tip = git.commit(&format!("refs/heads/{}", changes.branch));
        let held = match tip {
            Some(tip) => git.is_within(&changes.head, &tip)?,
            None => false,
        };
        if !held || !changes.patch.is_file() {
            return Err(holds(format!(
                "`{}` and the patch do not hold it any more",
                changes.branch
            )));
        }
        Ok(if self.record.state == State::Applied { Fate::Goes } else { Fate::Stays })
    }

    /// Removes a worktree that was never finished: nobody has worked in it.
    pub(super) fn discard(&mut self) -> Result<(), IsolateError> {
        self.clear()?;
        if let Some(base) = self.record.base.clone() {
            let branch = self.record.branch.clone();
            self.delete_branch(&branch, &base);
        }
        Ok(self.shelf.forget(&self.record.slug)?)
    }

    /// Removes the files, and what git keeps of the worktree. Other worktrees that git thinks are gone are not our affair.
    fn clear(&self) -> Result<(), IsolateError> {
        let root = self.root();
        remove_tree(&root)?;
        let git_dir = self.git_dir();
        if git_dir.is_dir() {
            let repository = &self.record.repository;
            let _one_at_a_time = self.shelf.worktrees_lock(repository)?;
            // Twice: it is locked.
            let how = ["worktree", "remove", "--force", "--force", root.as_str()];
            let git = repository.shared_git(&repository.common_dir)?;
            let removed = git.run(Some(&self.lock), how);
            // One that is half made is none for git.
            if removed.is_err() || git_dir.is_dir() {
                remove_tree(&git_dir)?;
            }
        }
        Ok(())
    }

    /// Deletes a branch if it still is what we made it. If it is not, it is somebody else's now.
    fn delete_branch(&self, branch: &str, at: &str) {
        let reference = format!("refs/heads/{branch}");
        let common = &self.record.repository.common_dir;
        if let Ok(git) = self.record.repository.shared_git(common) {
            let _ = git.run(Some(&self.lock), ["update-ref", "-d", &reference, at]);
        }
    }
}

impl Worktrees {
    /// Looks at everything that is kept, collects what dead owners left if that is older than `older_than`, and removes what is not
    /// needed. What cannot be collected stays.
    pub fn gc(&self, older_than: Duration, manner: Manner) -> Vec<Collected> {
        let mut all: Vec<Collected> = self
            .shelf
            .slugs()
            .iter()
            .filter_map(|slug| self.gc_one(slug, older_than, manner))
            .collect();
        let known = self.shelf.slugs();
        for name in names(&self.shelf.trees()) {
            if !known.contains(&name) && !all.iter().any(|it| it.name == name) {
                let why = "nothing is remembered of it".to_owned();
                let path = self.shelf.tree(&name);
                all.push(Collected { name, path, task: None, what: What::Kept { why } });
            }
        }
        if manner == Manner::Do {
            self.sweep();
        }
        all.extend(slots::gc(&self.builds, self.settings.keep_builds, manner));
        all
    }

    fn gc_one(&self, slug: &str, older_than: Duration, manner: Manner) -> Option<Collected> {
        let collected = |task, what| {
            Some(Collected { name: slug.to_owned(), path: self.shelf.tree(slug), task, what })
        };
        let kept = |task, why: String| collected(task, What::Kept { why });
        let lock = match self.shelf.lock_of_nobody(slug) {
            Ok(Some(lock)) => lock,
            Ok(None) => {
                let task = self.shelf.read(slug).ok().map(|it| it.task);
                return collected(task, What::Live);
            }
            Err(error) => return kept(None, error.to_string()),
        };
        let record = match self.shelf.read(slug) {
            Ok(record) => record,
            // Somebody else was faster.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => return kept(None, format!("its record cannot be read: {error}")),
        };
        let task = Some(record.task);
        let age = Duration::from_secs(now().saturating_sub(record.changed));
        let limit = match record.state {
            State::Removed => self.settings.keep_patches,
            _ => older_than,
        };
        if age < limit {
            return collected(task, What::Young);
        }
        let state = record.state;
        let mut worktree = self.holding(record, lock);
        if manner == Manner::OnlyShow {
            return collected(task, worktree.record.would_become());
        }
        let done = match state {
            State::Making => worktree.discard().map(|()| What::Removed { branch: None }),
            State::Removed => {
                let forgotten = self.shelf.forget(slug).map(|()| What::Forgotten);
                forgotten.map_err(IsolateError::Io)
            }
            State::Removing(_) => worktree.remove().map(|branch| What::Removed { branch }),
            State::Ready | State::Collected | State::Applied => {
                let removed = worktree.collect().and_then(|_| worktree.remove());
                removed.map(|branch| What::Removed { branch })
            }
        };
        match done {
            Ok(what) => collected(task, what),
            Err(error) => kept(task, explained(&worktree.record, &error)),
        }
    }

    /// What processes left that died in the middle of a call.
    fn sweep(&self) {
        let dir = self.shelf.home().join("scratch");
        for path in names(&dir).into_iter().map(|name| dir.join(name)) {
            let changed = fs_err::metadata(&path).and_then(|it| it.modified());
            let old = changed.is_ok_and(|it| it.elapsed().is_ok_and(|age| age > SCRATCH));
            if old {
                let _ = remove_tree(&path);
            }
        }
    }
}

impl Record {
    /// What [`Worktrees::gc`] would make of it, as far as can be told without doing it.
    fn would_become(&self) -> What {
        let branch = Some(self.branch.clone());
        match self.state {
            State::Removed => What::Forgotten,
            State::Making | State::Applied | State::Removing(Fate::Goes) => {
                What::Removed { branch: None }
            }
            _ if !self.repository.common_dir.is_dir() => What::Kept { why: gone(self) },
            State::Ready | State::Collected | State::Removing(Fate::Stays) => {
                What::Removed { branch }
            }
        }
    }
}

fn gone(record: &Record) -> String {
    format!("its repository, `{}`, is gone", record.repository.common_dir)
}

fn explained(record: &Record, error: &IsolateError) -> String {
    match error {
        _ if !record.repository.common_dir.is_dir() => gone(record),
        IsolateError::HoldsMore { why, .. } => why.clone(),
        other => other.to_string(),
    }
}

/// Removes a directory, whatever rights its owner took from themselves in it. None at all is fine.
pub(super) fn remove_tree(path: &Utf8Path) -> io::Result<()> {
    match fs_err::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            open_up(path)?;
            fs_err::remove_dir_all(path)
        }
        done => done,
    }
}

#[cfg(unix)]
fn open_up(dir: &Utf8Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let mut waiting = vec![dir.as_std_path().to_owned()];
    while let Some(dir) = waiting.pop() {
        fs_err::set_permissions(&dir, std::fs::Permissions::from_mode(0o700))?;
        for entry in fs_err::read_dir(&dir)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                waiting.push(entry.path());
            }
        }
    }
    Ok(())
}

#[cfg(not(unix))]
fn open_up(_: &Utf8Path) -> io::Result<()> {
    Ok(())
}

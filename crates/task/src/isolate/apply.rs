//! What was done in a worktree, merged into the files of the user.
//!
//! Three versions are merged: the one that the worktree began from, the one that it ended with, and the user's files as they are
//! now. Git does that among its objects; only a merge without conflicts is written, only to the files that it changes, and only if
//! those are still what was merged.

use std::time::Duration;

use agents_system::{lock::Lock, progress::Progress};
use agents_tool::shell::quoted;
use camino::Utf8Path;

use super::{
    Changes, FileChange, IsolateError, Repository, State, Worktree,
    changes::files,
    git::{Git, GitError, failed, parts},
    record::Shelf,
    snapshot::{Camera, Hidden, os},
    utf8,
};

/// How long another task may write to the same files.
const PATIENCE: Duration = Duration::from_secs(300);
/// How often it is tried while the user saves files.
const ATTEMPTS: usize = 3;

/// What became of an attempt to apply changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Applied {
    /// They are in the user's files, uncommitted and unstaged.
    Clean {
        /// The files that were written or removed.
        files: Vec<FileChange>,
    },
    /// The user changed the same places. Nothing was written.
    Conflicts {
        /// Where.
        files: Vec<String>,
        /// The branch that holds the changes.
        branch: String,
        /// The command that merges them by hand.
        command: String,
    },
    /// They cannot be applied now. Nothing was written.
    Kept {
        /// Why not.
        why: String,
        /// The branch that holds the changes.
        branch: String,
        /// The command that merges them by hand.
        command: String,
    },
    /// There are none, or the user's files have them already.
    NothingToDo,
}

impl Worktree {
    /// Merges what was collected into the working tree that the worktree was made from. Its index and its branches stay as they
    /// are.
    ///
    /// # Errors
    /// It could not be tried; nothing was written.
    pub fn apply(&mut self) -> Result<Applied, IsolateError> {
        let changes = match &self.record.changes {
            Some(changes) => changes.clone(),
            None => self.collect()?,
        };
        let applied = apply(&self.shelf, &changes, &self.record.repository)?;
        if matches!(applied, Applied::Clean { .. } | Applied::NothingToDo) {
            self.record.state = State::Applied;
            self.shelf.write(&mut self.record)?;
        }
        Ok(applied)
    }
}

fn apply(
    shelf: &Shelf,
    changes: &Changes,
    repository: &Repository,
) -> Result<Applied, IsolateError> {
    if changes.is_empty() {
        return Ok(Applied::NothingToDo);
    }
    let _one_at_a_time =
        Lock::acquire(&shelf.apply_lock(repository), PATIENCE, &Progress::silent())?;
    let (git, _) = repository.quiet_git()?;
    let kept = |why: String| {
        let command = command(&git, changes);
        Applied::Kept { why, branch: changes.branch.clone(), command }
    };
    if !git.run(None, ["ls-files", "--unmerged", "-z"])?.is_empty() {
        return Ok(kept("conflicts in the working tree are not resolved".to_owned()));
    }
    let mut why = String::new();
    for _ in 0..ATTEMPTS {
        match attempt(shelf, changes, repository, &git)? {
            Attempt::Done(applied) => return Ok(applied),
            Attempt::Conflicts(files) => {
                let command = command(&git, changes);
                return Ok(Applied::Conflicts { files, branch: changes.branch.clone(), command });
            }
            Attempt::Moved(what) => why = what,
        }
    }
    Ok(kept(why))
}

enum Attempt {
    Done(Applied),
    Conflicts(Vec<String>),
    /// Files changed while they were merged.
    Moved(String),
}

fn attempt(
    shelf: &Shelf,
    changes: &Changes,
    repository: &Repository,
    git: &Git,
) -> Result<Attempt, IsolateError> {
    let scratch = shelf.scratch()?;
    let root = &repository.root;
    let hidden = Hidden::Count;
    // Only what is there already can be too large, and that is not kept in commits.
    let largest = u64::MAX;
    let camera = Camera { git, root, scratch: utf8(&scratch)?, lock: None, largest, hidden };
    let how = ["diff-tree", "-r", "-z", "--no-renames", "--name-only"];
    let paths = git.run(None, how.into_iter().chain([changes.base.as_str(), &changes.head]))?;
    let paths: Vec<Vec<u8>> = parts(&paths).map(<[u8]>::to_vec).collect();
    let (now, own) = camera.touch(&repository.git_dir.join("index"), &paths)?;
    let parent = git.commit("HEAD").unwrap_or_else(|| changes.base.clone());
    let ours = git.commit_tree(None, &now, &parent, "The working tree")?;
    let merged = match merge(git, &changes.base, &ours, &changes.head)? {
        Ok(tree) => tree,
        Err(files) => return Ok(Attempt::Conflicts(files)),
    };
    if merged == now {
        return Ok(Attempt::Done(Applied::NothingToDo));
    }
    let blocked = in_the_way(git, root, &now, &merged)?;
    if !blocked.is_empty() {
        return Ok(Attempt::Conflicts(blocked));
    }
    // Compares every file that it writes with what was merged, before it writes the first one.
    let written = own.ask(None, ["read-tree", "-m", "-u", &now, &merged])?;
    if !written.status.success() {
        return Ok(Attempt::Moved(failed("read-tree".to_owned(), &written).to_string()));
    }
    Ok(Attempt::Done(Applied::Clean { files: files(git, &now, &merged)? }))
}

/// The merged tree, or the files in conflict.
fn merge(
    git: &Git,
    base: &str,
    ours: &str,
    theirs: &str,
) -> Result<Result<String, Vec<String>>, GitError> {
    let base = format!("--merge-base={base}");
    let how =
        ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", &base, ours, theirs];
    let done = git.ask(None, how)?;
    let mut printed = parts(&done.stdout).map(|it| String::from_utf8_lossy(it).into_owned());
    match (done.status.code(), printed.next()) {
        (Some(0), Some(tree)) => Ok(Ok(tree)),
        (Some(1), Some(_)) => {
            let mut files: Vec<String> = printed.collect();
            files.dedup();
            Ok(Err(files))
        }
        _ => Err(failed("merge-tree".to_owned(), &done)),
    }
}

/// Files that git does not know, because it ignores them, where the merge has new ones. They are the user's.
fn in_the_way(
    git: &Git,
    root: &Utf8Path,
    now: &str,
    merged: &str,
) -> Result<Vec<String>, GitError> {
    let how = ["diff-tree", "-r", "-z", "--no-renames", "--name-status", now, merged];
    let listed = git.run(None, how)?;
    let listed: Vec<&[u8]> = parts(&listed).collect();
    let changed: Vec<(&[u8], &[u8])> =
        listed.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
    let removed: Vec<&[u8]> = changed.iter().filter(|it| it.0 == b"D").map(|it| it.1).collect();
    let mut blocked = Vec::new();
    for (_, path) in changed.iter().filter(|it| it.0 == b"A") {
        // Every directory on the way, and the file itself.
        let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        for end in slashes.chain([path.len()]) {
            let part = &path[..end];
            let Ok(there) = fs_err::symlink_metadata(root.as_std_path().join(os(part))) else {
                break;
            };
            let other = match there.is_dir() {
                // A way.
                true if end < path.len() => None,
                // Git takes it away with all that it ignores in it.
                true => other_file(root, part, &removed),
                false => (!removed.contains(&part)).then(|| part.to_vec()),
            };
            if let Some(other) = other {
                blocked.push(String::from_utf8_lossy(&other).into_owned());
                break;
            }
        }
    }
    blocked.sort();
    blocked.dedup();
    Ok(blocked)
}

/// A file below a directory that is not among those that are removed. What cannot be looked into may hold one.
fn other_file(root: &Utf8Path, dir: &[u8], removed: &[&[u8]]) -> Option<Vec<u8>> {
    let Ok(entries) = fs_err::read_dir(root.as_std_path().join(os(dir))) else {
        return Some(dir.to_vec());
    };
    for entry in entries {
        let Ok(entry) = entry else { return Some(dir.to_vec()) };
        let path = [dir, b"/", entry.file_name().as_encoded_bytes()].concat();
        let other = if entry.file_type().is_ok_and(|it| it.is_dir()) {
            other_file(root, &path, removed)
        } else {
            (!removed.contains(&path.as_slice())).then_some(path)
        };
        if other.is_some() {
            return other;
        }
    }
    None
}

/// How to merge by hand. What the worktree began from may hold what the user did not commit, which is no part of it.
fn command(git: &Git, changes: &Changes) -> String {
    let held =
        git.commit("HEAD").is_some_and(|head| git.is_within(&changes.base, &head).unwrap_or(false));
    let stands = git.is_within(&changes.base, &changes.head).unwrap_or(false);
    let short = &changes.base[..changes.base.len().min(12)];
    match (held, stands) {
        (true, _) => format!("git merge {}", changes.branch),
        (false, true) => format!("git cherry-pick {short}..{}", changes.branch),
        (false, false) => format!("git apply --3way {}", quoted(changes.patch.as_str())),
    }
}

//! Who may build, and where.
//!
//! Cargo locks the directory that it builds in, so two tasks that share one wait for each other; and it tells a changed file by its
//! time, so what one worktree built looks fresh to another. So a task has a directory to itself as long as it runs: that is a
//! slot. There are few, because each of them may keep several compilers busy. A later task gets the directory of an earlier one of
//! the same repository, with the dependencies that came from a registry or from git still built, and everything else removed.
//!
//! `CARGO_HOME` is shared by all: cargo locks it only while it resolves and downloads.

mod artifacts;

use std::{
    io,
    num::NonZeroUsize,
    time::{Duration, Instant},
};

use agents_system::{cache::name_hash, lock::Lock};
use camino::{Utf8Path, Utf8PathBuf};
use tokio_util::sync::CancellationToken;

use super::{
    Collected, Manner, Repository, What, Worktrees,
    gc::remove_tree,
    record::{lock_of_nobody, names},
};

/// How often somebody who waits looks again.
const PAUSE: Duration = Duration::from_millis(100);
/// When a directory was last used.
const STAMP: &str = ".cargo-agents-used";

/// A directory to build in that nobody else has, until this is dropped.
#[derive(Debug)]
pub struct BuildSlot {
    dir: Utf8PathBuf,
    jobs: NonZeroUsize,
    _lock: Lock,
}

/// Why somebody wants a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// For a task that nobody with a slot waits for.
    Own,
    /// For a task that one with a slot started: if it waited for that one's slot, both would wait for ever. It gets one beyond the
    /// limit if there is no other.
    OfHolder,
}

/// More than any tree of tasks needs at once.
const BEYOND: usize = 64;

/// Somebody waits for a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    /// How many slots there are, all of them taken.
    pub slots: usize,
    /// How long already.
    pub since: Duration,
}

/// Why there is no slot.
#[derive(Debug, thiserror::Error)]
pub enum SlotError {
    /// It is not wanted any more.
    #[error("cancelled while waiting for a build slot")]
    Cancelled,
    /// The directory cannot be made or cleaned.
    #[error("cannot prepare a directory to build in")]
    Io(#[from] io::Error),
}

impl BuildSlot {
    /// The directory that cargo builds in.
    #[must_use]
    pub fn dir(&self) -> &Utf8Path {
        &self.dir
    }

    /// What cargo is told.
    #[must_use]
    pub fn variables(&self) -> Vec<(String, String)> {
        vec![
            ("CARGO_TARGET_DIR".to_owned(), self.dir.to_string()),
            // A configuration that separates the two must not lead several tasks to one place.
            ("CARGO_BUILD_BUILD_DIR".to_owned(), self.dir.to_string()),
            ("CARGO_BUILD_JOBS".to_owned(), self.jobs.to_string()),
        ]
    }
}

impl Drop for BuildSlot {
    fn drop(&mut self) {
        // Only how long it is kept depends on it.
        let _ = fs_err::write(self.dir.join(STAMP), "");
    }
}

impl Worktrees {
    /// Waits for a slot. `waiting` is told now and then.
    ///
    /// # Errors
    /// It is not wanted any more, or cannot be had.
    pub async fn slot(
        &self,
        repository: &Repository,
        claim: Claim,
        cancel: &CancellationToken,
        mut waiting: impl FnMut(Waiting),
    ) -> Result<BuildSlot, SlotError> {
        let since = Instant::now();
        loop {
            let (builds, slots) = (self.builds.clone(), self.settings.slots.get());
            let count = if claim == Claim::Own { slots } else { slots + BEYOND };
            let (pool, jobs) = (self.pool(repository), self.settings.jobs);
            // Cleaning may take a while on a slow disk.
            let attempt =
                tokio::task::spawn_blocking(move || take(&builds, &pool, count, jobs)).await;
            if let Some(slot) = attempt.map_err(io::Error::other)?? {
                return if cancel.is_cancelled() { Err(SlotError::Cancelled) } else { Ok(slot) };
            }
            waiting(Waiting { slots, since: since.elapsed() });
            tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(SlotError::Cancelled),
                () = tokio::time::sleep(PAUSE) => {}
            }
        }
    }

    /// The directories of one repository. All its worktrees have them in common.
    fn pool(&self, repository: &Repository) -> Utf8PathBuf {
        let common = &repository.common_dir;
        let above =
            if common.file_name() == Some(".git") { common.parent() } else { Some(&**common) };
        let name = above.and_then(Utf8Path::file_name).unwrap_or("repository");
        self.builds.join(format!("{name}-{}", name_hash(common.as_str())))
    }
}

fn lock_of(builds: &Utf8Path, number: &str) -> Utf8PathBuf {
    builds.join(format!("slot-{number}.lock"))
}

/// A slot if one is free, one that was used for this repository before if there is.
fn take(
    builds: &Utf8Path,
    pool: &Utf8Path,
    count: usize,
    jobs: NonZeroUsize,
) -> io::Result<Option<BuildSlot>> {
    fs_err::create_dir_all(builds)?;
    let mut numbers: Vec<String> = (1..=count).map(|it| it.to_string()).collect();
    numbers.sort_by_key(|it| !pool.join(it).is_dir());
    for number in numbers {
        let Some(lock) = Lock::try_acquire(&lock_of(builds, &number))? else { continue };
        let dir = pool.join(number);
        fs_err::create_dir_all(&dir)?;
        artifacts::leave_foreign(&dir)?;
        fs_err::write(dir.join(STAMP), "")?;
        return Ok(Some(BuildSlot { dir, jobs, _lock: lock }));
    }
    Ok(None)
}

/// Removes directories that nobody has used for so long.
pub(super) fn gc(builds: &Utf8Path, keep: Duration, manner: Manner) -> Vec<Collected> {
    let mut all = Vec::new();
    for pool in names(builds) {
        let dirs = names(&builds.join(&pool));
        for number in dirs.iter().filter(|it| it.bytes().all(|byte| byte.is_ascii_digit())) {
            let dir = builds.join(&pool).join(number);
            let used = fs_err::metadata(dir.join(STAMP)).and_then(|it| it.modified());
            // Without a stamp, it was never finished.
            let age = used.map_or(Duration::MAX, |it| it.elapsed().unwrap_or(Duration::ZERO));
            if age < keep {
                continue;
            }
            let what = match (lock_of_nobody(&lock_of(builds, number)), manner) {
                (Ok(None), _) => continue,
                (Ok(Some(_)), Manner::OnlyShow) => What::Freed,
                (Ok(Some(_lock)), Manner::Do) => match remove_tree(&dir) {
                    Ok(()) => What::Freed,
                    Err(error) => What::Kept { why: error.to_string() },
                },
                (Err(error), _) => What::Kept { why: error.to_string() },
            };
            let name = format!("{pool}/{number}");
            all.push(Collected { name, path: dir, task: None, what });
        }
        if manner == Manner::Do {
            // Only an empty one goes.
            let _ = fs_err::remove_dir(builds.join(&pool));
        }
    }
    all
}

//! One directory for each thing that is acquired, with everything that was ever acquired for it.
//!
//! ```text
//! <cache>/installations/ripgrep-0123456789abcdef/
//!     lock            held while something is being acquired
//!     current.json    what is usable; replaced last and as a whole
//!     15.1.0/         one generation: an install root or a checked-out tree
//!     tmp-k3j2x/      being acquired, or left by a process that was killed
//! ```
//!
//! Only what `current.json` names exists. Whoever holds the lock may remove everything else.

use std::time::{Duration, SystemTime};

use agents_system::{
    atomic,
    cache::name_hash,
    lock::{Lock, LockError},
    progress::Progress,
};
use camino::{Utf8Path, Utf8PathBuf};

use crate::{
    error::AcquireError,
    receipt::{Binary, Content, Generation, State, now},
};

/// Longer than everything that the holder of the lock does unless it hangs.
const LOCK_DEADLINE: Duration = Duration::from_secs(2 * 60 * 60);
/// "Last used" is known to the day, so that the warm path hardly ever writes.
const USE_PRECISION: Duration = Duration::from_secs(24 * 60 * 60);

/// Where the slots of installations are in the cache.
pub(crate) const INSTALLATIONS: &str = "installations";
/// Where the slots of other checked-out trees are in the cache.
pub(crate) const REPOSITORIES: &str = "repositories";

const LOCK_FILE: &str = "lock";
const STATE_FILE: &str = "current.json";
const TEMPORARY: &str = "tmp-";

/// The directory of one thing that is acquired.
#[derive(Debug, Clone)]
pub(crate) struct Slot {
    pub(crate) dir: Utf8PathBuf,
}

impl Slot {
    /// The slot below `parent` for what `key` describes completely.
    pub(crate) fn new(parent: &Utf8Path, readable: &str, key: &str) -> Self {
        let readable: String = readable
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' })
            .take(40)
            .collect();
        let name = format!("{}-{}", readable.trim_matches(['-', '.']), name_hash(key));
        Self { dir: parent.join(name.trim_start_matches('-')) }
    }

    /// The file that names what is usable.
    pub(crate) fn state_file(&self) -> Utf8PathBuf {
        self.dir.join(STATE_FILE)
    }

    /// What is known; `None` when there is nothing, or nothing that can be believed.
    pub(crate) fn load(&self) -> Option<State> {
        let bytes = fs_err::read(self.state_file()).ok()?;
        State::parse(&bytes)
    }

    /// What is used, if it is still there.
    pub(crate) fn current(&self) -> Option<Generation> {
        let current = self.load()?.current.filter(|current| current.is_there(self))?;
        self.mark_used();
        Some(current)
    }

    /// When it was last used, to the day.
    pub(crate) fn last_used(&self) -> Option<SystemTime> {
        fs_err::metadata(self.state_file()).ok()?.modified().ok()
    }

    fn mark_used(&self) {
        let is_old = |at: SystemTime| at.elapsed().is_ok_and(|age| age > USE_PRECISION);
        if self.last_used().is_some_and(is_old) {
            // A read-only cache is still a cache.
            let file = fs_err::OpenOptions::new().append(true).open(self.state_file());
            let _ = file.and_then(|file| file.file().set_modified(SystemTime::now()));
        }
    }

    pub(crate) fn lock(&self, progress: &Progress) -> Result<LockedSlot<'_>, AcquireError> {
        let lock = Lock::acquire(&self.dir.join(LOCK_FILE), LOCK_DEADLINE, progress);
        progress.end();
        Ok(LockedSlot { slot: self, _lock: lock? })
    }

    /// The lock if nobody is acquiring anything here now. Somebody who is, is for longer than a moment; but a
    /// child that another thread is just starting may hold a lock that was released already.
    pub(crate) fn try_lock(&self) -> Result<Option<LockedSlot<'_>>, AcquireError> {
        let path = self.dir.join(LOCK_FILE);
        match Lock::acquire(&path, Duration::from_millis(200), &Progress::silent()) {
            Ok(lock) => Ok(Some(LockedSlot { slot: self, _lock: lock })),
            Err(LockError::TimedOut { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Names in the slot that `state` does not account for.
    pub(crate) fn garbage(&self, state: Option<&State>) -> Vec<String> {
        let known = |name: &str| {
            let mut generations = state.iter().flat_map(|state| state.generations());
            name == LOCK_FILE
                || (name == STATE_FILE && state.is_some())
                || generations.any(|generation| generation.dir == name)
        };
        let Ok(entries) = fs_err::read_dir(&self.dir) else {
            return Vec::new();
        };
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<_> = names.filter(|name| !known(name)).collect();
        names.sort();
        names
    }
}

/// A slot that nobody else changes.
#[derive(Debug)]
pub(crate) struct LockedSlot<'a> {
    pub(crate) slot: &'a Slot,
    _lock: Lock,
}

impl LockedSlot<'_> {
    /// What is there, after damaged generations have been forgotten and everything that is not accounted
    /// for has been removed. Says whether there was anything to remove.
    pub(crate) fn tidy(&self, what: &str) -> (State, Tidied) {
        let mut state = self.slot.load().unwrap_or_else(|| State::new(what));
        state.current = state.current.take().filter(|current| current.is_there(self.slot));
        state.older.retain(|older| older.is_there(self.slot));
        let garbage = self.slot.garbage(Some(&state));
        for name in &garbage {
            // The children of a killed process may still be writing there; then the next one removes it.
            let _ = remove(&self.slot.dir.join(name));
        }
        (state, if garbage.is_empty() { Tidied::Nothing } else { Tidied::Something })
    }

    /// An empty directory in the slot, gone when dropped.
    pub(crate) fn workplace(&self) -> Result<tempfile::TempDir, AcquireError> {
        let dir = &self.slot.dir;
        tempfile::Builder::new()
            .prefix(TEMPORARY)
            .tempdir_in(dir)
            .map_err(AcquireError::io(format!("make a directory in `{dir}`")))
    }

    /// Moves a filled workplace to where it will stay. A name that was just removed is not used again: the
    /// children of a killed process may still be writing there.
    pub(crate) fn settle(
        &self,
        workplace: tempfile::TempDir,
        content: &Content,
        tidied: Tidied,
    ) -> Result<String, AcquireError> {
        let temporary = workplace.path().file_name().unwrap_or_default().to_string_lossy();
        let plain: String = content
            .id
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || "-_.+".contains(c) { c } else { '-' })
            .collect();
        let is_free = tidied == Tidied::Nothing && !self.slot.dir.join(&plain).exists();
        let name = match temporary.strip_prefix(TEMPORARY) {
            Some(random) if !is_free => format!("{plain}-{random}"),
            _ => plain,
        };
        let to = self.slot.dir.join(&name);
        fs_err::rename(workplace.path(), &to)
            .map_err(AcquireError::io(format!("move what was acquired to `{to}`")))?;
        // It is no longer where the guard would remove it.
        let _ = workplace.keep();
        Ok(name)
    }

    /// Describes what now lies complete in `dir`.
    pub(crate) fn describe(
        &self,
        dir: String,
        content: Content,
    ) -> Result<Generation, AcquireError> {
        let mut generation = Generation {
            id: content.id,
            dir,
            within: content.within,
            version: content.version,
            commit: content.commit,
            tree: content.tree,
            binaries: Vec::new(),
            installed: now(),
        };
        let bin = generation.base(self.slot).join("bin");
        let binaries = content.binaries.iter().map(|name| Binary::load(&bin, name));
        generation.binaries = binaries.collect::<Result<_, _>>()?;
        Ok(generation)
    }

    /// From here on it counts.
    pub(crate) fn store(&self, state: &State) -> Result<(), AcquireError> {
        let path = self.slot.dir.join(STATE_FILE);
        let failed = || AcquireError::io(format!("write `{path}`"));
        let mut bytes = serde_json::to_vec_pretty(state).map_err(|error| failed()(error.into()))?;
        bytes.push(b'\n');
        atomic::write(&path, &bytes).map_err(failed())
    }

    /// Forgets everything.
    pub(crate) fn clear(&self) -> Result<(), AcquireError> {
        // First the file that says that there is something.
        remove(&self.slot.dir.join(STATE_FILE))?;
        for name in self.slot.garbage(None) {
            remove(&self.slot.dir.join(name))?;
        }
        Ok(())
    }
}

/// Whether somebody before us left something unfinished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tidied {
    Nothing,
    Something,
}

/// Removes a file or a directory; that it is already gone is fine.
pub(crate) fn remove(path: &Utf8Path) -> Result<(), AcquireError> {
    let removed = match fs_err::symlink_metadata(path) {
        Ok(data) if data.is_dir() => fs_err::remove_dir_all(path),
        Ok(_) => fs_err::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        done => done.map_err(AcquireError::io(format!("remove `{path}`"))),
    }
}

//! What belongs to nothing: left by programs that were killed.

use std::time::{Duration, SystemTime};

use agents_system::atomic;
use camino::Utf8Path;

use super::store::{RECORDS, Store, id_of};

/// How old something must be that belongs to nothing before it is removed.
const ORPHANED: Duration = Duration::from_secs(24 * 60 * 60);

/// The file of a lock, and whether it is held.
struct Locked {
    path: std::path::PathBuf,
    changed: Option<SystemTime>,
    is_held: bool,
}

impl Store {
    /// Removes records without metadata, what was never put in its place, and locks of programs that are gone.
    pub(super) fn remove_orphans(&self) {
        let locks = self.locks();
        // What has changed since the first program began that still lives may be its work, however old a clock that was set makes it.
        let begun = locks.iter().filter(|it| it.is_held).filter_map(|it| it.changed).min();
        let is_old = |changed: Option<SystemTime>| {
            changed.is_some_and(|changed| {
                changed.elapsed().unwrap_or_default() > ORPHANED
                    && begun.is_none_or(|begun| changed < begun)
            })
        };
        for name in &self.names().unwrap_or_default() {
            let path = self.dir().join(name);
            let belongs = match id_of(name, RECORDS) {
                Some(id) => self.inner().metadata(id).exists(),
                // A program that was killed while it replaced metadata leaves what it had not put in its place.
                None => !name.starts_with(atomic::UNFINISHED),
            };
            if !belongs && is_old(changed(&path)) {
                let _ = fs_err::remove_file(path);
            }
        }
        // A lock that is not held yet is younger.
        for lock in locks.iter().filter(|it| !it.is_held && is_old(it.changed)) {
            let _ = fs_err::remove_file(&lock.path);
        }
    }

    fn locks(&self) -> Vec<Locked> {
        let Ok(locks) = fs_err::read_dir(self.inner().locks()) else { return Vec::new() };
        let locked = |entry: fs_err::DirEntry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_held = self.inner().is_alive(name.strip_suffix(".lock")?);
            let changed = entry.metadata().and_then(|it| it.modified()).ok();
            Some(Locked { path: entry.path(), changed, is_held })
        };
        locks.flatten().filter_map(locked).collect()
    }
}

fn changed(path: &Utf8Path) -> Option<SystemTime> {
    path.metadata().and_then(|it| it.modified()).ok()
}

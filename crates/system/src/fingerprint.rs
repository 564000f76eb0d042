//! Reading files in a way that can later tell whether the answer still holds.
//!
//! Whoever computes something from files reads them through [`Inputs`]; nothing that was looked at can
//! then be forgotten. The [`Fingerprint`] that comes out is stored beside the answer and checked by
//! `stat` alone, except for what was *young*: a file changed less than two seconds before we read it
//! may change again without its time, size and inode changing, so there the content is compared too.

mod near;

use std::{
    collections::BTreeMap,
    io,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};

use crate::{
    cache::{Digest, digest},
    foreign::ForeignError,
    regular::{self, MAX_FILE},
};

/// File systems and kernels disagree about how finely time stamps are kept; two seconds is the
/// coarsest in use (FAT).
const YOUNG: Duration = Duration::from_secs(2);

/// Nanoseconds since 1970; files from before are all alike to us.
pub(crate) type Nanos = u64;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    modified: Nanos,
    /// When the system last noted a change, which nobody can set: tools that restore times, and those that give every
    /// file the same, are seen through.
    changed: Nanos,
    size: u64,
    inode: u64,
}

impl Stamp {
    /// Whether nothing happened for so long before `since` that whatever happens after it has a later time.
    pub(crate) fn is_at_rest(&self, since: Nanos) -> bool {
        self.modified.max(self.changed) < since.saturating_sub(nanos(YOUNG))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Seen {
    /// Nothing was there.
    Absent,
    /// Something was there and only that mattered.
    Present,
    /// The content of a file.
    File(Stamp, Digest),
    /// The names in a directory.
    Directory(Stamp, Digest),
    /// Something that was not read, and how it looked then.
    Refused(Stamp),
}

/// The files that an answer was computed from. See the [module](self).
#[derive(Debug)]
pub struct Inputs {
    /// Before anything was looked at: what changes from here on is young.
    since: Nanos,
    seen: BTreeMap<Utf8PathBuf, Seen>,
}

impl Default for Inputs {
    fn default() -> Self {
        Self { since: now(), seen: BTreeMap::new() }
    }
}

/// What a set of inputs looked like. See the [module](self).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint {
    taken: Nanos,
    seen: Vec<(Utf8PathBuf, Seen)>,
}

/// Whether an answer still holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    /// It does.
    Fresh,
    /// It does, but content had to be compared; storing [`Fingerprint::renewed`] makes the next check cheap.
    FreshAfterReading,
    /// Some input changed.
    Stale,
}

impl Inputs {
    /// Nothing looked at yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The text of a file, or `None` if there is none.
    pub fn read(&mut self, path: &Utf8Path) -> io::Result<Option<String>> {
        let Some(bytes) = self.read_bytes(path)? else { return Ok(None) };
        String::from_utf8(bytes).map(Some).map_err(|_| {
            io::Error::new(io::ErrorKind::InvalidData, format!("`{path}` is not valid UTF-8"))
        })
    }

    /// The bytes of a file, or `None` if there is none.
    pub fn read_bytes(&mut self, path: &Utf8Path) -> io::Result<Option<Vec<u8>>> {
        self.read_at_most(path, MAX_FILE)
    }

    /// The bytes of a regular file of at most `max` bytes, or `None` if there is none. What is larger, is no file or may not be
    /// read is an error, and the answer depends on it all the same: it may be fixed.
    pub fn read_at_most(&mut self, path: &Utf8Path, max: u64) -> io::Result<Option<Vec<u8>>> {
        let looked = look_at_small_file(path, max);
        self.noted(path, looked, |stamp, bytes| Seen::File(stamp, digest(bytes)))
    }

    /// The sorted names in a directory, or `None` if there is no such directory. Names that are not
    /// UTF-8 are left out. An answer depends on a directory that may not be read as well.
    pub fn list(&mut self, path: &Utf8Path) -> io::Result<Option<Vec<String>>> {
        let looked = look_at_directory(path);
        self.noted(path, looked, |stamp, names| Seen::Directory(stamp, digest_names(names)))
    }

    /// Notes what came of looking at a path, also if nothing did.
    fn noted<T>(
        &mut self,
        path: &Utf8Path,
        looked: io::Result<Option<(Stamp, T)>>,
        seen: impl Fn(Stamp, &T) -> Seen,
    ) -> io::Result<Option<T>> {
        let noted = match &looked {
            Ok(Some((stamp, found))) => seen(*stamp, found),
            Ok(None) => Seen::Absent,
            Err(_) => stamp_of(path).map_or(Seen::Absent, Seen::Refused),
        };
        self.note(path.to_owned(), noted);
        Ok(looked?.map(|(_, found)| found))
    }

    /// Whether something is there, whatever it is.
    pub fn exists(&mut self, path: &Utf8Path) -> bool {
        let exists = path.exists();
        // A stronger observation of the same path stays.
        let seen = if exists { Seen::Present } else { Seen::Absent };
        self.seen.entry(path.to_owned()).or_insert(seen);
        exists
    }

    /// Adds what was looked at elsewhere.
    pub fn include(&mut self, other: Self) {
        self.since = self.since.min(other.since);
        for (path, seen) in other.seen {
            self.note(path, seen);
        }
    }

    /// What was seen first stays, unless it was only that something is there and now it is known what: if a path looks
    /// different later, the answer rests on both, and must count as stale.
    fn note(&mut self, path: Utf8PathBuf, seen: Seen) {
        let known = self.seen.entry(path).or_insert_with(|| seen.clone());
        if *known == Seen::Present && seen != Seen::Absent {
            *known = seen;
        }
    }

    /// Everything that was looked at, as a value that can be stored.
    #[must_use]
    pub fn finish(self) -> Fingerprint {
        Fingerprint { taken: self.since, seen: self.seen.into_iter().collect() }
    }
}

impl Fingerprint {
    /// Whether everything still looks as it did.
    #[must_use]
    pub fn check(&self) -> Freshness {
        let young_since = self.taken.saturating_sub(nanos(YOUNG));
        let mut answer = Freshness::Fresh;
        let mut at_rest = Vec::with_capacity(self.seen.len());
        for (path, seen) in &self.seen {
            let young = |stamp: &Stamp| stamp.modified >= young_since;
            let same = match seen {
                Seen::Absent => !path.exists(),
                Seen::Present => path.exists(),
                Seen::File(stamp, content) if young(stamp) => {
                    answer = Freshness::FreshAfterReading;
                    matches!(look_at_file(path), Ok(Some((now, bytes)))
                        if now == *stamp && digest(&bytes) == *content)
                }
                Seen::Directory(stamp, names) if young(stamp) => {
                    answer = Freshness::FreshAfterReading;
                    matches!(look_at_directory(path), Ok(Some((now, found)))
                        if now == *stamp && digest_names(&found) == *names)
                }
                Seen::File(stamp, _) | Seen::Directory(stamp, _) | Seen::Refused(stamp) => {
                    at_rest.push((path.as_path(), stamp));
                    true
                }
            };
            if !same {
                return Freshness::Stale;
            }
        }
        if !near::all_are(&at_rest) {
            return Freshness::Stale;
        }
        answer
    }

    /// The same observation, made again now: what was young then need not be any more.
    /// Only meaningful right after a [`check`](Self::check) that was not stale.
    #[must_use]
    pub fn renewed(mut self) -> Self {
        self.taken = now();
        self
    }

    /// The same observation with new times, if every content is what it was: files that were only touched.
    #[must_use]
    pub fn restamped(&self) -> Option<Self> {
        let taken = now();
        let mut seen = Vec::with_capacity(self.seen.len());
        for (path, was) in &self.seen {
            let now = match was {
                Seen::Absent if !path.exists() => Seen::Absent,
                Seen::Present if path.exists() => Seen::Present,
                Seen::File(_, content) => match look_at_file(path) {
                    Ok(Some((stamp, bytes))) if digest(&bytes) == *content => {
                        Seen::File(stamp, *content)
                    }
                    _ => return None,
                },
                Seen::Directory(_, names) => match look_at_directory(path) {
                    Ok(Some((stamp, found))) if digest_names(&found) == *names => {
                        Seen::Directory(stamp, *names)
                    }
                    _ => return None,
                },
                // What was not read cannot be compared.
                Seen::Absent | Seen::Present | Seen::Refused(_) => return None,
            };
            seen.push((path.clone(), now));
        }
        Some(Self { taken, seen })
    }

    /// Whether nothing in it is young any more, so that the next check is by `stat` alone.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        let young_since = self.taken.saturating_sub(nanos(YOUNG));
        self.seen.iter().all(|(_, seen)| match seen {
            Seen::Absent | Seen::Present | Seen::Refused(_) => true,
            Seen::File(stamp, _) | Seen::Directory(stamp, _) => stamp.modified < young_since,
        })
    }

    /// Several observations as one: it holds as long as all of them do.
    #[must_use]
    pub fn joined(parts: impl IntoIterator<Item = Self>) -> Self {
        let (mut taken, mut seen) = (now(), Vec::new());
        for part in parts {
            taken = taken.min(part.taken);
            seen.extend(part.seen);
        }
        // What looked the same to both is looked at once; what did not is stale whichever counts.
        seen.sort_by(|(one, _), (other, _)| one.cmp(other));
        seen.dedup();
        Self { taken, seen }
    }

    /// The part of the observation that is about these paths and about the names in directories.
    #[must_use]
    pub fn of_directories_and(&self, keep: impl Fn(&Utf8Path) -> bool) -> Self {
        let kept = self
            .seen
            .iter()
            .filter(|(path, seen)| matches!(seen, Seen::Directory(..)) || keep(path));
        Self { taken: self.taken, seen: kept.cloned().collect() }
    }

    /// The paths that were looked at.
    pub fn paths(&self) -> impl Iterator<Item = &Utf8Path> {
        self.seen.iter().map(|(path, _)| path.as_path())
    }

    /// A digest of the paths and their contents: equal for equal contents, whenever they were written.
    #[must_use]
    pub fn content(&self) -> Digest {
        let contents = self.seen.iter().map(|(path, seen)| match seen {
            Seen::Absent => (path, 0_u8, Digest::default()),
            Seen::Present => (path, 1, Digest::default()),
            Seen::File(_, content) => (path, 2, *content),
            Seen::Directory(_, names) => (path, 3, *names),
            Seen::Refused(_) => (path, 4, Digest::default()),
        });
        digest(&postcard::to_allocvec(&contents.collect::<Vec<_>>()).unwrap_or_default())
    }
}

fn look_at_file(path: &Utf8Path) -> io::Result<Option<(Stamp, Vec<u8>)>> {
    look_at_small_file(path, MAX_FILE)
}

fn look_at_small_file(path: &Utf8Path, max: u64) -> io::Result<Option<(Stamp, Vec<u8>)>> {
    match regular::look(path, path, max) {
        Ok(found) => Ok(found.map(|(metadata, bytes)| (stamp(&metadata), bytes))),
        Err(ForeignError::Io { source, .. }) if is_absent(&source) => Ok(None),
        Err(ForeignError::Io { source, .. } | ForeignError::Denied { source, .. }) => Err(source),
        Err(error) => Err(io::Error::new(io::ErrorKind::InvalidData, error.to_string())),
    }
}

fn look_at_directory(path: &Utf8Path) -> io::Result<Option<(Stamp, Vec<String>)>> {
    let Some(stamp) = stamp_of(path) else { return Ok(None) };
    let entries = match fs_err::read_dir(path) {
        Ok(entries) => entries,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut names = Vec::new();
    for entry in entries {
        names.extend(entry?.file_name().into_string().ok());
    }
    names.sort_unstable();
    Ok(Some((stamp, names)))
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn digest_names(names: &[String]) -> Digest {
    digest(names.join("\0").as_bytes())
}

fn stamp_of(path: &Utf8Path) -> Option<Stamp> {
    path.metadata().ok().map(|metadata| stamp(&metadata))
}

pub(crate) fn stamp(metadata: &std::fs::Metadata) -> Stamp {
    #[cfg(unix)]
    let (inode, changed) = {
        use std::os::unix::fs::MetadataExt as _;
        let seconds = u64::try_from(metadata.ctime()).unwrap_or(0);
        let rest = u64::try_from(metadata.ctime_nsec()).unwrap_or(0);
        (metadata.ino(), seconds.saturating_mul(1_000_000_000).saturating_add(rest))
    };
    #[cfg(not(unix))]
    let (inode, changed) = (0, 0);
    // The size of a directory is an accident of the file system.
    let size = if metadata.is_dir() { 0 } else { metadata.len() };
    let modified = metadata.modified().map_or(u64::MAX, since_1970);
    Stamp { modified, changed, size, inode }
}

pub(crate) fn now() -> Nanos {
    since_1970(SystemTime::now())
}

fn since_1970(time: SystemTime) -> Nanos {
    time.duration_since(UNIX_EPOCH).map_or(0, nanos)
}

fn nanos(duration: Duration) -> Nanos {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;

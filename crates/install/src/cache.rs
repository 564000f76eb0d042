//! What the cache holds, and making it smaller.
//!
//! [`list`] looks, [`plan_prune`] decides, [`Plan::apply`] removes. Whatever is removed is acquired again when it
//! is needed.

use std::{
    collections::BTreeMap,
    time::{Duration, SystemTime},
};

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Serialize, Serializer};

use crate::{
    error::AcquireError,
    receipt::{Generation, State},
    slot::{INSTALLATIONS, REPOSITORIES, Slot, remove},
};

/// One directory of the cache.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CacheEntry {
    /// What kind of thing it is.
    pub kind: Kind,
    /// What it is, in words: ``crate `ripgrep` ``.
    pub what: String,
    /// Its version, when it has one.
    pub version: Option<String>,
    /// Its commit, when it comes from git.
    pub commit: Option<String>,
    /// Whether it is used.
    pub standing: Standing,
    /// Bytes on disk.
    pub size: u64,
    /// When it was complete; in seconds since 1970 for machines.
    #[serde(serialize_with = "seconds")]
    pub installed: Option<SystemTime>,
    /// When it, or what superseded it, was last used; known to the day.
    #[serde(serialize_with = "seconds")]
    pub last_used: Option<SystemTime>,
    /// Where it is.
    pub path: Utf8PathBuf,
}

/// Kinds of things in the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Something that a plugin runs.
    Installation,
    /// A tree that plugins are read from.
    Repository,
}

/// Whether something in the cache is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// It is what would be run.
    Current,
    /// A newer one took its place.
    Superseded,
    /// A process is at work on it.
    BeingAcquired,
    /// A process that worked on it was killed.
    Leftover,
}

/// What to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// Everything that is current.
    Current,
    /// What is current and was used within this time.
    UsedWithin(Duration),
    /// Nothing.
    Nothing,
}

/// What would be removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// In the order of the list.
    pub remove: Vec<CacheEntry>,
}

/// What was removed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Pruned {
    /// It is gone.
    pub removed: Vec<CacheEntry>,
    /// It stays, because a process is at work there.
    pub busy: Vec<CacheEntry>,
}

/// The directories of `cache` in which installations and repositories are.
#[must_use]
pub fn homes(cache: &Utf8Path) -> [Utf8PathBuf; 2] {
    [INSTALLATIONS, REPOSITORIES].map(|dir| cache.join(dir))
}

/// Everything in `cache`, which is `Dirs::cache`; by kind, then by name, the current one first.
#[must_use]
pub fn list(cache: &Utf8Path) -> Vec<CacheEntry> {
    let kinds = [(INSTALLATIONS, Kind::Installation), (REPOSITORIES, Kind::Repository)];
    let mut entries = Vec::new();
    for (dir, kind) in kinds {
        for slot in slots(&cache.join(dir)) {
            entries.extend(entries_of(&slot, kind));
        }
    }
    entries
}

/// The files of `entry` that are no longer what was installed.
#[must_use]
pub fn changed_files(entry: &CacheEntry) -> Vec<Utf8PathBuf> {
    let Some((slot, name)) = slot_of(&entry.path) else {
        return Vec::new();
    };
    let Some(state) = slot.load() else {
        return Vec::new();
    };
    let generation = state.generations().find(|generation| generation.dir == name).cloned();
    let Some(generation) = generation else {
        return Vec::new();
    };
    let bin = generation.base(&slot).join("bin");
    let changed = generation.binaries.iter().filter(|binary| !binary.is_unchanged(&bin));
    changed.map(|binary| bin.join(&binary.name)).collect()
}

/// What has to go so that only `keep` stays. What a process is at work on always stays.
#[must_use]
pub fn plan_prune(entries: &[CacheEntry], keep: Keep, now: SystemTime) -> Plan {
    let goes = |entry: &&CacheEntry| match (entry.standing, keep) {
        (Standing::BeingAcquired, _) | (Standing::Current, Keep::Current) => false,
        (Standing::Superseded | Standing::Leftover, _) | (Standing::Current, Keep::Nothing) => true,
        (Standing::Current, Keep::UsedWithin(limit)) => {
            let age = entry.last_used.and_then(|used| now.duration_since(used).ok());
            age.is_some_and(|age| age > limit)
        }
    };
    Plan { remove: entries.iter().filter(goes).cloned().collect() }
}

impl Plan {
    /// Does it. Something that a process has begun to work on since is left alone.
    pub fn apply(&self) -> Result<Pruned, AcquireError> {
        let mut pruned = Pruned::default();
        let mut by_slot: BTreeMap<&Utf8Path, Vec<&CacheEntry>> = BTreeMap::new();
        for entry in &self.remove {
            by_slot.entry(entry.path.parent().unwrap_or(&entry.path)).or_default().push(entry);
        }
        for (dir, entries) in by_slot {
            let entries = entries.into_iter().cloned();
            if prune_slot(&Slot { dir: dir.to_owned() }, entries.clone())? {
                pruned.removed.extend(entries);
            } else {
                pruned.busy.extend(entries);
            }
        }
        Ok(pruned)
    }
}

/// Whether it could be done.
fn prune_slot(
    slot: &Slot,
    entries: impl Iterator<Item = CacheEntry>,
) -> Result<bool, AcquireError> {
    let Some(locked) = slot.try_lock()? else {
        return Ok(false);
    };
    let paths: Vec<_> = entries.map(|entry| entry.path).collect();
    let goes = |generation: &Generation| paths.contains(&slot.dir.join(&generation.dir));
    if let Some(mut state) = slot.load() {
        state.current = state.current.take_if(|current| !goes(current));
        state.older.retain(|older| !goes(older));
        if state.generations().next().is_none() {
            locked.clear()?;
        } else {
            locked.store(&state)?;
        }
    }
    for path in paths {
        remove(&path)?;
    }
    Ok(true)
}

fn entries_of(slot: &Slot, kind: Kind) -> Vec<CacheEntry> {
    let state = slot.load();
    let last_used = slot.last_used();
    let entry = |generation: &Generation, standing, what: &str| CacheEntry {
        kind,
        what: what.to_owned(),
        version: generation.version.clone(),
        commit: generation.commit.clone(),
        standing,
        size: size_of(&slot.dir.join(&generation.dir)),
        installed: Some(SystemTime::UNIX_EPOCH + Duration::from_secs(generation.installed)),
        last_used,
        path: slot.dir.join(&generation.dir),
    };
    let mut entries = Vec::new();
    if let Some(State { what, current, older, .. }) = &state {
        entries.extend(current.iter().map(|one| entry(one, Standing::Current, what)));
        entries.extend(older.iter().map(|one| entry(one, Standing::Superseded, what)));
    }
    let garbage = slot.garbage(state.as_ref());
    if garbage.is_empty() {
        return entries;
    }
    let standing = match slot.try_lock() {
        Ok(Some(_)) => Standing::Leftover,
        Ok(None) | Err(_) => Standing::BeingAcquired,
    };
    let readable = slot.dir.file_name().unwrap_or_default();
    let what = state.as_ref().map_or(readable, |state| state.what.as_str());
    entries.extend(garbage.into_iter().map(|name| slot.dir.join(name)).map(|path| CacheEntry {
        kind,
        what: what.to_owned(),
        version: None,
        commit: None,
        standing,
        size: size_of(&path),
        installed: None,
        last_used,
        path,
    }));
    entries
}

fn slots(dir: &Utf8Path) -> Vec<Slot> {
    let Ok(entries) = fs_err::read_dir(dir) else {
        return Vec::new();
    };
    let dirs = entries.flatten().filter(|entry| entry.path().is_dir());
    let names = dirs.filter_map(|entry| entry.file_name().into_string().ok());
    let mut slots: Vec<_> = names.map(|name| Slot { dir: dir.join(name) }).collect();
    slots.sort_by(|a, b| a.dir.cmp(&b.dir));
    slots
}

fn slot_of(path: &Utf8Path) -> Option<(Slot, &str)> {
    Some((Slot { dir: path.parent()?.to_owned() }, path.file_name()?))
}

fn seconds<S: Serializer>(time: &Option<SystemTime>, to: S) -> Result<S::Ok, S::Error> {
    let since = time.and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
    since.map(|since| since.as_secs()).serialize(to)
}

fn size_of(path: &Utf8Path) -> u64 {
    let Ok(data) = fs_err::symlink_metadata(path) else {
        return 0;
    };
    if !data.is_dir() {
        return data.len();
    }
    let entries = fs_err::read_dir(path).into_iter().flatten().flatten();
    let paths = entries.filter_map(|entry| Utf8PathBuf::from_path_buf(entry.path()).ok());
    paths.map(|path| size_of(&path)).sum()
}

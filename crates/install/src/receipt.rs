//! What is written down about what was acquired.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use agents_system::cache::{digest, hex};
use camino::{Utf8Component, Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};

use crate::{error::AcquireError, slot::Slot};

/// Changes when an older program could misread what a newer one wrote, or the other way round.
const LAYOUT: u32 = 1;

/// What `current.json` holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct State {
    layout: u32,
    /// What it is, in words: ``crate `ripgrep` ``.
    pub(crate) what: String,
    /// When somebody last looked for something newer, in seconds since 1970.
    pub(crate) checked: u64,
    /// The one that is used.
    pub(crate) current: Option<Generation>,
    /// Those that were used before and have not been pruned.
    pub(crate) older: Vec<Generation>,
}

/// One acquired content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Generation {
    /// What distinguishes it from others of the slot: a version or a commit.
    pub(crate) id: String,
    /// Its directory in the slot.
    pub(crate) dir: String,
    /// The part of the directory that was asked for; empty for all of it.
    pub(crate) within: Utf8PathBuf,
    /// The version, when it has one.
    pub(crate) version: Option<String>,
    /// The commit, when it comes from git.
    pub(crate) commit: Option<String>,
    /// What the tree held when it was fetched, before install commands were run in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tree: Option<String>,
    /// What cargo installed.
    pub(crate) binaries: Vec<Binary>,
    /// When it was complete, in seconds since 1970.
    pub(crate) installed: u64,
}

/// An installed binary as it was when it was installed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Binary {
    /// Its file name in `bin`.
    pub(crate) name: String,
    pub(crate) size: u64,
    pub(crate) digest: String,
}

/// The content of a generation before it has a place.
#[derive(Debug, Default)]
pub(crate) struct Content {
    pub(crate) id: String,
    pub(crate) within: Utf8PathBuf,
    pub(crate) version: Option<String>,
    pub(crate) commit: Option<String>,
    pub(crate) tree: Option<String>,
    pub(crate) binaries: Vec<String>,
}

impl Binary {
    pub(crate) fn is_called(&self, name: &str) -> bool {
        self.name == name
            || self.name.strip_suffix(std::env::consts::EXE_SUFFIX).is_some_and(|stem| stem == name)
    }

    pub(crate) fn load(bin: &Utf8Path, name: &str) -> Result<Self, AcquireError> {
        let path = bin.join(name);
        let bytes = fs_err::read(&path).map_err(AcquireError::io(format!("read `{path}`")))?;
        Ok(Self { name: name.to_owned(), size: bytes.len() as u64, digest: hex(&digest(&bytes)) })
    }

    /// Whether the file is still what was installed, byte for byte.
    pub(crate) fn is_unchanged(&self, bin: &Utf8Path) -> bool {
        Self::load(bin, &self.name).is_ok_and(|now| now == *self)
    }
}

impl Generation {
    /// Whether everything that it names is in its slot. What is not ours is neither run nor removed.
    fn stays(&self) -> bool {
        let is_name = |name: &str| {
            let mut parts = Utf8Path::new(name).components();
            let first = parts.next();
            first == Some(Utf8Component::Normal(name)) && parts.next().is_none()
        };
        let is_below = |it: Utf8Component<'_>| matches!(it, Utf8Component::Normal(_));
        is_name(&self.dir)
            && self.within.components().all(is_below)
            && self.binaries.iter().all(|binary| is_name(&binary.name))
    }

    /// Its directory, or the part of it that was asked for.
    pub(crate) fn base(&self, slot: &Slot) -> Utf8PathBuf {
        part_of(slot.dir.join(&self.dir), &self.within)
    }

    /// Whether it looks as it did when it was installed; a `stat` for each binary, so that this can be
    /// asked every time.
    pub(crate) fn is_there(&self, slot: &Slot) -> bool {
        let base = self.base(slot);
        if self.binaries.is_empty() {
            return base.is_dir();
        }
        self.binaries.iter().all(|binary| {
            fs_err::metadata(base.join("bin").join(&binary.name))
                .is_ok_and(|data| data.is_file() && data.len() == binary.size)
        })
    }
}

impl State {
    /// `None` for what another layout, or nobody, wrote.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let state: Self = serde_json::from_slice(bytes).ok()?;
        let believed = state.layout == LAYOUT && state.generations().all(Generation::stays);
        believed.then_some(state)
    }

    pub(crate) fn new(what: &str) -> Self {
        Self { layout: LAYOUT, what: what.to_owned(), checked: 0, current: None, older: Vec::new() }
    }

    pub(crate) fn generations(&self) -> impl Iterator<Item = &Generation> {
        self.current.iter().chain(&self.older)
    }

    pub(crate) fn with_id(&self, id: &str) -> Option<Generation> {
        self.generations().find(|generation| generation.id == id).cloned()
    }

    /// Whether somebody looked for something newer within `rest`. A time that is still to come is no time at which
    /// anybody has looked.
    pub(crate) fn was_checked_within(&self, rest: Duration) -> bool {
        let now = now();
        self.checked <= now && now - self.checked < rest.as_secs()
    }

    /// Makes `generation` the current one and keeps the one that was.
    pub(crate) fn promote(&mut self, generation: Generation) {
        self.older.retain(|older| *older != generation);
        let before = self.current.replace(generation);
        self.older.splice(0..0, before);
    }
}

/// A receipt as it would be written again, and the places below its slot that it names.
#[doc(hidden)]
#[must_use]
pub fn read_receipt(bytes: &[u8]) -> Option<(Vec<u8>, Vec<Utf8PathBuf>)> {
    let state = State::parse(bytes)?;
    let places = state.generations().flat_map(|it| {
        let base = part_of(it.dir.clone().into(), &it.within);
        let binaries = it.binaries.iter().map(|it| base.join("bin").join(&it.name));
        binaries.collect::<Vec<_>>().into_iter().chain([base])
    });
    Some((serde_json::to_vec(&state).ok()?, places.collect()))
}

/// `within` of `dir`, without a trailing slash when that is all of it.
pub(crate) fn part_of(dir: Utf8PathBuf, within: &Utf8Path) -> Utf8PathBuf {
    if within.as_str().is_empty() { dir } else { dir.join(within) }
}

pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

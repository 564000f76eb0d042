//! The cached answer for one directory.

use std::collections::BTreeMap;

use agents_system::{
    cache::{CacheFile, Digest, name_hash},
    fingerprint::{Fingerprint, Freshness},
};
use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};

use crate::{Details, Package, PackageSource, Workspace, locate::Here, metadata::LockFile};

/// An answer and what it was read from.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) fingerprint: Fingerprint,
    pub(crate) workspace: Workspace,
    /// Whether the user's lock file gave the answer or one that cargo made for us.
    pub(crate) lock: LockFile,
}

/// The cache files of one directory.
#[derive(Debug)]
pub(crate) struct Store {
    dir: Utf8PathBuf,
}

#[derive(Serialize, Deserialize)]
struct StoredDetails {
    inputs: Digest,
    details: Details,
}

impl Store {
    /// The cache for where we stand, with this home of cargo.
    pub(crate) fn of(here: &Here, cargo_home: Option<&Utf8Path>, cache: &Utf8Path) -> Self {
        let mut key = format!("{}\n{}", here.dir, cargo_home.map_or("", Utf8Path::as_str));
        for config in &here.configs {
            key.push('\n');
            key.push_str(config.as_str());
        }
        let tail = here.dir.file_name().unwrap_or("root");
        Self { dir: cache.join(format!("workspaces/{tail}-{}", name_hash(&key))) }
    }

    /// The name of its directory.
    pub(crate) fn name(&self) -> Option<&str> {
        self.dir.file_name()
    }

    /// The answer, if it still holds.
    pub(crate) fn load(&self) -> Option<Entry> {
        let entry: Entry = self.graph().load()?;
        match entry.fingerprint.check() {
            Freshness::Fresh => Some(entry),
            Freshness::Stale => None,
            Freshness::FreshAfterReading => {
                let fingerprint = entry.fingerprint.renewed();
                let settled = fingerprint.is_settled();
                let entry = Entry { fingerprint, ..entry };
                // Otherwise the next check must read again anyway.
                if settled {
                    self.save(&entry);
                }
                Some(entry)
            }
        }
    }

    /// The answer, if the files it was read from were touched but say what they said. Reading them again
    /// costs more than [`load`](Self::load) and much less than cargo.
    pub(crate) fn load_touched(&self) -> Option<Entry> {
        let entry: Entry = self.graph().load()?;
        let fingerprint = entry.fingerprint.restamped()?;
        let entry = Entry { fingerprint, ..entry };
        self.save(&entry);
        Some(entry)
    }

    /// Keeps an answer. Where nothing can be written it will be computed again, which is no error.
    pub(crate) fn save(&self, entry: &Entry) {
        let _ = self.graph().store(entry);
    }

    /// The lock file that cargo made for us, if the answer came from one.
    pub(crate) fn load_lock(&self) -> Option<String> {
        fs_err::read_to_string(self.dir.join("Cargo.lock")).ok()
    }

    /// Keeps the lock file that cargo made for us.
    pub(crate) fn save_lock(&self, lock: &str) {
        let _ = agents_system::atomic::write(&self.dir.join("Cargo.lock"), lock.as_bytes());
    }

    /// The details that were stored for these inputs.
    pub(crate) fn load_details(&self, fingerprint: &Fingerprint) -> Option<Details> {
        let stored: StoredDetails = self.details().load()?;
        (stored.inputs == fingerprint.content()).then_some(stored.details)
    }

    /// Where cargo has said that the sources of packages are. A package from a registry or a repository
    /// never changes, so this holds as long as the directory is there.
    pub(crate) fn load_sources(&self) -> Vec<(Package, Utf8PathBuf)> {
        self.sources().load().unwrap_or_default()
    }

    /// Adds to them.
    pub(crate) fn add_sources(&self, sources: impl IntoIterator<Item = (Package, Utf8PathBuf)>) {
        let mut all: BTreeMap<_, _> = self.load_sources().into_iter().collect();
        all.extend(sources);
        let _ = self.sources().store(&all.into_iter().collect::<Vec<_>>());
    }

    /// Keeps details.
    pub(crate) fn save_details(&self, fingerprint: &Fingerprint, details: Details) {
        let sources = details.packages.iter().filter_map(|details| match details.package.source {
            PackageSource::Path { .. } => None,
            PackageSource::Registry { .. } | PackageSource::Git { .. } => {
                Some((details.package.clone(), details.dir.clone()))
            }
        });
        self.add_sources(sources);
        let _ = self.details().store(&StoredDetails { inputs: fingerprint.content(), details });
    }

    /// The file that makes sure that cargo is asked once, however many of us start together.
    pub(crate) fn turn(&self) -> Utf8PathBuf {
        self.dir.join("turn")
    }

    fn graph(&self) -> CacheFile {
        CacheFile::new(self.dir.join("graph"), "workspace graph 2")
    }

    fn sources(&self) -> CacheFile {
        CacheFile::new(self.dir.join("sources"), "workspace sources 1")
    }

    fn details(&self) -> CacheFile {
        CacheFile::new(self.dir.join("details"), "workspace details 3")
    }
}

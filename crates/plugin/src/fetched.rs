//! Crates that plugins or the user name, that are not dependencies, and that were fetched on request.

use agents_system::cache::{CacheFile, name_hash};
use agents_workspace::{CrateName, CrateSource};
use camino::{Utf8Path, Utf8PathBuf};
use semver::Version;

use crate::active::Wanted;

/// Where their sources are.
#[derive(Debug)]
pub struct FetchedCrates<'a> {
    cache: &'a Utf8Path,
}

impl<'a> FetchedCrates<'a> {
    /// Those in this cache.
    #[must_use]
    pub fn new(cache: &'a Utf8Path) -> Self {
        Self { cache }
    }

    pub(crate) fn get(&self, wanted: &Wanted) -> Option<(CrateName, Version, Utf8PathBuf)> {
        let found: (CrateName, Version, Utf8PathBuf) = self.file(wanted).load()?;
        found.2.is_dir().then_some(found)
    }

    /// Which version of a wanted crate was fetched.
    #[must_use]
    pub fn version(&self, wanted: &Wanted) -> Option<Version> {
        self.get(wanted).map(|(_, version, _)| version)
    }

    /// Remembers where the sources of a wanted crate are.
    pub fn put(&self, wanted: &Wanted, source: &CrateSource) -> std::io::Result<()> {
        self.file(wanted).store(&(&source.name, &source.version, &source.dir))
    }

    /// The file that says where the sources of a wanted crate are.
    pub(crate) fn file(&self, wanted: &Wanted) -> CacheFile {
        let requirement = wanted.requirement.as_ref().map(ToString::to_string).unwrap_or_default();
        let key = format!("{}\n{requirement}", wanted.name.as_str().replace('_', "-"));
        CacheFile::new(self.cache.join("fetched-crates").join(name_hash(&key)), "fetched 1")
    }
}

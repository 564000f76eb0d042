//! Step two: the sources of a crate, at the version that this workspace uses.

use std::{cell::OnceCell, collections::BTreeMap};

use agents_system::{
    cache::{CacheFile, digest, name_hash},
    finding::Finding,
};
use agents_workspace::{CrateName, CrateSource, Package, PackageSource, SourceError, Workspace};
use camino::{Utf8Path, Utf8PathBuf};
use semver::{Version, VersionReq};

use super::Fetch;
use crate::catalog::Registries;

/// Changes with what is remembered about a crate.
const LAYOUT: &str = "skill crates 1";

/// The sources of one version of a crate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sources {
    pub(super) name: CrateName,
    pub(super) version: Version,
    pub(super) dir: Utf8PathBuf,
}

/// Why there are no sources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NoSources {
    /// They are not on this machine, and nothing may be fetched.
    NotFetched,
    /// They could not be fetched.
    Failed(Box<Finding>),
}

/// Finds the sources of crates, each at most once.
pub(super) struct Locator<'a> {
    registries: Registries<'a>,
    workspace: Option<&'a Workspace>,
    cwd: &'a Utf8Path,
    fetch: Fetch,
    /// What else the answer depends on: which versions the workspace pins.
    pins: OnceCell<String>,
    known: BTreeMap<(CrateName, String), Result<Sources, NoSources>>,
}

impl<'a> Locator<'a> {
    pub(super) fn new(
        registries: Registries<'a>,
        workspace: Option<&'a Workspace>,
        cwd: &'a Utf8Path,
        fetch: Fetch,
    ) -> Self {
        let (pins, known) = (OnceCell::new(), BTreeMap::new());
        Self { registries, workspace, cwd, fetch, pins, known }
    }

    /// The sources of a crate in a version that will do: the one that the workspace uses before any other.
    pub(super) fn locate(
        &mut self,
        name: &CrateName,
        requirement: Option<&VersionReq>,
    ) -> Result<Sources, NoSources> {
        let key = (name.clone(), requirement.map(ToString::to_string).unwrap_or_default());
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let found = match self.package(name, requirement) {
            Some(package) => self.locate_package(&package),
            None => self.locate_other(name, requirement, &key.1),
        };
        self.known.insert(key, found.clone());
        found
    }

    /// The package that is meant, if the workspace uses it directly: a directory first, then the newest.
    fn package(&self, name: &CrateName, requirement: Option<&VersionReq>) -> Option<Package> {
        let workspace = self.workspace?;
        let members = workspace.members.iter().map(|member| Package {
            name: member.name.clone(),
            version: member.version.clone(),
            source: PackageSource::Path { dir: member.dir.clone() },
        });
        let named = workspace.packages.iter().filter(|package| package.name == *name).cloned();
        let fitting =
            named.chain(members.filter(|member| member.name == *name)).filter(|package| {
                requirement.is_none_or(|requirement| requirement.matches(&package.version))
            });
        fitting.max_by_key(|package| {
            let is_path = matches!(package.source, PackageSource::Path { .. });
            (is_path, package.version.clone())
        })
    }

    fn locate_package(&self, package: &Package) -> Result<Sources, NoSources> {
        let workspaces = self.registries.workspaces;
        let workspace = self.workspace.ok_or(NoSources::NotFetched)?;
        let dir = match workspaces.source_on_disk(workspace, package) {
            Some(dir) => dir,
            None if self.fetch == Fetch::Never => return Err(NoSources::NotFetched),
            None => workspaces
                .source_of(workspace, self.cwd, package)
                .map(|source| source.dir)
                .map_err(|error| failed(&package.name, &error))?,
        };
        Ok(Sources { name: package.name.clone(), version: package.version.clone(), dir })
    }

    /// A crate that only other crates use, or nobody: which version that is, only cargo can say, and its
    /// answer is remembered for as long as the workspace pins the same versions.
    fn locate_other(
        &self,
        name: &CrateName,
        requirement: Option<&VersionReq>,
        asked: &str,
    ) -> Result<Sources, NoSources> {
        let file = self.remembered(name, asked);
        if let Some((name, version, dir)) = file.load::<(CrateName, Version, Utf8PathBuf)>()
            && dir.is_dir()
        {
            return Ok(Sources { name, version, dir });
        }
        if self.fetch == Fetch::Never {
            return Err(NoSources::NotFetched);
        }
        let found = self.registries.workspaces.source(self.workspace, self.cwd, name, requirement);
        let CrateSource { name, version, dir, .. } = found.map_err(|error| failed(name, &error))?;
        // What is not remembered is asked again.
        let _ = file.store(&(&name, &version, &dir));
        Ok(Sources { name, version, dir })
    }

    fn remembered(&self, name: &CrateName, asked: &str) -> CacheFile {
        let pins = self.pins.get_or_init(|| {
            let Some(workspace) = self.workspace else { return String::new() };
            let lock = fs_err::read(workspace.root.join("Cargo.lock")).unwrap_or_default();
            format!("{}\n{:?}\n{:?}", workspace.root, workspace.identity, digest(&lock))
        });
        let key = format!("{pins}\n{}\n{asked}", name.as_str().replace('_', "-"));
        let dir = self.registries.dirs.cache.join("skill-crates");
        CacheFile::new(dir.join(name_hash(&key)), LAYOUT)
    }
}

fn failed(name: &CrateName, error: &SourceError) -> NoSources {
    let message = format!("the sources of crate `{name}` could not be had: {error}");
    let finding = Finding::warning(message);
    NoSources::Failed(Box::new(finding.advised_by(error)))
}

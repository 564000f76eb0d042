//! The sources of a crate: a directory of the workspace, else what cargo has on disk, else what cargo
//! fetches. Which registry, mirror, vendored directory or credential is used for that is cargo's
//! business: it runs where the user stands, with the user's configuration.

use camino::{Utf8Path, Utf8PathBuf};
use semver::{Version, VersionReq};

use crate::{
    CrateName, Package, PackageSource, SourceError, Workspace, Workspaces,
    error::{CargoError, Reason},
    lockfile::{LOCK, Lock},
    manifest::MANIFEST,
    metadata::{self, LockFile, Platform},
};

/// The sources of one version of a crate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrateSource {
    /// The crate, spelled as its author does.
    pub name: CrateName,
    /// Its exact version.
    pub version: Version,
    /// The directory with its `Cargo.toml`.
    pub dir: Utf8PathBuf,
    /// How it was had.
    pub origin: CrateOrigin,
}

/// How the sources of a crate were had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrateOrigin {
    /// A directory that the workspace names: a member, a path dependency, a patch.
    Path,
    /// Cargo had it.
    OnDisk,
    /// Cargo was asked for it, and fetched it if it had to.
    Fetched,
}

impl Workspaces<'_> {
    /// Where the sources of a package are, if that can be told without asking cargo.
    #[must_use]
    pub fn source_on_disk(&self, workspace: &Workspace, package: &Package) -> Option<Utf8PathBuf> {
        if let PackageSource::Path { dir } = &package.source {
            return Some(dir.clone());
        }
        self.unpacked(&package.name, &package.version, &package.source).or_else(|| {
            let known = self.store_of_root(&workspace.root).load_sources();
            let (_, dir) = known.into_iter().find(|(known, _)| known == package)?;
            dir.join(MANIFEST).is_file().then_some(dir)
        })
    }

    /// The sources of a crate. Without a requirement, or with one that it satisfies, the version that the
    /// workspace uses, directly or through others (the newest, if there are several); else the newest
    /// that satisfies the requirement.
    pub fn source(
        &self,
        workspace: Option<&Workspace>,
        cwd: &Utf8Path,
        name: &CrateName,
        requirement: Option<&VersionReq>,
    ) -> Result<CrateSource, SourceError> {
        if let Some(workspace) = workspace
            && let Some(package) = self.pinned(workspace, name, requirement)?
        {
            return self.source_of(workspace, cwd, &package);
        }
        // Crates are looked up by exact spelling, people and predicates do not care.
        let spellings = [
            name.as_str().to_owned(),
            name.as_str().replace('_', "-"),
            name.as_str().replace('-', "_"),
        ];
        let mut failure = None;
        for (at, spelling) in spellings.iter().enumerate() {
            if spellings[..at].contains(spelling) {
                continue;
            }
            match self.probe(cwd, spelling, requirement.unwrap_or(&VersionReq::STAR)) {
                Err(error @ SourceError::NoSuchCrate { .. }) => {
                    failure.get_or_insert(error);
                }
                ended => return ended,
            }
        }
        Err(failure.unwrap_or_else(|| SourceError::BadName(name.clone())))
    }

    /// The sources of a package of the workspace.
    pub fn source_of(
        &self,
        workspace: &Workspace,
        cwd: &Utf8Path,
        package: &Package,
    ) -> Result<CrateSource, SourceError> {
        let found = |dir, origin| CrateSource {
            name: package.name.clone(),
            version: package.version.clone(),
            dir,
            origin,
        };
        if let PackageSource::Path { dir } = &package.source {
            return Ok(found(dir.clone(), CrateOrigin::Path));
        }
        if let Some(dir) = self.source_on_disk(workspace, package) {
            return Ok(found(dir, CrateOrigin::OnDisk));
        }
        if package.source.is_crates_io() {
            // Fetches one crate and its dependencies rather than everything that the workspace uses.
            let found = self.probe(cwd, package.name.as_str(), &exactly(&package.version))?;
            let store = self.store_of_root(&workspace.root);
            store.add_sources([(package.clone(), found.dir.clone())]);
            return Ok(found);
        }
        let details = self.details(workspace)?;
        let details = details.packages.into_iter().find(|details| details.package == *package);
        let details = details.ok_or_else(|| SourceError::NoDirectory(package.name.clone()))?;
        Ok(found(details.dir, CrateOrigin::Fetched))
    }

    /// The version of a crate that the workspace uses, directly or through others.
    fn pinned(
        &self,
        workspace: &Workspace,
        name: &CrateName,
        requirement: Option<&VersionReq>,
    ) -> Result<Option<Package>, SourceError> {
        let members = workspace.members.iter().map(|member| Package {
            name: member.name.clone(),
            version: member.version.clone(),
            source: PackageSource::Path { dir: member.dir.clone() },
        });
        let direct = workspace.packages.iter().cloned().chain(members);
        if let Some(package) = best(direct, name, requirement) {
            return Ok(Some(package));
        }
        let text = self.lock_text(workspace)?;
        // A lock file of another shape pins what cargo says it does, and that is the direct ones.
        let Ok(lock) = Lock::parse(&text) else {
            return Ok(None);
        };
        let locked = lock.packages.iter().filter_map(|locked| {
            Some(Package {
                name: CrateName::new(locked.name),
                version: Version::parse(locked.version).ok()?,
                source: PackageSource::parse(&lock.plain_source(locked.source?))?,
            })
        });
        Ok(best(locked, name, requirement))
    }

    /// Lets cargo find a crate through a package of our own that depends on it and nothing else.
    fn probe(
        &self,
        cwd: &Utf8Path,
        name: &str,
        requirement: &VersionReq,
    ) -> Result<CrateSource, SourceError> {
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        if name.is_empty() || !name.bytes().all(is_word) {
            return Err(SourceError::BadName(CrateName::new(name)));
        }
        let about = format!("`{name}`");
        let probe =
            Probe::new(name, requirement).map_err(|source| CargoError::Scratch { source })?;
        let manifest = probe.dir.join(MANIFEST);
        let failed = |error: CargoError| explained(error, name, requirement);
        let args = ["generate-lockfile", "--manifest-path", manifest.as_str()];
        self.cargo.ask(&args, cwd, &about, self.progress).map_err(failed)?;
        if let Some((version, source)) = probe.locked(name)
            && let Some(dir) = self.unpacked(&CrateName::new(name), &version, &source)
        {
            let name = CrateName::new(name);
            return Ok(CrateSource { name, version, dir, origin: CrateOrigin::OnDisk });
        }
        let found =
            metadata::ask(self, cwd, &manifest, LockFile::Ours, Platform::Every).map_err(failed)?;
        let direct = found.direct.into_iter().next();
        let dir = direct.as_ref().and_then(|direct| {
            let details = found.details.packages.into_iter();
            details.into_iter().find(|details| details.package == *direct).map(|found| found.dir)
        });
        match (direct, dir) {
            (Some(Package { name, version, source }), Some(dir)) => {
                let origin = match source {
                    // A patch or a path of the configuration.
                    PackageSource::Path { .. } => CrateOrigin::Path,
                    PackageSource::Registry { .. } | PackageSource::Git { .. } => {
                        CrateOrigin::Fetched
                    }
                };
                Ok(CrateSource { name, version, dir, origin })
            }
            _ => Err(SourceError::NoDirectory(CrateName::new(name))),
        }
    }

    /// Where cargo has unpacked a crate of a registry. One folder per registry, named after its host: a
    /// crate of the same name and version from elsewhere must not be mistaken for it.
    fn unpacked(
        &self,
        name: &CrateName,
        version: &Version,
        source: &PackageSource,
    ) -> Option<Utf8PathBuf> {
        let PackageSource::Registry { id } = source else {
            return None;
        };
        let wanted = if source.is_crates_io() {
            // Not `github.com`, where older cargos had it: others are hosted there too.
            "index.crates.io"
        } else {
            id.split_once("://")?.1.split(['/', '@', ':']).next()?
        };
        let folders = self.cargo.home()?.join("registry/src");
        let mut found = None;
        for folder in folders.read_dir_utf8().ok()?.flatten() {
            let host = folder.file_name().rsplit_once('-').map(|(host, _)| host);
            let dir = folder.path().join(format!("{name}-{version}"));
            // Written last: without it the crate is not completely there.
            if host == Some(wanted) && dir.join(".cargo-ok").exists() {
                if found.is_some() && !source.is_crates_io() {
                    return None;
                }
                found = Some(dir);
            }
        }
        found
    }
}

/// The package that is meant: a directory before anything else, then the newest version.
fn best(
    packages: impl IntoIterator<Item = Package>,
    name: &CrateName,
    requirement: Option<&VersionReq>,
) -> Option<Package> {
    packages
        .into_iter()
        .filter(|package| package.name == *name)
        .filter(|package| requirement.is_none_or(|wanted| wanted.matches(&package.version)))
        .max_by_key(|package| {
            let is_path = matches!(package.source, PackageSource::Path { .. });
            (is_path, package.version.clone())
        })
}

/// The requirement that only this version satisfies.
#[must_use]
pub fn exactly(version: &Version) -> VersionReq {
    let comparator = semver::Comparator {
        op: semver::Op::Exact,
        major: version.major,
        minor: Some(version.minor),
        patch: Some(version.patch),
        pre: version.pre.clone(),
    };
    VersionReq { comparators: vec![comparator] }
}

fn explained(error: CargoError, name: &str, requirement: &VersionReq) -> SourceError {
    let name = CrateName::new(name);
    match error {
        CargoError::Failed { said, reason: Reason::NoSuchCrate, .. } => {
            SourceError::NoSuchCrate { name, said }
        }
        CargoError::Failed { said, reason: Reason::NoSuchVersion, .. } => {
            SourceError::NoSuchVersion { name, requirement: requirement.clone(), said }
        }
        other => SourceError::Cargo(other),
    }
}

/// A package that depends on one crate, gone when dropped.
struct Probe {
    dir: Utf8PathBuf,
    _temporary: tempfile::TempDir,
}

impl Probe {
    fn new(name: &str, requirement: &VersionReq) -> std::io::Result<Self> {
        let temporary = tempfile::Builder::new().prefix("cargo-agents-probe-").tempdir()?;
        let dir = Utf8PathBuf::from_path_buf(temporary.path().canonicalize()?)
            .map_err(|path| std::io::Error::other(format!("{path:?} is not UTF-8")))?;
        let manifest = format!(
            "[package]\nname = \"cargo-agents-probe\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n\
             [workspace]\n\n[dependencies]\n\
             {name} = {{ version = \"{requirement}\", default-features = false }}\n"
        );
        fs_err::create_dir_all(dir.join("src"))?;
        fs_err::write(dir.join("src/lib.rs"), "")?;
        fs_err::write(dir.join(MANIFEST), manifest)?;
        Ok(Self { dir, _temporary: temporary })
    }

    /// What cargo has chosen.
    fn locked(&self, name: &str) -> Option<(Version, PackageSource)> {
        let text = fs_err::read_to_string(self.dir.join(LOCK)).ok()?;
        let lock = Lock::parse(&text).ok()?;
        let index = lock.index();
        let own = index.named("cargo-agents-probe").first()?;
        let edges = index.edges(own).ok()?;
        let chosen = edges.iter().find(|edge| edge.name == name)?;
        Some((
            Version::parse(chosen.version).ok()?,
            PackageSource::parse(&lock.plain_source(chosen.source?))?,
        ))
    }
}

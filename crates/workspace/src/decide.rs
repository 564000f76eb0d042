//! Whether the lock file answers for the manifests, and if so, the answer.
//!
//! Cargo itself would read every manifest, resolve, and compare. That costs a hundred times more than
//! this: for each package that is a directory, what its manifest declares must be exactly what the
//! lock file lists for it. Then cargo would not change the lock file, and the edges in it are the
//! direct dependencies.

use std::{
    collections::{BTreeSet, HashSet},
    rc::Rc,
};

use camino::{Utf8Path, Utf8PathBuf};
use semver::Version;

use crate::{
    CrateName, Package, PackageSource,
    config::{CRATES_IO, Config},
    files::{Files, Undecided},
    locate,
    lockfile::{Index, Lock, Locked, NotUnderstood},
    manifest::{Kind, Manifest},
    members::Members,
    wanted::{Origin, Wanted, same_address},
};

impl From<NotUnderstood> for Undecided {
    fn from(_: NotUnderstood) -> Self {
        Self::AskCargo("a lock file that we do not understand")
    }
}

/// How far the lock file can be believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trust {
    /// It may be older than the manifests.
    Unchecked,
    /// Cargo has just brought it up to date.
    Checked,
}

/// The direct dependencies of the members.
pub(crate) fn direct_dependencies(
    root: &Manifest,
    members: &Members,
    config: &Config,
    lock: &Lock<'_>,
    trust: Trust,
    files: &mut Files<'_>,
) -> Result<BTreeSet<Package>, Undecided> {
    if root.is_exotic() || members.values().any(|member| member.is_exotic()) {
        return Err(Undecided::AskCargo("something old or unstable in a manifest"));
    }
    if config.exotic {
        return Err(Undecided::AskCargo("packages replaced by cargo's configuration"));
    }
    if lock.packages.iter().any(|package| package.replaced) {
        return Err(Undecided::AskCargo("a replaced package in the lock file"));
    }
    let mut decision = Decision {
        root,
        members,
        config,
        lock,
        trust,
        index: lock.index(),
        patches: Vec::new(),
        open: members.keys().cloned().collect(),
        accounted: HashSet::new(),
        found: BTreeSet::new(),
        files,
    };
    decision.patches = decision.find_patches()?;
    let mut seen = HashSet::new();
    while let Some(dir) = decision.open.pop() {
        if seen.insert(dir.clone()) {
            decision.visit(&dir)?;
        }
    }
    let directories = lock.packages.iter().filter(|package| package.source.is_none());
    if directories.count() != decision.accounted.len() {
        return Err(Undecided::Stale("a directory in the lock file that nothing asks for"));
    }
    Ok(decision.found)
}

struct Decision<'d, 'f, 'l, 'a> {
    root: &'d Manifest,
    members: &'d Members,
    config: &'d Config,
    lock: &'l Lock<'a>,
    trust: Trust,
    index: Index<'l, 'a>,
    patches: Vec<Patch<'l>>,
    /// Directories to visit.
    open: Vec<Utf8PathBuf>,
    /// Name and version of every directory visited.
    accounted: HashSet<(&'a str, &'a str)>,
    found: BTreeSet<Package>,
    files: &'d mut Files<'f>,
}

/// One entry of a `[patch]` table, with what the lock file says about it.
struct Patch<'l> {
    name: String,
    /// The address that it replaces things from.
    replaces: String,
    dir: Option<Utf8PathBuf>,
    locked: &'l Locked<'l>,
}

impl Patch<'_> {
    fn applies_to(&self, wanted: &Wanted) -> bool {
        let address = wanted.origin.address();
        self.name == wanted.name
            && address.is_some_and(|address| same_address(address, &self.replaces))
            && wanted.accepts(self.locked.version)
    }

    fn is(&self, edge: &Locked<'_>) -> bool {
        self.locked.version == edge.version && self.locked.source == edge.source
    }
}

impl<'l, 'a: 'l> Decision<'_, '_, 'l, 'a> {
    /// Compares one manifest with its package in the lock file.
    fn visit(&mut self, dir: &Utf8Path) -> Result<(), Undecided> {
        let manifest = self.files.expect_manifest(dir)?;
        if manifest.is_exotic() {
            return Err(Undecided::AskCargo("something old or unstable in a manifest"));
        }
        let is_member = self.members.contains_key(dir);
        let root = self.root_for(dir)?;
        let root = root.as_deref().unwrap_or(self.root);
        let (name, version) = identity(&manifest, root)?;
        let locked = self
            .index
            .named(&name)
            .iter()
            .find(|locked| locked.source.is_none() && locked.version == version);
        let locked = *locked.ok_or(Undecided::Stale("a directory that is not in the lock file"))?;
        if !self.accounted.insert((locked.name, locked.version)) {
            return Err(Undecided::AskCargo("two directories with the same package"));
        }
        let edges = self.index.edges(locked)?;
        let mut used = vec![false; edges.len()];
        for (kind, key, dependency) in manifest.dependencies() {
            // Only members are tested, so nobody else's dev-dependencies are locked.
            if kind == Kind::Dev && !is_member {
                continue;
            }
            let wanted = Wanted::new(&manifest, root, self.config, key, dependency)?;
            let resolved = self.resolve(&wanted, &edges)?;
            // Optional dependencies of others are locked only if somebody turns them on.
            if resolved.is_empty() && (is_member || !wanted.optional) {
                return Err(Undecided::Stale("a dependency that is not in the lock file"));
            }
            for (at, dir) in resolved {
                used[at] = true;
                if is_member {
                    let package = package(self.lock, edges[at], dir.as_deref())?;
                    self.found.insert(package);
                }
                self.open.extend(dir);
            }
        }
        if used.contains(&false) {
            return Err(Undecided::Stale("a dependency that is not in the manifest"));
        }
        Ok(())
    }

    /// Which of the edges a declared dependency stands for, with its directory if it is one. Exactly one,
    /// or none; several only if the lock file is checked, where every edge has its reason.
    fn resolve(
        &mut self,
        wanted: &Wanted,
        edges: &[&Locked<'a>],
    ) -> Result<Vec<(usize, Option<Utf8PathBuf>)>, Undecided> {
        let (own_dir, own_version) = match &wanted.origin {
            Origin::Path(dir) => {
                let version = self.version_in(dir, &wanted.name, wanted.optional)?;
                (Some(dir), Some(version))
            }
            Origin::Git(..) | Origin::Registry(_) => (None, None),
        };
        let patches: Vec<&Patch<'_>> =
            self.patches.iter().filter(|patch| patch.applies_to(wanted)).collect();
        let mut unpatched = false;
        let mut found = Vec::new();
        for (at, edge) in edges.iter().enumerate() {
            if edge.name != wanted.name || !wanted.accepts(edge.version) {
                continue;
            }
            let version_agrees =
                own_version.as_ref().is_none_or(|own| own.as_deref() == Some(edge.version));
            if let Some(patch) = patches.iter().find(|patch| patch.is(edge)) {
                found.push((at, patch.dir.clone()));
            } else if version_agrees && wanted.origin.agrees(edge) {
                unpatched = true;
                found.push((at, own_dir.cloned()));
            }
        }
        if self.trust == Trust::Checked {
            return Ok(found);
        }
        if found.len() > 1 {
            return Err(Undecided::Stale("a dependency that two locked packages satisfy"));
        }
        if unpatched && !patches.is_empty() {
            return Err(Undecided::Stale("a patch that may apply and does not"));
        }
        Ok(found)
    }

    /// Every patch, each of which must be known to the lock file, as used or as unused.
    fn find_patches(&mut self) -> Result<Vec<Patch<'l>>, Undecided> {
        let lock = self.lock;
        let mut patches = Vec::new();
        for (target, table) in &self.root.text.patch {
            let replaces = if target.contains("://") {
                target.clone()
            } else {
                let id = self.config.registry_id(target);
                let id = id.ok_or(Undecided::AskCargo("a patch of an unknown registry"))?;
                Origin::Registry(id).address().unwrap_or_default().to_owned()
            };
            for (key, dependency) in table {
                let wanted = Wanted::new(self.root, self.root, self.config, key, dependency)?;
                let (dir, version) = match &wanted.origin {
                    Origin::Registry(_) => {
                        return Err(Undecided::AskCargo("a patch by a registry"));
                    }
                    Origin::Git(..) => (None, None),
                    Origin::Path(dir) => {
                        (Some(dir.clone()), self.version_in(dir, &wanted.name, false)?)
                    }
                };
                let is_it = |locked: &&Locked<'a>| {
                    locked.name == wanted.name
                        && wanted.origin.agrees(locked)
                        && version.as_deref().is_none_or(|version| version == locked.version)
                };
                let used = lock.packages.iter().find(is_it);
                if used.is_some() {
                    self.open.extend(dir.clone());
                }
                let locked = used.or_else(|| lock.unused.iter().find(is_it));
                let locked = locked.ok_or(Undecided::Stale("a patch that is not locked"))?;
                patches.push(Patch { name: wanted.name, replaces: replaces.clone(), dir, locked });
            }
        }
        Ok(patches)
    }

    /// The version of the package of that name in `dir`. An optional dependency may point to a directory
    /// that is not there, as long as nobody turns it on.
    fn version_in(
        &mut self,
        dir: &Utf8Path,
        name: &str,
        optional: bool,
    ) -> Result<Option<String>, Undecided> {
        let manifest = match self.files.expect_manifest(dir) {
            Err(Undecided::AskCargo(_)) if optional => return Ok(None),
            manifest => manifest?,
        };
        let root = self.root_for(dir)?;
        let (found, version) = identity(&manifest, root.as_deref().unwrap_or(self.root))?;
        if found != name {
            return Err(Undecided::AskCargo("a directory that holds another package"));
        }
        Ok(Some(version))
    }

    /// Where a package inherits from, `None` for the members of this workspace.
    fn root_for(&mut self, dir: &Utf8Path) -> Result<Option<Rc<Manifest>>, Undecided> {
        if self.members.contains_key(dir) {
            return Ok(None);
        }
        locate::root_of(dir, self.files).map(Some)
    }
}

/// Name and version of a package.
pub(crate) fn identity(
    manifest: &Manifest,
    root: &Manifest,
) -> Result<(String, String), Undecided> {
    let package = manifest.text.package.as_ref();
    let package = package.ok_or(Undecided::AskCargo("a dependency that is not a package"))?;
    let version = manifest.version(root);
    let version = version.ok_or(Undecided::AskCargo("a version that is not there to inherit"))?;
    Ok((package.name.clone(), version.to_owned()))
}

fn package(
    lock: &Lock<'_>,
    locked: &Locked<'_>,
    dir: Option<&Utf8Path>,
) -> Result<Package, Undecided> {
    let version = Version::parse(locked.version);
    let version = version.map_err(|_| Undecided::AskCargo("a version that is none"))?;
    let source = match (locked.source, dir) {
        (None, Some(dir)) => PackageSource::Path { dir: dir.to_owned() },
        (Some(id), None) => PackageSource::parse(&lock.plain_source(id))
            .ok_or(Undecided::AskCargo("a source of an unknown kind"))?,
        _ => return Err(Undecided::AskCargo("a directory with a source")),
    };
    Ok(Package { name: CrateName::new(locked.name), version, source })
}

impl PackageSource {
    /// Reads a source that is not a directory, as lock files and cargo spell it.
    pub(crate) fn parse(id: &str) -> Option<Self> {
        let id = id.to_owned();
        match id.split_once('+')?.0 {
            "registry" | "sparse" => Some(Self::Registry { id }),
            "git" => Some(Self::Git { id }),
            _ => None,
        }
    }

    /// Whether it is the registry that is meant when none is named.
    #[must_use]
    pub fn is_crates_io(&self) -> bool {
        matches!(self, Self::Registry { id } if id == CRATES_IO)
    }
}

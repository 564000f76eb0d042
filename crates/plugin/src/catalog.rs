//! All plugins that there are, from everywhere they can come from, loaded once per change.
//!
//! | origin | read from | read again when |
//! |---|---|---|
//! | built in | the program | never |
//! | path registry, the user's own directory | the directory | a manifest or a directory changed |
//! | git registry | our checkout of it | it was fetched and has another commit |
//! | workspace members | their directories | a manifest, `SYMPOSIUM.toml` or `skills/` changed |
//! | dependencies | their sources, if cargo has them on disk | the packages changed, or sources arrived |

use agents_install::{
    Installer,
    git::{Checkouts, GitAddress},
};
use agents_system::{
    cache::{CacheFile, Digest, name_hash},
    dirs::Dirs,
    finding::Finding,
    fingerprint::{Fingerprint, Freshness, Inputs},
};
use agents_workspace::{CrateName, PackageSource, Workspace, Workspaces};
use camino::{Utf8Path, Utf8PathBuf};
use semver::{Version, VersionReq};
use serde::{Deserialize, Serialize};

use crate::{
    config::{Config, RegistryPlace, RegistrySpec},
    embedded::{self, Owner},
    manifest::{Manner, parse::parse_manifest},
    plugin::{Origin, Plugin},
    probes::Asked,
    scan::{Invalid, Scan, scan},
};

/// Changes with everything that is stored.
const LAYOUT: &str = "plugins 7";

/// A plugin that ships inside the program.
#[derive(Debug, Clone, Copy)]
pub struct BuiltIn {
    /// Its name, for its place in messages.
    pub name: &'static str,
    /// The text of its manifest.
    pub manifest: &'static str,
}

/// Where plugins come from here and now.
#[derive(Clone, Copy)]
pub struct Registries<'a> {
    /// Our own directories.
    pub dirs: &'a Dirs,
    /// The user's word.
    pub config: &'a Config,
    /// How the sources of crates are found.
    pub workspaces: &'a Workspaces<'a>,
    /// How the programs of predicates are obtained.
    pub installer: &'a Installer<'a>,
    /// Our checkouts of git registries.
    pub checkouts: &'a Checkouts<'a>,
    /// What ships inside the program.
    pub built_in: &'a [BuiltIn],
}

/// All plugins that there are.
#[derive(Debug, Default)]
pub struct Catalog {
    /// The configured registries and what became of them.
    pub registries: Vec<RegistryReport>,
    /// The plugins, in order of precedence.
    pub plugins: Vec<Plugin>,
    /// What could not be loaded.
    pub invalid: Vec<Invalid>,
    /// What else there is to say.
    pub findings: Vec<Finding>,
    /// Crates that were fetched on request, whether they embed something or not.
    fetched: Vec<(CrateName, Version)>,
    /// What custom predicates have answered in this run.
    pub(crate) asked: Asked,
}

/// A configured registry and what became of it.
#[derive(Debug, Clone)]
pub struct RegistryReport {
    /// As configured.
    pub spec: RegistrySpec,
    /// What became of it.
    pub state: RegistryState,
}

/// What became of a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RegistryState {
    /// It was read from this directory.
    Read(Utf8PathBuf),
    /// Its directory does not exist.
    Missing(Utf8PathBuf),
    /// It has never been fetched.
    NotFetched,
    /// Its address cannot be understood.
    BadAddress(String),
}

#[derive(Serialize, Deserialize)]
struct Stored {
    /// What the scan was made of, besides the files in the fingerprint.
    of: Digest,
    fingerprint: Fingerprint,
    scan: Scan,
}

impl Registries<'_> {
    /// Loads everything. Nothing is fetched and no process is started.
    #[must_use]
    pub fn load(&self, workspace: Option<&Workspace>) -> Catalog {
        let mut catalog = Catalog::default();
        self.add_built_in(&mut catalog);
        for spec in &self.config.registries {
            let (state, scan) = self.load_registry(spec);
            catalog.add(scan);
            catalog.registries.push(RegistryReport { spec: spec.clone(), state });
        }
        if let Some(workspace) = workspace {
            catalog.add(self.load_workspace(workspace));
        }
        catalog
    }

    /// Where a configured registry is on this machine, without fetching it.
    #[must_use]
    pub fn locate(&self, spec: &RegistrySpec) -> RegistryState {
        match &spec.place {
            RegistryPlace::Path(dir) if dir.is_dir() => RegistryState::Read(dir.clone()),
            RegistryPlace::Path(dir) => RegistryState::Missing(dir.clone()),
            RegistryPlace::Git(url) => match GitAddress::parse(url) {
                Err(error) => RegistryState::BadAddress(error.to_string()),
                Ok(address) => match self.checkouts.current(&address) {
                    Some(checkout) => RegistryState::Read(checkout.dir),
                    None => RegistryState::NotFetched,
                },
            },
        }
    }

    fn add_built_in(&self, catalog: &mut Catalog) {
        for built_in in self.built_in {
            let file = Utf8PathBuf::from(format!("<built in>/{}/SYMPOSIUM.toml", built_in.name));
            let parsed = parse_manifest(&file, built_in.manifest, Manner::FirstParty, None);
            catalog.findings.extend(parsed.findings);
            let plugin = parsed.manifest.map(|it| Plugin::new(&it, Origin::BuiltIn, &file));
            catalog.plugins.extend(plugin);
        }
    }

    fn load_registry(&self, spec: &RegistrySpec) -> (RegistryState, Scan) {
        let state = self.locate(spec);
        let RegistryState::Read(dir) = &state else { return (state, Scan::default()) };
        // A checkout is ours and never changes, so its path, which holds the commit, says it all.
        let immutable = matches!(spec.place, RegistryPlace::Git(_));
        let file = self.registry_file(spec, dir);
        let scan = self.cached(&file, Digest::default(), |inputs| {
            let mut unrecorded = Inputs::new();
            let scan = scan(dir, &spec.name, if immutable { &mut unrecorded } else { inputs });
            if immutable {
                inputs.exists(dir);
            }
            scan
        });
        (state, scan)
    }

    /// The plugins of the workspace's own members and of its dependencies.
    fn load_workspace(&self, workspace: &Workspace) -> Scan {
        let file = self.workspace_file(workspace);
        self.cached(&file, workspace.identity, |inputs| {
            let mut scan = Scan::default();
            look_into_members(workspace, inputs, &mut scan);
            self.look_into_dependencies(workspace, inputs, &mut scan);
            scan
        })
    }

    fn look_into_dependencies(&self, workspace: &Workspace, inputs: &mut Inputs, scan: &mut Scan) {
        let mut waiting = false;
        for package in &workspace.packages {
            let Some(dir) = self.workspaces.source_on_disk(workspace, package) else {
                waiting = true;
                continue;
            };
            if workspace.members.iter().any(|member| member.dir == dir) {
                continue;
            }
            let before = scan.plugins.len() + scan.invalid.len();
            let mut looked_at = Inputs::new();
            let origin = Origin::Crate(package.name.clone(), package.version.clone());
            let name = package.name.as_str();
            embedded::look_into(&dir, name, origin, Owner::Dependency, &mut looked_at, scan);
            let embeds = scan.plugins.len() + scan.invalid.len() > before;
            // Published sources never change, so most dependencies cost nothing from here on. What a
            // path dependency lacks today may be there tomorrow.
            if embeds || matches!(package.source, PackageSource::Path { .. }) {
                inputs.include(looked_at);
            }
        }
        if waiting {
            self.watch_for_sources(inputs);
        }
    }

    /// Cargo unpacks the sources of registry packages here; a new one changes the directory.
    fn watch_for_sources(&self, inputs: &mut Inputs) {
        let Some(home) = self.workspaces.cargo.home() else { return };
        let unpacked = home.join("registry/src");
        for registry in inputs.list(&unpacked).ok().flatten().unwrap_or_default() {
            let _ = inputs.list(&unpacked.join(registry));
        }
    }

    /// Whether the sources of some dependency are not known, so that what it embeds is not either.
    #[must_use]
    pub fn lacks_sources(&self, workspace: &Workspace) -> bool {
        let known = |package| self.workspaces.source_on_disk(workspace, package).is_some();
        !workspace.packages.iter().all(known)
    }

    /// Makes the next [`load`](Self::load) look into the dependencies again: their sources have become known.
    pub fn look_again(&self, workspace: &Workspace) -> std::io::Result<()> {
        match fs_err::remove_file(self.workspace_file(workspace).path()) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }

    /// A plugin embedded in a crate at a known place, for chained and used crates.
    #[must_use]
    pub fn load_crate(&self, dir: &Utf8Path, name: &CrateName, version: &Version) -> Scan {
        let mut scan = Scan::default();
        let origin = Origin::Crate(name.clone(), version.clone());
        let inputs = &mut Inputs::new();
        embedded::look_into(dir, name.as_str(), origin, Owner::Dependency, inputs, &mut scan);
        scan
    }

    /// What the plugins of a registry were read from, if they have been loaded and could be stored.
    pub(crate) fn registry_inputs(
        &self,
        spec: &RegistrySpec,
        dir: &Utf8Path,
    ) -> Option<Fingerprint> {
        Some(self.registry_file(spec, dir).load::<Stored>()?.fingerprint)
    }

    /// The same for those of a workspace and its dependencies.
    pub(crate) fn workspace_inputs(&self, workspace: &Workspace) -> Option<Fingerprint> {
        Some(self.workspace_file(workspace).load::<Stored>()?.fingerprint)
    }

    fn registry_file(&self, spec: &RegistrySpec, dir: &Utf8Path) -> CacheFile {
        self.cache_file("registries", &spec.name, &format!("{}\n{dir}", spec.name))
    }

    fn workspace_file(&self, workspace: &Workspace) -> CacheFile {
        let tail = workspace.root.file_name().unwrap_or("workspace");
        self.cache_file("workspace-plugins", tail, workspace.root.as_str())
    }

    fn cache_file(&self, kind: &str, tail: &str, key: &str) -> CacheFile {
        let tail: String = tail
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
            .take(40)
            .collect();
        let name = format!("{tail}-{}", name_hash(key));
        CacheFile::new(self.dirs.cache.join(kind).join(name), LAYOUT)
    }

    fn cached(&self, file: &CacheFile, of: Digest, make: impl FnOnce(&mut Inputs) -> Scan) -> Scan {
        if let Some(stored) = file.load::<Stored>()
            && stored.of == of
        {
            match stored.fingerprint.check() {
                Freshness::Fresh => return stored.scan,
                Freshness::FreshAfterReading => {
                    let fingerprint = stored.fingerprint.renewed();
                    let stored = Stored { fingerprint, ..stored };
                    // Otherwise the next check must read again anyway.
                    if stored.fingerprint.is_settled() {
                        let _ = file.store(&stored);
                    }
                    return stored.scan;
                }
                Freshness::Stale => {}
            }
        }
        let mut inputs = Inputs::new();
        let scan = make(&mut inputs);
        let stored = Stored { of, fingerprint: inputs.finish(), scan };
        // A cache that cannot be written only costs time.
        let _ = file.store(&stored);
        stored.scan
    }
}

fn look_into_members(workspace: &Workspace, inputs: &mut Inputs, scan: &mut Scan) {
    for member in &workspace.members {
        let origin = Origin::member(member);
        let name = member.name.as_str();
        embedded::look_into(&member.dir, name, origin, Owner::Member, inputs, scan);
    }
    // A virtual root is no member, but a natural place for the plugin of a whole workspace.
    if !workspace.members.iter().any(|member| member.dir == workspace.root) {
        let name = workspace.root.file_name().unwrap_or("workspace");
        let origin = Origin::Member(name.to_owned());
        embedded::look_into(&workspace.root, name, origin, Owner::Member, inputs, scan);
    }
}

impl Catalog {
    fn add(&mut self, mut scan: Scan) {
        // The longer of the two lists stays where it is: a registry may have thousands.
        if scan.plugins.len() > self.plugins.len() {
            std::mem::swap(&mut scan.plugins, &mut self.plugins);
            self.plugins.splice(0..0, scan.plugins);
        } else {
            self.plugins.extend(scan.plugins);
        }
        self.invalid.extend(scan.invalid);
        self.findings.extend(scan.findings);
    }

    /// Adds what a crate that was fetched on request embeds.
    pub(crate) fn add_fetched(&mut self, scan: Scan, name: CrateName, version: Version) {
        self.add(scan);
        self.fetched.push((name, version));
    }

    /// Whether the crate was fetched on request, in such a version.
    pub(crate) fn was_fetched(&self, name: &str, requirement: Option<&VersionReq>) -> bool {
        let wanted = CrateName::new(name);
        self.fetched.iter().any(|(name, version)| {
            *name == wanted && requirement.is_none_or(|requirement| requirement.matches(version))
        })
    }

    /// The plugins with that name.
    pub fn named<'c>(&'c self, name: &'c str) -> impl Iterator<Item = &'c Plugin> {
        self.plugins.iter().filter(move |plugin| plugin.name.is(name))
    }
}

//! What the tests of this room share: a place with plugins from everywhere.

use agents_install::{Installer, Update, git::Checkouts};
use agents_system::{cache::digest, dirs::Dirs, progress::Progress};
use agents_testkit::scratch::Scratch;
use agents_workspace::{
    Cargo, CrateName, CrateOrigin, CrateSource, Member, Network, Package, PackageSource, Workspace,
    Workspaces,
};
use camino::Utf8PathBuf;
use semver::Version;

use crate::{
    active::{ActiveSet, State, Wanted},
    catalog::{BuiltIn, Registries},
    config::Config,
    fetched::FetchedCrates,
    manifest::MANIFEST_FILE,
    predicate::{Surroundings, evaluate::Asker},
    probes::Acquire,
};

/// Registries with these directories, and the configuration that is in there.
pub(crate) fn with_registries<T>(
    dirs: &Dirs,
    cargo: &Cargo,
    built_in: &[BuiltIn],
    ask: impl FnOnce(&Registries<'_>) -> T,
) -> T {
    let config = Config::load(dirs).unwrap();
    let progress = Progress::silent();
    let workspaces = Workspaces { cache: &dirs.cache, cargo, progress: &progress };
    let installer = Installer::new(&dirs.cache, cargo, Update::None, &progress);
    let checkouts = Checkouts::new(&dirs.cache, Network::Allowed, &progress);
    ask(&Registries {
        dirs,
        config: &config,
        workspaces: &workspaces,
        installer: &installer,
        checkouts: &checkouts,
        built_in,
    })
}

/// A workspace, a registry called `r` and dependencies, all of which may bring plugins. Nobody needs cargo for it.
pub(crate) struct Place {
    pub(crate) scratch: Scratch,
    members: Vec<Member>,
    packages: Vec<Package>,
    pub(crate) built_in: Vec<BuiltIn>,
}

/// What there is to see in a place.
pub(crate) struct Sight<'s> {
    pub(crate) registries: &'s Registries<'s>,
    pub(crate) workspace: &'s Workspace,
    pub(crate) set: &'s ActiveSet,
    pub(crate) here: Surroundings<'s>,
}

impl Place {
    pub(crate) fn new() -> Self {
        let scratch = Scratch::new();
        fs_err::create_dir(scratch.path("ws")).unwrap();
        let place = Self { scratch, members: Vec::new(), packages: Vec::new(), built_in: vec![] };
        place.config("");
        place
    }

    /// The root of the workspace.
    pub(crate) fn root(&self) -> Utf8PathBuf {
        self.scratch.path("ws")
    }

    pub(crate) fn dirs(&self) -> Dirs {
        Dirs::below(&self.scratch.path("agents"))
    }

    /// The user's word about plugins.
    pub(crate) fn config(&self, rest: &str) -> &Self {
        let registry = self.scratch.path("registry");
        self.scratch.write(
            "agents/config.toml",
            format!("{rest}\n[defaults]\nsymposium-recommendations = false\n[[registry]]\nname = \"r\"\npath = \"{registry}\"\n"),
        );
        self
    }

    /// A plugin of the registry.
    pub(crate) fn registry(&self, name: &str, manifest: &str) -> &Self {
        let text = format!("name = \"{name}\"\n{manifest}");
        self.scratch.write(format!("registry/{name}/{MANIFEST_FILE}"), text);
        self
    }

    /// A member of the workspace with a plugin.
    pub(crate) fn member(&mut self, name: &str, manifest: &str) -> &mut Self {
        let dir = self.root().join(name);
        self.scratch.write(format!("ws/{name}/{MANIFEST_FILE}"), manifest);
        self.members.push(Member { name: CrateName::new(name), version: version("0.1.0"), dir });
        self
    }

    /// A crate that the workspace depends on, with a plugin or without.
    pub(crate) fn dependency(
        &mut self,
        name: &str,
        number: &str,
        manifest: Option<&str>,
    ) -> &mut Self {
        let source = PackageSource::Path { dir: self.krate(name, number, manifest) };
        self.packages.push(Package {
            name: CrateName::new(name),
            version: version(number),
            source,
        });
        self.packages.sort();
        self
    }

    /// A crate that somebody wanted and that was fetched.
    pub(crate) fn fetched(
        &self,
        name: &str,
        requirement: Option<&str>,
        number: &str,
        manifest: Option<&str>,
    ) -> &Self {
        let dir = self.krate(name, number, manifest);
        let name = CrateName::new(name);
        let requirement = requirement.map(|it| it.parse().unwrap());
        let wanted = Wanted { name: name.clone(), requirement, by: String::new() };
        let source =
            CrateSource { name, version: version(number), dir, origin: CrateOrigin::Fetched };
        FetchedCrates::new(&self.dirs().cache).put(&wanted, &source).unwrap();
        self
    }

    fn krate(&self, name: &str, number: &str, manifest: Option<&str>) -> Utf8PathBuf {
        let dir = self.scratch.path(format!("crates/{name}-{number}"));
        fs_err::create_dir_all(&dir).unwrap();
        if let Some(manifest) = manifest {
            fs_err::write(dir.join(MANIFEST_FILE), manifest).unwrap();
        }
        dir
    }

    /// Looks at what is there, with what is decided about it.
    pub(crate) fn look<T>(&self, see: impl FnOnce(Sight<'_>) -> T) -> T {
        let (root, members, packages) = (self.root(), self.members.clone(), self.packages.clone());
        let identity = digest(format!("{members:?} {packages:?}").as_bytes());
        let workspace = &Workspace { root: root.clone(), members, packages, identity };
        // Nobody is to ask it.
        let cargo = Cargo::at("false", Network::Offline);
        with_registries(&self.dirs(), &cargo, &self.built_in, |registries| {
            let set = &registries.active(Some(workspace), &root, Acquire::Never);
            assert_eq!(set.catalog.invalid.len(), 0, "{:?}", set.catalog.invalid);
            let (probes, _) =
                registries.probes(&set.catalog, Some(workspace), &root, Acquire::Never);
            let here =
                Surroundings { workspace: Some(workspace), probes: &probes, asker: Asker::Other };
            see(Sight { registries, workspace, set, here })
        })
    }

    /// What is decided about the only plugin of this name.
    #[track_caller]
    pub(crate) fn state(&self, name: &str) -> State {
        self.look(|sight| {
            let mut named = sight.set.considered().filter(|it| it.plugin.name.is(name));
            let found = named.next().unwrap_or_else(|| panic!("there is no `{name}`"));
            assert!(named.next().is_none(), "there are two of `{name}`");
            found.state.clone()
        })
    }
}

fn version(number: &str) -> Version {
    Version::parse(number).unwrap()
}

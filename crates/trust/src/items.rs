//! From the active set to what would be recorded about it: everything that applies, exactly where it comes from, and who stands
//! for it.

use std::{
    cell::{OnceCell, RefCell},
    collections::{BTreeMap, BTreeSet},
};

use agents_install::{
    AcquireError, Installation, Installed,
    git::{GitAddress, TreeNow, Trees},
};
use agents_plugin::{
    active::{ActiveSet, Cause, State},
    agents::AgentDir,
    catalog::{Registries, RegistryState},
    config::RegistryPlace,
    manifest::{MANIFEST_FILE, PluginName},
    plugin::{Origin, Plugin},
    skills::{Mode, Skill, SkillOrigin, SkillTree, Skipped, TreeEntry, TreeKind, Why},
};
use agents_system::{cache::Digest, regular};
use agents_workspace::{CrateName, PackageSource, Workspace};
use camino::{Utf8Path, Utf8PathBuf};

use crate::{
    compare::{Item, Trust},
    lock::{CrateFrom, Entry, Hash, Kind, RegistryFrom, Source},
};

/// Which plugin is meant: several may have one name.
pub type PluginKey = (PluginName, Origin);

/// What there is to know about a workspace and its plugins.
pub struct Surveyor<'a> {
    registries: Registries<'a>,
    set: &'a ActiveSet,
    workspace: &'a Workspace,
    trust: BTreeMap<PluginKey, Trust>,
    /// Where registries are, each found out once.
    places: RefCell<BTreeMap<String, RegistryFrom>>,
    trees: OnceCell<Trees>,
}

/// What is not on this machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unseen {
    /// What it is, in words.
    pub words: Vec<String>,
    /// A registry or a repository is among it, which may bring anything.
    everything: bool,
    crates: BTreeSet<String>,
}

impl Unseen {
    /// Whether an entry that seems to be gone may only be out of sight.
    #[must_use]
    pub fn may_hold(&self, entry: &Entry) -> bool {
        match &entry.source {
            Source::Workspace { .. } => false,
            Source::Crate { name, .. } => self.everything || self.crates.contains(name),
            Source::Registry { .. } | Source::Git { .. } => self.everything,
        }
    }
}

impl<'a> Surveyor<'a> {
    /// For this workspace.
    #[must_use]
    pub fn new(registries: Registries<'a>, set: &'a ActiveSet, workspace: &'a Workspace) -> Self {
        Self {
            registries,
            set,
            workspace,
            trust: trust_in(set),
            places: RefCell::default(),
            trees: OnceCell::new(),
        }
    }

    /// Every active plugin except those that ship inside the program. What the workspace keeps without a manifest is no more than
    /// its skills, and whether there are any depends on what we ourselves have put there.
    #[must_use]
    pub fn plugins(&self) -> Vec<(PluginKey, Item)> {
        let active = self.set.active().filter(|plugin| match plugin.origin {
            Origin::BuiltIn => false,
            Origin::Member(_) => plugin.file.is_file(),
            Origin::Registry(_) | Origin::Crate(..) => true,
        });
        active.map(|plugin| (key(plugin), self.plugin(plugin))).collect()
    }

    /// What an active plugin says now, with the files of its own that it runs: what its hash is of.
    #[must_use]
    pub fn content(&self, wanted: &PluginKey) -> Option<SkillTree> {
        self.active(wanted).map(content)
    }

    /// The manifest of an active plugin, and the files beside it that it runs.
    #[must_use]
    pub fn files_of(&self, wanted: &PluginKey) -> Vec<Utf8PathBuf> {
        self.active(wanted).map_or_else(Vec::new, |plugin| {
            let programs = own_programs(plugin).into_iter().map(|path| plugin.dir().join(path));
            programs.chain([plugin.file.clone()]).collect()
        })
    }

    /// One plugin.
    #[must_use]
    pub fn plugin(&self, plugin: &Plugin) -> Item {
        let path = || self.within_registry(plugin);
        let source = match &plugin.origin {
            Origin::BuiltIn | Origin::Member(_) => {
                Source::Workspace { path: self.inside(plugin.dir()).unwrap_or_default() }
            }
            Origin::Registry(name) => self.registry(name, path()),
            Origin::Crate(name, version) => self.krate(name, &version.to_string(), plugin.dir()),
        };
        let trust = self.trust.get(&key(plugin)).copied().unwrap_or(Trust::Embedded);
        let hash = (trust != Trust::Own).then(|| Hash::new(&content_digest(plugin)));
        let name = plugin.name.to_string();
        Item { entry: Entry { kind: Kind::Plugin, name, source, hash }, trust }
    }

    /// A skill whose content has this hash.
    #[must_use]
    pub fn skill(&self, skill: &Skill, hash: Hash) -> Item {
        let source = self.origin(&skill.origin, &skill.dir, Utf8Path::new(""));
        let vouched = skill.plugins().any(|it| self.vouches(&it.name, &it.origin));
        let trust = trust_of(&skill.origin, vouched);
        let (name, hash) = (skill.name.to_string(), (trust != Trust::Own).then_some(hash));
        Item { entry: Entry { kind: Kind::Skill, name, source, hash }, trust }
    }

    /// The agent of this name that `file` in that directory defines, with a content of this hash.
    #[must_use]
    pub fn agent(&self, name: &str, dir: &AgentDir, file: &Utf8Path, hash: Hash) -> Item {
        let source = self.origin(&dir.origin, &dir.dir, &last(file));
        let trust = self.trust_in(dir);
        let (name, hash) = (name.to_owned(), (trust != Trust::Own).then_some(hash));
        Item { entry: Entry { kind: Kind::Agent, name, source, hash }, trust }
    }

    /// Who stands for the agents of a directory.
    #[must_use]
    pub fn trust_in(&self, dir: &AgentDir) -> Trust {
        trust_of(&dir.origin, self.vouches(&dir.plugin.name, &dir.plugin.origin))
    }

    /// The whole repository that an item comes from, which is in this tree. What it is recorded for is that its commit
    /// means this content, whoever stands for the parts.
    #[must_use]
    pub fn tree(item: &Entry, now: &TreeNow) -> Option<Item> {
        let path = Utf8PathBuf::from(".");
        let (name, source) = match &item.source {
            Source::Registry { name, from: from @ RegistryFrom::Git { .. }, .. } => {
                (name, Source::Registry { name: name.clone(), from: from.clone(), path })
            }
            Source::Git { url, commit, .. } => {
                (url, Source::Git { url: url.clone(), commit: commit.clone(), path })
            }
            Source::Registry { .. } | Source::Workspace { .. } | Source::Crate { .. } => {
                return None;
            }
        };
        let (name, hash) = (name.clone(), Some(Hash::parse(&now.digest)?));
        Some(Item { entry: Entry { kind: Kind::Tree, name, source, hash }, trust: Trust::Vouched })
    }

    /// The tree in our cache that something is in.
    #[must_use]
    pub fn tree_around(&self, dir: &Utf8Path) -> Option<Utf8PathBuf> {
        self.trees.get_or_init(|| self.registries.checkouts.trees()).around(dir)
    }

    /// What is in such a tree now.
    pub fn look(&self, tree: &Utf8Path) -> Result<TreeNow, AcquireError> {
        self.registries.checkouts.look(tree)
    }

    /// Where an active plugin is.
    #[must_use]
    pub fn dir(&self, wanted: &PluginKey) -> Option<&Utf8Path> {
        self.active(wanted).map(Plugin::dir)
    }

    fn active(&self, (name, origin): &PluginKey) -> Option<&'a Plugin> {
        self.set.active().find(|plugin| (&plugin.name, &plugin.origin) == (name, origin))
    }

    /// Something in a directory that comes from there.
    fn origin(&self, origin: &SkillOrigin, dir: &Utf8Path, file: &Utf8Path) -> Source {
        match origin {
            SkillOrigin::Member { path } => Source::Workspace { path: below(path, file) },
            SkillOrigin::Path { registry, path } => self.registry(registry, below(path, file)),
            SkillOrigin::Crate { name, version } => self.krate(name, &version.to_string(), dir),
            SkillOrigin::Git { url, commit, path } => {
                Source::Git { url: url.clone(), commit: commit.clone(), path: below(path, file) }
            }
        }
    }

    /// An installed program. A fetched tree has a hash; what cargo builds has none, because it differs from machine to machine and
    /// cargo verifies what it is built from. `None` for what was there before us.
    #[must_use]
    pub fn installation(
        plugin: &str,
        name: &str,
        installation: &Installation,
        installed: &Installed,
    ) -> Option<Entry> {
        use agents_install::Source as Recipe;
        let commit = || installed.commit.clone();
        let source = match installation.source.as_ref()? {
            Recipe::Cargo { name, git, .. } => Source::Crate {
                name: name.clone(),
                version: installed.version.clone()?,
                from: match git {
                    Some(url) => {
                        CrateFrom::Git { url: redacted(url), commit: commit().unwrap_or_default() }
                    }
                    None => CrateFrom::CratesIo,
                },
            },
            Recipe::Git { url } => {
                Source::Git { url: redacted(url), commit: commit()?, path: ".".into() }
            }
        };
        let name = format!("{plugin}/{name}");
        let hash = installed.tree.as_deref().and_then(Hash::parse);
        Some(Entry { kind: Kind::Installation, name, source, hash })
    }

    /// What applies, or may, but is not on this machine; `skipped` are the skills and agents that were not fetched.
    #[must_use]
    pub fn unseen<'s>(&self, skipped: impl IntoIterator<Item = &'s Skipped>) -> Unseen {
        let registries = self.set.catalog.registries.iter().filter_map(|report| {
            let name = &report.spec.name;
            (report.state == RegistryState::NotFetched).then(|| format!("registry `{name}`"))
        });
        let skills = skipped.into_iter().filter(|it| it.why == Why::NotFetched);
        let skills = skills.map(|it| format!("{} of `{}`", it.what, it.plugin));
        let mut words: Vec<String> = registries.chain(skills).collect();
        let everything = !words.is_empty();
        let mut crates: BTreeSet<String> = BTreeSet::new();
        for wanted in &self.set.wanted {
            words.push(format!("crate `{}`", wanted.name));
            crates.insert(wanted.name.to_string());
        }
        for package in &self.workspace.packages {
            if self.registries.workspaces.source_on_disk(self.workspace, package).is_none() {
                words.push(format!("the sources of {} {}", package.name, package.version));
                crates.insert(package.name.to_string());
            }
        }
        words.sort();
        words.dedup();
        Unseen { words, everything, crates }
    }

    fn vouches(&self, name: &PluginName, origin: &Origin) -> bool {
        self.trust.get(&(name.clone(), origin.clone())) == Some(&Trust::Vouched)
    }

    fn registry(&self, name: &str, path: Utf8PathBuf) -> Source {
        let known = self.places.borrow().get(name).cloned();
        let from = known.unwrap_or_else(|| self.place_of(name));
        self.places.borrow_mut().insert(name.to_owned(), from.clone());
        // Only a skill that lies outside of its registry has one, and that place is this machine's own.
        let path = match path.is_absolute() {
            true => self.inside(&path).unwrap_or_else(|| last(&path)),
            false => path,
        };
        Source::Registry { name: name.to_owned(), from, path }
    }

    fn place_of(&self, name: &str) -> RegistryFrom {
        let spec = self.registries.config.registries.iter().find(|spec| spec.name == name);
        match spec.map(|spec| &spec.place) {
            Some(RegistryPlace::Git(url)) => {
                let address = GitAddress::parse(url).ok();
                let checkout = address.and_then(|it| self.registries.checkouts.current(&it));
                let commit = checkout.map(|it| it.commit).unwrap_or_default();
                RegistryFrom::Git { url: redacted(url), commit }
            }
            Some(RegistryPlace::Path(dir)) => RegistryFrom::Path(self.inside(dir)),
            None => RegistryFrom::Path(None),
        }
    }

    fn within_registry(&self, plugin: &Plugin) -> Utf8PathBuf {
        let roots = self.set.catalog.registries.iter().filter_map(|report| match &report.state {
            RegistryState::Read(dir) => Some(dir),
            _ => None,
        });
        let mut paths = roots.filter_map(|dir| plugin.file.strip_prefix(dir).ok());
        paths.next().map_or_else(|| last(&plugin.file), slashed)
    }

    fn krate(&self, name: &CrateName, version: &str, dir: &Utf8Path) -> Source {
        let package = self
            .workspace
            .packages
            .iter()
            .find(|package| package.name == *name && package.version.to_string() == version);
        let from = match package.map(|package| &package.source) {
            Some(PackageSource::Path { dir }) => CrateFrom::Path(self.inside(dir)),
            Some(source @ PackageSource::Registry { id }) => match source.is_crates_io() {
                true => CrateFrom::CratesIo,
                false => CrateFrom::Index(id.strip_prefix("registry+").unwrap_or(id).to_owned()),
            },
            Some(PackageSource::Git { id }) => {
                let id = id.strip_prefix("git+").unwrap_or(id);
                let (url, commit) = id.split_once('#').unwrap_or((id, ""));
                CrateFrom::Git { url: redacted(url), commit: commit.to_owned() }
            }
            // A crate that no member depends on directly; cargo unpacks what it has fetched below its home.
            None => match self.registries.workspaces.cargo.home() {
                Some(home) if !dir.starts_with(home) => CrateFrom::Path(self.inside(dir)),
                _ => CrateFrom::CratesIo,
            },
        };
        Source::Crate { name: name.to_string(), version: version.to_owned(), from }
    }

    /// Relative to the workspace, if it is inside.
    fn inside(&self, path: &Utf8Path) -> Option<Utf8PathBuf> {
        let real = |path: &Utf8Path| path.canonicalize_utf8().unwrap_or_else(|_| path.to_owned());
        let (path, root) = (real(path), real(&self.workspace.root));
        Some(slashed(path.strip_prefix(root).ok()?))
    }
}

/// Who stands for each plugin. One that another brings along is as trusted as that one.
fn trust_in(set: &ActiveSet) -> BTreeMap<PluginKey, Trust> {
    let mut trust: BTreeMap<PluginKey, Trust> = BTreeMap::new();
    let mut chained = Vec::new();
    for it in set.considered() {
        let plugin = it.plugin;
        let known = match (&plugin.origin, it.state) {
            (_, State::Inactive(_)) => continue,
            (Origin::BuiltIn | Origin::Registry(_), _) => Trust::Vouched,
            (Origin::Member(_), _) => Trust::Own,
            (Origin::Crate(..), State::Active(Cause::Chained(by))) => {
                chained.push((key(plugin), by.clone()));
                Trust::Embedded
            }
            (Origin::Crate(..), State::Active(_)) => Trust::Embedded,
        };
        trust.insert(key(plugin), known);
    }
    // Each round carries the word of a registry one link further.
    for _ in 0..chained.len() {
        for (key, by) in &chained {
            let vouched =
                trust.iter().any(|((name, _), it)| name.as_str() == by && *it == Trust::Vouched);
            if vouched {
                trust.insert(key.clone(), Trust::Vouched);
            }
        }
    }
    trust
}

fn trust_of(origin: &SkillOrigin, is_vouched: bool) -> Trust {
    match origin {
        SkillOrigin::Member { .. } => Trust::Own,
        _ if is_vouched => Trust::Vouched,
        _ => Trust::Embedded,
    }
}

fn key(plugin: &Plugin) -> PluginKey {
    (plugin.name.clone(), plugin.origin.clone())
}

/// What a plugin says, and the files of its own that it runs, as a tree that can be kept and shown. Of a `Cargo.toml` only our own
/// table counts, so that a crate whose version is all that changed says the same as before.
fn content(plugin: &Plugin) -> SkillTree {
    let mut files: BTreeMap<Utf8PathBuf, Vec<u8>> = BTreeMap::new();
    let own = match &plugin.origin {
        Origin::Crate(..) => {
            let text = regular::read_text(&plugin.dir().join("Cargo.toml")).ok().flatten();
            let root = text.and_then(|text| toml::from_str::<toml::Table>(&text).ok());
            let table = root.and_then(|root| {
                let table = root.get("package")?.get("metadata")?.get("symposium")?;
                serde_json::to_vec_pretty(table).ok()
            });
            files.extend(table.map(|table| ("Cargo.toml".into(), table)));
            plugin.dir().join(MANIFEST_FILE)
        }
        _ => plugin.file.clone(),
    };
    if let Some(bytes) = regular_file(&own) {
        files.insert(last(&own), bytes);
    }
    for path in own_programs(plugin) {
        if let Some(bytes) = regular_file(&plugin.dir().join(&path)) {
            files.entry(slashed(&path)).or_insert(bytes);
        }
    }
    let entry = |(path, bytes)| {
        // Git and cargo do not carry modes to every machine.
        TreeEntry { path, kind: TreeKind::File { mode: Mode::Plain, bytes } }
    };
    SkillTree { entries: files.into_iter().map(entry).collect() }
}

/// The bytes of a file of a plugin, if it is one and can be read: nobody waits for a pipe. However large: what runs must count.
fn regular_file(file: &Utf8Path) -> Option<Vec<u8>> {
    regular::read_at_most(file, u64::MAX).ok().flatten()
}

/// The digest of a plugin's [`content`]. Most plugins are one manifest that was read when they were loaded, or looks as it did
/// then; its digest is known, and it is that of what counts in this run, even if somebody writes the file meanwhile.
fn content_digest(plugin: &Plugin) -> Digest {
    let text = plugin.text_digest().filter(|_| own_programs(plugin).is_empty());
    match text {
        Some(text) => SkillTree::digest_of_file(&last(&plugin.file), text),
        None => content(plugin).digest(),
    }
}

/// The files beside its manifest that a plugin runs.
fn own_programs(plugin: &Plugin) -> Vec<Utf8PathBuf> {
    use agents_install::Entry::{Executable, Script};
    let Ok(manifest) = plugin.manifest() else { return Vec::new() };
    let of = |it: &Installation| match (&it.source, &it.entry) {
        (None, Some(Executable(path) | Script(path))) => Some(Utf8PathBuf::from(path)),
        _ => None,
    };
    // What stands elsewhere is the machine's, and differs from one to the next.
    manifest.installations.values().filter_map(of).filter(|path| path.is_relative()).collect()
}

fn redacted(url: &str) -> String {
    GitAddress::parse(url).map_or_else(
        |_| url.to_owned(),
        |address| {
            let tree = address.tree().map(|tree| format!("/tree/{tree}")).unwrap_or_default();
            format!("{}{tree}", address.redacted_url())
        },
    )
}

/// A file in a directory, or the directory itself.
fn below(dir: &Utf8Path, file: &Utf8Path) -> Utf8PathBuf {
    match file.as_str() {
        "" => dir.to_owned(),
        _ if dir.is_absolute() => dir.join(file),
        _ => slashed(&dir.join(file)),
    }
}

fn last(path: &Utf8Path) -> Utf8PathBuf {
    path.file_name().unwrap_or(".").into()
}

/// With `/` between the parts, on every platform; `.` for nothing.
fn slashed(path: &Utf8Path) -> Utf8PathBuf {
    let parts: Vec<&str> = path.components().map(|part| part.as_str()).collect();
    if parts.is_empty() { ".".into() } else { parts.join("/").into() }
}

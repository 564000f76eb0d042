//! A directory that is searched for skills, and what is known about whatever is found there.

use std::{collections::HashMap, io, path::PathBuf};

use agents_install::{Update, git::GitAddress};
use agents_system::finding::{Finding, Place};
use agents_workspace::{CrateName, Workspace};
use camino::{Utf8Component, Utf8Path, Utf8PathBuf};
use semver::Version;

use super::{Fetch, SkillOrigin, crates::not_fetched, within::Within};
use crate::{
    catalog::{Catalog, Registries, RegistryState},
    config::RegistryPlace,
    manifest::ContentKind,
    plugin::{Origin, Plugin},
};

/// A directory to search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Area {
    /// The tree that no link leads out of.
    pub(super) within: Within,
    /// The directory, as it really is.
    pub(super) dir: Utf8PathBuf,
    pub(super) whose: Whose,
}

/// Whose skills they are. Each `root` is what their paths are relative to, as it really is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Whose {
    Crate { name: CrateName, version: Version },
    Git { url: String, commit: String, root: Utf8PathBuf },
    Registry { name: String, root: Utf8PathBuf },
    Member { root: Utf8PathBuf },
}

impl Whose {
    /// The origin of the skill in `dir`.
    pub(super) fn origin(&self, dir: &Utf8Path) -> SkillOrigin {
        match self.clone() {
            Self::Crate { name, version } => SkillOrigin::Crate { name, version },
            Self::Git { url, commit, root } => {
                SkillOrigin::Git { url, commit, path: relative(&root, dir) }
            }
            Self::Registry { name: registry, root } => {
                SkillOrigin::Path { registry, path: relative(&root, dir) }
            }
            Self::Member { root } => SkillOrigin::Member { path: relative(&root, dir) },
        }
    }
}

fn relative(root: &Utf8Path, dir: &Utf8Path) -> Utf8PathBuf {
    match dir.strip_prefix(root) {
        Ok(path) if path.as_str().is_empty() => ".".into(),
        Ok(path) => {
            path.components().map(|part| part.as_str()).collect::<Vec<_>>().join("/").into()
        }
        Err(_) => dir.to_owned(),
    }
}

/// The directory `path` of a plugin.
pub(super) fn of_path(
    plugin: &Plugin,
    path: &str,
    catalog: &Catalog,
    workspace: Option<&Workspace>,
    reals: &mut Reals,
    what: ContentKind,
) -> Result<Area, Box<Finding>> {
    let at = |finding: Finding| Box::new(finding.at(Place::file(&plugin.file)));
    let what = what.word();
    let missing = || at(Finding::warning(format!("there is no directory `{path}` for {what}")));
    let Some(ground) = Ground::of(plugin, catalog, workspace, reals) else { return Err(missing()) };
    let wanted = plugin.dir().join(path);
    let real = match reals.directory(&wanted) {
        Ok(Some(real)) => real,
        Ok(None) => return Err(missing()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(missing()),
        Err(error) => return Err(Box::new(crate::scan::unreadable(&wanted, &error))),
    };
    let mut trees = vec![ground.root.clone()];
    if ground.roams == Roams::Anywhere {
        // A plugin that is linked into the user's own registry lives elsewhere, and so may what it names.
        trees.push(plugin.dir().to_owned());
        if !lexical(&wanted).starts_with(lexical(&ground.root)) {
            trees.push(real.clone());
        }
    }
    for tree in trees {
        let root = reals.of(&tree);
        let root = root.map_err(|error| Box::new(crate::scan::unreadable(&tree, &error)))?;
        if real.starts_with(&root) {
            return Ok(Area { within: Within::at(root), dir: real, whose: ground.whose });
        }
    }
    let message = format!("`{path}` leads out of `{}`; its {what} are left out", ground.root);
    let hint = format!("keep the {what} beside the manifest that names them");
    Err(at(Finding::warning(message).hint(hint)))
}

/// The real paths of directories, each found out once: all plugins of a registry share its root.
#[derive(Debug, Default)]
pub(super) struct Reals(HashMap<PathBuf, Utf8PathBuf>);

impl Reals {
    /// The real path of what is probably a directory in one that was asked for before; `None` if it is none.
    fn directory(&mut self, path: &Utf8Path) -> io::Result<Option<Utf8PathBuf>> {
        if let Some(real) = self.plain_directory(path) {
            return Ok(Some(real));
        }
        let real = path.canonicalize_utf8()?;
        Ok(real.is_dir().then_some(real))
    }

    /// The same if it is one and no link. Elsewhere the real path may be spelt in another way, too.
    fn plain_directory(&mut self, path: &Utf8Path) -> Option<Utf8PathBuf> {
        let Some(Utf8Component::Normal(name)) = path.components().next_back() else { return None };
        let parent = path.parent().filter(|_| cfg!(target_os = "linux"))?;
        let real = match self.0.get(parent.as_std_path()) {
            Some(real) => real.join(name),
            None => self.plain_directory(parent)?.join(name),
        };
        real.symlink_metadata().is_ok_and(|data| data.is_dir()).then_some(real)
    }

    fn of(&mut self, dir: &Utf8Path) -> io::Result<Utf8PathBuf> {
        if let Some(real) = self.0.get(dir.as_std_path()) {
            return Ok(real.clone());
        }
        let real = dir.canonicalize_utf8()?;
        self.0.insert(dir.as_std_path().to_owned(), real.clone());
        Ok(real)
    }
}

/// Where the paths of a plugin may lead.
struct Ground {
    root: Utf8PathBuf,
    roams: Roams,
    whose: Whose,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Roams {
    Inside,
    /// The user's own directory: they may name what they like.
    Anywhere,
}

impl Ground {
    fn of(
        plugin: &Plugin,
        catalog: &Catalog,
        workspace: Option<&Workspace>,
        reals: &mut Reals,
    ) -> Option<Self> {
        let mut real = |dir: &Utf8Path| reals.of(dir).unwrap_or_else(|_| dir.to_owned());
        match &plugin.origin {
            Origin::BuiltIn => None,
            Origin::Registry(name) => {
                let (spec, root) = catalog.registries.iter().find_map(|report| {
                    let RegistryState::Read(dir) = &report.state else { return None };
                    let own = report.spec.name == *name && plugin.file.starts_with(dir);
                    own.then_some((&report.spec, dir))
                })?;
                let roams = match spec.place {
                    RegistryPlace::Path(_) => Roams::Anywhere,
                    RegistryPlace::Git(_) => Roams::Inside,
                };
                let whose = Whose::Registry { name: name.clone(), root: real(root) };
                Some(Self { root: root.clone(), roams, whose })
            }
            Origin::Member(_) => {
                let base = workspace.map_or(plugin.dir(), |workspace| &workspace.root);
                // A member may lie beside its workspace.
                let root = if plugin.dir().starts_with(base) { base } else { plugin.dir() };
                let whose = Whose::Member { root: real(base) };
                Some(Self { root: root.to_owned(), roams: Roams::Inside, whose })
            }
            Origin::Crate(name, version) => {
                let whose = Whose::Crate { name: name.clone(), version: version.clone() };
                Some(Self { root: plugin.dir().to_owned(), roams: Roams::Inside, whose })
            }
        }
    }
}

/// The path without `.` and `..`, links not followed.
fn lexical(path: &Utf8Path) -> Utf8PathBuf {
    let mut plain = Utf8PathBuf::new();
    for part in path.components() {
        match part {
            Utf8Component::CurDir => {}
            Utf8Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}

/// What a git address leads to.
pub(super) struct Fetched {
    /// `None` if it is not on this machine and may not be fetched.
    pub(super) area: Option<Area>,
    pub(super) findings: Vec<Finding>,
}

/// The checkout of a git repository.
pub(super) fn of_git(
    url: &str,
    plugin: &Plugin,
    registries: Registries<'_>,
    fetch: Fetch,
    what: ContentKind,
) -> Result<Fetched, Box<Finding>> {
    let at = |finding: Finding| Box::new(finding.at(Place::file(&plugin.file)));
    let address = GitAddress::parse(url)
        .map_err(|error| at(Finding::warning(error.to_string()).advised_by(&error)))?;
    let checkout = match registries.checkouts.current(&address) {
        Some(checkout) => checkout,
        None if fetch == Fetch::Never => {
            return Ok(Fetched {
                area: None,
                findings: vec![not_fetched(what, &format!("{address}"))],
            });
        }
        None => registries.checkouts.checkout(&address, Update::None).map_err(|error| {
            let what = what.word();
            let message = format!("the {what} of {address} could not be fetched: {error}");
            at(Finding::warning(message).advised_by(&error))
        })?,
    };
    // The address may mean a directory of the repository, and a link may lead to another one.
    let mut ours = checkout.dir.ancestors().take_while(|dir| *dir != registries.dirs.cache);
    let top = ours.find(|dir| dir.join(".git").exists());
    let within = Within::new(top.unwrap_or(&checkout.dir));
    let entered = within.and_then(|within| Ok((checkout.dir.canonicalize_utf8()?, within)));
    let (dir, within) =
        entered.map_err(|error| Box::new(crate::scan::unreadable(&checkout.dir, &error)))?;
    let whose = Whose::Git {
        url: address.redacted_url(),
        commit: checkout.commit,
        root: within.root().to_owned(),
    };
    Ok(Fetched { area: Some(Area { within, dir, whose }), findings: checkout.findings })
}

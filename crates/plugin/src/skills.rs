//! From the active set to concrete skills on disk.
//!
//! | a group's `source` | its skills are in |
//! |---|---|
//! | `path` | a directory beside the manifest |
//! | `git` | our checkout of a repository |
//! | `"crate"` | the crates that the gates of plugin and group match, at the versions of this workspace (`crates`) |
//!
//! For the last one: the gates name the crates (`union_matched_crates`), cargo has their sources (`sources`), the
//! crates say where in them their skills are (`crates`), every `SKILL.md` there is one (`discover`), and what is in it
//! is remembered until it changes (`inventory`). What a crate
//! that the user agreed to embeds, and what a workspace member keeps in `skills/` or `.agents/skills/`, is a
//! plugin with `path` groups like any other.
//!
//! Nothing that a file says decides where we write: a [`SkillName`] is a plain word, and no link leads out
//! of the tree that a skill comes from (`within`). Loading never fails; what is wrong is a finding, what does
//! not apply is [`Skipped`].

pub mod agents;
mod area;
mod crates;
mod discover;
mod gather;
mod inventory;
mod name;
mod origin;
mod sources;
mod tree;
mod within;

use std::fmt;

use agents_system::{finding::Finding, memory::Watch};
use agents_workspace::Workspace;
use camino::{Utf8DirEntry, Utf8Path, Utf8PathBuf};

pub use inventory::Content;
pub(crate) use inventory::named;
pub use name::{BadSkillName, SkillName};
pub use origin::SkillOrigin;
pub use tree::{MAX_BYTES, MAX_ENTRIES, Mode, SkillTree, TreeEntry, TreeKind, content_of};

use self::{gather::Gather, inventory::Inventories, sources::Locator};
use crate::{
    active::ActiveSet,
    catalog::{Catalog, Registries},
    manifest::{ContentKind, PluginName},
    plugin::{Origin, Plugin},
    predicate::{Gate, Matched, Surroundings, evaluate::Asker},
    probes::Acquire,
};

/// The file that marks a skill which we installed; its directory is not a source of skills.
pub const MARKER: &str = ".symposium";

/// A skill that applies here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// Its name.
    pub name: SkillName,
    /// When an agent should use it; empty only for a skill of the workspace itself.
    pub description: String,
    /// Its directory, as it really is.
    pub dir: Utf8PathBuf,
    /// The tree that it comes from, as it really is; no link in it leads out of that.
    pub root: Utf8PathBuf,
    /// What tells it apart from others of its name.
    pub origin: SkillOrigin,
    /// The plugin that brings it; if there are several, the one that takes precedence.
    pub plugin: Contributor,
    /// The others that bring it as well.
    pub also: Vec<Contributor>,
    /// Its own gate, which holds.
    pub gate: Gate,
    /// The crates that make it apply.
    pub because: Vec<Matched>,
    /// What it consists of, in short.
    pub content: Content,
}

/// A plugin that brings a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contributor {
    /// Its name.
    pub name: PluginName,
    /// Where it comes from.
    pub origin: Origin,
}

/// The skills that apply here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Skills {
    /// The skills, by name and origin.
    pub skills: Vec<Skill>,
    /// What there would have been.
    pub skipped: Vec<Skipped>,
    /// The gates of skills that were asked and run programs, whether they hold or not.
    pub asked: Vec<(Contributor, Gate)>,
    /// What there is to say.
    pub findings: Vec<Finding>,
}

/// Something that brings nothing here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// The plugin that it belongs to.
    pub plugin: PluginName,
    /// What it is, in a few words.
    pub what: String,
    /// Why it brings nothing.
    pub why: Why,
}

/// Why something brings nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Why {
    /// The gate of its group does not hold.
    GroupGate,
    /// The skill's own gate does not hold.
    SkillGate,
    /// It comes with the workspace, its gate runs a program, and nobody has agreed to that.
    WouldRun,
    /// It is not on this machine, and nothing was to be fetched.
    NotFetched,
    /// The crate says that it has no skills.
    OptedOut,
    /// There is no skill where skills would be.
    NoSkills,
    /// There is no directory where agents would be.
    NoAgents,
    /// `[plugins] disable` names the crate.
    Disabled,
    /// `agents-syncing` is off, and it is in `.agents/skills`.
    SyncingOff,
}

/// Whether what is not on this machine may be fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fetch {
    /// Never: neither cargo nor git is started.
    Never,
    /// If it is missing.
    IfMissing,
}

impl Skill {
    /// The plugins that bring it, in order of precedence.
    pub fn plugins(&self) -> impl Iterator<Item = &Contributor> {
        std::iter::once(&self.plugin).chain(&self.also)
    }

    /// The name of its directory where the plain name is taken.
    #[must_use]
    pub fn suffixed_name(&self) -> String {
        format!("{}-{}", self.name, self.origin.suffix())
    }

    /// What it consists of, now.
    #[must_use]
    pub fn read(&self) -> (Option<SkillTree>, Vec<Finding>) {
        SkillTree::read(&self.dir, &self.root)
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::GroupGate => "the gate of its group does not hold",
            Self::SkillGate => "its own gate does not hold",
            Self::WouldRun => "its gate would run a program; `[plugins] use` allows that",
            Self::NotFetched => "it has not been fetched",
            Self::OptedOut => "the crate says that it has no skills",
            Self::NoSkills => "there are no skills in it",
            Self::NoAgents => "there are no agents in it",
            Self::Disabled => "`[plugins] disable` names it",
            Self::SyncingOff => "`agents-syncing` is off",
        })
    }
}

/// How the files end that define agents, the longest first.
const AGENT_SUFFIXES: [&str; 4] = [".agent.md", ".md", ".toml", ".json"];

/// The names of the directories with skills below `path` of a plugin, or of the files there that may define agents; nothing in
/// them is believed.
pub(crate) fn names_at(
    what: ContentKind,
    plugin: &Plugin,
    path: &str,
    catalog: &Catalog,
    workspace: Option<&Workspace>,
) -> Vec<String> {
    let reals = &mut area::Reals::default();
    let Ok(area) = area::of_path(plugin, path, catalog, workspace, reals, what) else {
        return Vec::new();
    };
    match what {
        ContentKind::Skills => {
            let found = discover::discover(&area, &mut Vec::new(), &mut Watch::new());
            found.iter().filter_map(|it| Some(it.dir.file_name()?.to_owned())).collect()
        }
        ContentKind::Agents => {
            let files = area.dir.read_dir_utf8().into_iter().flatten().flatten();
            let named = |file: Utf8DirEntry| {
                let mut suffixes = AGENT_SUFFIXES.iter();
                suffixes.find_map(|suffix| file.file_name().strip_suffix(suffix)).map(str::to_owned)
            };
            let mut names: Vec<String> = files.filter_map(named).collect();
            names.sort();
            names
        }
    }
}

/// The conditions of skills below `path` of a plugin, where they run programs.
pub(crate) fn asking_at(
    plugin: &Plugin,
    path: &str,
    catalog: &Catalog,
    workspace: Option<&Workspace>,
) -> Vec<Gate> {
    let (reals, what) = (&mut area::Reals::default(), ContentKind::Skills);
    let area = area::of_path(plugin, path, catalog, workspace, reals, what);
    area.map(|area| inventory::asking(&area)).unwrap_or_default()
}

impl Registries<'_> {
    /// The skills of every active plugin. `cwd` matters only outside a workspace.
    #[must_use]
    pub fn skills(
        &self,
        set: &ActiveSet,
        workspace: Option<&Workspace>,
        cwd: &Utf8Path,
        fetch: Fetch,
    ) -> Skills {
        let acquire = match fetch {
            Fetch::Never => Acquire::Never,
            Fetch::IfMissing => Acquire::IfMissing,
        };
        // What there is to say about predicates was said when the set was made.
        let (probes, _) = self.probes(&set.catalog, workspace, cwd, acquire);
        let here = Surroundings { workspace, probes: &probes, asker: Asker::Other };
        let locator = Locator::new(*self, workspace, cwd, fetch);
        let dir = workspace.map_or(cwd, |workspace| &workspace.root);
        let inventories = Inventories::load(&self.dirs.cache, dir);
        let what = ContentKind::Skills;
        Gather::new(*self, set, fetch, locator, inventories, here, what).gather()
    }
}

#[cfg(test)]
mod tests;

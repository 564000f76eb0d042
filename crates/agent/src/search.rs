//! Where agents may be, and in which order that counts.

use std::collections::{BTreeMap, BTreeSet};

use agents_host::{Host, HostId, Roots};
use agents_plugin::agents::{AgentDir, AgentDirs};
use agents_system::cache::{Digest, hex};
use camino::{Utf8Path, Utf8PathBuf};

use crate::{definition::Dialect, trust::Trusted};

/// Everything that decides which agents are found: plain data, so that a cached answer knows what it answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Search {
    /// What is looked for.
    pub folder: Folder,
    /// Where the user stands.
    pub cwd: Utf8PathBuf,
    /// The user's home directory. What is in it is the user's, never a project's.
    pub home: Utf8PathBuf,
    /// How far up project directories are looked for.
    pub climb: Climb,
    /// Files and directories that were named on the command line: the only ones that must be right.
    pub named: Vec<Utf8PathBuf>,
    /// The families, the first one first.
    pub families: Vec<Family>,
    /// What active plugins bring, the first one first.
    pub plugins: Vec<AgentDir>,
    /// Lists of installed plugins in the form of Claude Code; a later one replaces what an earlier one says about a plugin.
    pub plugin_lists: Vec<Utf8PathBuf>,
    /// Whether the agents in the program count.
    pub bundled: Bundled,
    /// The projects that the user trusts.
    pub trusted: Trusted,
    /// Files that are copies of agents found elsewhere.
    pub copies: Copies,
    /// What plugins bring and nobody has agreed to.
    pub held: Held,
}

/// Definitions of plugins that wait for somebody's word, and are nobody's agents until then.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Held {
    guarded: BTreeSet<Utf8PathBuf>,
    agreed: BTreeSet<(Utf8PathBuf, Digest)>,
    refused: BTreeSet<(Utf8PathBuf, Digest)>,
}

impl Held {
    /// In this directory only what was agreed to counts, whatever comes later.
    pub fn guard(&mut self, dir: &Utf8Path) {
        self.guarded.insert(dir.to_owned());
    }

    /// A file with this content was agreed to.
    pub fn agree(&mut self, file: &Utf8Path, content: Digest) {
        self.agreed.insert((file.to_owned(), content));
    }

    /// A file with this content was not, wherever it is.
    pub fn refuse(&mut self, file: &Utf8Path, content: Digest) {
        self.refused.insert((file.to_owned(), content));
    }

    pub(crate) fn holds(&self, file: &Utf8Path, content: &Digest) -> bool {
        let this = || (file.to_owned(), *content);
        let is_guarded = file.parent().is_some_and(|it| self.guarded.contains(it));
        (is_guarded && !self.agreed.contains(&this()))
            || (!self.refused.is_empty() && self.refused.contains(&this()))
    }
}

/// Files that were written as copies of agents for some host. As long as they are what was written they take no name: the agent
/// is the one that they were made of. One that somebody changed is an agent of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Copies(BTreeMap<Utf8PathBuf, Copy>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Copy {
    digest: String,
    from: String,
}

impl Copies {
    /// Adds one: its file, the digest of what was written in hexadecimal digits, and in words where it comes from.
    pub fn add(&mut self, file: &Utf8Path, digest: String, from: String) {
        let file = file.canonicalize_utf8().unwrap_or_else(|_| file.to_owned());
        self.0.insert(file, Copy { digest, from });
    }

    /// Where the agent in this file comes from, if it is an unchanged copy.
    pub(crate) fn origin(&self, file: &Utf8Path, digest: &Digest) -> Option<&str> {
        if self.0.is_empty() {
            return None;
        }
        let copy = self.0.get(file).or_else(|| self.0.get(&file.canonicalize_utf8().ok()?))?;
        (copy.digest == hex(digest)).then_some(copy.from.as_str())
    }
}

/// What is looked for: what directories of installed plugins are called.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Folder {
    /// Agents.
    #[default]
    Agents,
    /// Workflow commands.
    Commands,
}

impl Folder {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Agents => "agents",
            Self::Commands => "commands",
        }
    }
}

/// How far up project directories are looked for. Each family's nearest one counts; the home directory is never a project.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Climb {
    /// Up to the root of the repository; without one, up to the home directory or the root of the file system.
    #[default]
    ToRepository,
    /// Only where the user stands.
    Nowhere,
    /// Up to the home directory or the root of the file system, out of any repository.
    OutOfRepository,
}

/// Whether the agents in the program count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Bundled {
    /// They do, after all others.
    #[default]
    Included,
    /// They do not.
    Excluded,
}

/// One program's way of keeping agents: a directory in projects, one in the home, and how files are called there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Family {
    /// The host, or `agents` for what belongs to none.
    pub name: String,
    /// In a project, relative to a directory on the way up.
    pub project: Option<Utf8PathBuf>,
    /// In the home.
    pub user: Option<Utf8PathBuf>,
    /// Which files are definitions.
    pub files: Vec<FileKind>,
}

/// Files whose names end like this are written like that.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileKind {
    /// How the name ends, the dot included. The longest that fits counts.
    pub suffix: String,
    /// How they are written.
    pub dialect: Dialect,
}

/// The family that belongs to no host.
pub const OWN_FAMILY: &str = "agents";

/// Hosts whose directories come before those of all others, in this order: oh-my-pi's own precedence.
const FIRST: &[&str] = &["claude", "codex", "gemini"];

/// Then these, and after them whatever else there is.
const THEN: &[&str] = &["copilot", "opencode", "cursor", "kiro", "qwen", "factory", "goose"];

/// All families in order: `.agents`, `.omp`, then the hosts.
#[must_use]
pub fn families(hosts: &[Host], roots: &Roots<'_>) -> Vec<Family> {
    let markdown = |dialect| vec![FileKind { suffix: ".md".to_owned(), dialect }];
    let mut all = vec![
        Family {
            name: OWN_FAMILY.to_owned(),
            project: Some(".agents/agents".into()),
            user: Some(roots.home.join(".agents/agents")),
            files: markdown(Dialect::Ours),
        },
        // It has no descriptor: it is not among the programs that we configure.
        Family {
            name: "omp".to_owned(),
            project: Some(".omp/agents".into()),
            user: Some(roots.home.join(".omp/agent/agents")),
            files: markdown(Dialect::OhMyPi),
        },
    ];
    let rank = |host: &Host| {
        let id = host.id.as_str();
        let at = FIRST.iter().chain(THEN).position(|known| *known == id);
        at.unwrap_or(FIRST.len() + THEN.len())
    };
    let mut hosts: Vec<&Host> = hosts.iter().collect();
    hosts.sort_by_key(|host| rank(host));
    for host in hosts {
        let Some(agents) = host.agents.get() else { continue };
        let home = host.home_dir(roots);
        let project = agents.project.as_ref().map(|path| path.as_path().to_owned());
        all.push(Family {
            name: host.id.to_string(),
            // Antigravity's is our own.
            project: project.filter(|path| path != ".agents/agents"),
            user: agents.user.as_ref().and_then(|path| path.resolve(roots, &home)),
            files: files_of(&host.id, &agents.suffix),
        });
    }
    all.push(Family {
        name: "zeph".to_owned(),
        project: Some(".zeph/agents".into()),
        user: Some(config_home(roots).join("zeph/agents")),
        files: markdown(Dialect::Zeph),
    });
    all
}

fn config_home(roots: &Roots<'_>) -> Utf8PathBuf {
    roots.variable("XDG_CONFIG_HOME").unwrap_or_else(|| roots.home.join(".config"))
}

fn files_of(host: &HostId, suffix: &str) -> Vec<FileKind> {
    let own = Dialect::of_host(host);
    let mut files = vec![FileKind { suffix: suffix.to_owned(), dialect: own }];
    if suffix != ".md" {
        // Every family may hold Markdown: oh-my-pi reads it in all of them, Kiro's editor in its own.
        let dialect = match own {
            Dialect::Copilot => Dialect::Copilot,
            _ => Dialect::OhMyPi,
        };
        files.push(FileKind { suffix: ".md".to_owned(), dialect });
    }
    files
}

impl Search {
    /// The search from a directory with everything that is usual, and no plugins yet.
    #[must_use]
    pub fn new(cwd: &Utf8Path, hosts: &[Host], roots: &Roots<'_>) -> Self {
        let claude = hosts.iter().find(|host| host.id.as_str() == "claude");
        Self {
            folder: Folder::Agents,
            cwd: cwd.to_owned(),
            home: roots.home.to_owned(),
            climb: Climb::default(),
            named: Vec::new(),
            families: families(hosts, roots),
            plugins: Vec::new(),
            plugin_lists: claude
                .map(|host| host.home_dir(roots))
                .into_iter()
                .chain([roots.home.join(".omp")])
                .map(|home| home.join("plugins/installed_plugins.json"))
                .collect(),
            bundled: Bundled::default(),
            trusted: Trusted::default(),
            copies: Copies::default(),
            held: Held::default(),
        }
    }

    /// The search for nothing but what is in `.agents/agents`, of the project and of the user.
    #[must_use]
    pub fn own_only(cwd: &Utf8Path, roots: &Roots<'_>) -> Self {
        let families = families(&[], roots).into_iter().filter(|it| it.name == OWN_FAMILY);
        let nothing = Self::plugins_only(cwd, roots.home, &AgentDirs::default());
        Self { climb: Climb::ToRepository, families: families.collect(), ..nothing }
    }

    /// The search for nothing but what the active set brings.
    #[must_use]
    pub fn plugins_only(cwd: &Utf8Path, home: &Utf8Path, dirs: &AgentDirs) -> Self {
        Self {
            folder: Folder::Agents,
            cwd: cwd.to_owned(),
            home: home.to_owned(),
            climb: Climb::Nowhere,
            named: Vec::new(),
            families: Vec::new(),
            plugins: dirs.dirs.clone(),
            plugin_lists: Vec::new(),
            bundled: Bundled::Excluded,
            trusted: Trusted::default(),
            copies: Copies::default(),
            held: Held::default(),
        }
    }

    /// With what the active set brings.
    #[must_use]
    pub fn with_plugins(mut self, dirs: &AgentDirs) -> Self {
        self.plugins.clone_from(&dirs.dirs);
        self
    }
}

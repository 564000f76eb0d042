//! Plugin manifests: what `SYMPOSIUM.toml`, `[package.metadata.symposium]` or a bare `SKILL.md` says.
//!
//! The types here are what is left after everything has been checked: references resolve, inline
//! installations have names, texts are within their limits. [`parse`] is the only way to make them.

mod contributions;
mod crate_metadata;
mod gates;
mod groups;
mod hooks;
mod installations;
mod merge;
pub mod parse;
mod sandbox;
mod subcommands;

use std::{collections::BTreeMap, fmt};

use agents_install::{InstallationName, Installations};
use agents_workspace::CrateName;
use serde::{Deserialize, Serialize};

use crate::predicate::{Gate, PredicateName, Requirement};

pub use crate_metadata::{CrateSkills, SkillEntry};
pub use hooks::{EVENTS, HOSTS, WITHOUT_HOOKS};
pub use parse::{Manner, Parsed};
pub use sandbox::Needs;
pub use subcommands::RESERVED;

/// The file that makes a directory a plugin.
pub const MANIFEST_FILE: &str = "SYMPOSIUM.toml";

/// The longest description of a subcommand or a skill, in characters.
pub const MAX_DESCRIPTION: usize = 1024;

/// The longest name of a plugin or a subcommand, in characters.
pub const MAX_NAME: usize = 64;

/// A checked manifest.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The plugin's name.
    pub name: PluginName,
    /// When the plugin applies.
    pub gate: Gate,
    /// Its installations, the promoted inline ones included.
    pub installations: Installations,
    /// What hosts run at certain moments.
    pub hooks: Vec<Hook>,
    /// Where its skills are.
    pub skills: Vec<ContentGroup>,
    /// Where its agents are.
    pub agents: Vec<ContentGroup>,
    /// Its MCP servers.
    pub mcp_servers: Vec<McpServer>,
    /// The `cargo agents <name>` commands that it adds.
    pub subcommands: BTreeMap<SubcommandName, Subcommand>,
    /// The predicates that it defines.
    pub predicates: Vec<CustomPredicate>,
    /// The plugins that it brings along.
    pub chained: Vec<Chained>,
    /// Whether the default `skills/` directory counts, for manifests of crates and members.
    pub default_skills: DefaultSkills,
    /// What its programs need when they are confined.
    pub sandbox: Needs,
    /// The older way for a crate to say where its skills are.
    pub crate_skills: CrateSkills,
}

/// The name of a plugin.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PluginName(String);

/// The name of a subcommand: letters, digits, `-` and `_`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SubcommandName(String);

/// A `cargo agents <name>` command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subcommand {
    /// One line for the help.
    pub description: String,
    /// In which section of the help it stands.
    pub audience: Audience,
    /// What runs.
    pub command: InstallationName,
    /// When it applies, besides the plugin's own gate.
    pub gate: Gate,
}

/// For whom a command is. It only decides about the place in the help.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Audience {
    /// People.
    Humans,
    /// Coding agents.
    #[default]
    Agents,
}

/// What a group holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentKind {
    /// Skills.
    Skills,
    /// Agents.
    Agents,
}

impl ContentKind {
    /// As manifests write it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Skills => "skills",
            Self::Agents => "agents",
        }
    }

    fn one(self) -> &'static str {
        match self {
            Self::Skills => "a skill",
            Self::Agents => "an agent",
        }
    }
}

/// A group of skills, or of agents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContentGroup {
    /// When it applies, besides the plugin's own gate.
    pub gate: Gate,
    /// Where they are.
    pub source: ContentSource,
}

/// Where skills or agents are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ContentSource {
    /// Nowhere: the group only exists.
    Nothing,
    /// A directory, relative to the manifest's.
    Path(String),
    /// A git repository.
    Git(String),
    /// The sources of the crates that the gates match, at the exact version of the workspace.
    Crate {
        /// A directory inside the crate, instead of what the crate itself says.
        path: Option<String>,
    },
}

/// Whether `skills/` beside a crate's or member's manifest counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum DefaultSkills {
    /// It does.
    #[default]
    On,
    /// `[defaults] skills = false`.
    Off,
}

/// Something that a host runs at a certain moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hook {
    /// Its name.
    pub name: String,
    /// The moment.
    pub event: String,
    /// Only in this host.
    pub host: Option<String>,
    /// Only for tools whose name matches.
    pub matcher: Option<String>,
    /// What must be installed first, prerequisites first.
    pub requirements: Vec<InstallationName>,
    /// What runs.
    pub command: InstallationName,
    /// What to run in the installation, when that does not say it itself.
    pub entry: Option<agents_install::Entry>,
    /// Arguments; the installation has none if these are given.
    pub args: Vec<String>,
    /// The wire format that the program speaks.
    pub format: String,
    /// When it applies, besides the plugin's own gate.
    pub gate: Gate,
}

/// An MCP server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpServer {
    /// Its name.
    pub name: String,
    /// How it is reached.
    pub transport: McpTransport,
    /// When it applies, besides the plugin's own gate.
    pub gate: Gate,
}

/// How an MCP server is reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum McpTransport {
    /// A program that speaks on its standard streams.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Its environment.
        env: Vec<(String, String)>,
    },
    /// An address.
    Remote {
        /// How it is spoken to.
        kind: RemoteKind,
        /// The address.
        url: String,
        /// Headers of every request.
        headers: Vec<(String, String)>,
    },
}

/// The two ways to speak MCP over HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum RemoteKind {
    /// Streamable HTTP.
    Http,
    /// The older server-sent events.
    Sse,
}

/// A predicate that a plugin defines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CustomPredicate {
    /// Its name.
    pub name: PredicateName,
    /// What runs.
    pub command: InstallationName,
    /// Arguments before the one between the parentheses.
    pub args: Vec<String>,
}

/// A plugin that another one brings along.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chained {
    /// When, besides the plugin's own gate.
    pub gate: Gate,
    /// The crate that embeds it.
    pub name: CrateName,
    /// Which versions of it will do.
    pub requirement: Option<Requirement>,
}

impl PluginName {
    /// `None` for a name that is empty, too long, or has control characters in it.
    #[must_use]
    pub fn new(name: &str) -> Option<Self> {
        let fine = !name.trim().is_empty()
            && name.chars().count() <= MAX_NAME
            && !name.chars().any(char::is_control);
        fine.then(|| Self(name.to_owned()))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether two names are the same; as for crates, hyphen and underscore are.
    #[must_use]
    pub fn is(&self, other: &str) -> bool {
        CrateName::new(self.0.clone()) == CrateName::new(other)
    }
}

impl SubcommandName {
    /// `None` if it breaks the rules.
    #[must_use]
    pub fn new(name: &str) -> Option<Self> {
        let fine = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let length = 1..=MAX_NAME;
        let shaped =
            length.contains(&name.len()) && !name.starts_with('-') && name.chars().all(fine);
        shaped.then(|| Self(name.to_owned()))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PluginName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Display for SubcommandName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl Audience {
    /// As manifests and `--json` write it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Humans => "humans",
            Self::Agents => "agents",
        }
    }
}

impl Manifest {
    /// Whether it names a crate (or `*`) anywhere, so that it needs nobody's word to become active. A
    /// registry plugin that does not is dormant until `[plugins] use` names it.
    #[must_use]
    pub fn wakes_by_itself(&self) -> bool {
        self.gate.has_custom_at_top() || self.gates().any(Gate::mentions_crate)
    }

    /// Every gate in it.
    pub fn gates(&self) -> impl Iterator<Item = &Gate> {
        std::iter::once(&self.gate)
            .chain(self.skills.iter().chain(&self.agents).map(|group| &group.gate))
            .chain(self.hooks.iter().map(|hook| &hook.gate))
            .chain(self.mcp_servers.iter().map(|server| &server.gate))
            .chain(self.subcommands.values().map(|subcommand| &subcommand.gate))
            .chain(self.chained.iter().map(|chained| &chained.gate))
    }
}

#[cfg(test)]
mod tests;

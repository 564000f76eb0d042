//! A plugin as the active set sees it: what decides about it at hand, the rest decoded when needed.

use std::fmt;

use agents_system::finding::Finding;
use agents_workspace::{CrateName, Member};
use camino::{Utf8Path, Utf8PathBuf};
use semver::Version;
use serde::{Deserialize, Serialize};

use crate::{
    manifest::{Audience, Chained, Manifest, PluginName, SubcommandName},
    predicate::{Gate, PredicateName},
};

/// A loaded plugin. Thousands of them are read at every start, so only what gates and help need is
/// decoded; [`manifest`](Self::manifest) gives the rest.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Plugin {
    /// Its name.
    pub name: PluginName,
    /// Where it comes from.
    pub origin: Origin,
    /// The file that defines it.
    pub file: Utf8PathBuf,
    /// When it applies.
    pub gate: Gate,
    /// Whether it needs the user's word first.
    pub waking: Waking,
    /// Its subcommands.
    pub subcommands: Vec<SubcommandSummary>,
    /// The predicates that it defines.
    pub predicates: Vec<PredicateName>,
    /// The plugins that it brings along.
    pub chained: Vec<Chained>,
    /// How much else it contributes.
    pub counts: Counts,
    body: Vec<u8>,
}

/// What help and dispatch need to know about a subcommand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubcommandSummary {
    /// Its name.
    pub name: SubcommandName,
    /// One line for the help.
    pub description: String,
    /// In which section of the help it stands.
    pub audience: Audience,
    /// When it applies, besides the plugin's own gate.
    pub gate: Gate,
}

/// How many of each a plugin contributes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Groups of skills.
    pub skill_groups: u32,
    /// Hooks.
    pub hooks: u32,
    /// MCP servers.
    pub mcp_servers: u32,
}

/// Whether a plugin needs the user's word before it can be active.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Waking {
    /// Its gates decide.
    ByItself,
    /// It names no crate at all, so it sleeps until `[plugins] use` names it.
    WhenUsed,
}

/// Where a plugin comes from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Origin {
    /// The program itself.
    BuiltIn,
    /// A registry that the user configured.
    Registry(String),
    /// The workspace the user stands in.
    Member(String),
    /// A crate: a dependency, or one that another plugin or the user named.
    Crate(CrateName, Version),
}

impl Plugin {
    /// Summarises a manifest that was read from `file`.
    #[must_use]
    pub fn new(manifest: &Manifest, origin: Origin, file: &Utf8Path) -> Self {
        let subcommands = manifest.subcommands.iter().map(|(name, subcommand)| SubcommandSummary {
            name: name.clone(),
            description: subcommand.description.clone(),
            audience: subcommand.audience,
            gate: subcommand.gate.clone(),
        });
        let sleeps = matches!(origin, Origin::Registry(_)) && !manifest.wakes_by_itself();
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        Self {
            name: manifest.name.clone(),
            file: file.to_owned(),
            gate: manifest.gate.clone(),
            waking: if sleeps { Waking::WhenUsed } else { Waking::ByItself },
            subcommands: subcommands.collect(),
            predicates: manifest.predicates.iter().map(|defined| defined.name.clone()).collect(),
            chained: manifest.chained.clone(),
            counts: Counts {
                skill_groups: count(manifest.skills.len()),
                hooks: count(manifest.hooks.len()),
                mcp_servers: count(manifest.mcp_servers.len()),
            },
            // Plain data with string keys only: this cannot fail, and if it did, `manifest` would say so.
            body: postcard::to_allocvec(manifest).unwrap_or_default(),
            origin,
        }
    }

    /// The whole manifest.
    pub fn manifest(&self) -> Result<Manifest, Box<Finding>> {
        postcard::from_bytes(&self.body).map_err(|error| {
            let message = format!("the stored manifest of `{}` cannot be read: {error}", self.name);
            let hint = "remove our cache directory and try again";
            Box::new(Finding::error(message).hint(hint))
        })
    }

    /// The directory of its manifest, which relative paths in it start from.
    #[must_use]
    pub fn dir(&self) -> &Utf8Path {
        self.file.parent().unwrap_or(Utf8Path::new("."))
    }
}

impl Origin {
    /// The workspace member.
    #[must_use]
    pub fn member(member: &Member) -> Self {
        Self::Member(member.name.to_string())
    }

    /// One word for its kind.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::BuiltIn => "built-in",
            Self::Registry(_) => "registry",
            Self::Member(_) => "member",
            Self::Crate(..) => "crate",
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("built in"),
            Self::Registry(name) => write!(f, "registry `{name}`"),
            Self::Member(name) => write!(f, "workspace member `{name}`"),
            Self::Crate(name, version) => write!(f, "crate {name} {version}"),
        }
    }
}

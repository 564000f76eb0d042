//! What `config.toml` says about tools: MCP servers, the web, and how programs of agents are confined.
//!
//! Only the user's own file is read: an MCP server is a program that runs with the user's rights, and what a cloned repository brings
//! has no say in that. Plugins bring servers in another way, after the user has agreed to them.

mod server;
mod shown;
mod web;

use agents_plugin::config::{Config, ConfigError, Values};
use agents_system::{decode::Table, dirs::Dirs, finding::Finding, sandbox::Network};
use camino::Utf8Path;

pub use server::{ConfiguredReach, ConfiguredServer, Enabled, ServerTrust};
pub use web::{FetchSettings, SearchSettings, WebSettings};

use crate::context::{Confinement, Sandbox};

/// What `config.toml` says about tools.
#[derive(Debug, Clone, Default)]
pub struct ToolSettings {
    /// `[mcp-servers.NAME]`, in the order of the file.
    pub servers: Vec<ConfiguredServer>,
    /// `[web]`.
    pub web: WebSettings,
    /// `[tasks]`.
    pub tasks: TaskSettings,
    /// What there is to say about them.
    pub findings: Vec<Finding>,
}

/// `[tasks]`: how what agents start is confined.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TaskSettings {
    /// Whose programs run in the sandbox.
    pub sandbox: SandboxWhen,
    /// Whether they may use the network there.
    pub network: Network,
}

/// Whose programs run in the sandbox.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SandboxWhen {
    /// Those of agents that somebody else than the user wrote.
    #[default]
    Auto,
    /// All.
    Always,
    /// None.
    Never,
}

/// Whether the user wrote the definition of an agent, or trusts whoever did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Author {
    /// They do.
    Trusted,
    /// Somebody else.
    Stranger,
}

impl SandboxWhen {
    const WORDS: [(&str, Self); 3] =
        [("auto", Self::Auto), ("always", Self::Always), ("never", Self::Never)];

    fn word(self) -> &'static str {
        Self::WORDS.into_iter().find(|(_, it)| *it == self).map_or("", |(word, _)| word)
    }
}

impl TaskSettings {
    fn decode(table: &Table<'_>) -> Self {
        Self {
            sandbox: table.choice("sandbox", &SandboxWhen::WORDS).unwrap_or_default(),
            network: match table.boolean("network") {
                Some(true) => Network::Allowed,
                _ => Network::Denied,
            },
        }
    }

    /// How programs of an agent are confined that was written by such an author. Where the system has no sandbox, what must run in it
    /// does not run.
    #[must_use]
    pub fn confinement(&self, author: Author) -> Confinement {
        match (self.sandbox, author) {
            (SandboxWhen::Never, _) | (SandboxWhen::Auto, Author::Trusted) => Confinement::None,
            (SandboxWhen::Always, _) | (SandboxWhen::Auto, Author::Stranger) => {
                Confinement::Sandbox(Sandbox { network: self.network, ..Sandbox::default() })
            }
        }
    }
}

impl ToolSettings {
    /// Reads the file; a missing one means the defaults, a broken one is an error.
    pub fn load(dirs: &Dirs) -> Result<Self, ConfigError> {
        let file = Config::file(dirs);
        Self::parse(&file, &Config::text(&file)?, &dirs.config)
    }

    /// The same from its text; relative paths in it start from `dir`.
    pub fn parse(file: &Utf8Path, text: &str, dir: &Utf8Path) -> Result<Self, ConfigError> {
        let (mut settings, findings) = Config::tables(file, text, Values::Hidden, |root| {
            let servers = root.table("mcp-servers");
            Self {
                servers: servers.map(|it| server::decode_all(&it, dir)).unwrap_or_default(),
                web: root.table("web").map(|it| WebSettings::decode(&it)).unwrap_or_default(),
                tasks: root.table("tasks").map(|it| TaskSettings::decode(&it)).unwrap_or_default(),
                findings: Vec::new(),
            }
        })?;
        settings.findings = findings;
        Ok(settings)
    }
}

#[cfg(test)]
mod tests;

//! The one definition.

use std::{fmt, time::Duration};

use agents_system::cache::{Digest, digest};
use camino::Utf8PathBuf;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::tools::Tools;

/// An agent, whoever wrote it down. `None` and empty mean that its author did not say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentDefinition {
    /// Its name.
    pub name: AgentName,
    /// When to use it.
    pub description: String,
    /// What it is told to be; may be empty.
    pub prompt: String,
    /// Which tools it may use.
    #[serde(default)]
    pub tools: Tools,
    /// Which agents it may start.
    #[serde(default)]
    pub spawns: Spawns,
    /// Acceptable models, best first.
    #[serde(default)]
    pub model: Vec<ModelPattern>,
    /// How hard it thinks.
    pub effort: Option<Effort>,
    /// What its result looks like.
    pub output: Option<OutputSchema>,
    /// Whether whoever starts it waits for it.
    pub waiting: Option<Waiting>,
    /// Where it works.
    pub isolation: Option<Isolation>,
    /// What it may do without asking.
    pub permission_mode: Option<PermissionMode>,
    /// How far it may go.
    #[serde(default)]
    pub limits: Limits,
    /// Which skills it gets.
    #[serde(default)]
    pub skills: SkillFilter,
    /// Which MCP servers it gets besides those of its parent.
    #[serde(default)]
    pub mcp_servers: Vec<McpServerUse>,
    /// Its own hooks, in the form of the dialect it was written in.
    pub hooks: Option<Value>,
    /// Where it keeps what it remembers.
    pub memory: Option<MemoryScope>,
    /// The secrets that it may be given.
    #[serde(default)]
    pub secrets: Vec<String>,
    /// What decides when nobody named an agent.
    #[serde(default)]
    pub choice: Choice,
    /// What else its author said, under the names of the dialect.
    #[serde(default)]
    pub extra: Map<String, Value>,
    /// Where it comes from.
    pub origin: Origin,
}

impl AgentDefinition {
    /// One that says nothing but its name, and comes from nowhere.
    #[must_use]
    pub fn blank(name: AgentName) -> Self {
        Self {
            name,
            description: String::new(),
            prompt: String::new(),
            tools: Tools::default(),
            spawns: Spawns::None,
            model: Vec::new(),
            effort: None,
            output: None,
            waiting: None,
            isolation: None,
            permission_mode: None,
            limits: Limits::default(),
            skills: SkillFilter::default(),
            mcp_servers: Vec::new(),
            hooks: None,
            memory: None,
            secrets: Vec::new(),
            choice: Choice::default(),
            extra: Map::new(),
            origin: Origin {
                source: Source::Named,
                file: None,
                dialect: Dialect::Ours,
                digest: digest(&[]),
            },
        }
    }
}

/// The name of an agent: exact and case-sensitive.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AgentName(String);

/// Longer names break the hosts' own rules.
pub const MAX_NAME: usize = 64;

impl AgentName {
    /// A letter or digit, then letters, digits, `-`, `_` and single dots between them, at most [`MAX_NAME`] of them: what is a
    /// file name everywhere. `None` for everything else. Not every dialect takes dots and capital letters.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let fine = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_' || c == '.';
        let begins = text.starts_with(|c: char| c.is_ascii_alphanumeric());
        let dots = !text.contains("..") && !text.ends_with('.');
        let is_name = begins && dots && text.len() <= MAX_NAME && text.chars().all(fine);
        is_name.then(|| Self(text.to_owned()))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AgentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Which agents an agent may start.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spawns {
    /// None: also where nothing is said.
    #[default]
    None,
    /// These.
    Only(Vec<String>),
    /// Any.
    Any,
}

/// A model or a way to choose one: a full id, a provider with an id, a short alias, a role (`@deep`), or `inherit`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ModelPattern(pub String);

impl ModelPattern {
    /// That of the parent.
    pub const INHERIT: &'static str = "inherit";

    /// Whether it is that of the parent.
    #[must_use]
    pub fn is_inherit(&self) -> bool {
        self.0.eq_ignore_ascii_case(Self::INHERIT)
    }
}

/// How hard an agent thinks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// Not at all.
    Off,
    /// The least there is.
    Minimal,
    /// A little.
    Low,
    /// As usual.
    Medium,
    /// More.
    High,
    /// Much more.
    Xhigh,
    /// All there is.
    Max,
}

/// What the result of an agent looks like.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OutputSchema {
    /// In which language that is said.
    pub language: SchemaLanguage,
    /// The schema, as it was written.
    pub schema: Value,
}

impl OutputSchema {
    /// A schema in the language that its first telling keyword says.
    #[must_use]
    pub fn of(schema: Value) -> Self {
        Self { language: crate::parse::language(&schema), schema }
    }
}

/// The language of a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SchemaLanguage {
    /// JSON Schema.
    JsonSchema,
    /// JSON Typedef (RFC 8927).
    Typedef,
}

/// Whether whoever starts an agent waits for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Waiting {
    /// Always: `blocking`.
    Blocking,
    /// Never: `background`.
    Background,
}

/// Where an agent works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// Where its parent does.
    None,
    /// In a worktree of its own.
    Worktree,
}

/// What an agent may do without asking: the union of the dialects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PermissionMode {
    /// Nothing that changes anything.
    Plan,
    /// What its rules say.
    Default,
    /// Edit files.
    AcceptEdits,
    /// What its rules allow; everything else is refused instead of asked for.
    DontAsk,
    /// Everything. Only where the configuration allows it.
    BypassPermissions,
}

/// How far an agent may go; `None` leaves it to the configuration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Calls of the model.
    pub turns: Option<u32>,
    /// Of the wall clock.
    pub time: Option<Duration>,
    /// In and out.
    pub tokens: Option<u64>,
    /// In dollars.
    pub cost: Option<f64>,
    /// Messages that are kept in mind; nothing is trimmed at 0.
    pub history: Option<u32>,
    /// How long a secret that it was given stays given.
    pub grant: Option<Duration>,
}

/// Which skills an agent gets: of those that there are, what `include` matches (all, if it is empty) and `exclude` does not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillFilter {
    /// Names or patterns.
    pub include: Vec<String>,
    /// Names or patterns.
    pub exclude: Vec<String>,
}

/// An MCP server that an agent uses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum McpServerUse {
    /// One that is configured elsewhere.
    Named(String),
    /// One that the definition brings.
    Inline {
        /// Its name.
        name: String,
        /// Its entry, in the form of the dialect.
        entry: Value,
    },
}

impl McpServerUse {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Named(name) | Self::Inline { name, .. } => name,
        }
    }
}

/// Where an agent keeps what it remembers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MemoryScope {
    /// With the user.
    User,
    /// With the project.
    Project,
    /// With the project, on this machine only.
    Local,
}

/// What decides when nobody named an agent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// The higher, the sooner.
    pub priority: u32,
    /// Of those that share it, only the best one counts.
    pub mutex: Option<String>,
}

/// Where a definition comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// Who put it there.
    pub source: Source,
    /// The file; `None` for what is in the program.
    pub file: Option<Utf8PathBuf>,
    /// How it is written.
    pub dialect: Dialect,
    /// Of the file.
    pub digest: Digest,
}

/// Who put a definition there. What it may say follows from that.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// Named on the command line.
    Named,
    /// The project.
    Project,
    /// The user.
    User,
    /// A plugin of this name.
    Plugin(String),
    /// A crate of this name and version.
    Crate(String, String),
    /// The program itself.
    Bundled,
}

/// A way of writing definitions down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dialect {
    /// Our own: all that a definition can say. Markdown with a header.
    Ours,
    /// Claude Code: Markdown, flat keys.
    Claude,
    /// Zeph: Markdown, nested `tools` and `permissions`; YAML, or TOML between `+++`.
    Zeph,
    /// oh-my-pi: Markdown, `spawns`, `output`, `thinkingLevel`, `blocking`.
    OhMyPi,
    /// agentsdk-go: Markdown, comma lists.
    AgentSdk,
    /// Codex: a TOML role.
    Codex,
    /// Copilot CLI: `.agent.md`.
    Copilot,
    /// Gemini CLI: Markdown.
    Gemini,
    /// OpenCode: Markdown, `mode` and `permission`.
    OpenCode,
    /// Cursor: Markdown, `readonly`.
    Cursor,
    /// Kiro CLI: JSON.
    Kiro,
    /// Qwen Code: Markdown.
    Qwen,
    /// Factory Droid: Markdown.
    Factory,
}

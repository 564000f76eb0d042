//! What a descriptor says, after it has been checked.

use std::time::Duration;

use agents_plugin::manifest::{McpServer, McpTransport, RemoteKind};
use semver::Version;
use serde::Serialize;

use crate::{
    event::Event,
    id::HostId,
    mcp::{McpShape, Unsupported},
    path::{ProjectPath, UserPath},
    scope::Scope,
};

/// One coding agent: where its files are, what they look like, what it asks of its user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Host {
    /// Its short name.
    pub id: HostId,
    /// Its name for people.
    pub name: String,
    /// Other names under which it is found.
    pub aliases: Vec<String>,
    /// How much the description is to be trusted.
    pub confidence: Confidence,
    /// The directory that it calls its home; `{home}` in other paths.
    pub home: UserPath,
    /// How one sees that it is installed.
    pub detect: Detect,
    /// Where it looks for skills.
    pub skills: Skills,
    /// Where it looks for definitions of sub-agents.
    pub agents: Surface<Agents>,
    /// How it calls us.
    pub hooks: Surface<Hooks>,
    /// How it learns of MCP servers.
    pub mcp: Surface<Mcp>,
    /// The files with instructions for every session.
    pub instructions: Instructions,
    /// What it reads of the files that other hosts own.
    pub reads: Reads,
    /// How it is run without a terminal, to answer as a model.
    pub headless: Option<Headless>,
    /// How its own plugin packages relate to what we do.
    pub plugins: Option<String>,
    /// What `doctor` should know.
    pub notes: Vec<String>,
}

/// Something that a host has, or the reason why it has not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Surface<T> {
    /// It has none.
    Absent {
        /// Why, or what it has instead.
        reason: String,
    },
    /// It has one.
    Present(T),
}

impl<T> Surface<T> {
    /// What it has, if anything.
    pub fn get(&self) -> Option<&T> {
        match self {
            Self::Present(present) => Some(present),
            Self::Absent { .. } => None,
        }
    }

    /// Why there is nothing.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Present(_) => None,
            Self::Absent { reason } => Some(reason),
        }
    }
}

/// How much a description is to be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// Several other sources agree.
    Medium,
    /// The vendor's documentation or sources were read.
    High,
    /// The published program was watched reading these files.
    Seen,
}

impl Confidence {
    /// As descriptors write it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Medium => "medium",
            Self::High => "high",
            Self::Seen => "seen",
        }
    }
}

/// How one sees that a host is installed: any of these is enough.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Detect {
    /// Programs on `PATH`.
    pub programs: Vec<String>,
    /// Files or directories that only the host itself makes.
    pub paths: Vec<UserPath>,
    /// The oldest version that understands what we write, as far as there is one that does not.
    pub oldest: Option<Version>,
}

/// Where a host looks for skills.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Skills {
    /// In the workspace: the directory that we write.
    pub project: ProjectPath,
    /// In the workspace: what it reads besides.
    pub also_project: Vec<ProjectPath>,
    /// For the user: the directory that we write.
    pub user: UserPath,
    /// For the user: what it reads besides.
    pub also_user: Vec<UserPath>,
    /// How many characters its list of skills may have before it leaves descriptions out.
    pub listing: Option<usize>,
}

/// Where a host looks for definitions of sub-agents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Agents {
    /// In the workspace.
    pub project: Option<ProjectPath>,
    /// For the user.
    pub user: Option<UserPath>,
    /// What a definition is written in; the keys are the host's own.
    pub format: AgentFormat,
    /// How the names of the files end, the dot included.
    pub suffix: String,
}

/// What the definition of a sub-agent is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AgentFormat {
    /// Markdown with YAML in front.
    Markdown,
    /// TOML.
    Toml,
    /// JSON.
    Json,
}

/// How a host calls us.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Hooks {
    /// The file in the workspace.
    pub project: Option<ProjectPath>,
    /// The file of the user.
    pub user: Option<UserPath>,
    /// The file in the workspace that it listens to while the one above is missing.
    pub fallback_project: Option<ProjectPath>,
    /// The same of the user.
    pub fallback_user: Option<UserPath>,
    /// A skill of our own in the workspace that tells what a session is told elsewhere, for a host that takes no context.
    pub hint_project: Option<ProjectPath>,
    /// The same of the user.
    pub hint_user: Option<UserPath>,
    /// What a registration looks like.
    pub shape: HookShape,
    /// The keys that lead to the events, from the top of the file.
    pub container: Vec<String>,
    /// What matches every tool, where a matcher is needed.
    pub matcher: Option<String>,
    /// How long the host shall wait for us.
    pub timeout: Option<Timeout>,
    /// What the user must do before the host runs what we registered.
    pub trust: Option<Trust>,
    /// The events that it has, under its own names, in the order of [`Event::ALL`].
    #[serde(serialize_with = "as_map")]
    pub events: Vec<(Event, String)>,
}

fn as_map<S: serde::Serializer>(
    events: &[(Event, String)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(events.iter().map(|(ours, theirs)| (ours, theirs)))
}

impl Hooks {
    /// What the host calls an event, if it has it.
    #[must_use]
    pub fn event(&self, event: Event) -> Option<&str> {
        self.events.iter().find(|(ours, _)| *ours == event).map(|(_, theirs)| theirs.as_str())
    }
}

/// What the registration of a hook looks like. See [`crate::hooks`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum HookShape {
    /// Per event a list of groups, each with a matcher and a list of commands.
    Groups,
    /// The same, and every command has a name.
    NamedGroups,
    /// The same as [`Self::Groups`], in a file of our own.
    GroupsFile,
    /// One key of our own at the top, with groups for tools and plain commands for the rest.
    Antigravity,
    /// A file of our own with a version and a command per shell.
    Copilot,
    /// Per event a list of commands, and a version at the top.
    Cursor,
    /// A file of our own with one list of triggers and actions.
    Kiro,
    /// A JavaScript module of our own, for a host that runs those and no commands.
    OpenCode,
}

impl HookShape {
    /// Whether the file is read as JSON; otherwise it is a program.
    #[must_use]
    pub fn is_json(self) -> bool {
        self != Self::OpenCode
    }

    /// Whether the registrations of all events are one piece, which cannot be wanted in part.
    #[must_use]
    pub fn is_one_piece(self) -> bool {
        match self {
            Self::Groups | Self::NamedGroups | Self::Cursor => false,
            Self::GroupsFile | Self::Antigravity | Self::Copilot | Self::Kiro | Self::OpenCode => {
                true
            }
        }
    }
}

/// How long a host shall wait, in its own unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Timeout {
    /// The number that is written.
    pub value: u32,
    /// What it counts.
    pub unit: TimeUnit,
}

/// What a timeout counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum TimeUnit {
    /// Seconds.
    #[serde(rename = "s")]
    Seconds,
    /// Milliseconds.
    #[serde(rename = "ms")]
    Milliseconds,
}

impl Timeout {
    /// Reads `10 s` or `10000 ms`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (value, unit) = text.split_once(' ')?;
        let unit = match unit {
            "s" => TimeUnit::Seconds,
            "ms" => TimeUnit::Milliseconds,
            _ => return None,
        };
        let value = value.parse().ok().filter(|value| *value > 0)?;
        Some(Self { value, unit })
    }

    /// As a span of time.
    #[must_use]
    pub fn duration(self) -> Duration {
        match self.unit {
            TimeUnit::Seconds => Duration::from_secs(self.value.into()),
            TimeUnit::Milliseconds => Duration::from_millis(self.value.into()),
        }
    }
}

impl std::fmt::Display for Timeout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let unit = match self.unit {
            TimeUnit::Seconds => "s",
            TimeUnit::Milliseconds => "ms",
        };
        write!(f, "{} {unit}", self.value)
    }
}

/// What the user must do before a host runs what we registered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Trust {
    /// What is trusted.
    pub kind: TrustKind,
    /// What to do, as a hint.
    pub hint: String,
}

/// What a host asks its user to trust.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TrustKind {
    /// The folder, once.
    Folder,
    /// Every definition, again after each change.
    Definition,
}

/// How a host learns of MCP servers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Mcp {
    /// The file in the workspace.
    pub project: Option<ProjectPath>,
    /// Files in the workspace that take the place of `project` where they already exist.
    pub instead_project: Vec<ProjectPath>,
    /// The file of the user.
    pub user: Option<UserPath>,
    /// Files of the user that take the place of `user` where they already exist.
    pub instead_user: Vec<UserPath>,
    /// What the file is written in.
    pub format: FileFormat,
    /// The keys that lead to the servers, from the top of the file. A key may contain a dot.
    pub container: Vec<String>,
    /// What an entry looks like in the file of the user.
    pub shape: McpShape,
    /// What an entry looks like in the file of the workspace. Where two hosts use one file there, both
    /// must want the same.
    pub shape_project: McpShape,
    /// Which transports it can use.
    pub transports: Vec<Transport>,
}

impl Mcp {
    /// The keys that lead to one server.
    #[must_use]
    pub fn key_path(&self, server: &str) -> Vec<String> {
        self.container.iter().cloned().chain([server.to_owned()]).collect()
    }

    /// The entry of one server, as the host wants it in the file of this scope.
    pub fn entry(
        &self,
        scope: Scope,
        server: &McpServer,
    ) -> Result<serde_json::Value, Unsupported> {
        let transport = Transport::of(&server.transport);
        if !self.transports.contains(&transport) {
            return Err(Unsupported { server: server.name.clone(), transport });
        }
        let shape = match scope {
            Scope::Project => self.shape_project,
            Scope::User => self.shape,
        };
        crate::mcp::entry(shape, server)
    }
}

/// What a file is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FileFormat {
    /// JSON, maybe with comments.
    Json,
    /// TOML.
    Toml,
    /// YAML.
    Yaml,
}

impl FileFormat {
    /// As descriptors write it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Toml => "toml",
            Self::Yaml => "yaml",
        }
    }
}

/// A way to reach an MCP server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// A program that speaks on its standard streams.
    Stdio,
    /// Streamable HTTP.
    Http,
    /// The older server-sent events.
    Sse,
}

impl Transport {
    /// The one that a server asks for.
    #[must_use]
    pub fn of(transport: &McpTransport) -> Self {
        match transport {
            McpTransport::Stdio { .. } => Self::Stdio,
            McpTransport::Remote { kind: RemoteKind::Http, .. } => Self::Http,
            McpTransport::Remote { kind: RemoteKind::Sse, .. } => Self::Sse,
        }
    }

    /// As descriptors and manifests write it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::Sse => "sse",
        }
    }
}

impl std::fmt::Display for Transport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.word())
    }
}

/// How a host is run without a terminal: it reads a prompt and prints events, one per line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Headless {
    /// What its events look like.
    pub format: HeadlessFormat,
    /// What stands first on its command line.
    pub args: Vec<String>,
    /// What stands last; the prompt comes on standard input.
    pub last: Vec<String>,
    /// The flag that names the model.
    pub model: Option<String>,
    /// The models that it knows by short names; `default` is what it takes if none is named.
    pub models: Vec<String>,
    /// The flag in front of instructions; without one they stand in front of the prompt.
    pub system: Option<String>,
    /// The flag in front of the level of effort.
    pub effort: Option<String>,
    /// With which it may only read.
    pub read: Rights,
    /// With which it may change files of the workspace, and does not run what it likes; `None` if it cannot be kept to that.
    pub edit: Option<Rights>,
    /// With which it may do what the user may, without asking.
    pub all: Option<Rights>,
    /// Variables that it must not find.
    pub unset: Vec<String>,
}

/// What is added to a command line so that a host may do so much and no more.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Rights {
    /// Arguments.
    pub args: Vec<String>,
    /// Variables and their values.
    pub env: Vec<(String, String)>,
}

/// What the events of a host look like that is run without a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum HeadlessFormat {
    /// Claude Code's `stream-json`, which others speak too.
    Claude,
    /// Codex's `exec --json`.
    Codex,
    /// Gemini CLI's `stream-json`.
    Gemini,
    /// OpenCode's `run --format json`.
    OpenCode,
    /// Copilot CLI's `--output-format json`.
    Copilot,
    /// Goose's `stream-json`.
    Goose,
}

/// The files with instructions for every session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Instructions {
    /// In the workspace: the one to write.
    pub project: ProjectPath,
    /// In the workspace: what it reads besides.
    pub also_project: Vec<ProjectPath>,
    /// For the user.
    pub user: Option<UserPath>,
}

/// What a host reads of the files that other hosts own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Reads {
    /// In the workspace.
    pub project: ForeignReads<ProjectPath>,
    /// For the user.
    pub user: ForeignReads<UserPath>,
}

/// The same, in one scope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ForeignReads<P> {
    /// Hook files; written for both hosts, a hook runs twice.
    pub hooks: Vec<P>,
    /// Directories with definitions of sub-agents.
    pub agents: Vec<P>,
    /// MCP files; a server of the same name is loaded once.
    pub mcp: Vec<P>,
}

impl<P> Default for ForeignReads<P> {
    fn default() -> Self {
        Self { hooks: Vec::new(), agents: Vec::new(), mcp: Vec::new() }
    }
}

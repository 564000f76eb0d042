//! `config.toml`: the registries that the user trusts and the plugins that they turned on or off.

use agents_system::{
    decode::{Document, Table},
    dirs::{self, Dirs},
    edit::EditError,
    env,
    explain::{Code, ErrorKind, Explain},
    finding::{Finding, Severity},
    foreign::ForeignError,
    lock::LockError,
    regular,
};
use camino::{Utf8Path, Utf8PathBuf};

mod agents;
mod edit;
mod enablement;
mod sandbox;
mod settings;
mod tables;

pub use agents::{AgentSettings, Deliver};
pub use edit::Changed;
pub use enablement::{Decision, Enablement, Key, Scope, Word};
pub use sandbox::Sandboxed;
pub use settings::{Origin, Setting, quoted_key};
pub use tables::Values;

/// The name of the registry that comes with the program but is only fetched when asked for.
pub const RECOMMENDATIONS: &str = "symposium-recommendations";
const RECOMMENDATIONS_URL: &str = "https://github.com/symposium-dev/recommendations";

/// The name of the registry in the user's own configuration directory.
pub const USER_PLUGINS: &str = "user-plugins";

/// Keys of later versions and of Symposium's configuration: known, so not a spelling mistake, and
/// without any effect here.
const NOT_OURS: &[&str] = &["logging", "sync-debounce-secs"];

/// Tables that another room reads.
const OF_OTHERS: &[&str] =
    &["engine", "mcp-servers", "models", "providers", "secrets", "tasks", "telemetry", "web"];

/// Those of them that people write keys into.
const TEMPTING: [&str; 5] = ["mcp-servers", "providers", "secrets", "telemetry", "web"];

/// The user's configuration, as far as plugins go.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Config {
    /// Where plugins come from, in order of precedence.
    pub registries: Vec<RegistrySpec>,
    /// Which plugins are on or off by the user's word.
    pub enablement: Enablement,
    /// The hosts to bring things to, by name: `hosts = […]`, or `[[agent]]` tables as Symposium writes them.
    pub hosts: Vec<String>,
    /// Where hooks and MCP servers are registered.
    pub registration: Registration,
    /// As what MCP servers of plugins are registered.
    pub servers: ServersAs,
    /// Whether the workspace's own `.agents/skills` are brought to hosts that do not read them.
    pub agents_syncing: AgentsSyncing,
    /// What to do about newer versions of the program itself.
    pub own_update: OwnUpdate,
    /// Whether hosts are brought up to date while they work.
    pub auto_sync: AutoSync,
    /// Whose hooks are confined.
    pub sandboxed: Sandboxed,
    /// What is said about agent definitions.
    pub agents: AgentSettings,
    /// What there is to say about the file.
    pub findings: Vec<Finding>,
}

/// Where hooks and MCP servers are registered: `hook-scope`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Registration {
    /// In the user's own files: `global`.
    #[default]
    User,
    /// In the workspace: `project`.
    Project,
}

/// As what MCP servers of plugins are registered with hosts: `mcp-register`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ServersAs {
    /// As one server, ours, behind which all of them stand: `one`.
    #[default]
    One,
    /// Each by itself: `each`.
    Each,
}

impl ServersAs {
    const WORDS: [(&str, Self); 2] = [("one", Self::One), ("each", Self::Each)];

    /// As the file writes it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::One => "one",
            Self::Each => "each",
        }
    }
}

/// Whether the workspace's own `.agents/skills` are brought to hosts that do not read them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AgentsSyncing {
    /// They are.
    #[default]
    On,
    /// `agents-syncing = false`.
    Off,
}

/// What to do about newer versions of the program itself: `auto-update`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OwnUpdate {
    /// Never look: `off`.
    Off,
    /// Say so, once a day: `warn`.
    #[default]
    Warn,
    /// Install it, where somebody watches: `on`.
    On,
}

impl OwnUpdate {
    const WORDS: [(&str, Self); 3] = [("off", Self::Off), ("warn", Self::Warn), ("on", Self::On)];

    /// As the file writes it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Warn => "warn",
            Self::On => "on",
        }
    }
}

/// Whether hosts are brought up to date while they work: `auto-sync`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AutoSync {
    /// They are.
    #[default]
    On,
    /// `auto-sync = false`.
    Off,
}

/// A configured registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistrySpec {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub place: RegistryPlace,
    /// Whether `--update check` and `plugin sync` without a name look at it.
    pub auto_update: AutoUpdate,
}

/// Where a registry is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RegistryPlace {
    /// A directory.
    Path(Utf8PathBuf),
    /// A git repository.
    Git(String),
}

/// Whether a git registry is refreshed together with the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AutoUpdate {
    /// It is.
    On,
    /// Only when it is named.
    Off,
}

/// Why the configuration could not be read or changed. It never turns into defaults.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read the configuration")]
    Io(#[source] std::io::Error),
    /// The file is wrong.
    #[error("`{file}` is not a valid configuration")]
    Invalid {
        /// The file.
        file: Utf8PathBuf,
        /// What is wrong with it.
        findings: Vec<Finding>,
    },
    /// The file is not one that we would write, or the system does not let us.
    #[error(transparent)]
    Foreign(#[from] ForeignError),
    /// The file is written in a way that we cannot change without touching more.
    #[error("`{file}` cannot be changed")]
    Unchangeable {
        /// The file.
        file: Utf8PathBuf,
        /// What is in the way.
        source: EditError,
    },
    /// Somebody else is changing it.
    #[error(transparent)]
    Lock(#[from] LockError),
}

impl Explain for ConfigError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Io(_) | Self::Invalid { .. } => ErrorKind::Usage,
            Self::Foreign(error) => error.kind(),
            Self::Unchangeable { source, .. } => source.kind(),
            Self::Lock(error) => error.kind(),
        }
    }

    fn code(&self) -> Option<Code> {
        match self {
            Self::Io(_) | Self::Invalid { .. } => Some(Code::ConfigInvalid),
            Self::Foreign(error) => error.code(),
            Self::Unchangeable { source, .. } => source.code(),
            Self::Lock(error) => error.code(),
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Lock(LockError::Io { .. }) => Some(format!(
                "this directory must be writable, or `{}` another one",
                env::AGENTS_HOME.name
            )),
            Self::Io(_) | Self::Invalid { .. } | Self::Lock(_) => None,
            Self::Foreign(error) => error.hint(),
            Self::Unchangeable { source, .. } => source.hint(),
        }
    }

    fn findings(&self) -> &[Finding] {
        match self {
            Self::Invalid { findings, .. } => findings,
            _ => &[],
        }
    }
}

impl Config {
    /// Where the file is.
    #[must_use]
    pub fn file(dirs: &Dirs) -> Utf8PathBuf {
        dirs.config.join("config.toml")
    }

    /// Reads the file; a missing one means the defaults, a broken one is an error.
    pub fn load(dirs: &Dirs) -> Result<Self, ConfigError> {
        let file = Self::file(dirs);
        Self::parse(dirs, &file, &Self::text(&file)?)
    }

    /// What the file says; nothing if there is none. Rooms above read their own tables of it.
    pub fn text(file: &Utf8Path) -> Result<String, ConfigError> {
        match regular::read_text(file) {
            Ok(Some(text)) => Ok(text),
            Ok(None) => match file.read_link_utf8() {
                // Somebody meant to have one.
                Ok(target) => Err(ForeignError::Dangling { path: file.to_owned(), target }.into()),
                Err(_) => Ok(String::new()),
            },
            Err(ForeignError::Io { source, .. } | ForeignError::Denied { source, .. }) => {
                Err(ConfigError::Io(source))
            }
            Err(error) => Err(error.into()),
        }
    }

    fn parse(dirs: &Dirs, file: &Utf8Path, text: &str) -> Result<Self, ConfigError> {
        let invalid = |findings| ConfigError::Invalid { file: file.to_owned(), findings };
        let document = Document::parse(file.to_owned(), text)
            .map_err(|finding| invalid(vec![shown(*finding, text)]))?;
        let mut config = {
            let root = document.root();
            for key in NOT_OURS.iter().chain(OF_OTHERS) {
                root.get(key);
            }
            let mut registries = default_registries(&root, dirs);
            for table in registry_tables(&root) {
                let Some(spec) = decode_registry(&table, dirs) else { continue };
                if registries.iter().any(|earlier| earlier.name == spec.name) {
                    let name = &spec.name;
                    table.report(Finding::error(format!("two registries have the name `{name}`")));
                }
                registries.push(spec);
            }
            let scopes = [("global", Registration::User), ("project", Registration::Project)];
            let syncing = root.boolean("agents-syncing");
            let config = Self {
                registries,
                enablement: Enablement::decode(&root, dirs),
                hosts: decode_hosts(&root),
                registration: root.choice("hook-scope", &scopes).unwrap_or_default(),
                servers: root.choice("mcp-register", &ServersAs::WORDS).unwrap_or_default(),
                agents_syncing: match syncing {
                    Some(false) => AgentsSyncing::Off,
                    _ => AgentsSyncing::On,
                },
                own_update: root.choice("auto-update", &OwnUpdate::WORDS).unwrap_or_default(),
                auto_sync: match root.boolean("auto-sync") {
                    Some(false) => AutoSync::Off,
                    _ => AutoSync::On,
                },
                sandboxed: Sandboxed::decode(&root),
                agents: AgentSettings::decode(&root, dirs),
                findings: Vec::new(),
            };
            root.warn_unknown();
            config
        };
        config.findings = document.into_findings();
        if config.findings.iter().any(|finding| finding.severity == Severity::Error) {
            return Err(invalid(config.findings));
        }
        Ok(config)
    }
}

/// What cannot be parsed is shown with its line, and that may hold a key that somebody wrote there.
fn shown(finding: Finding, text: &str) -> Finding {
    let spot = finding.place.as_ref().and_then(|place| place.spot.as_ref());
    let line = spot.and_then(|spot| usize::try_from(spot.line).ok()).unwrap_or_default();
    let before = text.lines().take(line).filter(|line| line.trim_start().starts_with('['));
    let is_tempting = |header: &str| TEMPTING.iter().any(|word| header.contains(word));
    if before.last().is_some_and(is_tempting) || finding.is_about_secret() {
        finding.without_value()
    } else {
        finding
    }
}

fn default_registries(root: &Table<'_>, dirs: &Dirs) -> Vec<RegistrySpec> {
    let defaults = root.table("defaults");
    let wanted = |key| defaults.as_ref().and_then(|table| table.boolean(key)).unwrap_or(true);
    let (recommendations, user) = (wanted("symposium-recommendations"), wanted("user-plugins"));
    if let Some(table) = &defaults {
        table.warn_unknown();
    }
    let recommendations = recommendations.then(|| RegistrySpec {
        name: RECOMMENDATIONS.to_owned(),
        place: RegistryPlace::Git(RECOMMENDATIONS_URL.to_owned()),
        auto_update: AutoUpdate::On,
    });
    let user = user.then(|| RegistrySpec {
        name: USER_PLUGINS.to_owned(),
        place: RegistryPlace::Path(dirs.config.join("plugins")),
        auto_update: AutoUpdate::On,
    });
    recommendations.into_iter().chain(user).collect()
}

/// `[[registry]]`, and `[[plugin-source]]` as Symposium writes it.
fn registry_tables<'d>(root: &Table<'d>) -> impl Iterator<Item = Table<'d>> {
    root.tables("registry").into_iter().chain(root.tables("plugin-source"))
}

fn decode_registry(table: &Table<'_>, dirs: &Dirs) -> Option<RegistrySpec> {
    let name = table.required_string("name");
    let path = table.string("path");
    let git = table.string("git");
    let auto_update = match table.boolean("auto-update") {
        Some(false) => AutoUpdate::Off,
        _ => AutoUpdate::On,
    };
    table.deny_unknown();
    let place = match (path, git) {
        (Some(path), None) => RegistryPlace::Path(resolve(path.as_str(), dirs)),
        (None, Some(git)) => RegistryPlace::Git(git.to_string()),
        (Some(_), Some(git)) => {
            git.error("a registry has either `path` or `git`, not both");
            return None;
        }
        (None, None) => {
            table.report(
                Finding::error("a registry needs a place")
                    .hint("add `path = \"…\"` or `git = \"…\"`"),
            );
            return None;
        }
    };
    Some(RegistrySpec { name: name?.to_string(), place, auto_update })
}

/// Each name once, in the order given.
fn decode_hosts(root: &Table<'_>) -> Vec<String> {
    let listed = root.strings("hosts");
    let tables = root.tables("agent");
    let named = tables.iter().filter_map(|table| {
        let name = table.required_string("name");
        table.warn_unknown();
        name
    });
    let mut hosts: Vec<String> = Vec::new();
    for name in listed.into_iter().chain(named) {
        if !hosts.iter().any(|known| known == name.as_str()) {
            hosts.push(name.to_string());
        }
    }
    hosts
}

/// A path in the file: `~/` is the user's home, anything relative starts at the configuration directory.
#[must_use]
pub fn path_in(config: &Utf8Path, path: &str) -> Utf8PathBuf {
    let in_home = path.strip_prefix("~/").and_then(|rest| Some(dirs::home().ok()?.join(rest)));
    in_home.unwrap_or_else(|| config.join(path))
}

fn resolve(path: &str, dirs: &Dirs) -> Utf8PathBuf {
    canonical(&path_in(&dirs.config, path))
}

fn canonical(path: &Utf8Path) -> Utf8PathBuf {
    path.canonicalize_utf8().unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests;

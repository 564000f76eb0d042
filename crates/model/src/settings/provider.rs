//! One provider, as it is configured.

use agents_system::{
    decode::{Table, Text},
    finding::{Finding, sounds_secret},
    nearest::{nearest, quoted_list},
};
use camino::{Utf8Path, Utf8PathBuf};

use crate::keys::KeySource;

/// What a provider is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's Chat Completions.
    Openai,
    /// OpenAI's Responses.
    OpenaiResponses,
    /// Google's Gemini.
    Gemini,
    /// Anything on an address that speaks Chat Completions.
    OpenaiCompatible,
    /// An ACP agent, as a child process.
    Acp,
    /// An installed host, run without a terminal.
    Host,
    /// A file that says what is answered.
    Script,
}

impl Kind {
    /// All of them, with their words.
    pub const ALL: [(&'static str, Self); 8] = [
        ("anthropic", Self::Anthropic),
        ("openai", Self::Openai),
        ("openai-responses", Self::OpenaiResponses),
        ("gemini", Self::Gemini),
        ("openai-compatible", Self::OpenaiCompatible),
        ("acp", Self::Acp),
        ("host", Self::Host),
        ("script", Self::Script),
    ];

    /// Its word in the configuration.
    #[must_use]
    pub fn word(self) -> &'static str {
        Self::ALL.into_iter().find(|(_, kind)| *kind == self).map_or("", |(word, _)| word)
    }

    /// Under which name the catalogue knows its models.
    #[must_use]
    pub fn catalogue(self) -> &'static str {
        match self {
            Self::OpenaiResponses => "openai",
            other => other.word(),
        }
    }

    /// Where it is asked if nobody says otherwise.
    #[must_use]
    pub fn usual_url(self) -> Option<&'static str> {
        match self {
            Self::Anthropic => Some("https://api.anthropic.com"),
            Self::Openai | Self::OpenaiResponses => Some("https://api.openai.com/v1"),
            Self::Gemini => Some("https://generativelanguage.googleapis.com"),
            Self::OpenaiCompatible | Self::Acp | Self::Host | Self::Script => None,
        }
    }

    /// The customary variable of its key.
    #[must_use]
    pub fn usual_key(self) -> Option<&'static str> {
        match self {
            Self::Anthropic => Some("ANTHROPIC_API_KEY"),
            Self::Openai | Self::OpenaiResponses => Some("OPENAI_API_KEY"),
            Self::Gemini => Some("GEMINI_API_KEY"),
            Self::OpenaiCompatible | Self::Acp | Self::Host | Self::Script => None,
        }
    }

    /// Whether it is asked over HTTP.
    #[must_use]
    pub fn is_http(self) -> bool {
        !matches!(self, Self::Acp | Self::Host | Self::Script)
    }
}

/// What a host or an ACP agent may do by itself while it answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum HostRights {
    /// Read.
    #[default]
    Read,
    /// Change files of the workspace, too.
    Edit,
}

impl HostRights {
    const WORDS: [(&'static str, Self); 2] = [("read", Self::Read), ("edit", Self::Edit)];

    /// Its word in the configuration.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Edit => "edit",
        }
    }
}

/// Who says that there is this provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The configuration, in this line.
    File {
        /// Counted from 1.
        line: u32,
    },
    /// A variable that is set.
    Env(&'static str),
    /// A host that is installed, as this program.
    Installed(Utf8PathBuf),
}

/// One provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderSettings {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// Where it is asked.
    pub url: Option<String>,
    /// Where its key may be, in this order.
    pub keys: Vec<KeySource>,
    /// The model that is taken if none is named; also the first of [`Self::models`].
    pub model: Option<String>,
    /// The models that it has, besides those that are known or that it tells.
    pub models: Vec<String>,
    /// How many requests may run at a time.
    pub max_requests: Option<u32>,
    /// What every request carries besides.
    pub headers: Vec<(String, String)>,
    /// What is run: the ACP agent, or another program for a host.
    pub command: Vec<String>,
    /// Which host it is.
    pub host: Option<String>,
    /// What it may do by itself.
    pub rights: HostRights,
    /// The file that says what is answered.
    pub script: Option<Utf8PathBuf>,
    /// Who says that there is this provider.
    pub origin: Origin,
}

impl ProviderSettings {
    /// A provider of which nothing else is said.
    #[must_use]
    pub fn new(name: impl Into<String>, kind: Kind, origin: Origin) -> Self {
        Self {
            name: name.into(),
            kind,
            url: kind.usual_url().map(str::to_owned),
            keys: Vec::new(),
            model: None,
            models: Vec::new(),
            max_requests: None,
            headers: Vec::new(),
            command: Vec::new(),
            host: None,
            rights: HostRights::default(),
            script: None,
            origin,
        }
    }

    /// Whether it cannot be asked without a key: the vendors' own addresses.
    #[must_use]
    pub fn needs_key(&self) -> bool {
        self.kind.usual_url().is_some() && self.url.as_deref() == self.kind.usual_url()
    }

    /// Whether asking it stays on this machine: a server here, or a script. Programs ask whom they like.
    #[must_use]
    pub fn is_local(&self) -> bool {
        let host = self.url.as_deref().and_then(|url| url.split_once("://")).map(|(_, rest)| rest);
        let here = ["127.", "localhost", "[::1]"];
        self.kind == Kind::Script
            || host.is_some_and(|host| here.iter().any(|name| host.starts_with(name)))
    }

    /// Whether it only passes requests on to others.
    #[must_use]
    pub fn is_reseller(&self) -> bool {
        self.url.as_deref().is_some_and(|url| url.contains("openrouter.ai"))
    }
}

const KEYS: [&str; 13] = [
    "kind",
    "url",
    "key-env",
    "key-command",
    "model",
    "models",
    "max-requests",
    "headers",
    "command",
    "host",
    "rights",
    "script",
    "note",
];

pub(super) fn decode(
    name: &Text<'_>,
    table: &Table<'_>,
    dir: &Utf8Path,
) -> Option<ProviderSettings> {
    let fine = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || !name.chars().all(fine) {
        name.error("the name of a provider is made of letters, digits, `-` and `_`");
    }
    let by_name = Kind::ALL.into_iter().find(|(word, _)| *word == name.as_str());
    let kind = match by_name {
        // `[providers.anthropic]` needs no `kind`.
        Some((_, kind)) if !table.has("kind") => Some(kind),
        _ => {
            if !table.has("kind") {
                table.missing("kind");
            }
            table.choice("kind", &Kind::ALL)
        }
    };
    let url = table.string("url").and_then(|text| url(&text));
    let key_env = table.string("key-env");
    let key_command: Vec<String> =
        table.string_or_strings("key-command").iter().map(ToString::to_string).collect();
    let headers = table.table("headers").map(|table| headers(&table)).unwrap_or_default();
    let script = table.string("script").map(|path| dir.join(path.as_str()));
    let settings = ProviderSettings {
        keys: Vec::new(),
        model: table.string("model").map(|it| it.to_string()),
        models: table.strings("models").iter().map(ToString::to_string).collect(),
        max_requests: table.count("max-requests").and_then(|count| u32::try_from(count).ok()),
        headers,
        command: table.string_or_strings("command").iter().map(ToString::to_string).collect(),
        host: table.string("host").map(|it| it.to_string()),
        rights: table.choice("rights", &HostRights::WORDS).unwrap_or_default(),
        script,
        ..ProviderSettings::new(
            name.as_str(),
            kind.unwrap_or(Kind::Script),
            Origin::File { line: table.line() },
        )
    };
    unknown(table);
    let mut settings = ProviderSettings { kind: kind?, ..settings };
    settings.url = url.or_else(|| settings.kind.usual_url().map(str::to_owned));
    settings.keys = keys(name, settings.kind, key_env.as_ref(), key_command);
    check(table, &settings);
    Some(settings)
}

/// What is said, else what is customary, and the keyring at last.
fn keys(name: &str, kind: Kind, env: Option<&Text<'_>>, command: Vec<String>) -> Vec<KeySource> {
    if !kind.is_http() {
        return Vec::new();
    }
    let mut keys: Vec<KeySource> =
        env.map(|name| KeySource::Env(name.to_string())).into_iter().collect();
    if !command.is_empty() {
        keys.push(KeySource::Command(command));
    }
    if keys.is_empty() {
        keys.extend(kind.usual_key().map(|name| KeySource::Env(name.to_owned())));
        keys.push(KeySource::Keyring(name.to_owned()));
    }
    keys
}

fn check(table: &Table<'_>, settings: &ProviderSettings) {
    let needs = |key: &str, what: &str| {
        let message = format!("`{key}` is missing in [providers.{}]: {what}", settings.name);
        table.report(Finding::error(message));
    };
    match settings.kind {
        Kind::OpenaiCompatible if settings.url.is_none() => {
            needs("url", "where it listens, as `http://127.0.0.1:8080/v1`");
        }
        Kind::Acp if settings.command.is_empty() => {
            needs("command", "the program that speaks ACP, as `[\"gemini\", \"--acp\"]`");
        }
        Kind::Script if settings.script.is_none() => {
            needs("script", "the file that says what is answered");
        }
        _ => {}
    }
}

/// Every key that we do not know, without a word about its value.
fn unknown(table: &Table<'_>) {
    for (key, _) in table.entries().filter(|(key, _)| !KEYS.contains(&key.as_str())) {
        // That has been said already.
        if sounds_secret(&key) {
            continue;
        }
        let near = nearest(key.as_str(), KEYS);
        let finding = Finding::error(format!("unknown key `{key}` in {}", table.label()));
        key.report(match near.as_slice() {
            [] => finding.hint(format!("allowed here: {}", quoted_list(&KEYS, "and"))),
            near => finding.label(format!("did you mean {}?", quoted_list(near, "or"))),
        });
    }
}

/// An address that requests may be sent to. What it holds besides would go into messages.
fn url(text: &Text<'_>) -> Option<String> {
    let wrong = |message: &str| {
        text.report(Finding::error(message).hint("an address looks like `https://example.com/v1`"));
        None
    };
    let Some((scheme, rest)) = text.split_once("://") else {
        return wrong("`url` is not an address");
    };
    if !["http", "https"].contains(&scheme) {
        return wrong("`url` must begin with `http://` or `https://`");
    }
    let host = rest.split('/').next().unwrap_or_default();
    if host.is_empty() {
        return wrong("`url` names no host");
    }
    if host.contains('@') {
        return wrong(
            "`url` holds a name or a password: keys do not belong into a configuration file",
        );
    }
    if rest.contains(['?', '#']) || rest.contains(char::is_whitespace) {
        return wrong("`url` must end before `?`");
    }
    Some(text.trim_end_matches('/').to_owned())
}

fn headers(table: &Table<'_>) -> Vec<(String, String)> {
    let pairs = table.entries().filter_map(|(name, value)| {
        let value = value.string(name.as_str())?;
        let fine =
            name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
        if !fine || value.chars().any(char::is_control) {
            name.error(format!("`{name}` cannot be sent as a header"));
            return None;
        }
        Some((name.to_string(), value.to_string()))
    });
    pairs.collect()
}

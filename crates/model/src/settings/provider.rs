//! One provider, as it is configured.

use agents_system::{
    decode::{Table, Text, remote},
    finding::Finding,
};
use camino::{Utf8Path, Utf8PathBuf};

use crate::{keys::KeySource, request::OwnRights};

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
    /// What it may at most do by itself. If nothing is said it may only read, unless it is given a whole task: then the rights of
    /// the task count.
    pub rights: Option<OwnRights>,
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
            rights: None,
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
    let url = table.string("url").and_then(|text| remote::address(&text));
    let said = remote::key_sources(table);
    let headers = table.table("headers").map(|table| remote::headers(&table)).unwrap_or_default();
    let script = table.string("script").map(|path| dir.join(path.as_str()));
    let settings = ProviderSettings {
        keys: Vec::new(),
        model: table.string("model").map(|it| it.to_string()),
        models: table.strings("models").iter().map(ToString::to_string).collect(),
        max_requests: table.count("max-requests").and_then(|count| u32::try_from(count).ok()),
        headers,
        command: table.string_or_strings("command").iter().map(ToString::to_string).collect(),
        host: table.string("host").map(|it| it.to_string()),
        rights: table.choice("rights", &OwnRights::WORDS),
        script,
        ..ProviderSettings::new(
            name.as_str(),
            kind.unwrap_or(Kind::Script),
            Origin::File { line: table.line() },
        )
    };
    remote::deny_others(table, &KEYS);
    let mut settings = ProviderSettings { kind: kind?, ..settings };
    settings.url = url.or_else(|| settings.kind.usual_url().map(str::to_owned));
    settings.keys = keys(name, settings.kind, said);
    check(table, &settings);
    Some(settings)
}

/// What is said, else what is customary, and the keyring at last.
fn keys(name: &str, kind: Kind, said: Vec<KeySource>) -> Vec<KeySource> {
    if !kind.is_http() {
        return Vec::new();
    }
    if !said.is_empty() {
        return said;
    }
    let usual = kind.usual_key().map(|name| KeySource::Env(name.to_owned()));
    usual.into_iter().chain([KeySource::Keyring(name.to_owned())]).collect()
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

//! Every environment variable that the program reads.
//!
//! Nothing else calls `std::env::var`; clippy's `disallowed-methods` sees to it. The table in
//! `docs/environment.md` is checked against [`ALL`] by a test.

use std::ffi::OsString;

use camino::Utf8PathBuf;

/// An environment variable that we read, with the sentence that documents it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// What it changes.
    pub meaning: &'static str,
}

macro_rules! variables {
    ($($(#[doc = $meaning:literal])+ $ident:ident = $name:literal;)+) => {
        $($(#[doc = $meaning])+ pub const $ident: Variable =
            Variable { name: $name, meaning: concat!($($meaning),+) };)+
        /// All of them, in the order of the documentation.
        pub const ALL: &[Variable] = &[$($ident),+];
    };
}

variables! {
    /// Puts configuration, cache and state below one directory (`config.toml` directly in it, `cache/`, `state/`).
    AGENTS_HOME = "CARGO_AGENTS_HOME";
    /// Read like `CARGO_AGENTS_HOME` when that is not set, for people who come from Symposium.
    SYMPOSIUM_HOME = "SYMPOSIUM_HOME";
    /// Base directory of the configuration, when no home override is set.
    XDG_CONFIG_HOME = "XDG_CONFIG_HOME";
    /// Base directory of the cache, when no home override is set.
    XDG_CACHE_HOME = "XDG_CACHE_HOME";
    /// Base directory of the state, when no home override is set.
    XDG_STATE_HOME = "XDG_STATE_HOME";
    /// The user's home directory.
    HOME = "HOME";
    /// The cargo to run, before anything else.
    AGENTS_CARGO = "CARGO_AGENTS_CARGO";
    /// Read like `CARGO_AGENTS_CARGO` when that is not set.
    SYMPOSIUM_CARGO = "SYMPOSIUM_CARGO";
    /// The cargo that started us; used for everything we ask of cargo.
    CARGO = "CARGO";
    /// Where cargo keeps its own configuration, registry caches and installed programs.
    CARGO_HOME = "CARGO_HOME";
    /// Where rustup keeps its toolchains; only handed on.
    RUSTUP_HOME = "RUSTUP_HOME";
    /// `true` means no network, like `--offline`.
    CARGO_NET_OFFLINE = "CARGO_NET_OFFLINE";
    /// Searched for programs; children get it with the directories of what they need in front.
    PATH = "PATH";
    /// Set by Copilot CLI for the programs that it starts; so we know when it runs hooks that are written for Claude Code.
    COPILOT_CLI = "COPILOT_CLI";
    /// An agent that must not be started from here, by its name; set it where an agent would only start itself again.
    AGENTS_BLOCKED_AGENT = "CARGO_AGENTS_BLOCKED_AGENT";
    /// Read like `CARGO_AGENTS_BLOCKED_AGENT` when that is not set.
    PI_BLOCKED_AGENT = "PI_BLOCKED_AGENT";
    /// How many tasks of ours stand above a program; set for hosts and ACP agents that run as models, and counted by `tasks.max-depth`.
    AGENTS_DEPTH = "CARGO_AGENTS_DEPTH";
    /// A file to which every call of a hook is appended as one line of JSON, for `cargo agents hook replay`.
    AGENTS_HOOK_TRACE = "CARGO_AGENTS_HOOK_TRACE";
    /// Read like `CARGO_AGENTS_HOOK_TRACE` when that is not set.
    SYMPOSIUM_HOOK_TRACE = "SYMPOSIUM_HOOK_TRACE";
    /// How many seconds all hooks of one event may take together; 25 by default, which is also the most.
    HOOK_DEADLINE = "CARGO_AGENTS_HOOK_DEADLINE";
    /// How many seconds the supervisor of background tasks stays when nothing runs and nobody asks it anything; 60 by default.
    SUPERVISOR_IDLE = "CARGO_AGENTS_SUPERVISOR_IDLE";
    /// The mount namespace that `doctor --probe` was started in; set by itself when it starts again in a network of its own.
    AGENTS_OUTSIDE = "CARGO_AGENTS_OUTSIDE";
    /// Any value but the empty one turns colours off, unless `--color always`.
    NO_COLOR = "NO_COLOR";
    /// Any value but the empty one and `false` means that nobody is there to answer a question.
    CI = "CI";
    /// Who signs a record of an audit where git does not know it.
    USER = "USER";
    /// The key of the provider `anthropic`, which is there as soon as this is set.
    ANTHROPIC_API_KEY = "ANTHROPIC_API_KEY";
    /// Where that provider is asked instead of `https://api.anthropic.com`.
    ANTHROPIC_BASE_URL = "ANTHROPIC_BASE_URL";
    /// The key of the provider `openai`, which is there as soon as this is set.
    OPENAI_API_KEY = "OPENAI_API_KEY";
    /// Where that provider is asked instead of `https://api.openai.com/v1`; it is then asked for chat completions.
    OPENAI_BASE_URL = "OPENAI_BASE_URL";
    /// The key of the provider `gemini`, which is there as soon as this is set.
    GEMINI_API_KEY = "GEMINI_API_KEY";
    /// Where that provider is asked instead of `https://generativelanguage.googleapis.com`.
    GOOGLE_GEMINI_BASE_URL = "GOOGLE_GEMINI_BASE_URL";
    /// Where Ollama listens; the provider `ollama` is there as soon as this is set.
    OLLAMA_HOST = "OLLAMA_HOST";
    /// Where spans of tasks go: the address of an OpenTelemetry collector that takes OTLP over HTTP, without `/v1/traces`. Without it, and without `telemetry.endpoint`, none are made.
    OTLP_ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT";
    /// The same with its whole path, before the other one.
    OTLP_TRACES_ENDPOINT = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
    /// Headers for the collector: `name=value`, with commas between them and values in percent-encoding.
    OTLP_HEADERS = "OTEL_EXPORTER_OTLP_HEADERS";
    /// The same for spans only, before the other one.
    OTLP_TRACES_HEADERS = "OTEL_EXPORTER_OTLP_TRACES_HEADERS";
    /// How many milliseconds the collector may take; 10000 by default.
    OTLP_TIMEOUT = "OTEL_EXPORTER_OTLP_TIMEOUT";
    /// Spans are sent as `http/json`; `grpc` is not spoken, and told.
    OTLP_PROTOCOL = "OTEL_EXPORTER_OTLP_PROTOCOL";
    /// The name of the service in spans; `cargo-agents` by default.
    OTEL_SERVICE_NAME = "OTEL_SERVICE_NAME";
    /// More about where spans come from: `name=value`, with commas between them.
    OTEL_RESOURCE_ATTRIBUTES = "OTEL_RESOURCE_ATTRIBUTES";
    /// `true` turns spans off.
    OTEL_SDK_DISABLED = "OTEL_SDK_DISABLED";
    /// `none` turns spans off.
    OTEL_TRACES_EXPORTER = "OTEL_TRACES_EXPORTER";
    /// `true` puts what models say and what tools are given into spans, as `telemetry.content` does.
    OTEL_GENAI_CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT";
    /// The span that whoever started us is in, as W3C writes it; spans of tasks become a part of it.
    TRACEPARENT = "TRACEPARENT";
    /// `dumb`, or none: questions are asked line by line, without moving the cursor.
    TERM = "TERM";
}

impl Variable {
    /// Its value; an empty one counts as not set.
    #[must_use]
    pub fn get(self) -> Option<OsString> {
        #[expect(clippy::disallowed_methods, reason = "this is the one place")]
        std::env::var_os(self.name).filter(|value| !value.is_empty())
    }

    /// Its value as text; `None` when it is not set, empty or not UTF-8.
    #[must_use]
    pub fn text(self) -> Option<String> {
        self.get()?.into_string().ok()
    }

    /// Its value as an absolute path; relative ones are ignored, as the XDG rules ask.
    #[must_use]
    pub fn absolute_path(self) -> Option<Utf8PathBuf> {
        self.text().map(Utf8PathBuf::from).filter(|path| path.is_absolute())
    }
}

/// How many tasks of ours stand above this program.
#[must_use]
pub fn depth() -> u32 {
    AGENTS_DEPTH.text().and_then(|it| it.trim().parse().ok()).unwrap_or(0)
}

/// The variable that the configuration of a provider names for its key.
#[must_use]
pub fn named_by_config(name: &str) -> Option<String> {
    named_by_plugin(name)?.into_string().ok().filter(|value| !value.is_empty())
}

/// The values of all variables whose names say that they are secret, to keep them out of what is shown.
#[must_use]
pub fn secrets() -> Vec<String> {
    let names = ["KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL"];
    let is_secret = |name: &str| names.iter().any(|word| name.to_ascii_uppercase().contains(word));
    let all = std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_secret));
    all.filter_map(|(_, value)| value.into_string().ok()).collect()
}

/// Everything, for a program that is to run as if it were started here.
#[must_use]
pub fn everything() -> Vec<(OsString, OsString)> {
    std::env::vars_os().collect()
}

/// A variable that the description of a host names, because it moves that host's files.
#[must_use]
pub fn named_by_host(name: &str) -> Option<String> {
    named_by_plugin(name)?.into_string().ok()
}

/// A variable that is handed on to the programs that a tool runs.
#[must_use]
pub fn handed_on(name: &str) -> Option<String> {
    named_by_host(name)
}

/// Whether a variable that a plugin names (in an `env(...)` predicate) is set, and to what.
#[must_use]
pub fn named_by_plugin(name: &str) -> Option<OsString> {
    // `set_var` refuses such names and `var_os` may panic on them on some platforms.
    if name.is_empty() || name.contains(['=', '\0']) {
        return None;
    }
    #[expect(clippy::disallowed_methods, reason = "the name comes from a manifest")]
    std::env::var_os(name)
}

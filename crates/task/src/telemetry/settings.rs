//! Where spans go: `[telemetry]` in the user's configuration, and the variables that every program with OpenTelemetry reads, which win.

use std::time::Duration;

use agents_model::http::post::{Post, PostError};
use agents_plugin::config::{Config, ConfigError, Setting, Values};
use agents_system::{
    decode::Table,
    digits::{decimal, unescaped_lossy},
    dirs::Dirs,
    env::{self, Variable},
    finding::Finding,
};
use camino::Utf8Path;
use secrecy::SecretString;
use serde_json::{Value, json};

use super::{
    spans::{Id, Trace},
    trace::{TraceId, digits, id},
};

/// How long a collector may take.
const TIMEOUT: Duration = Duration::from_secs(10);
const SERVICE: &str = "cargo-agents";
/// What spans are sent to below the address of a collector.
const TRACES: &str = "/v1/traces";

/// Whether what was said is in spans.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Content {
    /// It is not.
    #[default]
    Hidden,
    /// What models say and tools are given is.
    Shown,
}

/// Whether the file allows it at all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Wanted {
    #[default]
    Yes,
    No,
}

/// What the configuration and the environment say about spans.
#[derive(Debug, Clone)]
pub struct TelemetrySettings {
    /// Whether they go anywhere, as far as the file is concerned: `enabled`.
    pub(super) wanted: Wanted,
    /// Where they go, with the whole path: `endpoint`. Nowhere, if nobody says.
    pub endpoint: Option<String>,
    /// What goes along with them.
    pub headers: Vec<(String, SecretString)>,
    /// Who we are: `service-name`.
    pub service: String,
    /// What else is said about us.
    pub resource: Vec<(String, String)>,
    /// Whether what was said is in them: `content`.
    pub content: Content,
    /// How long the collector may take.
    pub timeout: Duration,
    /// The span that whoever started us is in.
    pub(super) parent: Option<(Trace, Id)>,
    /// What there is to say about all of this.
    pub findings: Vec<Finding>,
}

impl Default for TelemetrySettings {
    fn default() -> Self {
        Self {
            wanted: Wanted::Yes,
            endpoint: None,
            headers: Vec::new(),
            service: SERVICE.to_owned(),
            resource: Vec::new(),
            content: Content::Hidden,
            timeout: TIMEOUT,
            parent: None,
            findings: Vec::new(),
        }
    }
}

/// Somebody who takes spans.
pub(super) struct Collector {
    pub(super) post: Post,
    pub(super) resource: Vec<(String, String)>,
}

impl TelemetrySettings {
    /// Reads the file and the environment; a missing file means the defaults, a broken one is an error.
    pub fn load(dirs: &Dirs) -> Result<Self, ConfigError> {
        let file = Config::file(dirs);
        let mut settings = Self::parse(&file, &Config::text(&file)?)?;
        settings.hear(&|variable: Variable| variable.text());
        Ok(settings)
    }

    /// What the text of the file says.
    pub fn parse(file: &Utf8Path, text: &str) -> Result<Self, ConfigError> {
        let (mut settings, findings) = Config::tables(file, text, Values::Hidden, |root| {
            let mut settings = Self::default();
            if let Some(table) = root.table("telemetry") {
                settings.read(&table);
            }
            settings
        })?;
        settings.findings = findings;
        Ok(settings)
    }

    fn read(&mut self, table: &Table<'_>) {
        if let Some(endpoint) = table.string("endpoint") {
            self.endpoint = Some(below(endpoint.as_str()));
        }
        if let Some(name) = table.string("service-name") {
            self.service = name.as_str().trim().to_owned();
        }
        if table.boolean("content") == Some(true) {
            self.content = Content::Shown;
        }
        // Symposium's own word, for a log of its own: what is not wanted there is not wanted here.
        if table.boolean("enabled") == Some(false) {
            self.wanted = Wanted::No;
            self.endpoint = None;
        }
        table.deny_unknown();
    }

    /// What the environment says, which wins.
    pub fn hear(&mut self, get: &dyn Fn(Variable) -> Option<String>) {
        let is = |variable, word: &str| {
            get(variable).is_some_and(|it| it.trim().eq_ignore_ascii_case(word))
        };
        if let Some(endpoint) = get(env::OTLP_ENDPOINT) {
            self.endpoint = Some(below(&endpoint));
        }
        if let Some(endpoint) = get(env::OTLP_TRACES_ENDPOINT) {
            self.endpoint = Some(endpoint.trim().to_owned());
        }
        let headers = get(env::OTLP_TRACES_HEADERS).or_else(|| get(env::OTLP_HEADERS));
        let headers = headers.map(|it| pairs(&it)).unwrap_or_default();
        self.headers = headers.into_iter().map(|(key, it)| (key, it.into())).collect();
        if let Some(attributes) = get(env::OTEL_RESOURCE_ATTRIBUTES) {
            let (named, rest): (Vec<_>, Vec<_>) =
                pairs(&attributes).into_iter().partition(|it| it.0 == "service.name");
            self.service = named.into_iter().next().map_or(self.service.clone(), |it| it.1);
            self.resource = rest;
        }
        if let Some(name) = get(env::OTEL_SERVICE_NAME) {
            self.service = name;
        }
        if is(env::OTEL_GENAI_CONTENT, "true") {
            self.content = Content::Shown;
        }
        let milliseconds = get(env::OTLP_TIMEOUT).and_then(|it| decimal(it.trim()));
        self.timeout = milliseconds.map_or(self.timeout, Duration::from_millis);
        self.parent =
            get(env::TRACEPARENT).and_then(|it| parse_parent(&it)).map(|it| (it.0.0, it.1));
        if is(env::OTEL_SDK_DISABLED, "true") || is(env::OTEL_TRACES_EXPORTER, "none") {
            self.endpoint = None;
        }
        if self.endpoint.is_some() && is(env::OTLP_PROTOCOL, "grpc") {
            self.endpoint = None;
            let message = format!("`{}` is `grpc`: no spans are sent", env::OTLP_PROTOCOL.name);
            self.findings.push(
                Finding::warning(message).hint(
                    "set it to `http/json`, and the endpoint to the port for that, mostly 4318",
                ),
            );
        }
        self.check();
    }

    /// An address that is none is told, and nothing is sent.
    fn check(&mut self) {
        if let Some(Err(error)) = self.post() {
            self.endpoint = None;
            let message = format!("no spans are sent: where they are to go is wrong: {error}");
            self.findings.push(
                Finding::warning(message).hint(
                    "an address is like `http://localhost:4318`, headers are like `name=value`",
                ),
            );
        }
    }

    fn post(&self) -> Option<Result<Post, PostError>> {
        Some(Post::new(self.endpoint.as_ref()?, &self.headers, self.timeout))
    }

    pub(super) fn collector(&self) -> Option<Collector> {
        let mut resource = vec![("service.name".to_owned(), self.service.clone())];
        resource.extend(self.resource.iter().cloned());
        Some(Collector { post: self.post()?.ok()?, resource })
    }

    /// Every setting with its value and who says so, for `config show`.
    pub fn settings(dirs: &Dirs) -> Result<Vec<Setting>, ConfigError> {
        let file = Config::file(dirs);
        let settings = Self::parse(&file, &Config::text(&file)?)?;
        let mut shown: Vec<(&'static str, Value)> =
            vec![("enabled", json!(settings.wanted == Wanted::Yes))];
        // As it is written there: the path comes from us.
        let written = |it: String| it.strip_suffix(TRACES).map_or(it.clone(), str::to_owned);
        shown.extend(settings.endpoint.map(|it| ("endpoint", json!(written(it)))));
        shown.push(("service-name", json!(settings.service)));
        shown.push(("content", json!(settings.content == Content::Shown)));
        Config::of_table(dirs, &["telemetry"], shown)
    }
}

/// Where spans go below the address of a collector.
fn below(endpoint: &str) -> String {
    format!("{}{TRACES}", endpoint.trim().trim_end_matches('/'))
}

/// `name=value,name=value`, with values in percent-encoding.
fn pairs(text: &str) -> Vec<(String, String)> {
    let pair = |it: &str| {
        let (key, value) = it.split_once('=')?;
        Some((key.trim().to_owned(), unescaped_lossy(value.trim()))).filter(|it| !it.0.is_empty())
    };
    text.split(',').filter_map(pair).collect()
}

/// The trace that whoever started this program began, which its tasks become a part of.
#[must_use]
pub fn outer_trace() -> Option<TraceId> {
    parse_parent(&env::TRACEPARENT.text()?).map(|(trace, _)| trace)
}

/// Reads `TRACEPARENT`, as W3C writes it: `00-<trace>-<span>-<flags>`. What comes after that is for readers of a later version.
#[must_use]
pub fn parse_parent(text: &str) -> Option<(TraceId, [u8; 8])> {
    let mut parts = text.trim().split('-');
    let [version, trace, span, flags] =
        [parts.next()?, parts.next()?, parts.next()?, parts.next()?];
    let [version] = digits(version).filter(|it| *it != [0xff])?;
    let [_] = digits(flags)?;
    let is_whole = version != 0 || parts.next().is_none();
    is_whole.then(|| Some((TraceId(id(trace)?), id(span)?)))?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(file: &str, variables: &[(Variable, &str)]) -> TelemetrySettings {
        let mut settings = TelemetrySettings::parse(Utf8Path::new("config.toml"), file).unwrap();
        settings
            .hear(&|wanted| variables.iter().find(|it| it.0 == wanted).map(|it| it.1.to_owned()));
        settings
    }

    #[test]
    fn nothing_is_sent_unless_somebody_says_where() {
        assert_eq!(with("", &[]).endpoint, None);
        assert!(with("", &[]).collector().is_none());
        let file = "[telemetry]\nendpoint = \"http://here:4318/\"\n";
        assert_eq!(with(file, &[]).endpoint.as_deref(), Some("http://here:4318/v1/traces"));
        let there = [(env::OTLP_ENDPOINT, "http://there:4318")];
        assert_eq!(with(file, &there).endpoint.as_deref(), Some("http://there:4318/v1/traces"));
        let whole = [there[0], (env::OTLP_TRACES_ENDPOINT, "https://t/in?x=1")];
        assert_eq!(with(file, &whole).endpoint.as_deref(), Some("https://t/in?x=1"));
        assert_eq!(with(&format!("{file}enabled = false\n"), &[]).endpoint, None);
        for off in [(env::OTEL_SDK_DISABLED, "TRUE"), (env::OTEL_TRACES_EXPORTER, "none")] {
            assert_eq!(with(file, &[there[0], off]).endpoint, None);
        }
    }

    #[test]
    fn what_cannot_be_used_is_told_and_turns_it_off() {
        let file = "[telemetry]\nendpoint = \"http://here:4318\"\n";
        for (variables, told) in [
            (&[(env::OTLP_PROTOCOL, "grpc")][..], "`OTEL_EXPORTER_OTLP_PROTOCOL` is `grpc`"),
            (&[(env::OTLP_ENDPOINT, "here:4318")][..], "it is no `http` address"),
            (&[(env::OTLP_HEADERS, "a b=c")][..], "`a b` is no header"),
        ] {
            let settings = with(file, variables);
            assert_eq!(settings.endpoint, None);
            assert!(settings.findings[0].message.contains(told), "{:?}", settings.findings);
        }
        let parsed = TelemetrySettings::parse(Utf8Path::new("c"), "[telemetry]\nendpont = \"x\"\n");
        assert!(parsed.is_err());
    }

    #[test]
    fn who_we_are_and_what_goes_along() {
        let settings = with(
            "[telemetry]\nservice-name = \"ours\"\ncontent = true\n",
            &[
                (env::OTLP_HEADERS, "authorization=Basic%20eA%3D%3D, x-team=a"),
                (env::OTEL_RESOURCE_ATTRIBUTES, "service.name=theirs,team=blue%2Cgreen%+5"),
                (env::OTLP_TIMEOUT, "250"),
            ],
        );
        assert_eq!((settings.service.as_str(), settings.content), ("theirs", Content::Shown));
        assert_eq!(settings.resource, [("team".to_owned(), "blue,green%+5".to_owned())]);
        assert_eq!(settings.timeout, Duration::from_millis(250));
        use secrecy::ExposeSecret as _;
        let values: Vec<&str> = settings.headers.iter().map(|it| it.1.expose_secret()).collect();
        assert_eq!(values, ["Basic eA==", "a"]);
        assert!(!format!("{settings:?}").contains("eA=="), "headers are secret");
        let named = with("", &[(env::OTEL_SERVICE_NAME, "x")]);
        assert_eq!(named.service, "x");
    }

    #[test]
    fn the_span_of_whoever_started_us() {
        let good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let (trace, span) = parse_parent(good).unwrap();
        assert_eq!((trace.0[0], trace.0[15], span[0]), (0x0a, 0x9c, 0xb7));
        let later = parse_parent("01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more");
        assert_eq!(later, Some((trace, span)));
        for bad in [
            "",
            "00",
            "zz-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-1",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
            "00-+af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b716920333-01",
            "00-0af7651916cd43dd8448eb211c8031ü-b7ad6b7169203331-01",
        ] {
            assert_eq!(parse_parent(bad), None, "{bad}");
        }
    }
}

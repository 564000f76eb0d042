//! The configuration, of which every room reads its own tables.

use agents_model::{http::post::Post, settings::ModelSettings};
use agents_plan::engine::settings::RestateSettings;
use agents_plugin::config::{Config, ConfigError};
use agents_system::{
    cache::hex,
    dirs::Dirs,
    env::{self, Variable},
    finding::Finding,
};
use agents_task::{
    TaskSettings,
    secret::SecretSettings,
    telemetry::{TelemetrySettings, settings::parse_parent},
};
use agents_tool::settings::ToolSettings;
use camino::Utf8Path;
use secrecy::ExposeSecret as _;

use crate::files::{check_findings, in_scratch};

/// A value that must not be told if it stands where only the place of a secret should be.
const SECRET: &str = "= \"hunter2hunter2\"";

/// Whatever it says, each room reads it or says where it is wrong.
pub fn config(text: &str) {
    let (file, dir) = (Utf8Path::new("/nowhere/config.toml"), Utf8Path::new("/nowhere"));
    in_scratch("config.toml", text.as_bytes(), |file| {
        let dirs =
            Dirs { config: file.parent().expect("a directory").to_owned(), ..Dirs::below(dir) };
        check(Config::load(&dirs).map(drop), text);
    });
    check(ModelSettings::parse(file, text, dir).map(drop), text);
    check(ToolSettings::parse(file, text, dir).map(drop), text);
    check(TaskSettings::parse(file, text).map(drop), text);
    check(TelemetrySettings::parse(file, text).map(drop), text);
    check(RestateSettings::parse(file, text).map(drop), text);
    let secrets = SecretSettings::parse(file, text, dir);
    if text.matches("hunter2").count() == 2 && text.matches(SECRET).count() == 1 {
        let told = format!("{secrets:?}");
        assert!(!told.contains("hunter2hunter2"), "a secret is told: {told}");
    }
    check(secrets.map(drop), text);
}

fn check(read: Result<(), ConfigError>, text: &str) {
    if let Err(ConfigError::Invalid { findings, .. }) = read {
        let findings: Vec<Finding> = findings;
        assert!(!findings.is_empty(), "wrong, and nobody says what");
        check_findings(&findings, text);
    }
}

/// What every program with OpenTelemetry reads.
const VARIABLES: [Variable; 12] = [
    env::OTLP_ENDPOINT,
    env::OTLP_TRACES_ENDPOINT,
    env::OTLP_HEADERS,
    env::OTLP_TRACES_HEADERS,
    env::OTLP_TIMEOUT,
    env::OTLP_PROTOCOL,
    env::OTEL_SERVICE_NAME,
    env::OTEL_RESOURCE_ATTRIBUTES,
    env::OTEL_SDK_DISABLED,
    env::OTEL_TRACES_EXPORTER,
    env::OTEL_GENAI_CONTENT,
    env::TRACEPARENT,
];

/// Variables, one on each line: where spans go is an address or it is said why they go nowhere; what goes along is decoded once, and is not
/// shown; and the span that we are in is written as the one way to write it.
pub fn telemetry(text: &str) {
    let said = |wanted: Variable| {
        let value =
            |line: &str| line.strip_prefix(wanted.name)?.strip_prefix('=').map(str::to_owned);
        text.lines().find_map(value)
    };
    let mut settings = TelemetrySettings::default();
    settings.hear(&said);
    if let Some(address) = &settings.endpoint {
        let post = Post::new(address, &settings.headers, settings.timeout).expect("an address");
        assert!(post.host().split_once("://").is_some_and(|it| !it.1.is_empty()), "{settings:?}");
    }
    let wants = |it: &Variable| said(*it).is_some();
    let nowhere = settings.endpoint.is_none() && settings.findings.is_empty();
    if nowhere && [env::OTLP_ENDPOINT, env::OTLP_TRACES_ENDPOINT].iter().any(wants) {
        let off = [env::OTEL_SDK_DISABLED, env::OTEL_TRACES_EXPORTER];
        assert!(off.iter().any(wants), "nothing is sent, and nobody says why: {settings:?}");
    }
    for (name, value) in &settings.headers {
        let value = value.expose_secret();
        assert!(!name.is_empty() && name.trim() == name, "{name:?}");
        if value.contains("hunter2hunter2") && text.matches("hunter2").count() == 2 {
            assert!(!format!("{settings:?}").contains("hunter2hunter2"), "a header is shown");
        }
    }
    for line in text.lines().take(16) {
        check_decoded(line);
        check_parent(line);
    }
    for variable in VARIABLES {
        said(variable).iter().for_each(|it| check_parent(it));
    }
}

/// What is escaped comes back, and what is not stays as it is.
fn check_decoded(line: &str) {
    let value = line.rsplit('=').next().unwrap_or_default().replace(',', "").trim().to_owned();
    let heard = |written: &str| {
        let mut settings = TelemetrySettings::default();
        let written = format!("key={written}");
        settings.hear(&|it| (it == env::OTEL_RESOURCE_ATTRIBUTES).then(|| written.clone()));
        settings.resource
    };
    let all: String = value.bytes().map(|byte| format!("%{byte:02x}")).collect();
    assert_eq!(heard(&all), [("key".to_owned(), value.clone())]);
    let is_hex = |it: Option<u8>| it.is_some_and(|it| it.is_ascii_hexdigit());
    let mut escapes = value.bytes().enumerate().filter(|(_, it)| *it == b'%');
    let at = |at: usize| value.as_bytes().get(at).copied();
    if !escapes.any(|(here, _)| is_hex(at(here + 1)) && is_hex(at(here + 2))) {
        assert_eq!(heard(&value), [("key".to_owned(), value.clone())]);
    }
}

fn check_parent(text: &str) {
    let Some((trace, span)) = parse_parent(text) else { return };
    let (version, rest) = text.trim().split_at(2);
    assert!(version.bytes().all(|it| it.is_ascii_hexdigit()) && version != "ff", "{text:?}");
    let flags = rest.strip_prefix(&format!("-{trace}-{}-", hex(&span)));
    let flags = flags.unwrap_or_else(|| panic!("{text:?} is read as {trace} and {}", hex(&span)));
    assert!(flags.len() == 2 || version != "00", "{text:?}");
}

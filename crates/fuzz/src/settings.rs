//! The configuration, of which every room reads its own tables.

use agents_model::settings::ModelSettings;
use agents_plan::engine::settings::RestateSettings;
use agents_plugin::config::{Config, ConfigError};
use agents_system::{dirs::Dirs, finding::Finding};
use agents_task::{TaskSettings, secret::SecretSettings, telemetry::TelemetrySettings};
use agents_tool::settings::ToolSettings;
use camino::Utf8Path;

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

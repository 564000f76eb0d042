//! `cargo agents config show|path`

use std::process::ExitCode;

use agents_model::settings::ModelSettings;
use agents_plan::engine::settings::RestateSettings;
use agents_plugin::config::{Config, ConfigError, Origin, Setting};
use agents_system::{
    dirs::Dirs,
    edit::{Edit, Format, apply},
    finding::Finding,
};
use agents_task::{TaskSettings, secret::SecretSettings, telemetry::TelemetrySettings};
use agents_tool::settings::ToolSettings;
use camino::Utf8Path;
use serde::Serialize;
use serde_json::Value;

use crate::{args::ConfigCommand, failure::Failure, output::Output, settings::Settings};

/// `cargo agents config show --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ConfigDocument {
    /// The configuration file; there need not be one
    file: String,
    settings: Vec<SettingView>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct SettingView {
    /// With dots; `registry` once for each registry
    key: String,
    value: Value,
    /// `default` or `file`
    origin: &'static str,
    /// Where in the file the value begins, counted from 1
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
}

/// `cargo agents config path --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PathDocument {
    /// The configuration file; there need not be one
    config: String,
    /// What must be remembered: ledger, backups
    state: String,
    /// Everything that can be made again
    cache: String,
}

/// Whether it is said where a setting comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origins {
    Shown,
    Hidden,
}

pub(crate) fn run(
    settings: &Settings,
    output: &Output,
    command: &ConfigCommand,
) -> Result<ExitCode, Failure> {
    let dirs = &settings.dirs;
    let file = Config::file(dirs);
    match command {
        ConfigCommand::Path if output.is_json() => output.document(&PathDocument {
            config: file.into_string(),
            state: dirs.state.to_string(),
            cache: dirs.cache.to_string(),
        })?,
        ConfigCommand::Path => output.line(file)?,
        ConfigCommand::Show { .. } if output.is_json() => output.document(&ConfigDocument {
            file: file.to_string(),
            settings: all(dirs)?.into_iter().map(view).collect(),
        })?,
        ConfigCommand::Show { origin } => {
            let origins = if *origin { Origins::Shown } else { Origins::Hidden };
            output.text(render(&all(dirs)?, &file, origins)?)?;
            output.flush()?;
            output.findings(&Config::load(dirs)?.findings);
            for doubts in tables(dirs) {
                output.findings(&doubts?);
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// What there is to say about the tables that `Config` does not read; one that is broken hides no other.
pub(crate) fn tables(dirs: &Dirs) -> [Result<Vec<Finding>, ConfigError>; 6] {
    [
        ModelSettings::load(dirs).map(|it| it.findings),
        TaskSettings::load(dirs).map(|it| it.findings),
        ToolSettings::load(dirs).map(|it| it.findings),
        RestateSettings::load(dirs).map(|it| it.findings),
        SecretSettings::load(dirs).map(|it| it.findings),
        TelemetrySettings::load(dirs).map(|it| it.findings),
    ]
}

/// Those of plugins, then those of models and of tools, then the registries: tables stand last, or what follows would belong to them.
pub(crate) fn all(dirs: &Dirs) -> Result<Vec<Setting>, Failure> {
    let (tables, mut all): (Vec<_>, Vec<_>) =
        Config::settings(dirs)?.into_iter().partition(|setting| setting.value.is_object());
    all.extend(TaskSettings::settings(dirs)?);
    all.extend(ModelSettings::settings(dirs)?);
    all.extend(ToolSettings::settings(dirs)?);
    all.extend(RestateSettings::settings(dirs)?);
    all.extend(SecretSettings::settings(dirs)?);
    all.extend(TelemetrySettings::settings(dirs)?);
    all.extend(tables);
    Ok(all)
}

fn view(setting: Setting) -> SettingView {
    let (origin, line) = match setting.origin {
        Origin::Default => ("default", None),
        Origin::File { line } => ("file", Some(line)),
    };
    SettingView { key: setting.key, value: setting.value, origin, line }
}

/// A configuration file with all settings in it.
fn render(settings: &[Setting], file: &Utf8Path, origins: Origins) -> Result<String, Failure> {
    let mut rows: Vec<(String, String)> = Vec::new();
    for setting in settings {
        let origin = match setting.origin {
            Origin::Default => "default".to_owned(),
            Origin::File { line } => format!("{file}:{line}"),
        };
        match &setting.value {
            // A registry: its keys are lines of their own.
            Value::Object(entries) => {
                rows.push((format!("\n[[{}]]", setting.key), origin));
                for (key, value) in entries {
                    rows.push((format!("{key} = {}", toml(value)?), String::new()));
                }
            }
            value => rows.push((format!("{} = {}", setting.key, toml(value)?), origin)),
        }
    }
    let wide = |text: &str| text.trim_start().chars().count();
    let commented = rows.iter().filter(|(_, origin)| !origin.is_empty());
    let width = commented.map(|(text, _)| wide(text)).max().unwrap_or(0);
    let lines = rows.into_iter().map(|(text, origin)| match origins {
        Origins::Shown if !origin.is_empty() => {
            let pad = width - wide(&text);
            format!("{text}{:pad$}  # {origin}\n", "")
        }
        Origins::Shown | Origins::Hidden => text + "\n",
    });
    Ok(lines.collect())
}

/// The value as TOML writes it, on one line.
fn toml(value: &Value) -> Result<String, Failure> {
    let set = Edit::Set { at: ["v"].into(), value: value.clone() };
    let text = apply(Format::Toml, "", &[set])?;
    let text = text.trim_end();
    Ok(text.strip_prefix("v = ").unwrap_or(text).to_owned())
}

//! `cargo agents crate-info <name>`, the program of the first-party plugin of that name.

use std::process::ExitCode;

use agents_system::explain::ErrorKind;
use agents_workspace::{CrateName, Workspaces};
use semver::VersionReq;
use serde::Serialize;

use crate::{args::WantedCrate, failure::Failure, output::Output, settings::Settings};

/// `cargo agents crate-info --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct CrateDocument {
    pub(super) name: String,
    pub(super) version: String,
    /// The directory of its sources
    pub(super) source: String,
}

pub(crate) fn run(
    settings: &Settings,
    output: &Output,
    wanted: &WantedCrate,
) -> Result<ExitCode, Failure> {
    let CrateDocument { name, version, source } = find(settings, wanted)?;
    if output.is_json() {
        output.document(&CrateDocument { name, version, source })?;
    } else {
        output.line(format!("Crate: {name}"))?;
        output.line(format!("Version: {version}"))?;
        output.line(format!("Source: {source}"))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Where the sources of a crate are, at the version that is wanted.
pub(super) fn find(settings: &Settings, wanted: &WantedCrate) -> Result<CrateDocument, Failure> {
    let requirement = wanted.version.as_deref().map(parse_requirement).transpose()?;
    let name = CrateName::new(wanted.name.as_str());
    let workspaces = Workspaces {
        cache: &settings.dirs.cache,
        cargo: &settings.cargo,
        progress: &settings.progress,
    };
    let workspace = workspaces.find(&settings.cwd)?;
    let found =
        workspaces.source(workspace.as_ref(), &settings.cwd, &name, requirement.as_ref())?;
    settings.progress.end();
    Ok(CrateDocument {
        name: found.name.to_string(),
        version: found.version.to_string(),
        source: found.dir.to_string(),
    })
}

fn parse_requirement(text: &str) -> Result<VersionReq, Failure> {
    VersionReq::parse(text).map_err(|error| {
        Failure::new(ErrorKind::Usage, format!("`{text}` is not a version requirement: {error}"))
            .hint("write it as in `Cargo.toml`, for example `1.2` or `=1.2.3`")
    })
}

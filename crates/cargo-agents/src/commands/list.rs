//! `cargo agents plugin list`

use std::{fmt::Write as _, process::ExitCode};

use agents_install::git::GitAddress;
use agents_plugin::{
    active::{Considered, State, here_for},
    catalog::{RegistryReport, RegistryState},
    config::RegistryPlace,
    plugin::Origin,
    predicate::{Surroundings, evaluate::Asker},
    probes::Acquire,
    scan::Invalid,
};
use serde::Serialize;

use super::explain::state_in_words;
use crate::{
    failure::{Failure, FindingView},
    here::{BrokenWorkspace, Here, visit},
    output::Output,
    settings::Settings,
};

/// `cargo agents plugin list --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ListDocument {
    /// The configured registries
    registries: Vec<RegistryView>,
    /// Every plugin, in order of precedence
    plugins: Vec<PluginView>,
    /// What could not be loaded
    invalid: Vec<InvalidView>,
    findings: Vec<FindingView>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct RegistryView {
    name: String,
    /// `path` or `git`
    kind: &'static str,
    /// The directory or the address
    place: String,
    /// `read`, `missing`, `not-fetched` or `bad-address`
    state: &'static str,
    /// Where it is on this machine
    #[serde(skip_serializing_if = "Option::is_none")]
    dir: Option<String>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct PluginView {
    name: String,
    /// `built-in`, `registry`, `member` or `crate`
    origin: &'static str,
    /// The registry, if it comes from one
    #[serde(skip_serializing_if = "Option::is_none")]
    registry: Option<String>,
    file: String,
    active: bool,
    /// Why, in words
    because: String,
    subcommands: Vec<String>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct InvalidView {
    file: String,
    findings: Vec<FindingView>,
}

pub(crate) fn run(settings: &Settings, output: &Output) -> Result<ExitCode, Failure> {
    visit(settings, Acquire::Never, BrokenWorkspace::IsReported, |here, error| {
        if !output.is_json() {
            render(here, output)?;
        }
        // `--json` prints one document, and the error is the one that matters.
        if let Some(error) = error {
            return Err(error.into());
        }
        if output.is_json() {
            output.document(&document(here))?;
        }
        Ok(ExitCode::SUCCESS)
    })
}

fn render(here: &Here<'_>, output: &Output) -> Result<(), Failure> {
    let considered: Vec<Considered<'_>> = here.set.considered().collect();
    let width =
        considered.iter().map(|it| it.plugin.name.as_str().chars().count()).max().unwrap_or(0);
    let (probes, _) = here.probes();
    let surroundings =
        Surroundings { workspace: here.workspace.as_ref(), probes: &probes, asker: Asker::Other };
    // There may be thousands of rows: one text, written at once.
    let mut text = String::new();
    let row = |text: &mut String, considered: &Considered<'_>| {
        let why = short_reason(considered, surroundings);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {:width$}  {why}", considered.plugin.name);
    };
    for report in &here.set.catalog.registries {
        let _ = writeln!(text, "{}", heading(report));
        let origin = Origin::Registry(report.spec.name.clone());
        let of_it = considered.iter().filter(|it| it.plugin.origin == origin);
        of_it.for_each(|considered| row(&mut text, considered));
    }
    let sections = [
        ("this workspace", "member"),
        ("crates of this workspace", "crate"),
        ("built in", "built-in"),
    ];
    for (title, kind) in sections {
        let mut of_kind = considered.iter().filter(|it| it.plugin.origin.kind() == kind).peekable();
        if of_kind.peek().is_some() {
            let _ = writeln!(text, "{title}");
        }
        of_kind.for_each(|considered| row(&mut text, considered));
    }
    output.text(text)?;
    output.flush()?;
    output.findings(here.findings.iter().chain(&here.set.findings));
    output.findings(&here.set.catalog.findings);
    output.findings(here.set.catalog.invalid.iter().flat_map(|invalid| &invalid.findings));
    Ok(())
}

/// What a registry is and where; an address without the password that may be in it.
fn kind_and_place(place: &RegistryPlace) -> (&'static str, String) {
    match place {
        RegistryPlace::Path(path) => ("path", path.to_string()),
        RegistryPlace::Git(url) => {
            let address = GitAddress::parse(url);
            ("git", address.map_or_else(|_| url.clone(), |address| address.to_string()))
        }
    }
}

fn heading(report: &RegistryReport) -> String {
    let name = &report.spec.name;
    let (_, place) = kind_and_place(&report.spec.place);
    match &report.state {
        RegistryState::Read(_) => format!("registry {name}  {place}"),
        RegistryState::Missing(_) => format!("registry {name}  {place}  (no such directory)"),
        RegistryState::NotFetched => {
            format!("registry {name}  {place}  (not fetched yet: `cargo agents plugin sync`)")
        }
        RegistryState::BadAddress(why) => format!("registry {name}  {place}  ({why})"),
    }
}

/// `active  because serde 1.0.2`, `-  needs sqlx`: cheap, for there may be thousands.
pub(super) fn short_reason(considered: &Considered<'_>, here: Surroundings<'_>) -> String {
    let plugin = considered.plugin;
    let here = here_for(here, plugin);
    match considered.state {
        State::Active(_) => {
            let matched = plugin.gate.witness(here).unwrap_or_default();
            let because: Vec<String> =
                matched.iter().map(|(name, version)| format!("{name} {version}")).collect();
            match because.is_empty() {
                true => state_in_words(considered.state),
                false => format!("active because of {}", because.join(", ")),
            }
        }
        State::Inactive(agents_plugin::active::Reason::Gate) => {
            let crates: Vec<String> =
                plugin.gate.lacking(here).iter().map(ToString::to_string).collect();
            match crates.is_empty() {
                true => state_in_words(considered.state),
                false => format!("not active: needs {}", crates.join(" or ")),
            }
        }
        State::Inactive(_) => state_in_words(considered.state),
    }
}

fn document(here: &Here<'_>) -> ListDocument {
    let set = &here.set;
    let findings = here.findings.iter().chain(&set.findings).chain(&set.catalog.findings);
    ListDocument {
        registries: set.catalog.registries.iter().map(registry_view).collect(),
        plugins: set.considered().map(|considered| plugin_view(&considered)).collect(),
        invalid: set.catalog.invalid.iter().map(invalid_view).collect(),
        findings: findings.map(FindingView::from).collect(),
    }
}

fn registry_view(report: &RegistryReport) -> RegistryView {
    let (kind, place) = kind_and_place(&report.spec.place);
    let (state, dir) = match &report.state {
        RegistryState::Read(dir) => ("read", Some(dir.to_string())),
        RegistryState::Missing(_) => ("missing", None),
        RegistryState::NotFetched => ("not-fetched", None),
        RegistryState::BadAddress(_) => ("bad-address", None),
    };
    RegistryView { name: report.spec.name.clone(), kind, place, state, dir }
}

fn plugin_view(considered: &Considered<'_>) -> PluginView {
    let plugin = considered.plugin;
    PluginView {
        name: plugin.name.to_string(),
        origin: plugin.origin.kind(),
        registry: match &plugin.origin {
            Origin::Registry(name) => Some(name.clone()),
            _ => None,
        },
        file: plugin.file.to_string(),
        active: considered.is_active(),
        because: state_in_words(considered.state),
        subcommands: plugin.offers().subcommands.iter().map(|it| it.name.to_string()).collect(),
    }
}

fn invalid_view(invalid: &Invalid) -> InvalidView {
    let findings = invalid.findings.iter().map(FindingView::from).collect();
    InvalidView { file: invalid.file.to_string(), findings }
}

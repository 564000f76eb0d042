//! `cargo agents plugin validate <path>`

use std::{collections::BTreeMap, process::ExitCode};

use agents_plugin::{
    manifest::Manifest,
    predicate::Gate,
    validate::{Checked, Kind, validate},
};
use agents_system::explain::{Code, ErrorKind};
use agents_workspace::{CrateName, Workspaces};
use camino::Utf8Path;
use serde::Serialize;

use crate::{
    failure::{Failure, FindingView, explained_by},
    output::Output,
    settings::Settings,
};

/// Whether cargo is asked about the crates that are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Crates {
    Ask,
    Trust,
}

/// `cargo agents plugin validate --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ValidateDocument {
    valid: bool,
    checked: Vec<CheckedView>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CheckedView {
    /// The file, or the crate
    item: String,
    /// `plugin`, `skill` or `crate`
    kind: &'static str,
    valid: bool,
    findings: Vec<FindingView>,
}

pub(crate) fn run(
    settings: &Settings,
    output: &Output,
    path: &Utf8Path,
    crates: Crates,
) -> Result<ExitCode, Failure> {
    let checked =
        validate(path).map_err(|error| Failure::new(ErrorKind::Usage, error.to_string()))?;
    if checked.is_empty() {
        return Err(Failure::new(
            ErrorKind::Usage,
            format!("no plugins or skills found in `{path}`"),
        )
        .code(Code::ManifestInvalid)
        .hint("a plugin is a directory with a `SYMPOSIUM.toml`, or with a `SKILL.md`"));
    }
    let mut views: Vec<CheckedView> = checked.iter().map(view).collect();
    let mut valid = checked.iter().all(Checked::is_valid);
    if crates == Crates::Ask {
        let missing = ask_cargo(settings, &checked);
        Failure::if_interrupted()?;
        valid &= missing.values().all(Option::is_none);
        views.extend(missing.into_iter().map(crate_view));
    }
    if output.is_json() {
        output.document(&ValidateDocument { valid, checked: views })?;
    } else {
        render(&checked, &views[checked.len()..], output)?;
    }
    if !valid && !output.is_json() {
        output.flush()?;
        output.talk(&explained_by(Code::ManifestInvalid));
    }
    Ok(if valid { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn render(checked: &[Checked], crates: &[CheckedView], output: &Output) -> Result<(), Failure> {
    for item in checked {
        let word = if item.is_valid() { "ok" } else { "wrong" };
        output.line(format!("{word:5}  {:6}  {}", kind_word(item.kind), item.file))?;
        for finding in &item.findings {
            output.line(output.render_finding(finding))?;
        }
    }
    for item in crates {
        let word = if item.valid { "ok" } else { "wrong" };
        output.line(format!("{word:5}  crate   {}", item.item))?;
        for finding in &item.findings {
            output.line(format!("error: {}", finding.message))?;
        }
    }
    let wrong = checked.iter().filter(|item| !item.is_valid()).count();
    let wrong = wrong + crates.iter().filter(|item| !item.valid).count();
    let all = checked.len() + crates.len();
    output.line(match wrong {
        0 => format!("{all} checked, nothing wrong"),
        wrong => format!("{all} checked, {wrong} wrong"),
    })
}

/// Every crate that some gate names, with the reason why it cannot be had.
fn ask_cargo(settings: &Settings, checked: &[Checked]) -> BTreeMap<CrateName, Option<String>> {
    let manifests = checked.iter().filter_map(|item| item.manifest.as_ref());
    let names = manifests.flat_map(Manifest::gates).flat_map(Gate::crates);
    let mut crates: BTreeMap<CrateName, Option<String>> =
        names.map(|name| (name.clone(), None)).collect();
    let workspaces = Workspaces {
        cache: &settings.dirs.cache,
        cargo: &settings.cargo,
        progress: &settings.progress,
    };
    for (name, problem) in &mut crates {
        settings.progress.begin(format!("Asking cargo about {name}"));
        *problem = match workspaces.source(None, &settings.cwd, name, None) {
            Ok(_) => None,
            Err(error) => Some(error.to_string()),
        };
    }
    settings.progress.end();
    crates
}

fn view(checked: &Checked) -> CheckedView {
    CheckedView {
        item: checked.file.to_string(),
        kind: kind_word(checked.kind),
        valid: checked.is_valid(),
        findings: checked.findings.iter().map(FindingView::from).collect(),
    }
}

fn crate_view((name, problem): (CrateName, Option<String>)) -> CheckedView {
    let finding = problem.map(agents_system::finding::Finding::error);
    CheckedView {
        item: name.to_string(),
        kind: "crate",
        valid: finding.is_none(),
        findings: finding.iter().map(FindingView::from).collect(),
    }
}

fn kind_word(kind: Kind) -> &'static str {
    match kind {
        Kind::Plugin => "plugin",
        Kind::Skill => "skill",
    }
}

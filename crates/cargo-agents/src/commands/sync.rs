//! `cargo agents plugin sync [registry]`: the one command that fetches plugins.

use std::process::ExitCode;

use agents_install::{Update, git::GitAddress};
use agents_plugin::{
    active::Wanted,
    config::{AutoUpdate, Config, RegistryPlace, RegistrySpec},
    fetched::FetchedCrates,
    probes::Acquire,
};
use agents_system::{
    explain::{Code, ErrorKind},
    finding::Finding,
};
use agents_workspace::{Network, WorkspaceError};
use serde::Serialize;

use crate::{
    failure::{Failure, FindingView},
    here::{BrokenWorkspace, Here, visit},
    output::Output,
    settings::Settings,
};

/// How often it is looked whether what has just arrived wants more.
const MAX_ROUNDS: usize = 16;

/// `cargo agents plugin sync --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct SyncDocument {
    synced: Vec<SyncedView>,
    findings: Vec<FindingView>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct SyncedView {
    /// `registry`, `crate` or `predicate`
    kind: &'static str,
    name: String,
    /// The commit or the version
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
}

pub(crate) fn run(
    settings: &Settings,
    output: &Output,
    only: Option<&str>,
) -> Result<ExitCode, Failure> {
    let config = Config::load(&settings.dirs)?;
    let chosen = choose(&config, only)?;
    if settings.cargo.network() == Network::Offline {
        return Err(Failure::new(
            ErrorKind::Network,
            "`plugin sync` fetches, and the network is off",
        )
        .code(Code::Offline)
        .hint("run it again without `--offline`"));
    }
    visit(settings, Acquire::Never, BrokenWorkspace::IsReported, |here, _| {
        let (mut synced, mut findings) = fetch_registries(here, &chosen);
        if only.is_none() {
            findings.extend(fetch_sources(here));
            let (more, problems) = refresh_crates(here);
            synced.extend(more);
            findings.extend(problems);
            let (more, problems) = fetch_needs(settings)?;
            synced.extend(more);
            findings.extend(problems);
        }
        settings.progress.end();
        Failure::if_interrupted()?;
        if output.is_json() {
            let views = findings.iter().map(FindingView::from).collect();
            output.document(&SyncDocument { synced, findings: views })?;
        } else {
            for item in &synced {
                let version = item.version.as_deref().map(short).unwrap_or_default();
                output.line(format!("Synced: {} {version}", item.name).trim_end())?;
            }
            if synced.is_empty() && findings.is_empty() {
                output.line("Nothing to fetch.")?;
            }
            output.flush()?;
            output.findings(&findings);
        }
        Ok(if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    })
}

/// The first digits of a commit; versions as they are.
fn short(version: &str) -> String {
    let is_commit = version.len() >= 40 && version.chars().all(|c| c.is_ascii_hexdigit());
    if is_commit { version[..12].to_owned() } else { version.to_owned() }
}

/// The git registries that are meant; naming one overrides its `auto-update = false`.
fn choose(config: &Config, only: Option<&str>) -> Result<Vec<RegistrySpec>, Failure> {
    let git = |spec: &&RegistrySpec| matches!(spec.place, RegistryPlace::Git(_));
    let Some(name) = only else {
        let automatic = config.registries.iter().filter(|spec| spec.auto_update == AutoUpdate::On);
        return Ok(automatic.filter(git).cloned().collect());
    };
    match config.registries.iter().find(|spec| spec.name == name) {
        Some(spec) if git(&spec) => Ok(vec![spec.clone()]),
        Some(_) => Err(Failure::new(
            ErrorKind::Usage,
            format!("registry `{name}` is a directory; there is nothing to fetch"),
        )),
        None => {
            let known: Vec<&str> =
                config.registries.iter().map(|spec| spec.name.as_str()).collect();
            Err(Failure::new(ErrorKind::Usage, format!("there is no registry `{name}`"))
                .code(Code::UnknownRegistry)
                .hint(format!("configured: {}", known.join(", "))))
        }
    }
}

fn fetch_registries(here: &Here<'_>, chosen: &[RegistrySpec]) -> (Vec<SyncedView>, Vec<Finding>) {
    let (mut synced, mut findings) = (Vec::new(), Vec::new());
    for spec in chosen {
        let RegistryPlace::Git(url) = &spec.place else { continue };
        here.settings.progress.begin(format!("Fetching registry {}", spec.name));
        let fetched = match GitAddress::parse(url) {
            Ok(address) => {
                // The same commit need not be fetched again, unless that is asked for.
                let update = match here.settings.update {
                    Update::Fetch => Update::Fetch,
                    Update::None | Update::Check => Update::Check,
                };
                here.registries.checkouts.checkout(&address, update).map_err(Failure::from)
            }
            Err(error) => Err(Failure::new(ErrorKind::Usage, error.to_string())),
        };
        match fetched {
            Ok(checkout) => {
                findings.extend(checkout.findings);
                let version = Some(checkout.commit);
                synced.push(SyncedView { kind: "registry", name: spec.name.clone(), version });
            }
            Err(failure) => {
                findings.push(failure.into_finding(&format!("registry `{}`", spec.name)));
            }
        }
    }
    (synced, findings)
}

/// Brings what was fetched earlier up to date; only what changed counts.
fn refresh_crates(here: &Here<'_>) -> (Vec<SyncedView>, Vec<Finding>) {
    let (mut synced, mut findings) = (Vec::new(), Vec::new());
    let store = FetchedCrates::new(&here.settings.dirs.cache);
    for wanted in &here.set.fetched {
        let before = store.version(wanted).map(|version| version.to_string());
        match fetch_crate(here, wanted, &store) {
            Ok(item) if item.version == before => {}
            Ok(item) => synced.push(item),
            Err(failure) => {
                findings.push(failure.into_finding(&format!("crate `{}`", wanted.name)));
            }
        }
    }
    (synced, findings)
}

/// Fetches the crates that plugins bring along and the programs of custom predicates. What has just arrived may
/// want more, so look again until nothing new comes.
fn fetch_needs(settings: &Settings) -> Result<(Vec<SyncedView>, Vec<Finding>), Failure> {
    let (mut synced, mut findings) = (Vec::new(), Vec::new());
    for _ in 0..MAX_ROUNDS {
        let look = |here: &Here<'_>, error: Option<WorkspaceError>| {
            let (arrived, mut findings) = fetch_once(here);
            findings.extend(
                error.map(|error| Failure::from(error).into_finding("the workspace is left out")),
            );
            Ok((arrived, findings))
        };
        let (arrived, problems) =
            visit(settings, Acquire::Never, BrokenWorkspace::IsReported, look)?;
        findings = problems;
        if arrived.is_empty() {
            break;
        }
        synced.extend(arrived);
    }
    Ok((synced, findings))
}

/// What is lacking right now.
fn fetch_once(here: &Here<'_>) -> (Vec<SyncedView>, Vec<Finding>) {
    let (mut synced, mut findings) = (Vec::new(), Vec::new());
    let fetched = FetchedCrates::new(&here.settings.dirs.cache);
    for wanted in &here.set.wanted {
        match fetch_crate(here, wanted, &fetched) {
            Ok(item) => synced.push(item),
            Err(failure) => {
                findings.push(failure.into_finding(&format!("crate `{}`", wanted.name)));
            }
        }
    }
    let definers = {
        let root = here.workspace.as_ref().map(|workspace| workspace.root.as_path());
        here.registries.definers(&here.set.catalog, root)
    };
    for plugin in definers.filter(|plugin| !plugin.predicates.is_empty()) {
        let Ok(manifest) = plugin.manifest() else { continue };
        for predicate in &manifest.predicates {
            let installer = here.registries.installer;
            let (all, command) = (&manifest.installations, &predicate.command);
            if matches!(installer.resolve_cached(all, command, plugin.dir()), Ok(Some(_))) {
                continue;
            }
            here.settings.progress.begin(format!("Installing what {} needs", predicate.name));
            match installer.resolve(all, command, plugin.dir()) {
                Ok(runnable) => synced.push(SyncedView {
                    kind: "predicate",
                    name: predicate.name.to_string(),
                    version: runnable.version,
                }),
                Err(error) => findings.push(
                    Failure::from(error).into_finding(&format!("predicate `{}`", predicate.name)),
                ),
            }
        }
    }
    (synced, findings)
}

fn fetch_crate(
    here: &Here<'_>,
    wanted: &Wanted,
    fetched: &FetchedCrates<'_>,
) -> Result<SyncedView, Failure> {
    here.settings.progress.begin(format!("Fetching {}", wanted.name));
    let source = here.registries.workspaces.source(
        here.workspace.as_ref(),
        &here.settings.cwd,
        &wanted.name,
        wanted.requirement.as_ref(),
    )?;
    fetched
        .put(wanted, &source)
        .map_err(|error| Failure::new(ErrorKind::Failure, error.to_string()))?;
    let version = Some(source.version.to_string());
    Ok(SyncedView { kind: "crate", name: source.name.to_string(), version })
}

/// Makes cargo say where the sources of all dependencies are, which it fetches if it must: they may embed plugins.
fn fetch_sources(here: &Here<'_>) -> Option<Finding> {
    let workspace = here.workspace.as_ref()?;
    if !here.registries.lacks_sources(workspace) {
        return None;
    }
    here.settings.progress.begin("Looking at the crates of this workspace");
    let known = here.registries.workspaces.details(workspace).map_err(Failure::from);
    let seen = known.and_then(|_| {
        let again = here.registries.look_again(workspace);
        again.map_err(|error| Failure::new(ErrorKind::Failure, error.to_string()))
    });
    seen.err().map(|failure| failure.into_finding("the crates of this workspace"))
}

//! Registries, their plugins, and what was installed for them.

use agents_install::cache::{Standing, changed_files, list};
use agents_plugin::{
    catalog::RegistryState,
    config::{Config, RECOMMENDATIONS, USER_PLUGINS},
};
use agents_system::finding::{Finding, Place, Severity};
use camino::Utf8Path;

use super::checks::{
    CACHE_TAMPERED, MANIFEST_BROKEN, Problem, REGISTRY_MISSING, REGISTRY_NOT_FETCHED,
    UNKNOWN_SANDBOXED,
};
use crate::here::Here;

pub(super) fn check(here: &Here<'_>) -> Vec<Problem> {
    let catalog = &here.set.catalog;
    let mut problems: Vec<Problem> = Vec::new();
    let config = Config::file(&here.settings.dirs);
    for report in &catalog.registries {
        problems.extend(registry(&report.spec.name, &report.state, &config));
    }
    for invalid in &catalog.invalid {
        let first = invalid.findings.iter().find(|it| it.severity == Severity::Error);
        let finding = match first.or(invalid.findings.first()) {
            Some(finding) => finding.clone(),
            None => Finding::error("this plugin cannot be loaded"),
        };
        let place = finding.place.clone().unwrap_or_else(|| Place::file(&invalid.file));
        let hint = format!("`cargo agents plugin validate {}` shows all of it", invalid.file);
        let severity = Severity::Error;
        problems
            .push(MANIFEST_BROKEN.problem(Finding { severity, ..finding }.at(place).hint(hint)));
    }
    problems.extend(here.unknown_sandboxed().into_iter().map(|it| UNKNOWN_SANDBOXED.problem(it)));
    problems
}

fn registry(name: &str, state: &RegistryState, config: &Utf8Path) -> Option<Problem> {
    match state {
        RegistryState::Read(_) => None,
        // Nobody has to have plugins of their own.
        RegistryState::Missing(_) if name == USER_PLUGINS => None,
        RegistryState::Missing(dir) => {
            let said = format!("the registry `{name}` should be in `{dir}`, which does not exist");
            Some(REGISTRY_MISSING.problem(Finding::error(said).at(Place::file(config))))
        }
        RegistryState::BadAddress(why) => {
            let said = format!("the registry `{name}` cannot be found: {why}");
            Some(REGISTRY_MISSING.problem(Finding::error(said).at(Place::file(config))))
        }
        RegistryState::NotFetched => {
            // Nobody asked for the one that comes with the program.
            let severity = if name == RECOMMENDATIONS { Severity::Note } else { Severity::Warning };
            let said = format!("the registry `{name}` has never been fetched");
            let hint = format!("`cargo agents plugin sync {name}` fetches it");
            Some(REGISTRY_NOT_FETCHED.problem(Finding::new(severity, said).hint(hint)))
        }
    }
}

/// Only what would be run.
pub(super) fn tampered(cache: &Utf8Path) -> Vec<Problem> {
    let entries = list(cache).into_iter().filter(|entry| entry.standing == Standing::Current);
    let changed = entries.flat_map(|entry| {
        let files = changed_files(&entry);
        files.into_iter().map(move |file| {
            let said = format!("this is not what was installed for {}", entry.what);
            CACHE_TAMPERED.problem(Finding::error(said).at(Place::file(file)))
        })
    });
    changed.collect()
}

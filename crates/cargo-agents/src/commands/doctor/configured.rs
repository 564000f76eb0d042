//! Our own settings and directories.

use agents_host::find;
use agents_plugin::config::{Config, USER_PLUGINS};
use agents_system::finding::{Finding, Place, Severity};
use camino::{Utf8Path, Utf8PathBuf};

use super::{
    checks::{
        CONFIG_BROKEN, CONFIG_UNKNOWN_KEY, CONFIG_WRITABLE_BY_OTHERS, HOSTS_FILE_BROKEN, NO_HOST,
        Problem, UNKNOWN_HOST, WORKSPACE_BROKEN,
    },
    machine::Machine,
};

pub(super) fn check(machine: &Machine<'_>) -> Vec<Problem> {
    let mut problems = match &machine.config {
        Ok(config) => config_problems(config, machine),
        Err(findings) => broken(findings, machine),
    };
    for table in &machine.tables {
        let more = match table {
            Ok(doubts) => doubts.iter().map(|it| CONFIG_UNKNOWN_KEY.problem(it.clone())).collect(),
            Err(findings) => broken(findings, machine),
        };
        // A file that is no TOML is the same to all of them.
        for problem in more {
            if problems.iter().all(|it| it.finding != problem.finding) {
                problems.push(problem);
            }
        }
    }
    problems.extend(machine.hosts_file.iter().map(|it| HOSTS_FILE_BROKEN.problem(it.clone())));
    problems.extend(machine.broken_workspace.iter().map(|it| {
        let place = Place::file(&machine.settings.cwd);
        WORKSPACE_BROKEN.problem(Finding { place: Some(place), ..it.clone() })
    }));
    problems.extend(writable_by_others(machine));
    problems
}

fn config_problems(config: &Config, machine: &Machine<'_>) -> Vec<Problem> {
    let file = Config::file(&machine.settings.dirs);
    let mut problems: Vec<Problem> =
        config.findings.iter().map(|it| CONFIG_UNKNOWN_KEY.problem(it.clone())).collect();
    let unknown = config.hosts.iter().filter_map(|name| find(&machine.hosts, name).err());
    problems
        .extend(unknown.map(|it| UNKNOWN_HOST.problem(it.finding().at(Place::file(file.clone())))));
    if config.hosts.is_empty() {
        let said = "no coding agent is configured, so nothing is brought anywhere";
        problems.push(NO_HOST.problem(Finding::new(Severity::Note, said)));
    }
    problems
}

/// The first finding is about the file as a whole; those that point into it say more.
fn broken(findings: &[Finding], machine: &Machine<'_>) -> Vec<Problem> {
    let precise: Vec<&Finding> = findings.iter().filter(|it| it.place.is_some()).collect();
    let place = Place::file(Config::file(&machine.settings.dirs));
    match precise.is_empty() {
        false => precise.into_iter().map(|it| CONFIG_BROKEN.problem(it.clone())).collect(),
        true => {
            let whole = findings.iter().map(|it| it.clone().at(place.clone()));
            whole.map(|it| CONFIG_BROKEN.problem(it)).collect()
        }
    }
}

/// Settings, the record and installed programs: whoever can change them runs code in the user's name.
fn writable_by_others(machine: &Machine<'_>) -> Vec<Problem> {
    let dirs = &machine.settings.dirs;
    let ours: [Utf8PathBuf; 6] = [
        dirs.config.clone(),
        Config::file(dirs),
        dirs.config.join("hosts.toml"),
        plugins_of(machine),
        dirs.cache.clone(),
        dirs.state.clone(),
    ];
    let open = ours.iter().filter(|path| is_writable_by_others(path));
    open.map(|path| {
        let finding = Finding::error("everybody on this machine can write this");
        let finding = finding.at(Place::file(path)).hint(format!("`chmod o-w {path}`"));
        CONFIG_WRITABLE_BY_OTHERS.problem(finding)
    })
    .collect()
}

/// The directory of the user's own plugins.
fn plugins_of(machine: &Machine<'_>) -> Utf8PathBuf {
    use agents_plugin::config::RegistryPlace;
    let registries = machine.config.as_ref().map(|it| it.registries.as_slice()).unwrap_or_default();
    let own = registries.iter().find(|spec| spec.name == USER_PLUGINS);
    match own.map(|spec| &spec.place) {
        Some(RegistryPlace::Path(dir)) => dir.clone(),
        Some(RegistryPlace::Git(_)) | None => machine.settings.dirs.config.join("plugins"),
    }
}

#[cfg(unix)]
fn is_writable_by_others(path: &Utf8Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    const OTHERS_WRITE: u32 = 0o002;
    path.metadata().is_ok_and(|data| data.mode() & OTHERS_WRITE != 0)
}

#[cfg(not(unix))]
fn is_writable_by_others(_: &Utf8Path) -> bool {
    false
}

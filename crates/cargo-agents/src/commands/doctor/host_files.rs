//! The hosts and their files.

use agents_host::Host;
use agents_system::{
    finding::{Finding, Place},
    process::find_program,
};
use camino::Utf8PathBuf;

use super::{
    checks::{DANGLING_LINK, FILE_BROKEN, HOST_NOT_INSTALLED, HOST_TOO_OLD, Problem},
    machine::{Fault, Machine, entries},
    version::version_of,
};

pub(super) fn check(machine: &Machine<'_>) -> Vec<Problem> {
    let mut problems = Vec::new();
    for host in machine.configured() {
        problems.extend(not_installed(host, machine));
        problems.extend(too_old(host));
    }
    problems.extend(faulty_files(machine));
    problems.extend(dangling_skills(machine));
    problems
}

fn not_installed(host: &Host, machine: &Machine<'_>) -> Option<Problem> {
    let found = host.is_installed(&machine.roots(), |name| find_program(name).is_some());
    if found {
        return None;
    }
    let said = format!("{} is configured, and there is no sign of it", host.name);
    let id = &host.id;
    let hint = format!("install it, or `cargo agents init --remove-agent {id} --yes`");
    Some(HOST_NOT_INSTALLED.problem(Finding::warning(said).hint(hint)))
}

fn too_old(host: &Host) -> Option<Problem> {
    let oldest = host.detect.oldest.as_ref()?;
    let program = host.detect.programs.iter().find_map(find_program)?;
    let version = version_of(&program)?;
    if version >= *oldest {
        return None;
    }
    let said = format!("{} {version} does not understand all that we write", host.name);
    let finding = Finding::warning(said).at(Place::file(program));
    Some(HOST_TOO_OLD.problem(finding.hint(format!("update it to {oldest} or newer"))))
}

fn faulty_files(machine: &Machine<'_>) -> Vec<Problem> {
    let faulty = machine.host_files().into_iter().filter_map(|it| {
        let (host, place) = (&it.host.name, Place::file(&it.file));
        Some(match it.fault()? {
            Fault::Dangling(target) => {
                let said = format!("this file of {host} is a link to `{target}`, which is gone");
                DANGLING_LINK.problem(Finding::error(said).at(place))
            }
            Fault::Unreadable(why) => {
                let said = format!("{host} and we cannot read this: {why}");
                FILE_BROKEN.problem(Finding::error(said).at(place))
            }
        })
    });
    faulty.collect()
}

fn dangling_skills(machine: &Machine<'_>) -> Vec<Problem> {
    let dirs = machine.skill_dirs(machine.configured().into_iter());
    let links = dirs.into_iter().flat_map(|dir| entries(&dir)).filter_map(|path| {
        let target: Utf8PathBuf = path.read_link_utf8().ok()?;
        (!path.exists()).then_some((path, target))
    });
    links
        .map(|(path, target)| {
            let said = format!("this skill is a link to `{target}`, which is gone");
            DANGLING_LINK.problem(Finding::warning(said).at(Place::file(path)))
        })
        .collect()
}

//! What a host finds when it loads skills and hooks: each once, and not more than it has room for.

use std::collections::BTreeMap;

use agents_host::{Host, Scope, hooks::mark};
use agents_plugin::{
    skill::{SKILL_FILE, parse_own_skill},
    skills::{MARKER, content_of},
};
use agents_system::{
    edit::Format,
    finding::{Finding, Place},
    ledger::mentions,
    memory::Watch,
};
use camino::{Utf8Path, Utf8PathBuf};

use super::{
    checks::{LOADED_TWICE, Problem, SKILL_BUDGET},
    machine::{Machine, document, entries},
};

/// A host cuts a single description there.
const MAX_DESCRIPTION: usize = 1536;

pub(super) fn check(machine: &Machine<'_>) -> Vec<Problem> {
    let mut problems = Vec::new();
    for host in machine.configured() {
        problems.extend(hooks_twice(host, machine));
        problems.extend(skills_twice(host, machine));
        problems.extend(over_budget(host, machine));
    }
    problems
}

/// In the user's file and in that of the workspace. That Copilot also runs what stands in a file of Claude Code is noticed when
/// it calls.
fn hooks_twice(host: &Host, machine: &Machine<'_>) -> Option<Problem> {
    let mark = mark(&host.id);
    let with_ours = |scope| {
        let file = host.paths(scope, &machine.roots()).hook_file?;
        let document = document(&file, Format::Json)?;
        mentions(&document, &mark).then_some(file)
    };
    let (project, user) = (with_ours(Scope::Project)?, with_ours(Scope::User)?);
    let said = format!("{} runs our hooks twice: they are registered in `{user}` too", host.name);
    let finding = Finding::warning(said).at(Place::file(project));
    let hint = "remove ours from the file that `hook-scope` does not mean";
    Some(LOADED_TWICE.problem(finding.hint(hint)))
}

/// Two different skills under one name, at least one of them ours; what the user has twice is their own affair.
fn skills_twice(host: &Host, machine: &Machine<'_>) -> Vec<Problem> {
    let mut by_name: BTreeMap<String, Vec<Utf8PathBuf>> = BTreeMap::new();
    for skill in skills_of(host, machine) {
        let name = skill.file_name().unwrap_or_default().to_owned();
        by_name.entry(name).or_default().push(skill);
    }
    let twice = by_name.into_iter().filter_map(|(name, places)| {
        let ours = places.iter().find(|dir| dir.join(MARKER).exists())?;
        let content = |dir: &Utf8Path| content_of(dir, &mut Watch::new()).digest;
        let real = |dir: &Utf8PathBuf| dir.canonicalize_utf8().unwrap_or_else(|_| dir.clone());
        let own = content(&real(ours));
        let other =
            places.iter().find(|dir| real(dir) != real(ours) && content(&real(dir)) != own)?;
        let said = format!("{} finds another skill `{name}` in `{other}` as well", host.name);
        let finding = Finding::warning(said).at(Place::file(ours));
        Some(LOADED_TWICE.problem(finding.hint("rename or remove the one that is yours")))
    });
    twice.collect()
}

fn over_budget(host: &Host, machine: &Machine<'_>) -> Option<Problem> {
    let room = host.skills.listing?;
    let skills = skills_of(host, machine);
    let taken: usize = skills.iter().map(|dir| listed(dir)).sum();
    if taken <= room {
        return None;
    }
    let count = skills.len();
    let said = format!(
        "{} lists {count} skills with {taken} characters and has room for about {room}: it leaves descriptions out",
        host.name
    );
    let dir = host.paths(Scope::Project, &machine.roots()).skills_dir;
    let finding = Finding::warning(said);
    Some(SKILL_BUDGET.problem(match dir {
        Some(dir) => finding.at(Place::file(dir)),
        None => finding,
    }))
}

/// How many characters a skill takes in the list: its name and when to use it.
fn listed(dir: &Utf8Path) -> usize {
    let name = dir.file_name().unwrap_or_default();
    let file = dir.join(SKILL_FILE);
    let text = fs_err::read_to_string(&file).unwrap_or_default();
    let (header, _) = parse_own_skill(&file, &text, name);
    let description = header.map_or(0, |header| header.description.chars().count());
    name.chars().count() + description.min(MAX_DESCRIPTION)
}

fn skills_of(host: &Host, machine: &Machine<'_>) -> Vec<Utf8PathBuf> {
    let dirs = machine.skill_dirs(std::iter::once(host));
    let all = dirs.into_iter().flat_map(|dir| entries(&dir));
    all.filter(|dir| dir.join(SKILL_FILE).is_file()).collect()
}

//! The ledger, and whether the disk agrees with it.

use std::collections::BTreeSet;

use agents_plugin::skills::MARKER;
use agents_sync::{
    desired::digest_of,
    facts::{Facts, File, Marked, Slot},
    unfinished_skills,
};
use agents_system::{
    atomic::UNFINISHED,
    edit,
    explain::Explain as _,
    finding::{Finding, Place},
    foreign::unfinished,
    ledger::{Entry, Ledger, LedgerError, Property, Share},
};
use camino::{Utf8Path, Utf8PathBuf};

use super::{
    checks::{
        EDITED, LEDGER_BROKEN, LEDGER_NEWER, LEFTOVERS, MISSING, ORPHAN_SKILL, ORPHAN_WORKSPACE,
        Problem, Repair, UNFINISHED_SYNC,
    },
    machine::{Machine, entries},
};
use crate::failure::Failure;

pub(super) fn check(machine: &Machine<'_>) -> Vec<Problem> {
    let mut problems = match &machine.ledger {
        Err(error) => vec![broken(error, &machine.places().ledger)],
        Ok(ledger) => {
            let mut problems = Vec::new();
            problems.extend(unfinished_sync(ledger, machine));
            problems.extend(orphan_workspaces(ledger));
            problems.extend(orphan_skills(ledger, machine));
            problems
        }
    };
    if let Some((owned, facts)) = machine.owned() {
        problems.extend(changed(&owned, &facts));
    }
    problems.extend(leftovers(machine));
    problems
}

fn broken(error: &LedgerError, file: &Utf8Path) -> Problem {
    let check = match error {
        LedgerError::Newer { .. } => LEDGER_NEWER,
        LedgerError::Unreadable(_) | LedgerError::Io { .. } | LedgerError::Damaged { .. } => {
            LEDGER_BROKEN
        }
    };
    let source = std::error::Error::source(error).map(|why| format!(": {why}")).unwrap_or_default();
    let finding = Finding::error(format!("{error}{source}")).at(Place::file(file));
    check.problem(Finding { hint: error.hint(), ..finding })
}

/// A writer that is still at it has not been killed.
fn unfinished_sync(ledger: &Ledger, machine: &Machine<'_>) -> Option<Problem> {
    let intended = ledger.intended.as_ref().filter(|_| machine.at_rest)?;
    let said = format!("a sync of {} was killed in the middle", things(intended.len()));
    let finding = Finding::error(said).at(Place::file(machine.places().ledger));
    Some(UNFINISHED_SYNC.problem(finding).repair(Repair::Recover))
}

fn orphan_workspaces(ledger: &Ledger) -> Vec<Problem> {
    let all: BTreeSet<&Utf8PathBuf> = ledger.entries.iter().flat_map(|it| &it.workspaces).collect();
    // One that cannot be looked at is not gone.
    let is_gone = |root: &Utf8Path| {
        root.symlink_metadata().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
    };
    let gone = all.into_iter().filter(|root| is_gone(root));
    gone.map(|root| {
        let count = ledger.entries.iter().filter(|it| it.is_for(root)).count();
        let said = format!("{} kept for a workspace that does not exist any more", are(count));
        let finding = Finding::warning(said).at(Place::file(root));
        ORPHAN_WORKSPACE.problem(finding).repair(Repair::Release(root.clone()))
    })
    .collect()
}

/// Hosts that are not configured any more count too: their skills are still on disk.
fn orphan_skills(ledger: &Ledger, machine: &Machine<'_>) -> Vec<Problem> {
    let known = |dir: &Utf8Path| {
        let mut places = ledger.entries.iter().chain(ledger.intended.iter().flatten());
        places.any(|entry| entry.property.place() == dir)
    };
    let skills = machine.skill_dirs(machine.hosts.iter()).into_iter().flat_map(|dir| entries(&dir));
    let marked = skills.filter(|dir| dir.join(MARKER).symlink_metadata().is_ok());
    let orphans = marked.filter(|dir| !known(dir));
    orphans
        .map(|dir| {
            let name = dir.file_name().unwrap_or_default();
            let said = format!("the skill `{name}` carries our mark and is not in our record");
            ORPHAN_SKILL.problem(Finding::warning(said).at(Place::file(&dir)))
        })
        .collect()
}

/// What became of something that we wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    AsWritten,
    Edited,
    Gone,
    /// The file cannot be read, which another check says.
    Unknown,
}

/// One problem for each place; a file may hold many things of ours.
fn changed(owned: &[&Entry], facts: &Facts) -> Vec<Problem> {
    let mut problems: Vec<Problem> = Vec::new();
    let places: BTreeSet<&Utf8Path> = owned.iter().map(|entry| entry.property.place()).collect();
    for place in places {
        let here = || owned.iter().filter(|entry| entry.property.place() == place);
        let named = |fate: Fate| -> Vec<String> {
            let with = here().filter(|entry| fate_of(&entry.property, facts) == fate);
            with.map(|entry| entry.what.named(&name_of(&entry.property))).collect()
        };
        let (gone, edited) = (named(Fate::Gone), named(Fate::Edited));
        if let Some(said) = listed(&gone, "is gone", "are gone") {
            let finding = Finding::warning(said).at(Place::file(place));
            problems.push(MISSING.problem(finding).repair(Repair::Sync));
        }
        if let Some(said) = listed(&edited, "was edited", "were edited") {
            let said = format!("{said} after it was written, so no update reaches it");
            problems.push(EDITED.problem(Finding::warning(said).at(Place::file(place))));
        }
    }
    problems
}

fn fate_of(property: &Property, facts: &Facts) -> Fate {
    match property {
        Property::Directory { dir, digest } => match facts.slot(dir) {
            Slot::Free => Fate::Gone,
            Slot::Source => Fate::AsWritten,
            Slot::Taken { digest: Some(now), .. } if now == digest => Fate::AsWritten,
            Slot::Taken { marked: Marked::Yes, .. } => Fate::Edited,
            // Somebody put their own there.
            Slot::Taken { marked: Marked::No, .. } => Fate::Gone,
        },
        Property::File { file, digest } => match facts.file(file) {
            File::Absent => Fate::Gone,
            File::Text(text) if digest_of(text) == *digest => Fate::AsWritten,
            File::Text(_) => Fate::Edited,
            File::Unreadable(_) => Fate::Unknown,
        },
        // Nobody misses what only keeps the rest of a file valid.
        Property::Part(part) if part.share == Share::Scaffold => Fate::AsWritten,
        Property::Part(part) => match facts.file(&part.file) {
            File::Absent => Fate::Gone,
            File::Unreadable(_) => Fate::Unknown,
            File::Text(text) => match edit::read(part.format, text) {
                Err(_) => Fate::Unknown,
                Ok(document) if part.is_in(&document) => Fate::AsWritten,
                Ok(document) if part.stands_in(&document) => Fate::Edited,
                Ok(_) => Fate::Gone,
            },
        },
    }
}

fn name_of(property: &Property) -> String {
    match property {
        Property::Directory { .. } | Property::File { .. } => {
            property.place().file_name().unwrap_or_default().to_owned()
        }
        Property::Part(part) => part.at.keys().last().cloned().unwrap_or_default(),
    }
}

/// Unfinished files beside those of hosts and beside agents, and unfinished skills; not while somebody is writing them.
fn leftovers(machine: &Machine<'_>) -> Option<Problem> {
    if !machine.at_rest {
        return None;
    }
    let mut found: Vec<Utf8PathBuf> = Vec::new();
    let recorded = machine.ledger.iter().flat_map(|ledger| &ledger.entries);
    let recorded = recorded.filter_map(|entry| match &entry.property {
        Property::Directory { .. } => None,
        Property::File { file, .. } => Some(file.clone()),
        Property::Part(part) => Some(part.file.clone()),
    });
    let files: BTreeSet<Utf8PathBuf> =
        recorded.chain(machine.host_files().into_iter().map(|it| it.file)).collect();
    found.extend(files.iter().flat_map(|file| unfinished(file)));
    let dirs = machine.skill_dirs(machine.hosts.iter());
    found.extend(dirs.iter().flat_map(|dir| unfinished_skills(dir)));
    found.extend(machine.agent_dirs().iter().flat_map(|dir| unfinished_agents(dir)));
    found.sort();
    found.dedup();
    let first = found.first()?;
    let said = format!("{} left by a writer that was killed", are(found.len()));
    let finding = Finding::warning(said).at(Place::file(first));
    Some(LEFTOVERS.problem(finding).repair(Repair::Sweep(found)))
}

/// What is unfinished in a directory of agents, also of one that never came to be.
fn unfinished_agents(dir: &Utf8Path) -> Vec<Utf8PathBuf> {
    let all = entries(dir);
    let of_whom = |path: &Utf8PathBuf| {
        let (name, _) = path.file_name()?.strip_prefix('.')?.rsplit_once(".agents-")?;
        Some(dir.join(name))
    };
    let agents: BTreeSet<Utf8PathBuf> = all.iter().filter_map(of_whom).collect();
    let unpacked =
        |path: &&Utf8PathBuf| path.file_name().is_some_and(|it| it.starts_with(UNFINISHED));
    let unpacked = all.iter().filter(unpacked).cloned();
    agents.iter().flat_map(|agent| unfinished(agent)).chain(unpacked).collect()
}

/// ``the skill `a` is gone``, ``the hook for `x` and 3 more are gone``.
fn listed(named: &[String], one: &str, many: &str) -> Option<String> {
    let (first, rest) = named.split_first()?;
    Some(match rest.len() {
        0 => format!("{first} {one}"),
        more => format!("{first} and {more} more {many}"),
    })
}

fn things(count: usize) -> String {
    if count == 1 { "1 thing".to_owned() } else { format!("{count} things") }
}

fn are(count: usize) -> String {
    if count == 1 { "1 thing is".to_owned() } else { format!("{count} things are") }
}

/// Removes what killed writers left, if nobody is writing now. Says what it did.
pub(super) fn sweep(machine: &Machine<'_>, paths: &[Utf8PathBuf]) -> Result<String, Failure> {
    use agents_system::{explain::ErrorKind, lock::Lock};
    let failed = |error: std::io::Error| Failure::new(ErrorKind::Failure, error.to_string());
    let lock = machine.places().lock;
    fs_err::create_dir_all(&machine.settings.dirs.state).map_err(failed)?;
    let Some(_held) = Lock::try_acquire(&lock).map_err(failed)? else {
        return Err(Failure::new(ErrorKind::Failure, "a sync is running, which may need them"));
    };
    for path in paths {
        let removed = match path.is_dir() {
            true => fs_err::remove_dir_all(path),
            false => fs_err::remove_file(path),
        };
        removed.map_err(failed)?;
    }
    Ok(format!("removed {} that a killed writer had left", things(paths.len())))
}

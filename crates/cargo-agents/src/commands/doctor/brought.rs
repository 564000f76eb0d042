//! What this workspace brings hosts: whether they have it, whether it can be written, whether it can run.

use std::collections::BTreeSet;

use agents_plugin::{
    manifest::McpTransport,
    predicate::{Surroundings, evaluate::Asker},
};
use agents_sync::{Change, Desired, Edited, Plan, preview};
use agents_system::{
    access::{Denied, DeniedBy, can_fill, can_replace},
    explain::Explain as _,
    finding::{Finding, Place, Severity},
    process::find_program,
};
use agents_trust::lock::{Entry, LOCK_FILE};
use camino::{Utf8Path, Utf8PathBuf};

use super::{
    checks::{
        CONTENT_ALTERED, CONTENT_WAITING, DANGLING_LINK, DIRECTORY_READ_ONLY, DRIFT, EDITED,
        FILE_BROKEN, FILE_READ_ONLY, HOOK_PROGRAM_MISSING, LOCK_FILE_BROKEN, MISSING, NAME_TAKEN,
        Problem, Repair, SANDBOXED, SERVER_PROGRAM_MISSING,
    },
    machine::Machine,
};
use crate::{
    commands::{
        agreed::{Pending, Terms, Waits, Writing, settle},
        wanted::{self, Wanted},
    },
    here::Here,
};

/// How many changes are named one by one.
const NAMED: usize = 3;

/// `known` are the problems so far: what they explain is not said again.
pub(super) fn check(machine: &Machine<'_>, here: &Here<'_>, known: &[Problem]) -> Vec<Problem> {
    let Some(root) = &machine.root else { return read_only(machine, &Desired::default()) };
    let hosts = machine.configured();
    let mut wanted = wanted::wanted(here, &hosts, &machine.roots());
    let agreed = agreed(here, root, &mut wanted);
    let Wanted { desired, hooks, .. } = wanted;
    let mut problems = read_only(machine, &desired);
    problems.extend(agreed);
    if let Ok(plan) = preview(&machine.places(), &desired, root, Edited::Keep) {
        problems.extend(drift(&plan, known));
        problems.extend(taken(&plan, known));
    }
    for hook in &hooks {
        let why = match hook.runnable(here.registries.installer) {
            Ok(Some(_)) => continue,
            Ok(None) => "its program is not installed".to_owned(),
            Err(error) => match error.hint() {
                Some(hint) => format!("{error} ({hint})"),
                None => error.to_string(),
            },
        };
        let (plugin, name) = (&hook.plugin, &hook.hook.name);
        let said = format!("the hook `{name}` of `{plugin}` does not run: {why}");
        let finding = Finding::error(said).at(Place::file(&hook.dir));
        problems.push(HOOK_PROGRAM_MISSING.problem(finding).repair(Repair::Sync));
    }
    if !hosts.is_empty() {
        problems.extend(servers(here));
    }
    problems
}

/// What was not agreed to, which is taken out of what is wanted: no sync brings it.
fn agreed(here: &Here<'_>, root: &Utf8Path, wanted: &mut Wanted) -> Vec<Problem> {
    let settled = settle(here, root, wanted, &Terms::default(), Writing::No).and_then(|mut it| {
        it.record(here, &wanted.hooks, Writing::No)?;
        Ok(it)
    });
    let settled = match settled {
        Ok(settled) => settled,
        Err(failure) => {
            let finding = failure.into_finding(LOCK_FILE).at(Place::file(root.join(LOCK_FILE)));
            return vec![LOCK_FILE_BROKEN.problem(finding)];
        }
    };
    let problem = |it: &Pending| {
        let Entry { name, .. } = &it.entry;
        let hint = format!("`cargo agents update {name}` shows and accepts it");
        match it.why {
            Waits::Altered => {
                let said = format!(
                    "{} is not what was agreed to, although the version is the same",
                    it.entry
                );
                CONTENT_ALTERED.problem(Finding::error(said).hint(format!(
                    "fetch it again from where it comes from; if it is right as it is, {hint}"
                )))
            }
            Waits::New | Waits::Changed => {
                let said = format!("{} needs your approval", it.entry);
                CONTENT_WAITING.problem(Finding::warning(said).hint(hint))
            }
        }
    };
    settled.pending.iter().map(problem).collect()
}

fn servers(here: &Here<'_>) -> Vec<Problem> {
    let (probes, _) = here.probes();
    let workspace = here.workspace.as_ref();
    let surroundings = Surroundings { workspace, probes: &probes, asker: Asker::Other };
    let missing =
        here.set.mcp_servers(surroundings).into_iter().filter_map(|(plugin, server, _)| {
            let McpTransport::Stdio { command, .. } = &server.transport else { return None };
            if find_program(command).is_some() {
                return None;
            }
            let (name, from) = (&server.name, &plugin.name);
            let said = format!(
                "the MCP server `{name}` of `{from}` needs `{command}`, which is not found"
            );
            Some(SERVER_PROGRAM_MISSING.problem(Finding::error(said).at(Place::file(&plugin.file))))
        });
    missing.collect()
}

/// The changes that `sync` would make, besides bringing back what is gone.
fn drift(plan: &Plan, known: &[Problem]) -> Option<Problem> {
    let gone = places_of(known, &[MISSING.code]);
    let mut named: Vec<String> = Vec::new();
    let mut places: Vec<&Utf8Path> = Vec::new();
    for change in &plan.changes {
        let place = match change {
            Change::Skill { slot, .. } => slot,
            Change::File { file, .. } => file,
        };
        if gone.contains(place.as_path()) {
            continue;
        }
        places.push(place);
        match change {
            Change::Skill { slot, action, .. } => {
                let name = slot.file_name().unwrap_or_default();
                named.push(format!("{} skill `{name}`", action.word()));
            }
            Change::File { notes, .. } => named.extend(
                notes
                    .iter()
                    .map(|it| format!("{} {} `{}`", it.action.word(), it.what.word(), it.name)),
            ),
        }
    }
    let first = places.first()?;
    // Several hosts get the same.
    let mut seen = BTreeSet::new();
    named.retain(|it| seen.insert(it.clone()));
    let shown = named.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    let rest = match named.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let said = format!("`cargo agents sync` would change something: {shown}{rest}");
    Some(DRIFT.problem(Finding::warning(said).at(Place::file(*first))).repair(Repair::Sync))
}

/// What is left alone for a reason that no other check has.
fn taken(plan: &Plan, known: &[Problem]) -> Vec<Problem> {
    let codes = [EDITED.code, FILE_BROKEN.code, DANGLING_LINK.code];
    let explained = places_of(known, &codes);
    let others = plan.findings.iter().filter(|finding| {
        let place = finding.place.as_ref().map(|place| place.file.as_path());
        finding.severity > Severity::Note && !place.is_some_and(|it| explained.contains(it))
    });
    others.map(|finding| NAME_TAKEN.problem(finding.clone())).collect()
}

fn places_of<'p>(problems: &'p [Problem], codes: &[&str]) -> BTreeSet<&'p Utf8Path> {
    let these = problems.iter().filter(|problem| codes.contains(&problem.check.code));
    these.filter_map(|problem| Some(problem.finding.place.as_ref()?.file.as_path())).collect()
}

/// Everything that has to be written must be writable.
fn read_only(machine: &Machine<'_>, desired: &Desired) -> Vec<Problem> {
    let dirs = &machine.settings.dirs;
    let ours = [&dirs.config, &dirs.cache, &dirs.state].map(|dir| can_fill(dir));
    let skills: BTreeSet<&Utf8PathBuf> = desired.skills.iter().map(|it| &it.dir).collect();
    let parts = desired.parts.iter().map(|it| &it.file);
    let files: BTreeSet<&Utf8PathBuf> =
        parts.chain(desired.files.iter().map(|it| &it.file)).collect();
    let skills = skills.into_iter().map(|dir| can_fill(dir));
    let files = files.into_iter().map(|file| can_replace(file));
    let mut denied: Vec<Denied> =
        ours.into_iter().chain(skills).chain(files).filter_map(Result::err).collect();
    denied.sort_by(|one, other| one.at.cmp(&other.at));
    denied.dedup();
    let can_write_here = machine.root.as_ref().is_some_and(|root| can_fill(root).is_ok());
    problems_of(denied, can_write_here)
}

/// Where the workspace is writable and other places are not, although nothing about them says so, somebody has built a
/// fence.
fn problems_of(denied: Vec<Denied>, can_write_here: bool) -> Vec<Problem> {
    let (fenced, plain): (Vec<Denied>, Vec<Denied>) =
        denied.into_iter().partition(|it| can_write_here && it.by == DeniedBy::Surroundings);
    let mut problems: Vec<Problem> = plain
        .into_iter()
        .map(|it| {
            let why = match it.by {
                DeniedBy::Mode => "this is read-only, and we must write it",
                DeniedBy::Surroundings => {
                    "this is on a read-only file system, and we must write it"
                }
            };
            let check = if it.at.is_file() { FILE_READ_ONLY } else { DIRECTORY_READ_ONLY };
            let finding = Finding::error(why).at(Place::file(&it.at));
            match it.by {
                DeniedBy::Mode => check.problem(finding.hint(format!("`chmod u+w {}`", it.at))),
                DeniedBy::Surroundings => check.problem(finding),
            }
        })
        .collect();
    if let Some((first, rest)) = fenced.split_first() {
        let more = match rest.len() {
            0 => String::new(),
            more => format!(" (and {more} more)"),
        };
        let said =
            format!("this{more} is read-only and the workspace is not: a sandbox is around us");
        problems.push(SANDBOXED.problem(Finding::error(said).at(Place::file(&first.at))));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn denied(at: &str, by: DeniedBy) -> Denied {
        Denied { at: at.into(), by }
    }

    #[test]
    fn a_fence_is_one_problem_and_a_mode_is_one_each() {
        let codes = |denied: Vec<Denied>, can_write_here| -> Vec<&str> {
            problems_of(denied, can_write_here).iter().map(|it| it.check.code).collect()
        };
        let all = || {
            let fenced = ["/w/.agents", "/w/.codex"].map(|at| denied(at, DeniedBy::Surroundings));
            fenced.into_iter().chain([denied("/h/.claude", DeniedBy::Mode)]).collect::<Vec<_>>()
        };
        assert_eq!(codes(all(), true), ["directory-read-only", "sandboxed"]);
        assert_eq!(codes(all(), false), ["directory-read-only"; 3]);
        assert_eq!(codes(Vec::new(), true), [] as [&str; 0]);
    }
}

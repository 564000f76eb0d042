//! Step four: the `SKILL.md` files below a directory.

use std::collections::BTreeSet;

use agents_system::{
    finding::{Finding, Place, Severity},
    memory::Watch,
};
use camino::Utf8PathBuf;

use super::{
    MARKER,
    area::{Area, Whose},
    within::EntryKind,
};
use crate::skill::SKILL_FILE;

/// Deeper directories are not searched.
const MAX_DEPTH: usize = 16;

/// How the name of a directory begins in which a sync was putting a skill together when it was killed.
const UNFINISHED: &str = ".agents-building-";

/// No more directories than this are searched for one group.
const MAX_DIRS: usize = 10_000;

/// A skill that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    /// Its directory, as it really is.
    pub(super) dir: Utf8PathBuf,
    /// Its `SKILL.md`, as it really is.
    pub(super) file: Utf8PathBuf,
}

/// The skills in a directory, nearest first: itself, or what is below it. What lies inside a skill belongs to that
/// skill, and what we installed ourselves is nobody's skill.
pub(super) fn discover(area: &Area, findings: &mut Vec<Finding>, watch: &mut Watch) -> Vec<Found> {
    let Area { within, dir, whose } = area;
    let mut found = Vec::new();
    let mut visited = BTreeSet::from([dir.to_owned()]);
    let mut level = vec![dir.to_owned()];
    for depth in 0..=MAX_DEPTH {
        let mut next = Vec::new();
        for dir in level {
            let entries = match within.list(&dir, findings, watch) {
                Ok(entries) => entries,
                Err(finding) => {
                    findings.push(*finding);
                    continue;
                }
            };
            if entries.iter().any(|entry| entry.name == MARKER) {
                // In a workspace that is where they belong.
                if !matches!(whose, Whose::Member { .. }) {
                    findings.push(is_a_copy().at(Place::file(dir)));
                }
                continue;
            }
            let skill = entries
                .iter()
                .find(|entry| entry.name == SKILL_FILE && entry.kind == EntryKind::File);
            if let Some(skill) = skill {
                found.push(Found { dir, file: skill.real.clone() });
                continue;
            }
            let is_ours = |name: &str| name.starts_with(UNFINISHED);
            for entry in entries
                .into_iter()
                .filter(|entry| entry.kind == EntryKind::Dir && !is_ours(&entry.name))
            {
                // Two ways may lead to one directory.
                if visited.insert(entry.real.clone()) {
                    next.push(entry.real);
                }
            }
        }
        if next.is_empty() {
            return found;
        }
        if visited.len() > MAX_DIRS || depth == MAX_DEPTH {
            let message = match depth {
                MAX_DEPTH => format!("directories deeper than {MAX_DEPTH} are not searched"),
                _ => format!("no more than {MAX_DIRS} directories are searched for skills"),
            };
            findings.push(Finding::warning(message).at(Place::file(dir)));
            return found;
        }
        level = next;
    }
    found
}

fn is_a_copy() -> Finding {
    let message = "it is a copy that `sync` made and no source of skills";
    Finding::new(Severity::Note, message).hint("if it is one, remove `.symposium` in it")
}

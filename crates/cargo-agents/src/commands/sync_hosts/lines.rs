//! What changes line by line, and the names that one can ask for.

use std::collections::{BTreeMap, BTreeSet};

use agents_plugin::skills::SkillTree;
use agents_sync::{Action, Change, Desired, Plan};
use agents_system::{
    explain::ErrorKind,
    finding::{Finding, Place},
    ledger::What,
    nearest::{nearest, quoted_list},
};
use agents_trust::{
    lock::Kind,
    review::{Review, review},
};
use camino::{Utf8Path, Utf8PathBuf};
use similar::TextDiff;

use super::{Brought, ChangeView};
use crate::{commands::agreed::Settled, failure::Failure};

/// The one row for all events that a host calls us for.
pub(super) const EVENTS: &str = "events";

/// The lines of every skill that comes, changes or goes, by its directory. What cannot be read is said.
pub(super) fn of_skills(plan: &Plan, findings: &mut Vec<Finding>) -> BTreeMap<Utf8PathBuf, Review> {
    let mut reviews = BTreeMap::new();
    for change in &plan.changes {
        let Change::Skill { slot, action, files, .. } = change else { continue };
        let after = match files {
            None => SkillTree::default(),
            Some((files, digest)) => match files.load(digest) {
                Ok(tree) => tree.as_ref().clone(),
                Err(finding) => {
                    findings.push(finding.at(Place::file(slot.clone())));
                    continue;
                }
            },
        };
        let before = match action {
            Action::New => None,
            Action::Updated | Action::Removed => SkillTree::read(slot, slot).0,
        };
        let name = slot.file_name().unwrap_or_default();
        reviews.insert(slot.clone(), review(before.as_ref(), &after, name));
    }
    reviews
}

/// The names of what hosts should have.
pub(super) fn names(desired: &Desired) -> BTreeSet<String> {
    let skills = desired.skills.iter().flat_map(|it| [it.name.as_str(), it.suffixed.as_str()]);
    let parts = desired.parts.iter().map(|it| it.name.as_str());
    let files = desired.files.iter().map(|it| it.name.as_str());
    skills.chain(parts).chain(files).chain([EVENTS]).map(str::to_owned).collect()
}

/// Whether a row is what the user has asked for; nothing in particular is everything.
pub(super) fn is_meant(view: &ChangeView, only: Option<&str>) -> bool {
    let is_event = view.kind == What::Hook.word();
    only.is_none_or(|only| view.name == only || (is_event && only == EVENTS))
}

/// Every difference once: several hosts get the same skill, and several things stand in one file.
pub(super) fn distinct<'d>(
    brought: &'d Brought,
    views: &'d [ChangeView],
    only: Option<&str>,
) -> Vec<&'d str> {
    let settled = brought.settled.iter();
    let agreed = settled.clone().flat_map(|it| &it.reviews).map(|(name, it)| (name, &it.diff));
    let pending = settled.flat_map(|it| &it.pending).map(|it| (&it.entry.name, &it.review.diff));
    let of_name = |(name, diff): (&'d String, &'d String)| {
        only.is_none_or(|only| only == name).then_some(diff.as_str())
    };
    let of_views = views.iter().filter_map(|view| view.diff.as_deref());
    let all = agreed.filter_map(of_name).chain(of_views).chain(pending.filter_map(of_name));
    let mut seen = BTreeSet::new();
    all.filter(|diff| seen.insert(*diff)).collect()
}

/// A name that nothing here goes by: most likely a slip, and the user believes that nothing would change.
pub(super) fn refuse_unknown(brought: &Brought, name: &str) -> Result<(), Failure> {
    // Without hosts nothing is looked at, which is said anyway.
    let Some(settled) = &brought.settled else { return Ok(()) };
    let mut known: BTreeSet<&str> = brought.names.iter().map(String::as_str).collect();
    known.extend(names_of(settled));
    let views = brought.views();
    known.extend(views.iter().map(|view| view.name.as_str()));
    if known.contains(name) {
        return Ok(());
    }
    let near = nearest(name, known.iter().copied());
    let hint = match near.is_empty() {
        true => "`cargo agents diff` without a name shows everything".to_owned(),
        false => format!("did you mean {}?", quoted_list(&near, "or")),
    };
    let said = format!("no skill, agent, MCP server or hook is called `{name}` here");
    Err(Failure::new(ErrorKind::Usage, said).hint(hint))
}

/// What is measured against `agents.lock` and can be asked for by name: plugins only while they wait.
fn names_of(settled: &Settled) -> impl Iterator<Item = &str> {
    let entries = settled.entries();
    let texts = entries.filter(|entry| matches!(entry.kind, Kind::Skill | Kind::Agent));
    let pending = settled.pending.iter().map(|it| &it.entry);
    texts.chain(pending).map(|entry| entry.name.as_str())
}

/// The change of a file, with three lines around every part.
pub(super) fn of_file(change: &Change) -> Option<String> {
    let Change::File { file, before, after, .. } = change else { return None };
    Some(unified(file, before.as_deref(), after.as_deref()))
}

/// What changes in a file, as a unified diff with three lines around every part.
pub(crate) fn unified(file: &Utf8Path, before: Option<&str>, after: Option<&str>) -> String {
    let name = |text: Option<&str>| if text.is_some() { file.as_str() } else { "/dev/null" };
    let diff = TextDiff::from_lines(before.unwrap_or_default(), after.unwrap_or_default());
    diff.unified_diff().context_radius(3).header(name(before), name(after)).to_string()
}

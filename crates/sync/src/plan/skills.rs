//! Skills: one directory each, under the plain name where that is free and ours to take.

use std::collections::{BTreeMap, BTreeSet};

use agents_system::{
    finding::{Finding, Place},
    ledger::{Entry, Ledger, Property, What},
};
use camino::{Utf8Path, Utf8PathBuf};

use super::{Action, Change, Edited, Others, Plan, abandoned, shared};
use crate::{
    desired::{Desired, DesiredSkill},
    facts::{Facts, Marked, Slot},
};

pub(super) fn plan(
    plan: &mut Plan,
    desired: &Desired,
    facts: &Facts,
    ledger: &Ledger,
    workspace: &Utf8Path,
    edited: Edited,
) {
    let mut taken: BTreeSet<Utf8PathBuf> = BTreeSet::new();
    let crowded = crowded_names(desired);
    for skill in &desired.skills {
        let is_crowded = crowded.contains(&(skill.dir.as_path(), skill.name.as_str()));
        let Some(slot) = choose_slot(skill, facts, ledger, is_crowded, &taken) else {
            let finding = Finding::warning(format!(
                "the skill `{}` is not installed: `{}` is not ours",
                skill.name, skill.suffixed
            ));
            plan.findings.push(finding.at(Place::file(skill.dir.clone())));
            continue;
        };
        if *facts.slot(&slot) == Slot::Source {
            plan.unchanged += 1;
            continue;
        }
        taken.insert(slot.clone());
        settle(plan, skill, &slot, facts, ledger, workspace, edited);
    }
    let is_wanted = |property: &Property| match property {
        Property::Directory { dir, .. } => taken.contains(dir),
        Property::File { .. } | Property::Part(_) => true,
    };
    let gone: Vec<_> = abandoned(ledger, workspace, is_wanted).collect();
    for (entry, others) in gone {
        abandon(plan, entry, others, facts, workspace, edited);
    }
    // What was left to the user is forgotten when they remove it.
    plan.owned.entries.retain(|entry| match &entry.property {
        Property::Directory { dir, .. } => {
            !entry.workspaces.is_empty() || *facts.slot(dir) != Slot::Free
        }
        Property::File { .. } | Property::Part(_) => true,
    });
}

/// Names that more than one skill wants in one directory: all of them get their suffix.
fn crowded_names(desired: &Desired) -> BTreeSet<(&Utf8Path, &str)> {
    let mut wanted: BTreeMap<(&Utf8Path, &str), BTreeSet<&str>> = BTreeMap::new();
    for skill in &desired.skills {
        let place = (skill.dir.as_path(), skill.name.as_str());
        wanted.entry(place).or_default().insert(&skill.suffixed);
    }
    wanted.into_iter().filter(|(_, origins)| origins.len() > 1).map(|(place, _)| place).collect()
}

/// The plain name if it is free or ours and no other skill has it now, else the one with the suffix, else nothing.
fn choose_slot(
    skill: &DesiredSkill,
    facts: &Facts,
    ledger: &Ledger,
    is_crowded: bool,
    taken: &BTreeSet<Utf8PathBuf>,
) -> Option<Utf8PathBuf> {
    let ours = |slot: &Utf8PathBuf| match facts.slot(slot) {
        Slot::Free | Slot::Source => true,
        Slot::Taken { marked: Marked::Yes, .. } => true,
        Slot::Taken { digest, .. } => digest.is_some() && digest.as_ref() == recorded(ledger, slot),
    };
    let plain = (!is_crowded).then(|| skill.slot(skill.name.as_str()));
    let mut names = plain.into_iter().chain([skill.slot(&skill.suffixed)]);
    names.find(|slot| !taken.contains(slot) && ours(slot))
}

fn settle(
    plan: &mut Plan,
    skill: &DesiredSkill,
    slot: &Utf8Path,
    facts: &Facts,
    ledger: &Ledger,
    workspace: &Utf8Path,
    edited: Edited,
) {
    let entry = ledger.directory(slot);
    let recorded = recorded(ledger, slot);
    let action = match facts.slot(slot) {
        Slot::Free | Slot::Source => Some(Action::New),
        Slot::Taken { digest: Some(now), .. } if *now == skill.digest => None,
        Slot::Taken { digest: now, .. } => {
            // Without a record, the mark alone says whose it is; there is nothing to compare with.
            let touched = recorded.is_some_and(|recorded| Some(recorded) != now.as_ref());
            if touched && edited == Edited::Keep {
                plan.findings.push(kept(slot, "replaces it"));
                return;
            }
            if let (None, Some(now)) = (recorded, now) {
                plan.adopted.push(record(skill, slot, now, entry, workspace));
            }
            Some(Action::Updated)
        }
    };
    plan.owned.record(record(skill, slot, &skill.digest, entry, workspace));
    match action {
        None => plan.unchanged += 1,
        Some(action) => plan.changes.push(Change::Skill {
            slot: slot.to_owned(),
            action,
            tree: Some(skill.tree.clone()),
            from: skill.from.clone(),
            hosts: skill.hosts.clone(),
        }),
    }
}

/// Of what we put there.
fn recorded<'l>(ledger: &'l Ledger, slot: &Utf8Path) -> Option<&'l String> {
    match &ledger.directory(slot)?.property {
        Property::Directory { digest, .. } => Some(digest),
        Property::File { .. } | Property::Part(_) => None,
    }
}

fn record(
    skill: &DesiredSkill,
    slot: &Utf8Path,
    digest: &str,
    before: Option<&Entry>,
    workspace: &Utf8Path,
) -> Entry {
    Entry {
        what: What::Skill,
        property: Property::Directory { dir: slot.to_owned(), digest: digest.to_owned() },
        workspaces: shared(before, workspace),
        from: skill.from.clone(),
    }
}

fn abandon(
    plan: &mut Plan,
    entry: &Entry,
    others: Others,
    facts: &Facts,
    workspace: &Utf8Path,
    edited: Edited,
) {
    let Property::Directory { dir, digest } = &entry.property else { return };
    if others == Others::WantIt {
        let mut entry = entry.clone();
        entry.workspaces.remove(workspace);
        return plan.owned.record(entry);
    }
    match facts.slot(dir) {
        Slot::Taken { digest: now, marked: Marked::No } if now.as_ref() != Some(digest) => {
            // Somebody put their own there.
            return plan.owned.forget(&entry.property);
        }
        Slot::Taken { digest: now, .. }
            if now.as_ref() != Some(digest) && edited == Edited::Keep =>
        {
            // It still carries our mark; the record remembers that it is theirs.
            plan.owned.record(Entry { workspaces: BTreeSet::new(), ..entry.clone() });
            return plan.findings.push(kept(dir, "removes it"));
        }
        _ => plan.owned.forget(&entry.property),
    }
    match facts.slot(dir) {
        Slot::Free | Slot::Source => {}
        Slot::Taken { .. } => plan.changes.push(Change::Skill {
            slot: dir.clone(),
            action: Action::Removed,
            tree: None,
            from: entry.from.clone(),
            hosts: Vec::new(),
        }),
    }
}

fn kept(slot: &Utf8Path, does: &str) -> Finding {
    Finding::warning("this skill was edited after it was installed, and is kept as it is")
        .at(Place::file(slot))
        .hint(format!("`cargo agents sync --overwrite` {does}"))
}

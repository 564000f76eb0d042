//! Skills: one directory each, under the plain name where that is free and ours to take.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    path::{Path, PathBuf},
};

use agents_system::{
    finding::{Finding, Place},
    ledger::{Entry, Ledger, Property, What},
};
use camino::{Utf8Path, Utf8PathBuf};

use super::{Action, Change, Edited, Given, Plan};
use crate::{
    desired::{Desired, DesiredSkill},
    facts::{Facts, Marked, Slot},
};

pub(super) fn plan(plan: &mut Plan, given: Given<'_>) {
    let Given { desired, facts, ledger, .. } = given;
    let mut taken: HashSet<PathBuf> = HashSet::with_capacity(desired.skills.len());
    let records = Records::of(ledger);
    let crowded = crowded_names(desired);
    for skill in &desired.skills {
        let is_crowded = crowded.contains(&(skill.dir.as_str(), skill.name.as_str()));
        let Some(slot) = choose_slot(skill, facts, &records, is_crowded, &taken) else {
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
        taken.insert(slot.as_std_path().to_owned());
        settle(plan, given, skill, &slot, &records);
    }
    let is_wanted = |property: &Property| match property {
        Property::Directory { dir, .. } => taken.contains(dir.as_std_path()),
        Property::File { .. } | Property::Part(_) => true,
    };
    for entry in given.abandoned(plan, is_wanted) {
        abandon(plan, given, entry);
    }
    // What was left to the user is forgotten when they remove it.
    plan.owned.entries.retain(|entry| match &entry.property {
        Property::Directory { dir, .. } => {
            !entry.workspaces.is_empty() || *facts.slot(dir) != Slot::Free
        }
        Property::File { .. } | Property::Part(_) => true,
    });
}

/// What the ledger says about directories, by their paths. There may be thousands.
struct Records<'l> {
    entries: &'l [Entry],
    /// Where in the ledger. Not by `Utf8Path`, which is compared part by part even if it is the same text.
    at: HashMap<&'l Path, usize>,
}

impl<'l> Records<'l> {
    fn of(ledger: &'l Ledger) -> Self {
        let directories = ledger.entries.iter().enumerate().filter_map(|(at, entry)| {
            let Property::Directory { dir, .. } = &entry.property else { return None };
            Some((dir.as_std_path(), at))
        });
        Self { entries: &ledger.entries, at: directories.collect() }
    }

    fn entry(&self, slot: &Utf8Path) -> Option<&'l Entry> {
        self.at.get(slot.as_std_path()).map(|at| &self.entries[*at])
    }

    /// Of what we put there.
    fn digest(&self, slot: &Utf8Path) -> Option<&'l String> {
        match &self.entry(slot)?.property {
            Property::Directory { digest, .. } => Some(digest),
            Property::File { .. } | Property::Part(_) => None,
        }
    }

    /// Puts an entry where the old one was; no other has been removed since.
    fn replace(&self, owned: &mut Ledger, slot: &Utf8Path, entry: Entry) {
        match self.at.get(slot.as_std_path()) {
            Some(at) => owned.entries[*at] = entry,
            None => owned.entries.push(entry),
        }
    }
}

/// Names that more than one skill wants in one directory: all of them get their suffix.
fn crowded_names(desired: &Desired) -> HashSet<(&str, &str)> {
    let mut wanted: HashMap<(&str, &str), BTreeSet<&str>> =
        HashMap::with_capacity(desired.skills.len());
    for skill in &desired.skills {
        let place = (skill.dir.as_str(), skill.name.as_str());
        wanted.entry(place).or_default().insert(&skill.suffixed);
    }
    wanted.into_iter().filter(|(_, origins)| origins.len() > 1).map(|(place, _)| place).collect()
}

/// The plain name if it is free or ours and no other skill has it now, else the one with the suffix, else nothing.
fn choose_slot(
    skill: &DesiredSkill,
    facts: &Facts,
    records: &Records<'_>,
    is_crowded: bool,
    taken: &HashSet<PathBuf>,
) -> Option<Utf8PathBuf> {
    let ours = |slot: &Utf8PathBuf| match facts.slot(slot) {
        Slot::Free | Slot::Source => true,
        Slot::Taken { marked: Marked::Yes, .. } => true,
        Slot::Taken { digest, .. } => digest.is_some() && digest.as_ref() == records.digest(slot),
    };
    let plain = (!is_crowded).then(|| skill.slot(skill.name.as_str()));
    let mut names = plain.into_iter().chain([skill.slot(&skill.suffixed)]);
    names.find(|slot| !taken.contains(slot.as_std_path()) && ours(slot))
}

fn settle(
    plan: &mut Plan,
    given: Given<'_>,
    skill: &DesiredSkill,
    slot: &Utf8Path,
    records: &Records<'_>,
) {
    let (entry, recorded) = (records.entry(slot), records.digest(slot));
    let action = match given.facts.slot(slot) {
        Slot::Free | Slot::Source => Some(Action::New),
        Slot::Taken { digest: Some(now), .. } if *now == skill.digest => None,
        Slot::Taken { digest: now, .. } => {
            // Without a record, the mark alone says whose it is; there is nothing to compare with.
            let touched = recorded.is_some_and(|recorded| Some(recorded) != now.as_ref());
            if touched && given.edited == Edited::Keep {
                plan.findings.push(kept(given, slot, "replaces it"));
                return;
            }
            if let (None, Some(now)) = (recorded, now) {
                plan.adopted.push(record(given, skill, slot, now, entry));
            }
            Some(Action::Updated)
        }
    };
    let new = record(given, skill, slot, &skill.digest, entry);
    records.replace(&mut plan.owned, slot, new);
    match action {
        None => plan.unchanged += 1,
        Some(action) => plan.changes.push(Change::Skill {
            slot: slot.to_owned(),
            action,
            files: Some((skill.files.clone(), skill.digest.clone())),
            from: skill.from.clone(),
            hosts: skill.hosts.clone(),
        }),
    }
}

fn record(
    given: Given<'_>,
    skill: &DesiredSkill,
    slot: &Utf8Path,
    digest: &str,
    before: Option<&Entry>,
) -> Entry {
    Entry {
        what: What::Skill,
        property: Property::Directory { dir: slot.to_owned(), digest: digest.to_owned() },
        workspaces: given.shared(before),
        from: skill.from.clone(),
    }
}

fn abandon(plan: &mut Plan, given: Given<'_>, entry: &Entry) {
    let Property::Directory { dir, digest } = &entry.property else { return };
    match given.facts.slot(dir) {
        Slot::Taken { digest: now, marked: Marked::No } if now.as_ref() != Some(digest) => {
            // Somebody put their own there.
            return plan.owned.forget(&entry.property);
        }
        Slot::Taken { digest: now, .. }
            if now.as_ref() != Some(digest) && given.edited == Edited::Keep =>
        {
            // It still carries our mark; the record remembers that it is theirs.
            plan.owned.record(Entry { workspaces: BTreeSet::new(), ..entry.clone() });
            return plan.findings.push(kept(given, dir, "removes it"));
        }
        _ => plan.owned.forget(&entry.property),
    }
    match given.facts.slot(dir) {
        Slot::Free | Slot::Source => {}
        Slot::Taken { .. } => plan.changes.push(Change::Skill {
            slot: dir.clone(),
            action: Action::Removed,
            files: None,
            from: entry.from.clone(),
            hosts: Vec::new(),
        }),
    }
}

fn kept(given: Given<'_>, slot: &Utf8Path, does: &str) -> Finding {
    Finding::warning("this skill was edited after it was installed, and is kept as it is")
        .at(Place::file(slot))
        .hint(format!("`{} --overwrite` {does}", given.asked.command()))
}

//! Files that are ours as a whole: agents, and the hook files of hosts that read every file of a directory.

use std::collections::{BTreeMap, BTreeSet};

use agents_host::{HostId, hooks::OUR_NAME};
use agents_system::{
    explain::Code,
    finding::{Finding, Place},
    ledger::{Entry, Property, What},
};
use camino::{Utf8Path, Utf8PathBuf};

use super::{Action, Change, Edited, Given, Note, Plan};
use crate::{
    desired::{DesiredFile, digest_of},
    facts::{File, IGNORE_FILE},
};

/// Says whose the file is.
const IGNORE_NOTE: &str = "# Written by `cargo agents sync`, as are these files.\n";

pub(super) fn plan(plan: &mut Plan, given: Given<'_>) {
    let mut wanted: BTreeSet<&Utf8Path> = BTreeSet::new();
    for whole in &given.desired.files {
        if wanted.insert(&whole.file) {
            put(plan, given, whole);
        }
    }
    let ignores = ignores(plan, given);
    ignores.iter().for_each(|whole| put(plan, given, whole));
    wanted.extend(ignores.iter().map(|whole| whole.file.as_path()));
    let is_wanted = |property: &Property| match property {
        Property::File { file, .. } => wanted.contains(file.as_path()),
        Property::Directory { .. } | Property::Part(_) => true,
    };
    for entry in given.abandoned(plan, is_wanted) {
        take(plan, given, entry);
    }
}

/// One file for each directory in which agents are ours, so that git sees none of them. Only what is ours is in it: an agent of
/// somebody else with a name that we would have used is theirs to commit.
fn ignores(plan: &Plan, given: Given<'_>) -> Vec<DesiredFile> {
    let mut all: BTreeMap<Utf8PathBuf, (HostId, BTreeSet<&str>)> = BTreeMap::new();
    for whole in &given.desired.files {
        let Some(ignore) = whole.ignore_file(given.workspace) else { continue };
        let ours = given.ledger.file(&ignore).is_some();
        let free = *given.facts.file(&ignore) == File::Absent;
        // Who has one of their own there has decided.
        if (ours || free) && plan.owned.file(&whole.file).is_some() {
            let (_, names) = all.entry(ignore).or_insert((whole.host.clone(), BTreeSet::new()));
            names.extend(whole.file.file_name());
        }
    }
    let file = |(file, (host, names)): (Utf8PathBuf, (HostId, BTreeSet<&str>))| {
        let names = names.into_iter().fold(String::new(), |text, name| text + "/" + name + "\n");
        let text = format!("{IGNORE_NOTE}/{IGNORE_FILE}\n{names}");
        let name = file.parent().and_then(|dir| dir.strip_prefix(given.workspace).ok());
        let name = name.map(ToString::to_string).unwrap_or_default();
        DesiredFile { host, file, text, what: What::Ignore, name, from: OUR_NAME.to_owned() }
    };
    all.into_iter().map(file).collect()
}

fn put(plan: &mut Plan, given: Given<'_>, whole: &DesiredFile) {
    let entry = given.ledger.file(&whole.file);
    let ours = entry.and_then(|entry| match &entry.property {
        Property::File { digest, .. } => Some(digest),
        Property::Directory { .. } | Property::Part(_) => None,
    });
    let warn = |said: &str, hint: &str| {
        let finding = Finding::warning(said.to_owned()).at(Place::file(&whole.file));
        finding.hint(hint.to_owned())
    };
    let (action, before) = match (given.facts.file(&whole.file), ours) {
        (File::Absent, _) => (Some(Action::New), None),
        (File::Text(now), Some(_)) if *now == whole.text => (None, None),
        (File::Text(now), Some(ours))
            if digest_of(now) == *ours || given.edited == Edited::Overwrite =>
        {
            (Some(Action::Updated), Some(now.clone()))
        }
        (File::Text(_), Some(_)) => {
            let said = "it was edited after it was written, and is kept as it is";
            plan.findings.push(warn(said, "`cargo agents sync --overwrite` replaces it"));
            return;
        }
        (File::Text(now), None) if *now == whole.text => {
            // Somebody else saw to it, and it stays theirs.
            plan.unchanged += 1;
            return;
        }
        (File::Text(_), None) => {
            let said = "not written: a file is there that is not ours";
            plan.findings.push(warn(said, "move it away if you want ours"));
            return;
        }
        (File::Unreadable(why), _) => {
            let said = format!("left alone: {why}");
            let finding = Finding::error(said).explained_by(Code::ForeignFile);
            plan.findings.push(finding.at(Place::file(&whole.file)));
            return;
        }
    };
    plan.owned.record(Entry {
        what: whole.what,
        property: Property::File { file: whole.file.clone(), digest: digest_of(&whole.text) },
        workspaces: given.shared(entry),
        from: whole.from.clone(),
    });
    let Some(action) = action else {
        plan.unchanged += 1;
        return;
    };
    let host = Some(whole.host.clone());
    let (what, name, from) = (whole.what, whole.name.clone(), whole.from.clone());
    plan.changes.push(Change::File {
        file: whole.file.clone(),
        before,
        after: Some(whole.text.clone()),
        notes: vec![Note { action, what, name, from, host }],
    });
}

fn take(plan: &mut Plan, given: Given<'_>, entry: &Entry) {
    let Property::File { file, digest } = &entry.property else { return };
    plan.owned.forget(&entry.property);
    match given.facts.file(file) {
        File::Absent => {}
        File::Text(now) if digest_of(now) == *digest || given.edited == Edited::Overwrite => {
            plan.changes.push(Change::File {
                file: file.to_owned(),
                before: Some(now.clone()),
                after: None,
                notes: vec![Note {
                    action: Action::Removed,
                    what: entry.what,
                    name: file.file_name().unwrap_or_default().to_owned(),
                    from: entry.from.clone(),
                    host: None,
                }],
            });
        }
        File::Text(_) => {
            let said = "it was edited after it was written, and is left to you";
            plan.findings.push(Finding::warning(said).at(Place::file(file)));
        }
        File::Unreadable(why) => {
            plan.owned.record(entry.clone());
            let said = format!("left alone: {why}");
            let finding = Finding::error(said).explained_by(Code::ForeignFile);
            plan.findings.push(finding.at(Place::file(file)));
        }
    }
}

//! MCP servers: one key each, in files that belong to hosts and their users.

use std::collections::{BTreeMap, BTreeSet};

use agents_host::HostId;
use agents_system::{
    edit::{self, Edit, Format, KeyPath},
    finding::{Finding, Place},
    ledger::{Entry, Ledger, Property},
};
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value;

use super::{Action, Change, Edited, Note, Others, Plan, abandoned, shared};
use crate::{
    desired::{Desired, DesiredServer},
    facts::{Facts, File},
};

pub(super) fn plan(
    plan: &mut Plan,
    desired: &Desired,
    facts: &Facts,
    ledger: &Ledger,
    workspace: &Utf8Path,
    edited: Edited,
) {
    let mut pages: BTreeMap<Utf8PathBuf, Page> = BTreeMap::new();
    let mut wanted: BTreeSet<(Utf8PathBuf, KeyPath)> = BTreeSet::new();
    for server in &desired.servers {
        let Some(page) = open(&mut pages, &server.file, server.format, facts, plan) else {
            continue;
        };
        // Hosts that share a file share the entry.
        if wanted.insert((server.file.clone(), server.at.clone())) {
            put(plan, page, server, ledger, workspace, edited);
        }
    }
    let is_wanted = |property: &Property| match property {
        Property::Key { file, at, .. } => wanted.contains(&(file.clone(), at.clone())),
        Property::Directory { .. } => true,
    };
    let gone: Vec<_> = abandoned(ledger, workspace, is_wanted).collect();
    for (entry, others) in gone {
        let Property::Key { file, format, .. } = &entry.property else { continue };
        if others == Others::WantIt {
            let mut entry = entry.clone();
            entry.workspaces.remove(workspace);
            plan.owned.record(entry);
        } else if let Some(page) = open(&mut pages, file, *format, facts, plan) {
            take(plan, page, entry, edited);
        }
    }
    for (file, page) in pages {
        close(plan, file, page, ledger);
    }
}

/// A file while its edits are collected.
struct Page {
    format: Format,
    before: Option<String>,
    value: Value,
    edits: Vec<Edit>,
    notes: Vec<Note>,
    /// We made the file, and what we put into it goes.
    unmake: bool,
    readable: bool,
}

/// The page of a file, unless it cannot be understood; then one finding says so and it is left alone.
fn open<'p>(
    pages: &'p mut BTreeMap<Utf8PathBuf, Page>,
    file: &Utf8Path,
    format: Format,
    facts: &Facts,
    plan: &mut Plan,
) -> Option<&'p mut Page> {
    let page = pages.entry(file.to_owned()).or_insert_with(|| {
        let (before, problem) = match facts.file(file) {
            File::Absent => (None, None),
            File::Text(text) => (Some(text.clone()), None),
            File::Unreadable(why) => (None, Some(why.clone())),
        };
        let read = edit::read(format, before.as_deref().unwrap_or_default());
        let problem = problem.or_else(|| read.as_ref().err().map(ToString::to_string));
        if let Some(problem) = &problem {
            let finding = Finding::error(format!("left alone: {problem}")).at(Place::file(file));
            plan.findings.push(finding.hint("mend it and run `cargo agents sync` again"));
        }
        Page {
            format,
            before,
            value: read.unwrap_or_default(),
            edits: Vec::new(),
            notes: Vec::new(),
            unmake: false,
            readable: problem.is_none(),
        }
    });
    page.readable.then_some(page)
}

fn put(
    plan: &mut Plan,
    page: &mut Page,
    server: &DesiredServer,
    ledger: &Ledger,
    workspace: &Utf8Path,
    edited: Edited,
) {
    let entry = ledger.key(&server.file, &server.at);
    let owned = entry.and_then(|entry| match &entry.property {
        Property::Key { value, made, .. } => Some((value, made)),
        Property::Directory { .. } => None,
    });
    let now = find(&page.value, &server.at);
    let action = match (now, owned) {
        (None, _) => Some(Action::New),
        (Some(now), Some(_)) if *now == server.value => None,
        (Some(now), Some((ours, _))) if now == ours => Some(Action::Updated),
        (Some(_), Some(_)) if edited == Edited::Overwrite => Some(Action::Updated),
        (Some(_), Some(_)) => {
            plan.findings.push(
                Finding::warning(format!(
                    "the MCP server `{}` was edited after it was registered, and is kept as it is",
                    server.name
                ))
                .at(Place::file(server.file.clone()))
                .hint("`cargo agents sync --overwrite` replaces it"),
            );
            return;
        }
        (Some(now), None) if *now == server.value => {
            // Somebody else saw to it, and it stays theirs.
            plan.unchanged += 1;
            return;
        }
        (Some(_), None) => {
            plan.findings.push(
                Finding::warning(format!(
                    "the MCP server `{}` is not registered: one of that name is there that is not ours",
                    server.name
                ))
                .at(Place::file(server.file.clone()))
                .hint("rename or remove it if you want ours"),
            );
            return;
        }
    };
    let made = match owned {
        Some((_, made)) if now.is_some() => made.clone(),
        _ => made_tables(page, server, ledger),
    };
    plan.owned.record(Entry {
        property: Property::Key {
            file: server.file.clone(),
            format: server.format,
            at: server.at.clone(),
            value: server.value.clone(),
            made,
        },
        workspaces: shared(entry, workspace),
        from: server.from.clone(),
    });
    match action {
        None => plan.unchanged += 1,
        Some(action) => {
            page.edits.push(Edit::Set { at: server.at.clone(), value: server.value.clone() });
            page.notes.push(note(action, &server.name, &server.from, Some(server.host.clone())));
        }
    }
}

fn take(plan: &mut Plan, page: &mut Page, entry: &Entry, edited: Edited) {
    let Property::Key { file, at, value, made, .. } = &entry.property else { return };
    plan.owned.forget(&entry.property);
    let name = at.keys().last().cloned().unwrap_or_default();
    match find(&page.value, at) {
        None => return,
        Some(now) if now != value && edited == Edited::Keep => {
            plan.findings.push(
                Finding::warning(format!(
                    "the MCP server `{name}` was edited after it was registered, and is left to you"
                ))
                .at(Place::file(file.clone())),
            );
            return;
        }
        Some(_) => {}
    }
    page.edits.push(Edit::Remove { at: at.clone() });
    for table in made.iter().rev().filter(|table| !table.keys().is_empty()) {
        page.edits.push(Edit::RemoveIfEmpty { at: table.clone() });
    }
    page.unmake |= made.iter().any(|table| table.keys().is_empty());
    page.notes.push(note(Action::Removed, &name, &entry.from, None));
}

fn close(plan: &mut Plan, file: Utf8PathBuf, page: Page, ledger: &Ledger) {
    if page.edits.is_empty() {
        return;
    }
    let Page { format, before, mut edits, notes, unmake, .. } = page;
    if unmake {
        edits.push(Edit::RemoveIfEmpty { at: KeyPath::default() });
    }
    match edit::apply(format, before.as_deref().unwrap_or_default(), &edits) {
        Ok(after) => {
            let after = (!unmake || !after.trim().is_empty()).then_some(after);
            if before != after {
                plan.changes.push(Change::File { file, format, before, after, notes });
            }
        }
        Err(error) => {
            plan.keep_ownership_of(&file, ledger);
            let finding = Finding::error(format!("left alone: {error}")).at(Place::file(file));
            plan.findings.push(finding);
        }
    }
}

/// The tables on the way to a key that are not there or were made for another entry of ours, outermost first; the empty
/// path is the file.
fn made_tables(page: &Page, server: &DesiredServer, ledger: &Ledger) -> Vec<KeyPath> {
    let made_before: BTreeSet<&KeyPath> = ledger
        .entries
        .iter()
        .filter_map(|entry| match &entry.property {
            Property::Key { file, at, made, .. } if *file == server.file => {
                find(&page.value, at).map(|_| made)
            }
            _ => None,
        })
        .flatten()
        .collect();
    let keys = server.at.keys();
    let tables = (0..keys.len()).map(|length| KeyPath::new(keys[..length].iter().cloned()));
    let is_missing = |table: &KeyPath| match table.keys() {
        [] => page.before.is_none(),
        _ => find(&page.value, table).is_none(),
    };
    tables.filter(|table| is_missing(table) || made_before.contains(table)).collect()
}

fn find<'v>(value: &'v Value, at: &KeyPath) -> Option<&'v Value> {
    at.keys().iter().try_fold(value, |value, key| value.get(key))
}

fn note(action: Action, name: &str, from: &str, host: Option<HostId>) -> Note {
    Note { action, name: name.to_owned(), from: from.to_owned(), host }
}

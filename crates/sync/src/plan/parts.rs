//! Parts of files: MCP servers, which are a key each, and registrations of hooks, which are mostly items of lists. The
//! files belong to hosts and their users.

use std::collections::BTreeMap;

use agents_host::HostId;
use agents_system::{
    edit::{self, Edit, Format, KeyPath},
    explain::Code,
    finding::{Finding, Place, Severity},
    ledger::{Entry, Ledger, Part, Property, Share, What, mentions},
};
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value;

use super::{Action, Change, Edited, Given, Note, Plan};
use crate::{
    desired::DesiredPart,
    facts::{Facts, File},
};

pub(super) fn plan(plan: &mut Plan, given: Given<'_>) {
    let mut pages: BTreeMap<Utf8PathBuf, Page> = BTreeMap::new();
    let mut wanted: Vec<&DesiredPart> = Vec::new();
    for part in &given.desired.parts {
        let Some(page) = open(&mut pages, &part.file, part.format, given.facts, plan) else {
            continue;
        };
        // Hosts that share a file share the entry.
        if !wanted.iter().any(|known| known.is_at(part)) {
            wanted.push(part);
            put(plan, given, page, part);
        }
    }
    let is_wanted = |property: &Property| match property {
        Property::Part(part) => wanted.iter().any(|it| part.is_at(&it.file, &it.at, &it.share)),
        Property::Directory { .. } | Property::File { .. } => true,
    };
    for entry in given.abandoned(plan, is_wanted) {
        let Property::Part(part) = &entry.property else { continue };
        if let Some(page) = open(&mut pages, &part.file, part.format, given.facts, plan) {
            take(plan, page, entry, part, given.edited);
        }
    }
    for (file, page) in pages {
        close(plan, file, page, given.ledger);
    }
}

/// A file while its edits are collected.
struct Page {
    format: Format,
    before: Option<String>,
    value: Value,
    edits: Vec<Edit>,
    notes: Vec<Note>,
    /// Keys that go if nothing else is left.
    scaffold: Vec<KeyPath>,
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
            let finding = finding.explained_by(Code::ForeignFile);
            plan.findings.push(finding.hint("fix it and run `cargo agents sync` again"));
        }
        Page {
            format,
            before,
            value: read.unwrap_or_default(),
            edits: Vec::new(),
            notes: Vec::new(),
            scaffold: Vec::new(),
            unmake: false,
            readable: problem.is_none(),
        }
    });
    page.readable.then_some(page)
}

/// What is there in the place of a part.
enum Now<'v> {
    Nothing,
    /// What should be there.
    Wanted,
    /// What we put there.
    Ours,
    /// What was ours, or would be, in another form.
    Other(&'v Value),
}

fn put(plan: &mut Plan, given: Given<'_>, page: &mut Page, part: &DesiredPart) {
    let Given { ledger, workspace, edited, .. } = given;
    let recorded = ledger.parts().find(|(_, it)| it.is_at(&part.file, &part.at, &part.share));
    let (entry, owned) = recorded.unzip();
    if part.share == Share::Scaffold && owned.is_none() && page.before.is_some() {
        // A file that does without it is not ours to complete.
        return;
    }
    let now = look(&page.value, &part.at, &part.share, &part.value, owned.map(|it| &it.value));
    let named = part.what.named(&part.name);
    let (action, replaced) = match (now, owned) {
        (Now::Nothing, _) => (Some(Action::New), None),
        (Now::Wanted, Some(_)) => (None, None),
        (Now::Ours, Some(owned)) => (Some(Action::Updated), Some(&owned.value)),
        (Now::Other(now), Some(_)) if edited == Edited::Overwrite => {
            (Some(Action::Updated), Some(now))
        }
        (Now::Other(_), Some(_)) => {
            let said = format!("{named} was edited after it was registered, and is kept as it is");
            let hint = "`cargo agents sync --overwrite` replaces it";
            plan.findings.push(Finding::warning(said).at(Place::file(&part.file)).hint(hint));
            return;
        }
        // Somebody else saw to it, and it stays theirs.
        (Now::Wanted | Now::Ours, None) => {
            plan.unchanged += 1;
            return;
        }
        (Now::Other(_), None) if matches!(part.share, Share::Item { .. }) => {
            // The host runs us already, in a way that somebody wrote down for themselves or for their team.
            plan.unchanged += 1;
            return;
        }
        (Now::Other(_), None) => {
            let said =
                format!("{named} is not registered: one of that name is there that is not ours");
            let hint = "rename or remove it if you want ours";
            plan.findings.push(Finding::warning(said).at(Place::file(&part.file)).hint(hint));
            return;
        }
    };
    let made = made_tables(page, part, ledger);
    if action == Some(Action::Updated)
        && let Some(other) = entry.and_then(|it| it.workspaces.iter().find(|it| *it != workspace))
    {
        let said =
            format!("{named} replaces what the workspace `{other}` registered for all workspaces");
        let hint = "`hook-scope = \"project\"` in the configuration keeps them apart";
        plan.findings.push(Finding::new(Severity::Note, said).hint(hint));
    }
    plan.owned.record(Entry {
        what: part.what,
        property: Property::Part(Part {
            file: part.file.clone(),
            format: part.format,
            at: part.at.clone(),
            share: part.share.clone(),
            value: part.value.clone(),
            made,
        }),
        workspaces: given.shared(entry),
        from: part.from.clone(),
    });
    let Some(action) = action else {
        plan.unchanged += 1;
        return;
    };
    let (at, value) = (part.at.clone(), part.value.clone());
    match part.share {
        Share::Key | Share::Scaffold => page.edits.push(Edit::Set { at, value }),
        Share::Item { .. } => {
            let old = replaced.map(|old| Edit::RemoveItem { at: at.clone(), value: old.clone() });
            page.edits.extend(old);
            page.edits.push(Edit::Append { at, value });
        }
    }
    if part.share != Share::Scaffold {
        page.notes.push(note(action, part.what, &part.name, &part.from, Some(part.host.clone())));
    }
}

fn look<'v>(
    document: &'v Value,
    at: &KeyPath,
    share: &Share,
    wanted: &Value,
    ours: Option<&Value>,
) -> Now<'v> {
    let Some(there) = Part::find(at, document) else { return Now::Nothing };
    let candidates: Vec<&Value> = match (share, there) {
        (Share::Item { mark }, Value::Array(items)) => {
            items.iter().filter(|item| mentions(item, mark)).collect()
        }
        // The edit will be refused.
        (Share::Item { .. }, _) => Vec::new(),
        (Share::Key | Share::Scaffold, _) => vec![there],
    };
    if candidates.contains(&wanted) {
        Now::Wanted
    } else if ours.is_some_and(|ours| candidates.contains(&ours)) {
        Now::Ours
    } else {
        candidates.first().map_or(Now::Nothing, |first| Now::Other(first))
    }
}

fn take(plan: &mut Plan, page: &mut Page, entry: &Entry, part: &Part, edited: Edited) {
    plan.owned.forget(&entry.property);
    let at = part.at.clone();
    let removed = match look(&page.value, &part.at, &part.share, &part.value, None) {
        Now::Nothing => return,
        Now::Wanted | Now::Ours => part.value.clone(),
        Now::Other(now) if edited == Edited::Overwrite => now.clone(),
        Now::Other(_) => {
            if part.share != Share::Scaffold {
                let named = entry.what.named(&name(part));
                let said =
                    format!("{named} was edited after it was registered, and is left to you");
                plan.findings.push(Finding::warning(said).at(Place::file(&part.file)));
            }
            return;
        }
    };
    match part.share {
        Share::Key => page.edits.push(Edit::Remove { at }),
        Share::Item { .. } => page.edits.push(Edit::RemoveItem { at, value: removed }),
        Share::Scaffold => page.scaffold.push(at),
    }
    for table in part.made.iter().rev().filter(|table| !table.keys().is_empty()) {
        page.edits.push(Edit::RemoveIfEmpty { at: table.clone() });
    }
    page.unmake |= part.made.iter().any(|table| table.keys().is_empty());
    if part.share != Share::Scaffold {
        page.notes.push(note(Action::Removed, entry.what, &name(part), &entry.from, None));
    }
}

/// The name of a recorded part: of a hook the event, as its host calls it.
fn name(part: &Part) -> String {
    part.at.keys().last().cloned().unwrap_or_default()
}

fn close(plan: &mut Plan, file: Utf8PathBuf, page: Page, ledger: &Ledger) {
    if page.edits.is_empty() && page.scaffold.is_empty() {
        return;
    }
    let Page { format, before, mut edits, notes, scaffold, unmake, .. } = page;
    let text = before.as_deref().unwrap_or_default();
    let done = edit::apply(format, text, &edits).and_then(|after| {
        let mut rest = edit::read(format, &after)?;
        for key in &scaffold {
            remove(&mut rest, key);
        }
        if is_empty(&rest) {
            edits.extend(scaffold.into_iter().map(|at| Edit::Remove { at }));
        }
        if unmake {
            edits.push(Edit::RemoveIfEmpty { at: KeyPath::default() });
        }
        edit::apply(format, text, &edits)
    });
    match done {
        Ok(after) => {
            let after = (!unmake || !after.trim().is_empty()).then_some(after);
            if before != after {
                plan.changes.push(Change::File { file, before, after, notes });
            }
        }
        Err(error) => {
            plan.keep_ownership_of(&file, ledger);
            let finding = Finding::error(format!("left alone: {error}")).at(Place::file(file));
            plan.findings.push(finding.explained_by(Code::ForeignFile));
        }
    }
}

fn remove(document: &mut Value, at: &KeyPath) {
    let Some((last, tables)) = at.keys().split_last() else { return };
    let table = tables.iter().try_fold(document, |value, key| value.get_mut(key));
    if let Some(Value::Object(table)) = table {
        table.shift_remove(last);
    }
}

/// Whether there is nothing but empty tables and lists in it.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Object(map) => map.values().all(is_empty),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

/// The tables on the way to a part that are not there or were made for another one of ours, outermost first; the empty
/// path is the file. For an item, the list is one of them.
fn made_tables(page: &Page, part: &DesiredPart, ledger: &Ledger) -> Vec<KeyPath> {
    let beside = ledger
        .parts()
        .filter(|(_, it)| it.file == part.file && Part::find(&it.at, &page.value).is_some());
    let made_before: Vec<&KeyPath> = beside.flat_map(|(_, it)| &it.made).collect();
    let keys = part.at.keys();
    let depth = match part.share {
        Share::Key | Share::Scaffold => keys.len(),
        Share::Item { .. } => keys.len() + 1,
    };
    let tables = (0..depth).map(|length| KeyPath::new(keys[..length].iter().cloned()));
    let is_missing = |table: &KeyPath| match table.keys() {
        [] => page.before.is_none(),
        _ => Part::find(table, &page.value).is_none(),
    };
    tables.filter(|table| is_missing(table) || made_before.contains(&table)).collect()
}

impl DesiredPart {
    fn is_at(&self, other: &Self) -> bool {
        let Self { file, at, share, .. } = self;
        (file, at, share) == (&other.file, &other.at, &other.share)
    }
}

fn note(action: Action, what: What, name: &str, from: &str, host: Option<HostId>) -> Note {
    Note { action, what, name: name.to_owned(), from: from.to_owned(), host }
}

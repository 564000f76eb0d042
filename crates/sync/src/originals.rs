//! Files that nobody but us has written get back the bytes that they had.
//!
//! Taking our entries out of a file leaves what was there before, except where a format cannot say it: a blank
//! file becomes `{}`, an empty `extensions:` becomes `extensions: {}`. So while we own something in a file the ledger also
//! says what we left there ([`Ledger::left`]). If that is what we find when the last of our entries goes, the
//! backup from before our first one is the truth.

use std::collections::BTreeSet;

use agents_system::{
    cache::digest,
    edit::{self, Format},
    foreign::{Original, original},
    ledger::Ledger,
};
use camino::Utf8Path;

use crate::{
    desired::hex,
    plan::{Change, Plan},
};

/// Whether a file holds anything of ours before it is touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Touch {
    /// It does not, so what is there now is the original.
    First,
    /// It does, and the original was kept before.
    Again,
}

impl Touch {
    pub(crate) fn of(file: &Utf8Path, format: Format, now: Option<&str>, ledger: &Ledger) -> Self {
        let document = now.and_then(|text| edit::read(format, text).ok());
        let is_there = document.is_some_and(|document| {
            let mut there = ledger.entries.iter().map(|entry| &entry.property);
            there.any(|it| it.file() == Some(file) && it.stands_in(&document))
        });
        if is_there { Self::Again } else { Self::First }
    }
}

/// Gives the files that the plan leaves without anything of ours their original text, where only we have written them.
pub(crate) fn restore(plan: &mut Plan, ledger: &Ledger, backups: &Utf8Path) {
    let Plan { changes, owned, .. } = plan;
    for change in changes {
        let Change::File { file, before: Some(before), after, .. } = change else { continue };
        let is_last = ledger.owns_in(file) && !owned.owns_in(file);
        if !is_last || !ledger.left.get(file).is_some_and(|left| left.contains(&hash(before))) {
            continue;
        }
        match original(file, backups) {
            Ok(Some(Original::Absent)) => *after = None,
            Ok(Some(Original::Bytes(bytes))) => {
                // The byte order mark is kept by whoever writes the file.
                let text = String::from_utf8(bytes).ok();
                let text = text.map(|text| text.trim_start_matches('\u{feff}').to_owned());
                *after = text.or(after.take());
            }
            // Without it, what is left after taking ours out has to do.
            Ok(None) | Err(_) => {}
        }
    }
}

/// Notes what the changes will leave in files that nobody else has written; `announced` also knows what is there
/// until then.
pub(crate) fn note(plan: &mut Plan, before: &Ledger, announced: &mut Ledger) {
    for change in &plan.changes {
        let Change::File { file, format, before: now, after, .. } = change else { continue };
        let touch = Touch::of(file, *format, now.as_deref(), before);
        let now = now.as_deref().map(hash);
        let is_only_ours = match touch {
            Touch::First => true,
            Touch::Again => now
                .as_ref()
                .is_some_and(|now| before.left.get(file).is_some_and(|left| left.contains(now))),
        };
        let after = after.as_deref().map(hash).filter(|_| is_only_ours);
        let Some(after) = after.filter(|_| plan.owned.owns_in(file)) else {
            plan.owned.left.remove(file);
            continue;
        };
        plan.owned.left.insert(file.clone(), BTreeSet::from([after.clone()]));
        announced.left.insert(file.clone(), now.into_iter().chain([after]).collect());
    }
}

/// A change was not made.
pub(crate) fn keep(plan: &mut Plan, file: &Utf8Path, before: &Ledger) {
    match before.left.get(file) {
        Some(left) => plan.owned.left.insert(file.to_owned(), left.clone()),
        None => plan.owned.left.remove(file),
    };
}

fn hash(text: &str) -> String {
    hex(&digest(text.as_bytes()))
}

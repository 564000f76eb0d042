//! What applies now against what was agreed to, and what follows from the difference. Values in, values out.

use std::collections::BTreeSet;

use crate::lock::{Entry, Kind, Lock, Source};

/// Something that applies here now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// As it would be recorded.
    pub entry: Entry,
    /// Who stands for its content.
    pub trust: Trust,
}

/// Who stands for a content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Trust {
    /// The workspace holds it itself.
    Own,
    /// A registry that the user configured vouches for it.
    Vouched,
    /// Nobody but the crate that embeds it. The user has agreed to the crate, not to whatever it will ever say.
    Embedded,
}

/// How something compares with what was agreed to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// It is the same.
    Same,
    /// It was not there.
    New,
    /// The same content in another version.
    Moved {
        /// What was agreed to.
        before: Entry,
    },
    /// Another content in another version, or in a directory.
    Changed {
        /// What was agreed to.
        before: Entry,
    },
    /// Another content in the very version or commit that was agreed to, which cannot be.
    Altered {
        /// What was agreed to.
        before: Entry,
    },
}

/// What is to be done about something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is brought to hosts, and recorded as it is now.
    Take,
    /// What was agreed to stays; this waits for the user.
    Hold,
    /// What was agreed to stays; this is an error until somebody has looked at it and accepts it.
    Refuse,
}

/// An item with what was found out about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compared {
    /// The item.
    pub item: Item,
    /// How it compares.
    pub status: Status,
    /// What follows.
    pub verdict: Verdict,
}

/// Everything that applies, compared.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Comparison {
    /// In the order of the items.
    pub items: Vec<Compared>,
    /// What was agreed to and does not apply any more.
    pub gone: Vec<Entry>,
}

impl Compared {
    /// Refuses it for a reason that it does not know itself.
    pub fn refuse(&mut self) {
        self.verdict = Verdict::Refuse;
    }

    /// What was agreed to before.
    #[must_use]
    pub fn before(&self) -> Option<&Entry> {
        match &self.status {
            Status::Same => Some(&self.item.entry),
            Status::New => None,
            Status::Moved { before } | Status::Changed { before } | Status::Altered { before } => {
                Some(before)
            }
        }
    }
}

/// Compares what applies with what was agreed to. `is_suspicious` is asked about new content of crates that nobody vouches for,
/// and about nothing else; `is_accepted` says what the user has just looked at.
pub fn compare(
    items: Vec<Item>,
    lock: &Lock,
    mut is_suspicious: impl FnMut(&Item) -> bool,
    is_accepted: impl Fn(&Item) -> bool,
) -> Comparison {
    let mut taken = BTreeSet::new();
    // Exact matches first, so that two versions of one crate do not steal each other's entry.
    let same: Vec<Option<usize>> = items
        .iter()
        .map(|item| {
            lock.entries().binary_search_by(|entry| entry.pin().cmp(&item.entry.pin())).ok()
        })
        .collect();
    taken.extend(same.iter().flatten().copied());
    let mut compared = Vec::new();
    for (item, same) in items.into_iter().zip(same) {
        let entries = lock.entries();
        let status = match same.map(|at| &entries[at]) {
            Some(entry) if entry.hash == item.entry.hash => Status::Same,
            Some(entry) if item.entry.source.is_fixed() => {
                Status::Altered { before: entry.clone() }
            }
            Some(entry) => Status::Changed { before: entry.clone() },
            None => {
                let free =
                    |at: &usize| !taken.contains(at) && entries[*at].is_elsewhere_like(&item.entry);
                // The newest of several.
                let before = (0..entries.len()).rev().find(free);
                taken.extend(before);
                match before.map(|at| entries[at].clone()) {
                    None => Status::New,
                    Some(before) if before.hash == item.entry.hash => Status::Moved { before },
                    Some(before) => Status::Changed { before },
                }
            }
        };
        let verdict = match (&status, item.trust) {
            (Status::Same | Status::Moved { .. }, _) => Verdict::Take,
            _ if is_accepted(&item) => Verdict::Take,
            (Status::Altered { .. }, _) => Verdict::Refuse,
            (_, Trust::Own | Trust::Vouched) => Verdict::Take,
            (Status::Changed { .. }, Trust::Embedded) => Verdict::Hold,
            (Status::New, Trust::Embedded) => {
                let held = is_of_known_crate(&item.entry, lock) || is_suspicious(&item);
                if held { Verdict::Hold } else { Verdict::Take }
            }
        };
        compared.push(Compared { item, status, verdict });
    }
    keep_together(&mut compared);
    let gone = lock.entries().iter().enumerate().filter(|(at, entry)| {
        // Programs are known only when they are installed, and recorded then.
        !taken.contains(at) && entry.kind != Kind::Installation
    });
    Comparison { items: compared, gone: gone.map(|(_, entry)| entry.clone()).collect() }
}

/// Whether other things of the crate were agreed to, but all of them in other versions: what a new version adds is a change like
/// any other.
fn is_of_known_crate(entry: &Entry, lock: &Lock) -> bool {
    let mut others = lock
        .entries()
        .iter()
        .filter(|known| {
            !matches!(known.kind, Kind::Installation | Kind::Tree)
                && known.source.is_same_place(&entry.source)
        })
        .peekable();
    others.peek().is_some() && others.all(|known| known.source != entry.source)
}

/// As long as something of a crate waits, the record of its unchanged parts stays at the version that was agreed to: it
/// is by those that a later run knows what is new in the crate.
fn keep_together(compared: &mut [Compared]) {
    let waiting: Vec<Source> = compared
        .iter()
        .filter(|it| it.verdict == Verdict::Hold)
        .map(|it| it.item.entry.source.clone())
        .collect();
    for it in compared {
        let moved = matches!(it.status, Status::Moved { .. });
        if moved && waiting.contains(&it.item.entry.source) {
            it.verdict = Verdict::Hold;
        }
    }
}

impl Entry {
    /// What it is, in which version; lock files are sorted by it.
    pub(crate) fn pin(&self) -> (Kind, &str, &Source) {
        (self.kind, &self.name, &self.source)
    }

    /// Whether it is the same thing in another version.
    fn is_elsewhere_like(&self, other: &Self) -> bool {
        (self.kind, &self.name) == (other.kind, &other.name)
            && self.source.is_same_place(&other.source)
    }
}

impl Comparison {
    /// What is agreed to afterwards, with those of the [`gone`](Self::gone) that may only be out of sight.
    #[must_use]
    pub fn agreed<'e>(&self, unseen: impl IntoIterator<Item = &'e Entry>) -> Lock {
        let kept = self.items.iter().filter_map(|it| match it.verdict {
            Verdict::Take => Some(it.item.entry.clone()),
            Verdict::Hold | Verdict::Refuse => it.before().cloned(),
        });
        Lock::new(kept.chain(unseen.into_iter().cloned()))
    }

    /// What waits for the user. Unchanged parts of a crate that has something else waiting are not worth a word.
    pub fn pending(&self) -> impl Iterator<Item = &Compared> {
        self.items
            .iter()
            .filter(|it| it.verdict == Verdict::Hold && !matches!(it.status, Status::Moved { .. }))
    }
}

/// One line for each difference between two lock files.
#[must_use]
pub fn differences(before: &Lock, after: &Lock) -> Vec<String> {
    if before == after {
        return Vec::new();
    }
    let only_in = |one: &Lock, other: &Lock| -> Vec<Entry> {
        let is_new = |it: &&Entry| other.entries().binary_search(it).is_err();
        one.entries().iter().filter(is_new).cloned().collect()
    };
    let (mut gone, new) = (only_in(before, after), only_in(after, before));
    let mut lines = Vec::new();
    for entry in new {
        let was =
            gone.iter().position(|old| old.pin() == entry.pin() || old.is_elsewhere_like(&entry));
        lines.push(match was.map(|at| gone.remove(at)) {
            None => format!("{entry} is new"),
            Some(old) => {
                let kind = entry.kind.word();
                let mut said = format!("{kind} `{}`: {}", entry.name, old.source);
                if old.source != entry.source {
                    said += &format!(" -> {}", entry.source);
                }
                if old.hash != entry.hash {
                    said += ", its content changed";
                }
                said
            }
        });
    }
    lines.extend(gone.iter().map(|entry| format!("{entry} is gone")));
    lines
}

#[cfg(test)]
mod tests;

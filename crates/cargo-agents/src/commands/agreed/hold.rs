//! What was agreed to stays where it is, however the world around it changes.

use std::{cell::OnceCell, rc::Rc};

use agents_plugin::skills::SkillTree;
use agents_system::{
    finding::{Finding, Place},
    ledger::{Ledger, Property},
};
use agents_trust::{
    compare::{Compared, Status, Trust, Verdict},
    items::{PluginKey, Surveyor},
    lock::{Entry, Hash, Kind},
    review::{Review, review},
    store::{Store, Stored},
};
use camino::Utf8Path;

use super::{Pending, Settled, Subject, Waits, is_changed};
use crate::commands::{
    sync_hosts::counted,
    wanted::{Pinning, Wanted},
};

/// More of a difference is not shown in a message.
const MAX_LINES: usize = 60;

/// Where contents that were agreed to can be found.
pub(super) struct Pinned<'p> {
    store: &'p Store,
    state: &'p Utf8Path,
    ledger: OnceCell<Ledger>,
}

impl<'p> Pinned<'p> {
    pub(super) fn new(store: &'p Store, state: &'p Utf8Path) -> Self {
        Self { store, state, ledger: OnceCell::new() }
    }

    /// What is installed; read only if something has to be held.
    fn ledger(&self) -> &Ledger {
        let load = || Ledger::load(&agents_sync::Places::below(self.state).ledger);
        self.ledger.get_or_init(|| load().unwrap_or_default())
    }

    /// The content with that hash, from our store or from where it is installed.
    fn tree(&self, hash: &Hash, findings: &mut Vec<Finding>) -> Option<SkillTree> {
        match self.store.get(hash) {
            Stored::Tree(tree) => return Some(tree),
            Stored::Missing => {}
            Stored::Tampered(file) => {
                let message = "a stored content is not what its name says, and is not used";
                let finding = Finding::error(message).at(Place::file(file));
                findings.push(finding.hint("remove the file; `cargo agents sync` makes it again"));
            }
        }
        let installed = self.ledger().entries.iter().filter_map(|entry| match &entry.property {
            Property::Directory { dir, digest } if digest == hash.digits() => Some(dir),
            _ => None,
        });
        let mut trees = installed.filter_map(|dir| SkillTree::read(dir, dir).0);
        trees.find(|tree| Hash::new(&tree.digest()) == *hash)
    }
}

impl Settled {
    /// Takes out of the desired state what was not agreed to, puts back what was, and says so.
    pub(super) fn enforce(
        &mut self,
        subjects: &[Subject],
        wanted: &mut Wanted,
        surveyor: &Surveyor<'_>,
        pinned: &Pinned<'_>,
    ) {
        let compared = std::mem::take(&mut self.comparison.items);
        for (it, subject) in compared.iter().zip(subjects) {
            match subject {
                Subject::Plugin(key) if it.verdict != Verdict::Take => {
                    let now = surveyor.content(key).unwrap_or_default();
                    self.hold_plugin(it, (key, &now), wanted, pinned);
                }
                Subject::Plugin(_) | Subject::Tree(_) => {}
                Subject::Skill(_) | Subject::Agent(_) => {
                    let new = || subject.content(wanted, surveyor);
                    if let Some(old) =
                        self.settle_text(it, new, pinned, || subject.suspicions(wanted))
                    {
                        let pinning = match *subject {
                            Subject::Skill(at) => {
                                let skill = wanted.skills.skills[at].clone();
                                wanted.pin(&skill, old.map(Rc::new))
                            }
                            Subject::Agent(at) => {
                                wanted.pin_agent(at, old.as_ref(), pinned.ledger())
                            }
                            Subject::Plugin(_) | Subject::Tree(_) => Pinning::Whole,
                        };
                        self.note_lacking(it, pinning);
                    }
                }
            }
        }
        self.comparison.items = compared;
    }

    /// What is to be brought of a skill or an agent instead of what it says now, if anything is.
    fn settle_text(
        &mut self,
        it: &Compared,
        new: impl Fn() -> Option<SkillTree>,
        pinned: &Pinned<'_>,
        suspicions: impl Fn() -> Vec<Finding>,
    ) -> Option<Option<SkillTree>> {
        let held = it.verdict != Verdict::Take;
        if !held && !is_changed(&it.status) {
            return None;
        }
        let old = self.old_content(it, pinned);
        let Entry { name, kind, .. } = &it.item.entry;
        let review = new().map(|new| review(old.as_ref(), &new, name)).unwrap_or_default();
        if !held {
            // What becomes of an agent is seen in the files of hosts.
            if old.is_some() && *kind == Kind::Skill {
                self.reviews.insert(name.clone(), review);
            }
            return None;
        }
        if it.verdict == Verdict::Refuse {
            self.refuse(it, review, suspicions(), old.is_some());
        } else if !matches!(it.status, Status::Moved { .. }) {
            self.wait(it, review, suspicions(), old.is_some());
        }
        Some(old)
    }

    /// What was agreed to before, as far as it is still somewhere.
    fn old_content(&mut self, it: &Compared, pinned: &Pinned<'_>) -> Option<SkillTree> {
        pinned.tree(it.before()?.hash.as_ref()?, &mut self.findings)
    }

    /// Notes what was agreed to and hosts do not get, because something else waits in its place.
    fn note_lacking(&mut self, it: &Compared, pinning: Pinning) {
        let is_held = it.verdict == Verdict::Hold && is_changed(&it.status);
        if let Some(before) = it.before().filter(|_| is_held && pinning == Pinning::Dropped) {
            self.lacking.push(before.clone());
        }
    }

    fn hold_plugin(
        &mut self,
        it: &Compared,
        (key, now): (&PluginKey, &SkillTree),
        wanted: &mut Wanted,
        pinned: &Pinned<'_>,
    ) {
        if matches!(it.status, Status::Moved { .. }) {
            return;
        }
        let (hooks, servers) = (wanted.drop_hooks(key), wanted.pin_servers(key, pinned.ledger()));
        self.note_lacking(it, hooks.max(servers));
        let old = self.old_content(it, pinned);
        let review = review(old.as_ref(), now, &it.item.entry.name);
        match it.verdict {
            Verdict::Refuse => self.refuse(it, review, Vec::new(), old.is_some()),
            Verdict::Hold | Verdict::Take => {
                self.wait(it, review, Vec::new(), it.before().is_some());
            }
        }
    }

    fn wait(&mut self, it: &Compared, review: Review, suspicions: Vec<Finding>, stays: bool) {
        let Entry { name, source, kind, .. } = &it.item.entry;
        let what = kind.word();
        let mut message = match (it.before(), it.item.trust) {
            (Some(_), _) => format!("the {what} `{name}` of {source} changed"),
            (None, Trust::Embedded) if suspicions.is_empty() => {
                format!("the {what} `{name}` is new in {source}")
            }
            (None, _) => format!("the {what} `{name}` of {source} is suspicious"),
        };
        if it.before().is_some() && review.lines > 0 {
            message += &format!(" ({})", counted(review.lines));
        }
        message += match kind {
            Kind::Plugin => {
                " and needs your approval; its MCP servers stay as they are, its hooks and commands do not run"
            }
            Kind::Tree | Kind::Skill | Kind::Agent | Kind::Installation => " and is not installed",
        };
        match it.before().filter(|_| matches!(kind, Kind::Skill | Kind::Agent)) {
            Some(before) if stays && before.source == *source => {
                message += "; what was agreed to stays";
            }
            Some(before) if stays => message += &format!("; that of {} stays", before.source),
            Some(before) => {
                message += &format!("; that of {} is not on this machine", before.source);
            }
            None => {}
        }
        let hint = format!("`cargo agents update {name}` shows and accepts it");
        self.findings.push(Finding::warning(message).hint(hint));
        self.findings.extend(suspicions.iter().cloned());
        let (entry, before) = (it.item.entry.clone(), it.before().cloned());
        let why = if before.is_some() { Waits::Changed } else { Waits::New };
        self.pending.push(Pending { why, entry, before, review, suspicions });
    }

    /// Another content under the same version.
    fn refuse(&mut self, it: &Compared, review: Review, suspicions: Vec<Finding>, is_known: bool) {
        let (entry, before) = (it.item.entry.clone(), it.before().cloned());
        let shown = if is_known { &review } else { &Review::default() };
        self.findings.push(altered(&entry, before.as_ref(), shown));
        let why = Waits::Altered;
        self.pending.push(Pending { why, entry, before, review, suspicions });
    }
}

/// The two hashes of what has two contents under one version.
pub(crate) fn hashes(entry: &Entry, before: Option<&Entry>) -> [String; 2] {
    let hash = |entry: &Entry| entry.hash.as_ref().map(ToString::to_string).unwrap_or_default();
    let before = before.map(hash).unwrap_or_default();
    [format!("agreed to: {before}"), format!("found:     {}", hash(entry))]
}

/// What is said about another content under the same version.
pub(super) fn altered(entry: &Entry, before: Option<&Entry>, review: &Review) -> Finding {
    let mut message = match before {
        Some(_) => format!("{entry} is not what was agreed to, although the version is the same"),
        None => format!("{entry} is new in what was changed in our cache"),
    };
    // A program is there before anybody can look at it.
    if entry.kind != Kind::Installation {
        message += "; it is not installed";
    }
    for line in hashes(entry, before).iter().filter(|_| before.is_some()) {
        message += &format!("\n  {line}");
    }
    if !review.diff.is_empty() {
        let lines: Vec<&str> = review.diff.lines().collect();
        for line in lines.iter().take(MAX_LINES) {
            message += &format!("\n  {line}");
        }
        if lines.len() > MAX_LINES {
            message += &format!("\n  and {} lines more", lines.len() - MAX_LINES);
        }
    }
    let hint = format!(
        "fetch it again from where it comes from; if it is right as it is, `cargo agents update {}` accepts it",
        entry.name
    );
    Finding::error(message).hint(hint)
}

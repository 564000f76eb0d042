//! What git fetched into our cache must be what was fetched, and what was agreed to: all of it, not only what we know of.

use std::collections::BTreeMap;

use agents_install::git::{TreeNow, TreeStanding};
use agents_system::finding::{Finding, Place};
use agents_trust::{
    compare::{Compared, Item, Status, Verdict},
    items::Surveyor,
    review::Review,
};
use camino::{Utf8Path, Utf8PathBuf};

use super::{Pending, Settled, Subject, Waits, hold::hashes};
use crate::commands::wanted::Wanted;

/// Adds the trees that these are in, each once.
pub(super) fn survey(
    surveyor: &Surveyor<'_>,
    wanted: &Wanted,
    subjects: &mut Vec<Subject>,
    items: &mut Vec<Item>,
    findings: &mut Vec<Finding>,
) {
    let mut trees: BTreeMap<Utf8PathBuf, &Item> = BTreeMap::new();
    for (subject, item) in subjects.iter().zip(&*items) {
        if let Some(tree) = subject.tree(wanted, surveyor) {
            trees.entry(tree).or_insert(item);
        }
    }
    let mut found = Vec::new();
    for (dir, item) in trees {
        match surveyor.look(&dir) {
            Ok(now) => found
                .extend(Surveyor::tree(&item.entry, &now).map(|item| (Subject::Tree(now), item))),
            Err(error) => {
                let said = format!("what was fetched cannot be looked through: {error}");
                findings.push(Finding::warning(said).at(Place::file(dir)));
            }
        }
    }
    for (subject, item) in found {
        subjects.push(subject);
        // One repository may be here twice, for two addresses.
        items.push(item);
    }
}

impl Subject {
    /// The tree in our cache that it is in.
    fn tree(&self, wanted: &Wanted, surveyor: &Surveyor<'_>) -> Option<Utf8PathBuf> {
        let dir: &Utf8Path = match self {
            Self::Plugin(key) => surveyor.dir(key)?,
            Self::Skill(at) => &wanted.skills.skills[*at].dir,
            Self::Agent(at) => &wanted.agents.agents[*at].dir.dir,
            Self::Tree(_) => return None,
        };
        surveyor.tree_around(dir)
    }
}

impl Settled {
    /// Refuses trees that somebody changed, and whatever is new in them: what stayed the same was agreed to.
    pub(super) fn refuse_changed_trees(
        &mut self,
        subjects: &[Subject],
        wanted: &Wanted,
        surveyor: &Surveyor<'_>,
    ) {
        let mut refused: Vec<(Utf8PathBuf, String)> = Vec::new();
        for (it, subject) in self.comparison.items.iter_mut().zip(subjects) {
            let Subject::Tree(now) = subject else { continue };
            let is_agreed = it.status == Status::Same || self.accepted.contains(&it.item.entry);
            if !is_agreed && now.standing == TreeStanding::Changed {
                it.refuse();
            }
            if it.verdict == Verdict::Refuse {
                self.findings.push(changed(it, now));
                let (entry, before) = (it.item.entry.clone(), it.before().cloned());
                let (why, review) = (Waits::Altered, Review::default());
                refused.push((now.dir.clone(), entry.source.to_string()));
                self.pending.push(Pending { why, entry, before, review, suspicions: Vec::new() });
            }
        }
        if refused.is_empty() {
            return;
        }
        for (it, subject) in self.comparison.items.iter_mut().zip(subjects) {
            let Some(tree) = subject.tree(wanted, surveyor) else { continue };
            let is_accepted = self.accepted.contains(&it.item.entry);
            if refused.iter().any(|(dir, _)| *dir == tree)
                && it.status != Status::Same
                && !is_accepted
            {
                it.refuse();
            }
        }
    }
}

fn changed(it: &Compared, now: &TreeNow) -> Finding {
    let entry = &it.item.entry;
    let mut message = format!(
        "what was fetched from {} was changed in our cache; nothing new is taken from it",
        entry.source
    );
    if it.before().is_some() {
        for line in hashes(entry, it.before()) {
            message += &format!("\n  {line}");
        }
    }
    let hint = format!(
        "remove that directory and fetch it again with `cargo agents plugin sync`; if it is right as it is, `cargo agents update {}` accepts it",
        entry.name
    );
    Finding::error(message).at(Place::file(&now.dir)).hint(hint)
}

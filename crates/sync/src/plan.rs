//! The changes between what is there and what should be.

mod files;
mod parts;
mod skills;

use std::collections::BTreeSet;

use agents_host::HostId;
use agents_system::{
    finding::Finding,
    ledger::{Entry, Ledger, Property, What},
};
use camino::{Utf8Path, Utf8PathBuf};

use crate::{
    desired::{Desired, SkillFiles},
    facts::Facts,
};

/// What has to be done, and what will be ours when it is done.
#[derive(Debug, Default)]
pub struct Plan {
    /// What has to be done.
    pub changes: Vec<Change>,
    /// How many things are as they should be.
    pub unchanged: usize,
    /// What is left alone, and why.
    pub findings: Vec<Finding>,
    /// What we own afterwards.
    pub owned: Ledger,
    /// What carries our mark, was not recorded and will be replaced, as it is now.
    pub adopted: Vec<Entry>,
}

/// One change.
#[derive(Debug)]
pub enum Change {
    /// A skill's directory is made, replaced or removed.
    Skill {
        /// Its directory.
        slot: Utf8PathBuf,
        /// What happens.
        action: Action,
        /// What will be in it, and the digest of that; nothing when it is removed.
        files: Option<(SkillFiles, String)>,
        /// Where it comes from, in words.
        from: String,
        /// The hosts that see it.
        hosts: Vec<HostId>,
    },
    /// A file of a host is edited.
    File {
        /// The file.
        file: Utf8PathBuf,
        /// Its text; `None` if there is none.
        before: Option<String>,
        /// Its text afterwards; `None` if it goes, because we made it and nothing else is in it.
        after: Option<String>,
        /// What is in the edit.
        notes: Vec<Note>,
    },
}

/// One thing that an edit of a file does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// What happens.
    pub action: Action,
    /// To what.
    pub what: What,
    /// Its name.
    pub name: String,
    /// Where it comes from, in words.
    pub from: String,
    /// The host; `None` for something that no configured host reads any more.
    pub host: Option<HostId>,
}

/// What happens to something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// It was not there.
    New,
    /// It was there in another form.
    Updated,
    /// It goes.
    Removed,
}

/// What to do about things of ours that somebody has edited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edited {
    /// Keep the edit and say so.
    Keep,
    /// Write over it.
    Overwrite,
}

impl Action {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Updated => "updated",
            Self::Removed => "removed",
        }
    }
}

impl Plan {
    /// The plan for one workspace. What other workspaces want in the user's files stays.
    #[must_use]
    pub fn new(
        desired: &Desired,
        facts: &Facts,
        ledger: &Ledger,
        workspace: &Utf8Path,
        edited: Edited,
    ) -> Self {
        Self::of(Given { desired, facts, ledger, workspace, edited, asked: Asked::Sync })
    }

    /// The plan that takes back what one workspace has.
    #[must_use]
    pub fn of_removal(
        facts: &Facts,
        ledger: &Ledger,
        workspace: &Utf8Path,
        edited: Edited,
    ) -> Self {
        let desired = &Desired::default();
        Self::of(Given { desired, facts, ledger, workspace, edited, asked: Asked::Uninstall })
    }

    fn of(given: Given<'_>) -> Self {
        let mut plan = Self { owned: given.ledger.clone(), ..Self::default() };
        skills::plan(&mut plan, given);
        parts::plan(&mut plan, given);
        files::plan(&mut plan, given);
        plan
    }

    /// Nothing changes in this file, so what we own there is what we owned.
    pub(crate) fn keep_ownership_of(&mut self, file: &Utf8Path, ledger: &Ledger) {
        let is_there = |entry: &Entry| entry.property.place() == file;
        self.owned.entries.retain(|entry| !is_there(entry));
        self.owned.entries.extend(ledger.entries.iter().filter(|it| is_there(it)).cloned());
    }

    /// Whether there is nothing to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }
}

/// The command that a plan is made for: what it leaves alone goes by the same command, asked differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    Sync,
    Uninstall,
}

impl Asked {
    /// As people type it.
    fn command(self) -> &'static str {
        match self {
            Self::Sync => "cargo agents sync",
            Self::Uninstall => "cargo agents uninstall",
        }
    }
}

/// What a plan is made of.
#[derive(Clone, Copy)]
struct Given<'a> {
    desired: &'a Desired,
    facts: &'a Facts,
    ledger: &'a Ledger,
    workspace: &'a Utf8Path,
    edited: Edited,
    asked: Asked,
}

impl<'a> Given<'a> {
    /// The workspaces that want something, this one included.
    fn shared(self, entry: Option<&Entry>) -> BTreeSet<Utf8PathBuf> {
        let mut workspaces = entry.map(|entry| entry.workspaces.clone()).unwrap_or_default();
        workspaces.insert(self.workspace.to_owned());
        workspaces
    }

    /// What this workspace wanted earlier and nobody wants now. What others still want is only let go.
    fn abandoned(self, plan: &mut Plan, is_wanted: impl Fn(&Property) -> bool) -> Vec<&'a Entry> {
        // What was left to the user is for no workspace any more; it goes when they say so.
        let left = |entry: &Entry| {
            self.edited == Edited::Overwrite
                && entry.workspaces.is_empty()
                && entry.property.place().starts_with(self.workspace)
        };
        let ours = |entry: &&Entry| {
            (entry.is_for(self.workspace) || left(entry)) && !is_wanted(&entry.property)
        };
        let (shared, alone): (Vec<&Entry>, Vec<&Entry>) =
            self.ledger.entries.iter().filter(ours).partition(|entry| entry.workspaces.len() > 1);
        for entry in shared {
            let mut entry = entry.clone();
            entry.workspaces.remove(self.workspace);
            plan.owned.record(entry);
        }
        alone
    }
}

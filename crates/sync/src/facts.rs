//! What is there now.

use std::{collections::HashMap, path::PathBuf};

use agents_system::{
    foreign::ForeignFile,
    ledger::{Entry, Ledger, Part, Property},
};
use camino::{Utf8Path, Utf8PathBuf};

use serde::{Deserialize, Serialize};

use crate::{desired::Desired, slots::Slots};

/// In every skill that we install, and what it says: nothing here is for git.
pub(crate) const IGNORE_FILE: &str = ".gitignore";
pub(crate) const IGNORE_ALL: &str = "*\n";

/// Everything on disk that a plan depends on.
#[derive(Debug, Default)]
pub struct Facts {
    // Not by `Utf8PathBuf`, which is compared part by part even if it is the same text.
    slots: HashMap<PathBuf, Slot>,
    files: HashMap<PathBuf, File>,
}

/// A place for a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Slot {
    /// Nothing is there.
    Free,
    /// The directory that some skill comes from.
    Source,
    /// Something is there.
    Taken {
        /// Of what is in it; `None` if it cannot be read or holds what we would never put there.
        digest: Option<String>,
        /// Whether it carries the mark of what was installed by us or by Symposium.
        marked: Marked,
    },
}

/// Whether a directory carries our mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Marked {
    /// It does.
    Yes,
    /// It does not.
    No,
}

/// A file that belongs to somebody else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum File {
    /// There is none.
    Absent,
    /// This is in it.
    Text(String),
    /// It cannot be read.
    Unreadable(String),
}

impl Facts {
    /// Looks at everything that the desired state or the ledger names for a workspace.
    #[must_use]
    pub fn look(desired: &Desired, ledger: &Ledger, workspace: &Utf8Path) -> Self {
        Self::look_with(desired, ledger, workspace, &mut Slots::unknown())
    }

    pub(crate) fn look_with(
        desired: &Desired,
        ledger: &Ledger,
        workspace: &Utf8Path,
        slots: &mut Slots,
    ) -> Self {
        let mut facts = Self::default();
        facts.slots.reserve(2 * desired.skills.len());
        for skill in &desired.skills {
            for name in [skill.name.as_str(), &skill.suffixed] {
                let slot = skill.slot(name);
                // One place may be the source of one skill and wanted by another.
                let seen = slots.look(&slot, Some(&skill.source));
                let slot = slot.into_std_path_buf();
                if seen == Slot::Source || !facts.slots.contains_key(&slot) {
                    facts.slots.insert(slot, seen);
                }
            }
        }
        for part in &desired.parts {
            facts.see_file(&part.file);
        }
        for whole in &desired.files {
            facts.see_file(&whole.file);
            if let Some(ignore) = whole.ignore_file(workspace) {
                facts.see_file(&ignore);
            }
        }
        // What others want stays, however it looks.
        let of_workspace = |entry: &&Entry| entry.workspaces.is_empty() || entry.is_for(workspace);
        for entry in ledger.entries.iter().filter(of_workspace) {
            match &entry.property {
                Property::Directory { dir, .. } => {
                    if !facts.slots.contains_key(dir.as_std_path()) {
                        let slot = slots.look(dir, None);
                        facts.slots.insert(dir.as_std_path().to_owned(), slot);
                    }
                }
                Property::File { file, .. } | Property::Part(Part { file, .. }) => {
                    facts.see_file(file);
                }
            }
        }
        facts
    }

    /// The same, with this at a place for a skill.
    #[must_use]
    pub fn with_slot(mut self, path: impl Into<Utf8PathBuf>, slot: Slot) -> Self {
        self.slots.insert(path.into().into_std_path_buf(), slot);
        self
    }

    /// The same, with this in a file.
    #[must_use]
    pub fn with_file(mut self, path: impl Into<Utf8PathBuf>, file: File) -> Self {
        self.files.insert(path.into().into_std_path_buf(), file);
        self
    }

    /// What is at a place for a skill.
    #[must_use]
    pub fn slot(&self, path: &Utf8Path) -> &Slot {
        self.slots.get(path.as_std_path()).unwrap_or(&Slot::Free)
    }

    /// What is in a file.
    #[must_use]
    pub fn file(&self, path: &Utf8Path) -> &File {
        self.files.get(path.as_std_path()).unwrap_or(&File::Absent)
    }

    fn see_file(&mut self, file: &Utf8Path) {
        if !self.files.contains_key(file.as_std_path()) {
            self.files.insert(file.as_std_path().to_owned(), Self::file_at(file));
        }
    }

    /// Looks at one place for a skill.
    pub(crate) fn slot_at(slot: &Utf8Path) -> Slot {
        Slots::unknown().look(slot, None)
    }

    /// Looks into one file.
    pub(crate) fn file_at(file: &Utf8Path) -> File {
        match ForeignFile::load(file) {
            Ok(loaded) => match loaded.text() {
                Some(text) => File::Text(text.to_owned()),
                None => File::Absent,
            },
            Err(error) => File::Unreadable(error.to_string()),
        }
    }
}

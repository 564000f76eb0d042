//! What is there now.

use std::collections::BTreeMap;

use agents_plugin::skills::{MARKER, content_digest};
use agents_system::{
    foreign::ForeignFile,
    ledger::{Ledger, Part, Property},
};
use camino::{Utf8Path, Utf8PathBuf};

use crate::desired::{Desired, hex};

/// In every skill that we install, and what it says: nothing here is for git.
pub(crate) const IGNORE_FILE: &str = ".gitignore";
pub(crate) const IGNORE_ALL: &str = "*\n";

/// Everything on disk that a plan depends on.
#[derive(Debug, Default)]
pub struct Facts {
    slots: BTreeMap<Utf8PathBuf, Slot>,
    files: BTreeMap<Utf8PathBuf, File>,
}

/// A place for a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    /// Looks at everything that the desired state or the ledger names.
    #[must_use]
    pub fn look(desired: &Desired, ledger: &Ledger) -> Self {
        let mut facts = Self::default();
        for skill in &desired.skills {
            for name in [skill.name.as_str(), &skill.suffixed] {
                let slot = skill.slot(name);
                if skill.is_source(&slot) {
                    facts.slots.insert(slot, Slot::Source);
                } else {
                    facts.see_slot(&slot);
                }
            }
        }
        for part in &desired.parts {
            facts.see_file(&part.file);
        }
        for whole in &desired.files {
            facts.see_file(&whole.file);
        }
        for entry in &ledger.entries {
            match &entry.property {
                Property::Directory { dir, .. } => facts.see_slot(dir),
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
        self.slots.insert(path.into(), slot);
        self
    }

    /// The same, with this in a file.
    #[must_use]
    pub fn with_file(mut self, path: impl Into<Utf8PathBuf>, file: File) -> Self {
        self.files.insert(path.into(), file);
        self
    }

    /// What is at a place for a skill.
    #[must_use]
    pub fn slot(&self, path: &Utf8Path) -> &Slot {
        self.slots.get(path).unwrap_or(&Slot::Free)
    }

    /// What is in a file.
    #[must_use]
    pub fn file(&self, path: &Utf8Path) -> &File {
        self.files.get(path).unwrap_or(&File::Absent)
    }

    fn see_slot(&mut self, slot: &Utf8Path) {
        if !self.slots.contains_key(slot) {
            self.slots.insert(slot.to_owned(), Self::slot_at(slot));
        }
    }

    fn see_file(&mut self, file: &Utf8Path) {
        if !self.files.contains_key(file) {
            self.files.insert(file.to_owned(), Self::file_at(file));
        }
    }

    /// Looks at one place for a skill.
    pub(crate) fn slot_at(slot: &Utf8Path) -> Slot {
        let Ok(metadata) = slot.symlink_metadata() else { return Slot::Free };
        if metadata.is_symlink() {
            // We never make one, whatever it leads to.
            return Slot::Taken { digest: None, marked: Marked::No };
        }
        let is_marked = slot.join(MARKER).symlink_metadata().is_ok();
        let marked = if is_marked { Marked::Yes } else { Marked::No };
        let (digest, left_out) = content_digest(slot, slot);
        // Neither a link nor another ignore file is from us.
        let ignores = fs_err::read_to_string(slot.join(IGNORE_FILE));
        let is_ours = left_out.is_empty() && ignores.is_ok_and(|text| text == IGNORE_ALL);
        let digest = digest.filter(|_| is_ours).map(|digest| hex(&digest));
        Slot::Taken { digest, marked }
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

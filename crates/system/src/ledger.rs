//! The ledger: the record of every directory, file and part of a file that we own in other people's places.
//!
//! What is not in the ledger is not ours, whatever it looks like. Before anything is written the ledger says what is
//! *intended*; when it is written, that becomes an entry. A crash in between leaves an intention, and the disk then
//! says whether it came true.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
};

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    atomic,
    edit::{Format, KeyPath},
    explain::{Code, ErrorKind, Explain},
    foreign::ForeignError,
    regular,
};

const VERSION: u32 = 1;

/// Everything that we own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ledger {
    version: u32,
    /// Each property once.
    pub entries: Vec<Entry>,
    /// Directories that were not there before and hold what is ours; they go when they are empty again.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub directories: BTreeSet<Utf8PathBuf>,
    /// For files in which we own something and that nobody else has written since: the hash of what we left there, and
    /// while we write also of what was there before.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub left: BTreeMap<Utf8PathBuf, BTreeSet<String>>,
    /// While somebody writes: what is about to become entries. Whoever finds it later knows that the writer was killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intended: Option<Vec<Entry>>,
}

#[derive(Deserialize)]
struct Layout {
    version: u32,
}

/// One thing that we own, for whom, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// What it is to the host.
    #[serde(default)]
    pub what: What,
    /// What we own.
    pub property: Property,
    /// The workspaces that want it. A file of the user may serve several. None wants a directory that was left to
    /// the user because they had edited it; the entry then says what we had put there.
    pub workspaces: BTreeSet<Utf8PathBuf>,
    /// Where it comes from, in words.
    pub from: String,
}

impl Entry {
    /// Whether this workspace is among those that want it.
    #[must_use]
    pub fn is_for(&self, workspace: &Utf8Path) -> bool {
        // There is hardly ever more than one, and a set of `Utf8PathBuf` compares them part by part.
        self.workspaces.iter().any(|it| it.as_std_path() == workspace.as_std_path())
    }
}

/// What something of ours is to the host.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// A skill.
    Skill,
    /// An MCP server.
    #[default]
    Server,
    /// The registration of a hook.
    Hook,
    /// An agent.
    Agent,
    /// What keeps ours from git.
    Ignore,
}

impl What {
    /// The word in reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Skill => "skill",
            Self::Server => "mcp",
            Self::Hook => "hook",
            Self::Agent => "agent",
            Self::Ignore => "ignore",
        }
    }

    /// A name of it, in a sentence.
    #[must_use]
    pub fn named(self, name: &str) -> String {
        match self {
            Self::Skill => format!("the skill `{name}`"),
            Self::Server => format!("the MCP server `{name}`"),
            Self::Hook => format!("the hook for `{name}`"),
            Self::Agent => format!("the agent `{name}`"),
            Self::Ignore => format!("what git ignores in `{name}`"),
        }
    }
}

/// Something that we own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Property {
    /// A directory, as a whole.
    Directory {
        /// Where.
        dir: Utf8PathBuf,
        /// Of what we put into it.
        digest: String,
    },
    /// A file, as a whole.
    File {
        /// Where.
        file: Utf8PathBuf,
        /// Of what we put into it.
        digest: String,
    },
    /// A part of a file.
    #[serde(alias = "key")]
    Part(Part),
}

/// A part of a file that belongs to somebody else.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// The file.
    pub file: Utf8PathBuf,
    /// How it is written.
    pub format: Format,
    /// The key.
    pub at: KeyPath,
    /// How much of what is there is ours.
    #[serde(default, skip_serializing_if = "Share::is_key")]
    pub share: Share,
    /// What we put there.
    pub value: Value,
    /// The tables and lists on the way that were not there before, outermost first; the empty path means the file
    /// itself.
    pub made: Vec<KeyPath>,
}

/// How much of what is at a key is ours.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Share {
    /// All of it.
    #[default]
    Key,
    /// One item of the list that is there.
    Item {
        /// What an item of ours has in one of its texts, however somebody changed the rest of it.
        mark: String,
    },
    /// All of it, but the rest of the file needs it too: it goes only when nothing else is left.
    Scaffold,
}

/// Why the ledger cannot be used. It is never taken for empty: that would orphan what we own.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// What is there cannot be read.
    #[error(transparent)]
    Unreadable(#[from] ForeignError),
    /// It cannot be written.
    #[error("cannot use the ledger `{file}`")]
    Io {
        /// The file.
        file: Utf8PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is not what we wrote.
    #[error("the ledger `{file}` is damaged")]
    Damaged {
        /// The file.
        file: Utf8PathBuf,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// A later version wrote it.
    #[error(
        "the ledger `{file}` was written by a later version (layout {found}, known: {VERSION})"
    )]
    Newer {
        /// The file.
        file: Utf8PathBuf,
        /// Its layout.
        found: u32,
    },
}

impl Explain for LedgerError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Failure
    }

    fn code(&self) -> Option<Code> {
        Some(match self {
            Self::Unreadable(_) | Self::Io { .. } | Self::Damaged { .. } => Code::LedgerDamaged,
            Self::Newer { .. } => Code::LaterVersion,
        })
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Unreadable(error) => error.hint(),
            Self::Io { .. } => None,
            Self::Damaged { .. } => {
                Some("restore it from a backup; without it we cannot tell what is ours".to_owned())
            }
            Self::Newer { .. } => Some("use that version of cargo agents".to_owned()),
        }
    }
}

impl Default for Ledger {
    fn default() -> Self {
        Self {
            version: VERSION,
            entries: Vec::new(),
            directories: BTreeSet::new(),
            left: BTreeMap::new(),
            intended: None,
        }
    }
}

impl Ledger {
    /// Reads it; a missing one is empty.
    pub fn load(file: &Utf8Path) -> Result<Self, LedgerError> {
        let Some(text) = regular::read_text(file)? else { return Ok(Self::default()) };
        let damaged = |source| LedgerError::Damaged { file: file.to_owned(), source };
        // A later version may have changed everything else.
        let Layout { version: found } = serde_json::from_str(&text).map_err(damaged)?;
        if found > VERSION {
            return Err(LedgerError::Newer { file: file.to_owned(), found });
        }
        serde_json::from_str(&text).map_err(damaged)
    }

    /// Writes it, unless it is as it was.
    pub fn save(&self, file: &Utf8Path) -> Result<(), LedgerError> {
        let failed = |source| LedgerError::Io { file: file.to_owned(), source };
        let text = serde_json::to_string_pretty(self).map_err(|error| failed(error.into()))? + "\n";
        if regular::read_text(file).is_ok_and(|now| now.as_ref() == Some(&text)) {
            return Ok(());
        }
        atomic::write(file, text.as_bytes()).map_err(failed)
    }

    /// The entry for a file as a whole.
    #[must_use]
    pub fn file(&self, file: &Utf8Path) -> Option<&Entry> {
        self.entries.iter().find(
            |entry| matches!(&entry.property, Property::File { file: owned, .. } if owned == file),
        )
    }

    /// The parts that we own, with their entries.
    pub fn parts(&self) -> impl Iterator<Item = (&Entry, &Part)> {
        self.entries.iter().filter_map(|entry| match &entry.property {
            Property::Part(part) => Some((entry, part)),
            Property::Directory { .. } | Property::File { .. } => None,
        })
    }

    /// Whether anything in this file is ours.
    #[must_use]
    pub fn owns_in(&self, file: &Utf8Path) -> bool {
        self.file(file).is_some() || self.parts().any(|(_, part)| part.file == file)
    }

    /// Puts an entry in the place of whatever was recorded for the same property.
    pub fn record(&mut self, entry: Entry) {
        let at = self.entries.iter().position(|known| known.property.is_at(&entry.property));
        match at {
            Some(at) => self.entries[at] = entry,
            None => self.entries.push(entry),
        }
    }

    /// Turns the intentions that came true into entries and drops the others. `came_true` is also told what was
    /// recorded at the same place.
    pub fn resolve(&mut self, came_true: impl Fn(&Property, Option<&Property>) -> bool) {
        for intention in self.intended.take().unwrap_or_default() {
            let mut recorded = self.entries.iter().map(|entry| &entry.property);
            let recorded = recorded.find(|it| it.is_at(&intention.property));
            if came_true(&intention.property, recorded) {
                self.record(intention);
            }
        }
    }

    /// Forgets a property.
    pub fn forget(&mut self, property: &Property) {
        self.entries.retain(|entry| !entry.property.is_at(property));
    }
}

impl Property {
    /// Whether both are about the same directory, the same file or the same part of one.
    #[must_use]
    pub fn is_at(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Directory { dir: one, .. }, Self::Directory { dir: other, .. }) => one == other,
            (Self::File { file: one, .. }, Self::File { file: other, .. }) => one == other,
            (Self::Part(one), Self::Part(other)) => one.is_at(&other.file, &other.at, &other.share),
            _ => false,
        }
    }

    /// The directory or the file.
    #[must_use]
    pub fn place(&self) -> &Utf8Path {
        match self {
            Self::Directory { dir, .. } => dir,
            Self::File { file, .. } | Self::Part(Part { file, .. }) => file,
        }
    }
}

impl Part {
    /// Whether something stands in its place, whatever became of it.
    #[must_use]
    pub fn stands_in(&self, document: &Value) -> bool {
        let Some(now) = Self::find(&self.at, document) else { return false };
        match &self.share {
            Share::Key | Share::Scaffold => true,
            Share::Item { mark } => {
                now.as_array().is_some_and(|list| list.iter().any(|item| mentions(item, mark)))
            }
        }
    }

    /// What is at its key.
    #[must_use]
    pub fn find<'v>(at: &KeyPath, document: &'v Value) -> Option<&'v Value> {
        at.keys().iter().try_fold(document, |value, key| value.get(key))
    }

    /// Whether a file that says this has it as we put it there.
    #[must_use]
    pub fn is_in(&self, document: &Value) -> bool {
        let Some(now) = Self::find(&self.at, document) else { return false };
        match &self.share {
            Share::Key | Share::Scaffold => *now == self.value,
            Share::Item { .. } => now.as_array().is_some_and(|list| list.contains(&self.value)),
        }
    }

    /// Whether it is this part. A list has at most one item of ours for each mark.
    #[must_use]
    pub fn is_at(&self, file: &Utf8Path, at: &KeyPath, share: &Share) -> bool {
        let same_item = match (&self.share, share) {
            (Share::Item { mark: one }, Share::Item { mark: other }) => one == other,
            (Share::Item { .. }, _) | (_, Share::Item { .. }) => false,
            _ => true,
        };
        self.file == file && self.at == *at && same_item
    }
}

/// Whether one of the texts in a value has `mark` in it.
#[must_use]
pub fn mentions(value: &Value, mark: &str) -> bool {
    match value {
        Value::String(text) => text.contains(mark),
        Value::Array(items) => items.iter().any(|item| mentions(item, mark)),
        Value::Object(map) => map.values().any(|item| mentions(item, mark)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

impl Share {
    fn is_key(&self) -> bool {
        *self == Self::Key
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(value: i32) -> Entry {
        Entry {
            what: What::Server,
            property: Property::Part(Part {
                file: "/h/settings.json".into(),
                format: Format::Json,
                at: ["mcpServers", "x"].into(),
                share: Share::Key,
                value: json!(value),
                made: vec![["mcpServers"].into()],
            }),
            workspaces: BTreeSet::from(["/w".into()]),
            from: "plugin".to_owned(),
        }
    }

    #[test]
    fn what_was_saved_is_loaded_and_saving_it_again_writes_nothing() {
        let scratch = tempfile::tempdir().unwrap();
        let file = Utf8PathBuf::from_path_buf(scratch.path().join("s/ledger.json")).unwrap();
        let mut ledger = Ledger::load(&file).unwrap();
        assert_eq!(ledger, Ledger::default());
        ledger.record(entry(1));
        ledger.save(&file).unwrap();
        let written = file.metadata().unwrap().modified().unwrap();
        assert_eq!(Ledger::load(&file).unwrap(), ledger);
        ledger.save(&file).unwrap();
        assert_eq!(file.metadata().unwrap().modified().unwrap(), written);
    }

    #[test]
    fn recording_replaces_what_is_at_the_same_place_and_forgetting_removes_it() {
        let mut ledger = Ledger::default();
        ledger.record(entry(1));
        ledger.record(entry(2));
        assert_eq!(ledger.entries, [entry(2)]);
        ledger.forget(&entry(9).property);
        assert_eq!(ledger.entries, []);
    }

    #[test]
    fn an_intention_becomes_an_entry_only_if_it_came_true() {
        let mut ledger = Ledger::default();
        ledger.record(entry(1));
        ledger.intended = Some(vec![entry(2)]);
        let mut failed = ledger.clone();
        failed.resolve(|_, _| false);
        assert_eq!((failed.entries, failed.intended), (vec![entry(1)], None));
        ledger.resolve(|property, recorded| {
            recorded == Some(&entry(1).property) && *property == entry(2).property
        });
        assert_eq!(ledger.entries, [entry(2)]);
    }

    #[test]
    fn a_damaged_or_newer_ledger_is_an_error_and_never_empty() {
        let scratch = tempfile::tempdir().unwrap();
        let file = Utf8PathBuf::from_path_buf(scratch.path().join("ledger.json")).unwrap();
        for text in ["", "{", "[]", "{\"version\": 1}", "{\"version\": 99, \"entries\": []}"] {
            fs_err::write(&file, text).unwrap();
            assert!(Ledger::load(&file).is_err(), "{text:?}");
        }
        fs_err::remove_file(&file).unwrap();
        assert!(crate::process::Call::new("mkfifo").arg(file.as_str()).status().unwrap().success());
        let error = Ledger::load(&file).unwrap_err();
        let said = format!("`{file}` is a pipe, socket or device, not a file");
        assert_eq!((error.to_string(), error.code()), (said, Some(Code::LedgerDamaged)));
        Ledger::default().save(&file).unwrap();
        assert_eq!(Ledger::load(&file).unwrap(), Ledger::default());
    }
}

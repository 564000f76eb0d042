//! The older schema of `[package.metadata.symposium]`: a list that says where a crate's skills are.
//!
//! ```toml
//! [package.metadata.symposium]
//! skills = [{ path = "guides" }, { crate = { name = "other", version = "1" } }]
//! ```

use agents_system::{
    decode::{Table, Value},
    finding::Finding,
};
use agents_workspace::CrateName;
use serde::{Deserialize, Serialize};

/// What a crate says about its skills.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum CrateSkills {
    /// Nothing: its `skills/` directory counts.
    #[default]
    Unsaid,
    /// These, and only these; an empty list is an opt-out.
    Listed(Vec<SkillEntry>),
}

/// One place of a crate's skills.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum SkillEntry {
    /// A directory of the crate.
    Path(String),
    /// Another crate, which is asked in turn.
    Crate {
        /// Its name.
        name: CrateName,
        /// Which versions, as cargo writes them.
        version: Option<String>,
    },
}

/// Whether `skills` of this table is the older list (of inline tables with `path` or `crate`, or empty) and
/// not `[[skills]]` groups.
pub(super) fn is_older_list(root: &Table<'_>) -> bool {
    let Some(items) = root.get("skills").and_then(Value::items) else { return false };
    items.into_iter().all(|item| {
        item.table("skills").is_some_and(|entry| entry.has("path") || entry.has("crate"))
    })
}

pub(super) fn decode(root: &Table<'_>) -> CrateSkills {
    let Some(items) = root.get("skills").and_then(Value::items) else { return CrateSkills::Unsaid };
    CrateSkills::Listed(items.filter_map(decode_entry).collect())
}

fn decode_entry(item: Value<'_>) -> Option<SkillEntry> {
    let entry = item.table("an entry of `skills`")?;
    let path = entry.string("path");
    let target = entry.table("crate");
    entry.deny_unknown();
    match (path, target) {
        (Some(path), None) => Some(SkillEntry::Path(path.to_string())),
        (None, Some(target)) => {
            let name = target.required_string("name");
            let version = target.string("version").map(|version| version.to_string());
            target.deny_unknown();
            Some(SkillEntry::Crate { name: CrateName::new(name?.as_str()), version })
        }
        (Some(_), Some(_)) => {
            item.report(
                Finding::error("an entry of `skills` has both `path` and `crate`")
                    .hint("write two entries"),
            );
            None
        }
        (None, None) => None,
    }
}

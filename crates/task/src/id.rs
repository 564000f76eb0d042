//! What a task is called, and where it stands in its tree.

use std::fmt;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// One run of an agent. Later ones are greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(Uuid);

impl TaskId {
    /// A new one, different from all others.
    #[must_use]
    pub fn new() -> Self {
        Self(Uuid::now_v7())
    }

    /// Reads one; `None` for what is none.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Uuid::try_parse(text).ok().map(Self)
    }

    /// What tells it from others at a glance. Ids begin with the time, so that all of an hour begin alike; this is the beginning
    /// of the part that is chance.
    #[must_use]
    pub fn short(&self) -> String {
        let mut tail = self.tail();
        tail.truncate(8);
        tail
    }

    /// The part that is chance.
    pub(crate) fn tail(&self) -> String {
        let mut text = self.to_string();
        text.split_off(24)
    }
}

impl Default for TaskId {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0.hyphenated().to_string())
    }
}

impl Serialize for TaskId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TaskId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom("not the id of a task"))
    }
}

/// The longest name of a task.
pub const MAX_NAME: usize = 48;

/// Where a task stands in its tree: the names from the first one down to it, `review/explore-2`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default)]
#[serde(transparent)]
pub struct TaskPath(Vec<String>);

impl TaskPath {
    /// That of whoever starts the first task of a tree.
    #[must_use]
    pub fn root() -> Self {
        Self::default()
    }

    /// That of a child. A name that is taken gets a number: `explore`, `explore-2`, ...
    #[must_use]
    pub fn child(&self, name: &str, taken: &[TaskPath]) -> Self {
        let name = clean(name);
        let with = |name: String| {
            let mut path = self.clone();
            path.0.push(name);
            path
        };
        let first = with(name.clone());
        if !taken.contains(&first) {
            return first;
        }
        // One of these is free: there are more of them than paths that are taken.
        let numbered = (2..taken.len() + 3).map(|number| with(format!("{name}-{number}")));
        numbered.into_iter().find(|path| !taken.contains(path)).unwrap_or(first)
    }

    /// The name of the task itself; nothing for the root.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.last().map_or("", String::as_str)
    }

    /// How deep it is: 0 for the root.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.0.len()
    }

    /// Whether it is this one or somewhere below it.
    #[must_use]
    pub fn is_within(&self, other: &Self) -> bool {
        self.0.starts_with(&other.0)
    }
}

impl fmt::Display for TaskPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0.join("/"))
    }
}

/// A name that is a file name everywhere: letters, digits, `-` and `_`.
fn clean(name: &str) -> String {
    let fine = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    let name: String = name.trim().chars().take(MAX_NAME).map(fine).collect();
    let name = name.trim_matches('-');
    if name.is_empty() { "task".to_owned() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_ids_are_greater_and_survive_being_written() {
        let (one, other) = (TaskId::new(), TaskId::new());
        assert!(one < other);
        assert_eq!(TaskId::parse(&one.to_string()), Some(one));
        let json = serde_json::to_string(&one).unwrap();
        assert_eq!(serde_json::from_str::<TaskId>(&json).unwrap(), one);
        assert_eq!(TaskId::parse("7"), None);
        assert!(one.to_string().contains(&format!("-{}", one.short())));
        assert_ne!(one.short(), other.short());
    }

    #[test]
    fn a_name_that_is_taken_gets_a_number() {
        let root = TaskPath::root();
        let mut taken = Vec::new();
        for expected in ["explore", "explore-2", "explore-3"] {
            let path = root.child("explore", &taken);
            assert_eq!(path.to_string(), expected);
            taken.push(path);
        }
        let nested = taken[1].child("a b/../c", &taken);
        assert_eq!(nested.to_string(), "explore-2/a-b----c");
        assert!(nested.is_within(&taken[1]) && !nested.is_within(&taken[0]));
        assert_eq!(root.child(" ", &[]).name(), "task");
        assert_eq!(nested.depth(), 2);
    }
}

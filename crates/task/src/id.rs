//! What a task is called, and where it stands in its tree.

use std::{
    collections::{HashMap, HashSet},
    fmt,
    sync::Arc,
};

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

    /// As bytes.
    pub(crate) fn bytes(&self) -> [u8; 16] {
        *self.0.as_bytes()
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
        f.pad(self.0.hyphenated().encode_lower(&mut Uuid::encode_buffer()))
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

/// Where a task stands in its tree: the names from the first one down to it, `review/explore-2`. Cheap to clone: everybody who has to
/// do with a task has it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TaskPath(Arc<Vec<String>>);

impl Serialize for TaskPath {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for TaskPath {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(|it| Self(Arc::new(it)))
    }
}

impl TaskPath {
    /// That of whoever starts the first task of a tree.
    #[must_use]
    pub fn root() -> Self {
        Self::default()
    }

    /// That of a child. A name that is taken gets a number: `explore`, `explore-2`, ...
    #[must_use]
    pub fn child(&self, name: &str, taken: &Taken<'_>) -> Self {
        taken.free(self.with(clean(name)))
    }

    fn with(&self, name: String) -> Self {
        Self::below(&self.0, name)
    }

    /// Another one of the same parent.
    fn beside(&self, name: String) -> Self {
        Self::below(&self.0[..self.0.len().saturating_sub(1)], name)
    }

    fn below(parents: &[String], name: String) -> Self {
        let mut names = Vec::with_capacity(parents.len() + 1);
        names.extend_from_slice(parents);
        names.push(name);
        Self(Arc::new(names))
    }

    /// The name of the task itself; nothing for the root.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.last().map_or("", String::as_str)
    }

    /// That of whoever started it; `None` for the root.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        let (_, above) = self.0.split_last()?;
        Some(Self(Arc::new(above.to_vec())))
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

/// The names in a tree that are taken. What is asked of it takes as long with a hundred thousand of them as with one.
#[derive(Debug, Clone, Default)]
pub struct Taken<'t> {
    /// Those that were taken before, by somebody else.
    before: Option<&'t Taken<'t>>,
    paths: HashSet<TaskPath>,
    /// The number after the highest one of each name.
    next: HashMap<TaskPath, usize>,
}

impl<'t> Taken<'t> {
    /// These, and those that are taken from now on.
    #[must_use]
    pub fn after(before: &'t Taken<'t>) -> Self {
        Self { before: Some(before), ..Self::default() }
    }

    /// Takes one.
    pub fn add(&mut self, path: TaskPath) {
        if let Some((name, number)) = path.name().rsplit_once('-')
            && let Ok(number) = number.parse::<usize>()
        {
            let next = self.next.entry(path.beside(name.to_owned())).or_default();
            *next = (*next).max(number.saturating_add(1));
        }
        self.paths.insert(path);
    }

    fn contains(&self, path: &TaskPath) -> bool {
        self.paths.contains(path) || self.before.is_some_and(|it| it.contains(path))
    }

    fn next(&self, path: &TaskPath) -> usize {
        let own = self.next.get(path).copied().unwrap_or(2);
        own.max(self.before.map_or(2, |it| it.next(path)))
    }

    /// This one, or the first with a number that is free.
    fn free(&self, path: TaskPath) -> TaskPath {
        if !self.contains(&path) {
            return path;
        }
        let numbered = |number: usize| path.beside(format!("{}-{number}", path.name()));
        let free = (self.next(&path)..usize::MAX).map(numbered).find(|it| !self.contains(it));
        free.unwrap_or(path)
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
        let mut taken = Taken::default();
        let mut paths = Vec::new();
        for expected in ["explore", "explore-2", "explore-3"] {
            let path = root.child("explore", &taken);
            assert_eq!(path.to_string(), expected);
            taken.add(path.clone());
            paths.push(path);
        }
        let mut later = Taken::after(&taken);
        for expected in ["explore-4", "explore-5"] {
            let path = root.child("explore", &later);
            assert_eq!(path.to_string(), expected);
            later.add(path);
        }
        assert_eq!(root.child("explore", &taken).to_string(), "explore-4");
        taken.add(root.child("x-7", &Taken::default()));
        assert_eq!(root.child("x", &taken).to_string(), "x");
        let nested = paths[1].child("a b/../c", &taken);
        assert_eq!(nested.to_string(), "explore-2/a-b----c");
        assert!(nested.is_within(&paths[1]) && !nested.is_within(&paths[0]));
        assert_eq!(root.child(" ", &Taken::default()).name(), "task");
        assert_eq!(nested.depth(), 2);
    }
}

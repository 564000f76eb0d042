//! Custom predicates: what a program that a plugin ships says about this workspace.
//!
//! The program gets its static arguments and then the text between the parentheses (left out when
//! empty). It passes by exiting with 0, and may print JSON lines, one object with one key each:
//!
//! | line | meaning |
//! |---|---|
//! | `{"selectedCrate": {"name": "…", "version": "1.2.3"}}` | a crate that the predicate is about |
//! | `{"watchFile": "path"}`, `{"watchEnv": "NAME"}` | the answer holds until this changes |
//! | `{"watchTime": ms}` | the answer holds for so long |
//! | any other key | ignored, for later versions |
//!
//! An object without exactly one key, or a line that is no JSON, makes the predicate fail.

use std::fmt;

use agents_workspace::CrateName;
use semver::Version;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::BUILT_IN;

/// The name of a custom predicate: a letter, then letters, digits and `_`; never a built-in one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PredicateName(String);

impl PredicateName {
    /// `None` if it breaks the rules.
    #[must_use]
    pub fn new(name: &str) -> Option<Self> {
        let mut chars = name.chars();
        let shaped = chars.next().is_some_and(|c| c.is_ascii_alphabetic())
            && chars.all(|c| c.is_ascii_alphanumeric() || c == '_');
        (shaped && !BUILT_IN.contains(&name)).then(|| Self(name.to_owned()))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PredicateName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// What a custom predicate answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// It holds, and is about these crates.
    Holds(Vec<(CrateName, Version)>),
    /// It does not hold.
    Fails,
    /// It could not be asked; it does not hold, and somebody should know why.
    Unanswered(String),
}

/// The watch lines of an answer: what its stored form depends on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Watched {
    /// Files whose change makes the answer stale.
    pub files: Vec<String>,
    /// Variables whose change makes the answer stale.
    pub variables: Vec<String>,
    /// For how many milliseconds the answer holds, at most.
    pub milliseconds: Option<u64>,
}

/// Reads what a custom predicate that exited with 0 printed.
pub fn parse_output(stdout: &[u8]) -> Result<(Vec<(CrateName, Version)>, Watched), String> {
    let text = std::str::from_utf8(stdout).map_err(|_| "its output is not UTF-8".to_owned())?;
    let (mut crates, mut watched) = (Vec::new(), Watched::default());
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let value: Value = serde_json::from_str(line)
            .map_err(|error| format!("its output line `{line}` is not JSON: {error}"))?;
        let Some((key, value)) = only_entry(&value) else {
            return Err(format!("its output line `{line}` is not an object with one key"));
        };
        match (key, value) {
            ("selectedCrate", value) => crates.push(selected_crate(value)?),
            ("watchFile", value) => watched.files.push(watched_name("watchFile", value)?),
            ("watchEnv", value) => watched.variables.push(watched_name("watchEnv", value)?),
            ("watchTime", value) => {
                let given = value.as_u64().ok_or("`watchTime` must be milliseconds")?;
                let least = watched.milliseconds.map_or(given, |known| known.min(given));
                watched.milliseconds = Some(least);
            }
            _ => {}
        }
    }
    Ok((crates, watched))
}

fn only_entry(value: &Value) -> Option<(&str, &Value)> {
    let object = value.as_object().filter(|object| object.len() == 1)?;
    object.iter().next().map(|(key, value)| (key.as_str(), value))
}

fn watched_name(key: &str, value: &Value) -> Result<String, String> {
    value.as_str().map(str::to_owned).ok_or_else(|| format!("`{key}` must be a string"))
}

fn selected_crate(value: &Value) -> Result<(CrateName, Version), String> {
    let text = |key: &str| value.get(key).and_then(Value::as_str);
    let (Some(name), Some(version)) = (text("name"), text("version")) else {
        return Err("`selectedCrate` needs `name` and `version`".to_owned());
    };
    let version = Version::parse(version)
        .map_err(|error| format!("`{version}` is not a version: {error}"))?;
    Ok((CrateName::new(name), version))
}

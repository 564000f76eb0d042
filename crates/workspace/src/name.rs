//! Names of crates.

use std::{
    cmp::Ordering,
    fmt,
    hash::{Hash, Hasher},
};

use serde::{Deserialize, Serialize};

/// The name of a crate. Hyphen and underscore are the same: `tokio-util` equals `tokio_util`, and the
/// spelling that was given is the one that is shown.
///
/// ```
/// use agents_workspace::CrateName;
/// assert_eq!(CrateName::new("tokio-util"), CrateName::new("tokio_util"));
/// assert_eq!(CrateName::new("tokio_util").to_string(), "tokio_util");
/// ```
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CrateName(String);

impl CrateName {
    /// The name as given.
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// The name as given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn folded(&self) -> impl Iterator<Item = u8> {
        self.0.bytes().map(|byte| if byte == b'_' { b'-' } else { byte })
    }
}

impl PartialEq for CrateName {
    fn eq(&self, other: &Self) -> bool {
        self.0.len() == other.0.len() && self.folded().eq(other.folded())
    }
}

impl Eq for CrateName {}

impl PartialOrd for CrateName {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for CrateName {
    fn cmp(&self, other: &Self) -> Ordering {
        self.folded().cmp(other.folded())
    }
}

impl Hash for CrateName {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.folded().for_each(|byte| state.write_u8(byte));
    }
}

impl fmt::Display for CrateName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

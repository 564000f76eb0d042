//! What a host is called in configuration, on the command line and in the ledger.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The short name of a host: lower-case letters, digits and hyphens, as `claude`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HostId(String);

impl HostId {
    /// `None` for a name that breaks the rules. That a host of this name exists is not said.
    #[must_use]
    pub fn new(name: &str) -> Option<Self> {
        let fine = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let shaped = !name.is_empty() && !name.starts_with('-') && name.chars().all(fine);
        shaped.then(|| Self(name.to_owned()))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for HostId {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for HostId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

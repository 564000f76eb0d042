//! The two places a host is configured in.

use serde::{Deserialize, Serialize};

/// Where something is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// In the workspace, for everyone who works on it.
    Project,
    /// In the user's home, for every workspace.
    User,
}

impl Scope {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::Project, Self::User];

    /// As configuration and `--json` write it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::User => "user",
        }
    }
}

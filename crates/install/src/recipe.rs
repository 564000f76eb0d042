//! How to obtain one executable, as a manifest says it.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

/// The name of an installation, unique within its plugin.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InstallationName(String);

impl InstallationName {
    /// Any text is a name.
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for InstallationName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// One installation. It may be something to run, only a set-up step (`install_commands`), or only a
/// list of other installations (`requirements`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Installation {
    /// Where it comes from; `None` means that there is nothing to acquire.
    pub source: Option<Source>,
    /// What to run in it; `None` with a cargo source means its only binary.
    pub entry: Option<Entry>,
    /// Arguments before those of the caller.
    pub args: Vec<String>,
    /// Shell commands, run once for each acquired content.
    pub install_commands: Vec<String>,
    /// What must be there before it can be used.
    pub requirements: Vec<InstallationName>,
}

/// What to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Entry {
    /// A binary: its name (cargo), a path in the tree (git), or a path or command (no source).
    Executable(String),
    /// A script for `sh`, found like an executable.
    Script(String),
}

/// Where an installation comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Source {
    /// A crate with a binary, installed by cargo.
    Cargo {
        /// The crate.
        name: String,
        /// Exactly this version (`1.2.3`); otherwise the newest.
        version: Option<String>,
        /// From this git repository instead of the registry.
        git: Option<String>,
        /// Where it goes.
        place: CargoPlace,
    },
    /// A git repository; `https://github.com/<owner>/<repo>/tree/<ref>/<dir>` is understood too.
    Git {
        /// Any address that git takes.
        url: String,
    },
}

/// Where cargo installs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum CargoPlace {
    /// A directory of ours, one per version.
    Own,
    /// The user's cargo home (`global = true`).
    Global,
}

/// All installations of one plugin by name.
pub type Installations = BTreeMap<InstallationName, Installation>;

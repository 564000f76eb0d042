//! Why a workspace or the sources of a crate could not be had.

use std::io;

use agents_system::{
    explain::{Code, ErrorKind, Explain},
    finding::Finding,
    process::ProcessError,
};
use camino::Utf8PathBuf;
use semver::VersionReq;

use crate::CrateName;

/// Why the workspace could not be resolved. Standing outside a workspace is not an error.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// A file of the workspace cannot be read.
    #[error("cannot read the workspace")]
    Read {
        /// Names the file.
        #[source]
        source: io::Error,
    },
    /// A manifest, or a configuration file of cargo, is not TOML.
    #[error("`{file}` is not valid TOML")]
    Syntax {
        /// The file.
        file: Utf8PathBuf,
        /// Where and what, exactly one.
        findings: Vec<Finding>,
    },
    /// Cargo refused.
    #[error(transparent)]
    Cargo(#[from] CargoError),
}

/// Why cargo did not answer.
#[derive(Debug, thiserror::Error)]
pub enum CargoError {
    /// It did not run to its end.
    #[error("cannot ask cargo about {about}")]
    Process {
        /// What it was asked about.
        about: String,
        /// Why not.
        source: ProcessError,
    },
    /// It ran and said no.
    #[error("cargo cannot resolve {about}")]
    Failed {
        /// What it was asked about.
        about: String,
        /// What it printed.
        said: String,
        /// Whether the network was what it lacked.
        reason: Reason,
    },
    /// It answered in a way that we do not understand.
    #[error("cannot understand what cargo says about {about}")]
    Answer {
        /// What it was asked about.
        about: String,
        /// Why not.
        source: serde_json::Error,
    },
    /// The place where it should run cannot be made.
    #[error("cannot prepare a place for cargo to work in")]
    Scratch {
        /// Why not.
        source: io::Error,
    },
}

/// What a failed cargo lacked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The network failed.
    Network,
    /// It was told to stay offline and lacks something.
    Offline,
    /// The lock file would have to change and it was told not to.
    Locked,
    /// There is no crate of that name.
    NoSuchCrate,
    /// There is the crate, but not in such a version.
    NoSuchVersion,
    /// Something else, mostly a mistake in a manifest.
    Other,
}

impl Reason {
    /// Judges by what cargo printed; it has no other way of telling.
    pub(crate) fn of(said: &str) -> Self {
        let has = |needles: &[&str]| needles.iter().any(|needle| said.contains(needle));
        if has(&["--locked was passed", "`--locked`", "--frozen was passed"]) {
            return Self::Locked;
        }
        if has(&["no matching package"]) {
            return Self::NoSuchCrate;
        }
        if has(&["failed to select a version for the requirement"]) {
            return Self::NoSuchVersion;
        }
        if was_offline(said) {
            return Self::Offline;
        }
        let network = [
            "network failure",
            "spurious network error",
            "Could not resolve host",
            "Couldn't resolve host",
            "Could not connect",
            "Couldn't connect",
            "failed to connect",
            "failed to resolve address",
            "Timeout was reached",
            "download of ",
            "failed to download",
            "failed to fetch",
            "SSL connect error",
            "[6] ",
            "[7] ",
            "[28] ",
        ];
        if has(&network) { Self::Network } else { Self::Other }
    }
}

/// Cargo says so when it was offline, even if something else may be the reason.
fn was_offline(said: &str) -> bool {
    ["--offline", "offline mode"].iter().any(|needle| said.contains(needle))
}

fn offline_words(said: &str) -> &'static str {
    if was_offline(said) { " among those that cargo has without a network" } else { "" }
}

const WITHOUT_OFFLINE: &str = "run once without `--offline`, or run `cargo fetch` first";

impl CargoError {
    /// Whether it is, or may be, only the network that is missing.
    pub(crate) fn lacks_network(&self) -> bool {
        self.kind() == ErrorKind::Network
    }
}

impl Explain for WorkspaceError {
    fn kind(&self) -> ErrorKind {
        match self {
            // What is no manifest at all is as wrong as one that is not TOML.
            Self::Read { source } if source.kind() == io::ErrorKind::InvalidData => {
                ErrorKind::Usage
            }
            Self::Read { .. } => ErrorKind::Failure,
            Self::Syntax { .. } => ErrorKind::Usage,
            Self::Cargo(error) => error.kind(),
        }
    }

    fn code(&self) -> Option<Code> {
        match self {
            Self::Read { .. } | Self::Syntax { .. } => Some(Code::WorkspaceBroken),
            Self::Cargo(error) => error.code(),
        }
    }
    fn hint(&self) -> Option<String> {
        match self {
            Self::Read { .. } | Self::Syntax { .. } => None,
            Self::Cargo(error) => error.hint(),
        }
    }
    fn findings(&self) -> &[Finding] {
        match self {
            Self::Syntax { findings, .. } => findings,
            Self::Read { .. } | Self::Cargo(_) => &[],
        }
    }
    fn details(&self) -> Option<String> {
        match self {
            Self::Cargo(error) => error.details(),
            Self::Read { .. } | Self::Syntax { .. } => None,
        }
    }
}

impl Explain for CargoError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Process { source: ProcessError::Interrupted, .. } => ErrorKind::Cancelled,
            Self::Failed { reason: Reason::Network, .. } => ErrorKind::Network,
            Self::Failed { said, .. } if was_offline(said) => ErrorKind::Network,
            Self::Failed { .. } => ErrorKind::Usage,
            Self::Process { .. } | Self::Answer { .. } | Self::Scratch { .. } => ErrorKind::Failure,
        }
    }

    fn code(&self) -> Option<Code> {
        Some(match self {
            Self::Process { source: ProcessError::Interrupted, .. } => return None,
            Self::Process { .. } => Code::NoCargo,
            Self::Failed { reason: Reason::Network, .. } => Code::Unreachable,
            Self::Failed { said, .. } if was_offline(said) => Code::Offline,
            Self::Failed { .. } | Self::Answer { .. } | Self::Scratch { .. } => {
                Code::WorkspaceBroken
            }
        })
    }
    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Process { source: ProcessError::NotFound { .. }, .. } => {
                "install Rust, or set `CARGO_AGENTS_CARGO` to your cargo"
            }
            Self::Failed { reason: Reason::Network, .. } => {
                "check the network, or run `cargo fetch` where there is one"
            }
            Self::Failed { said, .. } if was_offline(said) => WITHOUT_OFFLINE,
            Self::Failed { .. } => {
                "`cargo metadata` in this directory says the same; correct the manifest it names"
            }
            Self::Process { .. } | Self::Answer { .. } | Self::Scratch { .. } => return None,
        };
        Some(hint.to_owned())
    }
    fn details(&self) -> Option<String> {
        match self {
            Self::Failed { said, .. } => Some(said.clone()),
            Self::Process { .. } | Self::Answer { .. } | Self::Scratch { .. } => None,
        }
    }
}

/// Why the sources of a crate could not be had.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// No crate of that name.
    #[error("there is no crate `{name}`{}", offline_words(said))]
    NoSuchCrate {
        /// The name asked for.
        name: CrateName,
        /// What cargo printed.
        said: String,
    },
    /// No version that satisfies the requirement.
    #[error("no version of `{name}` satisfies `{requirement}`{}", offline_words(said))]
    NoSuchVersion {
        /// The name asked for.
        name: CrateName,
        /// The requirement asked for.
        requirement: VersionReq,
        /// What cargo printed.
        said: String,
    },
    /// A name that no crate can have.
    #[error("`{0}` is not the name of a crate")]
    BadName(CrateName),
    /// Cargo has no directory for it.
    #[error("cargo does not say where the sources of `{0}` are")]
    NoDirectory(CrateName),
    /// Cargo refused.
    #[error(transparent)]
    Cargo(#[from] CargoError),
    /// The workspace that pins its version cannot be resolved.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
}

impl Explain for SourceError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::NoSuchCrate { said, .. } | Self::NoSuchVersion { said, .. }
                if was_offline(said) =>
            {
                ErrorKind::Network
            }
            Self::NoSuchCrate { .. } | Self::NoSuchVersion { .. } | Self::BadName(_) => {
                ErrorKind::Usage
            }
            Self::NoDirectory(_) => ErrorKind::Failure,
            Self::Cargo(error) => error.kind(),
            Self::Workspace(error) => error.kind(),
        }
    }

    fn code(&self) -> Option<Code> {
        match self {
            Self::NoSuchCrate { said, .. } | Self::NoSuchVersion { said, .. }
                if was_offline(said) =>
            {
                Some(Code::Offline)
            }
            Self::NoSuchCrate { .. } | Self::NoSuchVersion { .. } | Self::BadName(_) => {
                Some(Code::NoSuchCrate)
            }
            Self::NoDirectory(_) => None,
            Self::Cargo(error) => error.code(),
            Self::Workspace(error) => error.code(),
        }
    }
    fn hint(&self) -> Option<String> {
        match self {
            Self::NoSuchCrate { said, .. } | Self::NoSuchVersion { said, .. }
                if was_offline(said) =>
            {
                Some(WITHOUT_OFFLINE.to_owned())
            }
            Self::NoSuchCrate { .. } => Some(
                "check the spelling, and the registries in your cargo configuration".to_owned(),
            ),
            Self::NoSuchVersion { .. } => Some("ask for another version".to_owned()),
            Self::BadName(_) | Self::NoDirectory(_) => None,
            Self::Cargo(error) => error.hint(),
            Self::Workspace(error) => error.hint(),
        }
    }
    fn findings(&self) -> &[Finding] {
        match self {
            Self::Workspace(error) => error.findings(),
            _ => &[],
        }
    }
    fn details(&self) -> Option<String> {
        match self {
            Self::NoSuchCrate { said, .. } | Self::NoSuchVersion { said, .. } => Some(said.clone()),
            Self::BadName(_) | Self::NoDirectory(_) => None,
            Self::Cargo(error) => error.details(),
            Self::Workspace(error) => error.details(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_told_from_what_cargo_prints() {
        let table = [
            (
                "error: cannot update the lock file /w/Cargo.lock because --locked was passed to prevent this",
                Reason::Locked,
            ),
            ("error: no matching package named `x` found", Reason::NoSuchCrate),
            (
                "error: failed to select a version for the requirement `a = \"^7\"`",
                Reason::NoSuchVersion,
            ),
            (
                "can't checkout from 'file:///g': you are in the offline mode (--offline)",
                Reason::Offline,
            ),
            (
                "Caused by:\n  [6] Could not resolve hostname (Could not resolve host: index.crates.io)",
                Reason::Network,
            ),
            ("error: failed to parse manifest at `/w/Cargo.toml`", Reason::Other),
        ];
        for (said, reason) in table {
            assert_eq!(Reason::of(said), reason, "{said}");
        }
    }
}

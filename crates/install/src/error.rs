//! What can go wrong, said so that the reader knows which step it was and what to do next.

use std::io;

use agents_system::{
    explain::{Code, ErrorKind, Explain},
    lock::LockError,
    process::ProcessError,
};
use camino::Utf8PathBuf;

use crate::{entry::EntryError, recipe::InstallationName};

/// Why an installation cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// Nothing of that name is declared.
    #[error("there is no installation `{name}`{}", required_by_text(required_by.as_ref()))]
    Unknown {
        /// What was asked for.
        name: InstallationName,
        /// The installation that requires it.
        required_by: Option<InstallationName>,
    },
    /// Installations require each other.
    #[error("installations require each other: {}", chain_text(chain))]
    Cycle {
        /// From the first one back to it.
        chain: Vec<InstallationName>,
    },
    /// It could not be acquired.
    #[error("cannot install `{name}`")]
    Acquire {
        /// The installation.
        name: InstallationName,
        /// Why.
        source: AcquireError,
    },
    /// It is there, but what to run is not.
    #[error("cannot run `{name}`")]
    Entry {
        /// The installation.
        name: InstallationName,
        /// Why.
        source: EntryError,
    },
}

/// Why something could not be acquired.
#[derive(Debug, thiserror::Error)]
pub enum AcquireError {
    /// A child process failed.
    #[error(transparent)]
    Step(#[from] Box<StepError>),
    /// It would have to come from the network.
    #[error("{what} is not in the cache and the network is off")]
    Offline {
        /// What is missing.
        what: String,
        /// What was tried without the network.
        tried: Option<Box<StepError>>,
    },
    /// The manifest names an address that git cannot fetch from.
    #[error(transparent)]
    Address(#[from] crate::git::AddressError),
    /// The repository is there, the branch, tag or commit is not.
    #[error("`{url}` has no branch, tag or commit that `{tree}` begins with")]
    NoSuchReference {
        /// The repository.
        url: String,
        /// What was asked for.
        tree: String,
    },
    /// The repository is there, the directory in it is not.
    #[error("`{url}` has no directory `{dir}` at {commit}")]
    NoSuchDirectory {
        /// The repository.
        url: String,
        /// The directory.
        dir: Utf8PathBuf,
        /// The commit that was looked at.
        commit: String,
    },
    /// Cargo was content and still there is no binary.
    #[error("crate `{name}` was installed but {missing}")]
    NoBinary {
        /// The crate.
        name: String,
        /// What is not there.
        missing: String,
    },
    /// The disk did not do what we asked.
    #[error("cannot {what}")]
    Io {
        /// What we tried.
        what: String,
        /// Why not.
        source: io::Error,
    },
    /// Another process is at it.
    #[error(transparent)]
    Lock(#[from] LockError),
}

/// A child process that failed.
#[derive(Debug, thiserror::Error)]
#[error("{step} {ending}")]
pub struct StepError {
    /// Which step, such as `` `git fetch` `` or ``install command 2 of 3: `make` ``.
    pub step: String,
    /// How it ended, such as `ended with exit code 1`.
    pub ending: String,
    /// The last lines that it printed.
    pub output: String,
    /// Who would have answered.
    pub needs: Needs,
    /// Set if it could not even run to its end.
    #[source]
    pub source: Option<ProcessError>,
}

/// What a step depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// Only this machine, or we cannot tell.
    Machine,
    /// Somebody on the network.
    Network,
}

impl AcquireError {
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }

    fn step(&self) -> Option<&StepError> {
        match self {
            Self::Step(step) => Some(step),
            Self::Offline { tried, .. } => tried.as_deref(),
            _ => None,
        }
    }
}

impl Explain for InstallError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Unknown { .. } | Self::Cycle { .. } => ErrorKind::Usage,
            Self::Acquire { source, .. } => source.kind(),
            Self::Entry { source, .. } => source.kind(),
        }
    }

    fn code(&self) -> Option<Code> {
        match self {
            Self::Unknown { .. } | Self::Cycle { .. } => Some(Code::ManifestInvalid),
            Self::Acquire { source, .. } => source.code(),
            Self::Entry { source, .. } => source.code(),
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Unknown { name, .. } => Some(format!(
                "declare it in the manifest: `[[installations]]` with `name = \"{name}\"`"
            )),
            Self::Cycle { .. } => Some("remove one of these `requirements`".to_owned()),
            Self::Acquire { source, .. } => source.hint(),
            Self::Entry { source, .. } => source.hint(),
        }
    }

    fn details(&self) -> Option<String> {
        match self {
            Self::Acquire { source, .. } => source.details(),
            _ => None,
        }
    }
}

impl Explain for AcquireError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Offline { .. } => ErrorKind::Network,
            Self::Step(step) => step.kind(),
            Self::Address(_) | Self::NoSuchReference { .. } | Self::NoSuchDirectory { .. } => {
                ErrorKind::Usage
            }
            Self::Lock(error) => error.kind(),
            Self::NoBinary { .. } | Self::Io { .. } => ErrorKind::Failure,
        }
    }

    fn code(&self) -> Option<Code> {
        match self {
            Self::Offline { .. } => Some(Code::Offline),
            Self::Step(step) => step.code(),
            Self::Address(_) | Self::NoSuchReference { .. } | Self::NoSuchDirectory { .. } => {
                Some(Code::GitPlace)
            }
            Self::NoBinary { .. } => Some(Code::NothingToRun),
            Self::Lock(error) => error.code(),
            Self::Io { .. } => Some(Code::InstallFailed),
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Offline { .. } => Some("run it once without `--offline`".to_owned()),
            Self::Step(step) => step.hint(),
            Self::Address(error) => error.hint(),
            _ => None,
        }
    }

    fn details(&self) -> Option<String> {
        self.step().and_then(StepError::details)
    }
}

impl StepError {
    pub(crate) fn was_interrupted(&self) -> bool {
        matches!(self.source, Some(ProcessError::Interrupted))
    }
}

impl Explain for StepError {
    fn kind(&self) -> ErrorKind {
        match (&self.source, self.needs) {
            (Some(ProcessError::Interrupted), _) => ErrorKind::Cancelled,
            (None | Some(ProcessError::TimedOut { .. }), Needs::Network) => ErrorKind::Network,
            _ => ErrorKind::Failure,
        }
    }

    fn code(&self) -> Option<Code> {
        match self.kind() {
            ErrorKind::Cancelled => None,
            ErrorKind::Network => Some(Code::Unreachable),
            _ => Some(Code::InstallFailed),
        }
    }

    fn hint(&self) -> Option<String> {
        let Some(ProcessError::NotFound { program }) = &self.source else {
            return None;
        };
        Some(match program.as_str() {
            "git" => "install git and make sure that it is on your `PATH`".to_owned(),
            _ => format!("make sure that `{program}` is on your `PATH`"),
        })
    }

    fn details(&self) -> Option<String> {
        (!self.output.is_empty()).then(|| self.output.clone())
    }
}

fn required_by_text(name: Option<&InstallationName>) -> String {
    name.map(|name| format!(", which `{name}` requires")).unwrap_or_default()
}

fn chain_text(chain: &[InstallationName]) -> String {
    chain.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" -> ")
}

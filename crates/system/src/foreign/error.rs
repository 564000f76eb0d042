//! Why a file was left alone.

use std::io;

use camino::{Utf8Path, Utf8PathBuf};

use crate::explain::{Code, ErrorKind, Explain};

/// Why a file, somebody else's or one of ours, was left alone.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ForeignError {
    /// A symbolic link that leads nowhere.
    #[error("`{path}` is a symbolic link to `{target}`, which does not exist")]
    Dangling {
        /// The link.
        path: Utf8PathBuf,
        /// Where it points.
        target: Utf8PathBuf,
    },
    /// A directory, a pipe, a device.
    #[error("`{path}` is {what}, not a file")]
    NotAFile {
        /// Where.
        path: Utf8PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// Larger than any settings file.
    #[error("`{path}` is larger than {}", size_in_words(*max))]
    TooLarge {
        /// Where.
        path: Utf8PathBuf,
        /// The largest size that is read, in bytes.
        max: u64,
    },
    /// Not text.
    #[error("`{path}` is not valid UTF-8 (byte {offset})")]
    NotUtf8 {
        /// Where.
        path: Utf8PathBuf,
        /// The first byte that is not.
        offset: usize,
    },
    /// Somebody wrote it after we had read it.
    #[error("`{path}` was changed by another program at the same time")]
    Changed {
        /// Where.
        path: Utf8PathBuf,
    },
    /// Its owner took the right to write it away.
    #[error("`{path}` is read-only")]
    ReadOnly {
        /// Where.
        path: Utf8PathBuf,
    },
    /// The system does not let us.
    #[error("no permission to {action} `{path}`")]
    Denied {
        /// What was tried.
        action: &'static str,
        /// Where.
        path: Utf8PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Anything else that the system says.
    #[error("cannot {action} `{path}`")]
    Io {
        /// What was tried.
        action: &'static str,
        /// Where.
        path: Utf8PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl ForeignError {
    /// The file that it is about.
    #[must_use]
    pub fn path(&self) -> &Utf8Path {
        match self {
            Self::Dangling { path, .. }
            | Self::NotAFile { path, .. }
            | Self::TooLarge { path, .. }
            | Self::NotUtf8 { path, .. }
            | Self::Changed { path }
            | Self::ReadOnly { path }
            | Self::Denied { path, .. }
            | Self::Io { path, .. } => path,
        }
    }

    /// For `map_err`: what the system says about an action.
    pub(crate) fn io(action: &'static str, path: &Utf8Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| match source.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                Self::Denied { action, path, source }
            }
            _ => Self::Io { action, path, source },
        }
    }
}

fn size_in_words(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        1024..0x10_0000 => format!("{} KiB", bytes / 1024),
        _ => format!("{} MiB", bytes / (1024 * 1024)),
    }
}

impl Explain for ForeignError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Dangling { .. }
            | Self::NotUtf8 { .. }
            | Self::TooLarge { .. }
            | Self::NotAFile { .. } => ErrorKind::Usage,
            _ => ErrorKind::Failure,
        }
    }

    fn code(&self) -> Option<Code> {
        Some(match self {
            Self::Dangling { .. }
            | Self::NotAFile { .. }
            | Self::TooLarge { .. }
            | Self::NotUtf8 { .. } => Code::NotAFile,
            Self::Changed { .. } => Code::Busy,
            Self::ReadOnly { .. } | Self::Denied { .. } => Code::NotWritable,
            Self::Io { .. } => return None,
        })
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Dangling { target, .. } => {
                return Some(format!("create `{target}` or delete the link"));
            }
            Self::NotAFile { path, .. } => return Some(format!("move `{path}` out of the way")),
            Self::TooLarge { .. } => "no settings file is that large; look at what wrote it",
            Self::NotUtf8 { .. } => "save the file as UTF-8 and run the command again",
            Self::Changed { .. } => "run the command again",
            Self::ReadOnly { path } => {
                return Some(format!(
                    "make it writable (`chmod u+w {path}`), or change the program that manages it"
                ));
            }
            Self::Denied { .. } => {
                "the file or its directory is not writable here; a sandbox or another program may manage it"
            }
            Self::Io { .. } => return None,
        };
        Some(hint.to_owned())
    }
}

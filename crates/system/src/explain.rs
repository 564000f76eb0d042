//! What an error is, and what to do about it.

mod code;

pub use self::code::{Code, NoCode, if_known};
use crate::finding::Finding;

/// The kinds of failure that a caller can tell apart, each with its exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// It ran and something in it failed.
    Failure,
    /// The command line, a configuration file or a manifest is wrong.
    Usage,
    /// A rule forbids it.
    Refused,
    /// The network, or whoever answers there.
    Network,
    /// The user stopped it.
    Cancelled,
    /// Our own mistake.
    Bug,
}

impl ErrorKind {
    /// The exit code that the program ends with.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Failure => 1,
            Self::Usage => 2,
            Self::Refused => 3,
            Self::Network => 4,
            Self::Bug => 101,
            Self::Cancelled => 130,
        }
    }

    /// The kind that has this word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        let all =
            [Self::Failure, Self::Usage, Self::Refused, Self::Network, Self::Bug, Self::Cancelled];
        all.into_iter().find(|kind| kind.word() == word)
    }

    /// The word used for it in `--json`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Failure => "failure",
            Self::Usage => "usage",
            Self::Refused => "refused",
            Self::Network => "network",
            Self::Bug => "bug",
            Self::Cancelled => "cancelled",
        }
    }
}

/// An error that knows its kind and the next step. Messages are lower-case fragments that fit after
/// `error:`; they never repeat the text of their source.
pub trait Explain: std::error::Error {
    /// What kind of failure it is.
    fn kind(&self) -> ErrorKind;

    /// The page that explains it; `None` where the message says all there is to say. There is no default, so that it is decided for
    /// every error.
    fn code(&self) -> Option<Code>;

    /// What the user can do about it.
    fn hint(&self) -> Option<String> {
        None
    }

    /// The places that it is about, when there are any.
    fn findings(&self) -> &[Finding] {
        &[]
    }

    /// Lines that belong to it, such as the last output of a child process.
    fn details(&self) -> Option<String> {
        None
    }
}

/// An error with everything that led to it, in one line.
#[must_use]
pub fn with_causes(error: &dyn std::error::Error) -> String {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        message = format!("{message}: {error}");
        cause = error.source();
    }
    message
}

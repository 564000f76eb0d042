//! Why a text was left as it is.

use std::ops::Range;

use super::{Format, KeyPath};
use crate::{
    explain::{Code, ErrorKind, Explain},
    finding::{Place, Spot},
};

/// Why a text was left as it is. The caller knows the file; [`EditError::spot`] is the place inside it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// It does not parse.
    #[error("{}:{}: not valid {format}: {message}", spot.line, spot.column)]
    Unparsable {
        /// What it should have been.
        format: Format,
        /// What the parser says.
        message: String,
        /// Where.
        spot: Spot,
    },
    /// The same key twice in one table: parsers disagree about which one counts.
    #[error("{}:{}: the key `{key}` appears twice", spot.line, spot.column)]
    DuplicateKey {
        /// The key.
        key: String,
        /// The second one.
        spot: Spot,
    },
    /// Something that must be a table is not.
    #[error("{}:{}: {} is {found}, not a table", spot.line, spot.column, at.described())]
    NotATable {
        /// Which entry.
        at: KeyPath,
        /// What it is instead.
        found: &'static str,
        /// Where.
        spot: Spot,
    },
    /// Something that must be a list is not.
    #[error("{}:{}: {} is {found}, not a list", spot.line, spot.column, at.described())]
    NotAList {
        /// Which entry.
        at: KeyPath,
        /// What it is instead.
        found: &'static str,
        /// Where.
        spot: Spot,
    },
    /// It is written in a way that we cannot change without touching more than that.
    #[error("{}:{}: {} cannot be changed in place: {what}", spot.line, spot.column, at.described())]
    Unsupported {
        /// Which entry.
        at: KeyPath,
        /// What stands in the way.
        what: &'static str,
        /// Where.
        spot: Spot,
    },
    /// The format has no way to write the value.
    #[error("{format} cannot hold {what} ({})", at.described())]
    Unrepresentable {
        /// The format.
        format: Format,
        /// Where it should have gone.
        at: KeyPath,
        /// What it cannot hold.
        what: &'static str,
    },
    /// The edited text does not say what was meant; it was thrown away.
    #[error("the edited {format} would not mean what was intended")]
    Mismatch {
        /// The format.
        format: Format,
    },
    /// The marker lines of a Markdown block do not come in pairs.
    #[error("{}:{}: the marker lines of the block `{name}` do not match", spot.line, spot.column)]
    Markers {
        /// The name of the block.
        name: String,
        /// The odd one.
        spot: Spot,
    },
}

impl EditError {
    /// The place in the text, when there is one.
    #[must_use]
    pub fn spot(&self) -> Option<&Spot> {
        match self {
            Self::Unparsable { spot, .. }
            | Self::DuplicateKey { spot, .. }
            | Self::NotATable { spot, .. }
            | Self::NotAList { spot, .. }
            | Self::Unsupported { spot, .. }
            | Self::Markers { spot, .. } => Some(spot),
            Self::Unrepresentable { .. } | Self::Mismatch { .. } => None,
        }
    }
}

impl Explain for EditError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Mismatch { .. } | Self::Unsupported { .. } | Self::Unrepresentable { .. } => {
                ErrorKind::Failure
            }
            _ => ErrorKind::Usage,
        }
    }

    fn code(&self) -> Option<Code> {
        Some(Code::ForeignFile)
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Unparsable { .. } => "fix the file by hand and run the command again",
            Self::DuplicateKey { .. } => "keep one of the two and run the command again",
            Self::NotATable { .. } | Self::NotAList { .. } => {
                "the file does not have the shape that its program expects; fix it by hand"
            }
            Self::Unsupported { .. } | Self::Mismatch { .. } => {
                "make the change by hand; the file was left as it is"
            }
            Self::Unrepresentable { .. } => return None,
            Self::Markers { .. } => "restore or delete the marker lines by hand",
        };
        Some(hint.to_owned())
    }
}

/// The place of the bytes `span` of `text`.
pub(super) fn spot(text: &str, span: Range<usize>) -> Spot {
    let place = Place::span("", text, span);
    place.spot.unwrap_or(Spot { line: 1, column: 1, text: String::new(), part: 0..0 })
}

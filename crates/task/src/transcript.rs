//! What was said and done, kept in files.
//!
//! | file | holds |
//! |---|---|
//! | `<id>.jsonl` | one record per line, only ever appended to |
//! | `<id>.meta.json` | who ran, where it stood, how it ended, what it took; replaced as a whole |
//! | `owners/<id>.lock` | locked by the program that runs tasks, for as long as it lives; with the id of a task, by whoever goes on from it |
//!
//! A record is `{"seq", "timestamp", KIND: ..., "chain"?}` with one of these kinds: `begin` (agent, model, prompts, schema, tools),
//! `message`, `usage` (of one call of the model), `compacted`, `outcome`. Files can be read by their owner only, and hold no value that
//! the [`Mask`](agents_tool::secrets::Mask) of the run knew when it was written.
//!
//! Every message is handed to the system before the task goes on, with what was recorded before it, so it outlives the program. At the end of each turn the file is
//! also told to reach the disk, by a thread that does this for all tasks together; [`Store::settle`] waits for it.
//!
//! Whether a run is alive is not what its metadata says but whether its owner still holds its lock ([`Store::standing`]): a run whose
//! owner died is `interrupted`, whatever happened to the program. (A program that the owner was just about to start when it was killed
//! holds the lock until it has really started: a few milliseconds.)

mod caught_up;
mod chain;
mod claim;
mod meta;
mod orphans;
mod page;
mod reader;
mod retention;
mod store;
mod sync;
mod traced;
mod tree;
mod unsaved;
mod wire;
mod writer;

use camino::Utf8PathBuf;

pub(crate) use self::wire::hide_in;
pub use self::{
    chain::{Break, ChainKey, Verdict},
    claim::Claim,
    meta::{Meta, Stamp, State},
    page::{Item, Page},
    reader::{Damage, Entry, Follow, Harm, Loaded, Record, Stretch},
    retention::Retention,
    store::{Standing, Store},
    tree::{Node, tree},
    wire::{Begin, Compacted, Spent},
    writer::{Opening, Writer},
};
use crate::id::TaskId;

/// Why a transcript cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum TranscriptError {
    /// No id begins like this.
    #[error("there is no task `{0}`")]
    NotFound(String),
    /// More than one does.
    #[error("`{prefix}` could be {} tasks", candidates.len())]
    Ambiguous {
        /// What was asked for.
        prefix: String,
        /// Those that it could be, the oldest first.
        candidates: Vec<TaskId>,
    },
    /// A file cannot be read or written.
    #[error("cannot use `{path}`")]
    Io {
        /// The file.
        path: Utf8PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The metadata is not what we write.
    #[error("`{path}` is not the metadata of a task")]
    Malformed {
        /// The file.
        path: Utf8PathBuf,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// There is metadata, and nothing that it is about.
    #[error("the transcript of `{0}` is gone")]
    Lost(TaskId),
}

impl agents_system::explain::Explain for TranscriptError {
    fn kind(&self) -> agents_system::explain::ErrorKind {
        use agents_system::explain::ErrorKind;
        match self {
            Self::NotFound(_) | Self::Ambiguous { .. } => ErrorKind::Usage,
            _ => ErrorKind::Failure,
        }
    }

    fn code(&self) -> Option<agents_system::explain::Code> {
        use agents_system::explain::Code;
        Some(match self {
            Self::NotFound(_) => Code::UnknownTask,
            Self::Ambiguous { .. } => Code::AmbiguousId,
            Self::Io { .. } | Self::Malformed { .. } | Self::Lost(_) => Code::TranscriptDamaged,
        })
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::NotFound(_) => {
                Some("`cargo agents task list` shows the newest ones".to_owned())
            }
            Self::Ambiguous { candidates, .. } => {
                let shown: Vec<String> =
                    candidates.iter().take(8).map(|it| format!("`{it}`")).collect();
                let more = if candidates.len() > 8 { ", ..." } else { "" };
                Some(format!("write more of it: {}{more}", shown.join(", ")))
            }
            Self::Io { .. } => Some(
                "what tasks do is written down before they go on: see that there is room, and that you may write there"
                    .to_owned(),
            ),
            Self::Lost(_) => {
                Some("it cannot be shown or resumed; only its outcome is known".to_owned())
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;

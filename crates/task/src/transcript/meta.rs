//! The metadata of a transcript.

use std::fmt;

use agents_model::{Usage, cost::MicroDollars};
use serde::{Deserialize, Serialize};

use super::wire::Begin;
use crate::{
    id::{TaskId, TaskPath},
    limits::Limits,
    outcome::Ending,
    telemetry::TraceId,
};

/// The version of the format.
pub(super) const VERSION: u32 = 1;

/// Who ran, where it stood, how it ended, what it took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Meta {
    /// Of the format.
    #[serde(default)]
    pub version: u32,
    /// The task.
    #[serde(rename = "agent_id")]
    pub id: TaskId,
    /// What it is called in its tree.
    #[serde(rename = "agent_name")]
    pub name: String,
    /// The definition that it ran by.
    #[serde(rename = "def_name")]
    pub agent: String,
    /// Where it stood in its tree.
    #[serde(default)]
    pub path: TaskPath,
    /// The task that started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<TaskId>,
    /// The task that it goes on from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumed_from: Option<TaskId>,
    /// The trace that its span belongs to, where that is not the one of the first task of its tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceId>,
    /// How it is, or how it ended.
    #[serde(rename = "status")]
    pub state: State,
    /// How it ended, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    /// When it began.
    pub started_at: Stamp,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Stamp>,
    /// The model that was asked.
    #[serde(default)]
    pub model: String,
    /// Calls of the model.
    #[serde(rename = "turns_used", default)]
    pub turns: u64,
    /// Calls of tools.
    #[serde(default)]
    pub tool_calls: u64,
    /// Tokens.
    #[serde(default)]
    pub usage: Usage,
    /// Money; `None` where the price is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<MicroDollars>,
    /// How far it may go; nothing is known of tasks of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
    /// The tools of MCP servers that it had.
    #[serde(default)]
    pub mcp_tool_names: Vec<String>,
    /// Records that were written.
    #[serde(default)]
    pub records: u64,
    /// Why records are missing, if some could not be written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incomplete: Option<String>,
    /// What it was told, as long as the records do not say it: it waits for its turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignment: Option<Box<Begin>>,
    /// Which program runs it: the name of a lock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The last link of the chain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// What proves that all of this is unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seal: Option<String>,
}

/// How a run is, or how it ended. The words of other tools are understood, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It has not ended; whether it still lives is another question.
    #[serde(alias = "Submitted", alias = "Working")]
    Running,
    /// See [`Ending::Completed`].
    #[serde(alias = "Completed")]
    Completed,
    /// See [`Ending::Failed`].
    #[serde(alias = "Failed")]
    Failed,
    /// See [`Ending::Cancelled`].
    #[serde(alias = "Canceled", alias = "Cancelled")]
    Cancelled,
    /// See [`Ending::OutOfLimits`].
    OutOfLimits,
    /// See [`Ending::Refused`].
    Refused,
}

impl State {
    /// In one word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::OutOfLimits => "out-of-limits",
            Self::Refused => "refused",
        }
    }

    /// Whether nothing follows it.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        self != Self::Running
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl From<&Ending> for State {
    fn from(ending: &Ending) -> Self {
        match ending {
            Ending::Completed => Self::Completed,
            Ending::Failed { .. } => Self::Failed,
            Ending::Cancelled => Self::Cancelled,
            Ending::OutOfLimits { .. } => Self::OutOfLimits,
            Ending::Refused { .. } => Self::Refused,
        }
    }
}

/// A moment, to the second: `2026-11-16T09:30:00Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp(jiff::Timestamp);

impl Stamp {
    /// Now.
    #[must_use]
    pub fn now() -> Self {
        Self::from_second(jiff::Timestamp::now().as_second())
    }

    /// So many seconds after the beginning of 1970; the beginning for what no calendar has.
    #[must_use]
    pub fn from_second(second: i64) -> Self {
        Self(jiff::Timestamp::from_second(second).unwrap_or(jiff::Timestamp::UNIX_EPOCH))
    }

    /// How many seconds that is after the beginning of 1970.
    #[must_use]
    pub fn as_second(self) -> i64 {
        self.0.as_second()
    }

    /// Seconds from another moment to this one; none if that one is later.
    #[must_use]
    pub fn seconds_since(self, earlier: Self) -> u64 {
        u64::try_from(self.as_second() - earlier.as_second()).unwrap_or(0)
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.strftime("%Y-%m-%dT%H:%M:%SZ").fmt(f)
    }
}

impl Serialize for Stamp {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Stamp {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Self).map_err(serde::de::Error::custom)
    }
}

//! What became of a task.

use agents_model::{Usage, cost::MicroDollars};
use agents_system::explain::{Code, ErrorKind, if_known};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    done_when::Unmet,
    evidence::Evidence,
    id::{TaskId, TaskPath},
    limits::Limit,
    schema::Issue,
    workplace::Settled,
};

/// What became of a task, and what it leaves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Outcome {
    /// The task.
    #[cfg_attr(test, schemars(with = "String"))]
    pub id: TaskId,
    /// Where it stood.
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    pub path: TaskPath,
    /// How it ended.
    pub ending: Ending,
    /// What it leaves, however it ended.
    pub report: Report,
}

/// How a task ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "state")]
pub enum Ending {
    /// It is done, and everything that must hold holds.
    Completed,
    /// It is not.
    Failed {
        /// Why.
        #[serde(flatten)]
        why: Failure,
    },
    /// Somebody stopped it.
    Cancelled,
    /// It would have gone too far.
    OutOfLimits {
        /// Where.
        limit: Limit,
    },
    /// It never began.
    Refused {
        /// The rule.
        rule: String,
        /// In words.
        message: String,
    },
}

/// Why a task failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "why")]
pub enum Failure {
    /// The model did not answer.
    Model {
        /// What happened, with the provider's name.
        message: String,
        /// What to do.
        #[serde(skip_serializing_if = "Option::is_none")]
        hint: Option<String>,
        /// The page that explains it.
        #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "if_known")]
        #[cfg_attr(test, schemars(with = "Option<String>"))]
        code: Option<Code>,
    },
    /// The model, or its provider, would not.
    ModelRefused,
    /// The agent says that it cannot be done.
    GaveUp {
        /// Its reason.
        reason: String,
    },
    /// No result was handed in, after all reminders.
    NoResult,
    /// What was handed in is not what the schema says, again and again.
    InvalidResult {
        /// What is wrong with the last one.
        issues: Vec<Issue>,
    },
    /// What must hold at the end does not.
    NotDone {
        /// What does not.
        unmet: Vec<Unmet>,
    },
    /// A hook wanted it to end.
    Stopped {
        /// Its reason.
        reason: String,
    },
    /// It could not even begin: its place, its tools or its model could not be had.
    NotStarted {
        /// Why.
        message: String,
        /// What to do.
        #[serde(skip_serializing_if = "Option::is_none")]
        hint: Option<String>,
    },
    /// What it did could not be written down.
    NotKept {
        /// Why not.
        message: String,
    },
    /// It panicked.
    BrokeDown,
    /// The result rests on things that never happened.
    FalseEvidence {
        /// Which.
        claims: Vec<String>,
    },
}

/// What a task leaves.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Report {
    /// The last that the agent said.
    pub text: String,
    /// What it handed in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Output>,
    /// Calls of the model.
    pub turns: u64,
    /// Calls of tools.
    pub tool_calls: u64,
    /// Tokens.
    #[cfg_attr(test, schemars(with = "crate::schemas::Tokens"))]
    pub usage: Usage,
    /// Money; `None` where the price is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<u64>"))]
    pub cost: Option<MicroDollars>,
    /// The model that said that it answered.
    pub model: String,
    /// Files that hold what was too long.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<String>,
    /// What the result rests on.
    pub evidence: Evidence,
    /// What it changed in a worktree of its own, and where that is now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<Settled>,
    /// What it asked for and nobody agreed to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_agreed: Vec<String>,
}

/// What an agent handed in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Output {
    /// The value.
    pub value: Value,
    /// Whether it is what it must be.
    pub validity: Validity,
}

/// Whether a result is what it must be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "is", content = "issues")]
pub enum Validity {
    /// Nobody said what it must be.
    Unchecked,
    /// It is.
    Valid,
    /// It is not.
    Invalid(Vec<Issue>),
}

impl Outcome {
    /// What is left to say of a task that panicked, or whose runtime went away.
    pub(crate) fn broke_down(id: TaskId, path: TaskPath, panicked: bool) -> Self {
        let ending =
            if panicked { Ending::Failed { why: Failure::BrokeDown } } else { Ending::Cancelled };
        Self { id, path, ending, report: Report::default() }
    }
}

impl Ending {
    /// In one word for programs.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed { .. } => "failed",
            Self::Cancelled => "cancelled",
            Self::OutOfLimits { .. } => "out-of-limits",
            Self::Refused { .. } => "refused",
        }
    }

    /// The kind of error that it is for whoever ran the task; `None` if it is none.
    #[must_use]
    pub fn kind(&self) -> Option<ErrorKind> {
        Some(match self {
            Self::Completed => return None,
            Self::Failed { why: Failure::Model { .. } } => ErrorKind::Network,
            Self::Failed { .. } | Self::OutOfLimits { .. } => ErrorKind::Failure,
            Self::Cancelled => ErrorKind::Cancelled,
            Self::Refused { .. } => ErrorKind::Refused,
        })
    }

    /// The page that explains it, if there is more to say than its line says.
    #[must_use]
    pub fn code(&self) -> Option<Code> {
        match self {
            Self::OutOfLimits { .. } => Some(Code::OutOfLimits),
            Self::Completed | Self::Cancelled | Self::Refused { .. } => None,
            Self::Failed { why } => match why {
                Failure::Model { code, .. } => *code,
                Failure::ModelRefused => Some(Code::ModelRefused),
                Failure::NoResult
                | Failure::InvalidResult { .. }
                | Failure::FalseEvidence { .. } => Some(Code::NoResult),
                Failure::NotDone { .. } => Some(Code::NotDone),
                Failure::NotStarted { .. } => Some(Code::NotStarted),
                Failure::NotKept { .. } => Some(Code::NotWritable),
                Failure::GaveUp { .. } | Failure::Stopped { .. } | Failure::BrokeDown => None,
            },
        }
    }

    /// In a line for people.
    #[must_use]
    pub fn told(&self) -> String {
        match self {
            Self::Completed => "completed".to_owned(),
            Self::Cancelled => "cancelled".to_owned(),
            Self::OutOfLimits { limit } => format!("stopped: its {limit} ran out"),
            Self::Refused { message, .. } => format!("refused: {message}"),
            Self::Failed { why } => match why {
                Failure::Model { message, .. } => format!("failed: {message}"),
                Failure::ModelRefused => "failed: the model would not answer".to_owned(),
                Failure::GaveUp { reason } => format!("failed: {reason}"),
                Failure::Stopped { reason } => format!("failed: a hook ended it: {reason}"),
                Failure::NotStarted { message, .. } => format!("failed: {message}"),
                Failure::NotKept { message } => {
                    format!("failed: its transcript cannot be written: {message}")
                }
                Failure::BrokeDown => "failed: the task broke down: this is a bug".to_owned(),
                Failure::NoResult => "failed: it handed in no result".to_owned(),
                Failure::InvalidResult { issues } => {
                    format!("failed: its result is wrong in {} places", issues.len())
                }
                Failure::NotDone { unmet } => {
                    let unmet: Vec<String> = unmet.iter().map(Unmet::what).collect();
                    format!("failed: {}", unmet.join("; "))
                }
                Failure::FalseEvidence { claims } => {
                    format!(
                        "failed: its result rests on what never happened: {}",
                        claims.join(", ")
                    )
                }
            },
        }
    }
}

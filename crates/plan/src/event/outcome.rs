//! How attempts went.

use std::fmt;

use agents_model::cost::MicroDollars;
use agents_task::TaskId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Json;

/// What was used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Spent {
    /// Calls of the model.
    #[serde(skip_serializing_if = "is_zero")]
    pub turns: u64,
    /// In and out.
    #[serde(skip_serializing_if = "is_zero")]
    pub tokens: u64,
    /// Money, in millionths of a dollar.
    #[serde(skip_serializing_if = "is_free")]
    pub cost: MicroDollars,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants it so")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants it so")]
fn is_free(cost: &MicroDollars) -> bool {
    cost.0 == 0
}

impl Spent {
    /// Both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            turns: self.turns.saturating_add(other.turns),
            tokens: self.tokens.saturating_add(other.tokens),
            cost: MicroDollars(self.cost.0.saturating_add(other.cost.0)),
        }
    }
}

/// How an attempt, or a node, went: the part of a task's outcome that a plan needs, and that survives being written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// How it ended.
    pub ending: Ending,
    /// Why, in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// What was handed in.
    #[serde(default, skip_serializing_if = "Json::is_null")]
    pub output: Json,
    /// The last that the agent said.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// What it used.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub spent: Spent,
    /// Who worked for it.
    #[serde(default, skip_serializing_if = "Source::is_worked_for")]
    pub source: Source,
    /// The task whose transcript tells how, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
}

/// Where a result comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// Somebody worked for it.
    #[default]
    Work,
    /// It is known from an earlier run; nobody worked this time, and it cost nothing.
    Memory,
}

impl Source {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants it so")]
    pub(crate) fn is_worked_for(&self) -> bool {
        *self == Self::Work
    }
}

fn is_nothing(spent: &Spent) -> bool {
    *spent == Spent::default()
}

impl Outcome {
    /// It is done, with this result.
    #[must_use]
    pub fn completed(output: Value) -> Self {
        Self { output: output.into(), ..Self::ended(Ending::Completed, "") }
    }

    /// It ended in some other way.
    #[must_use]
    pub fn ended(ending: Ending, message: impl Into<String>) -> Self {
        Self {
            ending,
            message: message.into(),
            output: Json::default(),
            text: String::new(),
            spent: Spent::default(),
            source: Source::Work,
            task: None,
        }
    }

    /// The same as it stands for a node of another run.
    #[must_use]
    pub fn recalled(self) -> Self {
        Self { spent: Spent::default(), source: Source::Memory, ..self }
    }
}

impl From<&agents_task::Outcome> for Outcome {
    fn from(outcome: &agents_task::Outcome) -> Self {
        let report = &outcome.report;
        Self {
            ending: Ending::from(&outcome.ending),
            message: without_ending(&outcome.ending),
            output: report.output.as_ref().map(|it| it.value.clone().into()).unwrap_or_default(),
            text: report.text.clone(),
            spent: Spent {
                turns: report.turns,
                tokens: report.usage.total(),
                cost: report.cost.unwrap_or_default(),
            },
            source: Source::Work,
            task: Some(outcome.id),
        }
    }
}

/// Why a task ended as it did, without saying again how.
fn without_ending(ending: &agents_task::Ending) -> String {
    let told = ending.told();
    let word = ending.word();
    match told.strip_prefix(word) {
        Some("") => String::new(),
        Some(rest) => rest.strip_prefix(": ").map_or_else(|| told.clone(), str::to_owned),
        None => told,
    }
}

/// How an attempt ended.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// It is done, and everything that must hold holds.
    Completed,
    /// It is not.
    Failed,
    /// Somebody stopped it.
    Cancelled,
    /// It would have gone too far.
    OutOfLimits,
    /// A rule stands in the way.
    Refused,
    /// It took too long.
    TimedOut,
    /// Whoever ran it is gone.
    Lost,
    /// There was no room for it; it never began.
    Busy,
}

impl Ending {
    /// In one word for programs.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::OutOfLimits => "out-of-limits",
            Self::Refused => "refused",
            Self::TimedOut => "timed-out",
            Self::Lost => "lost",
            Self::Busy => "busy",
        }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl From<&agents_task::Ending> for Ending {
    fn from(ending: &agents_task::Ending) -> Self {
        use agents_task::Ending as Task;
        match ending {
            Task::Completed => Self::Completed,
            Task::Failed { .. } => Self::Failed,
            Task::Cancelled => Self::Cancelled,
            Task::OutOfLimits { .. } => Self::OutOfLimits,
            Task::Refused { .. } => Self::Refused,
        }
    }
}

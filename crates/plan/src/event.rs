//! What happens to a plan, and what became of its tasks: all that a journal holds.
//!
//! Whatever changes the state of a plan is an [`Event`]: what executors report, what the user says, and what the scheduler
//! decides. So the state can be had again by applying the same events in the same order, and nothing is decided twice.

mod json;
mod outcome;

use std::{sync::Arc, time::Duration};

use agents_model::cost::MicroDollars;
use serde::{Deserialize, Serialize};

use crate::graph::{Injection, NodeId};

pub use json::Json;
pub use outcome::{Ending, Outcome, Source, Spent};

/// A point in time: milliseconds since 1970. Whoever has a clock says it; nothing in here looks at one.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Millis(pub u64);

impl Millis {
    /// That much later.
    #[must_use]
    pub fn after(self, time: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(time.as_millis()).unwrap_or(u64::MAX)))
    }

    /// That much earlier, or when time began.
    #[must_use]
    pub fn before(self, time: Duration) -> Self {
        Self(self.0.saturating_sub(u64::try_from(time.as_millis()).unwrap_or(u64::MAX)))
    }

    /// How much later it is than another one; nothing if it is not.
    #[must_use]
    pub fn since(self, other: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(other.0))
    }
}

/// A node of the graph, by its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Index(pub u32);

impl Index {
    /// As a position in a list.
    #[must_use]
    pub fn at(self) -> usize {
        self.0 as usize
    }
}

/// One try to do what a node says. Every start has a number of its own, so that what comes late from an earlier one is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Attempt {
    /// The node.
    pub node: Index,
    /// Counted from 1.
    pub number: u32,
}

/// Something that changed the state of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// When.
    pub at: Millis,
    /// What.
    #[serde(flatten)]
    pub what: What,
}

/// What changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "event")]
pub enum What {
    /// A node was given to an executor: decided by the scheduler.
    Started {
        /// Which attempt.
        attempt: Attempt,
        /// How much it may use of the budget, if there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        allowance: Option<Box<Allowance>>,
    },
    /// An executor is done with an attempt.
    Ended {
        /// Which attempt.
        attempt: Attempt,
        /// How it went.
        outcome: Arc<Outcome>,
    },
    /// A node has a result without having run: from an earlier run with the same inputs.
    Recalled {
        /// Which.
        node: Index,
        /// How it went then.
        outcome: Arc<Outcome>,
    },
    /// An attempt takes too long: decided by the scheduler.
    TimedOut {
        /// Which attempt.
        attempt: Attempt,
        /// Which deadline.
        deadline: Deadline,
    },
    /// An attempt that was to stop did not say that it has: decided by the scheduler.
    Abandoned {
        /// Which attempt.
        attempt: Attempt,
    },
    /// The time to wait before the next attempt is over: decided by the scheduler.
    Rested {
        /// Which.
        node: Index,
    },
    /// The process that ran an attempt is gone.
    Interrupted {
        /// Which attempt.
        attempt: Attempt,
    },
    /// Nothing starts any more.
    Paused,
    /// It does again.
    Resumed,
    /// The user stops a node, or everything.
    Cancelled {
        /// Which; `None` for all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        node: Option<Index>,
    },
    /// The user says what is to be done about a failure.
    Answered {
        /// Of which node.
        node: Index,
        /// What.
        answer: Answer,
    },
    /// Nodes were added.
    Injected {
        /// Which.
        #[serde(flatten)]
        injection: Arc<Injection>,
    },
    /// What did not complete is to be done again, after the plan has ended.
    Reopened,
    /// The budget is used up: decided by the scheduler.
    RanOut,
}

impl What {
    /// In one word for programs.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Started { .. } => "started",
            Self::Ended { .. } => "ended",
            Self::Recalled { .. } => "recalled",
            Self::TimedOut { .. } => "timed-out",
            Self::Abandoned { .. } => "abandoned",
            Self::Rested { .. } => "rested",
            Self::Interrupted { .. } => "interrupted",
            Self::Paused => "paused",
            Self::Resumed => "resumed",
            Self::Cancelled { .. } => "cancelled",
            Self::Answered { .. } => "answered",
            Self::Injected { .. } => "injected",
            Self::Reopened => "reopened",
            Self::RanOut => "ran-out",
        }
    }

    /// At a time.
    #[inline]
    #[must_use]
    pub fn at(self, at: Millis) -> Event {
        Event { at, what: self }
    }

    /// The node that it is about.
    #[inline]
    #[must_use]
    pub fn node(&self) -> Option<Index> {
        match self {
            Self::Started { attempt, .. }
            | Self::Ended { attempt, .. }
            | Self::TimedOut { attempt, .. }
            | Self::Abandoned { attempt }
            | Self::Interrupted { attempt } => Some(attempt.node),
            Self::Recalled { node, .. } | Self::Rested { node } | Self::Answered { node, .. } => {
                Some(*node)
            }
            Self::Cancelled { node } => *node,
            Self::Paused
            | Self::Resumed
            | Self::Injected { .. }
            | Self::Reopened
            | Self::RanOut => None,
        }
    }
}

/// Which deadline has passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Deadline {
    /// That of the whole attempt.
    Run,
    /// That since the last sign of life.
    Idle,
}

/// What is to be done about a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// Try again.
    Retry,
    /// Leave out what needs it.
    SkipDependents,
    /// Go on as if it were done.
    Continue,
    /// End the plan.
    Abort,
}

/// How far an attempt may go, as far as the plan's budget is concerned.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allowance {
    /// Tokens; `None` where nothing limits them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Money; `None` where nothing limits it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<MicroDollars>,
    /// Calls of the model; `None` where nothing limits them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
}

/// How a plan ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlanEnding {
    /// Every node completed, or was left out because its condition did not hold.
    Completed,
    /// Everything that could run has run, and something failed that was allowed to.
    Partly,
    /// Something failed, and the rest was stopped for it.
    Failed,
    /// The user stopped it.
    Cancelled,
    /// The budget was used up before everything had run.
    OutOfBudget,
}

impl PlanEnding {
    /// In one word for programs.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Partly => "partly",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::OutOfBudget => "out-of-budget",
        }
    }
}

/// What somebody outside must do now that the events are durable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Run an attempt.
    Start {
        /// Which.
        attempt: Attempt,
        /// How much it may use of the budget, if there is one.
        allowance: Option<Box<Allowance>>,
    },
    /// Stop an attempt, and say when it has stopped.
    Stop {
        /// Which.
        attempt: Attempt,
    },
    /// Ask the user what is to be done about a failure.
    Ask {
        /// Of which node.
        node: Index,
    },
    /// Tell that the plan has ended.
    Finish {
        /// How.
        ending: PlanEnding,
    },
}

/// Why an event was not taken. Nothing has changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejected {
    /// It is about an attempt that is over, or was none.
    #[error("attempt {number} of `{node}` is not the one that runs", number = attempt.number)]
    Stale {
        /// The node.
        node: NodeId,
        /// The attempt.
        attempt: Attempt,
    },
    /// It is about a node that there is not.
    #[error("the plan has no node number {}", .0.0)]
    Unknown(Index),
    /// The node is in a state in which that does not happen.
    #[error("`{node}` is {state}, so it cannot be {event}")]
    Unfit {
        /// The node.
        node: NodeId,
        /// Its state.
        state: &'static str,
        /// The event.
        event: &'static str,
    },
    /// The plan has ended.
    #[error("the plan has ended")]
    Over,
    /// It has not.
    #[error("the plan has not ended")]
    NotOver,
    /// It has, and left nothing undone.
    #[error("everything in the plan completed, so there is nothing to retry")]
    AllDone,
    /// What is to be added does not fit.
    #[error("the tasks cannot be added: {0}")]
    Injection(#[from] crate::graph::GraphError),
}

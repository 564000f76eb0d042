//! Sub-agents that work on tasks of a plan.

use super::{
    SubAgentError,
    run::{self, End},
    state::SubAgentState,
};

/// A task of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PlanTaskId(pub String);

/// A sub-agent that worked on a task of a plan has ended.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskEvent {
    /// The task of the plan.
    pub task_id: PlanTaskId,
    /// The sub-agent.
    pub agent_handle_id: String,
    /// How it ended.
    pub outcome: TaskOutcome,
}

/// How a sub-agent that worked on a task of a plan ended.
#[derive(Debug, Clone, PartialEq)]
pub enum TaskOutcome {
    /// It is done.
    Completed {
        /// What it leaves.
        output: String,
        /// Files that hold what was too long.
        artifacts: Vec<String>,
    },
    /// It is not.
    Failed {
        /// Why.
        error: String,
    },
    /// It was told to end.
    Canceled,
}

/// What a plan is told.
pub(super) fn planned(state: SubAgentState, end: &End) -> TaskOutcome {
    match run::collected(state, end) {
        Ok(output) => {
            let artifacts = end.as_ref().map(|it| it.report.artifacts.clone()).unwrap_or_default();
            TaskOutcome::Completed { output, artifacts }
        }
        Err(SubAgentError::Cancelled) => TaskOutcome::Canceled,
        Err(error) => TaskOutcome::Failed { error: error.to_string() },
    }
}

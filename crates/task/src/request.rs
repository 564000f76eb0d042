//! What somebody wants to be done.

use std::sync::Arc;

use agents_agent::definition::{Effort, Isolation, PermissionMode};
use agents_tool::Grant;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{done_when::DoneWhen, effective::Continuation, limits::Limits};

/// One assignment for one agent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TaskRequest {
    /// What the task is called; by default after its agent.
    pub name: Option<String>,
    /// The agent, by its exact name; `None` for the one that fits best.
    pub agent: Option<String>,
    /// What is to be done.
    pub prompt: String,
    /// What the result must look like: a schema, or the text of one. `null` says nothing.
    pub schema: Option<Value>,
    /// Only these of the tools it would have. An empty list says nothing.
    pub tools: Vec<String>,
    /// Acceptable models, best first.
    pub model: Vec<String>,
    /// How hard it thinks.
    pub effort: Option<Effort>,
    /// Where it works.
    pub isolation: Option<Isolation>,
    /// What it may do without asking.
    pub mode: Option<PermissionMode>,
    /// What it may do without asking, of what whoever asks may.
    pub grants: Vec<Grant>,
    /// How far it may go.
    pub limits: Limits,
    /// What must hold before it is done, besides what its definition says.
    pub done_when: DoneWhen,
    /// What it goes on from; the prompt is what it is told next. See [`mod@crate::resume`].
    pub continues: Option<Arc<Continuation>>,
}

impl TaskRequest {
    /// An assignment for an agent.
    pub fn new(agent: impl Into<String>, prompt: impl Into<String>) -> Self {
        Self { agent: Some(agent.into()), prompt: prompt.into(), ..Self::default() }
    }

    /// Whether everything that is decided for one holds for the other: they name their agent, and differ in nothing but their own
    /// names and what is to be done.
    pub(crate) fn is_decided_like(&self, other: &Self) -> bool {
        let Self {
            name: _,
            agent,
            prompt: _,
            schema,
            tools,
            model,
            effort,
            isolation,
            mode,
            grants,
            limits,
            done_when,
            continues,
        } = self;
        // Which agent fits best depends on what is to be done.
        agent.is_some()
            && *agent == other.agent
            && *schema == other.schema
            && *tools == other.tools
            && *model == other.model
            && *effort == other.effort
            && *isolation == other.isolation
            && *mode == other.mode
            && *grants == other.grants
            && *limits == other.limits
            && *done_when == other.done_when
            && *continues == other.continues
    }
}

/// Assignments that start together, or not at all.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Batch {
    /// What all of them should know. `Some` of nothing is still said.
    pub context: Option<String>,
    /// The assignments, in the order of their results.
    pub tasks: Vec<TaskRequest>,
}

impl From<TaskRequest> for Batch {
    fn from(request: TaskRequest) -> Self {
        Self { context: None, tasks: vec![request] }
    }
}

/// What a request may say: `task.simple` of other tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// Everything.
    #[default]
    Default,
    /// Everything but a schema.
    SchemaFree,
    /// Neither a schema nor a shared context: everything is in each assignment.
    Independent,
}

impl Form {
    /// Whether a request may have a schema.
    #[must_use]
    pub fn takes_schema(self) -> bool {
        self == Self::Default
    }

    /// Whether a batch may have a shared context.
    #[must_use]
    pub fn takes_context(self) -> bool {
        self != Self::Independent
    }
}

/// Who may start agents. It is a value that code hands over: nothing that a model or a file says becomes one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DispatchSource {
    /// The user.
    User,
    /// An agent, through the tool `task`.
    TaskTool,
    /// The scheduler of a plan.
    Plan,
}

impl DispatchSource {
    /// The word that embedding programs know it by. Case and surrounding space do not count.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        match word.trim().to_lowercase().as_str() {
            "user" => Some(Self::User),
            "task_tool" => Some(Self::TaskTool),
            "plan" => Some(Self::Plan),
            _ => None,
        }
    }

    /// That word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::TaskTool => "task_tool",
            Self::Plan => "plan",
        }
    }
}

//! What can be asked for.

use std::time::Duration;

use agents_agent::definition::{Isolation, PermissionMode};
use agents_model::cost::MicroDollars;
use agents_system::span;
use agents_task::{Batch, Limits, TaskRequest, runner::Unavailable};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::wrong;

/// Tasks to be run.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunTasks {
    /// The assignments. All start together or none does; results come in this order.
    #[schemars(length(min = 1))]
    pub tasks: Vec<Assignment>,
    /// What all of them should know
    #[serde(default)]
    pub context: Option<String>,
    /// Come back at once with their ids; `task_status` and `task_output` tell what became of them
    #[serde(default)]
    pub background: bool,
}

/// One assignment for one agent.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Assignment {
    /// What is to be done: complete, because the agent knows nothing of this conversation
    pub prompt: String,
    /// The agent, by its exact name (see `agents`); without one, the agent that fits best
    #[serde(default)]
    pub agent: Option<String>,
    /// What the task is called; by default after its agent
    #[serde(default)]
    pub name: Option<String>,
    /// A JSON Schema that the result must fit
    #[serde(default)]
    pub schema: Option<Map<String, Value>>,
    /// Only these of the tools it would have
    #[serde(default)]
    pub tools: Vec<String>,
    /// Acceptable models, best first
    #[serde(default)]
    pub model: Vec<String>,
    /// Work in its own git worktree; the changes come back when the task completes
    #[serde(default)]
    pub isolated: bool,
    /// Only look and plan: change nothing
    #[serde(default)]
    pub plan: bool,
    /// The maximum number of model calls
    #[serde(default)]
    pub max_turns: Option<u64>,
    /// The time limit, such as `90s` or `10m`
    #[serde(default)]
    pub max_time: Option<String>,
    /// The most money in dollars, such as `0.50`
    #[serde(default)]
    pub max_cost: Option<String>,
}

impl RunTasks {
    /// As the library takes it.
    ///
    /// # Errors
    /// There is nothing to do, or a time or an amount is none.
    pub fn batch(self) -> Result<Batch, Unavailable> {
        if self.tasks.is_empty() {
            return Err(wrong("`tasks` is empty", "give at least one assignment"));
        }
        let tasks: Result<_, _> = self.tasks.into_iter().map(Assignment::request).collect();
        Ok(Batch { context: self.context, tasks: tasks? })
    }
}

impl Assignment {
    fn request(self) -> Result<TaskRequest, Unavailable> {
        let time = |text: &String| {
            span::parse(text.trim(), Duration::from_secs(1)).ok_or_else(|| {
                wrong(format!("`{text}` is not a time"), "`max_time` is such as `90s` or `10m`")
            })
        };
        let cost = |text: &String| {
            MicroDollars::parse(text).ok_or_else(|| {
                wrong(format!("`{text}` is not an amount"), "`max_cost` is such as `0.50`")
            })
        };
        Ok(TaskRequest {
            limits: Limits {
                turns: self.max_turns,
                time: self.max_time.as_ref().map(time).transpose()?,
                cost: self.max_cost.as_ref().map(cost).transpose()?,
                ..Limits::default()
            },
            name: self.name,
            agent: self.agent,
            prompt: self.prompt,
            schema: self.schema.map(Value::Object),
            tools: self.tools,
            model: self.model,
            isolation: self.isolated.then_some(Isolation::Worktree),
            mode: self.plan.then_some(PermissionMode::Plan),
            ..TaskRequest::default()
        })
    }
}

/// How tasks are.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskStatus {
    /// Their ids, or parts that tell them from others; without any, an overview of all tasks of this connection, without their results
    #[serde(default)]
    pub ids: Vec<String>,
    /// Wait up to so many seconds (at most 600) until none of them runs any more
    #[serde(default)]
    #[schemars(range(max = 600))]
    pub wait_seconds: u64,
}

/// What a task leaves.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskOutput {
    /// Its id, or a part that tells it from others
    pub id: String,
    /// Its result, or everything that was said and done
    #[serde(default)]
    pub part: Part,
    /// Where to begin, in characters: `next_offset` of the page before
    #[serde(default)]
    pub offset: usize,
}

/// What is wanted of a task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// What it handed in
    #[default]
    Result,
    /// What was said and done, turn by turn
    Transcript,
}

/// Tasks that are to end.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskCancel {
    /// Their ids, or parts that tell them from others
    #[schemars(length(min = 1))]
    pub ids: Vec<String>,
}

/// Which agents there are.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListAgents {
    /// Only those whose name or description has all of these words
    #[serde(default)]
    pub query: Option<String>,
}

/// Skills, or one of them.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FindSkills {
    /// Words to look for in names, descriptions and crates; the best matches come first
    #[serde(default)]
    pub query: Option<String>,
    /// Load this skill: its whole text
    #[serde(default)]
    pub load: Option<String>,
}

/// A crate.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CrateInfo {
    /// Its name
    pub name: String,
    /// A version requirement as in `Cargo.toml`; by default the version that this workspace uses
    #[serde(default)]
    pub version: Option<String>,
}

/// Commands of plugins, or one of them.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Commands {
    /// The command to run; without it, commands are listed
    #[serde(default)]
    pub run: Option<String>,
    /// Its arguments, one by one; no shell looks at them
    #[serde(default)]
    pub args: Vec<String>,
    /// The directory to run it in, relative to the workspace
    #[serde(default)]
    pub cwd: Option<String>,
    /// How many seconds it may take; 120 by default
    #[serde(default)]
    pub timeout: Option<u64>,
}

/// What the servers behind this one have.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListTools {
    /// Only of these servers; all if there are none. Others are not started.
    #[serde(default)]
    pub servers: Vec<String>,
    /// Only tools whose name or description has all of these words
    #[serde(default)]
    pub query: Option<String>,
}

/// A call of a tool of a server behind this one.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CallTool {
    /// The server
    pub server: String,
    /// The tool, as `list_tools` names it
    pub tool: String,
    /// Its arguments
    #[serde(default)]
    pub arguments: Map<String, Value>,
}

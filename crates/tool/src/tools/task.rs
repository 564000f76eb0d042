//! `task`: other agents that work for this one.
//!
//! The tool knows how they are asked for. Which there are, whether this agent may start them, and everything about running them is
//! the [`Spawner`]'s.

use std::{fmt::Write as _, sync::Arc};

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    context::CallContext,
    policy::Effects,
    rights::Subject,
    tool::{Intent, Output, Tool, ToolError},
};

/// The longest name of a task.
const MAX_ID: usize = 48;

/// An agent that can be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentLine {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
}

/// Whoever runs other agents.
pub trait Spawner: Send + Sync {
    /// Those that this agent may start.
    fn agents(&self) -> Vec<AgentLine>;

    /// Starts all of them, or none, and gives what the asking agent reads: results, or where they will be.
    fn spawn<'a>(
        &'a self,
        batch: Batch,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<Output, ToolError>>;
}

/// What others are asked for.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
pub struct Batch {
    /// The agent that works on all tasks that name none.
    #[serde(default)]
    pub agent: Option<String>,
    /// What all of them should know.
    #[serde(default)]
    pub context: Option<String>,
    /// The JSON schema of the results, where a task has none of its own; as an object or as JSON text.
    #[serde(default)]
    pub schema: Option<Value>,
    /// Work on copies of the workspace.
    #[serde(default)]
    pub isolated: Option<bool>,
    /// The tasks. They run at the same time.
    pub tasks: Vec<TaskItem>,
}

/// One task.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
pub struct TaskItem {
    /// A short name for it, different from those of the others.
    #[serde(alias = "name")]
    pub id: String,
    /// What it is about in a few words, for whoever watches.
    #[serde(default)]
    pub description: Option<String>,
    /// Everything that the agent has to know: it sees nothing of this conversation.
    #[serde(alias = "task", alias = "prompt")]
    pub assignment: String,
    /// The agent that works on it.
    #[serde(default)]
    pub agent: Option<String>,
    /// The JSON schema of its result, as an object or as JSON text.
    #[serde(default, alias = "outputSchema")]
    pub schema: Option<Value>,
    /// Only these tools.
    #[serde(default)]
    pub tools: Option<Vec<String>>,
    /// Work on a copy of the workspace.
    #[serde(default)]
    pub isolated: Option<bool>,
}

/// Asks other agents.
pub struct Task {
    spawner: Arc<dyn Spawner>,
    description: String,
}

impl Task {
    /// With the agents that there are now.
    #[must_use]
    pub fn new(spawner: Arc<dyn Spawner>) -> Self {
        let mut description = "Gives tasks to other agents, which work on them at the same time and see nothing of this conversation. If an agent's results have a \
            schema of their own, do not ask for another format in words. There are:"
            .to_owned();
        let agents = spawner.agents();
        for AgentLine { name, description: what } in &agents {
            let _ = write!(description, "\n- {name}: {}", what.lines().next().unwrap_or_default());
        }
        if agents.is_empty() {
            description.push_str(" none");
        }
        Self { spawner, description }
    }
}

impl Tool for Task {
    fn name(&self) -> &'static str {
        "task"
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn schema(&self) -> Arc<Value> {
        crate::tool::schema_of::<Batch>()
    }

    fn intent(&self, input: &Value, _: &CallContext) -> Result<Intent, ToolError> {
        let batch = parse(input.clone())?;
        let first = batch.tasks.first().and_then(|it| batch.agent_of(it));
        let is_only = batch.tasks.iter().all(|it| batch.agent_of(it) == first);
        // What the others do is judged when they do it. A rule can name an agent only if it is the only one.
        let subject = match first {
            Some(agent) if is_only => Subject::Text(agent.to_owned()),
            _ => Subject::Nothing,
        };
        Ok(Intent { subject, ..Intent::plain(Effects::NONE) })
    }

    fn call<'a>(
        &'a self,
        input: Value,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<Output, ToolError>> {
        Box::pin(async move { self.spawner.spawn(parse(input)?, context).await })
    }
}

impl Batch {
    /// The agent that works on a task; the spawner's default one if nobody says.
    #[must_use]
    pub fn agent_of<'a>(&'a self, item: &'a TaskItem) -> Option<&'a str> {
        let named = item.agent.as_deref().or(self.agent.as_deref());
        named.map(str::trim).filter(|it| !it.is_empty())
    }
}

fn parse(input: Value) -> Result<Batch, ToolError> {
    let input_error = |source| ToolError::Input { tool: "task".to_owned(), source };
    let batch: Batch = serde_json::from_value(input).map_err(input_error)?;
    if batch.tasks.is_empty() {
        return Err(ToolError::failed("there is no task: `tasks` is empty"));
    }
    let mut wrong = Vec::new();
    let blank: Vec<String> = numbers(&batch, |it| it.id.trim().is_empty());
    if !blank.is_empty() {
        wrong.push(format!("tasks without an `id`: {}", blank.join(", ")));
    }
    let long = numbers(&batch, |it| it.id.chars().count() > MAX_ID);
    if !long.is_empty() {
        wrong.push(format!(
            "tasks with an `id` of more than {MAX_ID} characters: {}",
            long.join(", ")
        ));
    }
    for (at, item) in batch.tasks.iter().enumerate() {
        let same = |other: &TaskItem| {
            let id = item.id.trim();
            !id.is_empty() && other.id.trim().to_lowercase() == id.to_lowercase()
        };
        if batch.tasks.iter().position(same) == Some(at) {
            let all = numbers(&batch, same);
            if all.len() > 1 {
                wrong.push(format!(
                    "tasks with the same `id` `{}`: {}",
                    item.id.trim(),
                    all.join(", ")
                ));
            }
        }
    }
    let idle = numbers(&batch, |it| it.assignment.trim().is_empty());
    if !idle.is_empty() {
        wrong.push(format!("tasks without an `assignment`: {}", idle.join(", ")));
    }
    if wrong.is_empty() { Ok(batch) } else { Err(ToolError::failed(wrong.join("; "))) }
}

/// The numbers of the tasks of which it is true, counted from 1.
fn numbers(batch: &Batch, is: impl Fn(&TaskItem) -> bool) -> Vec<String> {
    let tasks = batch.tasks.iter().enumerate();
    tasks.filter(|(_, it)| is(it)).map(|(at, _)| (at + 1).to_string()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn everything_that_is_wrong_is_told_at_once() {
        let task = |id: &str, assignment: &str| json!({"id": id, "assignment": assignment});
        let tasks = [task("A", "x"), task(" ", "x"), task("a ", "x"), task("b", ""), task("", "x")];
        let error = parse(json!({ "tasks": tasks })).unwrap_err().to_string();
        assert_eq!(
            error,
            "tasks without an `id`: 2, 5; tasks with the same `id` `A`: 1, 3; tasks without an `assignment`: 4"
        );
        assert!(parse(json!({"tasks": []})).unwrap_err().to_string().contains("no task"));
        assert!(parse(json!({"agent": "x"})).is_err());
    }

    #[test]
    fn both_shapes_are_understood() {
        let batch = parse(json!({
            "agent": "explore",
            "context": "the crate is new",
            "tasks": [
                {"id": "one", "assignment": "look", "description": "first"},
                {"name": "two", "task": "look", "agent": "reviewer", "outputSchema": {"type": "object"}, "effort": 3},
            ],
        }))
        .unwrap();
        let agents: Vec<_> = batch.tasks.iter().map(|it| batch.agent_of(it).unwrap()).collect();
        assert_eq!(agents, ["explore", "reviewer"]);
        assert_eq!(batch.tasks[1].schema, Some(json!({"type": "object"})));
    }
}

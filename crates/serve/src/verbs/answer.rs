//! What is answered.

use agents_task::{
    Ending, Failure, Outcome, TaskId,
    outcome::Validity,
    transcript::{Meta, Standing},
    workplace::Settled,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::{
    offer::{LoadedSkill, SkillCard},
    tasks::Known,
};

/// How much of a result comes with it; the rest is read in pages.
const SHOWN: usize = 50_000;
/// How much of all results of one answer comes with it.
const SHOWN_OF_ALL: usize = 200_000;

/// Tasks, in the order in which they were asked for.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TaskList {
    /// The tasks
    pub tasks: Vec<TaskView>,
    /// How many others have ended longer ago and are not listed; their ids find them
    #[serde(skip_serializing_if = "is_none")]
    pub more: usize,
}

/// Whether there are no more; serde wants a reference.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_none(more: &usize) -> bool {
    *more == 0
}

impl TaskList {
    /// These, with as much of their results as one answer may have.
    #[must_use]
    pub fn with_results(mut tasks: Vec<TaskView>) -> Self {
        let size = |it: &TaskView| it.result.as_ref().map_or(0, size);
        if tasks.iter().map(size).sum::<usize>() > SHOWN_OF_ALL {
            let share = SHOWN_OF_ALL / tasks.len();
            tasks.iter_mut().for_each(|it| it.cut_to(share));
        }
        Self { tasks, more: 0 }
    }

    /// An overview: these, without their results.
    #[must_use]
    pub fn overview(mut tasks: Vec<TaskView>, more: usize) -> Self {
        tasks.iter_mut().for_each(TaskView::leave_out_result);
        Self { tasks, more }
    }
}

/// A task.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct TaskView {
    /// What it is called for `task_status`, `task_output` and `task_cancel`
    pub id: String,
    /// Where it stands: its name, after those of the tasks that started it
    pub name: String,
    /// `running`, `completed`, `failed`, `cancelled`, `out-of-limits`, `refused`, or `interrupted` if the program that ran it died
    pub state: String,
    /// Its agent
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Its model
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What it does now, or how it ended
    pub told: String,
    /// What could be done about it
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// What it handed in: a text, or what its schema says
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// What is wrong with the result
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub invalid: Vec<String>,
    /// Whether the result is only its beginning, or left out; `task_output` has all of it
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// What it changed
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<String>,
    /// What it asked for and nobody agreed to
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_agreed: Vec<String>,
    /// Calls of the model
    pub turns: u64,
    /// Calls of tools
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<u64>,
    /// Tokens, in and out
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Money, where prices are known
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<String>,
}

impl TaskView {
    /// One that runs or ran here.
    #[must_use]
    pub fn of(id: TaskId, known: &Known) -> Self {
        let running = Self {
            id: id.to_string(),
            name: known.path.to_string(),
            state: "running".to_owned(),
            agent: known.agent.clone(),
            model: known.model.clone(),
            told: known.doing.clone(),
            turns: known.turns,
            ..Self::default()
        };
        match &known.outcome {
            None => running,
            Some(outcome) => running.ended(outcome),
        }
    }

    /// One of which only the metadata is known.
    #[must_use]
    pub fn of_meta(meta: &Meta, standing: Standing) -> Self {
        Self {
            id: meta.id.to_string(),
            name: meta.path.to_string(),
            state: standing.word().to_owned(),
            agent: Some(meta.agent.clone()),
            model: Some(meta.model.clone()),
            told: meta.stop_reason.clone().unwrap_or_else(|| standing.word().to_owned()),
            turns: meta.turns,
            tool_calls: Some(meta.tool_calls),
            tokens: Some(meta.usage.total()),
            cost: meta.cost.map(|it| it.to_string()),
            ..Self::default()
        }
    }

    fn ended(self, outcome: &Outcome) -> Self {
        let report = &outcome.report;
        let (result, cut) = match result(outcome) {
            Some(whole) => shortened(whole, SHOWN),
            None => (None, false),
        };
        let invalid = match report.output.as_ref().map(|it| &it.validity) {
            Some(Validity::Invalid(issues)) => issues.iter().map(ToString::to_string).collect(),
            _ => Vec::new(),
        };
        let hint = match &outcome.ending {
            Ending::Failed {
                why: Failure::Model { hint, .. } | Failure::NotStarted { hint, .. },
            } => hint.clone(),
            Ending::OutOfLimits { .. } if result.is_some() => {
                Some("`result` is what it had so far".to_owned())
            }
            _ => None,
        };
        Self {
            state: outcome.ending.word().to_owned(),
            told: outcome.ending.told(),
            hint,
            result,
            invalid,
            cut,
            changes: report.changes.as_ref().and_then(Settled::told),
            not_agreed: report.not_agreed.clone(),
            turns: report.turns,
            tool_calls: Some(report.tool_calls),
            tokens: Some(report.usage.total()),
            cost: report.cost.map(|it| it.to_string()),
            ..self
        }
    }

    fn cut_to(&mut self, most: usize) {
        let Some(whole) = self.result.take() else { return };
        let (result, is_cut) = shortened(whole, most);
        self.result = result;
        self.cut |= is_cut;
    }

    fn leave_out_result(&mut self) {
        self.cut |= self.result.take().is_some();
    }
}

/// What a task handed in, or else the last that it said.
pub(super) fn result(outcome: &Outcome) -> Option<Value> {
    let report = &outcome.report;
    let said = || (!report.text.trim().is_empty()).then(|| Value::from(report.text.trim_end()));
    report.output.as_ref().map(|it| it.value.clone()).or_else(said)
}

/// How long a result is.
fn size(value: &Value) -> usize {
    value.as_str().map_or_else(|| value.to_string().len(), str::len)
}

/// The whole of it, or as a text the beginning of what is too long.
fn shortened(value: Value, most: usize) -> (Option<Value>, bool) {
    if size(&value) <= most {
        return (Some(value), false);
    }
    let text = match value {
        Value::String(text) => text,
        other => other.to_string(),
    };
    (Some(Value::from(&text[..text.floor_char_boundary(most)])), true)
}

/// A part of what a task leaves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OutputPage {
    /// The task
    pub id: String,
    /// How it is, as in `task_status`
    pub state: String,
    /// The text from `offset` on
    pub text: String,
    /// Where it goes on; absent at the end
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<usize>,
}

/// The agents that there are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AgentList {
    /// In order of precedence
    pub agents: Vec<AgentCard>,
}

/// An agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AgentCard {
    /// Its name
    pub name: String,
    /// When to use it
    pub description: String,
    /// Where its definition is
    pub from: String,
}

/// Skills that apply here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SkillList {
    /// Those that match, the best ones first; nothing if one was loaded
    pub skills: Vec<SkillCard>,
    /// How many more match
    pub more: usize,
    /// The one that was to be loaded
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loaded: Option<LoadedSkill>,
}

/// Commands of plugins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CommandList {
    /// Those that there are; nothing if one was run
    pub commands: Vec<CommandCard>,
    /// What the one that was run printed
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}

/// A command of a plugin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CommandCard {
    /// What it is called here
    pub name: String,
    /// What it does
    pub description: String,
}

/// What the servers behind this one have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ToolList {
    /// A declaration in TypeScript for each tool, below the name of its server
    pub declarations: String,
    /// The servers that were not asked
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub other_servers: Vec<String>,
    /// What is wrong with servers or single tools
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

/// What a tool of a server behind this one gave back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ToolAnswer {
    /// What it said
    pub output: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(result: Value) -> TaskView {
        TaskView { state: "completed".to_owned(), result: Some(result), ..TaskView::default() }
    }

    #[test]
    fn one_answer_has_only_so_much_of_all_results() {
        let long =
            |at: usize| if at == 7 { Value::from("short") } else { Value::from("x".repeat(SHOWN)) };
        let list = TaskList::with_results((0..30).map(|at| ended(long(at))).collect());
        assert!(serde_json::to_string(&list).unwrap().len() < SHOWN_OF_ALL + 10_000);
        for (at, task) in list.tasks.iter().enumerate() {
            assert_eq!(task.cut, at != 7, "{at}");
        }
        // A few have all of theirs.
        let few = TaskList::with_results((0..4).map(|at| ended(long(at))).collect());
        assert!(few.tasks.iter().all(|it| !it.cut));
    }

    #[test]
    fn an_overview_says_that_results_are_left_out() {
        let tasks = vec![ended(Value::from("x")), TaskView::default()];
        let told = serde_json::to_value(TaskList::overview(tasks, 3)).unwrap();
        assert_eq!(
            (&told["tasks"][0]["cut"], &told["more"]),
            (&Value::from(true), &Value::from(3))
        );
        assert!(told["tasks"][0].get("result").is_none() && told["tasks"][1].get("cut").is_none());
    }
}

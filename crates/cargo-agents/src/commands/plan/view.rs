//! Runs and what happens in them, as documents.

use agents_plan::{
    event::{Event, Index, Millis, Outcome, PlanEnding, Source, Spent, What},
    graph::{Budget, Graph, Work},
    journal::{Origin, RunId},
    schedule::{Scheduler, State},
};
use serde::Serialize;
use serde_json::Value;

/// One line of `cargo agents plan run --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "line")]
pub(crate) enum PlanLine {
    /// The first one: the run begins, or goes on
    Begin {
        /// Which run
        run: String,
        /// The plan
        plan: String,
        /// How many tasks it has
        tasks: usize,
    },
    /// Something changed, and is in the journal
    Event(Box<EventView>),
    /// What an agent does meanwhile, as `cargo agents task run --json` tells it
    Task {
        /// The task of the plan
        task: String,
        /// What it, or what it started, does
        #[cfg_attr(test, schemars(with = "Value"))]
        told: Box<agents_task::event::Event>,
    },
    /// The last one: where the run stands
    End(Box<PlanRunDocument>),
}

/// Something that happened to a run.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct EventView {
    /// Its number in the journal, where that is known
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) number: Option<u64>,
    pub(super) at: String,
    /// `started`, `ended`, `recalled`, `timed-out`, `abandoned`, `rested`, `interrupted`, `paused`, `resumed`, `cancelled`,
    /// `answered`, `injected`, `reopened` or `ran-out`
    pub(super) event: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) task: Option<String>,
    /// Counted from 1
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) attempt: Option<u32>,
    /// How an attempt ended
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) outcome: Option<OutcomeView>,
}

/// How an attempt, or a task, ended.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct OutcomeView {
    /// `completed`, `failed`, `cancelled`, `out-of-limits`, `refused`, `timed-out`, `lost` or `busy`
    pub(super) ending: &'static str,
    /// Why, in words
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) message: String,
    /// What was handed in
    #[serde(skip_serializing_if = "Value::is_null")]
    pub(super) output: Value,
    /// The last that the agent said
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) text: String,
    pub(super) spent: SpentView,
    /// Whether it is known from an earlier run, so that nobody worked for it this time
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) recalled: bool,
    /// The id of the task that did it, for `task show`
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
}

/// What was used.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct SpentView {
    pub(super) turns: u64,
    pub(super) tokens: u64,
    /// In micro-dollars
    cost: u64,
}

/// `cargo agents plan show RUN --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PlanRunDocument {
    pub(super) run: String,
    plan: String,
    /// The file of the plan
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// Where its tasks work
    #[serde(skip_serializing_if = "Option::is_none")]
    dir: Option<String>,
    /// The run that this one is a fork of
    #[serde(skip_serializing_if = "Option::is_none")]
    fork_of: Option<String>,
    /// `running`, `paused`, `suspended`, `completed`, `partly`, `failed`, `cancelled` or `out-of-budget`
    state: &'static str,
    spent: SpentView,
    /// How much it may use altogether
    budget: BudgetView,
    tasks: Vec<TaskView>,
}

/// How much may be used; what is missing has no limit.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct BudgetView {
    #[serde(skip_serializing_if = "Option::is_none")]
    turns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<u64>,
    /// In micro-dollars
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<u64>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct TaskView {
    task: String,
    /// The agent; nobody for what gathers the results of others
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    /// `waiting`, `ready`, `running`, `stopping`, `resting`, `asking`, `completed`, `failed`, `skipped` or `cancelled`
    state: &'static str,
    /// How many there were
    attempts: u32,
    /// How it, or its last attempt, ended
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<OutcomeView>,
}

/// Where a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stand {
    Running,
    Paused,
    Suspended,
    Ended(PlanEnding),
}

impl Stand {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Suspended => "suspended",
            Self::Ended(ending) => ending.word(),
        }
    }
}

impl From<&Outcome> for OutcomeView {
    fn from(outcome: &Outcome) -> Self {
        Self {
            ending: outcome.ending.word(),
            message: outcome.message.clone(),
            output: Value::clone(&outcome.output),
            text: outcome.text.clone(),
            spent: outcome.spent.into(),
            recalled: outcome.source == Source::Memory,
            id: outcome.task.map(|it| it.to_string()),
        }
    }
}

impl From<Spent> for SpentView {
    fn from(spent: Spent) -> Self {
        Self { turns: spent.turns, tokens: spent.tokens, cost: spent.cost.0 }
    }
}

impl From<&Budget> for BudgetView {
    fn from(budget: &Budget) -> Self {
        Self { turns: budget.turns, tokens: budget.tokens, cost: budget.cost.map(|it| it.0) }
    }
}

impl EventView {
    pub(crate) fn new(event: &Event, graph: &Graph) -> Self {
        let outcome = match &event.what {
            What::Ended { outcome, .. } | What::Recalled { outcome, .. } => Some(&**outcome),
            _ => None,
        };
        let attempt = match &event.what {
            What::Started { attempt, .. }
            | What::Ended { attempt, .. }
            | What::TimedOut { attempt, .. }
            | What::Abandoned { attempt }
            | What::Interrupted { attempt } => Some(attempt.number),
            _ => None,
        };
        Self {
            number: None,
            at: stamp(event.at),
            event: event.what.word(),
            task: event.what.node().map(|it| name(graph, it)),
            attempt,
            outcome: outcome.map(OutcomeView::from),
        }
    }

    /// How it went, at a glance.
    pub(super) fn mark(&self) -> &'static str {
        match (self.event, &self.outcome) {
            ("ended" | "recalled", Some(outcome)) if outcome.ending == "completed" => "ok",
            ("ended", _) | ("timed-out" | "abandoned" | "ran-out", _) => "!!",
            _ => "  ",
        }
    }

    /// When it happened.
    #[cfg(feature = "http")]
    pub(crate) fn at(&self) -> &str {
        &self.at
    }

    /// In a line for people.
    pub(crate) fn told(&self) -> String {
        let task = self.task.as_deref().unwrap_or("the run");
        let again = self.attempt.filter(|it| *it > 1).map(|it| format!(" (attempt {it})"));
        let again = again.unwrap_or_default();
        match (self.event, &self.outcome) {
            ("ended" | "recalled", Some(outcome)) if outcome.recalled => {
                format!("{task}: known from an earlier run")
            }
            ("ended", Some(outcome)) if outcome.message.is_empty() => {
                format!("{task}: {}{again}", outcome.ending)
            }
            ("ended", Some(outcome)) => {
                format!("{task}: {}{again}: {}", outcome.ending, outcome.message)
            }
            ("rested", _) => format!("{task}: is tried again"),
            ("ran-out", _) => "the budget is used up".to_owned(),
            (word, _) => format!("{task}: {word}{again}"),
        }
    }

    /// The same with its number and time.
    pub(super) fn logged(&self) -> String {
        let number = self.number.map(|it| format!("{it:5}  ")).unwrap_or_default();
        format!("{number}{}  {}", self.at, self.told())
    }
}

impl PlanRunDocument {
    pub(crate) fn new(run: &RunId, origin: &Origin, stand: Stand, scheduler: &Scheduler) -> Self {
        let graph = scheduler.graph();
        let tasks = graph.indices().zip(graph.nodes()).map(|(index, node)| TaskView {
            task: node.id.to_string(),
            agent: match &node.work {
                Work::Agent(assignment) => Some(assignment.agent.clone()),
                Work::Join(_) => None,
            },
            state: scheduler.state(index).word(),
            attempts: scheduler.attempt(index).map_or(0, |it| it.number),
            outcome: scheduler.outcome(index).map(|it| OutcomeView::from(&**it)),
        });
        Self {
            run: run.to_string(),
            plan: graph.name().to_owned(),
            file: origin.file.as_ref().map(ToString::to_string),
            dir: origin.dir.as_ref().map(ToString::to_string),
            fork_of: origin.fork_of.clone(),
            state: stand.word(),
            spent: scheduler.spent().into(),
            budget: graph.budget().into(),
            tasks: tasks.collect(),
        }
    }
}

/// The name of a node.
pub(super) fn name(graph: &Graph, index: Index) -> String {
    graph.node(index).map(|it| it.id.to_string()).unwrap_or_default()
}

pub(super) fn stamp(at: Millis) -> String {
    let millis = i64::try_from(at.0).unwrap_or(i64::MAX);
    jiff::Timestamp::from_millisecond(millis).map(|it| it.to_string()).unwrap_or_default()
}

/// How many tasks of agents are in which state: `3 completed, 1 failed`.
pub(super) fn counted(scheduler: &Scheduler) -> String {
    const ORDER: [State; 10] = [
        State::Completed,
        State::Failed,
        State::Skipped,
        State::Cancelled,
        State::Asking,
        State::Running,
        State::Stopping,
        State::Resting,
        State::Ready,
        State::Waiting,
    ];
    let graph = scheduler.graph();
    let tasks = graph.indices().zip(graph.nodes());
    let states: Vec<State> = tasks
        .filter(|(_, node)| matches!(node.work, Work::Agent(_)))
        .map(|(index, _)| scheduler.state(index))
        .collect();
    let count = |state: State| {
        let count = states.iter().filter(|it| **it == state).count();
        (count > 0).then(|| format!("{count} {}", state.word()))
    };
    let parts: Vec<String> = ORDER.into_iter().filter_map(count).collect();
    if parts.is_empty() { "nothing to do".to_owned() } else { parts.join(", ") }
}

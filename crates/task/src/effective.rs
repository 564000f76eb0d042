//! The agent that will run: parent, definition, request and settings put together. Nothing later looks at any of these.

use std::{fmt, sync::Arc};

use agents_agent::definition::{AgentDefinition, AgentName, Isolation, Spawns, Waiting};
use agents_model::{Message, select::Resolution};
use agents_tool::Standing;

use crate::{
    done_when::DoneWhen,
    id::{TaskId, TaskPath},
    limits::Limits,
    schema::Schema,
    submission::YIELD,
    telemetry::TraceId,
    transcript::Claim,
};

/// The tool that starts agents.
pub const TASK: &str = "task";
/// What an agent may use in plan mode.
pub const PLAN_TOOLS: [&str; 6] = ["read", "search", "find", "lsp", "web_search", "skill"];

/// An agent that will run.
///
/// Thousands of them may wait at the same time, most of them of few definitions: what is large is shared.
#[derive(Debug, Clone)]
pub struct EffectiveAgent {
    /// The name of its definition.
    pub name: AgentName,
    /// Where it will stand in the tree.
    pub path: TaskPath,
    /// The agents that led to it, the first one first, itself the last.
    pub lineage: Arc<[AgentName]>,
    /// What it is told to be and to do, all of it.
    pub system: Arc<str>,
    /// Where in it begins how the result is handed in.
    pub(crate) ending_at: usize,
    /// What is to be done.
    pub prompt: String,
    /// What it may do.
    pub standing: Arc<Standing>,
    /// Which agents it may start.
    pub spawns: Spawns,
    /// The model, and why.
    pub model: Arc<Resolution>,
    /// What its result must look like.
    pub schema: Option<(Schema, SchemaFrom)>,
    /// How far it may go.
    pub limits: Limits,
    /// How many messages it keeps in mind.
    pub history: Option<usize>,
    /// Where it works.
    pub isolation: Isolation,
    /// Whether whoever starts it waits for it.
    pub waiting: Option<Waiting>,
    /// Whether it only plans.
    pub planning: Planning,
    /// What must hold before it is done, checked within its own rights.
    pub done_when: Arc<DoneWhen>,
    /// What the user says must hold, checked for the user.
    pub users_word: Arc<DoneWhen>,
    /// Why it was chosen, where nobody named it.
    pub chosen: Option<String>,
    /// What it goes on from.
    pub continues: Option<Arc<Continuation>>,
}

/// A conversation that a task goes on from.
#[derive(Debug, Clone, PartialEq)]
pub struct Continuation {
    /// The task that had it.
    pub from: TaskId,
    /// The trace that its span belongs to, if there is one.
    pub trace: TraceId,
    /// What was said, the oldest first: it begins with an assignment, and each call of a tool has its result.
    pub messages: Vec<Message>,
    /// That nobody else goes on from there meanwhile; `None` where nothing is kept.
    pub claim: Option<Claim>,
}

/// Whose schema counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SchemaFrom {
    /// That of the call.
    Call,
    /// That of the definition.
    Definition,
    /// That of whoever started it.
    Parent,
}

impl fmt::Display for SchemaFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Call => "the schema of the call",
            Self::Definition => "`output` of the definition",
            Self::Parent => "the schema of the parent",
        })
    }
}

/// Whether agents only plan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Planning {
    /// They look, and change nothing.
    Plan,
    /// They do what their rights allow.
    #[default]
    Act,
}

impl EffectiveAgent {
    /// Whether it is offered a tool. What it hands in its result with is never taken away.
    #[must_use]
    pub fn offers(&self, tool: &str) -> bool {
        tool == YIELD || self.standing.offers(tool)
    }

    /// What it is told to be and to do, without how the result is handed in: for programs that have no tool for that.
    #[must_use]
    pub fn role(&self) -> &str {
        self.system[..self.ending_at].trim_end()
    }

    /// Tells it more, before how the result is handed in.
    pub(crate) fn brief(&mut self, text: &str) {
        let (before, ending) = self.system.split_at(self.ending_at);
        let before = format!("{before}{}\n\n", text.trim());
        self.ending_at = before.len();
        self.system = (before + ending).into();
    }

    /// What is left without what only this one is to do.
    pub(crate) fn without_assignment(&self) -> Self {
        let (prompt, continues) = (String::new(), None);
        Self { prompt, continues, ..self.clone() }
    }

    /// Whether it was made from the other one, or both from a third.
    pub(crate) fn is_shared_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.system, &other.system)
            && Arc::ptr_eq(&self.standing, &other.standing)
            && Arc::ptr_eq(&self.model, &other.model)
    }

    /// Takes what is the same from another one, so that it is there once.
    pub(crate) fn share(&mut self, other: &Self) {
        fn one<T: PartialEq + ?Sized>(own: &mut Arc<T>, other: &Arc<T>) {
            if !Arc::ptr_eq(own, other) && *own == *other {
                *own = Arc::clone(other);
            }
        }
        one(&mut self.lineage, &other.lineage);
        one(&mut self.system, &other.system);
        one(&mut self.standing, &other.standing);
        one(&mut self.model, &other.model);
        one(&mut self.done_when, &other.done_when);
        one(&mut self.users_word, &other.users_word);
        if self.schema == other.schema {
            self.schema.clone_from(&other.schema);
        }
    }

    /// How deep it stands.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.path.depth()
    }
}

/// What goes before the prompt of an agent that only plans.
const PLANNING: &str = "You are planning, not acting. Look at whatever helps, and change nothing: no files, no programs, no other agents. \
    Your result is the plan or the answer itself, detailed enough that somebody else can carry it out without asking you.";

/// All that an agent is told to be and to do, and where in it begins how the result is handed in.
pub(crate) fn system(
    definition: &AgentDefinition,
    planning: Planning,
    context: Option<&str>,
    schema: Option<&Schema>,
) -> (String, usize) {
    let mut parts: Vec<String> = Vec::new();
    if planning == Planning::Plan {
        parts.push(PLANNING.to_owned());
    }
    parts.push(definition.prompt.trim().to_owned());
    if let Some(context) = context.map(str::trim).filter(|it| !it.is_empty()) {
        parts.push(format!("# What you should know\n{context}"));
    }
    let ending = match schema {
        None => format!(
            "# When you are done\nGive your result as your last message, or call `{YIELD}` with it as `data`. \
             If it cannot be done, call `{YIELD}` with the reason as `error`."
        ),
        Some(schema) => format!(
            "# When you are done\nCall `{YIELD}` with your result as `data`, once, and nothing after it. Text is not a result. \
             If it cannot be done, call `{YIELD}` with the reason as `error`.\n`data` must keep to this JSON Schema:\n{:#}",
            schema.json()
        ),
    };
    parts.retain(|it| !it.is_empty());
    let mut system = parts.join("\n\n");
    if !system.is_empty() {
        system.push_str("\n\n");
    }
    let ending_at = system.len();
    system.push_str(&ending);
    (system, ending_at)
}

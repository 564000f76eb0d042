//! What can be seen from outside.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Flow, Scheduler};
use crate::{
    event::{Attempt, Ending, Index, Millis, Outcome, PlanEnding, Spent},
    graph::{Graph, Join, NodeId, Work},
    reference::{Lookup, Reference, Root, Side, cut, walk},
};

/// The most of a failure that the next attempt is told.
const MAX_FEEDBACK: usize = 4000;

/// Where a node stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// For something that it needs.
    Waiting,
    /// It could run.
    Ready,
    /// It does.
    Running,
    /// It is told to stop.
    Stopping,
    /// Until the next attempt.
    Resting,
    /// The user is asked what to do about its failure.
    Asking,
    /// It is done.
    Completed,
    /// It is not.
    Failed,
    /// Its condition did not hold, or something that it needs did not complete.
    Skipped,
    /// It was stopped, or never began.
    Cancelled,
}

impl State {
    /// In one word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Ready => "ready",
            Self::Running => "running",
            Self::Stopping => "stopping",
            Self::Resting => "resting",
            Self::Asking => "asking",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether nothing happens to it any more.
    #[must_use]
    pub fn is_over(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Skipped | Self::Cancelled)
    }

    /// Whether somebody works on it, and it holds what it uses.
    #[must_use]
    pub fn is_busy(self) -> bool {
        matches!(self, Self::Running | Self::Stopping)
    }
}

impl Scheduler {
    /// The graph, with what was added.
    #[must_use]
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Where a node stands.
    #[must_use]
    pub fn state(&self, index: Index) -> State {
        self.cells.get(index.at()).map_or(State::Waiting, |it| it.state)
    }

    /// How a node, or its last attempt, went.
    #[must_use]
    pub fn outcome(&self, index: Index) -> Option<&Arc<Outcome>> {
        self.cells.get(index.at())?.outcome.as_ref()
    }

    /// The last attempt of a node; `None` if there was none.
    #[must_use]
    pub fn attempt(&self, index: Index) -> Option<Attempt> {
        let number = self.cells.get(index.at())?.attempt;
        (number > 0).then_some(Attempt { node: index, number })
    }

    /// The attempts on which somebody works.
    pub fn busy(&self) -> impl Iterator<Item = Attempt> {
        self.graph
            .indices()
            .filter(|it| self.state(*it).is_busy())
            .filter_map(|it| self.attempt(it))
    }

    /// When a node that rests is tried again.
    #[must_use]
    pub fn rests_until(&self, index: Index) -> Option<Millis> {
        self.cells.get(index.at()).filter(|it| it.state == State::Resting).map(|it| it.until)
    }

    /// How the plan ended; `None` if it has not.
    #[must_use]
    pub fn ending(&self) -> Option<PlanEnding> {
        self.ended
    }

    /// Whether nothing starts until [`Resumed`](crate::event::What::Resumed).
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.flow == Flow::Paused
    }

    /// What all attempts that ended have used.
    #[must_use]
    pub fn spent(&self) -> Spent {
        self.spent
    }

    /// The latest time that it has heard of.
    #[must_use]
    pub fn now(&self) -> Millis {
        self.now
    }

    /// What a node is about: its prompt with what that refers to.
    #[must_use]
    pub fn subject(&self, index: Index) -> Option<String> {
        let Work::Agent(assignment) = &self.graph.node(index)?.work else { return None };
        Some(assignment.prompt.render(&Results(self)))
    }

    /// What an agent is told: what the node is about, and what went wrong the last time.
    #[must_use]
    pub fn prompt(&self, index: Index) -> Option<String> {
        let mut prompt = self.subject(index)?;
        if let Some(outcome) = self.outcome(index)
            && outcome.ending != Ending::Completed
        {
            let why = cut(outcome.message.clone(), MAX_FEEDBACK);
            prompt.push_str(&format!(
                "\n\nAn earlier attempt did not succeed ({}): {why}\n",
                outcome.ending
            ));
        }
        Some(prompt)
    }
}

/// What references to tasks mean, as far as it is known.
#[derive(Debug, Clone, Copy)]
pub struct Results<'s>(pub &'s Scheduler);

impl Results<'_> {
    fn ending(self, index: Index) -> Value {
        let cell = &self.0.cells[index.at()];
        match (&cell.outcome, cell.state) {
            (Some(outcome), State::Failed) => json!(outcome.ending.word()),
            (_, state) if state.is_over() => json!(state.word()),
            _ => Value::Null,
        }
    }

    fn side(self, index: Index, side: Side) -> Option<Value> {
        let outcome = self.0.cells[index.at()].outcome.as_deref();
        Some(match side {
            Side::Output => Value::clone(&outcome?.output),
            Side::Text => json!(outcome?.text),
            Side::Ending => self.ending(index),
            Side::Items => {
                let Join::Each { of, items } = self.0.join(index)? else { return None };
                let entry = |(id, item): (&NodeId, &Value)| {
                    let index = self.0.graph.find(id)?;
                    Some(json!({
                        "item": item,
                        "ending": self.ending(index),
                        "output": self.side(index, Side::Output),
                        "text": self.side(index, Side::Text),
                    }))
                };
                of.iter().zip(items).filter_map(entry).collect()
            }
        })
    }
}

impl Lookup for Results<'_> {
    fn look_up(&self, reference: &Reference) -> Option<Value> {
        let Root::Task(id, side) = &reference.root else { return None };
        let index = self.0.graph.find(&NodeId::new(id.as_str()))?;
        walk(&self.side(index, *side)?, &reference.path).cloned()
    }
}

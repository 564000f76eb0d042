//! Metadata of runs whose programs died before they could write it.
//!
//! Metadata is written when a run begins and when it ends. A program that is killed in between, or cannot replace a file any more, leaves one
//! that says `running`; but the records know better: what was spent until then, and, if the very last one was still written, how
//! the run ended.

use super::{
    meta::{Meta, State},
    reader::Loaded,
};
use crate::outcome::Outcome;

/// What the metadata of a run would say if its program had not died.
pub(super) fn caught_up(loaded: Loaded) -> Meta {
    let (turns, usage, cost) = loaded.spent();
    let outcome = loaded.outcome().cloned();
    let last = loaded.entries.last().map(|it| it.at);
    let mut meta = loaded.meta;
    (meta.turns, meta.usage, meta.cost) = (turns, usage, cost);
    if let Some(outcome) = outcome.and_then(|it| serde_json::from_value::<Outcome>(it).ok()) {
        meta.ended(&outcome);
        meta.stop_reason = Some(outcome.ending.told());
        meta.finished_at = last;
    }
    meta
}

impl Meta {
    /// What an outcome says that is in the metadata, too.
    pub(super) fn ended(&mut self, outcome: &Outcome) {
        let report = &outcome.report;
        self.state = State::from(&outcome.ending);
        self.turns = report.turns;
        self.tool_calls = report.tool_calls;
        self.usage = report.usage;
        self.cost = report.cost;
    }
}

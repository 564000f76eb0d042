//! What becomes of joins, and of races.

use std::{collections::HashMap, sync::Arc};

use serde_json::{Map, Value};

use super::{Passage, Results, Scheduler, State};
use crate::{
    event::{Ending, Index, Outcome},
    graph::{Join, NodeId, Work},
};

/// What becomes of a join.
enum Gathered {
    Completed(Outcome),
    Skipped,
    Failed(String),
}

impl Scheduler {
    /// Everything that a join gathers has ended.
    pub(super) fn gather(&mut self, index: Index) {
        let Work::Join(join) = &self.graph.nodes()[index.at()].work else { return };
        match self.gathered(join) {
            Gathered::Completed(outcome) => {
                self.finish(index, State::Completed, Some(Arc::new(outcome)));
            }
            Gathered::Skipped => self.finish(index, State::Skipped, None),
            Gathered::Failed(why) => {
                self.fail_for_good(index, Arc::new(Outcome::ended(Ending::Failed, why)));
            }
        }
    }

    /// If a contender is the first to complete, its race is decided and the others stop.
    pub(super) fn decide_race(&mut self, index: Index) {
        let Some(join) = self.cells[index.at()].race else { return };
        let Work::Join(Join::First { of }) = &self.graph.nodes()[join.at()].work else { return };
        let decided = self.cells[join.at()].state != State::Waiting;
        if decided || self.cells[index.at()].state != State::Completed {
            return;
        }
        let others: Vec<Index> =
            of.iter().filter_map(|id| self.graph.find(id)).filter(|it| *it != index).collect();
        let won = self.cells[index.at()].outcome.as_deref().map(winner);
        self.finish(join, State::Completed, won.map(Arc::new));
        for other in others {
            self.cancel(other);
        }
    }

    fn gathered(&self, join: &Join) -> Gathered {
        let cells: Vec<(&NodeId, &super::Cell)> = join
            .of()
            .iter()
            .filter_map(|id| Some((id, &self.cells[self.graph.find(id)?.at()])))
            .collect();
        let outcomes = || {
            cells
                .iter()
                .filter(|(_, it)| it.state == State::Completed)
                .filter_map(|(id, it)| Some((*id, it.outcome.as_deref()?)))
        };
        let skipped = cells.iter().all(|(_, it)| it.state == State::Skipped);
        if skipped && !cells.is_empty() {
            return Gathered::Skipped;
        }
        match join {
            Join::Plan { outputs, .. } => {
                let broken = cells.iter().find(|(_, it)| {
                    let flawed = matches!(it.state, State::Failed | State::Cancelled);
                    flawed && it.passage == Passage::Closed && it.race.is_none()
                });
                if let Some((id, cell)) = broken {
                    return Gathered::Failed(format!("`{id}` {}", told(cell)));
                }
                let results = Results(self);
                let entries = outputs.iter().map(|(key, it)| (key.clone(), it.value(&results)));
                let output: Map<String, Value> = entries.collect();
                Gathered::Completed(Outcome::completed(Value::Object(output)))
            }
            Join::Each { .. } => {
                if outcomes().next().is_none() && !cells.is_empty() {
                    return Gathered::Failed(none_of(&cells));
                }
                let outputs = cells.iter().map(|(_, it)| match &it.outcome {
                    Some(outcome) if it.state == State::Completed => Value::clone(&outcome.output),
                    _ => Value::Null,
                });
                Gathered::Completed(Outcome::completed(outputs.collect()))
            }
            Join::First { .. } => Gathered::Failed(none_of(&cells)),
            Join::Vote { .. } => {
                let mut votes: HashMap<String, (usize, usize, &Outcome)> = HashMap::new();
                for (at, (_, outcome)) in outcomes().enumerate() {
                    votes.entry(outcome.output.to_string()).or_insert((0, at, outcome)).0 += 1;
                }
                // The most votes; of several, that which was named first.
                let best =
                    votes.values().max_by_key(|(count, first, _)| (*count, usize::MAX - first));
                match best {
                    Some((_, _, outcome)) => Gathered::Completed(winner(outcome)),
                    None => Gathered::Failed(none_of(&cells)),
                }
            }
            Join::Judge { of, judge } => {
                let judge = self.graph.find(judge).map(|it| &self.cells[it.at()]);
                let verdict = judge.filter(|it| it.state == State::Completed);
                let winner_of =
                    verdict.and_then(|it| it.outcome.as_ref()?.output["winner"].as_u64());
                let id = winner_of.and_then(|it| of.get(usize::try_from(it.checked_sub(1)?).ok()?));
                match id.and_then(|id| outcomes().find(|(it, _)| *it == id)) {
                    Some((_, outcome)) => Gathered::Completed(winner(outcome)),
                    None if outcomes().next().is_none() => Gathered::Failed(none_of(&cells)),
                    None => Gathered::Failed(match (judge, winner_of) {
                        (Some(judge), None) => format!("the judge {}", told(judge)),
                        (_, Some(number)) => {
                            format!("the judge named contender {number}, which did not complete")
                        }
                        (None, None) => "there is no judge".to_owned(),
                    }),
                }
            }
        }
    }

    /// What is done again: what failed or was stopped, the contenders of races without a winner, and all that comes after.
    pub(super) fn to_redo(&self) -> Vec<Index> {
        let mut redo = vec![false; self.cells.len()];
        let mut waiting: Vec<Index> = Vec::new();
        for index in self.graph.indices() {
            let cell = &self.cells[index.at()];
            let lost = cell.race.is_some_and(|it| self.cells[it.at()].state == State::Completed);
            if matches!(cell.state, State::Failed | State::Cancelled) && !lost {
                waiting.push(index);
            }
        }
        while let Some(index) = waiting.pop() {
            if std::mem::replace(&mut redo[index.at()], true) {
                continue;
            }
            waiting.extend(self.graph.dependents(index).iter().map(|(to, _)| *to));
            if let Some(join) = self.join(index).filter(|it| it.is_race()) {
                waiting.extend(join.of().iter().filter_map(|id| self.graph.find(id)));
            }
        }
        self.graph.indices().filter(|it| redo[it.at()]).collect()
    }
}

/// The outcome of a contender as that of its race. What it used is counted already.
fn winner(outcome: &Outcome) -> Outcome {
    Outcome { spent: Default::default(), ..outcome.clone() }
}

fn told(cell: &super::Cell) -> String {
    match cell.outcome.as_deref() {
        Some(outcome) if !outcome.message.is_empty() => {
            format!("{}: {}", cell.state.word(), outcome.message)
        }
        _ => cell.state.word().to_owned(),
    }
}

/// The most that are named.
const MAX_NAMED: usize = 5;

fn none_of(cells: &[(&NodeId, &super::Cell)]) -> String {
    let named = cells.iter().take(MAX_NAMED).map(|(id, cell)| format!("`{id}` {}", told(cell)));
    let more = if cells.len() > MAX_NAMED { "; ..." } else { "" };
    format!("none of {} completed: {}{more}", cells.len(), named.collect::<Vec<_>>().join("; "))
}

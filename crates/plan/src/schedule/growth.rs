//! Nodes that come in: those of the graph, those that are added while it runs, and those that are done again.

use super::{Cell, Flow, Scheduler, State, Traits};
use crate::{
    event::{Index, Rejected},
    graph::{GraphError, Injection, Join, Work},
};

impl Scheduler {
    /// Takes in the nodes that the graph has and the scheduler does not know yet.
    pub(super) fn grow(&mut self) {
        let first = self.cells.len();
        self.cells.resize_with(self.graph.nodes().len(), Cell::default);
        self.unmet.resize(self.cells.len(), 0);
        self.claims.grow(&self.graph);
        let new = self.graph.nodes().iter().zip(self.graph.indices()).skip(first);
        self.traits.extend(new.map(|(node, index)| Traits {
            rank: 0,
            plain: node.when.is_none() && matches!(node.work, Work::Agent(_)),
            timed: node.deadlines != Default::default(),
            claims: self.claims.wants(index),
        }));
        self.open += self.cells.len() - first;
        let ready = self.ready.grow(&self.graph);
        for (index, rank) in self.ready.ranks() {
            self.traits[index.at()].rank = rank;
        }
        ready.iter().for_each(|it| self.ready.insert(self.traits[it.at()].rank));
        for at in first..self.cells.len() {
            let Work::Join(join) = &self.graph.nodes()[at].work else { continue };
            let judge = if let Join::Judge { judge, .. } = join { Some(judge) } else { None };
            let contenders = join.of().iter().filter(|_| join.is_race()).chain(judge);
            for index in contenders.filter_map(|id| self.graph.find(id)) {
                self.cells[index.at()].race = Some(Index(u32::try_from(at).unwrap_or(u32::MAX)));
            }
        }
        let new: Vec<Index> = self.graph.indices().skip(first).collect();
        self.enlist(&new);
        // Nothing begins in a plan that stops, and it ends when nothing is left.
        if self.fate.is_some() {
            new.into_iter().for_each(|it| self.cancel(it));
        }
    }

    /// Nodes that are waiting: counts what they wait for, and goes on with those that wait for nothing.
    pub(super) fn enlist(&mut self, nodes: &[Index]) {
        let mut doomed = Vec::new();
        for index in nodes {
            let mut unmet = 0;
            for need in &self.graph.nodes()[index.at()].needs {
                let Some(on) = self.graph.find(&need.on) else { continue };
                let over = self.cells[on.at()].state.is_over();
                if over && !self.opens(on, need.until) {
                    doomed.push(*index);
                }
                unmet += u32::from(!over);
            }
            self.unmet[index.at()] = unmet;
        }
        for index in doomed {
            if self.cells[index.at()].state == State::Waiting {
                self.finish(index, State::Skipped, None);
            }
        }
        for index in nodes {
            if self.cells[index.at()].state == State::Waiting && self.unmet[index.at()] == 0 {
                self.unblock(*index);
            }
        }
        self.settle();
    }

    pub(super) fn inject(&mut self, injection: &Injection) -> Result<(), Rejected> {
        let mut more: Vec<Index> = Vec::new();
        for (id, _) in &injection.needed_by {
            let Some(index) = self.graph.find(id) else { continue };
            if !matches!(self.cells[index.at()].state, State::Waiting | State::Ready) {
                return Err(GraphError::Begun(id.clone()).into());
            }
            more.push(index);
        }
        self.graph.inject(injection)?;
        for index in more {
            let cell = &mut self.cells[index.at()];
            // The new nodes have not ended: whoever needs them waits.
            cell.state = State::Waiting;
            self.unmet[index.at()] += 1;
        }
        Ok(())
    }

    /// What failed or was stopped, and all that comes after it, once more.
    pub(super) fn reopen(&mut self) {
        let redo = self.to_redo();
        for index in &redo {
            let old = std::mem::take(&mut self.cells[index.at()]);
            // Attempts are counted on: what comes late from before must not be taken for new.
            self.cells[index.at()] =
                Cell { attempt: old.attempt, race: old.race, ..Cell::default() };
        }
        self.open = redo.len();
        (self.fate, self.ended, self.flow) = (None, None, Flow::Open);
        let over =
            |it: &&Cell| matches!(it.state, State::Failed | State::Cancelled) && it.race.is_none();
        self.flaws = self.cells.iter().filter(over).count();
        self.enlist(&redo);
    }
}

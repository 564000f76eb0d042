//! A new run that keeps what an old one has paid for.

use std::{collections::HashSet, sync::Arc};

use super::{Journal, JournalError, Journals, Options, Origin, RunId};
use crate::{
    event::{Event, Index, Millis, What},
    graph::{Graph, Node, NodeId, Work},
    schedule::{Scheduler, State},
};

impl Journals {
    /// Begins a run of a graph with the results of another run: those of nodes that are in both and do the same, up to the ones that
    /// are to be done again, and all that comes after those.
    ///
    /// # Errors
    /// The other run cannot be read, or the new one not be written.
    pub fn fork(
        &self,
        of: &RunId,
        graph: &Graph,
        again: &[NodeId],
        at: Millis,
        origin: Origin,
        options: Options,
    ) -> Result<(Journal, Scheduler), JournalError> {
        let old = self.view(of)?.now()?;
        let origin = Origin { fork_of: Some(of.as_str().to_owned()), ..origin };
        let events: Vec<Event> =
            recalled(&old, graph, again).into_iter().map(|it| it.at(at)).collect();
        self.begin(graph, at, &origin, &events, options)
    }
}

/// Whether the result of one stands for the other: how often it is tried, or when it starts, does not change what it is.
fn does_the_same(one: &Node, other: &Node) -> bool {
    one.work == other.work && one.needs == other.needs && one.when == other.when
}

/// The results of an old run that hold for a graph, in an order in which they can be taken in.
fn recalled(old: &Scheduler, graph: &Graph, again: &[NodeId]) -> Vec<What> {
    let redo: HashSet<Index> =
        again.iter().filter_map(|id| graph.find(id)).flat_map(|index| graph.from(index)).collect();
    let mut scheduler = Scheduler::new(graph.clone());
    let mut kept = Vec::new();
    for index in graph.order() {
        let Some(node) = graph.node(index) else { continue };
        let before = old.graph().find(&node.id);
        let same =
            before.filter(|it| old.graph().node(*it).is_some_and(|it| does_the_same(it, node)));
        let done = same.filter(|it| old.state(*it) == State::Completed);
        let outcome = done.and_then(|it| old.outcome(it)).filter(|_| !redo.contains(&index));
        let is_work = matches!(node.work, Work::Agent(_));
        if let Some(outcome) = outcome.filter(|_| is_work) {
            let known = crate::event::Outcome::clone(outcome).recalled();
            let what = What::Recalled { node: index, outcome: Arc::new(known) };
            // Only what is ready can be taken in: a result whose inputs are done again is none.
            if scheduler.accept(what.clone().at(Millis(0))).is_ok() {
                kept.push(what);
            }
        }
    }
    kept
}

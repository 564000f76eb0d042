//! What the budget allows.

use super::Scheduler;
use crate::{
    event::{Allowance, Index},
    graph::Work,
};
use agents_model::cost::MicroDollars;

/// Whether a node can be paid for.
pub(super) enum Afford {
    Yes(Option<Box<Allowance>>),
    /// When something that runs has not used what it holds.
    Later,
    Never,
}

impl Scheduler {
    /// What a node may use: what it says, else an equal part of what is left for those that may run at once; never more than
    /// is left besides what the running ones hold.
    pub(super) fn afford(&self, index: Index) -> Afford {
        let budget = self.graph.budget();
        if budget.turns.is_none() && budget.tokens.is_none() && budget.cost.is_none() {
            return Afford::Yes(None);
        }
        let held = self.held.values().fold([0_u64; 3], |sum, held| {
            let more = [held.turns, held.tokens, held.cost.map(|it| it.0)];
            std::array::from_fn(|at| sum[at].saturating_add(more[at].unwrap_or(0)))
        });
        let spent = [self.spent.turns, self.spent.tokens, self.spent.cost.0];
        let budget = [budget.turns, budget.tokens, budget.cost.map(|it| it.0)];
        let wanted = match &self.graph.nodes()[index.at()].work {
            Work::Agent(it) => [it.turns, it.tokens, it.cost.map(|it| it.0)],
            Work::Join(_) => [None; 3],
        };
        let free = u64::from(self.graph.concurrency().total.max(1) - self.running);
        let mut given = [None; 3];
        for at in 0..3 {
            let Some(budget) = budget[at] else { continue };
            let left = budget.saturating_sub(spent[at]).saturating_sub(held[at]);
            if left == 0 {
                return if self.running > 0 { Afford::Later } else { Afford::Never };
            }
            let share = left.div_ceil(free.max(1));
            given[at] = Some(wanted[at].unwrap_or(share).min(left));
        }
        let [turns, tokens, cost] = given;
        Afford::Yes(Some(Box::new(Allowance { turns, tokens, cost: cost.map(MicroDollars) })))
    }
}

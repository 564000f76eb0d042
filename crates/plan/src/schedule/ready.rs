//! Which nodes could start. The one that starts first is found in a few steps, however many there are.

use super::claims::key_of;
use crate::{event::Index, graph::Graph};

const BITS: usize = u64::BITS as usize;

/// A place among all nodes, by priority and then by position: the greatest starts first.
pub(super) type Rank = u32;

/// Nodes that could start, by their ranks.
#[derive(Debug, Default)]
pub(super) struct Ready {
    /// By rank.
    nodes: Vec<Index>,
    /// A bit for each rank, then a bit for each word of the level below that is not empty, up to one word.
    levels: Vec<Vec<u64>>,
}

impl Ready {
    /// Ranks the nodes of a graph that has grown, the least first. Nothing is ready then; what was is handed back.
    pub(super) fn grow(&mut self, graph: &Graph) -> Vec<Index> {
        let mut there = Vec::new();
        while let Some(index) = self.pop() {
            there.push(index);
        }
        self.nodes = graph.indices().collect();
        let nodes = graph.nodes();
        self.nodes.sort_unstable_by_key(|it| key_of(nodes[it.at()].priority, *it));
        self.levels.clear();
        let mut size = self.nodes.len();
        loop {
            size = size.div_ceil(BITS).max(1);
            self.levels.push(vec![0; size]);
            if size == 1 {
                return there;
            }
        }
    }

    /// All nodes, with their ranks.
    pub(super) fn ranks(&self) -> impl Iterator<Item = (Index, Rank)> {
        self.nodes.iter().copied().zip(0..)
    }

    #[inline]
    pub(super) fn insert(&mut self, rank: Rank) {
        let mut at = rank as usize;
        for level in &mut self.levels {
            let word = &mut level[at / BITS];
            let was_empty = *word == 0;
            *word |= 1 << (at % BITS);
            if !was_empty {
                return;
            }
            at /= BITS;
        }
    }

    /// Takes out the one that starts first.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Index> {
        let mut at = 0;
        for level in self.levels.iter().rev() {
            let word = level[at];
            // Only the top can be empty: no bit stands for an empty word.
            at = at * BITS + word.checked_ilog2()? as usize;
        }
        let index = *self.nodes.get(at)?;
        for level in &mut self.levels {
            let word = &mut level[at / BITS];
            *word &= !(1 << (at % BITS));
            if *word != 0 {
                break;
            }
            at /= BITS;
        }
        Some(index)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, HashMap};

    use super::*;
    use crate::{graph::Node, reference::Template};

    #[test]
    fn the_greatest_comes_out_first_however_many_there_are() {
        for size in [1_u32, 63, 64, 65, 5000] {
            let nodes = (0..size).map(|at| {
                let mut node = Node::agent(format!("n{at}"), "any", Template::default());
                node.priority = i32::try_from(at * 7 % 5).unwrap() - 2;
                node
            });
            let graph = Graph::new("test", nodes.collect()).unwrap();
            let mut ready = Ready::default();
            assert_eq!(ready.grow(&graph), []);
            let ranks: HashMap<Index, Rank> = ready.ranks().collect();
            assert_eq!(ready.pop(), None);
            let mut expected = BTreeSet::new();
            let mut dice = 17_u32;
            for round in 0..4 * size {
                dice = dice.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let index = Index(dice / 64 % size);
                if round % 3 == 2 {
                    let greatest = expected.pop_last().map(|(_, it)| it);
                    assert_eq!(ready.pop(), greatest);
                } else {
                    ready.insert(ranks[&index]);
                    expected.insert((key_of(graph.nodes()[index.at()].priority, index), index));
                }
                if round == size {
                    ready.grow(&graph).iter().for_each(|it| ready.insert(ranks[it]));
                }
            }
            while let Some((_, greatest)) = expected.pop_last() {
                assert_eq!(ready.pop(), Some(greatest));
            }
            assert_eq!(ready.pop(), None);
        }
    }
}

//! Which node goes where: each below all that it needs, and near the middle of those.

use crate::{event::Index, graph::Graph};

/// How often the order within layers is improved.
const SWEEPS: usize = 4;

/// The nodes of each layer, from left to right.
pub(super) fn layers(graph: &Graph) -> Vec<Vec<Index>> {
    let mut depth = vec![0_usize; graph.nodes().len()];
    let order = graph.order();
    for index in &order {
        for (to, _) in graph.dependents(*index) {
            depth[to.at()] = depth[to.at()].max(depth[index.at()] + 1);
        }
    }
    let count = depth.iter().max().map_or(0, |it| it + 1);
    let mut layers: Vec<Vec<Index>> = vec![Vec::new(); count];
    graph.indices().for_each(|it| layers[depth[it.at()]].push(it));
    let mut needs: Vec<Vec<Index>> = vec![Vec::new(); depth.len()];
    for index in graph.indices() {
        graph.dependents(index).iter().for_each(|(to, _)| needs[to.at()].push(index));
    }
    let mut place = vec![0_usize; depth.len()];
    let settle = |layer: &[Index], place: &mut [usize]| {
        layer.iter().enumerate().for_each(|(at, it)| place[it.at()] = at);
    };
    layers.iter().for_each(|it| settle(it, &mut place));
    for sweep in 0..SWEEPS {
        let down = sweep % 2 == 0;
        for step in 0..count {
            let at = if down { step } else { count - 1 - step };
            // Whole numbers, so that it is the same everywhere: the mean, times a million.
            let middle = |index: Index| {
                let dependents = graph.dependents(index).iter().map(|(to, _)| *to);
                let near: Vec<Index> =
                    if down { needs[index.at()].clone() } else { dependents.collect() };
                let sum: usize = near.iter().map(|it| place[it.at()]).sum();
                (sum * 1_000_000).checked_div(near.len()).unwrap_or(place[index.at()] * 1_000_000)
            };
            let mut layer = layers[at].clone();
            layer.sort_by_key(|it| (middle(*it), place[it.at()]));
            settle(&layer, &mut place);
            layers[at] = layer;
        }
    }
    layers
}

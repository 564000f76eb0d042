//! Where everything is in a picture of a graph, for whoever draws it.

use unicode_width::UnicodeWidthStr as _;

use super::{layers::layers, work};
use crate::{
    event::Index,
    graph::{Graph, Until},
};

const CHARACTER: usize = 8;
const HEIGHT: usize = 44;
const GAP: usize = 24;
const BETWEEN: usize = 56;

/// A picture with a layer for each step, from top to bottom, in dots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// From left to right.
    pub width: usize,
    /// From top to bottom.
    pub height: usize,
    /// Every node of the graph, in its order.
    pub nodes: Vec<Spot>,
    /// From each to those that wait for it.
    pub lines: Vec<Line>,
}

/// Where a node is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spot {
    /// Which node.
    pub index: Index,
    /// Who does it, in a word.
    pub work: String,
    /// Its left side.
    pub x: usize,
    /// Its upper side.
    pub y: usize,
    /// How wide it is.
    pub width: usize,
    /// How high it is.
    pub height: usize,
}

/// Where one goes on after another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    /// The lower side of the first.
    pub from: (usize, usize),
    /// The upper side of the second.
    pub to: (usize, usize),
    /// What the second waits for.
    pub until: Until,
}

impl Line {
    /// As SVG has it.
    #[must_use]
    pub fn path(&self) -> String {
        let ((from_x, from_y), (to_x, to_y)) = (self.from, self.to);
        let bend = from_y.midpoint(to_y);
        format!("M{from_x} {from_y} C{from_x} {bend} {to_x} {bend} {to_x} {to_y}")
    }
}

/// Lays out a graph. The same graph is always the same picture.
#[must_use]
pub fn picture(graph: &Graph) -> Picture {
    let layers = layers(graph);
    let width = |index: Index| {
        let node = &graph.nodes()[index.at()];
        node.id.as_str().width().max(work(node).width()) * CHARACTER + 24
    };
    let span = |layer: &[Index]| {
        let inner: usize = layer.iter().map(|it| width(*it)).sum();
        inner + GAP * layer.len().saturating_sub(1)
    };
    let widest = layers.iter().map(|it| span(it)).max().unwrap_or(0);
    let mut places = vec![(0, 0); graph.nodes().len()];
    for (row, layer) in layers.iter().enumerate() {
        let mut x = GAP + (widest - span(layer)) / 2;
        for index in layer {
            places[index.at()] = (x, GAP + row * (HEIGHT + BETWEEN));
            x += width(*index) + GAP;
        }
    }
    let middle = |index: Index| places[index.at()].0 + width(index) / 2;
    let lines = graph.indices().flat_map(|index| {
        let from = (middle(index), places[index.at()].1 + HEIGHT);
        let to = |to: Index| (middle(to), places[to.at()].1);
        graph.dependents(index).iter().map(move |(next, until)| Line {
            from,
            to: to(*next),
            until: *until,
        })
    });
    let spot = |index: Index| {
        let (x, y) = places[index.at()];
        let work = work(&graph.nodes()[index.at()]);
        Spot { index, work, x, y, width: width(index), height: HEIGHT }
    };
    Picture {
        width: widest + GAP * 2,
        height: GAP * 2 + (layers.len() * (HEIGHT + BETWEEN)).saturating_sub(BETWEEN),
        lines: lines.collect(),
        nodes: graph.indices().map(spot).collect(),
    }
}

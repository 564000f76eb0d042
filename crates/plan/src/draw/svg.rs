//! Graphs as SVG.

use std::fmt::Write as _;

use unicode_width::UnicodeWidthStr as _;

use super::{Drawing, colour, escape, layers::layers, work};
use crate::graph::{Until, Work};

const CHARACTER: usize = 8;
const HEIGHT: usize = 44;
const GAP: usize = 24;
const BETWEEN: usize = 56;

/// A picture with a layer for each step, from top to bottom. Dotted lines are for what is waited for, however it ends.
#[must_use]
pub fn svg<'g>(drawing: impl Into<Drawing<'g>>) -> String {
    let drawing = drawing.into();
    let graph = drawing.graph;
    let layers = layers(graph);
    let width = |at: usize| {
        let node = &graph.nodes()[at];
        node.id.as_str().width().max(work(node).width()) * CHARACTER + 24
    };
    let span = |layer: &[crate::event::Index]| {
        let inner: usize = layer.iter().map(|it| width(it.at())).sum();
        inner + GAP * layer.len().saturating_sub(1)
    };
    let widest = layers.iter().map(|it| span(it)).max().unwrap_or(0);
    let mut places = vec![(0, 0); graph.nodes().len()];
    for (row, layer) in layers.iter().enumerate() {
        let mut x = GAP + (widest - span(layer)) / 2;
        for index in layer {
            places[index.at()] = (x, GAP + row * (HEIGHT + BETWEEN));
            x += width(index.at()) + GAP;
        }
    }
    let high = GAP * 2 + (layers.len() * (HEIGHT + BETWEEN)).saturating_sub(BETWEEN);
    let wide = widest + GAP * 2;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {wide} {high}\" width=\"{wide}\" height=\"{high}\" \
         font-family=\"monospace\" font-size=\"13\">\n<title>{}</title>\n",
        escape(graph.name())
    );
    text.push_str(
        "<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" orient=\"auto\">\
         <path d=\"M0 0 8 4 0 8z\" fill=\"#555\"/></marker></defs>\n",
    );
    for index in graph.indices() {
        let (x, y) = places[index.at()];
        let from = (x + width(index.at()) / 2, y + HEIGHT);
        for (to, until) in graph.dependents(index) {
            let (x, y) = places[to.at()];
            let to = (x + width(to.at()) / 2, y);
            let bend = from.1.midpoint(to.1);
            let dash = if *until == Until::Ended { " stroke-dasharray=\"4 3\"" } else { "" };
            _ = writeln!(
                text,
                "<path d=\"M{} {} C{} {bend} {} {bend} {} {}\" fill=\"none\" stroke=\"#555\"{dash} marker-end=\"url(#tip)\"/>",
                from.0, from.1, from.0, to.0, to.0, to.1
            );
        }
    }
    for index in graph.indices() {
        let node = &graph.nodes()[index.at()];
        let ((x, y), wide) = (places[index.at()], width(index.at()));
        let round = if matches!(node.work, Work::Join(_)) { HEIGHT / 2 } else { 4 };
        let fill = colour(drawing.state(index));
        _ = writeln!(
            text,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{wide}\" height=\"{HEIGHT}\" rx=\"{round}\" fill=\"{fill}\" stroke=\"#333\"/>"
        );
        let middle = x + wide / 2;
        for (line, said, colour) in
            [(18, node.id.as_str(), "#000"), (35, work(node).as_str(), "#555")]
        {
            _ = writeln!(
                text,
                "<text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\" fill=\"{colour}\">{}</text>",
                y + line,
                escape(said)
            );
        }
    }
    text.push_str("</svg>\n");
    text
}

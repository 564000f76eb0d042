//! Graphs as SVG.

use std::fmt::Write as _;

use super::{Drawing, colour, escape, picture::picture};
use crate::graph::{Until, Work};

/// A picture with a layer for each step, from top to bottom. Dotted lines are for what is waited for, however it ends.
#[must_use]
pub fn svg<'g>(drawing: impl Into<Drawing<'g>>) -> String {
    let drawing = drawing.into();
    let graph = drawing.graph;
    let picture = picture(graph);
    let (wide, high) = (picture.width, picture.height);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {wide} {high}\" width=\"{wide}\" height=\"{high}\" \
         font-family=\"monospace\" font-size=\"13\">\n<title>{}</title>\n",
        escape(graph.name())
    );
    text.push_str(
        "<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" orient=\"auto\">\
         <path d=\"M0 0 8 4 0 8z\" fill=\"#555\"/></marker></defs>\n",
    );
    for line in &picture.lines {
        let dash = if line.until == Until::Ended { " stroke-dasharray=\"4 3\"" } else { "" };
        _ = writeln!(
            text,
            "<path d=\"{}\" fill=\"none\" stroke=\"#555\"{dash} marker-end=\"url(#tip)\"/>",
            line.path()
        );
    }
    for spot in &picture.nodes {
        let node = &graph.nodes()[spot.index.at()];
        let (x, y, wide, high) = (spot.x, spot.y, spot.width, spot.height);
        let round = if matches!(node.work, Work::Join(_)) { high / 2 } else { 4 };
        let fill = colour(drawing.state(spot.index));
        _ = writeln!(
            text,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{wide}\" height=\"{high}\" rx=\"{round}\" fill=\"{fill}\" stroke=\"#333\"/>"
        );
        let middle = x + wide / 2;
        for (line, said, colour) in
            [(18, node.id.as_str(), "#000"), (35, spot.work.as_str(), "#555")]
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

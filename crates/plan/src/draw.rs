//! Graphs as pictures: a tree of text, Mermaid, and SVG, or [where everything is](picture()) for whoever draws it. The same graph is always the same picture.

mod layers;
mod picture;
mod svg;

use std::{collections::BTreeMap, fmt::Write as _};

use unicode_width::UnicodeWidthStr as _;

use crate::{
    event::Index,
    graph::{Graph, Node, Until, Work},
    schedule::{Scheduler, State},
};

pub use picture::{Line, Picture, Spot, picture};
pub use svg::svg;

/// A graph, and where its nodes stand if it runs.
#[derive(Debug, Clone, Copy)]
pub struct Drawing<'g> {
    graph: &'g Graph,
    run: Option<&'g Scheduler>,
}

impl<'g> From<&'g Graph> for Drawing<'g> {
    fn from(graph: &'g Graph) -> Self {
        Self { graph, run: None }
    }
}

impl<'g> From<&'g Scheduler> for Drawing<'g> {
    fn from(run: &'g Scheduler) -> Self {
        Self { graph: run.graph(), run: Some(run) }
    }
}

impl Drawing<'_> {
    fn state(&self, index: Index) -> Option<State> {
        self.run.map(|it| it.state(index))
    }
}

fn work(node: &Node) -> String {
    match &node.work {
        Work::Agent(assignment) => assignment.agent.clone(),
        Work::Join(join) => join.word().to_owned(),
    }
}

/// The part of a node's name that is its own.
fn own_name(node: &Node) -> &str {
    let id = node.id.as_str();
    id.rsplit_once('/').map_or(id, |(_, own)| own)
}

/// A tree by names, each node with who does it, what it waits for, and where it stands.
#[must_use]
pub fn text<'g>(drawing: impl Into<Drawing<'g>>) -> String {
    let drawing = drawing.into();
    let graph = drawing.graph;
    let mut children: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
    for (at, node) in graph.nodes().iter().enumerate() {
        let outer = node.id.as_str().rsplit_once('/').map(|(outer, _)| outer);
        let parent = outer.and_then(|it| graph.find(&crate::graph::NodeId::new(it)));
        children.entry(parent.map(Index::at)).or_default().push(at);
    }
    let mut rows: Vec<(String, usize)> = Vec::new();
    let mut waiting: Vec<(usize, String, bool)> = Vec::new();
    let push = |waiting: &mut Vec<(usize, String, bool)>, of: &[usize], before: &str| {
        let last = of.len().saturating_sub(1);
        let entries =
            of.iter().enumerate().map(|(at, node)| (*node, before.to_owned(), at == last));
        waiting.extend(entries.collect::<Vec<_>>().into_iter().rev());
    };
    push(&mut waiting, children.get(&None).map_or(&[], Vec::as_slice), "");
    while let Some((at, before, last)) = waiting.pop() {
        let branch = if last { "└─ " } else { "├─ " };
        rows.push((format!("{before}{branch}{}", own_name(&graph.nodes()[at])), at));
        let inner = format!("{before}{}", if last { "   " } else { "│  " });
        push(&mut waiting, children.get(&Some(at)).map_or(&[], Vec::as_slice), &inner);
    }
    let widest = rows.iter().map(|(row, _)| row.width()).max().unwrap_or(0);
    let mut text = format!("{}\n", graph.name());
    for (row, at) in rows {
        let node = &graph.nodes()[at];
        let pad = " ".repeat(widest - row.width());
        _ = write!(text, "{row}{pad}  {}", work(node));
        if let Some(state) = drawing.state(Index(u32::try_from(at).unwrap_or(0))) {
            _ = write!(text, ", {}", state.word());
        }
        let needs = node.needs.iter().filter(|it| !is_below(it.on.as_str(), node.id.as_str()));
        let needs: Vec<&str> = needs.map(|it| it.on.as_str()).collect();
        if !needs.is_empty() {
            _ = write!(text, ", after {}", needs.join(", "));
        }
        text.push('\n');
    }
    text
}

fn is_below(id: &str, outer: &str) -> bool {
    id.strip_prefix(outer).is_some_and(|it| it.starts_with('/'))
}

/// A flow chart for Mermaid. Dotted arrows are for what is waited for, however it ends.
#[must_use]
pub fn mermaid<'g>(drawing: impl Into<Drawing<'g>>) -> String {
    let drawing = drawing.into();
    let mut text = "flowchart TD\n".to_owned();
    for (index, node) in drawing.graph.indices().zip(drawing.graph.nodes()) {
        let (open, close) = match node.work {
            Work::Agent(_) => ("[", "]"),
            Work::Join(_) => ("([", "])"),
        };
        let (id, work) = (escape(node.id.as_str()), escape(&work(node)));
        _ = write!(text, "    n{}{open}\"{id}<br/>{work}\"{close}", index.0);
        if let Some(state) = drawing.state(index) {
            _ = write!(text, ":::{}", state.word());
        }
        text.push('\n');
    }
    for index in drawing.graph.indices() {
        for (to, until) in drawing.graph.dependents(index) {
            let arrow = if *until == Until::Ended { "-.->" } else { "-->" };
            _ = writeln!(text, "    n{} {arrow} n{}", index.0, to.0);
        }
    }
    if drawing.run.is_some() {
        for (word, fill) in COLOURS {
            _ = writeln!(text, "    classDef {word} fill:{fill}");
        }
    }
    text
}

/// States with their colours; what is not here is white.
const COLOURS: [(&str, &str); 7] = [
    ("running", "#cfe3ff"),
    ("stopping", "#ffe8c2"),
    ("asking", "#fff3a3"),
    ("completed", "#cdeccd"),
    ("failed", "#f7c9c6"),
    ("skipped", "#e6e6e6"),
    ("cancelled", "#dcd3e8"),
];

fn colour(state: Option<State>) -> &'static str {
    let word = state.map_or("", State::word);
    COLOURS.iter().find(|(it, _)| *it == word).map_or("#ffffff", |(_, fill)| fill)
}

/// For XML, and for Mermaid, which takes the same.
fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            c if c.is_control() => safe.push(' '),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests;

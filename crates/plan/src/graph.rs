//! A plan as it is run: plain nodes with edges between them, validated, in an order that does not change.
//!
//! There is no `for-each`, no sub-plan, no parameter and no race in here any more; `expand` has made them into nodes with
//! stable names, and into [`Join`]s that gather what became of those. Edges always point to nodes that exist, and never in a circle.

mod node;

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::event::Index;

pub use node::{
    Assignment, Budget, Concurrency, Deadlines, Join, Need, Node, NodeId, Retry, Until, Uses, Work,
};

/// A validated graph.
#[derive(Debug, Clone, PartialEq)]
pub struct Graph {
    name: String,
    nodes: Vec<Node>,
    concurrency: Concurrency,
    budget: Budget,
    by_id: HashMap<NodeId, Index>,
    dependents: Vec<Vec<(Index, Until)>>,
}

/// Why nodes are no graph.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GraphError {
    /// Two have the same name.
    #[error("there are two nodes named `{0}`")]
    Duplicate(NodeId),
    /// One needs a node that there is not.
    #[error("`{node}` needs `{on}`, which does not exist")]
    Unknown {
        /// The node.
        node: NodeId,
        /// What it needs.
        on: NodeId,
    },
    /// They need each other.
    #[error("{}", told(.0))]
    Cycle(Vec<NodeId>),
    /// Something that has already begun cannot get new needs.
    #[error("`{0}` has begun already")]
    Begun(NodeId),
    /// What is there must stay as it is.
    #[error("`{0}` is not what it was, and only new tasks can be added")]
    Changed(NodeId),
    /// What is there must stay.
    #[error("`{0}` is not there any more, and only new tasks can be added")]
    Missing(NodeId),
}

fn told(cycle: &[NodeId]) -> String {
    let names: Vec<String> =
        cycle.iter().chain(cycle.first()).map(|it| format!("`{it}`")).collect();
    match names.as_slice() {
        [one, _] => format!("{one} needs itself"),
        names => format!("tasks need each other: {}", names.join(" needs ")),
    }
}

/// Nodes to be added to a graph that runs, all or none.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Injection {
    /// The new nodes. They may need each other, and those that there are.
    pub nodes: Vec<Node>,
    /// Nodes that have not begun, with the new ones that they need from now on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needed_by: Vec<(NodeId, Need)>,
}

/// As it is written into a journal.
#[derive(Serialize, Deserialize)]
struct Stored {
    name: String,
    nodes: Vec<Node>,
    concurrency: Concurrency,
    budget: Budget,
}

impl Serialize for Graph {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { name, nodes, concurrency, budget, .. } = self.clone();
        Stored { name, nodes, concurrency, budget }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Graph {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Stored { name, nodes, concurrency, budget } = Stored::deserialize(deserializer)?;
        let graph = Self::new(name, nodes).map_err(serde::de::Error::custom)?;
        Ok(graph.within(concurrency, budget))
    }
}

impl Graph {
    /// A graph of these nodes.
    ///
    /// # Errors
    /// They are none.
    pub fn new(name: impl Into<String>, nodes: Vec<Node>) -> Result<Self, GraphError> {
        let mut graph = Self {
            name: name.into(),
            nodes: Vec::new(),
            concurrency: Concurrency::default(),
            budget: Budget::default(),
            by_id: HashMap::new(),
            dependents: Vec::new(),
        };
        graph.inject(&Injection { nodes, needed_by: Vec::new() })?;
        Ok(graph)
    }

    /// The same, within these limits.
    #[must_use]
    pub fn within(self, concurrency: Concurrency, budget: Budget) -> Self {
        Self { concurrency, budget, ..self }
    }

    /// What the plan is called.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The nodes, in the order of the file.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// How much runs at once.
    #[must_use]
    pub fn concurrency(&self) -> &Concurrency {
        &self.concurrency
    }

    /// How much it may use.
    #[must_use]
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Where a node is.
    #[must_use]
    pub fn find(&self, id: &NodeId) -> Option<Index> {
        self.by_id.get(id).copied()
    }

    /// One node.
    #[must_use]
    pub fn node(&self, index: Index) -> Option<&Node> {
        self.nodes.get(index.at())
    }

    /// What waits for a node, and for what of it.
    #[must_use]
    pub fn dependents(&self, index: Index) -> &[(Index, Until)] {
        self.dependents.get(index.at()).map_or(&[], Vec::as_slice)
    }

    /// All positions.
    pub fn indices(&self) -> impl Iterator<Item = Index> + use<> {
        (0..u32::try_from(self.nodes.len()).unwrap_or(u32::MAX)).map(Index)
    }

    /// A node and all that waits for it, directly or not.
    #[must_use]
    pub fn from(&self, index: Index) -> Vec<Index> {
        let mut seen = vec![false; self.nodes.len()];
        let mut found = Vec::new();
        let mut waiting = vec![index];
        while let Some(index) = waiting.pop() {
            if index.at() < seen.len() && !std::mem::replace(&mut seen[index.at()], true) {
                found.push(index);
                waiting.extend(self.dependents(index).iter().map(|(to, _)| *to));
            }
        }
        found.sort_unstable();
        found
    }

    /// What must be added so that this becomes another graph. Nodes that are in both must be the same, besides what they need of the
    /// new ones.
    ///
    /// # Errors
    /// Something else is different.
    pub fn growth(&self, to: &Self) -> Result<Injection, GraphError> {
        let mut growth = Injection::default();
        let missing = self.nodes.iter().find(|it| to.find(&it.id).is_none());
        if let Some(node) = missing {
            return Err(GraphError::Missing(node.id.clone()));
        }
        for node in &to.nodes {
            let Some(old) = self.find(&node.id).and_then(|it| self.node(it)) else {
                growth.nodes.push(node.clone());
                continue;
            };
            let is_new = |need: &Need| self.find(&need.on).is_none();
            let (new, needs): (Vec<Need>, Vec<Need>) = node.needs.iter().cloned().partition(is_new);
            if (Node { needs, ..node.clone() }) != *old {
                return Err(GraphError::Changed(node.id.clone()));
            }
            growth.needed_by.extend(new.into_iter().map(|need| (node.id.clone(), need)));
        }
        Ok(growth)
    }

    /// Adds nodes, all or none.
    ///
    /// # Errors
    /// The graph would be none; it is as it was.
    pub fn inject(&mut self, injection: &Injection) -> Result<(), GraphError> {
        let before = self.nodes.len();
        let added = self.add(injection);
        if added.is_err() {
            self.nodes.truncate(before);
            self.dependents.truncate(before);
            self.by_id.retain(|_, index| index.at() < before);
            for dependents in &mut self.dependents {
                dependents.retain(|(to, _)| to.at() < before);
            }
            for (id, need) in &injection.needed_by {
                // Only what was added just now: what was needed before is there still.
                if let Some(index) = self.by_id.get(id)
                    && !self.by_id.contains_key(&need.on)
                {
                    self.nodes[index.at()].needs.retain(|it| it != need);
                }
            }
        }
        added
    }

    fn add(&mut self, injection: &Injection) -> Result<(), GraphError> {
        let before = self.nodes.len();
        for node in &injection.nodes {
            let index = Index(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
            if self.by_id.contains_key(&node.id) {
                return Err(GraphError::Duplicate(node.id.clone()));
            }
            self.by_id.insert(node.id.clone(), index);
            self.nodes.push(node.clone());
            self.dependents.push(Vec::new());
        }
        for index in before..self.nodes.len() {
            for at in 0..self.nodes[index].needs.len() {
                let need = &self.nodes[index].needs[at];
                let (on, until) = (self.known(&self.nodes[index].id, &need.on)?, need.until);
                self.dependents[on.at()].push((Index(u32::try_from(index).unwrap_or(0)), until));
            }
        }
        for (id, need) in &injection.needed_by {
            let to = self.known(id, id)?;
            let on = self.known(id, &need.on)?;
            if on.at() < before {
                return Err(GraphError::Unknown { node: id.clone(), on: need.on.clone() });
            }
            self.nodes[to.at()].needs.push(need.clone());
            self.dependents[on.at()].push((to, need.until));
        }
        self.acyclic()
    }

    fn known(&self, node: &NodeId, on: &NodeId) -> Result<Index, GraphError> {
        let unknown = || GraphError::Unknown { node: node.clone(), on: on.clone() };
        self.find(on).ok_or_else(unknown)
    }

    /// The positions so that each comes after what it needs; those that need each other are missing.
    #[must_use]
    pub fn order(&self) -> Vec<Index> {
        let mut unmet: Vec<u32> =
            self.nodes.iter().map(|it| u32::try_from(it.needs.len()).unwrap_or(u32::MAX)).collect();
        let mut order: Vec<Index> = Vec::with_capacity(self.nodes.len());
        order.extend(self.indices().filter(|it| unmet[it.at()] == 0));
        let mut at = 0;
        while at < order.len() {
            for (to, _) in &self.dependents[order[at].at()] {
                unmet[to.at()] -= 1;
                if unmet[to.at()] == 0 {
                    order.push(*to);
                }
            }
            at += 1;
        }
        order
    }

    fn acyclic(&self) -> Result<(), GraphError> {
        let order = self.order();
        if order.len() == self.nodes.len() {
            return Ok(());
        }
        let mut done = vec![false; self.nodes.len()];
        order.iter().for_each(|it| done[it.at()] = true);
        // Each that is left needs one that is left: following that leads into the circle.
        let left = |at: usize| {
            let needs = self.nodes[at].needs.iter().filter_map(|it| self.find(&it.on));
            needs.map(Index::at).find(|it| !done[*it])
        };
        let mut path: Vec<usize> = Vec::new();
        let mut at = done.iter().position(|it| !it).unwrap_or(0);
        while !path.contains(&at) {
            path.push(at);
            at = left(at).unwrap_or(at);
        }
        let start = path.iter().position(|it| *it == at).unwrap_or(0);
        Err(GraphError::Cycle(path[start..].iter().map(|it| self.nodes[*it].id.clone()).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::Template;

    fn node(id: &str, needs: &[&str]) -> Node {
        Node::agent(id, "any", Template::plain(format!("do {id}"))).needs(needs)
    }

    fn graph(nodes: Vec<Node>) -> Graph {
        Graph::new("test", nodes).unwrap()
    }

    #[test]
    fn what_a_graph_has_more_than_another_can_be_added() {
        let old = graph(vec![node("a", &[]), node("b", &["a"])]);
        let new = graph(vec![node("a", &[]), node("x", &["a"]), node("b", &["a", "x"])]);
        let growth = old.growth(&new).unwrap();
        assert_eq!(growth.nodes, [node("x", &["a"])]);
        let need = Need::completed(NodeId::new("x"));
        assert_eq!(growth.needed_by, [(NodeId::new("b"), need)]);
        let mut grown = old.clone();
        grown.inject(&growth).unwrap();
        assert_eq!(grown.growth(&new), Ok(Injection::default()));

        let other = graph(vec![node("a", &[]), node("b", &[])]);
        assert_eq!(old.growth(&other), Err(GraphError::Changed(NodeId::new("b"))));
        let less = graph(vec![node("a", &[])]);
        assert_eq!(old.growth(&less), Err(GraphError::Missing(NodeId::new("b"))));
    }
}

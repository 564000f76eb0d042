//! Which task started which.

use std::collections::BTreeMap;

use super::{meta::Meta, store::Standing};
use crate::id::TaskId;

/// A task with those that it started.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// The task.
    pub meta: Meta,
    /// Whether it still lives.
    pub standing: Standing,
    /// Those that it started, the oldest first.
    pub children: Vec<Node>,
}

/// The trees of these tasks, the oldest first. A task whose parent is not among them is the root of one.
#[must_use]
pub fn tree(metas: Vec<(Meta, Standing)>) -> Vec<Node> {
    let known: BTreeMap<TaskId, Option<TaskId>> =
        metas.iter().map(|(meta, _)| (meta.id, meta.parent)).collect();
    let mut below: BTreeMap<Option<TaskId>, Vec<(Meta, Standing)>> = BTreeMap::new();
    for (meta, standing) in metas {
        // Parents are older than their children; metadata that says something else was edited, and would make circles.
        let parent = meta.parent.filter(|it| known.contains_key(it) && *it < meta.id);
        below.entry(parent).or_default().push((meta, standing));
    }
    fn grow(
        below: &mut BTreeMap<Option<TaskId>, Vec<(Meta, Standing)>>,
        of: Option<TaskId>,
    ) -> Vec<Node> {
        let mut children = below.remove(&of).unwrap_or_default();
        children.sort_by_key(|(meta, _)| meta.id);
        let node = |(meta, standing): (Meta, Standing)| {
            let children = grow(below, Some(meta.id));
            Node { meta, standing, children }
        };
        children.into_iter().map(node).collect()
    }
    grow(&mut below, None)
}

impl Node {
    /// The task and all below it, each with how deep it is below this one.
    #[must_use]
    pub fn flat(&self) -> Vec<(usize, &Node)> {
        let mut all = vec![(0, self)];
        for child in &self.children {
            all.extend(child.flat().into_iter().map(|(depth, node)| (depth + 1, node)));
        }
        all
    }

    /// The node of a task, wherever it is.
    #[must_use]
    pub fn find(&self, id: TaskId) -> Option<&Node> {
        self.flat().into_iter().map(|(_, node)| node).find(|it| it.meta.id == id)
    }
}

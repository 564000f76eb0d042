//! Which trace the spans of tasks belong to, for those that go on from them.

use super::{meta::Meta, store::Store};
use crate::telemetry::TraceId;

impl Store {
    /// Tasks that begin from now on say that their spans belong to this trace, which somebody else began.
    #[must_use]
    pub fn within(self, trace: Option<TraceId>) -> Self {
        if let Some(trace) = trace {
            let _ = self.inner().within.set(trace);
        }
        self
    }

    /// The trace that the span of a task belongs to: the one that somebody else began, or that of the first task of its tree.
    #[must_use]
    pub fn trace(&self, meta: &Meta) -> TraceId {
        if let Some(trace) = meta.trace {
            return trace;
        }
        let (mut root, mut above) = (meta.id, meta.parent);
        // Parents are older than their children; metadata that says something else was edited.
        while let Some(parent) = above.filter(|it| *it < root) {
            root = parent;
            above = self.written_meta(parent).ok().and_then(|it| it.parent);
        }
        TraceId::of(root)
    }
}

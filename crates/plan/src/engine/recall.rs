//! One attempt: what an earlier run knows, or what the executor does now.
//!
//! A result is kept under the files as the task left them, so whoever recalls it later has its effects, too: either the task changed
//! nothing, or what it changed is there. Files that somebody else may have changed meanwhile prove nothing, so a task that changes
//! something must hold it ([`Writes::Held`]) for its result to be kept.

use std::sync::Arc;

use agents_system::cache::Digest;

use super::{Executor, Ground, Life, Start};
use crate::{
    event::{Ending, Outcome},
    journal::{Fingerprint, Memo},
};

/// Whether what a node changes is changed by nobody else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Writes {
    Held,
    Unknown,
}

/// How far results of earlier runs are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recall {
    /// Where they stand for a task, it is not run.
    Known,
    /// Not at all: everything is done anew, and takes the place of what was known.
    Nothing,
}

/// What came of an attempt.
pub(super) struct Tried {
    pub(super) outcome: Outcome,
    /// What the result depends on, if it can stand for others.
    pub(super) keep: Option<Fingerprint>,
}

/// All that an attempt needs.
pub(super) struct Trial<E> {
    pub(super) executor: Arc<E>,
    pub(super) memo: Option<(Arc<Memo>, Recall)>,
    /// What the node is told, whatever it is called and wherever it stands.
    pub(super) inputs: Digest,
    pub(super) writes: Writes,
}

impl<E: Executor> Trial<E> {
    pub(super) async fn run(self, start: Start, life: Life) -> Tried {
        let Some((memo, recall)) = &self.memo else {
            return Tried { outcome: self.executor.run(start, life).await, keep: None };
        };
        let before = self.executor.ground(&start).await;
        if *recall == Recall::Known
            && let Some(ground) = before
            && let Ok(Some(outcome)) = memo.recall(&self.fingerprint(ground))
        {
            return Tried { outcome, keep: None };
        }
        life.beat();
        let outcome = self.executor.run(start.clone(), life).await;
        let (Some(before), Ending::Completed) = (before, outcome.ending) else {
            return Tried { outcome, keep: None };
        };
        let after = self.executor.ground(&start).await;
        let stands = |after: &Ground| {
            after.definition == before.definition
                && (after.tree == before.tree || self.writes == Writes::Held)
        };
        let keep = after.filter(stands).map(|it| self.fingerprint(it));
        Tried { outcome, keep }
    }

    fn fingerprint(&self, ground: Ground) -> Fingerprint {
        Fingerprint { definition: ground.definition, tree: ground.tree, inputs: self.inputs }
    }
}

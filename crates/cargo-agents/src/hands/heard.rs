//! What is found out while agents work: hooks that break, servers that do not start, secrets that cannot be read.

use std::sync::{Mutex, OnceLock, PoisonError};

use agents_system::finding::Finding;
use agents_task::secret::vault::Hear;

/// Each thing once, in the order in which it was found out.
#[derive(Default)]
pub(crate) struct Heard {
    all: Mutex<Vec<Finding>>,
    tell: OnceLock<Hear>,
}

impl Heard {
    /// Whoever works for as long as somebody stands before a door has no end at which it could tell: it does so at once.
    pub(crate) fn tell_at_once(&self, tell: Hear) {
        drop(self.tell.set(tell));
    }

    pub(crate) fn hear(&self, finding: Finding) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        if all.contains(&finding) {
            return;
        }
        if let Some(tell) = self.tell.get() {
            tell(finding.clone());
        }
        all.push(finding);
    }

    pub(crate) fn all(&self) -> Vec<Finding> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

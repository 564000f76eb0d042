//! What a task kept because it was too long to be shown.

use std::sync::{Arc, Mutex, PoisonError};

use agents_tool::artifacts::{ArtifactId, Artifacts};

/// The artifacts of one task: those of the tree, with a list of what this one kept.
pub(super) struct Kept {
    pub(super) inner: Arc<dyn Artifacts>,
    pub(super) ids: Mutex<Vec<String>>,
}

impl Kept {
    pub(super) fn ids(&self) -> Vec<String> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Artifacts for Kept {
    fn keep(&self, text: &str) -> std::io::Result<ArtifactId> {
        let id = self.inner.keep(text)?;
        self.ids.lock().unwrap_or_else(PoisonError::into_inner).push(id.to_string());
        Ok(id)
    }

    fn read(&self, id: &ArtifactId) -> std::io::Result<String> {
        self.inner.read(id)
    }
}

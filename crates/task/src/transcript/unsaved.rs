//! Metadata of runs that have ended, and that could not be written then: the disk was full, or the directory not to be written to.
//!
//! It is tried again whenever other metadata is written, and once more when the store goes. Until then such a run looks alive to other
//! programs; once this one is gone, it looks interrupted, and can be resumed.

use std::{
    io,
    sync::{Mutex, PoisonError},
};

use super::store::Inner;
use crate::id::TaskId;

/// The most that waits. Whoever has more to write than this has no disk.
const MOST: usize = 10_000;

/// What waits to be written.
#[derive(Default)]
pub(super) struct Unsaved(Mutex<Vec<(TaskId, Vec<u8>)>>);

impl Inner {
    /// Replaces the metadata of a run.
    pub(super) fn save(&self, id: TaskId, text: &[u8]) -> io::Result<()> {
        self.replace(id, text)?;
        self.save_rest();
        Ok(())
    }

    /// Keeps it for the next time that something can be written.
    pub(super) fn save_later(&self, id: TaskId, text: Vec<u8>) {
        let mut waiting = self.unsaved.0.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() < MOST {
            waiting.push((id, text));
        }
    }

    /// Tries again what could not be written.
    fn save_rest(&self) {
        let mut waiting = self.unsaved.0.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some((id, text)) = waiting.last() {
            if self.replace(*id, text).is_err() {
                return;
            }
            waiting.pop();
        }
    }

    fn replace(&self, id: TaskId, text: &[u8]) -> io::Result<()> {
        agents_system::atomic::write(&self.metadata(id), text)?;
        self.syncer.directory(self.dir().to_owned());
        Ok(())
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.save_rest();
    }
}

//! Who goes on from a task: one at a time.
//!
//! Two that went on from the same task would do everything that comes next twice. So whoever resumes one holds a lock that bears its id
//! for as long as what it started lives, beside the locks of owners and with the same properties: it is gone with its program.

use std::{io, sync::Arc};

use agents_system::lock::Lock;

use super::{Standing, Store, TranscriptError, store::Inner};
use crate::id::TaskId;

/// The right to go on from a task. It ends with its last copy.
#[derive(Debug, Clone)]
pub struct Claim(#[expect(dead_code, reason = "it is held")] Arc<Lock>);

impl PartialEq for Claim {
    /// There is only one at a time.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Store {
    /// The right to go on from a task; `None` if somebody does already.
    ///
    /// # Errors
    /// It cannot be told: the directory cannot be written.
    pub fn claim(&self, id: TaskId) -> Result<Option<Claim>, TranscriptError> {
        let inner = self.inner();
        let failed = |source| TranscriptError::Io { path: inner.dir().to_owned(), source };
        loop {
            let Some(lock) = inner.claim(id).map_err(failed)? else { return Ok(None) };
            // Whoever tidies up may have removed the file between its being opened and locked; then the next one is not this one.
            if inner.is_alive(&id.to_string()) {
                return Ok(Some(Claim(Arc::new(lock))));
            }
        }
    }

    /// The task that goes on from this one now, if its metadata is there already.
    pub(crate) fn successor(&self, id: TaskId) -> Option<TaskId> {
        let (metas, _) = self.list().ok()?;
        let goes_on = metas.iter().filter(|it| it.resumed_from == Some(id));
        goes_on.filter(|it| self.standing(it) == Standing::Running).map(|it| it.id).max()
    }
}

impl Inner {
    fn claim(&self, id: TaskId) -> io::Result<Option<Lock>> {
        let owners = self.owners()?;
        // Somebody who only looks whether it is held holds it for a moment.
        for _ in 0..3 {
            if let Some(lock) = Lock::try_acquire(&owners.join(format!("{id}.lock")))? {
                return Ok(Some(lock));
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        Ok(None)
    }
}

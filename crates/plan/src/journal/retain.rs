//! All runs: which there are, whether they are sound, and which may go.

use std::time::Duration;

use super::{
    Access, JournalError, Journals, Options, Origin, RunId,
    store::{Head, Store},
};
use crate::event::{Millis, PlanEnding, What};

/// One run in a list.
#[derive(Debug)]
pub struct Summary {
    /// Which.
    pub id: RunId,
    /// The plan.
    pub name: String,
    /// When it began.
    pub created: Millis,
    /// When something happened last.
    pub changed: Millis,
    /// Where it comes from.
    pub origin: Origin,
    /// How it ended; `None` if it has not.
    pub ending: Option<PlanEnding>,
}

/// A run, or which one cannot be read and why.
pub type Listed = Result<Summary, (RunId, JournalError)>;

/// Whether a journal is sound.
#[derive(Debug)]
pub struct Checked {
    /// How many events there are.
    pub events: u64,
    /// What is wrong, in words.
    pub problems: Vec<String>,
}

/// Which runs stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// The newest ones that have ended.
    pub newest: usize,
    /// And all that changed in this time.
    pub young: Duration,
}

impl Default for Retention {
    fn default() -> Self {
        Self { newest: 50, young: Duration::from_secs(14 * 24 * 60 * 60) }
    }
}

impl Journals {
    /// All runs, the newest first. Those that cannot be read come with the reason.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn list(&self) -> Result<Vec<Listed>, JournalError> {
        let mut runs = Vec::new();
        for id in self.ids()? {
            match self.summary(&id) {
                Ok(Some(summary)) => runs.push(Ok(summary)),
                // It ended before it began.
                Ok(None) | Err(JournalError::Unknown(_)) => {}
                Err(error) => runs.push(Err((id, error))),
            }
        }
        runs.sort_by_key(|run| {
            let created = run.as_ref().map_or(Millis(0), |it| it.created);
            std::cmp::Reverse((
                created,
                run.as_ref().map_or_else(|it| it.0.clone(), |it| it.id.clone()),
            ))
        });
        Ok(runs)
    }

    /// The names of all runs, in no order.
    ///
    /// # Errors
    /// The directory cannot be read. One that does not exist is empty.
    pub fn ids(&self) -> Result<Vec<RunId>, JournalError> {
        let failed = |source| JournalError::Io { path: self.dir.clone(), source };
        let entries = match fs_err::read_dir(&self.dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed(error)),
        };
        let mut ids = Vec::new();
        for entry in entries {
            let entry = entry.map_err(failed)?;
            let is_dir = entry.file_type().is_ok_and(|it| it.is_dir());
            ids.extend(entry.file_name().to_str().filter(|_| is_dir).and_then(RunId::parse));
        }
        Ok(ids)
    }

    /// One run, in a few words; `None` if it ended before it began.
    ///
    /// # Errors
    /// There is none, or it cannot be read.
    pub fn summary(&self, id: &RunId) -> Result<Option<Summary>, JournalError> {
        let view = self.view(id)?;
        let Some(Head { name, created, origin }) = view.store.head()? else { return Ok(None) };
        let scheduler = view.now()?;
        let changed = scheduler.now().max(created);
        Ok(Some(Summary {
            id: id.clone(),
            name,
            created,
            changed,
            origin,
            ending: scheduler.ending(),
        }))
    }

    /// Looks for damage: SQLite's own check, then every event in its place, then the state that they lead to.
    ///
    /// # Errors
    /// There is no such run, or its database cannot even be opened.
    pub fn check(&self, id: &RunId) -> Result<Checked, JournalError> {
        if !self.file(id).exists() {
            return Err(JournalError::Unknown(id.clone()));
        }
        let store = Store::open(&self.file(id), Access::Read, &Options::default())?;
        let mut problems = store.damage()?;
        let replayed = store.replay(u64::MAX);
        if let Err(error) = replayed {
            let source = std::error::Error::source(&error).map(|it| format!(": {it}"));
            problems.push(format!("{error}{}", source.unwrap_or_default()));
        }
        store
            .read(0, u64::MAX, |seq, event| {
                if let What::Ended { outcome, .. } | What::Recalled { outcome, .. } = &event.what
                    && let Err(error) = outcome.output.check()
                {
                    problems.push(format!("the output of event {seq} cannot be read: {error}"));
                }
                Ok(())
            })
            .or_else(|error| if problems.is_empty() { Err(error) } else { Ok(()) })?;
        Ok(Checked { events: store.last().unwrap_or(0), problems })
    }

    /// Removes runs that have ended and are too old, and what is left of those that never began. What runs, or could be resumed, stays.
    ///
    /// # Errors
    /// The directory cannot be read, or something cannot be removed.
    pub fn gc(&self, keep: &Retention, now: Millis) -> Result<Vec<RunId>, JournalError> {
        let mut ended: Vec<(Millis, RunId)> = Vec::new();
        let mut gone = Vec::new();
        for id in self.ids()? {
            match self.summary(&id) {
                Ok(Some(summary)) if summary.ending.is_some() => ended.push((summary.changed, id)),
                Ok(None) | Err(JournalError::Unknown(_)) => gone.extend(self.remove(&id)?),
                Ok(Some(_)) | Err(_) => {}
            }
        }
        ended.sort();
        for (changed, id) in ended.into_iter().rev().skip(keep.newest) {
            if now.since(changed) > keep.young {
                gone.extend(self.remove(&id)?);
            }
        }
        Ok(gone)
    }

    fn remove(&self, id: &RunId) -> Result<Option<RunId>, JournalError> {
        let _lock = match self.lock(id) {
            Ok(lock) => lock,
            Err(JournalError::Locked(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        let path = self.home(id);
        let failed = |source| JournalError::Io { path: path.clone(), source };
        fs_err::remove_dir_all(&path).map_err(failed)?;
        Ok(Some(id.clone()))
    }
}

//! The directory of transcripts.

use std::{
    fs::TryLockError,
    io,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use agents_system::{lock::Lock, private};
use camino::{Utf8Path, Utf8PathBuf};
use uuid::Uuid;

use super::{
    TranscriptError,
    caught_up::caught_up,
    chain::{self, ChainKey, Verdict},
    meta::{Meta, Stamp, State},
    reader::{self, Follow, Loaded, Stretch},
    retention::{self, Known, Retention},
    sync::Syncer,
    unsaved::Unsaved,
    writer::{Opening, Writer},
};
use crate::{effective::EffectiveAgent, id::TaskId, telemetry::TraceId};

pub(super) const RECORDS: &str = ".jsonl";
const METADATA: &str = ".meta.json";
const OWNERS: &str = "owners";
/// More files than this are not kept open: a process may have ten thousand tasks and a thousand files.
const MAX_OPEN: usize = 256;
/// Where transcripts are kept. Cheap to clone.
#[derive(Clone)]
pub struct Store(Arc<Inner>);

pub(super) struct Inner {
    dir: Utf8PathBuf,
    key: Option<ChainKey>,
    retention: Retention,
    owner: OnceLock<Result<Owner, String>>,
    problems: Mutex<Vec<String>>,
    open: AtomicUsize,
    /// Whether a sweep is going to come.
    sweeping: AtomicBool,
    /// Whether tasks end whose transcripts cannot be written.
    insists: AtomicBool,
    /// What all tasks of this program are a part of.
    pub(super) within: OnceLock<TraceId>,
    pub(super) unsaved: Unsaved,
    pub(super) syncer: Syncer,
}

/// This program, as the owner of the runs that it has begun.
struct Owner {
    name: String,
    file: Utf8PathBuf,
    _lock: Lock,
}

impl Drop for Owner {
    fn drop(&mut self) {
        let _ = fs_err::remove_file(&self.file);
    }
}

/// Whether a run still lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// The program that runs it is there.
    Running,
    /// That program is gone, and the run did not come to its end. It can be resumed.
    Interrupted,
    /// It ended like this.
    Ended(State),
}

impl Standing {
    /// In one word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Interrupted => "interrupted",
            Self::Ended(state) => state.word(),
        }
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("dir", &self.0.dir).finish_non_exhaustive()
    }
}

impl Store {
    /// In this directory, which is made when something is written.
    #[must_use]
    pub fn new(dir: &Utf8Path) -> Self {
        Self::with(dir, Retention::default(), None)
    }

    /// With rules for what is kept, and a chain if there is a key for one.
    #[must_use]
    pub fn with(dir: &Utf8Path, retention: Retention, key: Option<ChainKey>) -> Self {
        Self(Arc::new(Inner {
            dir: dir.to_owned(),
            key,
            retention,
            owner: OnceLock::new(),
            problems: Mutex::default(),
            open: AtomicUsize::new(0),
            sweeping: AtomicBool::new(false),
            insists: AtomicBool::new(false),
            within: OnceLock::new(),
            unsaved: Unsaved::default(),
            syncer: Syncer::default(),
        }))
    }

    /// From now on a task ends, before it asks its model or a tool for anything more, once something of it cannot be written: nothing
    /// happens that a later run would not know of. Without this, tasks go on, and what is missing is told.
    #[must_use]
    pub fn insisting(self) -> Self {
        self.0.insists.store(true, Ordering::Relaxed);
        self
    }

    /// Whether something can be written here: the directory is made, and this program owns what it begins.
    ///
    /// # Errors
    /// It cannot.
    pub fn ready(&self) -> Result<(), TranscriptError> {
        let failed = |why: String| TranscriptError::Io {
            path: self.0.dir.clone(),
            source: io::Error::other(why),
        };
        self.0.owner().map(drop).map_err(failed)
    }

    pub(super) fn inner(&self) -> &Inner {
        &self.0
    }

    /// The directory.
    #[must_use]
    pub fn dir(&self) -> &Utf8Path {
        &self.0.dir
    }

    /// The file with the records of a task.
    #[must_use]
    pub fn path(&self, id: TaskId) -> Utf8PathBuf {
        self.0.records(id)
    }

    /// Reads the transcript of a task while it grows.
    #[must_use]
    pub fn follow(&self, id: TaskId) -> Follow {
        Follow::new(self.path(id))
    }

    /// A part of a transcript: the records from a byte on, 0 at first and [`Stretch::next`] then, and about so many bytes of them.
    ///
    /// # Errors
    /// The file cannot be read. One that does not exist yet has nothing in it.
    pub fn stretch(&self, id: TaskId, from: u64, most: u64) -> Result<Stretch, TranscriptError> {
        let path = self.path(id);
        let failed = |source| TranscriptError::Io { path: path.clone(), source };
        reader::stretch(&path, from, most).map_err(failed)
    }

    /// Begins the transcript of a task. It always can: what cannot be written is among the [`problems`](Self::problems), and the
    /// task runs all the same.
    #[must_use]
    pub fn begin(&self, opening: Opening) -> Writer {
        self.open(opening, None)
    }

    /// The same, with what the task is told: until it has its turn, nothing else says so.
    #[must_use]
    pub fn begin_assigned(&self, opening: Opening, agent: &EffectiveAgent) -> Writer {
        self.open(opening, Some(agent))
    }

    fn open(&self, opening: Opening, assignment: Option<&EffectiveAgent>) -> Writer {
        let writer = Writer::open(Arc::clone(&self.0), opening, assignment);
        // Many that begin together are followed by one sweep.
        if self.0.retention != Retention::FOREVER && !self.0.sweeping.swap(true, Ordering::Relaxed)
        {
            let store = Arc::downgrade(&self.0);
            self.0.syncer.work(move || {
                if let Some(store) = store.upgrade() {
                    store.sweeping.store(false, Ordering::Relaxed);
                    // Who cannot clean up says so when somebody wants it done.
                    let _ = Self(store).sweep();
                }
            });
        }
        writer
    }

    /// What could not be written since the last time that somebody asked.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.problems.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits until everything that was written so far has reached the disk.
    ///
    /// # Errors
    /// It has not.
    pub fn settle(&self) -> Result<(), TranscriptError> {
        let failed = |source| TranscriptError::Io { path: self.0.dir.clone(), source };
        self.0.syncer.settle().map_err(failed)
    }

    /// The ids of all tasks, the oldest first.
    ///
    /// # Errors
    /// The directory cannot be read. One that does not exist is empty.
    pub fn ids(&self) -> Result<Vec<TaskId>, TranscriptError> {
        let mut ids: Vec<TaskId> =
            self.names()?.iter().filter_map(|it| id_of(it, METADATA)).collect();
        ids.sort_unstable();
        Ok(ids)
    }

    pub(super) fn names(&self) -> Result<Vec<String>, TranscriptError> {
        let failed = |source| TranscriptError::Io { path: self.0.dir.clone(), source };
        let entries = match fs_err::read_dir(&self.0.dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed(error)),
        };
        let name = |entry: io::Result<fs_err::DirEntry>| {
            entry.map(|it| it.file_name().to_string_lossy().into_owned())
        };
        entries.map(name).collect::<io::Result<_>>().map_err(failed)
    }

    /// The metadata of all tasks, the oldest first, and what is wrong with those that cannot be read.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn list(&self) -> Result<(Vec<Meta>, Vec<TranscriptError>), TranscriptError> {
        let (mut metas, mut wrong) = (Vec::new(), Vec::new());
        for id in self.ids()? {
            match self.meta(id) {
                Ok(meta) => metas.push(meta),
                Err(error) => wrong.push(error),
            }
        }
        Ok((metas, wrong))
    }

    /// The one task whose id begins like this, or whose [short form](TaskId::short) does. Case and surrounding space do not count.
    ///
    /// # Errors
    /// There is none, there are more, or the directory cannot be read.
    pub fn find_by_prefix(&self, prefix: &str) -> Result<TaskId, TranscriptError> {
        let wanted = prefix.trim().to_ascii_lowercase();
        let not_found = || TranscriptError::NotFound(prefix.trim().to_owned());
        if wanted.is_empty() {
            return Err(not_found());
        }
        let fits = |id: &TaskId| {
            let text = id.to_string();
            text.starts_with(&wanted) || id.tail().starts_with(&wanted)
        };
        let mut found: Vec<TaskId> = self.ids()?.into_iter().filter(fits).collect();
        match found.len() {
            0 => Err(not_found()),
            1 => found.pop().ok_or_else(not_found),
            _ => Err(TranscriptError::Ambiguous { prefix: prefix.to_owned(), candidates: found }),
        }
    }

    /// The metadata of a task. What a program that died could not write any more is taken from the records.
    ///
    /// # Errors
    /// There is none, or it is not what we write.
    pub fn meta(&self, id: TaskId) -> Result<Meta, TranscriptError> {
        let meta = self.written_meta(id)?;
        if self.standing(&meta) != Standing::Interrupted {
            return Ok(meta);
        }
        match self.text(id) {
            Ok(text) => Ok(caught_up(reader::read(meta, &text))),
            Err(_) => Ok(meta),
        }
    }

    /// The metadata as it stands in the file.
    pub(super) fn written_meta(&self, id: TaskId) -> Result<Meta, TranscriptError> {
        let path = self.0.metadata(id);
        let bytes = match fs_err::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(TranscriptError::NotFound(id.to_string()));
            }
            Err(source) => return Err(TranscriptError::Io { path, source }),
        };
        let meta: Result<Meta, _> = serde_json::from_slice(&bytes);
        // What is removed or resumed by it would be somebody else's.
        let own = meta.and_then(|it| match it.id == id {
            true => Ok(it),
            false => Err(serde::de::Error::custom("it is that of another task")),
        });
        own.map_err(|source| TranscriptError::Malformed { path, source })
    }

    fn text(&self, id: TaskId) -> Result<String, TranscriptError> {
        let path = self.0.records(id);
        match fs_err::read(&path) {
            Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(TranscriptError::Lost(id)),
            Err(source) => Err(TranscriptError::Io { path, source }),
        }
    }

    /// A whole transcript, with what is wrong with it.
    ///
    /// # Errors
    /// It is not there, or cannot be read at all.
    pub fn load(&self, id: TaskId) -> Result<Loaded, TranscriptError> {
        let meta = self.meta(id)?;
        Ok(reader::read(meta, &self.text(id)?))
    }

    /// A task and those that it goes on from, the first one first.
    ///
    /// # Errors
    /// One of them is not there, or cannot be read at all.
    pub fn segments(&self, id: TaskId) -> Result<Vec<Loaded>, TranscriptError> {
        let mut segments: Vec<Loaded> = Vec::new();
        let mut next = Some(id);
        while let Some(id) = next {
            // Only somebody who edits metadata by hand can make a circle.
            if segments.iter().any(|it| it.meta.id == id) {
                break;
            }
            let loaded = self.load(id)?;
            next = loaded.meta.resumed_from;
            segments.push(loaded);
        }
        segments.reverse();
        Ok(segments)
    }

    /// Whether a run still lives.
    #[must_use]
    pub fn standing(&self, meta: &Meta) -> Standing {
        if meta.state.is_terminal() {
            return Standing::Ended(meta.state);
        }
        let alive = meta.owner.as_deref().is_some_and(|owner| self.0.is_alive(owner));
        if alive { Standing::Running } else { Standing::Interrupted }
    }

    /// Whether a transcript is as it was written; `None` without a key to tell.
    ///
    /// # Errors
    /// It is not there, or cannot be read at all.
    pub fn verify(&self, id: TaskId) -> Result<Option<Verdict>, TranscriptError> {
        let Some(key) = &self.0.key else { return Ok(None) };
        let meta = self.written_meta(id)?;
        Ok(Some(chain::verify(key, &meta, &self.text(id)?)))
    }

    /// Removes what is not to be kept any longer; never a run that lives, nor one that another that is kept goes on from.
    ///
    /// # Errors
    /// The directory cannot be read, or a file cannot be removed.
    pub fn sweep(&self) -> Result<Vec<TaskId>, TranscriptError> {
        self.sweep_by(self.0.retention, Stamp::now())
    }

    /// The same by other rules, as if it were then.
    ///
    /// # Errors
    /// The directory cannot be read, or a file cannot be removed.
    pub fn sweep_by(
        &self,
        retention: Retention,
        now: Stamp,
    ) -> Result<Vec<TaskId>, TranscriptError> {
        let (metas, _) = self.list()?;
        let known: Vec<Known> = metas
            .iter()
            .map(|meta| Known {
                id: meta.id,
                needs: meta.resumed_from,
                last: meta.finished_at.unwrap_or(meta.started_at),
                lives: self.standing(meta) == Standing::Running,
            })
            .collect();
        let expired = retention::expired(&known, retention, now);
        let remove = |path: Utf8PathBuf| match fs_err::remove_file(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(TranscriptError::Io { path, source })
            }
            _ => Ok(()),
        };
        for id in &expired {
            // In this order, what is left by a crash is something that belongs to nothing.
            remove(self.0.metadata(*id))?;
            remove(self.0.records(*id))?;
        }
        self.remove_orphans();
        Ok(expired)
    }
}

pub(super) fn id_of(name: &str, ending: &str) -> Option<TaskId> {
    TaskId::parse(name.strip_suffix(ending)?)
}

impl Inner {
    pub(super) fn key(&self) -> Option<&ChainKey> {
        self.key.as_ref()
    }

    pub(super) fn dir(&self) -> &Utf8Path {
        &self.dir
    }

    pub(super) fn records(&self, id: TaskId) -> Utf8PathBuf {
        self.dir.join(format!("{id}{RECORDS}"))
    }

    pub(super) fn metadata(&self, id: TaskId) -> Utf8PathBuf {
        self.dir.join(format!("{id}{METADATA}"))
    }

    pub(super) fn insists(&self) -> bool {
        self.insists.load(Ordering::Relaxed)
    }

    pub(super) fn problem(&self, what: String) {
        self.problems.lock().unwrap_or_else(PoisonError::into_inner).push(what);
    }

    /// Whether one more file may be kept open. Whoever was told so gives it back with [`Self::closed`].
    pub(super) fn may_keep_open(&self) -> bool {
        let more = |open: usize| (open < MAX_OPEN).then_some(open + 1);
        self.open.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    pub(super) fn closed(&self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }

    /// The name that this program owns its runs by; makes the directory, and takes the lock, the first time.
    pub(super) fn owner(&self) -> Result<&str, String> {
        let owner = self.owner.get_or_init(|| {
            let failed = |error: io::Error| error.to_string();
            let owners = self.owners().map_err(failed)?;
            let name = Uuid::now_v7().hyphenated().to_string();
            let file = owners.join(format!("{name}.lock"));
            match Lock::try_acquire(&file).map_err(failed)? {
                Some(lock) => Ok(Owner { name, file, _lock: lock }),
                None => Err(format!("`{file}` is held by somebody else")),
            }
        });
        owner.as_ref().map(|it| it.name.as_str()).map_err(Clone::clone)
    }

    /// Where locks are; made if there is no such directory.
    pub(super) fn owners(&self) -> io::Result<Utf8PathBuf> {
        private::make_dir(&self.dir)?;
        let owners = self.locks();
        private::make_dir(&owners)?;
        Ok(owners)
    }

    /// The same, made or not.
    pub(super) fn locks(&self) -> Utf8PathBuf {
        self.dir.join(OWNERS)
    }

    pub(super) fn is_alive(&self, owner: &str) -> bool {
        // What stands in a file is not the name of a file until it looks like one.
        let Ok(owner) = Uuid::try_parse(owner) else { return false };
        let path = self.locks().join(format!("{}.lock", owner.hyphenated()));
        let Ok(file) = fs_err::File::open(path) else { return false };
        // Shared: two that look at the same time do not take each other for the owner.
        matches!(file.into_parts().0.try_lock_shared(), Err(TryLockError::WouldBlock))
    }
}

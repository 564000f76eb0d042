//! What happened, kept so that nothing of it is lost: one SQLite database for each run of a plan.
//!
//! Events are appended before anything is done about them ([`Journal::append`] returns when they are on the disk), many of them with one
//! flush. The state is had by replaying them ([`Journals::open`], [`View::at`]). A run belongs to one process at a time, which holds its lock; looking at
//! it ([`Journals::view`]) needs none.
//!
//! # On disk
//! Below the directory of plans, by default `plans` in our state directory: `<run>/journal.db` (with SQLite's own `-wal` and `-shm` beside
//! it), `<run>/lock`, and `memo.db` for results that other runs may use again.
//! The version of a database is its `user_version`. Older ones are brought up to date when they are opened; newer ones are refused.
//!
//! # What can happen to it
//! | what | then |
//! |---|---|
//! | the process is killed, the power fails | every event that was acknowledged is there; the attempts that ran are started again |
//! | the end of the write-ahead log is damaged | what was flushed before it is there, up to a whole group of events |
//! | the disk is full | nothing more is acknowledged, what runs is stopped; resume when there is room |
//! | the database itself is damaged | it is not opened, or [`check`](Journals::check) names what does not fit |

mod fork;
mod memo;
mod retain;
mod store;

use std::{
    fmt,
    sync::mpsc,
    thread::{self, JoinHandle},
};

use agents_system::{
    explain::{Code, ErrorKind, Explain},
    lock::Lock,
    private,
};
use camino::{Utf8Path, Utf8PathBuf};
use tokio::sync::oneshot;
use uuid::Uuid;

use crate::{
    event::{Event, Millis, Rejected},
    graph::Graph,
    schedule::Scheduler,
};

pub use memo::{Fingerprint, Memo};
pub use retain::{Checked, Listed, Retention, Summary};
use store::{Access, Store};
pub use store::{Moment, Origin};

/// The most events that one flush takes.
const MAX_GROUP: usize = 4096;

/// Which run of a plan.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(String);

impl RunId {
    /// A new one, with the name of the plan in front.
    #[must_use]
    pub fn new(plan: &str) -> Self {
        let random = Uuid::now_v7().simple().to_string();
        Self(format!("{plan}-{}", &random[random.len() - 8..]))
    }

    /// Reads one; `None` for what is none.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let fine = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let is_name = !text.is_empty() && text.len() <= 128 && text.chars().all(fine);
        is_name.then(|| Self(text.to_owned()))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Why a journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// There is no such run.
    #[error("there is no run `{0}`")]
    Unknown(RunId),
    /// Another process has it.
    #[error("another process runs `{0}`")]
    Locked(RunId),
    /// Its directory cannot be used.
    #[error("cannot use `{path}`")]
    Io {
        /// The directory or file.
        path: Utf8PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The database says no.
    #[error("the journal `{path}` cannot be used")]
    Database {
        /// The file.
        path: Utf8PathBuf,
        /// Why.
        source: rusqlite::Error,
    },
    /// It was written by a newer version of this program, or by something else.
    #[error("the journal `{path}` has a format that this version does not know")]
    Format {
        /// The file.
        path: Utf8PathBuf,
        /// Why.
        source: Box<rusqlite_migration::Error>,
    },
    /// It was written by another version of this program, and is only looked at.
    #[error("the journal `{path}` has format {found}, and this version reads {known}")]
    Version {
        /// The file.
        path: Utf8PathBuf,
        /// Its format.
        found: i64,
        /// Ours.
        known: i64,
    },
    /// An event is not what it must be.
    #[error("event {seq} of `{path}` cannot be read: {what}")]
    Event {
        /// The file.
        path: Utf8PathBuf,
        /// Which one.
        seq: u64,
        /// What is wrong.
        what: String,
    },
    /// An event does not fit what happened before.
    #[error("event {seq} of `{path}` does not fit")]
    Replay {
        /// The file.
        path: Utf8PathBuf,
        /// Which one.
        seq: u64,
        /// Why.
        source: Rejected,
    },
    /// It broke earlier.
    #[error("the journal is closed after an error")]
    Closed,
}

impl JournalError {
    /// Whether there is no room for more.
    #[must_use]
    pub fn is_full(&self) -> bool {
        matches!(self, Self::Database { source, .. }
            if source.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull))
    }
}

impl Explain for JournalError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Unknown(_) => ErrorKind::Usage,
            _ => ErrorKind::Failure,
        }
    }

    fn code(&self) -> Option<Code> {
        Some(match self {
            Self::Unknown(_) => Code::UnknownRun,
            Self::Locked(_) => Code::RunBusy,
            Self::Version { found, known, .. } if found < known => return None,
            Self::Version { .. } => Code::LaterVersion,
            Self::Io { .. }
            | Self::Database { .. }
            | Self::Format { .. }
            | Self::Event { .. }
            | Self::Replay { .. }
            | Self::Closed => Code::JournalDamaged,
        })
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Unknown(_) => "`cargo agents plan list` shows the runs",
            Self::Locked(_) => "wait for it, or look at it with `cargo agents plan show`",
            Self::Version { found, known, .. } if found < known => {
                "resuming the run brings its journal up to date"
            }
            Self::Format { .. } | Self::Version { .. } => {
                "use the version of cargo agents that wrote it, or a newer one"
            }
            Self::Replay { .. } | Self::Event { .. } => {
                "`cargo agents plan show --at N` shows the state before that event"
            }
            error if error.is_full() => "make room on the disk, then resume the run",
            _ => return None,
        };
        Some(hint.to_owned())
    }
}

/// Where the journals of all runs are.
#[derive(Debug, Clone)]
pub struct Journals {
    dir: Utf8PathBuf,
}

/// What is done at which moment of a write: so tests end the process there.
pub type OnWrite = Box<dyn FnMut(Moment, u64) + Send>;

/// How a journal is kept.
#[derive(Default)]
pub struct Options {
    /// The most pages (of 4 kB) that it may have; as many as SQLite allows if nothing is said.
    pub max_pages: Option<u32>,
    /// Called around each flush.
    pub on_write: Option<OnWrite>,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").field("max_pages", &self.max_pages).finish_non_exhaustive()
    }
}

impl Journals {
    /// Those in this directory.
    #[must_use]
    pub fn new(dir: impl Into<Utf8PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    /// Where they are.
    #[must_use]
    pub fn dir(&self) -> &Utf8Path {
        &self.dir
    }

    /// The directory of one run.
    #[must_use]
    pub fn home(&self, id: &RunId) -> Utf8PathBuf {
        self.dir.join(id.as_str())
    }

    fn file(&self, id: &RunId) -> Utf8PathBuf {
        self.home(id).join("journal.db")
    }

    /// Begins a run.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn create(
        &self,
        graph: &Graph,
        at: Millis,
        origin: &Origin,
        options: Options,
    ) -> Result<(Journal, Scheduler), JournalError> {
        self.begin(graph, at, origin, &[], options)
    }

    /// Begins a run to which something has happened already.
    fn begin(
        &self,
        graph: &Graph,
        at: Millis,
        origin: &Origin,
        events: &[Event],
        options: Options,
    ) -> Result<(Journal, Scheduler), JournalError> {
        let id = RunId::new(graph.name());
        let home = self.home(&id);
        let failed = |source| JournalError::Io { path: home.clone(), source };
        self.make_dir()?;
        fs_err::create_dir_all(&home).map_err(failed)?;
        let lock = self.lock(&id)?;
        let mut store = Store::create(&self.file(&id), &id, graph, at, origin, &options)?;
        store.append(0, events, &mut |_| {})?;
        // The files are there for good only if their names are.
        for dir in [&home, &self.dir] {
            let file = fs_err::File::open(dir).and_then(|it| it.sync_all());
            file.map_err(|source| JournalError::Io { path: dir.clone(), source })?;
        }
        Journal::new(id, lock, store, options)
    }

    /// Takes up a run where it was left.
    ///
    /// # Errors
    /// There is none, it belongs to another process, or it cannot be read.
    pub fn open(&self, id: &RunId, options: Options) -> Result<(Journal, Scheduler), JournalError> {
        if !self.file(id).exists() {
            return Err(JournalError::Unknown(id.clone()));
        }
        let lock = self.lock(id)?;
        let store = Store::open(&self.file(id), Access::Write, &options)?;
        Journal::new(id.clone(), lock, store, options)
    }

    /// Looks at a run, also while another process has it.
    ///
    /// # Errors
    /// There is none, or it cannot be read.
    pub fn view(&self, id: &RunId) -> Result<View, JournalError> {
        if !self.file(id).exists() {
            return Err(JournalError::Unknown(id.clone()));
        }
        let store = Store::open(&self.file(id), Access::Read, &Options::default())?;
        Ok(View { store })
    }

    /// Whether some process drives a run now.
    #[must_use]
    pub fn is_driven(&self, id: &RunId) -> bool {
        self.file(id).exists() && matches!(self.lock(id), Err(JournalError::Locked(_)))
    }

    /// The results that runs may use again.
    ///
    /// # Errors
    /// They cannot be opened.
    pub fn memo(&self) -> Result<Memo, JournalError> {
        self.make_dir()?;
        Memo::open(&self.dir.join("memo.db"))
    }

    /// Prompts and results are for nobody else to read.
    fn make_dir(&self) -> Result<(), JournalError> {
        let failed = |source| JournalError::Io { path: self.dir.clone(), source };
        private::make_dir(&self.dir).map_err(failed)
    }

    fn lock(&self, id: &RunId) -> Result<Lock, JournalError> {
        let path = self.home(id).join("lock");
        match Lock::try_acquire(&path) {
            Ok(Some(lock)) => Ok(lock),
            Ok(None) => Err(JournalError::Locked(id.clone())),
            Err(source) => Err(JournalError::Io { path, source }),
        }
    }
}

/// A look at a run.
pub struct View {
    store: Store,
}

impl fmt::Debug for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("View").field("path", &self.store.path()).finish()
    }
}

impl View {
    /// How many events there are.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn last(&self) -> Result<u64, JournalError> {
        self.store.last()
    }

    /// The state after so many events; after all that there are, if there are fewer.
    ///
    /// # Errors
    /// It cannot be read, or something in it does not fit.
    pub fn at(&self, events: u64) -> Result<Scheduler, JournalError> {
        self.store.replay(events)
    }

    /// The state now.
    ///
    /// # Errors
    /// It cannot be read, or something in it does not fit.
    pub fn now(&self) -> Result<Scheduler, JournalError> {
        self.at(u64::MAX)
    }

    /// The events, in their order, with their numbers.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn events(&self) -> Result<Vec<(u64, Event)>, JournalError> {
        self.events_after(0)
    }

    /// The events that came after one of them.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn events_after(&self, number: u64) -> Result<Vec<(u64, Event)>, JournalError> {
        let mut events = Vec::new();
        self.store.read(number, u64::MAX, |seq, event| {
            events.push((seq, event));
            Ok(())
        })?;
        Ok(events)
    }
}

type Acknowledge = oneshot::Sender<Result<u64, JournalError>>;

struct Request {
    events: Vec<Event>,
    caller: Acknowledge,
}

/// A run that belongs to this process.
#[derive(Debug)]
pub struct Journal {
    id: RunId,
    requests: Option<mpsc::Sender<Request>>,
    writer: Option<JoinHandle<()>>,
    /// Given back when the writer has ended.
    lock: Option<Lock>,
}

impl Journal {
    fn new(
        id: RunId,
        lock: Lock,
        store: Store,
        options: Options,
    ) -> Result<(Self, Scheduler), JournalError> {
        let scheduler = store.replay(u64::MAX)?;
        let last = store.last()?;
        let (sender, requests) = mpsc::channel();
        let writer = thread::spawn(move || Writer { store, last, options }.serve(&requests));
        let journal = Self { id, requests: Some(sender), writer: Some(writer), lock: Some(lock) };
        Ok((journal, scheduler))
    }

    /// Which run it is.
    #[must_use]
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// Appends events. They are on the disk when it returns; events of several callers go there together.
    ///
    /// # Errors
    /// They are not. After that nothing can be appended any more.
    pub async fn append(&self, events: Vec<Event>) -> Result<u64, JournalError> {
        let (caller, answer) = oneshot::channel();
        let requests = self.requests.as_ref().ok_or(JournalError::Closed)?;
        requests.send(Request { events, caller }).map_err(|_| JournalError::Closed)?;
        answer.await.map_err(|_| JournalError::Closed)?
    }
}

impl Drop for Journal {
    /// Waits for what is being written; the lock is given back after that.
    fn drop(&mut self) {
        drop(self.requests.take());
        if let Some(writer) = self.writer.take() {
            _ = writer.join();
        }
        drop(self.lock.take());
    }
}

/// The only one who writes.
struct Writer {
    store: Store,
    last: u64,
    options: Options,
}

impl Writer {
    fn serve(mut self, requests: &mpsc::Receiver<Request>) {
        while let Ok(request) = requests.recv() {
            let (mut events, mut callers) = (Vec::new(), Vec::new());
            let mut next = Some(request);
            while let Some(Request { events: more, caller }) = next {
                events.extend(more);
                callers.push(caller);
                // Whoever came while we were writing shares the next flush.
                next = if events.len() < MAX_GROUP { requests.try_recv().ok() } else { None };
            }
            match self.write(&events) {
                Ok(last) => callers.into_iter().for_each(|it| _ = it.send(Ok(last))),
                Err(error) => {
                    let mut callers = callers.into_iter();
                    if let Some(first) = callers.next() {
                        _ = first.send(Err(error));
                    }
                    callers.for_each(|it| _ = it.send(Err(JournalError::Closed)));
                    // What comes next would leave a gap.
                    return;
                }
            }
        }
    }

    fn write(&mut self, events: &[Event]) -> Result<u64, JournalError> {
        let on_write = &mut self.options.on_write;
        let mut at = |moment| {
            if let Some(on_write) = on_write {
                on_write(moment, self.last);
            }
        };
        self.store.append(self.last, events, &mut at)?;
        self.last += events.len() as u64;
        Ok(self.last)
    }
}

//! The tasks that a worker works on, whoever listens.
//!
//! A task belongs to the worker, not to the connection that asked for it: when the way to the server breaks, it goes on, and whoever asks
//! for the same attempt again gets the same task. Only if nobody does for a while it is stopped. What is finished is on the disk until the
//! server has acknowledged it, so that not even a restart of the worker makes anybody pay twice.

use std::{
    collections::{HashMap, VecDeque},
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use agents_system::{atomic, cache::name_hash, explain::with_causes};
use agents_task::event::Event;
use camino::{Utf8Path, Utf8PathBuf};
use tokio::{
    sync::{Notify, Semaphore, watch},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use super::{
    parcels::{self, ParcelError},
    server::Server,
    wire::{Assignment, Done, Key, Parcel, Since, Told, VERSION, Way, Workspace},
    worker::{Bench, Finished},
};
use crate::event::{Ending, Outcome};

/// The most events that are kept of a task; nobody who listens is so far behind.
const MAX_EVENTS: usize = 4096;
/// The most files of workspaces that are kept once nobody unpacks them.
const MAX_PARCELS: usize = 4;
/// How long somebody who listens waits for the next event.
const LISTEN: Duration = Duration::from_secs(5);
/// How long the server may be gone while something is brought or fetched.
const PATIENCE: Duration = Duration::from_secs(10 * 60);
const PAUSE: Duration = Duration::from_millis(500);

/// A task that a worker works on.
pub struct Job {
    epoch: String,
    token: CancellationToken,
    log: Mutex<Log>,
    grew: Notify,
    done: watch::Sender<Option<Arc<Done>>>,
    listeners: AtomicUsize,
}

#[derive(Default)]
struct Log {
    /// How many are not kept any more.
    dropped: usize,
    events: VecDeque<Event>,
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job").field("epoch", &self.epoch).finish_non_exhaustive()
    }
}

impl Job {
    fn new(done: Option<Arc<Done>>) -> Self {
        Self {
            epoch: uuid::Uuid::now_v7().simple().to_string(),
            token: CancellationToken::new(),
            log: Mutex::default(),
            grew: Notify::new(),
            done: watch::Sender::new(done),
            listeners: AtomicUsize::new(0),
        }
    }

    /// Says that something happened.
    pub fn tell(&self, event: Event) {
        let mut log = held(&self.log);
        log.events.push_back(event);
        if log.events.len() > MAX_EVENTS {
            log.events.pop_front();
            log.dropped += 1;
        }
        drop(log);
        self.grew.notify_waiters();
    }

    /// Cancelled when the task is to stop.
    #[must_use]
    pub fn token(&self) -> &CancellationToken {
        &self.token
    }

    /// What happened since, as soon as something has; nothing if nothing does for a while.
    pub(super) async fn since(&self, since: &Since) -> Told {
        let known = if since.epoch == self.epoch { since.known } else { 0 };
        let mut grew = std::pin::pin!(self.grew.notified());
        grew.as_mut().enable();
        if self.count() <= known {
            _ = tokio::time::timeout(LISTEN, grew).await;
        }
        let log = held(&self.log);
        let skip = known.saturating_sub(log.dropped);
        let events: Vec<Event> = log.events.iter().skip(skip).cloned().collect();
        Told { epoch: self.epoch.clone(), known: log.dropped + log.events.len(), events }
    }

    fn count(&self) -> usize {
        let log = held(&self.log);
        log.dropped + log.events.len()
    }

    /// Waits for its end. As long as somebody does, it goes on.
    pub(super) async fn ended(&self) -> Arc<Done> {
        struct Leaving<'a>(&'a AtomicUsize);
        impl Drop for Leaving<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::Relaxed);
            }
        }
        self.listeners.fetch_add(1, Ordering::Relaxed);
        let _leaving = Leaving(&self.listeners);
        let mut done = self.done.subscribe();
        loop {
            let ended = done.borrow_and_update().clone();
            if let Some(ended) = ended {
                return ended;
            }
            // The sender is ours.
            _ = done.changed().await;
        }
    }

    /// Returns when nobody has waited for it for so long.
    async fn abandoned(&self, patience: Duration) {
        let mut since = Instant::now();
        loop {
            tokio::time::sleep(PAUSE.min(patience)).await;
            if self.listeners.load(Ordering::Relaxed) > 0 {
                since = Instant::now();
            } else if since.elapsed() >= patience {
                return;
            }
        }
    }
}

/// All of them.
pub struct Hall<B> {
    bench: B,
    server: Server,
    dir: Utf8PathBuf,
    slots: Semaphore,
    /// How long a task goes on that nobody asks for.
    patience: Duration,
    jobs: Mutex<HashMap<Key, Arc<Job>>>,
    /// The files that workspaces come in, as long as somebody unpacks one.
    used: Mutex<HashMap<String, usize>>,
}

impl<B> fmt::Debug for Hall<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hall").field("dir", &self.dir).finish_non_exhaustive()
    }
}

impl<B: Bench> Hall<B> {
    pub(super) fn new(
        bench: B,
        server: Server,
        dir: Utf8PathBuf,
        slots: usize,
        patience: Duration,
    ) -> Self {
        let (slots, jobs, used) = (Semaphore::new(slots), Mutex::default(), Mutex::default());
        Self { bench, server, dir, slots, patience, jobs, used }
    }

    /// The task of an attempt: the one that is worked on, the one that is finished, or a new one.
    pub(super) fn join(self: &Arc<Self>, lane: &str, assignment: Assignment) -> Arc<Job> {
        let mut jobs = held(&self.jobs);
        if let Some(job) = jobs.get(&assignment.key) {
            return Arc::clone(job);
        }
        let finished = self.finished(&assignment.key).map(Arc::new);
        let is_finished = finished.is_some();
        let job = Arc::new(Job::new(finished));
        jobs.insert(assignment.key.clone(), Arc::clone(&job));
        drop(jobs);
        if !is_finished {
            let (hall, job, lane) = (Arc::clone(self), Arc::clone(&job), lane.to_owned());
            tokio::spawn(async move { hall.work(&lane, assignment, &job).await });
        }
        job
    }

    pub(super) fn find(&self, key: &Key) -> Option<Arc<Job>> {
        held(&self.jobs).get(key).cloned()
    }

    /// The server has the result.
    pub(super) fn acknowledged(&self, key: &Key) {
        held(&self.jobs).remove(key);
        _ = fs_err::remove_file(self.file(key));
    }

    /// Stops everything.
    pub(super) fn stop(&self) {
        held(&self.jobs).values().for_each(|it| it.token.cancel());
    }

    async fn work(&self, lane: &str, assignment: Assignment, job: &Job) {
        let key = assignment.key.clone();
        let done = tokio::select! {
            done = self.do_it(lane, assignment, job) => Some(done),
            () = job.abandoned(self.patience) => None,
        };
        let Some(done) = done else {
            // Another worker may have it by now: what this one did is worth nothing.
            job.token.cancel();
            held(&self.jobs).remove(&key);
            return;
        };
        // Not being able to keep it costs money if the worker dies now, and nothing otherwise.
        _ = serde_json::to_vec(&done).map(|bytes| atomic::write(&self.file(&key), &bytes));
        job.done.send_replace(Some(Arc::new(done)));
    }

    async fn do_it(&self, lane: &str, assignment: Assignment, job: &Job) -> Done {
        let workspace = assignment.workspace.clone();
        let done = |outcome, patch| Done {
            version: VERSION,
            outcome,
            patch,
            worker: lane.to_owned(),
            workspace: workspace.clone(),
        };
        let ended = |ending, why: String| done(Outcome::ended(ending, why), None);
        let permit = tokio::select! {
            permit = self.slots.acquire() => permit,
            () = job.token.cancelled() => return ended(Ending::Cancelled, String::new()),
        };
        let _permit = match permit {
            Ok(permit) => permit,
            Err(_) => return ended(Ending::Lost, "the worker is ending".to_owned()),
        };
        let service = super::lanes::service(lane);
        let _used = self.using(&workspace);
        let archive = match self.archive(&service, &workspace).await {
            Ok(archive) => archive,
            Err(error) => {
                let why = format!("the files did not reach the worker: {}", with_causes(&error));
                return ended(Ending::Lost, why);
            }
        };
        let Finished { outcome, patch } = self.bench.work(assignment, archive, job).await;
        if patch.is_empty() {
            return done(outcome, None);
        }
        match insist(|| parcels::leave(&self.server, &service, &patch)).await {
            Ok(parcel) => done(outcome, Some(parcel)),
            Err(error) => {
                let why = format!("what was done did not come back: {}", with_causes(&error));
                done(Outcome { message: why, ending: Ending::Lost, ..outcome }, None)
            }
        }
    }

    /// The file that the workspace came in, if it came in one.
    async fn archive(
        &self,
        service: &str,
        workspace: &Workspace,
    ) -> Result<Option<Utf8PathBuf>, ParcelError> {
        let Way::Parcel(parcel) = &workspace.way else { return Ok(None) };
        let file = self.dir.join("parcels").join(&parcel.digest);
        if is_whole(&file, parcel) {
            return Ok(Some(file));
        }
        let bytes = insist(|| parcels::fetch(&self.server, service, parcel)).await?;
        let kept = fs_err::create_dir_all(self.dir.join("parcels"))
            .and_then(|()| atomic::write(&file, &bytes).map_err(std::io::Error::other));
        kept.map_err(|_| ParcelError::Damaged(parcel.digest.clone()))?;
        // Whoever cannot be rid of the old ones still has the new one.
        let _ = self.sweep();
        Ok(Some(file))
    }

    /// Keeps the file of a workspace, if it comes in one, until what this gives is dropped.
    fn using(&self, workspace: &Workspace) -> Option<Using<'_>> {
        let Way::Parcel(Parcel { digest, .. }) = &workspace.way else { return None };
        *held(&self.used).entry(digest.clone()).or_default() += 1;
        Some(Using { used: &self.used, digest: digest.clone() })
    }

    /// Takes away the oldest of the files that workspaces came in, when there are too many; what is needed again is fetched again.
    fn sweep(&self) -> std::io::Result<()> {
        let mut known = Vec::new();
        for entry in fs_err::read_dir(self.dir.join("parcels"))? {
            let entry = entry?;
            known.push((entry.metadata()?.modified()?, entry.path(), entry.file_name()));
        }
        known.sort_unstable_by(|one, other| other.cmp(one));
        let used = held(&self.used);
        for (_, path, name) in known.into_iter().skip(MAX_PARCELS) {
            if !name.to_str().is_some_and(|it| used.contains_key(it)) {
                fs_err::remove_file(path)?;
            }
        }
        Ok(())
    }

    fn file(&self, key: &Key) -> Utf8PathBuf {
        self.dir.join("done").join(format!("{}.json", name_hash(key.as_str())))
    }

    fn finished(&self, key: &Key) -> Option<Done> {
        let done: Done = serde_json::from_slice(&fs_err::read(self.file(key)).ok()?).ok()?;
        (done.version == VERSION).then_some(done)
    }
}

/// Somebody unpacks a file.
struct Using<'h> {
    used: &'h Mutex<HashMap<String, usize>>,
    digest: String,
}

impl Drop for Using<'_> {
    fn drop(&mut self) {
        let mut used = held(self.used);
        if let Some(count) = used.get_mut(&self.digest) {
            *count -= 1;
            if *count == 0 {
                used.remove(&self.digest);
            }
        }
    }
}

fn is_whole(file: &Utf8Path, parcel: &Parcel) -> bool {
    fs_err::read(file).is_ok_and(|bytes| Parcel::of(&bytes) == *parcel)
}

/// Tries until it works, as long as it may.
async fn insist<T, F>(attempt: impl FnMut() -> F) -> Result<T, ParcelError>
where
    F: Future<Output = Result<T, ParcelError>>,
{
    parcels::insist(tokio::time::sleep(PATIENCE), attempt).await?.ok_or(ParcelError::Late)
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

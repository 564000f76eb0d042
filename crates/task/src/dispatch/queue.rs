//! Dispatching later: as many at a time as may be, in the order in which they came.

use std::{
    collections::{BTreeMap, VecDeque},
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use agents_system::digits::decimal;
use tokio::sync::{Semaphore, watch};

use super::{Ambient, DispatchError, Dispatcher, Done, Request};

/// How many run at the same time, unless somebody says something else.
pub const DEFAULT_CONCURRENCY: usize = 3;
/// How many wait at most, unless somebody says something else.
pub const DEFAULT_CAPACITY: usize = 256;
/// How many that are over are remembered.
const REMEMBERED: usize = 1024;

/// How an assignment is doing.
#[derive(Debug, Clone, PartialEq)]
pub struct Status {
    /// Its number: `task-1`, `task-2`, ...
    pub id: String,
    /// Who does it.
    pub name: String,
    /// What is to be done.
    pub instruction: String,
    /// The session that the request named; blank for none.
    pub session_id: String,
    /// How it is doing.
    pub state: State,
    /// What came of it, once it is over.
    pub done: Option<Done>,
    /// What went wrong, if something did.
    pub error: Option<String>,
}

/// How an assignment is doing, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It waits for its turn.
    Queued,
    /// It is being done.
    Running,
    /// It is done.
    Success,
    /// It is not.
    Error,
}

impl State {
    fn is_over(self) -> bool {
        matches!(self, Self::Success | Self::Error)
    }
}

/// Told when an assignment is over.
type Completion = Arc<dyn Fn(&Status) + Send + Sync>;

/// Assignments that are done as soon as it is their turn. Cheap to clone; all clones are one.
#[derive(Clone)]
pub struct Queue(Arc<Shared>);

struct Shared {
    dispatcher: Dispatcher,
    slots: Arc<Semaphore>,
    capacity: usize,
    completion: Option<Completion>,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    last: u64,
    queued: usize,
    all: BTreeMap<u64, watch::Sender<Status>>,
    over: VecDeque<u64>,
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").field("queued", &self.known().queued).finish_non_exhaustive()
    }
}

impl Queue {
    /// One with so many at a time; 0 for [`DEFAULT_CONCURRENCY`].
    #[must_use]
    pub fn new(dispatcher: Dispatcher, concurrency: usize) -> Self {
        Self::with(dispatcher, concurrency, DEFAULT_CAPACITY, None)
    }

    /// One in which no more than `capacity` wait, and that tells when something is over.
    #[must_use]
    pub fn with(
        dispatcher: Dispatcher,
        concurrency: usize,
        capacity: usize,
        completion: Option<Completion>,
    ) -> Self {
        let most = if concurrency == 0 { DEFAULT_CONCURRENCY } else { concurrency };
        let slots = Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS)));
        let known = Mutex::default();
        Self(Arc::new(Shared { dispatcher, slots, capacity, completion, known }))
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes an assignment, and gives its number at once. Who does it is decided now.
    ///
    /// # Errors
    /// Everything that [`Dispatcher::dispatch`] refuses before the work begins, and that too many wait already.
    pub fn submit(&self, ambient: &Ambient, request: Request) -> Result<String, DispatchError> {
        let entry = self.0.dispatcher.choose(ambient, &request)?;
        let session = request.metadata.get("session_id").and_then(|it| it.as_str());
        let (id, number) = {
            let mut known = self.known();
            if known.queued >= self.0.capacity {
                return Err(DispatchError::QueueFull(known.queued));
            }
            known.last += 1;
            known.queued += 1;
            let (number, id) = (known.last, format!("task-{}", known.last));
            let status = Status {
                id: id.clone(),
                name: entry.definition.name.clone(),
                instruction: request.instruction.clone(),
                session_id: session.unwrap_or_default().trim().to_owned(),
                state: State::Queued,
                done: None,
                error: None,
            };
            known.all.insert(number, watch::Sender::new(status));
            (id, number)
        };
        let (queue, ambient) = (self.clone(), ambient.clone());
        // Dropped in the middle, by a runtime that goes away, it is over, too.
        let life = Life { queue: self.clone(), number, state: State::Queued };
        tokio::spawn(async move {
            let mut life = life;
            let slot = tokio::select! {
                biased;
                () = ambient.cancel().cancelled() => return life.end(Err(DispatchError::Cancelled)),
                slot = Arc::clone(&queue.0.slots).acquire_owned() => slot,
            };
            life.begin();
            let done = entry.run(&ambient, request).await;
            drop(slot);
            life.end(done);
        });
        Ok(id)
    }

    fn watch(&self, id: &str) -> Result<watch::Receiver<Status>, DispatchError> {
        let unknown = || DispatchError::UnknownTask(id.to_owned());
        let number = id.trim().strip_prefix("task-").and_then(decimal::<u64>);
        let known = self.known();
        let status = number.and_then(|it| known.all.get(&it)).ok_or_else(unknown)?;
        Ok(status.subscribe())
    }

    /// How an assignment is doing.
    ///
    /// # Errors
    /// There is none of this number, or it was over long ago.
    pub fn status(&self, id: &str) -> Result<Status, DispatchError> {
        Ok(self.watch(id)?.borrow().clone())
    }

    /// How it did, once it is over.
    ///
    /// # Errors
    /// As [`status`](Self::status).
    pub async fn wait(&self, id: &str) -> Result<Status, DispatchError> {
        let mut status = self.watch(id)?;
        let gone = |_| DispatchError::UnknownTask(id.to_owned());
        let over = status.wait_for(|it| it.state.is_over()).await.map_err(gone)?;
        Ok(over.clone())
    }
}

/// One assignment, until it is over.
struct Life {
    queue: Queue,
    number: u64,
    state: State,
}

impl Life {
    fn change(&mut self, change: impl FnOnce(&mut Status)) -> Option<Status> {
        let mut known = self.queue.known();
        let status = known.all.get(&self.number)?;
        status.send_modify(change);
        let now = status.borrow().clone();
        if self.state == State::Queued {
            known.queued -= 1;
        }
        self.state = now.state;
        if now.state.is_over() {
            known.over.push_back(self.number);
            while known.over.len() > REMEMBERED {
                if let Some(old) = known.over.pop_front() {
                    known.all.remove(&old);
                }
            }
        }
        Some(now)
    }

    fn begin(&mut self) {
        self.change(|it| it.state = State::Running);
    }

    fn end(&mut self, done: Result<Done, DispatchError>) {
        if self.state.is_over() {
            return;
        }
        let status = self.change(|it| match done {
            Ok(done) => (it.state, it.done) = (State::Success, Some(done)),
            Err(error) => {
                (it.state, it.error) = (State::Error, Some(error.to_string()));
                if let DispatchError::Failed { done, .. } = error {
                    it.done = Some(*done);
                }
            }
        });
        if let (Some(status), Some(completion)) = (status, &self.queue.0.completion) {
            completion(&status);
        }
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        self.end(Err(DispatchError::Cancelled));
    }
}

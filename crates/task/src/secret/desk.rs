//! Where requests for secrets are answered.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak},
    time::{Duration, Instant},
};

use agents_tool::{grants::SecretKey, secrets::Mask};
use futures_util::future::BoxFuture;
use secrecy::SecretString;
use tokio::sync::oneshot;

use super::{Asking, Bearer, Denied, Pocket, RequestId, SecretRequest, Until, hide};
use crate::id::TaskId;

/// Why an answer is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// No such task runs.
    #[error("no such task runs")]
    NoTask,
    /// The definition of the task does not list it.
    #[error("the definition of the task does not list it under `secrets`")]
    NotListed,
    /// Nobody asked for it, or whoever did no longer waits.
    #[error("nobody waits for it")]
    NotAsked,
    /// It was not approved, or the approval is over.
    #[error("it is not approved, or the approval is over")]
    NotApproved,
    /// It is too short to be hidden from what is shown and written.
    #[error("the value is too short to be masked: it must have at least 8 bytes")]
    TooShort,
}

/// A secret that is given.
#[derive(Debug)]
pub struct Granted {
    /// The value.
    pub value: SecretString,
    /// For how long; never longer than the definition of the task says.
    pub ttl: Duration,
}

/// Somebody who answers requests as they come, instead of whoever looks for them.
pub trait Answers: Send + Sync {
    /// What becomes of a request. It is dropped when nobody waits for the answer any more.
    fn answer<'a>(&'a self, request: &'a SecretRequest) -> BoxFuture<'a, Result<Granted, Denied>>;
}

/// Where requests for secrets are answered. Cheap to clone.
#[derive(Clone)]
pub struct Desk(Arc<Shared>);

struct Shared {
    /// How long an answer is waited for; `None` if nobody is there.
    patience: Option<Duration>,
    by: Option<Arc<dyn Answers>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    last: u64,
    waiting: Vec<Waiting>,
    approved: Vec<Approval>,
    bearers: BTreeMap<TaskId, Known>,
}

/// What the desk knows of a task.
struct Known {
    allowed: Vec<SecretKey>,
    longest: Option<Duration>,
    mask: Arc<Mask>,
}

/// A request that is not answered yet.
struct Waiting {
    request: SecretRequest,
    key: SecretKey,
    seen: Seen,
    reply: oneshot::Sender<Option<(SecretString, Until)>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    Yes,
    No,
}

struct Approval {
    task: TaskId,
    key: SecretKey,
    until: Until,
}

/// Longer than any task runs, and no clock ends before.
const CENTURY: Duration = Duration::from_secs(3_200_000_000);

impl fmt::Debug for Desk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("Desk")
            .field("waiting", &state.waiting.len())
            .field("approved", &state.approved.len())
            .finish_non_exhaustive()
    }
}

impl Desk {
    /// One where somebody answers, within so long.
    #[must_use]
    pub fn new(patience: Duration) -> Self {
        Self::with(Some(patience), None)
    }

    /// One where requests are answered as they come, within so long.
    #[must_use]
    pub fn answered_by(answers: Arc<dyn Answers>, patience: Duration) -> Self {
        Self::with(Some(patience), Some(answers))
    }

    /// One where nobody does: everything is denied at once.
    #[must_use]
    pub fn unattended() -> Self {
        Self::with(None, None)
    }

    fn with(patience: Option<Duration>, by: Option<Arc<dyn Answers>>) -> Self {
        Self(Arc::new(Shared { patience, by, state: Mutex::default() }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A task will ask: answers that come before it does are taken.
    pub(crate) fn expect(
        &self,
        task: TaskId,
        allowed: &[String],
        longest: Option<Duration>,
        mask: Arc<Mask>,
    ) {
        let allowed = allowed.iter().filter_map(|it| SecretKey::new(it)).collect();
        self.state().bearers.insert(task, Known { allowed, longest, mask });
    }

    pub(crate) fn pocket(&self, bearer: Bearer) -> Arc<Pocket> {
        let Bearer { task, path, agent, allowed, longest, asks, mask } = bearer;
        self.expect(task, &allowed, longest, Arc::clone(&mask));
        let allowed = allowed.iter().filter_map(|it| SecretKey::new(it)).collect();
        Arc::new(Pocket {
            desk: self.clone(),
            task,
            path,
            agent,
            allowed,
            asks,
            mask,
            given: Mutex::default(),
            tools: OnceLock::<Weak<_>>::new(),
        })
    }

    pub(crate) fn forget(&self, task: TaskId) {
        let mut state = self.state();
        state.waiting.retain(|it| it.request.task != task);
        state.approved.retain(|it| it.task != task);
        state.bearers.remove(&task);
    }

    /// Asks, and waits for the answer.
    pub(super) async fn ask(
        &self,
        Asking { task, path, agent }: Asking<'_>,
        key: &SecretKey,
        reason: Option<String>,
    ) -> Result<(SecretString, Until), Denied> {
        let patience = self.0.patience.ok_or(Denied::Nobody)?;
        let (reply, answer) = oneshot::channel();
        let request = {
            let mut state = self.state();
            state.last += 1;
            let request = SecretRequest {
                id: RequestId(state.last),
                task,
                path: path.clone(),
                agent: agent.to_owned(),
                secret_key: key.as_str().to_owned(),
                reason,
                longest: state.bearers.get(&task).and_then(|it| it.longest),
            };
            let (key, own) = (key.clone(), request.clone());
            state.waiting.push(Waiting { request: own, key, seen: Seen::No, reply });
            request
        };
        // However this ends, the request does not stay: nobody is to answer what nobody waits for.
        let _gone = Gone { desk: self, id: request.id };
        let answered = async {
            if let Some(by) = &self.0.by {
                let Granted { value, ttl } = by.answer(&request).await?;
                self.approve(task, key.as_str(), ttl).map_err(Denied::from)?;
                self.deliver(task, key.as_str(), value).map_err(Denied::from)?;
            }
            answer.await.map_err(|_| Denied::Nobody)?.ok_or(Denied::Refused)
        };
        tokio::time::timeout(patience, answered).await.unwrap_or(Err(Denied::TooLate))
    }

    /// The oldest request that nobody has seen yet, of one task or of any.
    #[must_use]
    pub fn next(&self, task: Option<TaskId>) -> Option<SecretRequest> {
        let mut state = self.state();
        let mine = |it: &&mut Waiting| {
            it.seen == Seen::No && task.is_none_or(|task| it.request.task == task)
        };
        let next = state.waiting.iter_mut().find(mine)?;
        next.seen = Seen::Yes;
        Some(next.request.clone())
    }

    /// All requests that wait for an answer, the oldest first.
    #[must_use]
    pub fn waiting(&self) -> Vec<SecretRequest> {
        self.state().waiting.iter().map(|it| it.request.clone()).collect()
    }

    /// Agrees that a task gets a secret, for so long from now on and never longer than its definition says. The value still has to be
    /// delivered.
    ///
    /// # Errors
    /// No such task runs, or its definition does not list the secret; then a request for it is denied.
    pub fn approve(&self, task: TaskId, key: &str, ttl: Duration) -> Result<(), SecretError> {
        let mut state = self.state();
        let now = Instant::now();
        state.approved.retain(|it| it.until.is_after(now));
        let known = state.bearers.get(&task).ok_or(SecretError::NoTask)?;
        let key = SecretKey::new(key).filter(|it| known.allowed.contains(it));
        let key = key.ok_or(SecretError::NotListed)?;
        let ttl = ttl.min(known.longest.unwrap_or(CENTURY)).min(CENTURY);
        state.approved.push(Approval { task, key, until: Until(now + ttl) });
        Ok(())
    }

    /// Gives a value to the oldest request of a task for this secret.
    ///
    /// # Errors
    /// No such task runs, nobody waits for it, it is not approved any more, or it is too short to be masked.
    pub fn deliver(&self, task: TaskId, key: &str, value: SecretString) -> Result<(), SecretError> {
        let mut state = self.state();
        let now = Instant::now();
        let mask = Arc::clone(&state.bearers.get(&task).ok_or(SecretError::NoTask)?.mask);
        let mine = state.approved.iter().filter(|it| it.task == task && it.key.as_str() == key);
        let until = mine.map(|it| it.until).filter(|it| it.is_after(now)).max();
        let until = until.ok_or(SecretError::NotApproved)?;
        let asked = |it: &Waiting| it.request.task == task && it.key.as_str() == key;
        let at = state.waiting.iter().position(asked).ok_or(SecretError::NotAsked)?;
        hide(&mask, &state.waiting[at].key, &value)?;
        let waiting = state.waiting.remove(at);
        waiting.reply.send(Some((value, until))).map_err(|_| SecretError::NotAsked)
    }

    /// Says no to one request.
    ///
    /// # Errors
    /// It does not wait any more.
    pub fn deny(&self, id: RequestId) -> Result<(), SecretError> {
        let mut state = self.state();
        let at = state.waiting.iter().position(|it| it.request.id == id);
        let waiting = state.waiting.remove(at.ok_or(SecretError::NotAsked)?);
        waiting.reply.send(None).map_err(|_| SecretError::NotAsked)
    }

    /// Says no to the oldest request of a task.
    ///
    /// # Errors
    /// No such task runs, or it asks for nothing.
    pub fn deny_next(&self, task: TaskId) -> Result<(), SecretError> {
        let id = {
            let state = self.state();
            if !state.bearers.contains_key(&task) {
                return Err(SecretError::NoTask);
            }
            state.waiting.iter().find(|it| it.request.task == task).map(|it| it.request.id)
        };
        self.deny(id.ok_or(SecretError::NotAsked)?)
    }
}

impl From<SecretError> for Denied {
    fn from(error: SecretError) -> Self {
        match error {
            SecretError::NoTask | SecretError::NotAsked => Self::Nobody,
            SecretError::NotListed => Self::NotListed,
            SecretError::NotApproved => Self::Refused,
            SecretError::TooShort => Self::TooShort,
        }
    }
}

/// Takes a request away when nobody waits for it any more.
struct Gone<'d> {
    desk: &'d Desk,
    id: RequestId,
}

impl Drop for Gone<'_> {
    fn drop(&mut self) {
        self.desk.state().waiting.retain(|it| it.request.id != self.id);
    }
}

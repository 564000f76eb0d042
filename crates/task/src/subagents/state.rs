//! The one state of a run, and the place that it takes.
//!
//! A run has a [`Cell`]. Its place (a [`Permit`]) is inside, and leaves it in the same step in which the run is over: nobody can see a run
//! that is over and still takes a place, or one that takes a place twice. Only the [`Guard`] that goes with the run can end it; whichever
//! way the run goes, also when it panics or its runtime goes away, the guard is used up or dropped, and the end is told once.

use std::{
    sync::{Arc, OnceLock},
    time::Instant,
};

use tokio::sync::Notify;

#[cfg(test)]
use shuttle::sync::{Mutex, MutexGuard};
#[cfg(not(test))]
use std::sync::{Mutex, MutexGuard};

/// How a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SubAgentState {
    /// It was started, and has done nothing yet.
    Submitted,
    /// It works.
    Working,
    /// It was told to end, and has not yet.
    Canceling,
    /// It is done.
    Completed,
    /// It is not, and will not be.
    Failed,
    /// It was told to end, and did.
    Canceled,
}

impl SubAgentState {
    /// Whether nothing follows it.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Canceled)
    }
}

/// How a run is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubAgentStatus {
    /// How it is.
    pub state: SubAgentState,
    /// What it said last: the first 120 characters.
    pub last_message: Option<String>,
    /// Calls of the model.
    pub turns_used: u32,
    /// When it was started.
    pub started_at: Instant,
}

/// The longest that is shown of what a run said.
const MAX_MESSAGE: usize = 120;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// How many may run.
#[derive(Clone)]
pub(super) struct Slots(Arc<Mutex<Count>>);

struct Count {
    max: usize,
    active: usize,
    reserved: usize,
}

/// A place. Gone, it is free.
pub(super) struct Permit(Slots);

impl Slots {
    pub(super) fn new(max: usize) -> Self {
        Self(Arc::new(Mutex::new(Count { max, active: 0, reserved: 0 })))
    }

    /// A place, or how many are taken of how many.
    pub(super) fn take(&self) -> Result<Permit, (usize, usize)> {
        let mut count = lock(&self.0);
        let taken = count.active.saturating_add(count.reserved);
        if taken >= count.max {
            return Err((taken, count.max));
        }
        count.active += 1;
        Ok(Permit(self.clone()))
    }

    pub(super) fn reserve(&self, more: usize) {
        let mut count = lock(&self.0);
        count.reserved = count.reserved.saturating_add(more);
    }

    pub(super) fn release(&self, fewer: usize) {
        let mut count = lock(&self.0);
        count.reserved = count.reserved.saturating_sub(fewer);
    }

    pub(super) fn active(&self) -> usize {
        lock(&self.0).active
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        lock(&self.0.0).active -= 1;
    }
}

/// The state of a run; `E` is what is left of it when it is over.
pub(super) struct Cell<E> {
    inner: Mutex<Inner>,
    end: OnceLock<Arc<E>>,
    /// Wakes whoever waits for the end.
    over: Notify,
    started_at: Instant,
}

struct Inner {
    state: SubAgentState,
    permit: Option<Permit>,
    turns: u32,
    last_message: Option<String>,
    /// Whether somebody waits for what it leaves: then nobody else asks how it was.
    collected: bool,
}

impl<E> Cell<E> {
    pub(super) fn new(permit: Permit) -> Arc<Self> {
        let inner = Inner {
            state: SubAgentState::Submitted,
            permit: Some(permit),
            turns: 0,
            last_message: None,
            collected: false,
        };
        let (inner, started_at) = (Mutex::new(inner), Instant::now());
        Arc::new(Self { inner, end: OnceLock::new(), over: Notify::new(), started_at })
    }

    pub(super) fn status(&self) -> SubAgentStatus {
        let inner = lock(&self.inner);
        SubAgentStatus {
            state: inner.state,
            last_message: inner.last_message.clone(),
            turns_used: inner.turns,
            started_at: self.started_at,
        }
    }

    pub(super) fn state(&self) -> SubAgentState {
        lock(&self.inner).state
    }

    /// It works: so many turns by now.
    pub(super) fn works(&self, turns: u32) {
        let mut inner = lock(&self.inner);
        if inner.state == SubAgentState::Submitted {
            inner.state = SubAgentState::Working;
        }
        inner.turns = inner.turns.max(turns);
    }

    /// It said this.
    pub(super) fn says(&self, text: &str) {
        let text: String = text.trim().chars().take(MAX_MESSAGE).collect();
        if !text.is_empty() {
            lock(&self.inner).last_message = Some(text);
        }
    }

    /// Somebody wants it to end. Whether that means anything: what is over stays as it is.
    pub(super) fn cancel(&self) -> bool {
        let mut inner = lock(&self.inner);
        if inner.state.is_terminal() {
            return false;
        }
        inner.state = SubAgentState::Canceling;
        true
    }

    /// Somebody waits for what it leaves.
    pub(super) fn collect(&self) {
        lock(&self.inner).collected = true;
    }

    /// Whether it is over, and what it leaves is somebody's.
    pub(super) fn is_collected(&self) -> bool {
        let inner = lock(&self.inner);
        inner.collected && inner.state.is_terminal()
    }

    /// Waits for the end.
    pub(super) async fn ended(&self) -> Arc<E> {
        loop {
            let mut over = std::pin::pin!(self.over.notified());
            // From here on it is heard of.
            over.as_mut().enable();
            if let Some(end) = self.end.get() {
                return Arc::clone(end);
            }
            over.await;
        }
    }

    fn settle(&self, state: SubAgentState, end: E) -> Option<Arc<E>> {
        let permit = {
            let mut inner = lock(&self.inner);
            if inner.state.is_terminal() {
                return None;
            }
            inner.state = state;
            inner.permit.take()
        };
        // Whoever hears of the end finds the place free.
        drop(permit);
        let end = Arc::new(end);
        // Only whoever made it terminal comes here.
        let _ = self.end.set(Arc::clone(&end));
        self.over.notify_waiters();
        Some(end)
    }
}

/// Goes with a run, and ends it.
pub(super) struct Guard<E: 'static> {
    cell: Arc<Cell<E>>,
    /// What is left of a run that was dropped.
    dropped: fn(bool) -> (SubAgentState, E),
    /// Who is told.
    tell: Option<Tell<E>>,
}

type Tell<E> = Box<dyn FnOnce(&Arc<E>) + Send>;

impl<E> Guard<E> {
    pub(super) fn new(
        cell: Arc<Cell<E>>,
        dropped: fn(bool) -> (SubAgentState, E),
        tell: impl FnOnce(&Arc<E>) + Send + 'static,
    ) -> Self {
        Self { cell, dropped, tell: Some(Box::new(tell)) }
    }

    /// It is over.
    pub(super) fn settle(mut self, state: SubAgentState, end: E) {
        self.over(state, end);
    }

    fn over(&mut self, state: SubAgentState, end: E) {
        if let (Some(end), Some(tell)) = (self.cell.settle(state, end), self.tell.take()) {
            tell(&end);
        }
    }
}

impl<E> Drop for Guard<E> {
    fn drop(&mut self) {
        if self.tell.is_some() {
            let (state, end) = (self.dropped)(std::thread::panicking());
            self.over(state, end);
        }
    }
}

#[cfg(test)]
mod tests;

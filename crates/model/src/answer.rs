//! Asking, and reading an answer: permits, attempts, deadlines and cancellation, whatever the answer comes from.

use std::{
    collections::VecDeque,
    hash::{BuildHasher as _, Hasher as _, RandomState},
    sync::Arc,
    time::Duration,
};

use futures_util::stream;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, sleep, sleep_until},
};
use tokio_util::sync::CancellationToken;

use crate::{
    error::{Deadline, ModelError, Problem},
    event::Event,
    provider::EventStream,
    request::Deadlines,
    retry::RetryPolicy,
};

/// Where the events of an answer come from.
pub(crate) trait Source: Send + 'static {
    /// Waits for more and puts it at the end of `out`. What stands there counts, also when it ends with a problem.
    /// Can be dropped while it waits: nothing is lost.
    fn read(&mut self, out: &mut Vec<Event>) -> impl Future<Output = Result<More, Problem>> + Send;

    /// Gives out the end of an answer that is complete although its source has not ended.
    fn complete(&mut self, out: &mut Vec<Event>) -> bool;
}

/// Whether there is more to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum More {
    Yes,
    /// Yes, and what came now is only a part of what would count as a sign of life.
    #[cfg(feature = "http")]
    Part,
    No,
}

/// One request with everything that bounds it.
pub(crate) struct Asking<F> {
    pub(crate) deadlines: Deadlines,
    pub(crate) cancel: CancellationToken,
    pub(crate) permits: Arc<Semaphore>,
    pub(crate) retry: RetryPolicy,
    /// Says whose problem it is.
    pub(crate) at: F,
}

/// A request to a program of this name. It is made once: what a program began may have had effects.
#[cfg(feature = "providers")]
pub(crate) fn asking_program(
    name: &str,
    permits: &Arc<Semaphore>,
    request: &crate::request::Request,
    cancel: CancellationToken,
) -> Asking<impl Fn(Problem) -> ModelError + Send + 'static> {
    let name = name.to_owned();
    Asking {
        deadlines: request.deadlines,
        cancel,
        permits: Arc::clone(permits),
        retry: RetryPolicy::never(),
        at: move |problem: Problem| problem.at(&name),
    }
}

impl<F: Fn(Problem) -> ModelError + Send + 'static> Asking<F> {
    /// Waits for a permit, then opens the source, as often as the policy has it, until something of an answer is there.
    pub(crate) async fn ask<S: Source, O: Future<Output = Result<S, Problem>>>(
        self,
        open: impl FnMut() -> O,
    ) -> Result<EventStream, ModelError> {
        let total = later(self.deadlines.total);
        match self.attempts(total, open).await {
            Ok((answer, permit)) => Ok(self.stream(answer, total, permit)),
            Err(problem) => Err((self.at)(problem)),
        }
    }

    async fn attempts<S: Source, O: Future<Output = Result<S, Problem>>>(
        &self,
        total: Instant,
        mut open: impl FnMut() -> O,
    ) -> Result<(Answer<S>, Option<OwnedSemaphorePermit>), Problem> {
        let Deadlines { first_token, total: whole, .. } = self.deadlines;
        let cancelled = || self.cancel.cancelled();
        let out_of_time = Problem::Timeout { deadline: Deadline::Total, after: whole };
        let permit = tokio::select! {
            biased;
            () = cancelled() => return Err(Problem::Cancelled),
            permit = Arc::clone(&self.permits).acquire_owned() => permit.ok(),
            () = sleep_until(total) => return Err(out_of_time),
        };
        let mut attempt = 0;
        loop {
            attempt += 1;
            let outcome = tokio::select! {
                biased;
                () = cancelled() => return Err(Problem::Cancelled),
                () = sleep_until(total) => return Err(out_of_time),
                () = sleep(first_token) => {
                    Err(Problem::Timeout { deadline: Deadline::FirstToken, after: first_token })
                }
                outcome = begun(open()) => outcome,
            };
            let problem = match outcome {
                Ok(answer) => return Ok((answer, permit)),
                Err(problem) => problem,
            };
            let left = total.saturating_duration_since(Instant::now());
            let Some(wait) = self.retry.wait(attempt, &problem, dice(), left) else {
                return Err(problem);
            };
            tokio::select! {
                biased;
                () = cancelled() => return Err(Problem::Cancelled),
                () = sleep(wait) => {}
            }
        }
    }

    fn stream<S: Source>(
        self,
        answer: Answer<S>,
        total: Instant,
        permit: Option<OwnedSemaphorePermit>,
    ) -> EventStream {
        let state = (self, answer, permit);
        Box::pin(stream::unfold(state, move |(asking, mut answer, mut permit)| async move {
            loop {
                // What has arrived is given out before anything else is looked at.
                if let Some(event) = answer.ready.pop_front() {
                    return Some((Ok(event), (asking, answer, permit)));
                }
                if answer.source.is_none() {
                    // Whoever waits for the permit need not wait for the stream to be dropped.
                    drop(permit.take());
                }
                if let Some(problem) = answer.problem.take() {
                    let error = (asking.at)(problem);
                    return Some((Err(error), (asking, answer, permit)));
                }
                answer.source.as_ref()?;
                answer.advance(asking.deadlines, total, &asking.cancel).await;
            }
        }))
    }
}

/// Opens a source and reads until something of the answer itself is there. Whatever goes wrong before that can be tried
/// again.
async fn begun<S: Source>(
    open: impl Future<Output = Result<S, Problem>>,
) -> Result<Answer<S>, Problem> {
    let mut answer = Answer {
        source: Some(open.await?),
        ready: VecDeque::new(),
        decoded: Vec::new(),
        problem: None,
        idle: None,
    };
    while answer.source.is_some() && !answer.ready.iter().any(is_content) {
        answer.read().await;
    }
    match answer.problem.take_if(|_| !answer.ready.iter().any(is_content)) {
        Some(problem) => Err(problem),
        None => Ok(answer),
    }
}

/// An answer that is being read.
struct Answer<S> {
    /// Gone when there is nothing more to read.
    source: Option<S>,
    ready: VecDeque<Event>,
    /// Kept to have its memory used again.
    decoded: Vec<Event>,
    /// What went wrong after that which is ready.
    problem: Option<Problem>,
    /// When the next event must be there, be it one that means nothing. Bytes that make none do not move it.
    idle: Option<Instant>,
}

impl<S: Source> Answer<S> {
    async fn advance(&mut self, deadlines: Deadlines, total: Instant, cancel: &CancellationToken) {
        let idle = *self.idle.get_or_insert_with(|| later(deadlines.idle));
        let problem = tokio::select! {
            biased;
            () = cancel.cancelled() => Some(Problem::Cancelled),
            // A source that always has more would never let the clock have its turn.
            () = self.read(), if Instant::now() < total.min(idle) => None,
            () = sleep_until(idle.min(total)) => Some(if total <= idle {
                Problem::Timeout { deadline: Deadline::Total, after: deadlines.total }
            } else {
                Problem::Timeout { deadline: Deadline::Idle, after: deadlines.idle }
            }),
        };
        if let Some(problem) = problem {
            self.stop(problem);
        }
    }

    async fn read(&mut self) {
        let Some(source) = &mut self.source else { return };
        let outcome = source.read(&mut self.decoded).await;
        self.ready.extend(self.decoded.drain(..));
        match outcome {
            Ok(More::Yes) => self.idle = None,
            #[cfg(feature = "http")]
            Ok(More::Part) => {}
            Ok(More::No) => self.source = None,
            Err(problem) => self.stop(problem),
        }
    }

    /// It goes no further. An answer that is complete stays an answer.
    fn stop(&mut self, problem: Problem) {
        let complete =
            self.source.take().is_some_and(|mut source| source.complete(&mut self.decoded));
        self.ready.extend(self.decoded.drain(..));
        if !complete {
            self.problem = Some(problem);
        }
    }
}

/// Whether the event is part of what the model says.
fn is_content(event: &Event) -> bool {
    !matches!(event, Event::Started { .. } | Event::Usage(_))
}

/// That far from now, or as far as the clock goes.
fn later(wait: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(wait).unwrap_or_else(|| now + Duration::from_secs(365 * 24 * 3600))
}

/// A number from 0 to 1, good enough to keep many apart.
fn dice() -> f64 {
    let random = RandomState::new().build_hasher().finish();
    f64::from(u32::try_from(random >> 32).unwrap_or_default()) / f64::from(u32::MAX)
}

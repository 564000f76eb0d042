//! An answer that is being read.

use std::collections::VecDeque;

use futures_util::stream;
use reqwest::Response;
use tokio::{
    sync::OwnedSemaphorePermit,
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;

use super::{later, network};
use crate::{
    error::{Deadline, ModelError, Problem},
    event::Event,
    provider::EventStream,
    request::Deadlines,
    wire::{Wire, WireDecoder},
};

/// An answer that is being read.
pub(super) struct Answer {
    /// Gone when there is nothing more to read.
    response: Option<Response>,
    decoder: WireDecoder,
    ready: VecDeque<Event>,
    /// Kept to have its memory used again.
    decoded: Vec<Event>,
    /// What went wrong after that which is ready.
    problem: Option<Problem>,
}

impl Answer {
    pub(super) fn new(response: Response, wire: Wire, limit: usize) -> Self {
        Self {
            response: Some(response),
            decoder: WireDecoder::new(wire, limit),
            ready: VecDeque::new(),
            decoded: Vec::new(),
            problem: None,
        }
    }

    /// Reads until something of the answer itself is there. Whatever goes wrong before that can be tried again.
    pub(super) async fn read_to_content(&mut self) -> Result<(), Problem> {
        while !self.ready.iter().any(is_content) {
            if let Some(problem) = self.problem.take() {
                return Err(problem);
            }
            self.read().await;
        }
        Ok(())
    }

    /// Reads one chunk. Can be dropped at any time: nothing is lost, and nothing is read twice.
    async fn read(&mut self) {
        let Some(response) = &mut self.response else { return };
        let outcome = match response.chunk().await {
            Ok(Some(chunk)) => self.decoder.feed(&chunk, &mut self.decoded),
            Ok(None) => {
                self.response = None;
                self.decoder.finish(&mut self.decoded)
            }
            Err(error) => self.broken(network("reading the answer", error)),
        };
        self.take_in(outcome);
    }

    /// The stream goes no further. An answer that is complete stays an answer.
    fn broken(&mut self, problem: Problem) -> Result<(), Problem> {
        if self.decoder.try_finish(&mut self.decoded) { Ok(()) } else { Err(problem) }
    }

    fn take_in(&mut self, outcome: Result<(), Problem>) {
        self.ready.extend(self.decoded.drain(..));
        if let Err(problem) = outcome {
            self.problem = Some(problem);
        }
        if self.problem.is_some() || self.decoder.is_stopped() {
            self.response = None;
        }
    }

    pub(super) fn into_stream(
        self,
        deadlines: Deadlines,
        total: Instant,
        cancel: CancellationToken,
        permit: Option<OwnedSemaphorePermit>,
        at: impl Fn(Problem) -> ModelError + Send + 'static,
    ) -> EventStream {
        struct State<F> {
            answer: Answer,
            permit: Option<OwnedSemaphorePermit>,
            cancel: CancellationToken,
            at: F,
        }
        let state = State { answer: self, permit, cancel, at };
        Box::pin(stream::unfold(state, move |mut state| async move {
            loop {
                if let Some(event) = state.answer.ready.pop_front() {
                    if state.answer.response.is_none() {
                        state.permit = None;
                    }
                    return Some((Ok(event), state));
                }
                if let Some(problem) = state.answer.problem.take() {
                    return Some((Err((state.at)(problem)), state));
                }
                state.answer.response.as_ref()?;
                let idle = later(deadlines.idle);
                let (deadline, after) = if total <= idle {
                    (Deadline::Total, deadlines.total)
                } else {
                    (Deadline::Idle, deadlines.idle)
                };
                tokio::select! {
                    biased;
                    () = state.cancel.cancelled() => {
                        state.answer.take_in(Err(Problem::Cancelled));
                    }
                    () = state.answer.read() => {}
                    () = sleep_until(idle.min(total)) => {
                        let outcome = state.answer.broken(Problem::Timeout { deadline, after });
                        state.answer.take_in(outcome);
                    }
                }
            }
        }))
    }
}

/// Whether the event is part of what the model says.
fn is_content(event: &Event) -> bool {
    !matches!(event, Event::Started { .. } | Event::Usage(_))
}

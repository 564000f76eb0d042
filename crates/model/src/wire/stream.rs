//! From bytes to events: server-sent events, and in them one of the wire formats.

use std::io;

use super::{
    Wire, chat::ChatStream, gemini::GeminiStream, messages::MessagesStream,
    responses::ResponsesStream,
};
use crate::{
    error::Problem,
    event::Event,
    sse::{SseDecoder, SseError},
};

/// Turns the bytes of an answer into events. Knows nothing of connections, clocks or retries.
#[derive(Debug)]
pub struct WireDecoder {
    sse: SseDecoder,
    state: State,
    events: usize,
    progress: Progress,
}

#[derive(Debug)]
enum State {
    Messages(MessagesStream),
    Chat(ChatStream),
    Responses(ResponsesStream),
    Gemini(GeminiStream),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    Going,
    /// The last event was given out.
    Stopped,
}

impl WireDecoder {
    /// One for this wire format. At most `limit` bytes of a single event are kept.
    #[must_use]
    pub fn new(wire: Wire, limit: usize) -> Self {
        let state = match wire {
            Wire::Messages => State::Messages(MessagesStream::default()),
            Wire::Chat => State::Chat(ChatStream::default()),
            Wire::Responses => State::Responses(ResponsesStream::default()),
            Wire::Gemini => State::Gemini(GeminiStream::default()),
        };
        Self { sse: SseDecoder::new(limit), state, events: 0, progress: Progress::Going }
    }

    /// Takes in a chunk, and puts what is complete with it at the end of `out`. What follows the end of the answer
    /// is not looked at.
    ///
    /// # Errors
    /// What came is not what the protocol says, or it says that the provider failed. What came before stands in
    /// `out`; the decoder is of no use afterwards.
    pub fn feed(&mut self, chunk: &[u8], out: &mut Vec<Event>) -> Result<(), Problem> {
        let Self { sse, state, events, progress } = self;
        let outcome = sse.feed(chunk, |event| {
            if *progress == Progress::Stopped {
                return Ok(());
            }
            *events += 1;
            let data = event.data;
            let stopped = match state {
                State::Messages(state) => state.event(data, out),
                State::Chat(state) => state.event(data, out),
                State::Responses(state) => state.event(data, out),
                State::Gemini(state) => state.event(data, out),
            };
            if stopped? {
                *progress = Progress::Stopped;
            }
            Ok(())
        });
        outcome.map_err(|problem| match problem {
            Problem::Protocol { what, place } if place.is_empty() => {
                Problem::Protocol { what, place: format!("event {events}") }
            }
            other => other,
        })
    }

    /// There is nothing more to come.
    ///
    /// # Errors
    /// The answer is not complete.
    pub fn finish(&mut self, out: &mut Vec<Event>) -> Result<(), Problem> {
        if self.progress == Progress::Stopped || self.try_finish(out) {
            return Ok(());
        }
        Err(Problem::Network {
            doing: "reading the answer",
            source: Box::new(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                format!("the stream ended after {} events, before the answer did", self.events),
            )),
        })
    }

    /// Gives out the end of an answer that is complete but whose stream goes on or broke. Two of the wire formats end
    /// with the stream, not with an event.
    pub(crate) fn try_finish(&mut self, out: &mut Vec<Event>) -> bool {
        if self.progress == Progress::Stopped {
            return true;
        }
        let stop = match &mut self.state {
            State::Chat(state) => state.finish(out),
            State::Gemini(state) => state.finish(out),
            State::Messages(_) | State::Responses(_) => false,
        };
        if stop {
            self.progress = Progress::Stopped;
        }
        stop
    }

    /// Whether the last event was given out.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.progress == Progress::Stopped
    }

    /// How many server-sent events have come, those that mean nothing included.
    #[cfg(feature = "http")]
    pub(crate) fn events(&self) -> usize {
        self.events
    }

    /// How many bytes are kept of what is incomplete.
    #[must_use]
    pub fn held(&self) -> usize {
        self.sse.held()
    }
}

impl From<SseError> for Problem {
    fn from(error: SseError) -> Self {
        Self::Protocol { what: error.to_string(), place: String::new() }
    }
}

/// An event that is not the JSON it should be. Says nothing of its contents: they may be anything.
pub(super) fn malformed(error: &serde_json::Error) -> Problem {
    let what = match error.classify() {
        serde_json::error::Category::Eof => "the JSON ends too early".to_owned(),
        serde_json::error::Category::Syntax => {
            format!("the data is not JSON from column {}", error.column())
        }
        serde_json::error::Category::Data | serde_json::error::Category::Io => {
            format!("the JSON is not what the protocol says at column {}", error.column())
        }
    };
    Problem::Protocol { what, place: String::new() }
}

//! What the model says, without a word about how it is sent.

use std::{collections::VecDeque, fmt, sync::Mutex, time::Duration};

use serde_json::Value;

use super::request::Request;

type Rule = Box<dyn FnMut(&Request) -> Reply + Send>;

/// Where the replies come from: a list, one turn after the other, or a rule.
pub struct Script(Mutex<Source>);

enum Source {
    List(VecDeque<Reply>),
    Rule(Rule),
}

impl Script {
    /// These replies in their order, whoever asks. A request beyond the last one is answered with an
    /// error that says so.
    #[must_use]
    pub fn of(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self(Mutex::new(Source::List(replies.into_iter().collect())))
    }

    /// What `rule` says to each request. A real host asks more than the script is about (a title for
    /// the session, a summary); a rule can tell these requests apart, a list cannot.
    #[must_use]
    pub fn rule(rule: impl FnMut(&Request) -> Reply + Send + 'static) -> Self {
        Self(Mutex::new(Source::Rule(Box::new(rule))))
    }

    pub(super) fn reply(&self, request: &Request) -> Reply {
        match &mut *self.0.lock().unwrap() {
            Source::List(replies) => replies.pop_front().unwrap_or_else(|| {
                Reply::status(500, "the script of the test has no further turn")
            }),
            Source::Rule(rule) => rule(request),
        }
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0.lock().unwrap() {
            Source::List(replies) => f.debug_tuple("Script::of").field(replies).finish(),
            Source::Rule(_) => f.write_str("Script::rule(..)"),
        }
    }
}

/// One turn of the model.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// What it says and calls, in this order.
    pub says: Vec<Said>,
    /// What it costs.
    pub usage: Usage,
    /// Why it ends; by default because it calls tools, or because it has said everything.
    pub stop: Option<StopReason>,
    /// What goes wrong.
    pub fault: Option<Fault>,
    /// How long it takes to begin.
    pub delay: Duration,
    /// How long it takes from one event to the next.
    pub pace: Duration,
    /// Text and arguments are streamed in pieces of so many characters.
    pub piece: usize,
    /// Streamed bytes are written so many at a time, wherever that cuts them.
    pub fragment: Option<usize>,
}

/// A part of a reply.
#[derive(Debug, Clone, PartialEq)]
pub enum Said {
    /// Text.
    Text(String),
    /// A call of a tool.
    Call(ToolCall),
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// The group that the tool was offered in, where the protocol has groups.
    pub group: Option<String>,
    /// The tool, as it was offered.
    pub name: String,
    /// An object.
    pub arguments: Value,
}

/// Tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Of the request, without those from the cache.
    pub input: u64,
    /// Of the reply.
    pub output: u64,
    /// Of the request, from the cache.
    pub cached: u64,
}

/// Why a turn ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// Everything is said.
    End,
    /// Tools are to be run.
    ToolCalls,
    /// The limit of tokens was reached.
    MaxTokens,
    /// The model will not.
    Refusal,
}

/// What goes wrong with a turn. Counts are of streamed events; a reply that is not streamed is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// An error in place of the reply.
    Status {
        /// The HTTP status.
        code: u16,
        /// More headers, such as `retry-after`.
        headers: Vec<(String, String)>,
        /// What the error says, in the words of the protocol.
        message: String,
    },
    /// After so many events nothing more comes, and the connection stays open. `StallAfter(0)`
    /// sends the headers only.
    StallAfter(usize),
    /// Not even the headers come.
    Silence,
    /// After so many events the connection is closed in the middle of the answer.
    DropAfter(usize),
    /// After so many events comes one that cannot be parsed; the rest follows.
    GarbageAfter(usize),
    /// After so many events the provider says that it failed.
    ErrorAfter(usize, String),
}

impl Default for Reply {
    fn default() -> Self {
        Self {
            says: Vec::new(),
            usage: Usage { input: 100, output: 10, cached: 0 },
            stop: None,
            fault: None,
            delay: Duration::ZERO,
            pace: Duration::ZERO,
            piece: 16,
            fragment: None,
        }
    }
}

impl Reply {
    /// A turn that says this.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::default().and_text(text)
    }

    /// A turn that calls this tool.
    #[must_use]
    pub fn call(name: impl Into<String>, arguments: Value) -> Self {
        Self::default().and_call(name, arguments)
    }

    /// An error of the provider.
    #[must_use]
    pub fn status(code: u16, message: impl Into<String>) -> Self {
        Self::default().with_fault(Fault::Status {
            code,
            headers: Vec::new(),
            message: message.into(),
        })
    }

    /// An error of the provider that says when to try again, in seconds.
    #[must_use]
    pub fn retry_after(code: u16, seconds: u32) -> Self {
        Self::default().with_fault(Fault::Status {
            code,
            headers: vec![("retry-after".to_owned(), seconds.to_string())],
            message: "too many requests".to_owned(),
        })
    }

    /// Also says this.
    #[must_use]
    pub fn and_text(mut self, text: impl Into<String>) -> Self {
        self.says.push(Said::Text(text.into()));
        self
    }

    /// Also calls this tool.
    #[must_use]
    pub fn and_call(self, name: impl Into<String>, arguments: Value) -> Self {
        self.and(ToolCall { group: None, name: name.into(), arguments })
    }

    /// Also makes this call.
    #[must_use]
    pub fn and(mut self, call: ToolCall) -> Self {
        self.says.push(Said::Call(call));
        self
    }

    /// Costs this.
    #[must_use]
    pub fn with_usage(mut self, usage: Usage) -> Self {
        self.usage = usage;
        self
    }

    /// Ends for this reason.
    #[must_use]
    pub fn with_stop(mut self, stop: StopReason) -> Self {
        self.stop = Some(stop);
        self
    }

    /// Goes wrong like this.
    #[must_use]
    pub fn with_fault(mut self, fault: Fault) -> Self {
        self.fault = Some(fault);
        self
    }

    /// Takes so long to begin.
    #[must_use]
    pub fn with_delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Takes so long from event to event.
    #[must_use]
    pub fn with_pace(mut self, pace: Duration) -> Self {
        self.pace = pace;
        self
    }

    /// Streamed bytes are written `bytes` at a time.
    #[must_use]
    pub fn in_fragments_of(mut self, bytes: usize) -> Self {
        self.fragment = Some(bytes.max(1));
        self
    }

    /// Why it ends.
    #[must_use]
    pub fn stop_reason(&self) -> StopReason {
        let calls = self.says.iter().any(|said| matches!(said, Said::Call(_)));
        self.stop.unwrap_or(if calls { StopReason::ToolCalls } else { StopReason::End })
    }

    /// The text as it is streamed.
    pub(super) fn pieces<'a>(&self, text: &'a str) -> Vec<&'a str> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let end = rest.char_indices().nth(self.piece.max(1)).map_or(rest.len(), |(at, _)| at);
            let (piece, after) = rest.split_at(end);
            pieces.push(piece);
            rest = after;
        }
        pieces
    }
}

impl From<ToolCall> for Reply {
    fn from(call: ToolCall) -> Self {
        Self::default().and(call)
    }
}

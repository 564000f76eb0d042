//! What the model says, without a word about how it is sent.

use std::time::Duration;

use serde_json::Value;

use crate::event::{StopReason, Usage};

/// One turn of the model.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// What it says and calls, in this order.
    pub says: Vec<Said>,
    /// The model that answers; by default the one that was asked for.
    pub model: Option<String>,
    /// What it costs; `None` to keep silent about it, as some servers do.
    pub usage: Option<Usage>,
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
    /// What it thinks before.
    Thinking(String),
    /// A call of a tool.
    Call(ScriptedCall),
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptedCall {
    /// The group that the tool was offered in, where the protocol has groups.
    pub group: Option<String>,
    /// The tool, as it was offered.
    pub name: String,
    /// An object. A string is sent as it is, as from a model that does not write JSON.
    pub arguments: Value,
}

impl ScriptedCall {
    /// The arguments as the model writes them.
    pub(crate) fn text(&self) -> String {
        match &self.arguments {
            Value::String(text) => text.clone(),
            arguments => arguments.to_string(),
        }
    }
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
    /// After so many events the connection is reset, not closed.
    ResetAfter(usize),
    /// After so many events comes a line of so many bytes that does not end.
    EndlessLineAfter(usize, u64),
    /// The answer says that it is of this type.
    ContentType(String),
}

impl Default for Reply {
    fn default() -> Self {
        Self {
            says: Vec::new(),
            model: None,
            usage: Some(Usage { input: 100, output: 10, ..Usage::default() }),
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

    /// Also thinks this.
    #[must_use]
    pub fn and_thinking(mut self, text: impl Into<String>) -> Self {
        self.says.push(Said::Thinking(text.into()));
        self
    }

    /// Also calls this tool.
    #[must_use]
    pub fn and_call(self, name: impl Into<String>, arguments: Value) -> Self {
        self.and(ScriptedCall { group: None, name: name.into(), arguments })
    }

    /// Also makes this call.
    #[must_use]
    pub fn and(mut self, call: ScriptedCall) -> Self {
        self.says.push(Said::Call(call));
        self
    }

    /// Costs this.
    #[must_use]
    pub fn with_usage(mut self, usage: Usage) -> Self {
        self.usage = Some(usage);
        self
    }

    /// Does not say what it costs.
    #[must_use]
    pub fn without_usage(mut self) -> Self {
        self.usage = None;
        self
    }

    /// Is said by this model, whichever was asked for.
    #[must_use]
    pub fn by_model(mut self, model: impl Into<String>) -> Self {
        self.model = Some(model.into());
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
        self.stop.clone().unwrap_or(if calls { StopReason::ToolCalls } else { StopReason::End })
    }

    /// The text as it is streamed.
    pub(crate) fn pieces<'a>(&self, text: &'a str) -> Vec<&'a str> {
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

impl From<ScriptedCall> for Reply {
    fn from(call: ScriptedCall) -> Self {
        Self::default().and(call)
    }
}

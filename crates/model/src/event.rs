//! What comes back from a model.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::message::{Message, Part, Role, Signature, Thinking, ToolCall};

/// One step of an answer. A complete stream begins with [`Event::Started`] and ends with [`Event::Stopped`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Event {
    /// The model has begun.
    Started {
        /// What the provider calls this answer; good for questions to its support.
        id: String,
        /// The model that really answers. Empty when the provider does not say.
        model: String,
    },
    /// More text.
    Text(String),
    /// More of what the model thinks.
    Thinking(String),
    /// The thought is at its end, and this must go back with it.
    Signature(Signature),
    /// A call of a tool begins.
    ToolCallStarted {
        /// Which call of this answer it is, counted from 0.
        index: usize,
        /// Which result will belong to it.
        id: String,
        /// The tool.
        name: String,
    },
    /// More of the input of a call, as text that will be JSON at its end.
    ToolCallDelta {
        /// Which call.
        index: usize,
        /// The text.
        json: String,
    },
    /// The call is complete.
    ToolCall(ToolCall),
    /// A program that answers as the model uses a tool of its own. Nothing is to be done about it.
    ToolNotice(ToolNotice),
    /// What it costs so far; a later one replaces an earlier one.
    Usage(Usage),
    /// The end.
    Stopped(StopReason),
}

/// A tool that a program which answers as the model uses by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ToolNotice {
    /// What the program calls this use.
    pub id: String,
    /// The tool, as the program calls it.
    pub name: String,
    /// How far it is.
    pub phase: ToolPhase,
    /// What it is given when it begins, or what came of it, shortened.
    pub about: String,
}

/// How far the use of a tool is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolPhase {
    /// It begins.
    Begins,
    /// It is done.
    Done,
    /// It failed, or was not allowed.
    Failed,
}

/// Tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Usage {
    /// Of the request, without those that were read from or written to the cache.
    pub input: u64,
    /// Of the answer, thoughts included.
    pub output: u64,
    /// Of the request, from the cache.
    pub cache_read: u64,
    /// Of the request, into the cache, where that has a price of its own.
    pub cache_write: u64,
    /// Of the answer, those that were thoughts, where the provider says so.
    pub reasoning: u64,
}

impl Usage {
    /// Of the request, all of them. Providers say what they like: no sum of it overflows.
    #[must_use]
    pub fn asked(&self) -> u64 {
        self.input.saturating_add(self.cache_read).saturating_add(self.cache_write)
    }

    /// Of the request and of the answer.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.asked().saturating_add(self.output)
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, more: Self) {
        self.input = self.input.saturating_add(more.input);
        self.output = self.output.saturating_add(more.output);
        self.cache_read = self.cache_read.saturating_add(more.cache_read);
        self.cache_write = self.cache_write.saturating_add(more.cache_write);
        self.reasoning = self.reasoning.saturating_add(more.reasoning);
    }
}

/// Why an answer ends.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    /// Everything is said.
    End,
    /// Tools are to be run.
    ToolCalls,
    /// The limit of tokens was reached.
    MaxTokens,
    /// The model will not, or its provider does not let it.
    Refusal,
    /// The provider wants to be asked again with what was said so far.
    Paused,
    /// Something that we do not know, in the provider's word.
    Other(String),
}

/// A whole answer, put together from its events.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    /// What the provider calls it.
    pub id: String,
    /// The model that really answered. Empty when the provider did not say.
    pub model: String,
    /// What was said, ready to go into the conversation.
    pub message: Message,
    /// What it cost; `None` when the provider did not say.
    pub usage: Option<Usage>,
    /// Why it ended; `None` when it did not.
    pub stop: Option<StopReason>,
    /// How many parts of the message were there when a program last used a tool of its own.
    before_tools: usize,
}

impl Default for Turn {
    fn default() -> Self {
        Self {
            id: String::new(),
            model: String::new(),
            message: Message { role: Role::Assistant, parts: Vec::new() },
            usage: None,
            stop: None,
            before_tools: 0,
        }
    }
}

impl Turn {
    /// What was said at last: of a program that used tools of its own, what came after that. The rest of the text tells what it was
    /// about to do.
    #[must_use]
    pub fn conclusion(&self) -> String {
        let parts = &self.message.parts[self.before_tools..];
        let texts = parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// Takes in the next event.
    pub fn push(&mut self, event: Event) {
        let parts = &mut self.message.parts;
        match event {
            Event::Started { id, model } => (self.id, self.model) = (id, model),
            Event::Text(text) => match parts[self.before_tools..].last_mut() {
                Some(Part::Text(before)) => before.push_str(&text),
                _ => parts.push(Part::Text(text)),
            },
            Event::Thinking(text) => match parts.last_mut() {
                Some(Part::Thinking(before)) if before.signature.is_none() => {
                    before.text.push_str(&text);
                }
                _ => parts.push(Part::Thinking(Thinking { text, signature: None })),
            },
            Event::Signature(signature) => match parts.last_mut() {
                Some(Part::Thinking(before)) if before.signature.is_none() => {
                    before.signature = Some(signature);
                }
                _ => parts.push(Part::Thinking(Thinking {
                    text: String::new(),
                    signature: Some(signature),
                })),
            },
            Event::ToolCall(call) => parts.push(Part::ToolCall(call)),
            Event::ToolCallStarted { .. } | Event::ToolCallDelta { .. } => {}
            Event::ToolNotice(_) => self.before_tools = parts.len(),
            Event::Usage(usage) => self.usage = Some(usage),
            Event::Stopped(stop) => self.stop = Some(stop),
        }
    }
}

impl FromIterator<Event> for Turn {
    fn from_iter<I: IntoIterator<Item = Event>>(events: I) -> Self {
        let mut turn = Self::default();
        events.into_iter().for_each(|event| turn.push(event));
        turn
    }
}

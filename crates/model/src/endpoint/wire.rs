//! What all wire formats have in common.

use serde_json::Value;

use super::{
    chat::Chat, gemini::Gemini, messages::Messages, request::Request, responses::Responses,
};
use crate::{
    script::{Reply, Said, ScriptedCall as ToolCall},
    wire::Wire as Protocol,
};

/// One wire format: a request in, a reply out.
pub(super) trait Wire {
    /// The neutral view of a request. Lenient: what is not understood is left out.
    fn request(&self, path: &str, body: &Value) -> Request;
    /// A reply in one piece.
    fn whole(&self, turn: &Turn<'_>) -> Value;
    /// A reply as a sequence of events.
    fn events(&self, turn: &Turn<'_>) -> Vec<Event>;
    /// What stands in the body of an error.
    fn error(&self, status: u16, message: &str) -> Value;
    /// An error in the middle of a stream.
    fn failure(&self, message: &str) -> Event {
        Event::unnamed(&self.error(500, message))
    }
}

/// The module of a wire format.
pub(super) fn wire(protocol: Protocol) -> &'static dyn Wire {
    match protocol {
        Protocol::Messages => &Messages,
        Protocol::Chat => &Chat,
        Protocol::Responses => &Responses,
        Protocol::Gemini => &Gemini,
    }
}

/// A reply with what its form needs besides.
#[derive(Debug)]
pub(super) struct Turn<'a> {
    /// How many turns the endpoint has answered before; makes ids that are the same in every run.
    pub(super) number: usize,
    pub(super) model: &'a str,
    pub(super) reply: &'a Reply,
}

impl Turn<'_> {
    pub(super) fn id(&self, prefix: &str) -> String {
        format!("{prefix}_{:04}", self.number)
    }

    pub(super) fn call_id(&self, index: usize) -> String {
        format!("call_{:04}_{index}", self.number)
    }

    /// The model that says that it answered.
    pub(super) fn served(&self) -> &str {
        self.reply.model.as_deref().unwrap_or(self.model)
    }

    /// What proves that a thought is unchanged.
    pub(super) fn signature(&self, index: usize) -> String {
        format!("sealed_{:04}_{index}", self.number)
    }

    pub(super) fn thoughts(&self) -> String {
        let thoughts = self.reply.says.iter().filter_map(|said| match said {
            Said::Thinking(text) => Some(text.as_str()),
            Said::Text(_) | Said::Call(_) => None,
        });
        thoughts.collect()
    }

    pub(super) fn texts(&self) -> String {
        let texts = self.reply.says.iter().filter_map(|said| match said {
            Said::Text(text) => Some(text.as_str()),
            Said::Call(_) | Said::Thinking(_) => None,
        });
        texts.collect()
    }

    /// The calls, each with its place among everything that is said.
    pub(super) fn calls(&self) -> impl Iterator<Item = (usize, &ToolCall)> {
        self.reply.says.iter().enumerate().filter_map(|(index, said)| match said {
            Said::Call(call) => Some((index, call)),
            Said::Text(_) | Said::Thinking(_) => None,
        })
    }
}

/// One server-sent event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Event {
    name: Option<String>,
    data: String,
}

impl Event {
    /// One whose name is also the `type` of its data.
    pub(super) fn typed(data: &Value) -> Self {
        Self { name: data["type"].as_str().map(str::to_owned), data: data.to_string() }
    }

    pub(super) fn unnamed(data: &Value) -> Self {
        Self::raw(data.to_string())
    }

    pub(super) fn raw(data: impl Into<String>) -> Self {
        Self { name: None, data: data.into() }
    }

    pub(super) fn render(&self) -> String {
        match &self.name {
            Some(name) => format!("event: {name}\ndata: {}\n\n", self.data),
            None => format!("data: {}\n\n", self.data),
        }
    }

    /// The same, cut off in the middle of its data.
    pub(super) fn render_garbage(&self) -> String {
        let half = self.data.char_indices().nth(self.data.chars().count() / 2);
        let data = &self.data[..half.map_or(0, |(at, _)| at)];
        Self { name: self.name.clone(), data: data.to_owned() }.render()
    }
}

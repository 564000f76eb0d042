//! Tool calls that arrive in pieces.

use crate::{
    error::Problem,
    event::Event,
    message::{Signature, ToolCall, ToolInput},
    sse,
};

/// The calls of one answer that are not complete yet.
#[derive(Debug, Default)]
pub(super) struct Calls {
    open: Vec<Open>,
    started: usize,
    /// What the provider calls the answer; empty if it has no name for it.
    answer: String,
}

#[derive(Debug)]
struct Open {
    /// What the provider counts it by.
    key: u64,
    index: usize,
    id: String,
    name: String,
    json: String,
    signature: Option<Signature>,
}

impl Calls {
    /// How many there were so far.
    pub(super) fn started(&self) -> usize {
        self.started
    }

    /// What the provider calls the answer that they are in.
    pub(super) fn in_answer(&mut self, id: &str) {
        id.clone_into(&mut self.answer);
    }

    /// A call begins. One without an id is given one that is unique in the conversation, if its answer has a name, and otherwise only
    /// in its answer.
    pub(super) fn start(&mut self, key: u64, id: String, name: String) -> Event {
        let index = self.started;
        self.started += 1;
        let id = match (&*id, &*self.answer) {
            ("", "") => format!("call_{index}"),
            ("", answer) => format!("{answer}_{index}"),
            _ => id,
        };
        let event = Event::ToolCallStarted { index, id: id.clone(), name: name.clone() };
        self.open.push(Open { key, index, id, name, json: String::new(), signature: None });
        event
    }

    pub(super) fn sign(&mut self, key: u64, signature: Option<Signature>) {
        if let Some(open) = self.find(key) {
            open.signature = signature;
        }
    }

    /// The id of the open call, with what is known of its input.
    pub(super) fn open(&self, key: u64) -> Option<(&str, &str)> {
        let open = self.open.iter().rev().find(|it| it.key == key)?;
        Some((&open.id, &open.json))
    }

    /// More input. What belongs to no call is dropped.
    pub(super) fn delta(&mut self, key: u64, json: String) -> Result<Option<Event>, Problem> {
        let Some(open) = self.find(key).filter(|_| !json.is_empty()) else { return Ok(None) };
        if open.json.len() + json.len() > sse::DEFAULT_LIMIT {
            return Err(Problem::Protocol {
                what: format!(
                    "the input of `{}` is larger than {} bytes",
                    open.name,
                    sse::DEFAULT_LIMIT
                ),
                place: String::new(),
            });
        }
        open.json.push_str(&json);
        Ok(Some(Event::ToolCallDelta { index: open.index, json }))
    }

    /// The call is complete.
    pub(super) fn finish(&mut self, key: u64) -> Option<Event> {
        let at = self.open.iter().rposition(|it| it.key == key)?;
        Some(complete(self.open.remove(at)))
    }

    /// So are all that are still open.
    pub(super) fn finish_all(&mut self) -> impl Iterator<Item = Event> {
        self.open.drain(..).map(complete)
    }

    fn find(&mut self, key: u64) -> Option<&mut Open> {
        self.open.iter_mut().rev().find(|it| it.key == key)
    }
}

fn complete(open: Open) -> Event {
    Event::ToolCall(ToolCall {
        id: open.id,
        name: open.name,
        input: ToolInput::parse(open.json),
        signature: open.signature,
    })
}

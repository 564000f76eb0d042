//! What a client asked, without a word about how it was sent.

use serde_json::Value;

use crate::{
    script::{Asked, ScriptedCall as ToolCall},
    wire::Wire as Protocol,
};

/// How the client wants the reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Delivery {
    /// In one piece.
    Whole,
    /// As server-sent events.
    Streamed,
}

/// What the model is given for one turn.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The wire format it came in.
    pub protocol: Protocol,
    /// The model that was asked for.
    pub model: String,
    /// The instructions, joined.
    pub system: String,
    /// The conversation.
    pub messages: Vec<Message>,
    /// The tools that the model may call.
    pub tools: Vec<Tool>,
    /// How the client wants the reply.
    pub delivery: Delivery,
}

/// One message of the conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub parts: Vec<Part>,
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// The user, or the program in the name of the user.
    User,
    /// The model.
    Assistant,
    /// A tool.
    Tool,
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    /// Text.
    Text(String),
    /// The model called a tool.
    Call {
        /// Which result belongs to it.
        id: String,
        /// The call.
        call: ToolCall,
    },
    /// What a tool answered.
    Result {
        /// Which call it belongs to.
        id: String,
        /// The answer, its texts joined.
        text: String,
    },
    /// Anything else: an image, a thought.
    Other(Value),
}

/// A tool that the model may call.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// The group it was offered in, where the protocol has groups.
    pub group: Option<String>,
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The schema of its arguments.
    pub schema: Value,
}

impl Request {
    /// Everything that the model reads: instructions, conversation, and what the tools are for.
    #[must_use]
    pub fn text(&self) -> String {
        let parts = self.messages.iter().flat_map(|message| &message.parts);
        let said = parts.filter_map(|part| match part {
            Part::Text(text) | Part::Result { text, .. } => Some(text.as_str()),
            Part::Call { .. } | Part::Other(_) => None,
        });
        let tools = self.tools.iter().map(|tool| tool.description.as_str());
        let all = std::iter::once(self.system.as_str()).chain(said).chain(tools);
        all.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
    }

    /// What a reply can depend on.
    pub(super) fn asked(&self) -> Asked {
        let user = self.messages.iter().rev().filter(|it| it.role == Role::User);
        let mut texts = user.flat_map(|it| it.parts.iter().rev()).filter_map(|part| match part {
            Part::Text(text) if !text.is_empty() => Some(text.clone()),
            _ => None,
        });
        let last = self.messages.iter().rev().take_while(|it| it.role != Role::Assistant);
        let results = last.flat_map(|it| &it.parts).filter_map(|part| match part {
            Part::Result { text, .. } => Some(text.clone()),
            _ => None,
        });
        Asked {
            model: self.model.clone(),
            system: self.system.clone(),
            text: texts.next().unwrap_or_default(),
            results: results.collect(),
            tools: self.tools.iter().map(Tool::full_name).collect(),
        }
    }

    /// The tool of that name; with a group as `group__name`, as well.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<&Tool> {
        self.tools.iter().find(|tool| tool.name == name || tool.full_name() == name)
    }

    /// What the model called so far, the oldest first.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.messages.iter().flat_map(|message| &message.parts).filter_map(|part| match part {
            Part::Call { call, .. } => Some(call),
            _ => None,
        })
    }

    /// What tools answered so far, the oldest first.
    pub fn results(&self) -> impl Iterator<Item = &str> {
        self.messages.iter().flat_map(|message| &message.parts).filter_map(|part| match part {
            Part::Result { text, .. } => Some(text.as_str()),
            _ => None,
        })
    }
}

impl Tool {
    /// Its name with that of its group in front: `group__name`.
    #[must_use]
    pub fn full_name(&self) -> String {
        let group = self.group.as_deref().unwrap_or_default().trim_end_matches('_');
        if group.is_empty() { self.name.clone() } else { format!("{group}__{}", self.name) }
    }

    /// A call of it.
    #[must_use]
    pub fn call(&self, arguments: Value) -> ToolCall {
        ToolCall { group: self.group.clone(), name: self.name.clone(), arguments }
    }
}

/// The text of a value that is a string, or a list of parts with a `text`, as all protocols have them.
pub(super) fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().map(text_of).filter(|text| !text.is_empty());
            texts.collect::<Vec<_>>().join("\n")
        }
        Value::Object(part) => part.get("text").map(text_of).unwrap_or_default(),
        _ => String::new(),
    }
}

/// A string at a key, or nothing.
pub(super) fn string(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}

/// Arguments that travel as JSON inside a string.
pub(super) fn packed(value: &Value) -> Value {
    let text = value.as_str().unwrap_or("null");
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}

/// The elements of a list; none if it is no list.
pub(super) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

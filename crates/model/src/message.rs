//! The conversation, without a word about how it is sent.

use std::{
    ops::Deref,
    sync::{Arc, OnceLock},
};

use agents_system::nested;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::wire::Wire;

/// Who speaks. What tools answered is part of what the user says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The user, or the program in the name of the user.
    User,
    /// The model.
    Assistant,
}

/// One message of the conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said, in this order.
    pub parts: Vec<Part>,
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// Text.
    Text(String),
    /// What the model thought before it spoke.
    Thinking(Thinking),
    /// The model wants a tool to be run.
    ToolCall(ToolCall),
    /// What a tool answered.
    ToolResult(ToolResult),
}

/// What the model thought. Some providers want it back unchanged with the next request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thinking {
    /// As much as the provider shows; often nothing, or a summary.
    pub text: String,
    /// What proves to the provider that it is unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<Signature>,
}

/// Data that only the provider understands, and that goes back to it in its own wire format only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signature {
    /// The wire format that it came in.
    pub wire: Wire,
    /// What it is; only the module of that wire format knows how to read it.
    pub data: String,
}

/// The model wants a tool to be run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Which result belongs to it.
    pub id: String,
    /// The tool.
    pub name: String,
    /// What the tool is given.
    pub input: ToolInput,
    /// What the provider wants back with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<Signature>,
}

/// What a tool is given. Models write JSON by hand, and now and then they get it wrong.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolInput {
    /// A value; an object, if the model kept to the schema.
    Json(Value),
    /// What the model wrote, which is not JSON.
    Raw(String),
}

impl ToolInput {
    /// Reads what the model wrote. Nothing at all is an empty object: this is how a call without
    /// arguments arrives. What is too deep to be kept in a transcript, and told, is no JSON.
    #[must_use]
    pub fn parse(text: String) -> Self {
        if text.trim().is_empty() {
            return Self::Json(Value::Object(serde_json::Map::new()));
        }
        match nested::parse(&text) {
            Some(value) => Self::Json(value),
            None => Self::Raw(text),
        }
    }

    /// As the model writes it.
    #[must_use]
    pub fn to_text(&self) -> String {
        match self {
            Self::Json(value) => value.to_string(),
            Self::Raw(text) => text.clone(),
        }
    }
}

/// What a tool answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The [`ToolCall::id`] that it belongs to.
    pub id: String,
    /// The tool. One wire format pairs results with calls by it.
    pub name: String,
    /// What the model reads.
    pub content: String,
    /// How it went.
    #[serde(default)]
    pub status: ToolStatus,
}

/// How a tool call went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolStatus {
    /// As asked.
    #[default]
    Done,
    /// It did not work, or was not allowed; the content says why.
    Failed,
}

impl Message {
    /// The user says this.
    #[must_use]
    pub fn user(text: impl Into<String>) -> Self {
        Self { role: Role::User, parts: vec![Part::Text(text.into())] }
    }

    /// The model said this.
    #[must_use]
    pub fn assistant(text: impl Into<String>) -> Self {
        Self { role: Role::Assistant, parts: vec![Part::Text(text.into())] }
    }

    /// Tools answered this.
    #[must_use]
    pub fn results(results: impl IntoIterator<Item = ToolResult>) -> Self {
        Self { role: Role::User, parts: results.into_iter().map(Part::ToolResult).collect() }
    }

    /// Its texts, joined.
    #[must_use]
    pub fn text(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// The tools that it wants to be run.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            Part::ToolCall(call) => Some(call),
            _ => None,
        })
    }

    /// It cannot be changed from now on, and is encoded once per wire format.
    #[must_use]
    pub fn seal(self) -> Arc<Sealed<Self>> {
        Arc::new(Sealed::new(self))
    }
}

/// A value that does not change any more, with its encoded form in each wire format that was asked for.
///
/// A conversation only grows at its end, and every turn sends all of it. Kept like this, a turn copies references
/// to what was encoded before and encodes what is new.
#[derive(Debug)]
pub struct Sealed<T> {
    value: T,
    encoded: [OnceLock<Bytes>; Wire::ALL.len()],
}

impl<T> Sealed<T> {
    /// Seals it.
    #[must_use]
    pub fn new(value: T) -> Self {
        Self { value, encoded: [const { OnceLock::new() }; Wire::ALL.len()] }
    }

    /// The value. To change it is to seal another one.
    pub fn into_inner(self) -> T {
        self.value
    }

    /// Its encoded form, made by `encode` the first time.
    pub(crate) fn encoded(&self, wire: Wire, encode: impl FnOnce(&T, &mut Vec<u8>)) -> &Bytes {
        self.encoded[wire.index()].get_or_init(|| {
            let mut bytes = Vec::new();
            encode(&self.value, &mut bytes);
            Bytes::from(bytes)
        })
    }
}

impl<T> Deref for Sealed<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: PartialEq> PartialEq for Sealed<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<T> From<T> for Sealed<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

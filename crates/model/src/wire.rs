//! The wire formats: from a request to bytes, from bytes to events. What is specific to one of them stays in its
//! module; all of it is pure.

mod calls;
mod chat;
mod gemini;
mod json;
mod lenient;
mod messages;
mod openai;
mod responses;
pub(crate) mod said;
mod stream;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use self::{json::Body, stream::WireDecoder};
use crate::request::Request;

/// Whose server it is, where that makes a difference within a wire format.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// That of the company that made the format.
    #[default]
    Official,
    /// Somebody else's.
    Compatible,
}

/// A wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wire {
    /// Anthropic's `/v1/messages`.
    Messages,
    /// OpenAI's `/v1/chat/completions`, and everything compatible with it.
    Chat,
    /// OpenAI's `/v1/responses`.
    Responses,
    /// Google's `/v1beta/models/<model>:streamGenerateContent`.
    Gemini,
}

impl Wire {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Messages, Self::Chat, Self::Responses, Self::Gemini];

    /// The body of a request. Encodes what was not encoded before, and shares the rest.
    #[must_use]
    pub fn encode(self, request: &Request, dialect: Dialect) -> Body {
        match self {
            Self::Messages => messages::encode(request),
            Self::Chat => chat::encode(request, dialect),
            Self::Responses => responses::encode(request, dialect),
            Self::Gemini => gemini::encode(request),
        }
    }

    /// Its place in [`Wire::ALL`].
    pub(crate) const fn index(self) -> usize {
        self as usize
    }

    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Messages => "messages",
            Self::Chat => "chat",
            Self::Responses => "responses",
            Self::Gemini => "gemini",
        }
    }
}

#[cfg(test)]
mod tests;

impl fmt::Display for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

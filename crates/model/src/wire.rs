//! The wire formats. What is specific to one of them stays in its module.

use std::fmt;

use serde::{Deserialize, Serialize};

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

impl fmt::Display for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

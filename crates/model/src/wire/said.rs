//! What providers say when they do not answer, and what it means.

use std::time::Duration;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::error::Problem;

/// More of an error than this tells nobody anything.
const MAX_SAID: usize = 500;

/// An error in a provider's words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Said {
    /// Everything that classifies it: `type`, `code`, `status`.
    pub(crate) words: Vec<String>,
    /// What it tells people.
    pub(crate) message: String,
    /// An HTTP status, where one is in it.
    pub(crate) status: Option<u16>,
    /// When to come back, where that is in it.
    pub(crate) retry_after: Option<Duration>,
}

impl<'de> Deserialize<'de> for Said {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(|value| Self::of(&value))
    }
}

impl Said {
    /// The body of an answer that is an error, whatever it looks like.
    #[cfg(any(feature = "http", test))]
    pub(crate) fn body(bytes: &[u8]) -> Self {
        match serde_json::from_slice::<Value>(bytes) {
            Ok(value) => Self::of(&value),
            Err(_) => {
                let text = String::from_utf8_lossy(bytes);
                let text = text.trim();
                let message = if text.starts_with('<') { "a page of HTML" } else { text };
                Self { message: bounded(message), ..Self::default() }
            }
        }
    }

    fn of(value: &Value) -> Self {
        let value = match value {
            Value::Array(items) => items.first().unwrap_or(value),
            _ => value,
        };
        match &value["error"] {
            Value::Object(_) => return Self::of(&value["error"]),
            Value::String(message) => {
                return Self { message: bounded(message), ..Self::default() };
            }
            _ => {}
        }
        let mut said = Self::default();
        for key in ["type", "code", "status"] {
            match &value[key] {
                Value::String(word) => said.words.push(bounded(word)),
                Value::Number(number) => {
                    let number = number.as_u64().and_then(|it| u16::try_from(it).ok());
                    said.status = number.filter(|it| (400..600).contains(it)).or(said.status);
                }
                _ => {}
            }
        }
        let message =
            ["message", "detail", "error_msg"].iter().find_map(|key| value[*key].as_str());
        said.message = bounded(message.or(value.as_str()).unwrap_or_default());
        // Google's way to say when.
        let details = value["details"].as_array().map_or(&[][..], Vec::as_slice);
        let delay = details.iter().find_map(|it| it["retryDelay"].as_str());
        said.retry_after = delay
            .and_then(|it| it.strip_suffix('s')?.parse().ok())
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        said
    }

    fn has(&self, words: &[&str]) -> bool {
        self.words.iter().any(|it| words.contains(&it.as_str()))
    }

    fn tells(&self, phrases: &[&str]) -> bool {
        let message = self.message.to_ascii_lowercase();
        phrases.iter().any(|phrase| message.contains(phrase))
    }
}

/// An error in the middle of a stream.
pub(crate) fn in_stream(said: Said) -> Problem {
    let status = said.status.unwrap_or_else(|| {
        if said.has(&["rate_limit_error", "rate_limit_exceeded", "RESOURCE_EXHAUSTED"]) {
            429
        } else if said.has(&["authentication_error", "invalid_api_key", "UNAUTHENTICATED"]) {
            401
        } else if said.has(&["invalid_request_error", "invalid_prompt", "INVALID_ARGUMENT"]) {
            400
        } else {
            500
        }
    });
    match classify(status, said, None, "") {
        Problem::Overloaded { retry_after, said, .. } => {
            Problem::Overloaded { status: None, retry_after, said }
        }
        other => other,
    }
}

/// What an answer with this status means.
pub(crate) fn classify(
    status: u16,
    said: Said,
    retry_after: Option<Duration>,
    model: &str,
) -> Problem {
    let retry_after = retry_after.or(said.retry_after);
    let too_long =
        said.has(&["context_length_exceeded", "exceed_context_size_error", "request_too_large"])
            || said.tells(&[
                "prompt is too long",
                "maximum context length",
                "context length exceeded",
                "context window",
                "exceeds the available context size",
                "exceeds the maximum number of tokens",
            ]);
    let no_money = status == 402
        || said.has(&["insufficient_quota", "billing_error"])
        || said.tells(&[
            "credit balance is too low",
            "exceeded your current quota",
            "insufficient balance",
        ]);
    match status {
        400 | 413 | 422 | 500 if too_long => Problem::ContextTooLong { said: said.message },
        413 => Problem::ContextTooLong { said: said.message },
        400 | 402 | 403 | 429 if no_money && retry_after.is_none() => {
            Problem::OutOfCredit { said: said.message }
        }
        400 | 403
            if said.has(&["content_filter", "content_policy_violation", "invalid_prompt"]) =>
        {
            Problem::Refused { said: said.message }
        }
        // Google says it like this.
        400 if said.tells(&["api key not valid", "api_key_invalid"]) => {
            Problem::Unauthorized { status, said: said.message }
        }
        401 | 403 => Problem::Unauthorized { status, said: said.message },
        404 if !model.is_empty()
            && (said.has(&["not_found_error", "model_not_found", "NOT_FOUND"])
                || said.tells(&["model"])) =>
        {
            Problem::UnknownModel { model: model.to_owned(), said: said.message }
        }
        400 if !model.is_empty() && said.has(&["model_not_found"]) => {
            Problem::UnknownModel { model: model.to_owned(), said: said.message }
        }
        429 => Problem::RateLimited { retry_after, said: said.message },
        408 | 409 | 425 | 500..=599 => {
            Problem::Overloaded { status: Some(status), retry_after, said: said.message }
        }
        _ => Problem::BadRequest { status, said: said.message },
    }
}

/// One line of limited length, without control characters.
pub(crate) fn bounded(text: &str) -> String {
    let mut line = String::new();
    for word in
        text.split(|it: char| it.is_whitespace() || it.is_control()).filter(|it| !it.is_empty())
    {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if line.len() > MAX_SAID {
            let end = line.floor_char_boundary(MAX_SAID);
            line.truncate(end);
            line.push('…');
            break;
        }
    }
    line
}

#[cfg(test)]
mod tests;

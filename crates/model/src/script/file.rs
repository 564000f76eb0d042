//! Scripts as people write them.

use std::{collections::BTreeMap, time::Duration};

use agents_system::explain::{Code, ErrorKind, Explain};
use camino::{Utf8Path, Utf8PathBuf};
use serde::Deserialize;
use serde_json::Value;

use super::reply::{Fault, Reply, Said, ScriptedCall};
use crate::event::{StopReason, Usage};

/// A script: what a model says, turn by turn. TOML, YAML or JSON.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ScriptFile {
    /// The replies. Those without `when` are said once each, in this order; those with one are said whenever it holds,
    /// and the first that holds goes first.
    pub replies: Vec<ScriptReply>,
}

/// One turn of the model. It thinks first, then speaks, then calls tools.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ScriptReply {
    /// What must hold for the reply to be said.
    pub when: Option<When>,
    /// How often a reply with `when` is said at most.
    pub times: Option<u32>,
    /// What it thinks.
    pub thinking: Option<String>,
    /// What it says.
    pub text: Option<String>,
    /// The tools it calls.
    #[serde(default)]
    pub calls: Vec<ScriptCall>,
    /// The model that says that it answered; by default the one that was asked for.
    pub model: Option<String>,
    /// Tokens; by default 100 for the request and 10 for the answer.
    pub usage: Option<ScriptUsage>,
    /// Why it ends; by default because it calls tools, or because everything is said.
    pub stop: Option<ScriptStop>,
    /// What goes wrong.
    pub fault: Option<ScriptFault>,
    /// How long it takes to begin, in milliseconds.
    #[serde(default)]
    pub delay_ms: u64,
    /// How long it takes from one event to the next, in milliseconds.
    #[serde(default)]
    pub pace_ms: u64,
    /// How many characters of text come at a time; 16 by default.
    pub piece: Option<usize>,
    /// How many bytes are written at a time, wherever that cuts them. Only over HTTP.
    pub fragment: Option<usize>,
}

/// What must hold for a reply to be said. All that is given must; text is found anywhere, as it is written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct When {
    /// The last text of the user has this in it.
    pub text: Option<String>,
    /// One of the results that tools gave after the model's last turn has this in it.
    pub result: Option<String>,
    /// A tool of this name is offered.
    pub tool: Option<String>,
    /// The instructions have this in them.
    pub system: Option<String>,
    /// This model is asked for.
    pub model: Option<String>,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ScriptCall {
    /// The tool.
    pub name: String,
    /// What it is given; an empty object by default. A string is sent as it is, to try input that is not JSON.
    #[serde(default)]
    pub input: Value,
}

/// Tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ScriptUsage {
    /// Of the request, without those from and into the cache.
    #[serde(default)]
    pub input: u64,
    /// Of the answer.
    #[serde(default)]
    pub output: u64,
    /// Of the request, from the cache.
    #[serde(default)]
    pub cache_read: u64,
    /// Of the request, into the cache.
    #[serde(default)]
    pub cache_write: u64,
    /// Of the answer, those that were thoughts.
    #[serde(default)]
    pub reasoning: u64,
}

/// Why a turn ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ScriptStop {
    /// Everything is said.
    End,
    /// Tools are to be run.
    ToolCalls,
    /// The limit of tokens was reached.
    MaxTokens,
    /// The model will not.
    Refusal,
}

/// What goes wrong with a turn. Numbers count events.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ScriptFault {
    /// An error in place of the reply.
    Status(ScriptStatus),
    /// After so many events nothing more comes, and the connection stays open.
    StallAfter(usize),
    /// Nothing comes at all, not even the headers.
    Silence,
    /// After so many events the connection is closed in the middle of the answer.
    DropAfter(usize),
    /// After so many events the connection is reset.
    ResetAfter(usize),
    /// After so many events comes one that cannot be parsed.
    GarbageAfter(usize),
    /// After so many events the provider says that it is overloaded.
    ErrorAfter(usize),
    /// The answer says that it is of this type, not a stream of events.
    ContentType(String),
}

/// An error in place of a reply.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ScriptStatus {
    /// The HTTP status.
    pub code: u16,
    /// What the error says.
    #[serde(default)]
    pub message: String,
    /// More headers, such as `retry-after`.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
}

/// A script that cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// It cannot be read.
    #[error("the script cannot be read")]
    Read(#[source] std::io::Error),
    /// It is in a format that we do not know.
    #[error("`{0}` is not a script: its name ends in neither `.toml`, `.yaml`, `.yml` nor `.json`")]
    Format(Utf8PathBuf),
    /// It is not TOML, or not a script.
    #[error("the script is not valid")]
    Toml(#[source] Box<toml::de::Error>),
    /// It is not JSON, or not a script.
    #[error("the script is not valid")]
    Json(#[source] serde_json::Error),
    /// It is not YAML, or not a script.
    #[error("the script is not valid")]
    Yaml(#[source] Box<serde_saphyr::Error>),
}

impl Explain for ScriptError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Usage
    }

    fn code(&self) -> Option<Code> {
        Some(Code::ScriptInvalid)
    }

    fn hint(&self) -> Option<String> {
        Some("docs/models.md describes scripts".to_owned())
    }
}

impl ScriptFile {
    /// Reads a script; the end of its name tells its format.
    ///
    /// # Errors
    /// It cannot be read or is not a script.
    pub fn load(path: &Utf8Path) -> Result<Self, ScriptError> {
        let parse = match path.extension() {
            Some("toml") => Self::parse_toml,
            Some("json") => Self::parse_json,
            Some("yaml" | "yml") => Self::parse_yaml,
            _ => return Err(ScriptError::Format(path.to_owned())),
        };
        parse(&fs_err::read_to_string(path).map_err(ScriptError::Read)?)
    }

    /// Reads a script in TOML.
    ///
    /// # Errors
    /// It is not one.
    pub fn parse_toml(text: &str) -> Result<Self, ScriptError> {
        toml::from_str(text).map_err(|error| ScriptError::Toml(Box::new(error)))
    }

    /// Reads a script in JSON.
    ///
    /// # Errors
    /// It is not one.
    pub fn parse_json(text: &str) -> Result<Self, ScriptError> {
        serde_json::from_str(text).map_err(ScriptError::Json)
    }

    /// Reads a script in YAML.
    ///
    /// # Errors
    /// It is not one.
    pub fn parse_yaml(text: &str) -> Result<Self, ScriptError> {
        serde_saphyr::from_str(text).map_err(|error| ScriptError::Yaml(Box::new(error)))
    }
}

impl From<&ScriptReply> for Reply {
    fn from(from: &ScriptReply) -> Self {
        let default = Self::default();
        let calls = from.calls.iter().map(|call| {
            let arguments = match &call.input {
                Value::Null => Value::Object(serde_json::Map::new()),
                input => input.clone(),
            };
            Said::Call(ScriptedCall { group: None, name: call.name.clone(), arguments })
        });
        let thinking = from.thinking.clone().map(Said::Thinking);
        let text = from.text.clone().map(Said::Text);
        Self {
            says: thinking.into_iter().chain(text).chain(calls).collect(),
            model: from.model.clone(),
            usage: from.usage.map(Into::into).or(default.usage),
            stop: from.stop.map(Into::into),
            fault: from.fault.clone().map(Into::into),
            delay: Duration::from_millis(from.delay_ms),
            pace: Duration::from_millis(from.pace_ms),
            piece: from.piece.unwrap_or(default.piece).max(1),
            fragment: from.fragment.map(|it| it.max(1)),
        }
    }
}

impl From<ScriptUsage> for Usage {
    fn from(from: ScriptUsage) -> Self {
        let ScriptUsage { input, output, cache_read, cache_write, reasoning } = from;
        Self { input, output, cache_read, cache_write, reasoning }
    }
}

impl From<ScriptStop> for StopReason {
    fn from(from: ScriptStop) -> Self {
        match from {
            ScriptStop::End => Self::End,
            ScriptStop::ToolCalls => Self::ToolCalls,
            ScriptStop::MaxTokens => Self::MaxTokens,
            ScriptStop::Refusal => Self::Refusal,
        }
    }
}

impl From<ScriptFault> for Fault {
    fn from(from: ScriptFault) -> Self {
        match from {
            ScriptFault::Status(ScriptStatus { code, message, headers }) => {
                Self::Status { code, headers: headers.into_iter().collect(), message }
            }
            ScriptFault::StallAfter(count) => Self::StallAfter(count),
            ScriptFault::Silence => Self::Silence,
            ScriptFault::DropAfter(count) => Self::DropAfter(count),
            ScriptFault::ResetAfter(count) => Self::ResetAfter(count),
            ScriptFault::GarbageAfter(count) => Self::GarbageAfter(count),
            ScriptFault::ErrorAfter(count) => Self::ErrorAfter(count, "overloaded".to_owned()),
            ScriptFault::ContentType(kind) => Self::ContentType(kind),
        }
    }
}

#[cfg(test)]
mod tests;

//! What drivers and workers say to each other. It passes through Restate, and may be read by another version than wrote it, or written
//! by somebody else altogether: what becomes part of a path or an argument of git is refused while it is read if it could be anything else.

use std::{fmt, time::Duration};

use agents_agent::definition::{Effort, PermissionMode};
use agents_model::cost::MicroDollars;
use agents_task::{Limits, TaskRequest, done_when::DoneWhen, event::Event};
use camino::{Utf8Component, Utf8PathBuf};
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::Value;

use crate::{event::Outcome, journal::RunId};

/// What all of this is called in its present form. A worker takes no other.
pub const VERSION: u32 = 2;

/// Which attempt: what it is called in Restate.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Key(String);

impl Key {
    /// Of an attempt of a run.
    #[must_use]
    pub fn new(run: &RunId, node: &crate::graph::NodeId, attempt: u32) -> Self {
        Self(format!("{run}/{node}/{attempt}"))
    }

    /// As it is said.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// What a worker is to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Assignment {
    /// [`VERSION`].
    pub version: u32,
    /// Which attempt it is.
    pub key: Key,
    /// What is to be done.
    pub request: Request,
    /// In which files.
    pub workspace: Workspace,
}

/// The part of a request that a plan says.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Request {
    /// What it is called.
    pub name: Option<String>,
    /// The agent, by its name: the worker knows its definition.
    pub agent: Option<String>,
    /// What is to be done.
    pub prompt: String,
    /// What the result must look like.
    pub schema: Option<Value>,
    /// Only these tools.
    pub tools: Vec<String>,
    /// Which models will do.
    pub model: Vec<String>,
    /// How hard it thinks.
    pub effort: Option<Effort>,
    /// What it may do without asking. A worker may allow less.
    pub mode: Option<PermissionMode>,
    /// Tools that it may use without asking.
    pub allow: Vec<String>,
    /// Calls of the model.
    pub turns: Option<u64>,
    /// Of the clock.
    pub millis: Option<u64>,
    /// In and out.
    pub tokens: Option<u64>,
    /// In millionths of a dollar.
    pub cost: Option<u64>,
    /// Tasks that it may start.
    pub children: Option<u64>,
    /// What must hold at the end.
    pub done_when: DoneWhen,
    /// Definitions that come before all that the worker knows, the first of a name first.
    pub agents: Vec<Definition>,
}

/// A definition that somebody named where the plan is driven.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Definition {
    /// The name of its file, without a directory.
    pub file: String,
    /// What is in it.
    pub text: String,
}

impl Request {
    /// Of a request, with what the user allows. Definitions are for the driver to add.
    #[must_use]
    pub fn new(request: &TaskRequest, mode: Option<PermissionMode>, allow: &[String]) -> Self {
        let Limits { turns, time, tokens, cost, children } = request.limits;
        Self {
            name: request.name.clone(),
            agent: request.agent.clone(),
            prompt: request.prompt.clone(),
            schema: request.schema.clone(),
            tools: request.tools.clone(),
            model: request.model.clone(),
            effort: request.effort,
            mode,
            allow: allow.to_vec(),
            turns,
            millis: time.map(|it| u64::try_from(it.as_millis()).unwrap_or(u64::MAX)),
            tokens,
            cost: cost.map(|it| it.0),
            children,
            done_when: request.done_when.clone(),
            agents: Vec::new(),
        }
    }

    /// As a request for the worker's own runner. What is allowed is for the worker to add.
    #[must_use]
    pub fn request(&self) -> TaskRequest {
        TaskRequest {
            name: self.name.clone(),
            agent: self.agent.clone(),
            prompt: self.prompt.clone(),
            schema: self.schema.clone(),
            tools: self.tools.clone(),
            model: self.model.clone(),
            effort: self.effort,
            limits: Limits {
                turns: self.turns,
                time: self.millis.map(Duration::from_millis),
                tokens: self.tokens,
                cost: self.cost.map(MicroDollars),
                children: self.children,
            },
            done_when: self.done_when.clone(),
            ..TaskRequest::default()
        }
    }
}

/// The files that a task works on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Workspace {
    /// Which workspace, by the hash of its place: all its commits share what they have in common.
    #[serde(deserialize_with = "hash")]
    pub name: String,
    /// The commit that a worker unpacks.
    #[serde(deserialize_with = "hash")]
    pub commit: String,
    /// The commit at the driver that it was made of.
    #[serde(deserialize_with = "hash")]
    pub base: String,
    /// The directory in it where the task begins.
    #[serde(deserialize_with = "within")]
    pub within: Utf8PathBuf,
    /// How it gets there.
    pub way: Way,
}

/// How files get to a worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// Through Restate, as a file in pieces.
    Parcel(Parcel),
    /// Through a git remote that both can reach.
    Remote {
        /// Its address.
        url: String,
        /// The reference.
        reference: String,
    },
}

/// A file that is kept in Restate, in pieces.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Parcel {
    /// What it is known by: the hash of its bytes.
    #[serde(deserialize_with = "hash")]
    pub digest: String,
    /// Its bytes.
    pub size: u64,
}

/// What a worker has done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Done {
    /// [`VERSION`].
    pub version: u32,
    /// How it went.
    pub outcome: Outcome,
    /// What it changed, as a patch for the commit that it began with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patch: Option<Parcel>,
    /// The lane of the worker that did it.
    pub worker: String,
    /// The files that it worked on.
    pub workspace: Workspace,
}

/// Which events somebody wants to hear.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Since {
    /// Of which execution: a worker that took over begins anew.
    pub epoch: String,
    /// How many are known of it.
    pub known: usize,
}

/// What happened since.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Told {
    /// In which execution; empty if there is none.
    pub epoch: String,
    /// How many there were in all.
    pub known: usize,
    /// Those that were not known.
    pub events: Vec<Event>,
}

/// The longest hash that anybody has: SHA-256 in hexadecimal digits.
const MAX_HASH: usize = 64;

/// Workers name files and directories by it.
fn hash<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let text = String::deserialize(from)?;
    let is_digit = |it: u8| matches!(it, b'0'..=b'9' | b'a'..=b'f');
    match text.len() {
        1..=MAX_HASH if text.bytes().all(is_digit) => Ok(text),
        _ => Err(D::Error::custom("not a hash in hexadecimal digits")),
    }
}

/// It leads into the files, never out of them.
fn within<'de, D: Deserializer<'de>>(from: D) -> Result<Utf8PathBuf, D::Error> {
    let path = Utf8PathBuf::deserialize(from)?;
    match path.components().all(|it| matches!(it, Utf8Component::Normal(_))) {
        true => Ok(path),
        false => Err(D::Error::custom("not a directory within the workspace")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn workspace(key: &str, value: &Value) -> Result<Workspace, serde_json::Error> {
        let parcel = json!({"digest": "0f".repeat(16), "size": 3});
        let mut said = json!({
            "name": "0123456789abcdef", "commit": "a".repeat(40), "base": "b".repeat(64),
            "within": "crates/one", "way": {"parcel": parcel},
        });
        said[key] = value.clone();
        serde_json::from_value(said)
    }

    #[test]
    fn nobody_leads_a_worker_to_other_files() {
        assert!(workspace("within", &json!("")).is_ok(), "the root of the files");
        for (key, value) in [
            ("name", json!("..")),
            ("name", json!("")),
            ("commit", json!("../../../home")),
            ("commit", json!("--upload-pack=x")),
            ("commit", json!("a".repeat(65))),
            ("base", json!("HEAD")),
            ("within", json!("../other")),
            ("within", json!("/etc")),
            ("way", json!({"parcel": {"digest": "/dev/zero", "size": 3}})),
        ] {
            assert!(workspace(key, &value).is_err(), "{key} {value}");
        }
    }
}

//! What an interpreter is told and says: one line of JSON each.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The first that it is told.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Job {
    pub(super) script: String,
    pub(super) servers: Vec<String>,
    /// In bytes.
    pub(super) memory: usize,
    pub(super) time: Duration,
}

/// What it says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Said {
    Call { id: u64, server: String, tool: String, input: Value },
    Log { text: String },
    Done { value: Value },
    Threw { message: String },
    Late,
    Stuck,
}

/// What became of a call.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Answered {
    pub(super) id: u64,
    pub(super) result: Result<Value, String>,
}

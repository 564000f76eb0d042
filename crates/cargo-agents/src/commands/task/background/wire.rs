//! What is said over the socket, and between the supervisor and the processes that it starts: one value of JSON a line.
//!
//! A connection is one hello from each side, one [`Request`], and what is said to it. Whoever speaks another version gets to hear so,
//! and may still ask for [`Request::Status`] and [`Request::Stop`], whose form stays what it is.

use std::{ffi::OsString, fmt};

use agents_system::explain::{Code, ErrorKind, if_known};
use agents_task::{
    TaskId, TaskPath,
    broker::Reply,
    event::{Event, What},
};
use camino::Utf8PathBuf;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// The version of all of this.
pub(crate) const VERSION: u32 = 1;

/// Who speaks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Hello {
    /// The version of what is said.
    pub(crate) protocol: u32,
    /// That of the program.
    pub(crate) program: String,
}

impl Hello {
    pub(crate) fn ours() -> Self {
        Self { protocol: VERSION, program: env!("CARGO_PKG_VERSION").to_owned() }
    }
}

/// What somebody wants of the supervisor.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "request")]
pub(crate) enum Request {
    /// Start tasks.
    Run(Box<Order>),
    /// Which tasks there are.
    List,
    /// Everything that happened to a task and those with it, and what happens from now on.
    Events { task: TaskId },
    /// Answer when it has ended.
    Wait { task: TaskId },
    /// End it, with everything that it started, and answer when it has ended.
    Cancel { task: TaskId },
    /// Which questions wait for an answer.
    Asks,
    /// Answer one.
    Answer { ask: String, reply: Reply },
    /// How the supervisor is.
    Status,
    /// End the supervisor.
    Stop { running: Running },
}

/// What becomes of tasks when the supervisor is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Running {
    /// As long as there are any, it stays.
    Keep,
    /// They are cancelled.
    Cancel,
}

/// What somebody wants to have run: what was typed, and where.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Order {
    /// What was typed; the first word is the name of the program.
    pub(crate) argv: Vec<String>,
    /// What stood on standard input, if it was to be read.
    pub(crate) input: Option<String>,
    pub(crate) cwd: Utf8PathBuf,
    /// What files that tasks make are not given.
    pub(crate) mask: u32,
    /// The environment. It goes to the process that runs the tasks, and nowhere else.
    pub(crate) env: Vec<(Word, Word)>,
}

impl fmt::Debug for Order {
    /// Without the environment: there are keys in it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Order").field("cwd", &self.cwd).finish_non_exhaustive()
    }
}

/// A text of the system: almost always a text, but nothing says so.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Word {
    Text(String),
    Bytes(Vec<u8>),
}

impl From<OsString> for Word {
    fn from(word: OsString) -> Self {
        use std::os::unix::ffi::OsStringExt as _;
        match word.into_string() {
            Ok(text) => Self::Text(text),
            Err(word) => Self::Bytes(word.into_vec()),
        }
    }
}

impl From<Word> for OsString {
    fn from(word: Word) -> Self {
        use std::os::unix::ffi::OsStringExt as _;
        match word {
            Word::Text(text) => text.into(),
            Word::Bytes(bytes) => Self::from_vec(bytes),
        }
    }
}

/// What the supervisor says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "says")]
pub(crate) enum Say {
    /// To [`Request::Run`]: they run. To [`Request::Events`]: the first thing.
    Began(Began),
    /// To [`Request::List`].
    Tasks { tasks: Vec<Known> },
    /// To [`Request::Events`], as long as there is something to tell: so many things are no longer known.
    LeftOut { events: u64 },
    /// The same: it happened.
    Event(Event),
    /// The same: something was found out.
    Note { text: String },
    /// The same: a task asks.
    Asked(Asked),
    /// The same: that question is answered, or nobody waits for the answer any more.
    Answered { ask: String },
    /// The same, at the end.
    Over { why: Option<String> },
    /// To [`Request::Asks`].
    Asks { asks: Vec<Asked> },
    /// To [`Request::Status`].
    Status(Status),
    /// It is done: to [`Request::Wait`], [`Request::Cancel`], [`Request::Answer`] and [`Request::Stop`].
    Done { how: How },
    /// It is not.
    Trouble(Trouble),
}

/// How something was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum How {
    /// As asked.
    Well,
    /// The process that ran the tasks did not end by itself.
    Hard,
}

/// Tasks that were started together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Began {
    pub(crate) tasks: Vec<Task>,
    /// What was found out before, as people read it.
    pub(crate) findings: Vec<String>,
}

/// A task that was started for a user.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Task {
    pub(crate) id: TaskId,
    pub(crate) path: TaskPath,
    /// Its agent, model and limits, in a line.
    pub(crate) told: String,
}

/// A task that the supervisor knows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Known {
    pub(crate) id: TaskId,
    pub(crate) path: TaskPath,
    pub(crate) state: Life,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Life {
    Running,
    Over,
}

/// A question of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Asked {
    /// What it is answered by. No other question ever has it.
    pub(crate) ask: String,
    pub(crate) task: TaskId,
    pub(crate) path: TaskPath,
    pub(crate) question: String,
    /// What each yes to it means, in the order of [`YES`](super::super::asks::YES).
    #[serde(default)]
    pub(crate) means: [String; 3],
}

/// How the supervisor is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Status {
    pub(crate) process: u32,
    pub(crate) program: String,
    /// The processes that run tasks.
    pub(crate) workers: Vec<u32>,
}

/// Why something was not done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Trouble {
    kind: String,
    message: String,
    hint: Option<String>,
    details: Option<String>,
    #[serde(default, deserialize_with = "if_known")]
    code: Option<Code>,
    /// Whether the supervisor ends because of it, so that another one can be started.
    #[serde(default)]
    leaves: bool,
}

impl Trouble {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Failure::new(kind, message).into()
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The supervisor ends because of it.
    pub(crate) fn and_leaves(mut self) -> Self {
        self.leaves = true;
        self
    }

    pub(crate) fn leaves(&self) -> bool {
        self.leaves
    }
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        let code = failure.explained();
        let (kind, message, hint, details) = failure.carried();
        Self { kind: kind.word().to_owned(), message, hint, details, code, leaves: false }
    }
}

impl From<Trouble> for Failure {
    fn from(trouble: Trouble) -> Self {
        let kind = ErrorKind::from_word(&trouble.kind).unwrap_or(ErrorKind::Failure);
        let mut failure = Self::new(kind, trouble.message);
        if let Some(code) = trouble.code {
            failure = failure.code(code);
        }
        if let Some(hint) = trouble.hint {
            failure = failure.hint(hint);
        }
        match trouble.details {
            Some(details) => failure.details(details),
            None => failure,
        }
    }
}

/// What the supervisor tells a process that runs tasks.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "tells")]
pub(crate) enum Control {
    /// First: what to run. The environment and the directory are those of the process.
    Work { argv: Vec<String>, input: Option<String>, mask: u32, protocol: u32 },
    /// End this task.
    Cancel { task: TaskId },
    /// A question is answered.
    Answer { number: u64, reply: Reply },
}

/// What such a process tells.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "reports")]
pub(crate) enum Report {
    Began(Began),
    /// Nothing was started, or nothing can go on.
    Trouble(Trouble),
    Event(Event),
    /// Something was found out.
    Note {
        text: String,
    },
    Asks {
        number: u64,
        task: TaskId,
        path: TaskPath,
        question: String,
        #[serde(default)]
        means: [String; 3],
    },
    /// Somebody's answer was taken, or nobody waits for one any more.
    Settled {
        number: u64,
        taken: Taken,
    },
}

/// Whether an answer came in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Taken {
    Yes,
    No,
}

/// Whether nothing happens to a task after this.
pub(crate) fn is_last(event: &Event) -> bool {
    matches!(event.what, What::Ended { .. })
}

#[cfg(test)]
mod tests;

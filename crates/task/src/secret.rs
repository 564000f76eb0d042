//! Secrets that agents ask for.
//!
//! An agent asks with the tool `request_secret`, or with a message that begins `[REQUEST_SECRET: key]`. It is asked for what its
//! definition lists, and nothing else; whoever answers, a person or a program, first approves (for how long) and then delivers the
//! value. A request that nobody can or does answer is denied: at once for an agent in the background, and where nobody is there; after a
//! while otherwise. Every request has a number, so that no answer ever meets another question.
//!
//! Where a program that runs tasks has the values from is [`sources`]; who agrees, and for how long, is the business of a [`vault`].
//!
//! The value never becomes part of a message. It is a variable of the environment of single calls: of those that name it, as long as the
//! approval holds, looked at again before each one. From its delivery on it is masked everywhere.

mod desk;
pub mod sources;
mod tool;
pub mod vault;

use std::{
    fmt,
    sync::{Arc, Mutex, OnceLock, PoisonError, Weak},
    time::{Duration, Instant},
};

use agents_tool::{
    Grant, GrantKind, Moment,
    grants::SecretKey,
    secrets::{Mask, Masked},
};
use secrecy::SecretString;

pub use self::{
    desk::{Answers, Desk, Granted, SecretError},
    sources::{SecretSettings, SecretSource},
    tool::{REQUEST_SECRET, RequestSecret},
    vault::Vault,
};
use crate::{
    id::{TaskId, TaskPath},
    turns::Tools,
};

/// How long an answer is waited for, unless somebody says something else.
pub const DEFAULT_PATIENCE: Duration = Duration::from_secs(300);
/// How long an approval holds, unless somebody says something else.
pub const DEFAULT_TTL: Duration = Duration::from_secs(300);
/// The longest reason that is passed on.
const MAX_REASON: usize = 500;
/// What a message begins with that asks for a secret.
const TEXTUAL: &str = "[REQUEST_SECRET:";

/// One request, told from all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub(self) u64);

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An agent asks for a secret.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretRequest {
    /// Which request it is.
    pub id: RequestId,
    /// The task that asks.
    pub task: TaskId,
    /// Where it stands.
    pub path: TaskPath,
    /// Its agent.
    pub agent: String,
    /// The name of the secret.
    pub secret_key: String,
    /// What for, as the agent says. It is an agent that says it.
    pub reason: Option<String>,
    /// The longest that it may be given, if its definition says that.
    pub longest: Option<Duration>,
}

impl fmt::Debug for SecretRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretRequest")
            .field("id", &self.id)
            .field("task", &self.task)
            .finish_non_exhaustive()
    }
}

/// Why an agent does not get a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// It is not the name of one.
    #[error("that is not the name of a secret")]
    NotAName,
    /// Its definition does not list it.
    #[error("its definition does not list it under `secrets`")]
    NotListed,
    /// Nobody is there to be asked.
    #[error("nobody is there to be asked")]
    Nobody,
    /// Somebody said no.
    #[error("it was refused")]
    Refused,
    /// Nobody answered in time.
    #[error("nobody answered in time")]
    TooLate,
    /// The user has not said where it is.
    #[error("the user's configuration does not say where it is")]
    NoSource,
    /// There is nothing where the user says that it is, or it cannot be read.
    #[error("it cannot be read from where the user's configuration says")]
    NoValue,
    /// It could not be hidden.
    #[error("its value is too short to be hidden")]
    TooShort,
}

/// The secrets of one task.
pub struct Pocket {
    desk: Desk,
    task: TaskId,
    path: TaskPath,
    agent: String,
    allowed: Vec<SecretKey>,
    asks: Asks,
    mask: Arc<Mask>,
    given: Mutex<Vec<Given>>,
    tools: OnceLock<Weak<Tools>>,
}

/// Whether anybody may be asked for a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asks {
    /// Whoever sits at the desk.
    Somebody,
    /// Nobody: it runs in the background.
    Nobody,
}

/// What a task was given.
struct Given {
    key: SecretKey,
    value: SecretString,
    until: Until,
}

/// When an approval ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Until(Instant);

impl Until {
    fn is_after(self, now: Instant) -> bool {
        self.0 > now
    }
}

/// Whose pocket it is, and what may be in it.
pub(crate) struct Bearer {
    pub(crate) task: TaskId,
    pub(crate) path: TaskPath,
    pub(crate) agent: String,
    /// What its definition lists. What is not the name of a secret is left out.
    pub(crate) allowed: Vec<String>,
    pub(crate) longest: Option<Duration>,
    pub(crate) asks: Asks,
    pub(crate) mask: Arc<Mask>,
}

/// Who asks.
#[derive(Clone, Copy)]
struct Asking<'a> {
    task: TaskId,
    path: &'a TaskPath,
    agent: &'a str,
}

impl fmt::Debug for Pocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pocket").field("task", &self.task).finish_non_exhaustive()
    }
}

impl Pocket {
    /// The names that the task may ask for.
    pub(crate) fn allowed(&self) -> &[SecretKey] {
        &self.allowed
    }

    /// Where the grants of the task are kept.
    pub(crate) fn attach(&self, tools: &Arc<Tools>) {
        let _ = self.tools.set(Arc::downgrade(tools));
    }

    /// Asks for a secret and waits for the answer; not for ever.
    ///
    /// # Errors
    /// It is denied.
    pub async fn ask(&self, key: &str, reason: Option<&str>) -> Result<SecretKey, Denied> {
        let key = SecretKey::new(key).ok_or(Denied::NotAName)?;
        if !self.allowed.contains(&key) {
            return Err(Denied::NotListed);
        }
        if self.asks == Asks::Nobody {
            return Err(Denied::Nobody);
        }
        let reason = reason.map(str::trim).filter(|it| !it.is_empty());
        let reason = reason.map(|it| self.mask.apply(&on_one_line(it)));
        let (value, until) = self.desk.ask(self.asking(), &key, reason).await?;
        self.take(&key, value, until);
        Ok(key)
    }

    fn asking(&self) -> Asking<'_> {
        Asking { task: self.task, path: &self.path, agent: &self.agent }
    }

    fn take(&self, key: &SecretKey, value: SecretString, until: Until) {
        if let Some(tools) = self.tools.get().and_then(Weak::upgrade) {
            let guarded = tools.inner().inner();
            let left = until.0.saturating_duration_since(Instant::now());
            let kind = GrantKind::Secret(key.clone());
            let until: Moment = Moment(guarded.now().0.saturating_add(left));
            guarded.change(|grants| grants.add(Grant { kind, until: Some(until) }));
        }
        let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        given.retain(|it| it.key != *key);
        given.push(Given { key: key.clone(), value, until });
    }

    /// The variables of a call: what was given, still holds, and is named by the input of the call.
    #[must_use]
    pub fn for_call(&self, input: &str) -> Vec<(String, SecretString)> {
        let now = Instant::now();
        let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        given.retain(|it| it.until.is_after(now));
        let named = given.iter().filter(|it| names(input, &it.key.variable()));
        named.map(|it| (it.key.variable(), it.value.clone())).collect()
    }
}

impl Drop for Pocket {
    /// The task is over: nothing that it asked for waits for an answer any more.
    fn drop(&mut self) {
        self.desk.forget(self.task);
    }
}

/// The beginning of a text as it can be shown to whoever decides: an agent wrote it, and must not be able to write more than a line.
fn on_one_line(text: &str) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().map(plain).take(MAX_REASON).collect()
}

/// Whether a text has this word in it.
fn names(text: &str, word: &str) -> bool {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !before.is_some_and(part) && !after.is_some_and(part)
    })
}

/// The name that a message asks for, if it asks for one.
pub(crate) fn asked_in(text: &str) -> Option<SecretKey> {
    let (key, _) = text.trim_start().strip_prefix(TEXTUAL)?.split_once(']')?;
    SecretKey::new(key)
}

/// What the agent is told.
pub(crate) fn told(key: &str, answer: &Result<SecretKey, Denied>) -> String {
    match answer {
        Ok(key) => {
            let (name, variable) = (key.as_str(), key.variable());
            format!(
                "[secret:{name}] approved: it is in the environment of each call that names `${variable}`, and nowhere else"
            )
        }
        Err(why) => format!("[secret:{key}] request denied: {why}"),
    }
}

/// Whether a value is long enough to be hidden from what is shown and written: others are not given to anybody.
#[must_use]
pub fn can_be_hidden(value: &SecretString) -> bool {
    Mask::default().register("", value) == Masked::Yes
}

/// What becomes of a value that is delivered.
fn hide(mask: &Mask, key: &SecretKey, value: &SecretString) -> Result<(), SecretError> {
    match mask.register(key.as_str(), value) {
        Masked::Yes => Ok(()),
        Masked::TooShort => Err(SecretError::TooShort),
    }
}

#[cfg(test)]
mod tests;

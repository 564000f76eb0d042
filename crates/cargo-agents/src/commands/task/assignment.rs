//! From flags and files to requests.

use agents_agent::definition::{Isolation, PermissionMode};
use agents_system::explain::{Code, ErrorKind};
use agents_task::{Limits, TaskRequest, done_when::DoneWhen, isolate::Carry, workplace::Settle};
use camino::Utf8Path;
use serde_json::Value;

use super::grants;
use crate::{args::Manner, failure::Failure, given};

impl Manner {
    /// The highest mode that any task gets, and the one of those that say none. Where the user says nothing, definitions may: how
    /// much depends on who wrote them.
    pub(super) fn modes(&self) -> (PermissionMode, PermissionMode) {
        match self.said_mode() {
            Some(mode) => (mode, mode),
            None => (PermissionMode::BypassPermissions, PermissionMode::Default),
        }
    }

    /// What worktrees begin with.
    pub(super) fn carry(&self) -> Carry {
        if self.dirty { Carry::Everything } else { Carry::Committed }
    }

    /// What becomes of what was done in them.
    pub(super) fn settle(&self) -> Settle {
        if self.on_branch { Settle::Branch } else { Settle::Apply }
    }

    fn said_mode(&self) -> Option<PermissionMode> {
        if self.plan { Some(PermissionMode::Plan) } else { self.mode.map(Into::into) }
    }

    /// What these flags say about a task, where it says nothing itself.
    pub(super) fn complete(&self, request: &mut TaskRequest) {
        if request.tools.is_empty() {
            request.tools.clone_from(&self.tools);
        }
        if request.model.is_empty() {
            request.model.clone_from(&self.model);
        }
        if request.isolation.is_none() && self.isolated {
            request.isolation = Some(Isolation::Worktree);
        }
        request.mode = self.said_mode();
        request.grants = grants(&self.allow);
        let done_when = DoneWhen { commands: self.done_when.clone(), ..DoneWhen::default() };
        request.done_when = std::mem::take(&mut request.done_when).and(&done_when);
        let limits = Limits {
            turns: self.max_turns,
            time: self.max_time,
            cost: self.max_cost,
            ..Limits::default()
        };
        request.limits = request.limits.meet(limits);
    }
}

/// What stands on standard input.
pub(super) enum Input {
    /// It is read when it is needed.
    Standard,
    /// Somebody else has read it, if it was needed.
    #[cfg(unix)]
    Read(Option<String>),
}

impl Input {
    pub(super) fn text(self) -> Result<String, Failure> {
        match self {
            Self::Standard => given::standard_input()
                .map_err(|error| Failure::new(ErrorKind::Usage, error.to_string())),
            #[cfg(unix)]
            Self::Read(text) => Ok(text.unwrap_or_default()),
        }
    }
}

/// A text that may be in a file: `@` and its path.
pub(super) fn text_or_file(text: &str, cwd: &Utf8Path) -> Result<String, Failure> {
    match text.strip_prefix('@') {
        Some(file) => given::text_in(&cwd.join(file))
            .map_err(|error| Failure::new(ErrorKind::Usage, error.to_string())),
        None => Ok(text.to_owned()),
    }
}

/// A schema, or the file that holds one.
pub(super) fn schema(text: &str, cwd: &Utf8Path) -> Result<Value, Failure> {
    let text = text.trim();
    if text.starts_with('{') || text == "true" || text == "false" {
        return serde_json::from_str(text).map_err(|error| {
            Failure::new(ErrorKind::Usage, format!("`--schema` is not JSON: {error}"))
                .code(Code::SchemaInvalid)
        });
    }
    let file = cwd.join(text.strip_prefix('@').unwrap_or(text));
    let content = given::text_in(&file).map_err(|error| {
        Failure::new(ErrorKind::Usage, error.to_string())
            .code(Code::SchemaInvalid)
            .hint("`--schema` is a JSON Schema, or a file that holds one")
    })?;
    serde_json::from_str(&content).map_err(|error| {
        Failure::new(ErrorKind::Usage, format!("`{file}` is not JSON: {error}"))
            .code(Code::SchemaInvalid)
    })
}

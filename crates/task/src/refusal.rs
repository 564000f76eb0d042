//! The rules that stand in the way of a task, each as a type: what it is about, where it is written, what would be allowed.

use std::fmt;

use agents_agent::{UnknownAgent, definition::PermissionMode};
use agents_model::select::Unresolved;
use agents_system::{
    explain::{Code, ErrorKind, Explain},
    nearest::{nearest, quoted_list},
};

use crate::{limits::Limit, schema::SchemaError};

/// Why a task does not start. Nothing has happened.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// Whoever asks may not start agents.
    #[error("whoever asks may not start agents")]
    NotAuthorized,
    /// There is no assignment.
    #[error("the assignment is empty")]
    EmptyPrompt,
    /// There are no assignments.
    #[error("there are no assignments")]
    EmptyBatch,
    /// The request says what it may not say here.
    #[error("{} not taken here: `{form}` says so", fields(.given))]
    Field {
        /// What it says.
        given: Vec<&'static str>,
        /// What the setting is.
        form: &'static str,
    },
    /// The name of a task is blank, or longer than [`crate::id::MAX_NAME`].
    #[error("`{0}` cannot be the name of a task")]
    Name(String),
    /// Two tasks of a batch have one name; case does not count.
    #[error("the name `{name}` is used {} times", .at.len())]
    SameName {
        /// As it is written first.
        name: String,
        /// The places in the batch, counted from 0.
        at: Vec<usize>,
    },
    /// In plan mode there is nothing to isolate.
    #[error("in plan mode nothing is changed, and nothing needs to be isolated")]
    IsolatedPlan,
    /// The tree is as deep as it may be.
    #[error("agents are {max} deep already, and may not be deeper")]
    Depth {
        /// How deep they may be.
        max: u32,
    },
    /// This agent may not be started from here.
    #[error("Cannot spawn '{name}' from within itself: `{variable}` prevents the recursion")]
    Blocked {
        /// Its name.
        name: String,
        /// The variable that says so.
        variable: String,
    },
    /// The agent is among those that led here.
    #[error("Cannot spawn '{name}' from within itself: {} led here", .chain.join(" -> "))]
    Cycle {
        /// Its name.
        name: String,
        /// Those that led here, the first one first.
        chain: Vec<String>,
    },
    /// The agent that asks may not start this one.
    #[error("Cannot spawn '{name}'. Allowed: {}", allowed_or_none(.allowed))]
    Spawn {
        /// Its name.
        name: String,
        /// Those that it may.
        allowed: Vec<String>,
    },
    /// There is no such agent.
    #[error(transparent)]
    Unknown(#[from] UnknownAgent),
    /// Nobody was named, and nobody fits.
    #[error("no agent fits this assignment")]
    NoMatch {
        /// Those that there are.
        available: Vec<String>,
    },
    /// The agent is disabled.
    #[error("agent `{name}` is disabled")]
    Disabled {
        /// Its name.
        name: String,
        /// Those that are not, and could be started from here.
        enabled: Vec<String>,
    },
    /// The mode is not allowed here.
    #[error("`{}` is not allowed here", mode_word(*.0))]
    Mode(PermissionMode),
    /// There is no model for it.
    #[error(transparent)]
    Model(#[from] Unresolved),
    /// What the result must look like is not said in a way that can be checked.
    #[error("{source} ({from})")]
    Schema {
        /// Whose schema it is.
        from: crate::effective::SchemaFrom,
        /// What is wrong.
        source: SchemaError,
    },
    /// What must hold at the end is not said in a way that can be checked.
    #[error("`done-when` of agent `{name}` cannot be read: {what}")]
    DoneWhen {
        /// The agent.
        name: String,
        /// What is wrong.
        what: String,
    },
    /// It cannot work in a place of its own.
    #[error("its own worktree cannot be made: {why}")]
    Isolation {
        /// Why.
        why: String,
    },
    /// Nothing is left for it.
    #[error("there are no {0} left for it")]
    Budget(Limit),
    /// What it does could not be written down.
    #[error("its transcript cannot be written: {why}")]
    Transcript {
        /// Why not.
        why: String,
    },
    /// As many tasks run as may.
    #[error("{running} tasks are running, and no more may")]
    NoSlot {
        /// How many.
        running: usize,
    },
}

fn fields(given: &[&str]) -> String {
    let verb = if given.len() == 1 { "is" } else { "are" };
    format!("{} {verb}", quoted_list(given, "and"))
}

fn allowed_or_none(allowed: &[String]) -> String {
    if allowed.is_empty() { "none (spawns disabled)".to_owned() } else { allowed.join(", ") }
}

/// The word of a mode in our own definitions.
fn mode_word(mode: PermissionMode) -> &'static str {
    match mode {
        PermissionMode::Plan => "plan",
        PermissionMode::Default => "default",
        PermissionMode::AcceptEdits => "accept_edits",
        PermissionMode::DontAsk => "dont_ask",
        PermissionMode::BypassPermissions => "bypass_permissions",
    }
}

/// Whether it is worth asking again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Again {
    /// The same may be allowed later.
    Later,
    /// Not as long as nobody changes anything.
    Never,
}

impl Refusal {
    /// The rule, in one word for programs.
    #[must_use]
    pub fn rule(&self) -> &'static str {
        match self {
            Self::NotAuthorized => "dispatch",
            Self::EmptyPrompt | Self::EmptyBatch | Self::Field { .. } => "shape",
            Self::Name(_) | Self::SameName { .. } => "name",
            Self::IsolatedPlan => "plan-mode",
            Self::Depth { .. } => "depth",
            Self::Blocked { .. } => "blocked",
            Self::Cycle { .. } => "cycle",
            Self::Spawn { .. } => "spawns",
            Self::Unknown(_) => "unknown",
            Self::NoMatch { .. } => "no-match",
            Self::Disabled { .. } => "disabled",
            Self::Mode(_) => "permission-mode",
            Self::Model(_) => "model",
            Self::Schema { .. } => "schema",
            Self::DoneWhen { .. } => "done-when",
            Self::Isolation { .. } => "isolation",
            Self::Budget(_) => "budget",
            Self::Transcript { .. } => "transcript",
            Self::NoSlot { .. } => "slot",
        }
    }

    /// Where the rule is written: the key in the configuration, the variable, the part of the definition or the request.
    #[must_use]
    pub fn place(&self) -> Option<String> {
        Some(match self {
            Self::Field { .. } => "`tasks.form` in the configuration".to_owned(),
            Self::Depth { .. } => "`tasks.max-depth` in the configuration".to_owned(),
            Self::Blocked { variable, .. } => format!("the variable `{variable}`"),
            Self::Spawn { .. } => "`spawns` of the agent that asks".to_owned(),
            Self::Disabled { .. } => "`tasks.disabled-agents` in the configuration".to_owned(),
            Self::Mode(_) => "`tasks.allow-bypass-permissions` in the configuration".to_owned(),
            Self::Schema { from, .. } => from.to_string(),
            Self::DoneWhen { name, .. } => format!("the definition of `{name}`"),
            Self::Budget(_) => "the limits of the task that asks".to_owned(),
            Self::NoSlot { .. } => "`tasks.max-concurrency` in the configuration".to_owned(),
            _ => return None,
        })
    }

    /// Whether it is worth asking again: a scheduler waits for a slot, and for nothing else.
    #[must_use]
    pub fn again(&self) -> Again {
        if matches!(self, Self::NoSlot { .. }) { Again::Later } else { Again::Never }
    }

    /// The error that programs which embed dispatch know it by, if it is one of theirs.
    #[must_use]
    pub fn sentinel(&self) -> Option<&'static str> {
        Some(match self {
            Self::NotAuthorized => "subagents: dispatch not authorized",
            Self::EmptyPrompt => "subagents: instruction is empty",
            Self::Unknown(_) => "subagents: unknown target",
            Self::NoMatch { .. } => "subagents: no matching subagent",
            _ => return None,
        })
    }
}

impl Explain for Refusal {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::EmptyPrompt
            | Self::EmptyBatch
            | Self::Name(_)
            | Self::SameName { .. }
            | Self::Unknown(_)
            | Self::NoMatch { .. }
            | Self::Model(_)
            | Self::Schema { .. }
            | Self::DoneWhen { .. } => ErrorKind::Usage,
            Self::Transcript { .. } => ErrorKind::Failure,
            _ => ErrorKind::Refused,
        }
    }

    fn code(&self) -> Option<Code> {
        Some(match self {
            Self::NotAuthorized
            | Self::Depth { .. }
            | Self::Blocked { .. }
            | Self::Cycle { .. }
            | Self::Spawn { .. } => Code::MayNotStart,
            Self::EmptyPrompt
            | Self::EmptyBatch
            | Self::Field { .. }
            | Self::Name(_)
            | Self::SameName { .. }
            | Self::IsolatedPlan => Code::BadRequest,
            Self::Unknown(unknown) => return unknown.code(),
            Self::NoMatch { .. } => Code::NoMatch,
            Self::Disabled { .. } => Code::AgentDisabled,
            Self::Mode(_) => Code::ModeNotAllowed,
            Self::Model(unresolved) => return unresolved.code(),
            Self::Schema { .. } => Code::SchemaInvalid,
            Self::DoneWhen { .. } => Code::AgentInvalid,
            Self::Isolation { .. } => Code::NoWorktree,
            Self::Budget(_) => Code::OutOfLimits,
            Self::Transcript { .. } => Code::NotWritable,
            Self::NoSlot { .. } => Code::NoSlot,
        })
    }

    fn hint(&self) -> Option<String> {
        let list = |names: &[String]| {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            quoted_list(&names, "and")
        };
        match self {
            Self::Unknown(unknown) => unknown.hint(),
            Self::Model(unresolved) => unresolved.hint(),
            Self::Spawn { name, allowed } => {
                let near = nearest(name, allowed.iter().map(String::as_str));
                (!near.is_empty()).then(|| format!("did you mean {}?", quoted_list(&near, "or")))
            }
            Self::Disabled { enabled, .. } if !enabled.is_empty() => {
                Some(format!("enabled are {}", list(enabled)))
            }
            Self::NoMatch { available } if !available.is_empty() => {
                Some(format!("name one: there are {}", list(available)))
            }
            Self::Field { .. } => Some("put everything into each assignment".to_owned()),
            Self::Mode(_) | Self::Depth { .. } => {
                self.place().map(|place| format!("{place} decides that"))
            }
            Self::Isolation { .. } => {
                Some("a git repository with a commit is needed, or no isolation".to_owned())
            }
            _ => None,
        }
    }
}

/// A batch that does not start: every assignment that stands in its way, counted from 0.
#[derive(Debug, Clone, PartialEq)]
pub struct Refused {
    /// The assignment, where it is one, and why.
    pub items: Vec<(Option<usize>, Refusal)>,
    /// How many there are.
    pub of: usize,
}

impl std::error::Error for Refused {}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (item, refusal)) in self.items.iter().enumerate() {
            f.write_str(if index > 0 { "\n" } else { "" })?;
            match item {
                Some(item) if self.of > 1 => write!(f, "assignment {}: {refusal}", item + 1)?,
                _ => write!(f, "{refusal}")?,
            }
        }
        Ok(())
    }
}

impl Explain for Refused {
    fn kind(&self) -> ErrorKind {
        self.items.first().map_or(ErrorKind::Refused, |(_, refusal)| refusal.kind())
    }

    fn code(&self) -> Option<Code> {
        self.items.first().and_then(|(_, refusal)| refusal.code())
    }

    fn hint(&self) -> Option<String> {
        self.items.iter().find_map(|(_, refusal)| refusal.hint())
    }
}

//! One judgement before every call.
//!
//! [`judge`] is a pure function of the call, what the agent may at most do ([`Rights`]), its permission mode, its grants and the
//! time. Nothing else decides: tools do not look at the policy, and wrappers around them ([`crate::executor`]) only carry out what
//! it said.
//!
//! | mode | reads | edits files | runs programs, uses the network |
//! |---|---|---|---|
//! | `plan` | yes | no | no |
//! | `dont_ask` | yes | with a grant | with a grant |
//! | `default` | yes | asks | asks |
//! | `accept_edits` | yes | yes | asks |
//! | `bypass_permissions` | yes | yes | yes |
//!
//! Where it asks, an active grant is the answer. Files that others run or trust ([`crate::confine::protected`]) are asked for in
//! every mode. The modes are in order: a child never has a higher one than its parent.

use std::{fmt, time::Duration};

use agents_agent::definition::PermissionMode;

use crate::{
    grants::{Grant, GrantState, Grants, Moment, Needed},
    rights::{Refusal, Rights, Subject},
};

/// What a call may do to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effect {
    /// It looks.
    Reads,
    /// It changes files.
    Writes,
    /// It runs programs.
    Executes,
    /// It speaks to other machines.
    Network,
}

/// A set of [`Effect`]s.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Effects(u8);

impl Effects {
    /// None: it only touches what belongs to the agent itself.
    pub const NONE: Self = Self(0);
    /// Only looks.
    pub const READS: Self = Self::NONE.and(Effect::Reads);
    /// Looks and changes files.
    pub const WRITES: Self = Self::READS.and(Effect::Writes);
    /// Anything: also what nobody knows anything about.
    pub const ALL: Self = Self::WRITES.and(Effect::Executes).and(Effect::Network);

    /// With one more.
    #[must_use]
    pub const fn and(self, effect: Effect) -> Self {
        Self(self.0 | 1 << effect as u8)
    }

    /// Whether it is among them.
    #[must_use]
    pub const fn has(self, effect: Effect) -> bool {
        self.0 & 1 << effect as u8 != 0
    }

    /// Whether two calls with these effects must not run at the same time: one of them changes what the other one may see.
    #[must_use]
    pub const fn conflict(self, other: Self) -> bool {
        self.changes() && other.0 != 0 || other.changes() && self.0 != 0
    }

    /// Whether what others see may be different afterwards.
    #[must_use]
    pub const fn changes(self) -> bool {
        self.has(Effect::Writes) || self.has(Effect::Executes)
    }
}

/// A call that somebody wants to make.
#[derive(Debug, Clone)]
pub struct Call<'a> {
    /// The name of the tool.
    pub tool: &'a str,
    /// What it may do.
    pub effects: Effects,
    /// What it is about.
    pub subject: &'a Subject,
    /// The protected file that it would change, if it would.
    pub protected: Option<&'a str>,
}

/// Which rule stood in the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rule {
    /// The rights do not cover it.
    Rights(Refusal),
    /// The mode is for looking only.
    PlanMode,
    /// It would have to be asked for, and in this mode nothing is.
    DontAsk,
    /// A grant for it is over, or was taken back.
    GrantOver,
}

/// What somebody has to agree to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The name of the tool.
    pub tool: String,
    /// What the call is about, as it is: a command, files, a name.
    pub about: Option<String>,
    /// The reason why it is asked.
    pub why: Why,
}

impl Question {
    /// Whether both ask for the same thing, whatever each is about.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        self.tool == other.tool && self.why == other.why
    }
}

/// Why something is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// It has this effect.
    Effect(Effect),
    /// It changes a file that others run or trust.
    Protected(String),
    /// A hook wants somebody to agree, for this reason.
    Hook(String),
    /// It gets the secret that it is about.
    Secret(Box<WantedSecret>),
}

/// A secret that an agent wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedSecret {
    /// The agent.
    pub agent: String,
    /// Where it comes from.
    pub from: String,
    /// What for, as the agent says.
    pub reason: Option<String>,
    /// The longest that it may be given.
    pub longest: Option<Duration>,
}

/// What becomes of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is made.
    Allow,
    /// It is made if somebody agrees.
    Ask(Question),
    /// It is not made.
    Deny(Rule),
}

impl Verdict {
    /// How much it lets happen: what a parent may not do without asking, no child may.
    #[must_use]
    pub fn rank(&self) -> u8 {
        match self {
            Self::Deny(_) => 0,
            Self::Ask(_) => 1,
            Self::Allow => 2,
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rights(refusal) => refusal.fmt(f),
            Self::PlanMode => f.write_str("in plan mode nothing is changed"),
            Self::DontAsk => f.write_str("it would have to be asked for, and nobody is asked"),
            Self::GrantOver => f.write_str("the grant for it has expired or was revoked"),
        }
    }
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tool = &self.tool;
        match &self.why {
            Why::Effect(effect) => {
                let (does, what) = match effect {
                    Effect::Reads => ("looks at", "something"),
                    Effect::Writes => ("changes", "files"),
                    Effect::Executes => ("runs", "programs"),
                    Effect::Network => ("uses", "the network"),
                };
                match &self.about {
                    Some(about) if *effect == Effect::Network => {
                        write!(f, "`{tool}` uses the network: `{about}`")
                    }
                    Some(about) => write!(f, "`{tool}` {does} `{about}`"),
                    None => write!(f, "`{tool}` {does} {what}"),
                }
            }
            Why::Hook(reason) if reason.is_empty() => write!(f, "a hook asks about `{tool}`"),
            Why::Hook(reason) => write!(f, "a hook asks about `{tool}`: {reason}"),
            Why::Protected(file) => {
                write!(f, "`{tool}` changes `{file}`, which others run or trust")
            }
            Why::Secret(wanted) => {
                let WantedSecret { agent, from, reason, .. } = &**wanted;
                let key = self.about.as_deref().unwrap_or_default();
                write!(
                    f,
                    "`{agent}` wants the secret `{key}` (from {from}) for commands that name it"
                )?;
                match reason {
                    Some(reason) => write!(f, ", and says: {reason}"),
                    None => Ok(()),
                }
            }
        }
    }
}

/// What becomes of a call. Rights come first and no mode or grant goes beyond them.
#[must_use]
pub fn judge(
    call: &Call<'_>,
    rights: &Rights,
    mode: PermissionMode,
    grants: &Grants,
    now: Moment,
) -> Verdict {
    if let Err(refusal) = rights.cover(call.tool, call.subject) {
        return Verdict::Deny(Rule::Rights(refusal));
    }
    if mode == PermissionMode::Plan && call.effects.changes() {
        return Verdict::Deny(Rule::PlanMode);
    }
    let needed = if call.protected.is_some() { Needed::Explicit } else { Needed::Any };
    match grants.state(call.tool, call.subject, needed, now) {
        GrantState::Active => return Verdict::Allow,
        GrantState::Over => return Verdict::Deny(Rule::GrantOver),
        GrantState::None => {}
    }
    let freely: &[Effect] = match mode {
        PermissionMode::Plan | PermissionMode::DontAsk | PermissionMode::Default => {
            &[Effect::Reads]
        }
        PermissionMode::AcceptEdits => &[Effect::Reads, Effect::Writes],
        PermissionMode::BypassPermissions => {
            &[Effect::Reads, Effect::Writes, Effect::Executes, Effect::Network]
        }
    };
    let all = [Effect::Executes, Effect::Network, Effect::Writes, Effect::Reads];
    let effect = all.into_iter().find(|it| call.effects.has(*it) && !freely.contains(it));
    let why = match (call.protected, effect) {
        (Some(file), _) => Why::Protected(file.to_owned()),
        (None, Some(effect)) => Why::Effect(effect),
        (None, None) => return Verdict::Allow,
    };
    match mode {
        PermissionMode::Plan | PermissionMode::DontAsk => Verdict::Deny(Rule::DontAsk),
        _ => {
            let about = call.subject.told();
            Verdict::Ask(Question { tool: call.tool.to_owned(), about, why })
        }
    }
}

/// How much a mode lets happen.
fn rank(mode: PermissionMode) -> u8 {
    match mode {
        PermissionMode::Plan => 0,
        PermissionMode::DontAsk => 1,
        PermissionMode::Default => 2,
        PermissionMode::AcceptEdits => 3,
        PermissionMode::BypassPermissions => 4,
    }
}

/// The lower one of two modes.
#[must_use]
pub fn meet(one: PermissionMode, other: PermissionMode) -> PermissionMode {
    if rank(one) <= rank(other) { one } else { other }
}

/// Whether the configuration lets agents run without being asked anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bypass {
    /// It does.
    Allowed,
    /// It does not.
    Forbidden,
}

/// Where an agent stands: everything that [`judge`] needs besides the call and the time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// What it may at most do.
    pub rights: Rights,
    /// What it does without asking.
    pub mode: PermissionMode,
    /// What it was given for a time.
    pub grants: Grants,
}

/// What is said about a child when it is started.
#[derive(Debug, Clone, Default)]
pub struct Birth<'a> {
    /// What its definition says about tools.
    pub definition: Rights,
    /// What the request says.
    pub request: Rights,
    /// The mode that definition and request ask for; that of the parent if they do not.
    pub mode: Option<PermissionMode>,
    /// The grants that the parent hands on.
    pub grants: &'a [Grant],
}

impl Standing {
    /// That of an agent that nobody but the user started.
    #[must_use]
    pub fn root(rights: Rights, mode: PermissionMode, bypass: Bypass) -> Self {
        let highest = match bypass {
            Bypass::Allowed => PermissionMode::BypassPermissions,
            Bypass::Forbidden => PermissionMode::AcceptEdits,
        };
        Self { rights, mode: meet(mode, highest), grants: Grants::default() }
    }

    /// That of a child: the meet of parent, definition, request and mode. Nothing that is said about it can give it more than its
    /// parent has.
    #[must_use]
    pub fn child(&self, birth: &Birth<'_>, now: Moment) -> Self {
        Self {
            rights: self.rights.meet(&birth.definition).meet(&birth.request),
            mode: meet(self.mode, birth.mode.unwrap_or(self.mode)),
            grants: self.grants.delegate(birth.grants, now),
        }
    }

    /// What becomes of a call.
    #[must_use]
    pub fn judge(&self, call: &Call<'_>, now: Moment) -> Verdict {
        judge(call, &self.rights, self.mode, &self.grants, now)
    }

    /// What it may do with everything, and without asking: of a program that works with its own tools nothing smaller can be asked.
    #[must_use]
    pub fn unasked(&self, now: Moment) -> Effects {
        let all: [(Effect, &[&str]); 4] = [
            (Effect::Reads, &["read", "search", "find"]),
            (Effect::Writes, &["write", "edit"]),
            (Effect::Executes, &["bash"]),
            (Effect::Network, &["web_fetch", "web_search"]),
        ];
        let may = |effect: Effect, tool: &str| {
            // Only a rule for the whole tool covers a call about nothing.
            let (effects, subject) = (Effects::NONE.and(effect), &Subject::Nothing);
            let call = Call { tool, effects, subject, protected: None };
            self.judge(&call, now) == Verdict::Allow
        };
        let granted = all.into_iter().filter(|(it, tools)| tools.iter().all(|tool| may(*it, tool)));
        granted.fold(Effects::NONE, |all, (effect, _)| all.and(effect))
    }

    /// Whether a tool is shown to the model: whether there are arguments with which it may be called. In plan mode that includes
    /// what would be refused, so that a plan can name it.
    #[must_use]
    pub fn offers(&self, tool: &str) -> bool {
        self.rights.allows(tool)
    }
}

#[cfg(test)]
mod tests;

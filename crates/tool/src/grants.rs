//! Permissions given for a time.
//!
//! A grant answers a question before it is asked; it never gives what the rights do not cover. Time is a value that the caller
//! brings ([`Moment`], a monotonic clock), so nothing here waits or looks at a clock.

use std::{collections::BTreeSet, fmt, time::Duration};

use crate::rights::{Rights, Subject};

/// A point of the monotonic clock: how long after some start that all moments of one tree of agents share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Moment(pub Duration);

/// What is granted.
#[derive(Clone, PartialEq, Eq)]
pub enum GrantKind {
    /// To use a tool: a pattern such as `edit`, `bash(cargo *)`, `write(.git/**)`.
    Tool(String),
    /// To see a secret of this name in the environment of tools.
    Secret(SecretKey),
}

impl fmt::Debug for GrantKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for GrantKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tool(tool) => write!(f, "Tool({tool})"),
            Self::Secret(_) => f.write_str("Secret(<redacted>)"),
        }
    }
}

/// The name of a secret: 1 to 100 letters, digits, `-` and `_`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SecretKey(String);

impl SecretKey {
    /// `None` for what is no such name.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        let fine = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        let is_key = (1..=100).contains(&text.len()) && text.bytes().all(fine);
        is_key.then(|| Self(text.to_owned()))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The variable that holds it: a shell cannot name one with `-`, or one that starts with a digit.
    #[must_use]
    pub fn variable(&self) -> String {
        let name = self.0.replace('-', "_");
        if name.starts_with(|c: char| c.is_ascii_digit()) { format!("_{name}") } else { name }
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<redacted>")
    }
}

/// One permission and its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// What for.
    pub kind: GrantKind,
    /// From when on it no longer holds; `None` for as long as the agent runs.
    pub until: Option<Moment>,
}

impl Grant {
    /// A grant that holds for `ttl` from `now` on.
    #[must_use]
    pub fn lasting(kind: GrantKind, now: Moment, ttl: Duration) -> Self {
        Self { kind, until: Some(Moment(now.0.saturating_add(ttl))) }
    }

    /// Whether it holds. At its end it does not any more.
    #[must_use]
    pub fn holds(&self, now: Moment) -> bool {
        self.until.is_none_or(|until| now < until)
    }
}

/// The grants of one agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grants {
    list: Vec<Grant>,
    /// Tools that a grant was ever about: without one they are denied from then on.
    timed: BTreeSet<String>,
}

/// How it stands with the grants for a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GrantState {
    /// None was ever given.
    None,
    /// One holds.
    Active,
    /// One was given, and is over or revoked.
    Over,
}

/// Which grants count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needed {
    /// Any that covers the call.
    Any,
    /// Only one that names what the call is about: `write(.git/config)`, not `write`.
    Explicit,
}

impl Grants {
    /// One more. The same may be given twice.
    pub fn add(&mut self, grant: Grant) {
        if let GrantKind::Tool(tool) = &grant.kind {
            self.timed.insert(tool.clone());
        }
        self.list.push(grant);
    }

    /// Forgets those that are over.
    pub fn sweep(&mut self, now: Moment) {
        self.list.retain(|grant| grant.holds(now));
    }

    /// Takes all of them back.
    pub fn revoke_all(&mut self) {
        self.list.clear();
    }

    /// Whether none is left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// How it stands with a call of a tool. A grant for the tool with other arguments says nothing about this call; where only an
    /// explicit one will do, neither does one for the whole tool.
    #[must_use]
    pub fn state(&self, tool: &str, subject: &Subject, needed: Needed, now: Moment) -> GrantState {
        let covers = |pattern: &str| {
            (needed == Needed::Any || pattern.contains('('))
                && Rights::only([pattern]).cover(tool, subject).is_ok()
        };
        let holds = |grant: &Grant| match &grant.kind {
            GrantKind::Tool(pattern) => grant.holds(now) && covers(pattern),
            GrantKind::Secret(_) => false,
        };
        if self.list.iter().any(holds) {
            GrantState::Active
        } else if self.timed.iter().any(|pattern| covers(pattern)) {
            GrantState::Over
        } else {
            GrantState::None
        }
    }

    /// The secrets that may be seen now.
    pub fn secrets(&self, now: Moment) -> impl Iterator<Item = &SecretKey> {
        self.list.iter().filter(move |grant| grant.holds(now)).filter_map(|grant| {
            match &grant.kind {
                GrantKind::Secret(key) => Some(key),
                GrantKind::Tool(_) => None,
            }
        })
    }

    /// What a child gets of these: those that `asked` names and that hold, never for longer than they do here. What was ever
    /// timed here stays timed there; about what is allowed here for good, and was not handed on, nothing was said there.
    #[must_use]
    pub fn delegate(&self, asked: &[Grant], now: Moment) -> Self {
        let shorter = |one: Option<Moment>, other: Option<Moment>| match (one, other) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        let own = self.list.iter().filter(|own| own.holds(now));
        let given = own.flat_map(|own| {
            let same = asked.iter().filter(|it| it.kind == own.kind);
            same.map(|it| Grant { kind: own.kind.clone(), until: shorter(own.until, it.until) })
        });
        let for_good = |tool: &str| {
            let is_it = |grant: &Grant| matches!(&grant.kind, GrantKind::Tool(it) if it == tool);
            self.list.iter().any(|grant| grant.until.is_none() && is_it(grant))
        };
        let timed = self.timed.iter().filter(|tool| !for_good(tool)).cloned();
        Self { timed: timed.collect(), list: given.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Moment {
        Moment(Duration::from_secs(seconds))
    }

    fn tool(name: &str, until: u64) -> Grant {
        Grant { kind: GrantKind::Tool(name.to_owned()), until: Some(at(until)) }
    }

    fn secret(name: &str, until: u64) -> Grant {
        Grant { kind: GrantKind::Secret(SecretKey::new(name).unwrap()), until: Some(at(until)) }
    }

    #[test]
    fn a_grant_holds_until_its_end_and_not_at_it() {
        let grant =
            Grant::lasting(GrantKind::Tool("bash".to_owned()), at(5), Duration::from_secs(5));
        assert!(grant.holds(at(9)));
        assert!(!grant.holds(at(10)));
    }

    #[test]
    fn a_tool_that_was_granted_once_is_denied_when_the_grant_is_gone() {
        let mut grants = Grants::default();
        let state = |grants: &Grants, tool: &str, now| {
            grants.state(tool, &Subject::Nothing, Needed::Any, at(now))
        };
        assert_eq!(state(&grants, "bash", 0), GrantState::None);
        grants.add(tool("bash", 10));
        assert_eq!(state(&grants, "bash", 9), GrantState::Active);
        assert_eq!(state(&grants, "read", 9), GrantState::None, "unrelated");
        assert!(!grants.is_empty());
        assert_eq!(state(&grants, "bash", 10), GrantState::Over);
        grants.sweep(at(10));
        assert!(grants.is_empty());
        assert_eq!(state(&grants, "bash", 10), GrantState::Over, "evicted");
        grants.add(tool("bash", 20));
        assert_eq!(state(&grants, "bash", 11), GrantState::Active, "granted again");
        grants.revoke_all();
        assert_eq!(state(&grants, "bash", 11), GrantState::Over, "revoked");
    }

    #[test]
    fn sweeping_keeps_what_holds_and_duplicates_count_twice() {
        let mut grants = Grants::default();
        for grant in [secret("A", 5), secret("A", 5), secret("B", 9)] {
            grants.add(grant);
        }
        let keys = |grants: &Grants, now| {
            grants.secrets(at(now)).map(|it| it.as_str().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(keys(&grants, 4), ["A", "A", "B"]);
        grants.sweep(at(5));
        assert_eq!(keys(&grants, 5), ["B"]);
    }

    #[test]
    fn the_name_of_a_secret_is_never_shown() {
        let (key, kind) = (SecretKey::new("db-password").unwrap(), secret("db-password", 1).kind);
        let shown = format!("{key:?} {kind:?} {kind}");
        assert_eq!(shown, "<redacted> Secret(<redacted>) Secret(<redacted>)");
        let kind = GrantKind::Tool("bash".to_owned());
        assert_eq!(format!("{kind:?} {kind}"), "Tool(bash) Tool(bash)");
    }

    #[test]
    fn names_of_secrets_and_their_variables() {
        for (text, variable) in
            [("db-key", Some("db_key")), (" A ", Some("A")), ("1st", Some("_1st"))]
        {
            assert_eq!(SecretKey::new(text).map(|it| it.variable()).as_deref(), variable);
        }
        for text in ["", "a b", "a=b", "ä", &"x".repeat(101)] {
            assert_eq!(SecretKey::new(text), None, "{text}");
        }
    }

    #[test]
    fn a_child_gets_no_grant_that_its_parent_lacks_and_none_for_longer() {
        let mut parent = Grants::default();
        parent.add(tool("bash", 10));
        parent.add(secret("A", 10));
        let child = parent.delegate(&[tool("bash", 99), tool("write", 99), secret("A", 7)], at(0));
        assert_eq!(child.list, [tool("bash", 10), secret("A", 7)]);
        assert!(parent.delegate(&[tool("bash", 99)], at(10)).is_empty());
    }

    #[test]
    fn a_child_may_ask_for_what_was_granted_to_its_parent_for_good() {
        let mut parent = Grants::default();
        parent.add(Grant { kind: GrantKind::Tool("bash".to_owned()), until: None });
        parent.add(tool("edit", 10));
        let child = parent.delegate(&[], at(0));
        let state = |tool: &str| child.state(tool, &Subject::Nothing, Needed::Any, at(0));
        assert_eq!((state("bash"), state("edit")), (GrantState::None, GrantState::Over));
    }
}

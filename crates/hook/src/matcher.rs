//! Which uses of an event a hook is for, by the calling host's own rules.
//!
//! A matcher looks at the name of the tool; at the source of a session's start, the reason of its end, the
//! trigger of a compaction, the kind of a notification or of a sub-agent. A prompt and a stop have nothing
//! to look at, and a host may not tell: then the matcher is not asked.
//!
//! | host | no matcher, empty, `*` | a plain word or list | anything else |
//! |---|---|---|---|
//! | Claude Code, Qwen Code, droid, OpenCode, Antigravity | all | exact; `A\|B` and `A, B` are lists | regular expression, found anywhere |
//! | Codex | all | exact; `A\|B` is a list | regular expression, found anywhere |
//! | Gemini CLI | all | tools: regular expression, found anywhere; else exact | the same |
//! | Copilot CLI | all | regular expression, of the whole | the same |
//! | Cursor, Kiro, Goose | all | regular expression, found anywhere | the same |

use agents_host::Event;
use agents_system::finding::Finding;
use regex_lite::Regex;

use crate::{HookInput, wire::Wire};

/// Which uses of an event a hook is for.
#[derive(Debug, Clone)]
pub enum Matcher {
    /// All of them.
    All,
    /// Those about one of these, by their whole name.
    Exact(Vec<String>),
    /// Those whose name has this in it.
    Pattern(Regex),
}

/// A matcher that is no regular expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a regular expression: {why}")]
pub struct BadMatcher {
    /// As it was written.
    pub text: String,
    /// What is wrong with it.
    pub why: String,
}

impl BadMatcher {
    /// As a finding about the hook that has it.
    #[must_use]
    pub fn finding(&self, hook: &str) -> Finding {
        Finding::error(format!("the matcher of hook `{hook}` matches nothing: {self}")).hint(
            "name the tools, as `Edit|Write`, or write a regular expression without look-around",
        )
    }
}

/// What `matcher` can look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject<'a> {
    /// This.
    Is(&'a str),
    /// Nothing: the event has nothing to look at, or the host does not tell.
    Unknown,
}

impl Matcher {
    /// Reads a matcher by the rules of the calling host. A regular expression is compiled only if it is
    /// one.
    pub fn parse(wire: Wire, event: Event, text: Option<&str>) -> Result<Self, BadMatcher> {
        let Some(text) = text.filter(|text| !text.is_empty() && *text != "*") else {
            return Ok(Self::All);
        };
        let listed = |separators: &[char]| {
            let words = text.split(separators).map(|word| word.trim().to_owned());
            Self::Exact(words.filter(|word| !word.is_empty()).collect())
        };
        let is_plain = |more: &str| {
            text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || more.contains(c))
        };
        match wire {
            Wire::Claude | Wire::Qwen | Wire::Factory | Wire::OpenCode | Wire::Antigravity
                if is_plain(", |-") =>
            {
                Ok(listed(&['|', ',']))
            }
            Wire::Codex if is_plain("|") => Ok(listed(&['|'])),
            Wire::Gemini if !event.is_about_a_tool() => Ok(Self::Exact(vec![text.to_owned()])),
            Wire::Copilot => pattern(text, &format!("^(?:{text})$")),
            _ => pattern(text, text),
        }
    }

    /// Whether this use of the event is meant.
    #[must_use]
    pub fn matches(&self, input: &HookInput) -> bool {
        match subject(input) {
            Subject::Unknown => true,
            Subject::Is(name) => self.matches_name(name),
        }
    }

    /// Whether it is for something of this name.
    #[must_use]
    pub fn matches_name(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Exact(words) => words.iter().any(|word| word == name),
            Self::Pattern(pattern) => pattern.is_match(name),
        }
    }
}

fn pattern(text: &str, source: &str) -> Result<Matcher, BadMatcher> {
    let bad = |why: regex_lite::Error| BadMatcher { text: text.to_owned(), why: why.to_string() };
    Regex::new(source).map(Matcher::Pattern).map_err(bad)
}

/// What a matcher looks at.
#[must_use]
pub fn subject(input: &HookInput) -> Subject<'_> {
    let subject = match input {
        HookInput::PreToolUse(it) | HookInput::PermissionRequest(it) => Some(&*it.tool_name),
        HookInput::PostToolUse(it) => Some(&*it.call.tool_name),
        HookInput::PostToolUseFailure(it) => Some(&*it.call.tool_name),
        HookInput::SessionStart(it) => it.source.as_deref(),
        HookInput::SessionEnd(it) => it.reason.as_deref(),
        HookInput::PreCompact(it) => it.trigger.as_deref(),
        HookInput::Notification(it) => it.notification_type.as_deref(),
        HookInput::SubagentStart(it) => it.session.agent_type.as_deref(),
        HookInput::SubagentStop(it) => it.session.agent_type.as_deref(),
        HookInput::UserPromptSubmit(_) | HookInput::Stop(_) => None,
    };
    subject.map_or(Subject::Unknown, Subject::Is)
}

#[cfg(test)]
mod tests;

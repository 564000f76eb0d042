//! Which tools an agent may use.

use std::fmt;

use serde::{Deserialize, Serialize};

pub mod names;

/// What a definition says about tools. What an agent really gets is never more than its parent has.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tools {
    /// Only these; `None` for whatever the parent has. Definitions that list none mean no restriction, too: nothing at all is
    /// said by taking everything away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow: Option<Vec<ToolPattern>>,
    /// Never these, whatever is allowed: `deny`, `except` and `disallowedTools` of the dialects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<ToolPattern>,
}

/// A tool, under the name that we use for all hosts, or a pattern: `read`, `mcp__github__*`, `bash(git *)`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ToolPattern(String);

impl ToolPattern {
    /// As written: trimmed. Names of hosts are translated by whoever knows the host.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.trim().to_owned())
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name without what stands in parentheses.
    #[must_use]
    pub fn tool(&self) -> &str {
        self.0.split_once('(').map_or(self.0.as_str(), |(tool, _)| tool).trim()
    }

    /// What stands in parentheses: a restriction of the arguments.
    #[must_use]
    pub fn argument(&self) -> Option<&str> {
        let (_, rest) = self.0.split_once('(')?;
        rest.strip_suffix(')')
    }

    /// Without what stands in parentheses.
    #[must_use]
    pub fn without_argument(&self) -> Self {
        Self::new(self.tool())
    }

    /// Whether more than one tool may be meant.
    #[must_use]
    pub fn is_glob(&self) -> bool {
        self.tool().contains('*')
    }

    /// Whether a tool of this name is meant. `*` stands for any characters; case does not count.
    #[must_use]
    pub fn matches(&self, tool: &str) -> bool {
        glob(&self.tool().to_lowercase(), &tool.to_lowercase())
    }
}

impl fmt::Display for ToolPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl Tools {
    /// No tools at all.
    #[must_use]
    pub fn nothing() -> Self {
        Self { allow: None, deny: vec![ToolPattern::new("*")] }
    }

    /// Whether it is said that there are none at all.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.deny.iter().any(|it| it.as_str() == "*")
    }

    /// Whether the definition lets it use a tool.
    #[must_use]
    pub fn allows(&self, tool: &str) -> bool {
        let listed = |patterns: &[ToolPattern]| patterns.iter().any(|it| it.matches(tool));
        self.allow.as_deref().is_none_or(listed) && !listed(&self.deny)
    }
}

/// `*` stands for any characters. Only the last `*` is ever tried again: no pattern takes long.
fn glob(pattern: &str, text: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(head) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let tail = parts.pop().unwrap_or_default();
    for part in parts {
        let Some(at) = text.find(part) else { return false };
        text = &text[at + part.len()..];
    }
    text.ends_with(tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, tool, matches) in [
            ("read", "read", true),
            ("Read", "read", true),
            ("read", "reader", false),
            ("*", "anything", true),
            ("mcp__github__*", "mcp__github__issues", true),
            ("mcp__github__*", "mcp__gitlab__issues", false),
            ("bash(git *)", "bash", true),
            ("*a*b", "xaxb", true),
            ("*a*b", "b", false),
            ("a*a", "a", false),
            ("a*b*c", "abc", true),
            ("a*b*c", "acb", false),
        ] {
            assert_eq!(ToolPattern::new(pattern).matches(tool), matches, "{pattern} {tool}");
        }
        assert_eq!(ToolPattern::new("bash(git *)").argument(), Some("git *"));
        assert_eq!(ToolPattern::new("bash").argument(), None);
    }

    #[test]
    fn nothing_listed_is_no_restriction_and_what_is_denied_is_never_allowed() {
        assert!(Tools::default().allows("anything"));
        let nothing = Tools { allow: None, deny: vec![ToolPattern::new("*")] };
        assert!(!nothing.allows("read"));
    }
}

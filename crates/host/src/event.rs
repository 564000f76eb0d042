//! The moments at which a host can call us.

use serde::{Deserialize, Serialize};

/// A moment, under the name that we use for all hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Event {
    /// Before a tool runs.
    PreToolUse,
    /// After a tool ran.
    PostToolUse,
    /// After a tool failed.
    PostToolUseFailure,
    /// The user sent a prompt.
    UserPromptSubmit,
    /// A session begins.
    SessionStart,
    /// A session ends.
    SessionEnd,
    /// The host is about to stop working.
    Stop,
    /// A sub-agent begins.
    SubagentStart,
    /// A sub-agent is about to stop.
    SubagentStop,
    /// The host is about to ask for permission.
    PermissionRequest,
    /// The conversation is about to be compacted.
    PreCompact,
    /// The host wants the user's attention.
    Notification,
}

impl Event {
    /// All of them, in the order in which they are registered.
    pub const ALL: [Self; 12] = [
        Self::PreToolUse,
        Self::PostToolUse,
        Self::PostToolUseFailure,
        Self::UserPromptSubmit,
        Self::SessionStart,
        Self::SessionEnd,
        Self::Stop,
        Self::SubagentStart,
        Self::SubagentStop,
        Self::PermissionRequest,
        Self::PreCompact,
        Self::Notification,
    ];

    /// As manifests and descriptors write it: `PreToolUse`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::PreToolUse => "PreToolUse",
            Self::PostToolUse => "PostToolUse",
            Self::PostToolUseFailure => "PostToolUseFailure",
            Self::UserPromptSubmit => "UserPromptSubmit",
            Self::SessionStart => "SessionStart",
            Self::SessionEnd => "SessionEnd",
            Self::Stop => "Stop",
            Self::SubagentStart => "SubagentStart",
            Self::SubagentStop => "SubagentStop",
            Self::PermissionRequest => "PermissionRequest",
            Self::PreCompact => "PreCompact",
            Self::Notification => "Notification",
        }
    }

    /// As the command line writes it: `pre-tool-use`.
    #[must_use]
    pub fn kebab(self) -> &'static str {
        match self {
            Self::PreToolUse => "pre-tool-use",
            Self::PostToolUse => "post-tool-use",
            Self::PostToolUseFailure => "post-tool-use-failure",
            Self::UserPromptSubmit => "user-prompt-submit",
            Self::SessionStart => "session-start",
            Self::SessionEnd => "session-end",
            Self::Stop => "stop",
            Self::SubagentStart => "subagent-start",
            Self::SubagentStop => "subagent-stop",
            Self::PermissionRequest => "permission-request",
            Self::PreCompact => "pre-compact",
            Self::Notification => "notification",
        }
    }

    /// The event of this name, as manifests or as the command line write it.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.name() == name || event.kebab() == name)
    }

    /// Whether it is about one tool, so that a matcher of tool names makes sense.
    #[must_use]
    pub fn is_about_a_tool(self) -> bool {
        matches!(
            self,
            Self::PreToolUse
                | Self::PostToolUse
                | Self::PostToolUseFailure
                | Self::PermissionRequest
        )
    }
}

impl std::fmt::Display for Event {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn manifests_know_every_event_and_every_host() {
        assert_eq!(Event::ALL.map(Event::name).as_slice(), agents_plugin::manifest::EVENTS);
        let hosts: BTreeSet<&str> = crate::catalog::ids().collect();
        assert_eq!(hosts, agents_plugin::manifest::HOSTS.iter().copied().collect());
    }
}

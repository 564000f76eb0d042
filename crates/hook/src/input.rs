//! What a handler is told, in the neutral format.
//!
//! In JSON one key names the event and its value holds the facts; a fact that the host did not tell is
//! `null`:
//!
//! ```json
//! {"PreToolUse": {"tool_name": "Bash", "tool_input": {"command": "ls"}, "session_id": "s1", "cwd": "/w"}}
//! ```

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What happened, with the facts of the moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum HookInput {
    /// Before a tool runs.
    PreToolUse(ToolCall),
    /// After a tool ran.
    PostToolUse(ToolResult),
    /// After a tool failed.
    PostToolUseFailure(ToolFailure),
    /// The user sent a prompt.
    UserPromptSubmit(Prompt),
    /// A session begins.
    SessionStart(Beginning),
    /// A session ends.
    SessionEnd(End),
    /// The host is about to stop working.
    Stop(Stopping),
    /// A sub-agent begins; which one is said by `agent_id` and `agent_type`.
    SubagentStart(Plain),
    /// A sub-agent is about to stop.
    SubagentStop(Stopping),
    /// The host is about to ask for permission.
    PermissionRequest(ToolCall),
    /// The conversation is about to be compacted.
    PreCompact(Compaction),
    /// The host wants the user's attention.
    Notification(Notice),
}

/// What is known at every event.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Session {
    /// Which host calls, under our name for it: `claude`. Names of tools are those of this host.
    pub host: Option<String>,
    /// What the host calls the session.
    pub session_id: Option<String>,
    /// The directory in which the host works.
    pub cwd: Option<String>,
    /// The file in which the host keeps the conversation.
    pub transcript_path: Option<String>,
    /// The sub-agent that this is about, if it is about one.
    pub agent_id: Option<String>,
    /// The kind of that sub-agent.
    pub agent_type: Option<String>,
    /// What the host told besides, under its own names.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
}

/// A tool that is about to run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ToolCall {
    /// What is known at every event.
    #[serde(flatten)]
    pub session: Session,
    /// The tool, under the host's name for it.
    pub tool_name: String,
    /// What the tool is given.
    #[serde(default)]
    pub tool_input: Value,
    /// What the host calls this one use of the tool.
    pub tool_use_id: Option<String>,
}

/// A tool that ran.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ToolResult {
    /// The call that was made.
    #[serde(flatten)]
    pub call: ToolCall,
    /// What the tool gave back.
    #[serde(default)]
    pub tool_response: Value,
}

/// A tool that failed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ToolFailure {
    /// The call that was made.
    #[serde(flatten)]
    pub call: ToolCall,
    /// What went wrong.
    pub error: Option<String>,
}

/// A prompt of the user.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Prompt {
    /// What is known at every event.
    #[serde(flatten)]
    pub session: Session,
    /// The prompt; empty where the host does not tell it.
    #[serde(default)]
    pub prompt: String,
}

/// The beginning of a session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Beginning {
    /// What is known at every event.
    #[serde(flatten)]
    pub session: Session,
    /// How it came to be, in the host's words: `startup`, `resume`.
    pub source: Option<String>,
}

/// The end of a session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct End {
    /// What is known at every event.
    #[serde(flatten)]
    pub session: Session,
    /// Why, in the host's words.
    pub reason: Option<String>,
}

/// The end of a turn of the main agent or of a sub-agent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Stopping {
    /// What is known at every event.
    #[serde(flatten)]
    pub session: Session,
    /// Whether it only works because a hook kept it from stopping. Who denies then may do so forever.
    pub stop_hook_active: Option<bool>,
    /// The last thing that it said.
    pub last_assistant_message: Option<String>,
}

/// An event without facts of its own.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Plain {
    /// What is known at every event.
    #[serde(flatten)]
    pub session: Session,
}

/// A compaction of the conversation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Compaction {
    /// What is known at every event.
    #[serde(flatten)]
    pub session: Session,
    /// Who wanted it, in the host's words: `auto`, `manual`.
    pub trigger: Option<String>,
    /// What the user wants to be kept.
    pub custom_instructions: Option<String>,
}

/// A call for attention.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Notice {
    /// What is known at every event.
    #[serde(flatten)]
    pub session: Session,
    /// What the user is told.
    pub message: Option<String>,
    /// The headline.
    pub title: Option<String>,
    /// What kind it is, in the host's words.
    pub notification_type: Option<String>,
}

impl HookInput {
    /// What is known at every event.
    #[must_use]
    pub fn session(&self) -> &Session {
        match self {
            Self::PreToolUse(it) | Self::PermissionRequest(it) => &it.session,
            Self::PostToolUse(it) => &it.call.session,
            Self::PostToolUseFailure(it) => &it.call.session,
            Self::UserPromptSubmit(it) => &it.session,
            Self::SessionStart(it) => &it.session,
            Self::SessionEnd(it) => &it.session,
            Self::Stop(it) | Self::SubagentStop(it) => &it.session,
            Self::SubagentStart(it) => &it.session,
            Self::PreCompact(it) => &it.session,
            Self::Notification(it) => &it.session,
        }
    }

    /// The tool that this is about, if it is about one.
    #[must_use]
    pub fn tool(&self) -> Option<&ToolCall> {
        match self {
            Self::PreToolUse(call) | Self::PermissionRequest(call) => Some(call),
            Self::PostToolUse(result) => Some(&result.call),
            Self::PostToolUseFailure(failure) => Some(&failure.call),
            _ => None,
        }
    }
}

impl ToolCall {
    /// The shell command, if the tool is given one. Hosts call their shell differently but nearly all
    /// give it a `command`.
    #[must_use]
    pub fn command(&self) -> Option<&str> {
        self.tool_input.get("command")?.as_str()
    }
}

#[cfg(feature = "dispatch")]
impl HookInput {
    /// Which event it is.
    #[must_use]
    pub fn event(&self) -> agents_host::Event {
        use agents_host::Event;
        match self {
            Self::PreToolUse(_) => Event::PreToolUse,
            Self::PostToolUse(_) => Event::PostToolUse,
            Self::PostToolUseFailure(_) => Event::PostToolUseFailure,
            Self::UserPromptSubmit(_) => Event::UserPromptSubmit,
            Self::SessionStart(_) => Event::SessionStart,
            Self::SessionEnd(_) => Event::SessionEnd,
            Self::Stop(_) => Event::Stop,
            Self::SubagentStart(_) => Event::SubagentStart,
            Self::SubagentStop(_) => Event::SubagentStop,
            Self::PermissionRequest(_) => Event::PermissionRequest,
            Self::PreCompact(_) => Event::PreCompact,
            Self::Notification(_) => Event::Notification,
        }
    }
}

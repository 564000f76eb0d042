//! What a handler answers, in the neutral format.
//!
//! In JSON one key names the event, as in the input; what has nothing to say is left out, and nothing at
//! all may be printed as `{}` or as no output:
//!
//! ```json
//! {"PreToolUse": {"decision": "deny", "reason": "the lock file is generated"}}
//! ```

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// What shall become of the thing that the event is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Decision {
    /// It may happen without asking the user, where the host lets a hook say so.
    #[serde(alias = "approve")]
    Allow,
    /// The user shall be asked.
    Ask,
    /// It must not happen: the tool does not run, the prompt is not sent, the agent does not stop. After
    /// a tool ran: the model is told the reason.
    #[serde(alias = "block")]
    Deny,
}

/// The answer of a handler. The default one has nothing to say.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct HookOutput {
    /// What shall become of it; nothing leaves it to the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// Why it is denied or must be asked for. Of a denial the model sees it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What the tool shall be given instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_input: Option<Value>,
    /// What the model shall know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub additional_context: Option<String>,
    /// What the model shall see instead of what the tool gave back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_output: Option<Value>,
    /// Whether the host shall stop working altogether. In JSON it is `"continue": false`.
    #[serde(rename = "continue", with = "stopping", skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(test, schemars(with = "bool"))]
    pub stop: bool,
    /// Why it shall stop, for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    /// What the user shall see.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_message: Option<String>,
    /// Whether the host shall not show what the hook printed.
    #[serde(deserialize_with = "flag", skip_serializing_if = "std::ops::Not::not")]
    pub suppress_output: bool,
    /// What a handler in the calling host's own format said besides, under the host's names. It is passed
    /// on to that host and is no part of the neutral format.
    #[serde(skip)]
    pub native: Map<String, Value>,
}

impl HookOutput {
    /// Says no.
    #[must_use]
    pub fn deny(reason: impl Into<String>) -> Self {
        Self { decision: Some(Decision::Deny), reason: Some(reason.into()), ..Self::default() }
    }

    /// Wants the user to be asked.
    #[must_use]
    pub fn ask(reason: impl Into<String>) -> Self {
        Self { decision: Some(Decision::Ask), reason: Some(reason.into()), ..Self::default() }
    }

    /// Says yes, so that the user is not asked.
    #[must_use]
    pub fn allow() -> Self {
        Self { decision: Some(Decision::Allow), ..Self::default() }
    }

    /// Tells the model something.
    #[must_use]
    pub fn context(text: impl Into<String>) -> Self {
        Self { additional_context: Some(text.into()), ..Self::default() }
    }

    /// Gives the tool something else.
    #[must_use]
    pub fn update_input(input: Value) -> Self {
        Self { updated_input: Some(input), ..Self::default() }
    }

    /// Shows the model something else than what the tool gave back.
    #[must_use]
    pub fn update_output(output: Value) -> Self {
        Self { updated_output: Some(output), ..Self::default() }
    }

    /// Stops the host.
    #[must_use]
    pub fn stop(reason: impl Into<String>) -> Self {
        Self { stop: true, stop_reason: Some(reason.into()), ..Self::default() }
    }

    /// Whether it has nothing to say.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// `continue` says the opposite of `stop`.
mod stopping {
    use super::{Deserialize as _, Deserializer, Serializer};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants it so")]
    pub(super) fn serialize<S: Serializer>(stop: &bool, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bool(!stop)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
        Option::<bool>::deserialize(from).map(|go_on| go_on == Some(false))
    }
}

/// A flag that may be `null`.
fn flag<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    Option::<bool>::deserialize(from).map(Option::unwrap_or_default)
}

/// An answer under the name of its event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Answered {
    /// To `PreToolUse`.
    PreToolUse(HookOutput),
    /// To `PostToolUse`.
    PostToolUse(HookOutput),
    /// To `PostToolUseFailure`.
    PostToolUseFailure(HookOutput),
    /// To `UserPromptSubmit`.
    UserPromptSubmit(HookOutput),
    /// To `SessionStart`.
    SessionStart(HookOutput),
    /// To `SessionEnd`.
    SessionEnd(HookOutput),
    /// To `Stop`.
    Stop(HookOutput),
    /// To `SubagentStart`.
    SubagentStart(HookOutput),
    /// To `SubagentStop`.
    SubagentStop(HookOutput),
    /// To `PermissionRequest`.
    PermissionRequest(HookOutput),
    /// To `PreCompact`.
    PreCompact(HookOutput),
    /// To `Notification`.
    Notification(HookOutput),
}

impl Answered {
    /// The answer itself.
    #[must_use]
    pub fn into_output(self) -> HookOutput {
        match self {
            Self::PreToolUse(it)
            | Self::PostToolUse(it)
            | Self::PostToolUseFailure(it)
            | Self::UserPromptSubmit(it)
            | Self::SessionStart(it)
            | Self::SessionEnd(it)
            | Self::Stop(it)
            | Self::SubagentStart(it)
            | Self::SubagentStop(it)
            | Self::PermissionRequest(it)
            | Self::PreCompact(it)
            | Self::Notification(it) => it,
        }
    }

    /// An answer to this input.
    #[must_use]
    pub fn to(input: &crate::HookInput, output: HookOutput) -> Self {
        use crate::HookInput;
        match input {
            HookInput::PreToolUse(_) => Self::PreToolUse(output),
            HookInput::PostToolUse(_) => Self::PostToolUse(output),
            HookInput::PostToolUseFailure(_) => Self::PostToolUseFailure(output),
            HookInput::UserPromptSubmit(_) => Self::UserPromptSubmit(output),
            HookInput::SessionStart(_) => Self::SessionStart(output),
            HookInput::SessionEnd(_) => Self::SessionEnd(output),
            HookInput::Stop(_) => Self::Stop(output),
            HookInput::SubagentStart(_) => Self::SubagentStart(output),
            HookInput::SubagentStop(_) => Self::SubagentStop(output),
            HookInput::PermissionRequest(_) => Self::PermissionRequest(output),
            HookInput::PreCompact(_) => Self::PreCompact(output),
            HookInput::Notification(_) => Self::Notification(output),
        }
    }
}

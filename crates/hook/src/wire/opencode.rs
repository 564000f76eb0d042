//! OpenCode, which runs JavaScript and no commands: a plugin module of ours calls us. The module speaks
//! the neutral format, without the event's name around it, so nothing is translated here; what it can do
//! with an answer is what OpenCode lets a plugin do.

use agents_host::Event;
use serde_json::{Map, Value};

use super::{Dialect, Said, WireError};
use crate::{HookOutput, loss::Part};

/// The plugin module for OpenCode, which runs this program of ours. It has no place for what OpenCode
/// cannot do; see [`Part`].
#[must_use]
pub fn opencode_module(program: &str) -> String {
    include_str!("opencode.js").replace("\"@program@\"", &Value::from(program).to_string())
}

pub(super) struct OpenCode;

impl Dialect for OpenCode {
    fn event(&self, event: Event) -> Option<&'static str> {
        match event {
            Event::PreToolUse
            | Event::PostToolUse
            | Event::UserPromptSubmit
            | Event::SessionStart
            | Event::SessionEnd
            | Event::Stop
            | Event::PermissionRequest
            | Event::PreCompact => Some(event.name()),
            _ => None,
        }
    }

    fn event_key(&self) -> Option<&'static str> {
        None
    }

    fn can(&self, event: Event) -> &'static [Part] {
        use Part::*;
        match event {
            Event::PreToolUse => &[Deny, UpdatedInput],
            Event::PermissionRequest => &[Allow, Ask, Deny],
            Event::PostToolUse => &[Context, UpdatedOutput],
            Event::UserPromptSubmit => &[Deny, Context],
            Event::SessionStart | Event::PreCompact => &[Context],
            _ => &[],
        }
    }

    fn say(&self, _: Event, output: &HookOutput) -> Said {
        match serde_json::to_value(output) {
            Ok(Value::Object(object)) => Said::Json(object),
            _ => Said::Json(Map::new()),
        }
    }

    fn hear(&self, _: Event, said: &mut Map<String, Value>) -> Result<HookOutput, WireError> {
        serde_json::from_value(Value::Object(std::mem::take(said))).map_err(WireError::Shape)
    }
}

//! OpenCode, which runs JavaScript and no commands: [a plugin module of ours](agents_host::hooks::opencode_module) calls us. It speaks
//! the neutral format, without the event's name around it, so nothing is translated here; what it can do
//! with an answer is what OpenCode lets a plugin do.

use agents_host::Event;
use serde_json::{Map, Value};

use super::{Dialect, Said, WireError};
use crate::{HookOutput, loss::Part};

pub(super) struct OpenCode;

impl Dialect for OpenCode {
    fn event(&self, event: Event) -> Option<&'static str> {
        Some(match event {
            Event::PreToolUse => "tool.execute.before",
            Event::PostToolUse => "tool.execute.after",
            // The first message of a session begins it.
            Event::UserPromptSubmit | Event::SessionStart => "chat.message",
            Event::SessionEnd => "session.deleted",
            Event::Stop => "session.idle",
            Event::PermissionRequest => "permission.asked",
            Event::PreCompact => "experimental.session.compacting",
            _ => return None,
        })
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

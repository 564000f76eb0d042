//! The facts of each event, and finding them under a host's names.

use agents_host::Event;
use serde_json::{Map, Value};

use super::Dialect;
use crate::HookInput;

#[derive(Clone, Copy)]
enum Kind {
    Text,
    Flag,
    Any,
}

type Fact = (&'static str, Kind);

const SESSION: &[Fact] = &[
    ("session_id", Kind::Text),
    ("cwd", Kind::Text),
    ("transcript_path", Kind::Text),
    ("agent_id", Kind::Text),
    ("agent_type", Kind::Text),
];
const TOOL: &[Fact] =
    &[("tool_name", Kind::Text), ("tool_input", Kind::Any), ("tool_use_id", Kind::Text)];

/// What an event tells besides the session and the tool.
fn own(event: Event) -> &'static [Fact] {
    match event {
        Event::PreToolUse | Event::PermissionRequest | Event::SubagentStart => &[],
        Event::PostToolUse => &[("tool_response", Kind::Any)],
        Event::PostToolUseFailure => &[("error", Kind::Text)],
        Event::UserPromptSubmit => &[("prompt", Kind::Text)],
        Event::SessionStart => &[("source", Kind::Text)],
        Event::SessionEnd => &[("reason", Kind::Text)],
        Event::Stop | Event::SubagentStop => {
            &[("stop_hook_active", Kind::Flag), ("last_assistant_message", Kind::Text)]
        }
        Event::PreCompact => &[("trigger", Kind::Text), ("custom_instructions", Kind::Text)],
        Event::Notification => {
            &[("message", Kind::Text), ("title", Kind::Text), ("notification_type", Kind::Text)]
        }
    }
}

fn all(event: Event) -> impl Iterator<Item = Fact> {
    let tool = if event.is_about_a_tool() { TOOL } else { &[] };
    SESSION.iter().chain(tool).chain(own(event)).copied()
}

/// Takes the facts out of what a host sent. A value of another kind stays where it is.
pub(super) fn read(
    dialect: &dyn Dialect,
    event: Event,
    native: &mut Map<String, Value>,
) -> Map<String, Value> {
    let mut ours = Map::new();
    for (name, kind) in all(event) {
        let same = [name];
        let keys = dialect.keys(event, name).unwrap_or(&same);
        let fits = |value: &Value| match kind {
            Kind::Text => value.is_string(),
            Kind::Flag => value.is_boolean(),
            Kind::Any => !value.is_null(),
        };
        let found = keys.iter().find(|key| native.get(**key).is_some_and(fits));
        if let Some(value) = found.and_then(|key| native.shift_remove(*key)) {
            ours.insert(name.to_owned(), value);
        }
    }
    dialect.reading(event, native, &mut ours);
    ours
}

/// The facts that are known, under a host's names.
pub(super) fn write(dialect: &dyn Dialect, event: Event, input: &HookInput) -> Map<String, Value> {
    let mut native = Map::new();
    if let (Some(key), Some(name)) = (dialect.event_key(), dialect.event(event)) {
        native.insert(key.to_owned(), name.into());
    }
    let Ok(Value::Object(mut tagged)) = serde_json::to_value(input) else { return native };
    let Some(Value::Object(mut ours)) = tagged.shift_remove(event.name()) else { return native };
    for (name, _) in all(event) {
        if let Some(value) = ours.shift_remove(name).filter(|value| !value.is_null()) {
            let key = dialect.keys(event, name).map_or(name, |keys| keys[0]);
            native.insert(key.to_owned(), value);
        }
    }
    native
}

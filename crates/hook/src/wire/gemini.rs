//! Gemini CLI: decisions at the top, under its own names for the events.

use agents_host::Event;
use serde_json::{Map, Value};

use super::{Dialect, Said, WireError, claude, put, take, take_text};
use crate::{Decision, HookOutput, loss::Part};

pub(super) struct Gemini;

impl Dialect for Gemini {
    fn event(&self, event: Event) -> Option<&'static str> {
        match event {
            Event::PreToolUse => Some("BeforeTool"),
            Event::PostToolUse => Some("AfterTool"),
            Event::UserPromptSubmit => Some("BeforeAgent"),
            Event::Stop => Some("AfterAgent"),
            Event::PreCompact => Some("PreCompress"),
            Event::SessionStart | Event::SessionEnd | Event::Notification => Some(event.name()),
            Event::PostToolUseFailure
            | Event::SubagentStart
            | Event::SubagentStop
            | Event::PermissionRequest => None,
        }
    }

    fn keys(&self, _: Event, fact: &str) -> Option<&'static [&'static str]> {
        (fact == "last_assistant_message").then_some(&["prompt_response"])
    }

    fn can(&self, event: Event) -> &'static [Part] {
        use Part::*;
        match event {
            Event::PreToolUse => &[Ask, Deny, UpdatedInput, Stop, SystemMessage, Suppress],
            Event::PostToolUse | Event::UserPromptSubmit => {
                &[Deny, Context, Stop, SystemMessage, Suppress]
            }
            Event::Stop => &[Deny, Stop, SystemMessage, Suppress],
            Event::SessionStart => &[Context, SystemMessage, Suppress],
            Event::SessionEnd | Event::PreCompact | Event::Notification => {
                &[SystemMessage, Suppress]
            }
            Event::PostToolUseFailure
            | Event::SubagentStart
            | Event::SubagentStop
            | Event::PermissionRequest => &[],
        }
    }

    fn adapt(&self, _: Event, output: &mut HookOutput) {
        // The user who is asked sees the same text once.
        if output.decision == Some(Decision::Ask) {
            let (reason, message) = (output.reason.as_deref(), output.system_message.as_deref());
            if reason.map(str::trim) == message.map(str::trim) {
                output.system_message = None;
            }
        }
    }

    fn say(&self, event: Event, output: &HookOutput) -> Said {
        let mut object = claude::say_for_all(output);
        put(&mut object, "decision", output.decision.map(claude::word));
        put(&mut object, "reason", output.reason.clone());
        if output.decision == Some(Decision::Ask) && output.system_message.is_none() {
            // This is what the user sees who is asked.
            put(&mut object, "systemMessage", output.reason.clone());
        }
        let mut specific = Map::new();
        put(&mut specific, "tool_input", output.updated_input.clone());
        put(&mut specific, "additionalContext", output.additional_context.clone());
        if !specific.is_empty() {
            put(&mut specific, "hookEventName", self.event(event));
            object.insert("hookSpecificOutput".to_owned(), Value::Object(specific));
        }
        Said::Json(object)
    }

    fn hear(&self, _: Event, said: &mut Map<String, Value>) -> Result<HookOutput, WireError> {
        let mut output = claude::hear_for_all(said);
        // Its `allow` is the same as saying nothing: its own rules still ask the user.
        output.decision = take_text(said, "decision")
            .and_then(|word| claude::decision(&word))
            .filter(|decision| *decision != Decision::Allow);
        output.reason = take_text(said, "reason");
        if output.decision == Some(Decision::Ask) && output.system_message == output.reason {
            output.system_message = None;
        }
        if let Some(Value::Object(specific)) = said.get_mut("hookSpecificOutput") {
            let name = specific.shift_remove("hookEventName");
            output.updated_input = take(specific, "tool_input");
            output.additional_context = take_text(specific, "additionalContext");
            // What is left is for the host, which wants to know what it is about.
            if !specific.is_empty() {
                put(specific, "hookEventName", name);
            }
        }
        Ok(output)
    }
}

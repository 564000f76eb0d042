//! Cursor: snake case at the top, with one text for the agent and one for the user.

use agents_host::Event;
use agents_system::nested::parse;
use serde_json::{Map, Value, json};

use super::{Dialect, Said, WireError, claude, put, take, take_flag, take_text};
use crate::{
    Decision, HookOutput,
    loss::{Part, join},
};

pub(super) struct Cursor;

impl Dialect for Cursor {
    fn event(&self, event: Event) -> Option<&'static str> {
        Some(match event {
            Event::PreToolUse => "preToolUse",
            Event::PostToolUse => "postToolUse",
            Event::PostToolUseFailure => "postToolUseFailure",
            Event::UserPromptSubmit => "beforeSubmitPrompt",
            Event::SessionStart => "sessionStart",
            Event::SessionEnd => "sessionEnd",
            Event::Stop => "stop",
            Event::SubagentStart => "subagentStart",
            Event::SubagentStop => "subagentStop",
            Event::PreCompact => "preCompact",
            Event::PermissionRequest | Event::Notification => return None,
        })
    }

    fn keys(&self, _: Event, fact: &str) -> Option<&'static [&'static str]> {
        Some(match fact {
            "session_id" => &["conversation_id", "session_id"],
            "agent_id" => &["subagent_id"],
            "agent_type" => &["subagent_type"],
            "tool_response" => &["tool_output"],
            "error" => &["error_message"],
            "last_assistant_message" => &["summary"],
            _ => return None,
        })
    }

    fn reading(&self, _: Event, native: &mut Map<String, Value>, ours: &mut Map<String, Value>) {
        if !ours.contains_key("cwd")
            && let Some(root) = native.get("workspace_roots").and_then(|roots| roots.get(0))
            && root.is_string()
        {
            ours.insert("cwd".to_owned(), root.clone());
        }
        if let Some(Value::String(text)) = ours.get("tool_response")
            // What is too deep stays a text, which says the same.
            && let Some(value @ (Value::Object(_) | Value::Array(_))) = parse(text)
        {
            ours.insert("tool_response".to_owned(), value);
        }
    }

    fn writing(&self, event: Event, native: &mut Map<String, Value>) {
        if let Some(output) = native.get_mut("tool_output")
            && !output.is_string()
        {
            *output = Value::String(output.to_string());
        }
        if !event.is_about_a_tool()
            && let Some(cwd) = native.shift_remove("cwd")
        {
            native.insert("workspace_roots".to_owned(), json!([cwd]));
        }
    }

    fn can(&self, event: Event) -> &'static [Part] {
        use Part::*;
        match event {
            // It accepts `ask` here and does not act on it.
            Event::PreToolUse => &[Allow, Deny, UpdatedInput, SystemMessage],
            Event::PostToolUse | Event::SessionStart => &[Context],
            Event::UserPromptSubmit | Event::Stop | Event::SubagentStart | Event::SubagentStop => {
                &[Deny]
            }
            Event::PreCompact => &[SystemMessage],
            Event::PostToolUseFailure
            | Event::SessionEnd
            | Event::PermissionRequest
            | Event::Notification => &[],
        }
    }

    fn adapt(&self, event: Event, output: &mut HookOutput) {
        // There the reason is for the user, too.
        let shown = matches!(event, Event::UserPromptSubmit | Event::SubagentStart);
        if shown
            && output.decision == Some(Decision::Deny)
            && let Some(message) = output.system_message.take()
        {
            join(&mut output.reason, &message);
        }
    }

    fn say(&self, event: Event, output: &HookOutput) -> Said {
        let mut object = Map::new();
        let (denied, reason) = (output.decision == Some(Decision::Deny), output.reason.clone());
        match event {
            Event::PreToolUse => {
                put(&mut object, "permission", output.decision.map(claude::word));
                put(&mut object, "agent_message", reason);
                put(&mut object, "user_message", output.system_message.clone());
                put(&mut object, "updated_input", output.updated_input.clone());
            }
            Event::UserPromptSubmit => {
                put(&mut object, "continue", denied.then_some(false));
                put(&mut object, "user_message", reason);
            }
            Event::SubagentStart => {
                put(&mut object, "permission", denied.then_some("deny"));
                put(&mut object, "user_message", reason);
            }
            Event::Stop | Event::SubagentStop => put(&mut object, "followup_message", reason),
            _ => {
                put(&mut object, "user_message", output.system_message.clone());
                put(&mut object, "additional_context", output.additional_context.clone());
            }
        }
        Said::Json(object)
    }

    fn hear(&self, event: Event, said: &mut Map<String, Value>) -> Result<HookOutput, WireError> {
        let mut output = HookOutput::default();
        match event {
            Event::PreToolUse | Event::SubagentStart => {
                let word = take_text(said, "permission");
                output.decision = word.and_then(|word| claude::decision(&word));
                output.reason = take_text(said, "agent_message");
                output.system_message = take_text(said, "user_message");
                output.updated_input = take(said, "updated_input");
                if event == Event::SubagentStart {
                    output.reason = output.reason.or(output.system_message.take());
                }
            }
            Event::UserPromptSubmit => {
                if take_flag(said, "continue", false) {
                    output.decision = Some(Decision::Deny);
                }
                output.reason = take_text(said, "user_message");
            }
            Event::Stop | Event::SubagentStop => {
                output.reason = take_text(said, "followup_message");
                output.decision = output.reason.is_some().then_some(Decision::Deny);
            }
            _ => {
                output.system_message = take_text(said, "user_message");
                output.additional_context = take_text(said, "additional_context");
            }
        }
        Ok(output)
    }
}

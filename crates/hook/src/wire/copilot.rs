//! Copilot CLI: everything at the top, in camel case. The arguments of a tool are a text that holds JSON.
//! A reason must stand in the JSON: what is said on standard error does not reach its model.

use agents_host::Event;
use serde_json::{Map, Value, json};

use super::{Dialect, Said, WireError, claude, put, take, take_flag, take_text};
use crate::{Decision, HookOutput, loss::Part};

pub(super) struct Copilot;

impl Dialect for Copilot {
    fn event(&self, event: Event) -> Option<&'static str> {
        Some(match event {
            Event::PreToolUse => "preToolUse",
            Event::PostToolUse => "postToolUse",
            Event::PostToolUseFailure => "postToolUseFailure",
            Event::UserPromptSubmit => "userPromptSubmitted",
            Event::SessionStart => "sessionStart",
            Event::SessionEnd => "sessionEnd",
            Event::Stop => "agentStop",
            Event::SubagentStart => "subagentStart",
            Event::SubagentStop => "subagentStop",
            Event::PermissionRequest => "permissionRequest",
            Event::PreCompact => "preCompact",
            Event::Notification => "notification",
        })
    }

    fn event_key(&self) -> Option<&'static str> {
        None
    }

    fn keys(&self, event: Event, fact: &str) -> Option<&'static [&'static str]> {
        Some(match fact {
            "tool_input" if event == Event::PermissionRequest => &["toolInput", "toolArgs"],
            "session_id" => &["sessionId"],
            "transcript_path" => &["transcriptPath"],
            "agent_id" => &["agentId"],
            "agent_type" => &["agentName", "agentType"],
            "tool_name" => &["toolName"],
            "tool_input" => &["toolArgs", "toolInput"],
            "tool_use_id" => &["toolCallId"],
            "tool_response" => &["toolResult", "toolResponse"],
            "stop_hook_active" => &["stopHookActive"],
            "last_assistant_message" => &["lastAssistantMessage"],
            "custom_instructions" => &["customInstructions"],
            "notification_type" => &["notification_type", "notificationType"],
            _ => return None,
        })
    }

    fn reading(&self, _: Event, _: &mut Map<String, Value>, ours: &mut Map<String, Value>) {
        if let Some(Value::String(text)) = ours.get("tool_input")
            && let Ok(value @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(text)
        {
            ours.insert("tool_input".to_owned(), value);
        }
    }

    fn writing(&self, _: Event, native: &mut Map<String, Value>) {
        if let Some(args) = native.get_mut("toolArgs")
            && !args.is_string()
        {
            *args = Value::String(args.to_string());
        }
    }

    fn can(&self, event: Event) -> &'static [Part] {
        use Part::*;
        match event {
            Event::PreToolUse => &[Allow, Ask, Deny, UpdatedInput, Context, Suppress],
            Event::PermissionRequest => &[Allow, Deny],
            Event::PostToolUse => &[Context, UpdatedOutput, Suppress],
            Event::Stop | Event::SubagentStop => &[Deny],
            Event::PostToolUseFailure
            | Event::UserPromptSubmit
            | Event::SessionStart
            | Event::SubagentStart
            | Event::Notification => &[Context],
            Event::SessionEnd | Event::PreCompact => &[],
        }
    }

    fn say(&self, event: Event, output: &HookOutput) -> Said {
        let mut object = Map::new();
        let (decision, reason) = (output.decision.map(claude::word), output.reason.clone());
        match event {
            Event::PreToolUse => {
                put(&mut object, "permissionDecision", decision);
                put(&mut object, "permissionDecisionReason", reason);
                put(&mut object, "modifiedArgs", output.updated_input.clone());
            }
            Event::PermissionRequest => {
                put(&mut object, "behavior", decision);
                put(&mut object, "message", reason);
            }
            _ => {
                put(&mut object, "decision", decision.map(|_| "block"));
                put(&mut object, "reason", reason);
                let result = output.updated_output.clone().map(|result| match result {
                    Value::String(text) => {
                        json!({"resultType": "success", "textResultForLlm": text})
                    }
                    other => other,
                });
                put(&mut object, "modifiedResult", result);
            }
        }
        put(&mut object, "additionalContext", output.additional_context.clone());
        put(&mut object, "suppressOutput", output.suppress_output.then_some(true));
        Said::Json(object)
    }

    fn hear(&self, event: Event, said: &mut Map<String, Value>) -> Result<HookOutput, WireError> {
        let keys = match event {
            Event::PreToolUse => ("permissionDecision", "permissionDecisionReason"),
            Event::PermissionRequest => ("behavior", "message"),
            _ => ("decision", "reason"),
        };
        let asked = matches!(event, Event::PreToolUse | Event::PermissionRequest);
        let decision = take_text(said, keys.0)
            .and_then(|word| claude::decision(&word))
            .filter(|decision| asked || *decision == Decision::Deny);
        let result = take(said, "modifiedResult").map(|result| {
            let text = result.get("textResultForLlm").and_then(Value::as_str);
            match text {
                Some(text) if result["resultType"] == "success" => Value::String(text.to_owned()),
                _ => result,
            }
        });
        Ok(HookOutput {
            decision,
            reason: take_text(said, keys.1),
            updated_input: take(said, "modifiedArgs"),
            additional_context: take_text(said, "additionalContext"),
            updated_output: result,
            suppress_output: take_flag(said, "suppressOutput", true),
            ..HookOutput::default()
        })
    }
}

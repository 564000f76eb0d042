//! Antigravity CLI: the tool is an object, the prompt is the first of several calls, and an answer about a
//! tool that holds no decision denies.

use agents_host::Event;
use serde_json::{Map, Value, json};

use super::{Dialect, Said, WireError, claude, put, take, take_text};
use crate::{
    Decision, HookOutput,
    loss::{Part, join},
};

pub(super) struct Antigravity;

impl Dialect for Antigravity {
    fn event(&self, event: Event) -> Option<&'static str> {
        match event {
            Event::PreToolUse | Event::PostToolUse | Event::Stop => Some(event.name()),
            Event::UserPromptSubmit => Some("PreInvocation"),
            _ => None,
        }
    }

    fn event_key(&self) -> Option<&'static str> {
        None
    }

    fn keys(&self, _: Event, fact: &str) -> Option<&'static [&'static str]> {
        Some(match fact {
            "session_id" => &["conversationId"],
            "transcript_path" => &["transcriptPath"],
            "tool_response" => &["error"],
            _ => return None,
        })
    }

    fn is_nothing(&self, event: Event, native: &Map<String, Value>) -> bool {
        // It calls before every request to its model; only the first one follows a prompt.
        event == Event::UserPromptSubmit
            && native.get("invocationNum").and_then(Value::as_u64).is_some_and(|it| it != 0)
    }

    fn reading(&self, _: Event, native: &mut Map<String, Value>, ours: &mut Map<String, Value>) {
        if let Some(root) = native.get("workspacePaths").and_then(|paths| paths.get(0))
            && root.is_string()
        {
            ours.insert("cwd".to_owned(), root.clone());
        }
        if let Some(Value::Object(mut call)) = native.shift_remove("toolCall") {
            for (theirs, name) in [("name", "tool_name"), ("args", "tool_input")] {
                if let Some(value) = take(&mut call, theirs) {
                    ours.insert(name.to_owned(), value);
                }
            }
        }
        if ours.get("tool_response").is_some_and(|error| *error == "") {
            ours.shift_remove("tool_response");
        }
    }

    fn writing(&self, event: Event, native: &mut Map<String, Value>) {
        if let Some(cwd) = native.shift_remove("cwd") {
            native.insert("workspacePaths".to_owned(), json!([cwd]));
        }
        if let Some(name) = native.shift_remove("tool_name") {
            let args = native.shift_remove("tool_input").unwrap_or_default();
            native.insert("toolCall".to_owned(), json!({"name": name, "args": args}));
        }
        if event == Event::UserPromptSubmit {
            native.shift_remove("prompt");
            native.insert("invocationNum".to_owned(), json!(0));
        }
    }

    fn can(&self, event: Event) -> &'static [Part] {
        use Part::*;
        match event {
            Event::PreToolUse => &[Ask, Deny, UpdatedInput, Context],
            Event::UserPromptSubmit | Event::SessionStart => &[Context],
            Event::Stop => &[Deny],
            _ => &[],
        }
    }

    fn adapt(&self, event: Event, output: &mut HookOutput) {
        // There is one text about a tool: the reason of a decision, or else context.
        let decided = matches!(output.decision, Some(Decision::Deny | Decision::Ask));
        if event == Event::PreToolUse
            && decided
            && let Some(context) = output.additional_context.take()
        {
            join(&mut output.reason, &context);
        }
    }

    fn say(&self, event: Event, output: &HookOutput) -> Said {
        let mut object = Map::new();
        let reason = output.reason.clone();
        match event {
            Event::PreToolUse => {
                let decision = match output.decision {
                    Some(Decision::Deny) => "deny",
                    // Plain `ask` is skipped for what the user once allowed for good.
                    Some(Decision::Ask) => "force_ask",
                    Some(Decision::Allow) | None => "allow",
                };
                put(&mut object, "decision", Some(decision));
                put(&mut object, "reason", reason.or(output.additional_context.clone()));
                put(&mut object, "overwrite", output.updated_input.clone());
            }
            Event::UserPromptSubmit | Event::SessionStart => {
                let context = output.additional_context.iter();
                let steps: Vec<Value> =
                    context.map(|text| json!({"ephemeralMessage": text})).collect();
                put(&mut object, "injectSteps", Some(steps));
            }
            Event::Stop => {
                put(&mut object, "decision", output.decision.map(|_| "continue"));
                put(&mut object, "reason", reason);
            }
            _ => {}
        }
        Said::Json(object)
    }

    fn hear(&self, event: Event, said: &mut Map<String, Value>) -> Result<HookOutput, WireError> {
        let mut output = HookOutput::default();
        match event {
            Event::PreToolUse => {
                let word = take_text(said, "decision");
                output.decision = word
                    .and_then(|word| claude::decision(&word))
                    .filter(|decision| *decision != Decision::Allow);
                let text = take_text(said, "reason");
                match output.decision {
                    Some(_) => output.reason = text,
                    None => output.additional_context = text,
                }
                output.updated_input = take(said, "overwrite");
            }
            Event::UserPromptSubmit | Event::SessionStart => {
                let Some(Value::Array(steps)) = said.shift_remove("injectSteps") else {
                    return Ok(output);
                };
                for step in &steps {
                    let text = step.get("ephemeralMessage").or_else(|| step.get("userMessage"));
                    if let Some(text) = text.and_then(Value::as_str) {
                        join(&mut output.additional_context, text);
                    }
                }
            }
            Event::Stop => {
                let word = take_text(said, "decision");
                output.decision = word.filter(|word| word == "continue").map(|_| Decision::Deny);
                output.reason = take_text(said, "reason");
            }
            _ => {}
        }
        Ok(output)
    }
}

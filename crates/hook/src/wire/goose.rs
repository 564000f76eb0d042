//! Goose, which follows Open Plugins: exit code 2 with the reason on standard error denies, and what is
//! printed is a decision or nothing. It takes no context.

use agents_host::Event;
use serde_json::{Map, Value};

use super::{Answer, Dialect, Said, WireError, claude, kiro, take_text};
use crate::{Decision, HookOutput, loss::Part};

pub(super) struct Goose;

impl Dialect for Goose {
    fn event(&self, event: Event) -> Option<&'static str> {
        match event {
            Event::PreToolUse
            | Event::PostToolUse
            | Event::PostToolUseFailure
            | Event::UserPromptSubmit
            | Event::SessionStart
            | Event::SessionEnd
            | Event::Stop => Some(event.name()),
            _ => None,
        }
    }

    fn event_key(&self) -> Option<&'static str> {
        Some("event")
    }

    fn keys(&self, _: Event, fact: &str) -> Option<&'static [&'static str]> {
        Some(match fact {
            "cwd" => &["working_dir", "cwd"],
            "tool_use_id" => &["tool_call_id"],
            "tool_response" => &["tool_output", "tool_response"],
            "prompt" | "error" => &["message"],
            _ => return None,
        })
    }

    fn can(&self, event: Event) -> &'static [Part] {
        match event {
            Event::PreToolUse | Event::Stop => &[Part::Deny],
            _ => &[],
        }
    }

    fn say(&self, _: Event, output: &HookOutput) -> Said {
        Said::Plain(match output.decision {
            Some(Decision::Deny) => kiro::denied(output),
            _ => Answer { stdout: String::new(), stderr: String::new(), code: 0 },
        })
    }

    fn hear(&self, event: Event, said: &mut Map<String, Value>) -> Result<HookOutput, WireError> {
        if said.contains_key("hookSpecificOutput") {
            return Ok(claude::hear(event, said));
        }
        let word = take_text(said, "decision");
        Ok(HookOutput {
            decision: word.and_then(|word| claude::decision(&word)),
            reason: take_text(said, "reason"),
            ..HookOutput::default()
        })
    }
}

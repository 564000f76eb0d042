//! Codex: Claude Code's format, strictly read. An answer with a word that Codex does not support at the
//! event is a failed hook there, and a failed hook blocks nothing.

use agents_host::Event;
use serde_json::{Map, Value};

use super::{Dialect, Said, WireError, claude};
use crate::{Decision, HookOutput, loss::Part};

pub(super) struct Codex;

impl Dialect for Codex {
    fn event(&self, event: Event) -> Option<&'static str> {
        match event {
            Event::PostToolUseFailure | Event::Notification => None,
            event => Some(event.name()),
        }
    }

    fn can(&self, event: Event) -> &'static [Part] {
        use Part::*;
        match event {
            Event::PreToolUse => &[Deny, UpdatedInput, Context, SystemMessage],
            Event::PermissionRequest => &[Allow, Deny, SystemMessage],
            Event::PostToolUse | Event::UserPromptSubmit => &[Deny, Context, Stop, SystemMessage],
            Event::SessionStart | Event::SubagentStart => &[Context, Stop, SystemMessage],
            Event::Stop | Event::SubagentStop => &[Deny, Stop, SystemMessage],
            Event::PreCompact => &[Stop, SystemMessage],
            Event::SessionEnd => &[SystemMessage],
            Event::PostToolUseFailure | Event::Notification => &[],
        }
    }

    fn say(&self, event: Event, output: &HookOutput) -> Said {
        let mut output = output.clone();
        if event == Event::PreToolUse && output.updated_input.is_some() {
            // Another input is taken only together with this word, which by itself is an error.
            output.decision = Some(Decision::Allow);
        }
        Said::Json(claude::say(event, event.name(), &output))
    }

    fn hear(&self, event: Event, said: &mut Map<String, Value>) -> Result<HookOutput, WireError> {
        let mut output = claude::hear(event, said);
        if event == Event::PreToolUse && output.decision == Some(Decision::Allow) {
            output.decision = None;
        }
        Ok(output)
    }

    fn hear_text(&self, event: Event, text: &str) -> Result<HookOutput, WireError> {
        claude::hear_text(event, text)
    }
}

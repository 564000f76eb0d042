//! Kiro: exit code 2 with the reason on standard error denies; printed text is context. No JSON at all.

use agents_host::Event;
use serde_json::{Map, Value};

use super::{Answer, Dialect, Said, WireError, claude};
use crate::{Decision, HookOutput, loss::Part};

pub(super) struct Kiro;

impl Dialect for Kiro {
    fn event(&self, event: Event) -> Option<&'static str> {
        match event {
            Event::PreToolUse
            | Event::PostToolUse
            | Event::UserPromptSubmit
            | Event::SessionStart
            | Event::Stop => Some(event.name()),
            _ => None,
        }
    }

    fn can(&self, event: Event) -> &'static [Part] {
        match event {
            Event::PreToolUse => &[Part::Deny],
            Event::UserPromptSubmit | Event::SessionStart => &[Part::Context],
            _ => &[],
        }
    }

    fn say(&self, _: Event, output: &HookOutput) -> Said {
        Said::Plain(match output.decision {
            Some(Decision::Deny) => denied(output),
            _ => Answer {
                stdout: output.additional_context.clone().unwrap_or_default(),
                stderr: String::new(),
                code: 0,
            },
        })
    }

    fn hear(&self, event: Event, said: &mut Map<String, Value>) -> Result<HookOutput, WireError> {
        // Authors write for several hosts: an object in Claude Code's format is meant as one.
        Ok(claude::hear(event, said))
    }

    fn hear_text(&self, event: Event, text: &str) -> Result<HookOutput, WireError> {
        match self.can(event).contains(&Part::Context) {
            true => Ok(HookOutput::context(text)),
            false => Ok(HookOutput::default()),
        }
    }
}

/// A denial by exit code.
pub(super) fn denied(output: &HookOutput) -> Answer {
    Answer { stdout: String::new(), stderr: output.reason.clone().unwrap_or_default(), code: 2 }
}

//! Claude Code, and the hosts that took over its format: Qwen Code and Factory's droid.

use agents_host::Event;
use serde_json::{Map, Value};

use super::{Dialect, Said, WireError, put, take, take_flag, take_text};
use crate::{Decision, HookOutput, loss::Part};

/// One host of the family.
pub(super) struct Family {
    has: fn(Event) -> bool,
    can: fn(Event) -> &'static [Part],
}

pub(super) const CLAUDE: Family = Family { has: |_| true, can: claude_can };
pub(super) const QWEN: Family = Family { has: |_| true, can: qwen_can };
pub(super) const FACTORY: Family = Family { has: factory_has, can: factory_can };

fn claude_can(event: Event) -> &'static [Part] {
    use Part::*;
    match event {
        Event::PreToolUse => {
            &[Allow, Ask, Deny, UpdatedInput, Context, Stop, SystemMessage, Suppress]
        }
        Event::PermissionRequest => &[Allow, Deny, UpdatedInput, Stop, SystemMessage, Suppress],
        Event::PostToolUse => &[Deny, Context, UpdatedOutput, Stop, SystemMessage, Suppress],
        Event::UserPromptSubmit => &[Deny, Context, Stop, SystemMessage, Suppress],
        // It takes context there, too, but goes on working in order to act on it, which only a denial
        // should do.
        Event::Stop | Event::SubagentStop => &[Deny, Stop, SystemMessage, Suppress],
        Event::PreCompact => &[Deny, Stop, SystemMessage, Suppress],
        Event::PostToolUseFailure
        | Event::SessionStart
        | Event::SubagentStart
        | Event::Notification => &[Context, Stop, SystemMessage, Suppress],
        Event::SessionEnd => &[SystemMessage, Suppress],
    }
}

/// As its program of version 0.24 does it: some of what its documentation takes over is not acted on.
fn qwen_can(event: Event) -> &'static [Part] {
    use Part::*;
    match event {
        Event::PreToolUse => &[Ask, Deny, Context, Stop, SystemMessage, Suppress],
        Event::PermissionRequest => &[Allow, Deny, UpdatedInput, SystemMessage, Suppress],
        Event::PostToolUse => &[Context, Stop, SystemMessage, Suppress],
        Event::UserPromptSubmit => &[Deny, Context, Stop, SystemMessage, Suppress],
        Event::Stop | Event::SubagentStop => &[Deny, Stop, SystemMessage, Suppress],
        Event::PostToolUseFailure
        | Event::SessionStart
        | Event::SubagentStart
        | Event::PreCompact
        | Event::Notification => &[Context, SystemMessage, Suppress],
        Event::SessionEnd => &[SystemMessage, Suppress],
    }
}

fn factory_has(event: Event) -> bool {
    !matches!(event, Event::PostToolUseFailure | Event::SubagentStart | Event::PermissionRequest)
}

fn factory_can(event: Event) -> &'static [Part] {
    use Part::*;
    match event {
        Event::PreToolUse => &[Allow, Ask, Deny, UpdatedInput, Stop, SystemMessage, Suppress],
        Event::PostToolUse | Event::UserPromptSubmit => {
            &[Deny, Context, Stop, SystemMessage, Suppress]
        }
        Event::Stop | Event::SubagentStop => &[Deny, Stop, SystemMessage, Suppress],
        Event::SessionStart => &[Context, Stop, SystemMessage, Suppress],
        Event::SessionEnd | Event::PreCompact | Event::Notification => &[SystemMessage, Suppress],
        _ => &[],
    }
}

impl Dialect for Family {
    fn event(&self, event: Event) -> Option<&'static str> {
        (self.has)(event).then(|| event.name())
    }

    fn can(&self, event: Event) -> &'static [Part] {
        (self.can)(event)
    }

    fn say(&self, event: Event, output: &HookOutput) -> Said {
        Said::Json(say(event, event.name(), output))
    }

    fn hear(&self, event: Event, said: &mut Map<String, Value>) -> Result<HookOutput, WireError> {
        Ok(hear(event, said))
    }

    fn hear_text(&self, event: Event, text: &str) -> Result<HookOutput, WireError> {
        hear_text(event, text)
    }
}

/// Text counts as context where there is no other use for it.
pub(super) fn hear_text(event: Event, text: &str) -> Result<HookOutput, WireError> {
    match event {
        Event::SessionStart | Event::UserPromptSubmit | Event::SubagentStart => {
            Ok(HookOutput::context(text))
        }
        _ => Ok(HookOutput::default()),
    }
}

/// What every host with `continue`, `stopReason`, `systemMessage` and `suppressOutput` is told alike.
pub(super) fn say_for_all(output: &HookOutput) -> Map<String, Value> {
    let mut object = Map::new();
    put(&mut object, "continue", output.stop.then_some(false));
    put(&mut object, "stopReason", output.stop_reason.clone());
    put(&mut object, "suppressOutput", output.suppress_output.then_some(true));
    put(&mut object, "systemMessage", output.system_message.clone());
    object
}

/// The reverse of [`say_for_all`].
pub(super) fn hear_for_all(said: &mut Map<String, Value>) -> HookOutput {
    said.retain(|key, value| !(key == "continue" && *value == Value::Bool(true)));
    HookOutput {
        stop: take_flag(said, "continue", false),
        stop_reason: take_text(said, "stopReason"),
        suppress_output: take_flag(said, "suppressOutput", true),
        system_message: take_text(said, "systemMessage"),
        ..HookOutput::default()
    }
}

pub(super) fn say(event: Event, name: &str, output: &HookOutput) -> Map<String, Value> {
    let mut object = say_for_all(output);
    let mut specific = Map::new();
    match event {
        Event::PreToolUse => {
            put(&mut specific, "permissionDecision", output.decision.map(word));
            put(&mut specific, "permissionDecisionReason", output.reason.clone());
            put(&mut specific, "updatedInput", output.updated_input.clone());
        }
        Event::PermissionRequest => {
            let mut decision = Map::new();
            put(&mut decision, "behavior", output.decision.map(word));
            put(&mut decision, "message", output.reason.clone());
            put(&mut decision, "updatedInput", output.updated_input.clone());
            if !decision.is_empty() {
                specific.insert("decision".to_owned(), Value::Object(decision));
            }
        }
        _ => {
            let denied = output.decision == Some(Decision::Deny);
            put(&mut object, "decision", denied.then_some("block"));
            put(&mut object, "reason", output.reason.clone());
            put(&mut specific, "updatedToolOutput", output.updated_output.clone());
        }
    }
    put(&mut specific, "additionalContext", output.additional_context.clone());
    if !specific.is_empty() {
        specific.insert("hookEventName".to_owned(), name.into());
        object.insert("hookSpecificOutput".to_owned(), Value::Object(specific));
    }
    object
}

pub(super) fn hear(event: Event, said: &mut Map<String, Value>) -> HookOutput {
    let mut output = hear_for_all(said);
    if let Some(Value::Object(specific)) = said.get_mut("hookSpecificOutput") {
        let name = specific.shift_remove("hookEventName");
        if let Some(word) = take_text(specific, "permissionDecision") {
            output.decision = decision(&word);
        }
        output.reason = take_text(specific, "permissionDecisionReason");
        output.updated_input = take(specific, "updatedInput");
        output.additional_context = take_text(specific, "additionalContext");
        output.updated_output =
            take(specific, "updatedToolOutput").or_else(|| take(specific, "updatedMCPToolOutput"));
        if let Some(Value::Object(inner)) = specific.get_mut("decision") {
            if let Some(word) = take_text(inner, "behavior") {
                output.decision = decision(&word);
            }
            output.reason = take_text(inner, "message").or(output.reason);
            output.updated_input = take(inner, "updatedInput").or(output.updated_input);
        }
        specific.retain(|_, value| value.as_object().is_none_or(|inner| !inner.is_empty()));
        // What is left is for the host, which wants to know what it is about.
        if !specific.is_empty() {
            put(specific, "hookEventName", name);
        }
    }
    if let Some(word) = take_text(said, "decision") {
        // Only a question can be answered with yes; elsewhere `approve` has no meaning.
        let asked = matches!(event, Event::PreToolUse | Event::PermissionRequest);
        let legacy = decision(&word).filter(|it| asked || *it != Decision::Allow);
        output.decision = output.decision.or(legacy);
    }
    output.reason = output.reason.or_else(|| take_text(said, "reason"));
    output
}

/// A decision in nearly everybody's words.
pub(super) fn word(decision: Decision) -> &'static str {
    match decision {
        Decision::Allow => "allow",
        Decision::Ask => "ask",
        Decision::Deny => "deny",
    }
}

/// The reverse of [`word`], with the synonyms that hosts accept.
pub(super) fn decision(word: &str) -> Option<Decision> {
    match word {
        "allow" | "approve" => Some(Decision::Allow),
        "ask" | "force_ask" => Some(Decision::Ask),
        "deny" | "block" | "deny_unless_prior_grant" => Some(Decision::Deny),
        _ => None,
    }
}

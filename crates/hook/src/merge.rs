//! One answer out of many.
//!
//! The answers come in the order of the plugins. The rules:
//!
//! - **Decision**: deny beats ask beats allow beats none. The reasons of those who decided so are joined.
//! - **Context**, messages to the user, reasons to stop: all of them, joined by a blank line.
//! - **Stop**, **suppress**: if one says so.
//! - **Another input**, **another output**: the first one counts; another one that differs is a finding.
//!   Of something that is denied there is no other input.
//! - Every text is preceded by the name of the plugin in brackets, and cut where it is longer than
//!   [`MAX_TEXT`] characters.

use std::fmt;

use agents_system::finding::Finding;
use serde::Serialize;
use serde_json::Value;

use crate::{
    Decision, HookOutput,
    loss::{NO_REASON, join},
};

/// How many characters of one text reach the model or the user.
pub const MAX_TEXT: usize = 10_000;

/// Who answered.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Source {
    /// The plugin.
    pub plugin: String,
    /// Its hook.
    pub hook: String,
}

impl Source {
    /// This hook of this plugin.
    pub fn new(plugin: impl Into<String>, hook: impl Into<String>) -> Self {
        Self { plugin: plugin.into(), hook: hook.into() }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.plugin, self.hook)
    }
}

/// Makes one answer out of many.
#[must_use]
pub fn merge(answers: &[(Source, HookOutput)]) -> (HookOutput, Vec<Finding>) {
    let mut findings = Vec::new();
    let mut merged = HookOutput {
        decision: answers.iter().filter_map(|(_, it)| it.decision).max(),
        stop: answers.iter().any(|(_, it)| it.stop),
        suppress_output: answers.iter().any(|(_, it)| it.suppress_output),
        ..HookOutput::default()
    };
    for (source, answer) in answers {
        let mut add = |to: &mut Option<String>, text: Option<&str>| {
            let Some(text) = text.map(str::trim).filter(|text| !text.is_empty()) else { return };
            let (text, cut) = bounded(text);
            join(to, &format!("[{}] {text}", source.plugin));
            if cut {
                findings.push(Finding::warning(format!(
                    "hook `{source}` said more than {MAX_TEXT} characters; the rest was cut off"
                )));
            }
        };
        if answer.decision == merged.decision {
            let reason = answer.reason.as_deref().filter(|reason| !reason.trim().is_empty());
            match merged.decision {
                Some(Decision::Deny) => add(&mut merged.reason, reason.or(Some(NO_REASON))),
                Some(Decision::Ask) => add(&mut merged.reason, reason),
                Some(Decision::Allow) | None => {}
            }
        }
        add(&mut merged.additional_context, answer.additional_context.as_deref());
        add(&mut merged.system_message, answer.system_message.as_deref());
        if answer.stop {
            add(&mut merged.stop_reason, answer.stop_reason.as_deref());
        }
        for (key, value) in &answer.native {
            merged.native.entry(key).or_insert_with(|| value.clone());
        }
    }
    if merged.decision != Some(Decision::Deny) {
        let inputs = answers.iter().map(|(source, it)| (source, it.updated_input.as_ref()));
        merged.updated_input = first(inputs, "input", &mut findings);
    }
    let outputs = answers.iter().map(|(source, it)| (source, it.updated_output.as_ref()));
    merged.updated_output = first(outputs, "output", &mut findings);
    (merged, findings)
}

/// The first one that is there; those that differ from it are reported.
fn first<'a>(
    all: impl Iterator<Item = (&'a Source, Option<&'a Value>)>,
    what: &str,
    findings: &mut Vec<Finding>,
) -> Option<Value> {
    let mut there = all.filter_map(|(source, value)| Some((source, value?)));
    let (winner, value) = there.next()?;
    for (source, other) in there {
        if other != value {
            findings.push(Finding::warning(format!(
                "hooks `{winner}` and `{source}` want another {what} of the same tool, and not the same \
                 one; that of `{winner}` counts"
            )));
        }
    }
    Some(value.clone())
}

/// A text that is not too long.
fn bounded(text: &str) -> (String, bool) {
    match text.char_indices().nth(MAX_TEXT) {
        Some((end, _)) => (format!("{} (cut off here)", &text[..end]), true),
        None => (text.to_owned(), false),
    }
}

#[cfg(test)]
mod tests;

//! What hosts print, line by line. One module per format; the shapes are those that the published programs were seen to print.

mod claude;
mod codex;
mod copilot;
mod gemini;
mod goose;
mod opencode;

use agents_host::host::HeadlessFormat;
use serde_json::Value;

use crate::event::{Event, StopReason, ToolNotice, ToolPhase, Usage};

/// How much of what a tool is given or answers is told.
const ABOUT: usize = 200;

/// Reads the lines of one answer.
#[derive(Debug)]
pub(super) struct Reader {
    format: HeadlessFormat,
    told: Told,
}

/// What was told so far.
#[derive(Debug, Default)]
struct Told {
    started: bool,
    /// Text came in pieces, so that whole messages only repeat it.
    pieces: bool,
    usage: Usage,
}

impl Reader {
    pub(super) fn new(format: HeadlessFormat) -> Self {
        Self { format, told: Told::default() }
    }

    /// Takes in a line. An error is what the host says went wrong.
    pub(super) fn read(&mut self, line: &Value, out: &mut Vec<Event>) -> Result<(), String> {
        let mut events = Vec::new();
        let read = match self.format {
            HeadlessFormat::Claude => claude::read,
            HeadlessFormat::Codex => codex::read,
            HeadlessFormat::Gemini => gemini::read,
            HeadlessFormat::OpenCode => opencode::read,
            HeadlessFormat::Copilot => copilot::read,
            HeadlessFormat::Goose => goose::read,
        };
        read(&mut self.told, line, &mut events)?;
        for event in events {
            // Whoever does not say that it begins begins with the first thing that it says.
            if !matches!(event, Event::Started { .. }) && !self.told.started {
                out.push(Event::Started { id: String::new(), model: String::new() });
                self.told.started = true;
            }
            if matches!(event, Event::Started { .. })
                && std::mem::replace(&mut self.told.started, true)
            {
                continue;
            }
            out.push(event);
        }
        Ok(())
    }
}

fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn count(value: &Value, pointer: &str) -> u64 {
    value.pointer(pointer).and_then(Value::as_u64).unwrap_or_default()
}

fn started(id: &str, model: &str) -> Event {
    Event::Started { id: id.to_owned(), model: model.to_owned() }
}

fn notice(id: &str, name: &str, phase: ToolPhase, about: &Value) -> Event {
    let about = match about {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let about = match about.char_indices().nth(ABOUT) {
        Some((at, _)) => format!("{}…", &about[..at]),
        None => about,
    };
    Event::ToolNotice(ToolNotice { id: id.to_owned(), name: name.to_owned(), phase, about })
}

/// What was said by a word that hosts share.
fn stop(word: &str) -> StopReason {
    match word {
        "" | "end_turn" | "stop" | "stop_sequence" | "success" => StopReason::End,
        "max_tokens" | "length" => StopReason::MaxTokens,
        "refusal" | "content_filter" | "content-filter" => StopReason::Refusal,
        other => StopReason::Other(other.to_owned()),
    }
}

/// The first of these that says something.
fn message(value: &Value, pointers: &[&str]) -> String {
    let said = pointers.iter().map(|pointer| text(value, pointer)).find(|text| !text.is_empty());
    said.unwrap_or("it reports an error without a word about it").to_owned()
}

#[cfg(test)]
mod tests;

//! What happened in a task, piece by piece, as a page shows it.

use agents_model::{Part, Role, ToolInput, message::ToolStatus};
use agents_task::{
    TaskId,
    transcript::{Entry, Record, Store, TranscriptError},
};
use serde::Serialize;
use serde_json::Value;

use crate::acp::told::title;

/// How many bytes of a transcript are told at once.
const STRETCH: u64 = 512 * 1024;
/// The most of one text that is told. All of it is in the transcript.
const MAX_TEXT: usize = 64 * 1024;

/// A part of a story.
#[derive(Debug, Serialize)]
pub(super) struct Story {
    pieces: Vec<Told>,
    /// Where the next part begins.
    next: u64,
    /// Whether there is more already.
    more: bool,
}

#[derive(Debug, PartialEq, Serialize)]
struct Told {
    at: String,
    #[serde(flatten)]
    piece: Piece,
}

/// A text, as much of it as is shown.
#[derive(Debug, PartialEq, Serialize)]
struct Text {
    text: String,
    /// How many bytes are not shown.
    #[serde(skip_serializing_if = "is_zero")]
    cut: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants it so")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl Text {
    fn of(mut text: String) -> Self {
        let kept = text.floor_char_boundary(MAX_TEXT);
        let cut = text.len() - kept;
        text.truncate(kept);
        Self { text, cut }
    }
}

#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
enum Piece {
    /// What it is told to be.
    Began { system: Text, prompt: Text, tools: Vec<String> },
    /// The model answered, and that took so much.
    Turn {
        number: u64,
        tokens: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        cost: Option<u64>,
    },
    /// Somebody told it something.
    Told(Text),
    /// It said something.
    Said(Text),
    /// It thought something.
    Thought(Text),
    /// It called a tool.
    Called { call: String, title: String, input: Text },
    /// The tool answered.
    Answered { call: String, tool: String, is_done: bool, content: Text },
    /// The conversation was made shorter by so many messages.
    Compacted { left_out: usize },
    /// It ended.
    Ended {
        state: String,
        /// What it handed in.
        #[serde(skip_serializing_if = "Option::is_none")]
        output: Option<Text>,
    },
}

/// A part of the story of a task, from a byte of its transcript on.
pub(super) fn story(store: &Store, id: TaskId, from: u64) -> Result<Story, TranscriptError> {
    let part = store.stretch(id, from, STRETCH)?;
    let began = if from > part.of { 0 } else { from };
    let pieces = part.entries.into_iter().flat_map(told).collect();
    // Where less came than was asked for, only the beginning of a line can be left.
    Ok(Story { pieces, next: part.next, more: part.next.saturating_sub(began) >= STRETCH })
}

fn told(entry: Entry) -> Vec<Told> {
    let at = entry.at.to_string();
    let pieces = match entry.record {
        Record::Begin(begin) => vec![Piece::Began {
            system: Text::of(begin.system),
            prompt: Text::of(begin.prompt),
            tools: begin.tools,
        }],
        Record::Usage(spent) => {
            let it = spent.tokens;
            let parts = [it.input, it.output, it.cache_read, it.cache_write];
            vec![Piece::Turn {
                number: spent.turn,
                tokens: parts.into_iter().fold(0, u64::saturating_add),
                cost: spent.cost.map(|it| it.0),
            }]
        }
        Record::Compacted(compacted) => vec![Piece::Compacted { left_out: compacted.left_out }],
        Record::Message(message) => {
            let role = message.role;
            message.parts.into_iter().map(|part| piece(role, part)).collect()
        }
        Record::Outcome(outcome) => {
            let state = outcome["ending"]["state"].as_str().unwrap_or_default().to_owned();
            let output = outcome.pointer("/report/output/value");
            let output = output.map(|it| Text::of(format!("{it:#}")));
            vec![Piece::Ended { state, output }]
        }
    };
    pieces.into_iter().map(|piece| Told { at: at.clone(), piece }).collect()
}

fn piece(role: Role, part: Part) -> Piece {
    match part {
        Part::Text(text) if role == Role::User => Piece::Told(Text::of(text)),
        Part::Text(text) => Piece::Said(Text::of(text)),
        Part::Thinking(thinking) => Piece::Thought(Text::of(thinking.text)),
        Part::ToolCall(call) => {
            let (about, input) = match call.input {
                ToolInput::Json(value) => {
                    let text = format!("{value:#}");
                    (value, text)
                }
                ToolInput::Raw(text) => (Value::Null, text),
            };
            let title = title(&call.name, &about);
            Piece::Called { call: call.id, title, input: Text::of(input) }
        }
        Part::ToolResult(result) => Piece::Answered {
            call: result.id,
            tool: result.name,
            is_done: result.status == ToolStatus::Done,
            content: Text::of(result.content),
        },
    }
}

#[cfg(test)]
mod tests {
    use agents_model::ToolCall;
    use serde_json::json;

    use super::*;

    #[test]
    fn pieces_are_bounded_and_say_what_is_missing() {
        let text = Text::of("ä".repeat(MAX_TEXT));
        assert_eq!((text.text.len(), text.cut), (MAX_TEXT, MAX_TEXT));
        let said = serde_json::to_value(Piece::Said(Text::of("<b>".to_owned()))).unwrap();
        assert_eq!(said, json!({"kind": "said", "text": "<b>"}));
    }

    #[test]
    fn a_call_says_what_it_is_about() {
        let input = ToolInput::Json(json!({"command": "cargo test\n-p net"}));
        let call =
            ToolCall { id: "c1".to_owned(), name: "bash".to_owned(), input, signature: None };
        let told = serde_json::to_value(piece(Role::Assistant, Part::ToolCall(call))).unwrap();
        assert_eq!((&told["call"], &told["title"]), (&json!("c1"), &json!("bash cargo test")));
        assert!(told["input"]["text"].as_str().unwrap().contains("-p net"));
    }
}

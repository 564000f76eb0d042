//! `goose run --output-format stream-json`: messages in pieces, and the count of tokens at the end.

use serde_json::Value;

use super::{Told, count, message, notice, text};
use crate::event::{Event, StopReason, ToolPhase, Usage};

pub(super) fn read(_: &mut Told, line: &Value, out: &mut Vec<Event>) -> Result<(), String> {
    match text(line, "/type") {
        "message" => {
            let parts = line.pointer("/message/content").and_then(Value::as_array);
            let of_model = text(line, "/message/role") == "assistant";
            for part in parts.into_iter().flatten() {
                match text(part, "/type") {
                    "text" if of_model => out.push(Event::Text(text(part, "/text").to_owned())),
                    "thinking" if of_model => {
                        out.push(Event::Thinking(text(part, "/thinking").to_owned()));
                    }
                    "toolRequest" => {
                        let call = &part["toolCall"]["value"];
                        let (id, name) = (text(part, "/id"), text(call, "/name"));
                        out.push(notice(id, name, ToolPhase::Begins, &call["arguments"]));
                    }
                    "toolResponse" => {
                        let result = &part["toolResult"];
                        let failed = text(result, "/status") != "success"
                            || result["value"]["isError"].as_bool().unwrap_or_default();
                        let phase = if failed { ToolPhase::Failed } else { ToolPhase::Done };
                        out.push(notice(
                            text(part, "/id"),
                            "",
                            phase,
                            &result["value"]["content"][0]["text"],
                        ));
                    }
                    _ => {}
                }
            }
        }
        "complete" => {
            let cached = count(line, "/cache_read_input_tokens");
            out.push(Event::Usage(Usage {
                input: count(line, "/input_tokens").saturating_sub(cached),
                output: count(line, "/output_tokens"),
                cache_read: cached,
                cache_write: count(line, "/cache_write_input_tokens"),
                ..Usage::default()
            }));
            out.push(Event::Stopped(StopReason::End));
        }
        "error" => return Err(message(line, &["/error", "/message"])),
        _ => {}
    }
    Ok(())
}

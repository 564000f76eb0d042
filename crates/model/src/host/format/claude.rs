//! `claude -p --output-format stream-json`: the events of the Messages API inside of lines, whole messages, one result.

use serde_json::Value;

use super::{Told, count, message, notice, started, stop, text};
use crate::event::{Event, ToolPhase, Usage};

pub(super) fn read(told: &mut Told, line: &Value, out: &mut Vec<Event>) -> Result<(), String> {
    // What sub-agents of the host say among themselves is not the answer.
    if line.get("parent_tool_use_id").is_some_and(Value::is_string) {
        return Ok(());
    }
    match text(line, "/type") {
        "system" if text(line, "/subtype") == "init" => {
            out.push(started(text(line, "/session_id"), text(line, "/model")));
        }
        "stream_event" => match text(line, "/event/delta/type") {
            "text_delta" => {
                told.pieces = true;
                out.push(Event::Text(text(line, "/event/delta/text").to_owned()));
            }
            "thinking_delta" => {
                told.pieces = true;
                out.push(Event::Thinking(text(line, "/event/delta/thinking").to_owned()));
            }
            _ => {}
        },
        "assistant" => {
            for part in parts(line) {
                match text(part, "/type") {
                    "text" if !told.pieces => out.push(Event::Text(text(part, "/text").to_owned())),
                    "thinking" if !told.pieces => {
                        out.push(Event::Thinking(text(part, "/thinking").to_owned()));
                    }
                    "tool_use" => {
                        let (id, name) = (text(part, "/id"), text(part, "/name"));
                        out.push(notice(id, name, ToolPhase::Begins, &part["input"]));
                    }
                    _ => {}
                }
            }
        }
        "user" => {
            for part in parts(line).filter(|part| text(part, "/type") == "tool_result") {
                let failed = part["is_error"].as_bool().unwrap_or_default();
                let phase = if failed { ToolPhase::Failed } else { ToolPhase::Done };
                out.push(notice(text(part, "/tool_use_id"), "", phase, &part["content"]));
            }
        }
        // The last line has no type in some versions.
        "result" | "" if line.get("is_error").is_some() => {
            if line["is_error"].as_bool().unwrap_or_default() {
                return Err(message(line, &["/result", "/errors/0", "/error/message", "/subtype"]));
            }
            out.push(Event::Usage(Usage {
                input: count(line, "/usage/input_tokens"),
                output: count(line, "/usage/output_tokens"),
                cache_read: count(line, "/usage/cache_read_input_tokens"),
                cache_write: count(line, "/usage/cache_creation_input_tokens"),
                reasoning: count(line, "/usage/output_tokens_details/thinking_tokens"),
            }));
            out.push(Event::Stopped(stop(text(line, "/stop_reason"))));
        }
        _ => {}
    }
    Ok(())
}

fn parts(line: &Value) -> impl Iterator<Item = &Value> {
    line.pointer("/message/content").and_then(Value::as_array).into_iter().flatten()
}

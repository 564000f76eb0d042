//! `copilot --output-format json`: the events of its own session, and a result at the end.

use serde_json::Value;

use super::{Told, count, message, notice, started, text};
use crate::event::{Event, StopReason, ToolPhase, Usage};

pub(super) fn read(told: &mut Told, line: &Value, out: &mut Vec<Event>) -> Result<(), String> {
    let data = &line["data"];
    match text(line, "/type") {
        "model.call_start" => out.push(started("", text(data, "/model"))),
        "assistant.message_delta" => {
            told.pieces = true;
            out.push(Event::Text(text(data, "/deltaContent").to_owned()));
        }
        "assistant.reasoning_delta" => {
            out.push(Event::Thinking(text(data, "/deltaContent").to_owned()));
        }
        "assistant.message" if !told.pieces && !text(data, "/content").is_empty() => {
            out.push(Event::Text(text(data, "/content").to_owned()));
        }
        "tool.execution_start" => {
            let (id, name) = (text(data, "/toolCallId"), text(data, "/toolName"));
            out.push(notice(id, name, ToolPhase::Begins, &data["arguments"]));
        }
        "tool.execution_complete" => {
            let done = data["success"].as_bool().unwrap_or_default();
            let phase = if done { ToolPhase::Done } else { ToolPhase::Failed };
            let about = if done { &data["result"]["content"] } else { &data["error"]["message"] };
            out.push(notice(text(data, "/toolCallId"), "", phase, about));
        }
        "assistant.usage" => {
            let cached = count(data, "/cacheReadTokens");
            told.usage += Usage {
                input: count(data, "/inputTokens").saturating_sub(cached),
                output: count(data, "/outputTokens"),
                cache_read: cached,
                cache_write: count(data, "/cacheWriteTokens"),
                ..Usage::default()
            };
            out.push(Event::Usage(told.usage));
        }
        "session.error" => return Err(message(data, &["/message", "/errorType"])),
        "result" => {
            let code = line["exitCode"].as_i64().unwrap_or_default();
            if code != 0 {
                return Err(format!("it ended its session with code {code}"));
            }
            out.push(Event::Stopped(StopReason::End));
        }
        _ => {}
    }
    Ok(())
}

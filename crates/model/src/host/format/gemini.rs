//! `gemini -o stream-json`: messages in pieces, tools, one result.

use serde_json::Value;

use super::{Told, count, message, notice, started, text};
use crate::event::{Event, StopReason, ToolPhase, Usage};

pub(super) fn read(_: &mut Told, line: &Value, out: &mut Vec<Event>) -> Result<(), String> {
    match text(line, "/type") {
        "init" => out.push(started(text(line, "/session_id"), text(line, "/model"))),
        "message" if text(line, "/role") == "assistant" => {
            out.push(Event::Text(text(line, "/content").to_owned()));
        }
        "tool_use" => {
            let (id, name) = (text(line, "/tool_id"), text(line, "/tool_name"));
            out.push(notice(id, name, ToolPhase::Begins, &line["parameters"]));
        }
        "tool_result" => {
            let failed = text(line, "/status") == "error";
            let phase = if failed { ToolPhase::Failed } else { ToolPhase::Done };
            let about = if failed { &line["error"]["message"] } else { &line["output"] };
            out.push(notice(text(line, "/tool_id"), "", phase, about));
        }
        "result" => {
            if text(line, "/status") != "success" {
                return Err(message(line, &["/error/message", "/error", "/status"]));
            }
            out.push(Event::Usage(Usage {
                // Of the two counts this is the one without what was cached.
                input: count(line, "/stats/input"),
                output: count(line, "/stats/output_tokens"),
                cache_read: count(line, "/stats/cached"),
                ..Usage::default()
            }));
            out.push(Event::Stopped(StopReason::End));
        }
        _ => {}
    }
    Ok(())
}

//! `opencode run --format json`: parts of steps. A step that wants no tools is the last.

use serde_json::Value;

use super::{Told, count, message, notice, started, stop, text};
use crate::event::{Event, ToolPhase, Usage};

pub(super) fn read(told: &mut Told, line: &Value, out: &mut Vec<Event>) -> Result<(), String> {
    let part = &line["part"];
    match text(line, "/type") {
        "step_start" => out.push(started(text(line, "/sessionID"), "")),
        "text" => out.push(Event::Text(text(part, "/text").to_owned())),
        "reasoning" => out.push(Event::Thinking(text(part, "/text").to_owned())),
        "tool_use" => {
            let (id, name) = (text(part, "/callID"), text(part, "/tool"));
            let failed = text(part, "/state/status") == "error";
            let (phase, about) = if failed {
                (ToolPhase::Failed, &part["state"]["error"])
            } else {
                (ToolPhase::Done, &part["state"]["output"])
            };
            out.push(notice(id, name, ToolPhase::Begins, &part["state"]["input"]));
            out.push(notice(id, name, phase, about));
        }
        "step_finish" => {
            told.usage += Usage {
                input: count(part, "/tokens/input"),
                // It counts thoughts apart.
                output: count(part, "/tokens/output") + count(part, "/tokens/reasoning"),
                cache_read: count(part, "/tokens/cache/read"),
                cache_write: count(part, "/tokens/cache/write"),
                reasoning: count(part, "/tokens/reasoning"),
            };
            out.push(Event::Usage(told.usage));
            let reason = text(part, "/reason");
            if reason != "tool-calls" {
                out.push(Event::Stopped(stop(reason)));
            }
        }
        "error" => {
            return Err(message(line, &["/error/data/message", "/error/message", "/error/name"]));
        }
        _ => {}
    }
    Ok(())
}

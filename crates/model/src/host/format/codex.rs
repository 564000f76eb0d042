//! `codex exec --json`: items that begin and are completed, one turn around them.

use serde_json::Value;

use super::{Told, count, message, notice, started, text};
use crate::event::{Event, StopReason, ToolPhase, Usage};

pub(super) fn read(_: &mut Told, line: &Value, out: &mut Vec<Event>) -> Result<(), String> {
    match text(line, "/type") {
        // It never says which model it asks.
        "thread.started" => out.push(started(text(line, "/thread_id"), "")),
        "item.started" => item(&line["item"], ToolPhase::Begins, out),
        "item.completed" => item(&line["item"], ToolPhase::Done, out),
        "turn.completed" => {
            let (cached, written) = (
                count(line, "/usage/cached_input_tokens"),
                count(line, "/usage/cache_write_input_tokens"),
            );
            let input = count(line, "/usage/input_tokens");
            out.push(Event::Usage(Usage {
                input: input.saturating_sub(cached).saturating_sub(written),
                output: count(line, "/usage/output_tokens"),
                cache_read: cached,
                cache_write: written,
                reasoning: count(line, "/usage/reasoning_output_tokens"),
            }));
            out.push(Event::Stopped(StopReason::End));
        }
        "turn.failed" | "error" => return failed(line),
        _ => {}
    }
    Ok(())
}

/// While it tries again it says so as an error, too.
fn failed(line: &Value) -> Result<(), String> {
    let said = message(line, &["/error/message", "/message"]);
    if text(line, "/type") == "error" && said.starts_with("Reconnecting") {
        return Ok(());
    }
    Err(said)
}

fn item(item: &Value, phase: ToolPhase, out: &mut Vec<Event>) {
    let id = text(item, "/id");
    let ended = phase == ToolPhase::Done;
    let phase = if ended && text(item, "/status") == "failed" { ToolPhase::Failed } else { phase };
    match text(item, "/type") {
        "agent_message" if ended => out.push(Event::Text(text(item, "/text").to_owned())),
        "reasoning" if ended => out.push(Event::Thinking(text(item, "/text").to_owned())),
        "command_execution" => {
            let about = if ended { &item["aggregated_output"] } else { &item["command"] };
            out.push(notice(id, "command", phase, about));
        }
        "mcp_tool_call" => {
            let name = format!("{}.{}", text(item, "/server"), text(item, "/tool"));
            let about = if ended { &item["result"] } else { &item["arguments"] };
            out.push(notice(id, &name, phase, about));
        }
        "file_change" => out.push(notice(id, "edit", phase, &item["changes"])),
        "web_search" => out.push(notice(id, "web search", phase, &item["query"])),
        _ => {}
    }
}

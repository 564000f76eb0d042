//! OpenAI's `/v1/responses`.

use serde_json::{Value, json};

use super::{
    chat,
    request::{Delivery, Message, Part, Request, Role, Tool, list, packed, string, text_of},
    wire::{Event, Turn, Wire},
};
use crate::{
    event::{StopReason, Usage},
    script::{Said, ScriptedCall as ToolCall},
    wire::Wire as Protocol,
};

pub(super) struct Responses;

impl Wire for Responses {
    fn request(&self, _path: &str, body: &Value) -> Request {
        let mut system = vec![string(body, "instructions")];
        let mut messages = Vec::new();
        if let Value::String(text) = &body["input"] {
            messages.push(Message { role: Role::User, parts: vec![Part::Text(text.clone())] });
        }
        for item in list(&body["input"]) {
            let (role, part) = match item["type"].as_str() {
                Some("function_call" | "custom_tool_call") => (Role::Assistant, call(item)),
                Some("function_call_output" | "custom_tool_call_output") => {
                    let id = string(item, "call_id");
                    (Role::Tool, Part::Result { id, text: text_of(&item["output"]) })
                }
                Some("message") | None => {
                    let text = text_of(&item["content"]);
                    match item["role"].as_str() {
                        Some("system" | "developer") => {
                            system.push(text);
                            continue;
                        }
                        Some("assistant") => (Role::Assistant, Part::Text(text)),
                        _ => (Role::User, Part::Text(text)),
                    }
                }
                Some(_) => (Role::Assistant, Part::Other(item.clone())),
            };
            messages.push(Message { role, parts: vec![part] });
        }
        Request {
            protocol: Protocol::Responses,
            model: string(body, "model"),
            system: system.join("\n"),
            messages,
            tools: list(&body["tools"]).iter().flat_map(tools).collect(),
            delivery: match body["stream"].as_bool() {
                Some(true) => Delivery::Streamed,
                _ => Delivery::Whole,
            },
        }
    }

    fn whole(&self, turn: &Turn<'_>) -> Value {
        let items = turn.reply.says.iter().enumerate();
        let items: Vec<Value> =
            items.map(|(index, said)| item(turn, index, said, Progress::Done)).collect();
        response(turn, Progress::Done, &items)
    }

    fn events(&self, turn: &Turn<'_>) -> Vec<Event> {
        let begun = response(turn, Progress::Begun, &[]);
        let mut events = vec![
            json!({"type": "response.created", "response": begun}),
            json!({"type": "response.in_progress", "response": begun}),
        ];
        let mut items = Vec::new();
        for (index, said) in turn.reply.says.iter().enumerate() {
            let begun = item(turn, index, said, Progress::Begun);
            let done = item(turn, index, said, Progress::Done);
            let id = done["id"].clone();
            events.push(
                json!({"type": "response.output_item.added", "output_index": index, "item": begun}),
            );
            match said {
                Said::Text(text) => {
                    let at = json!({"item_id": id, "output_index": index, "content_index": 0});
                    let part = |text: &str| json!({"type": "output_text", "text": text, "annotations": []});
                    events.push(at_place(&at, "response.content_part.added", "part", part("")));
                    for piece in turn.reply.pieces(text) {
                        let kind = "response.output_text.delta";
                        events.push(at_place(&at, kind, "delta", json!(piece)));
                    }
                    let kind = "response.output_text.done";
                    events.push(at_place(&at, kind, "text", json!(text)));
                    events.push(at_place(&at, "response.content_part.done", "part", part(text)));
                }
                Said::Thinking(text) => {
                    let at = json!({"item_id": id, "output_index": index, "summary_index": 0});
                    let part = |text: &str| json!({"type": "summary_text", "text": text});
                    let kind = "response.reasoning_summary_part.added";
                    events.push(at_place(&at, kind, "part", part("")));
                    for piece in turn.reply.pieces(text) {
                        let kind = "response.reasoning_summary_text.delta";
                        events.push(at_place(&at, kind, "delta", json!(piece)));
                    }
                    let kind = "response.reasoning_summary_part.done";
                    events.push(at_place(&at, kind, "part", part(text)));
                }
                Said::Call(call) => {
                    let at = json!({"item_id": id, "output_index": index});
                    let arguments = call.text();
                    for piece in turn.reply.pieces(&arguments) {
                        let kind = "response.function_call_arguments.delta";
                        events.push(at_place(&at, kind, "delta", json!(piece)));
                    }
                    let kind = "response.function_call_arguments.done";
                    events.push(at_place(&at, kind, "arguments", json!(arguments)));
                }
            }
            events.push(
                json!({"type": "response.output_item.done", "output_index": index, "item": done}),
            );
            items.push(done);
        }
        let last = match turn.reply.stop_reason() {
            StopReason::MaxTokens | StopReason::Refusal => "response.incomplete",
            StopReason::Paused | StopReason::Other(_) => "response.incomplete",
            StopReason::End | StopReason::ToolCalls => "response.completed",
        };
        events.push(json!({"type": last, "response": response(turn, Progress::Done, &items)}));
        for (number, event) in events.iter_mut().enumerate() {
            event["sequence_number"] = json!(number);
        }
        events.iter().map(Event::typed).collect()
    }

    fn error(&self, status: u16, message: &str) -> Value {
        chat::error(status, message)
    }

    fn failure(&self, message: &str) -> Event {
        Event::typed(&json!({"type": "response.failed", "response": {
            "object": "response",
            "status": "failed",
            "error": {"code": "server_error", "message": message},
        }}))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    Begun,
    Done,
}

fn at_place(at: &Value, kind: &str, key: &str, value: Value) -> Value {
    let mut event = json!({"type": kind});
    for (name, place) in at.as_object().into_iter().flatten() {
        event[name] = place.clone();
    }
    event[key] = value;
    event
}

fn call(item: &Value) -> Part {
    let arguments = match item["type"].as_str() {
        Some("custom_tool_call") => item["input"].clone(),
        _ => packed(&item["arguments"]),
    };
    let group = item["namespace"].as_str().map(str::to_owned);
    Part::Call {
        id: string(item, "call_id"),
        call: ToolCall { group, name: string(item, "name"), arguments },
    }
}

/// A tool, or those of a group (`namespace`). Built-in ones have a type in place of a name.
fn tools(tool: &Value) -> Vec<Tool> {
    let one = |tool: &Value, group: Option<String>| Tool {
        group,
        name: tool["name"].as_str().or(tool["type"].as_str()).unwrap_or_default().to_owned(),
        description: string(tool, "description"),
        schema: tool["parameters"].clone(),
    };
    if tool["type"] == "namespace" {
        let group = string(tool, "name");
        return list(&tool["tools"]).iter().map(|it| one(it, Some(group.clone()))).collect();
    }
    vec![one(tool, None)]
}

fn item(turn: &Turn<'_>, index: usize, said: &Said, progress: Progress) -> Value {
    let done = progress == Progress::Done;
    let status = if done { "completed" } else { "in_progress" };
    match said {
        Said::Text(text) => {
            let part = json!({"type": "output_text", "text": text, "annotations": []});
            json!({
                "type": "message",
                "id": format!("{}_{index}", turn.id("msg")),
                "status": status,
                "role": "assistant",
                "content": if done { json!([part]) } else { json!([]) },
            })
        }
        Said::Thinking(text) => {
            let part = json!({"type": "summary_text", "text": text});
            json!({
                "type": "reasoning",
                "id": format!("{}_{index}", turn.id("rs")),
                "summary": if done { json!([part]) } else { json!([]) },
                "encrypted_content": done.then(|| turn.signature(index)),
            })
        }
        Said::Call(call) => {
            let mut item = json!({
                "type": "function_call",
                "id": format!("{}_{index}", turn.id("fc")),
                "status": status,
                "call_id": turn.call_id(index),
                "name": call.name,
                "arguments": if done { call.text() } else { String::new() },
            });
            if let Some(group) = &call.group {
                item["namespace"] = json!(group);
            }
            item
        }
    }
}

fn response(turn: &Turn<'_>, progress: Progress, items: &[Value]) -> Value {
    let stop = turn.reply.stop_reason();
    let (status, reason) = match (progress, &stop) {
        (Progress::Begun, _) => ("in_progress", None),
        (_, StopReason::MaxTokens) => ("incomplete", Some("max_output_tokens")),
        (_, StopReason::Refusal) => ("incomplete", Some("content_filter")),
        (_, StopReason::Paused) => ("incomplete", Some("paused")),
        (_, StopReason::Other(word)) => ("incomplete", Some(word.as_str())),
        (_, StopReason::End | StopReason::ToolCalls) => ("completed", None),
    };
    let mut response = json!({
        "id": turn.id("resp"),
        "object": "response",
        "created_at": 0,
        "status": status,
        "model": turn.served(),
        "error": null,
        "incomplete_details": reason.map(|reason| json!({"reason": reason})),
        "output": items,
        "usage": null,
    });
    if progress == Progress::Done {
        response["usage"] = json!(turn.reply.usage.map(usage));
    }
    response
}

fn usage(usage: Usage) -> Value {
    let input = usage.input.saturating_add(usage.cache_read);
    json!({
        "input_tokens": input,
        "input_tokens_details": {"cached_tokens": usage.cache_read},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": input.saturating_add(usage.output),
    })
}

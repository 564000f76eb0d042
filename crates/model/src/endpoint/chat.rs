//! OpenAI's `/v1/chat/completions`.

use serde_json::{Value, json};

use super::{
    request::{Delivery, Message, Part, Request, Role, Tool, list, packed, string, text_of},
    wire::{Event, Turn, Wire},
};
use crate::{
    event::{StopReason, Usage},
    script::{Said, ScriptedCall as ToolCall},
    wire::Wire as Protocol,
};

pub(super) struct Chat;

impl Wire for Chat {
    fn request(&self, _path: &str, body: &Value) -> Request {
        let mut system = Vec::new();
        let mut messages = Vec::new();
        for message in list(&body["messages"]) {
            let content = text_of(&message["content"]);
            match message["role"].as_str() {
                Some("system" | "developer") => system.push(content),
                Some("assistant") => {
                    let text = Some(content).filter(|it| !it.is_empty()).map(Part::Text);
                    let calls = list(&message["tool_calls"]).iter().map(|call| Part::Call {
                        id: string(call, "id"),
                        call: ToolCall {
                            group: None,
                            name: string(&call["function"], "name"),
                            arguments: packed(&call["function"]["arguments"]),
                        },
                    });
                    let parts = text.into_iter().chain(calls).collect();
                    messages.push(Message { role: Role::Assistant, parts });
                }
                Some("tool") => {
                    let id = string(message, "tool_call_id");
                    let parts = vec![Part::Result { id, text: content }];
                    messages.push(Message { role: Role::Tool, parts });
                }
                _ => messages.push(Message { role: Role::User, parts: vec![Part::Text(content)] }),
            }
        }
        let tools = list(&body["tools"]).iter().map(|tool| &tool["function"]).map(|tool| Tool {
            group: None,
            name: string(tool, "name"),
            description: string(tool, "description"),
            schema: tool["parameters"].clone(),
        });
        Request {
            protocol: Protocol::Chat,
            model: string(body, "model"),
            system: system.join("\n"),
            messages,
            tools: tools.collect(),
            delivery: match body["stream"].as_bool() {
                Some(true) => Delivery::Streamed,
                _ => Delivery::Whole,
            },
        }
    }

    fn whole(&self, turn: &Turn<'_>) -> Value {
        let text = turn.texts();
        let content = if text.is_empty() { Value::Null } else { json!(text) };
        let mut message = json!({"role": "assistant", "content": content, "refusal": null});
        let calls = turn.calls().map(|(index, call)| {
            let function = json!({"name": call.name, "arguments": call.text()});
            json!({"id": turn.call_id(index), "type": "function", "function": function})
        });
        let calls: Vec<Value> = calls.collect();
        if !calls.is_empty() {
            message["tool_calls"] = json!(calls);
        }
        let thoughts = turn.thoughts();
        if !thoughts.is_empty() {
            message["reasoning_content"] = json!(thoughts);
        }
        let stop = turn.reply.stop_reason();
        let finish = word(&stop);
        json!({
            "id": turn.id("chatcmpl"),
            "object": "chat.completion",
            "created": 0,
            "model": turn.served(),
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": turn.reply.usage.map(usage),
        })
    }

    fn events(&self, turn: &Turn<'_>) -> Vec<Event> {
        let mut deltas = vec![json!({"role": "assistant", "content": ""})];
        // Calls are counted by themselves, texts between them do not count.
        let mut calls = 0;
        for (index, said) in turn.reply.says.iter().enumerate() {
            match said {
                Said::Text(text) => {
                    let pieces = turn.reply.pieces(text).into_iter();
                    deltas.extend(pieces.map(|piece| json!({"content": piece})));
                }
                Said::Thinking(text) => {
                    let pieces = turn.reply.pieces(text).into_iter();
                    deltas.extend(pieces.map(|piece| json!({"reasoning_content": piece})));
                }
                Said::Call(call) => {
                    deltas.push(json!({"tool_calls": [{
                        "index": calls,
                        "id": turn.call_id(index),
                        "type": "function",
                        "function": {"name": call.name, "arguments": ""},
                    }]}));
                    let arguments = call.text();
                    let pieces = turn.reply.pieces(&arguments).into_iter();
                    deltas.extend(pieces.map(|piece| {
                        json!({"tool_calls": [{"index": calls, "function": {"arguments": piece}}]})
                    }));
                    calls += 1;
                }
            }
        }
        let choice =
            |delta: Value| json!([{"index": 0, "delta": delta, "finish_reason": Value::Null}]);
        let mut chunks: Vec<Value> =
            deltas.into_iter().map(|delta| chunk(turn, &choice(delta))).collect();
        let stop = turn.reply.stop_reason();
        let finish = word(&stop);
        chunks.push(chunk(turn, &json!([{"index": 0, "delta": {}, "finish_reason": finish}])));
        if let Some(tokens) = turn.reply.usage {
            let mut last = chunk(turn, &json!([]));
            last["usage"] = usage(tokens);
            chunks.push(last);
        }
        chunks.iter().map(Event::unnamed).chain([Event::raw("[DONE]")]).collect()
    }

    fn error(&self, status: u16, message: &str) -> Value {
        error(status, message)
    }
}

/// The error of both of OpenAI's formats.
pub(super) fn error(status: u16, message: &str) -> Value {
    let (kind, code) = match status {
        400 => ("invalid_request_error", json!(null)),
        401 => ("invalid_request_error", json!("invalid_api_key")),
        429 => ("rate_limit_error", json!("rate_limit_exceeded")),
        _ => ("server_error", json!("server_error")),
    };
    json!({"error": {"message": message, "type": kind, "param": null, "code": code}})
}

fn chunk(turn: &Turn<'_>, choices: &Value) -> Value {
    json!({
        "id": turn.id("chatcmpl"),
        "object": "chat.completion.chunk",
        "created": 0,
        "model": turn.served(),
        "choices": choices,
    })
}

fn usage(usage: Usage) -> Value {
    let input = usage.input.saturating_add(usage.cache_read);
    json!({
        "prompt_tokens": input,
        "completion_tokens": usage.output,
        "total_tokens": input.saturating_add(usage.output),
        "prompt_tokens_details": {"cached_tokens": usage.cache_read},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    })
}

fn word(stop: &StopReason) -> &str {
    match stop {
        StopReason::End => "stop",
        StopReason::ToolCalls => "tool_calls",
        StopReason::MaxTokens => "length",
        StopReason::Refusal => "content_filter",
        StopReason::Paused => "pause",
        StopReason::Other(word) => word,
    }
}

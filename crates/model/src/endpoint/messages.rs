//! Anthropic's `/v1/messages`.

use serde_json::{Value, json};

use super::{
    request::{Delivery, Message, Part, Request, Role, Tool, list, string, text_of},
    wire::{Event, Turn, Wire},
};
use crate::{
    event::StopReason,
    script::{Said, ScriptedCall as ToolCall},
    wire::Wire as Protocol,
};

pub(super) struct Messages;

impl Wire for Messages {
    fn request(&self, _path: &str, body: &Value) -> Request {
        let mut system = text_of(&body["system"]);
        let mut messages = Vec::new();
        for message in list(&body["messages"]) {
            let role = match message["role"].as_str() {
                Some("assistant") => Role::Assistant,
                Some("system") => {
                    system.push('\n');
                    system.push_str(&text_of(&message["content"]));
                    continue;
                }
                _ => Role::User,
            };
            let parts = match &message["content"] {
                Value::String(text) => vec![Part::Text(text.clone())],
                blocks => list(blocks).iter().map(part).collect(),
            };
            messages.push(Message { role, parts });
        }
        let tools = list(&body["tools"]).iter().map(|tool| Tool {
            group: None,
            name: string(tool, "name"),
            description: string(tool, "description"),
            schema: tool["input_schema"].clone(),
        });
        Request {
            protocol: Protocol::Messages,
            model: string(body, "model"),
            system,
            messages,
            tools: tools.collect(),
            delivery: match body["stream"].as_bool() {
                Some(true) => Delivery::Streamed,
                _ => Delivery::Whole,
            },
        }
    }

    fn whole(&self, turn: &Turn<'_>) -> Value {
        let content = turn.reply.says.iter().enumerate().map(|(index, said)| match said {
            Said::Text(text) => json!({"type": "text", "text": text}),
            Said::Thinking(text) => {
                json!({"type": "thinking", "thinking": text, "signature": turn.signature(index)})
            }
            Said::Call(call) => block(turn, index, call, &call.arguments),
        });
        let mut message = envelope(turn, &content.collect::<Vec<_>>());
        message["stop_reason"] = json!(word(&turn.reply.stop_reason()));
        if let Some(usage) = turn.reply.usage {
            message["usage"]["output_tokens"] = json!(usage.output);
        }
        message
    }

    fn events(&self, turn: &Turn<'_>) -> Vec<Event> {
        let mut events = vec![
            json!({"type": "message_start", "message": envelope(turn, &[])}),
            json!({"type": "ping"}),
        ];
        for (index, said) in turn.reply.says.iter().enumerate() {
            let (block, deltas): (Value, Vec<Value>) = match said {
                Said::Text(text) => {
                    let pieces = turn.reply.pieces(text).into_iter();
                    let deltas = pieces.map(|it| json!({"type": "text_delta", "text": it}));
                    (json!({"type": "text", "text": ""}), deltas.collect())
                }
                Said::Thinking(text) => {
                    let pieces = turn.reply.pieces(text).into_iter();
                    let thoughts =
                        pieces.map(|it| json!({"type": "thinking_delta", "thinking": it}));
                    let signature = turn.signature(index);
                    let seal = json!({"type": "signature_delta", "signature": signature});
                    let block = json!({"type": "thinking", "thinking": "", "signature": ""});
                    (block, thoughts.chain([seal]).collect())
                }
                Said::Call(call) => {
                    let arguments = call.text();
                    let pieces = turn.reply.pieces(&arguments).into_iter();
                    let deltas =
                        pieces.map(|it| json!({"type": "input_json_delta", "partial_json": it}));
                    (block(turn, index, call, &json!({})), deltas.collect())
                }
            };
            events.push(
                json!({"type": "content_block_start", "index": index, "content_block": block}),
            );
            events.extend(deltas.into_iter().map(
                |delta| json!({"type": "content_block_delta", "index": index, "delta": delta}),
            ));
            events.push(json!({"type": "content_block_stop", "index": index}));
        }
        let mut last = json!({
            "type": "message_delta",
            "delta": {"stop_reason": word(&turn.reply.stop_reason()), "stop_sequence": null},
        });
        if let Some(usage) = turn.reply.usage {
            last["usage"] = json!({"output_tokens": usage.output});
        }
        events.push(last);
        events.push(json!({"type": "message_stop"}));
        events.iter().map(Event::typed).collect()
    }

    fn error(&self, status: u16, message: &str) -> Value {
        let kind = match status {
            400 => "invalid_request_error",
            401 => "authentication_error",
            403 => "permission_error",
            404 => "not_found_error",
            413 => "request_too_large",
            429 => "rate_limit_error",
            529 => "overloaded_error",
            _ => "api_error",
        };
        json!({"type": "error", "error": {"type": kind, "message": message}})
    }

    fn failure(&self, message: &str) -> Event {
        Event::typed(&self.error(529, message))
    }
}

fn part(block: &Value) -> Part {
    match block["type"].as_str() {
        Some("text") => Part::Text(string(block, "text")),
        Some("tool_use") => Part::Call {
            id: string(block, "id"),
            call: ToolCall {
                group: None,
                name: string(block, "name"),
                arguments: block["input"].clone(),
            },
        },
        Some("tool_result") => {
            Part::Result { id: string(block, "tool_use_id"), text: text_of(&block["content"]) }
        }
        _ => Part::Other(block.clone()),
    }
}

fn block(turn: &Turn<'_>, index: usize, call: &ToolCall, input: &Value) -> Value {
    json!({"type": "tool_use", "id": turn.call_id(index), "name": call.name, "input": input})
}

fn envelope(turn: &Turn<'_>, content: &[Value]) -> Value {
    let mut envelope = json!({
        "id": turn.id("msg"),
        "type": "message",
        "role": "assistant",
        "model": turn.served(),
        "content": content,
        "stop_reason": null,
        "stop_sequence": null,
    });
    if let Some(usage) = turn.reply.usage {
        envelope["usage"] = json!({
            "input_tokens": usage.input,
            "cache_creation_input_tokens": usage.cache_write,
            "cache_read_input_tokens": usage.cache_read,
            "output_tokens": 1,
        });
    }
    envelope
}

fn word(stop: &StopReason) -> &str {
    match stop {
        StopReason::End => "end_turn",
        StopReason::ToolCalls => "tool_use",
        StopReason::MaxTokens => "max_tokens",
        StopReason::Refusal => "refusal",
        StopReason::Paused => "pause_turn",
        StopReason::Other(word) => word,
    }
}

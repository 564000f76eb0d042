//! Google's `/v1beta/models/<model>:generateContent` and `:streamGenerateContent`.

use serde_json::{Value, json};

use super::{
    request::{Delivery, Message, Part, Request, Role, Tool, list, string, text_of},
    wire::{Event, Turn, Wire},
};
use crate::{
    event::{StopReason, Usage},
    script::{Said, ScriptedCall as ToolCall},
    wire::Wire as Protocol,
};

pub(super) struct Gemini;

impl Wire for Gemini {
    fn request(&self, path: &str, body: &Value) -> Request {
        let (before, method) = path.rsplit_once(':').unwrap_or((path, ""));
        let system = either(body, "systemInstruction", "system_instruction");
        let messages = list(&body["contents"]).iter().map(|content| Message {
            role: if content["role"] == "model" { Role::Assistant } else { Role::User },
            parts: list(&content["parts"]).iter().map(part).collect(),
        });
        let declared = list(&body["tools"])
            .iter()
            .flat_map(|group| list(either(group, "functionDeclarations", "function_declarations")));
        let tools = declared.map(|tool| Tool {
            group: None,
            name: string(tool, "name"),
            description: string(tool, "description"),
            schema: either(tool, "parametersJsonSchema", "parameters").clone(),
        });
        Request {
            protocol: Protocol::Gemini,
            model: before.rsplit('/').next().unwrap_or_default().to_owned(),
            system: text_of(&system["parts"]),
            messages: messages.collect(),
            tools: tools.collect(),
            delivery: match method {
                "streamGenerateContent" => Delivery::Streamed,
                _ => Delivery::Whole,
            },
        }
    }

    fn whole(&self, turn: &Turn<'_>) -> Value {
        let parts = turn.reply.says.iter().enumerate().map(|(index, said)| match said {
            Said::Text(text) => json!({"text": text}),
            Said::Thinking(text) => thought(turn, index, text),
            Said::Call(call) => call_part(turn, index, call),
        });
        last(turn, &parts.collect::<Vec<_>>())
    }

    fn events(&self, turn: &Turn<'_>) -> Vec<Event> {
        let mut parts = Vec::new();
        for (index, said) in turn.reply.says.iter().enumerate() {
            match said {
                Said::Text(text) => {
                    let pieces = turn.reply.pieces(text).into_iter();
                    parts.extend(pieces.map(|piece| json!({"text": piece})));
                }
                Said::Thinking(text) => {
                    let pieces = turn.reply.pieces(text);
                    let end = pieces.len().saturating_sub(1);
                    for (place, piece) in pieces.into_iter().enumerate() {
                        parts.push(if place == end {
                            thought(turn, index, piece)
                        } else {
                            json!({"text": piece, "thought": true})
                        });
                    }
                }
                // Calls are never streamed in pieces.
                Said::Call(call) => parts.push(call_part(turn, index, call)),
            }
        }
        let chunks = parts.into_iter().map(|part| chunk(turn, &[part]));
        chunks.chain([last(turn, &[json!({"text": ""})])]).map(|it| Event::unnamed(&it)).collect()
    }

    fn error(&self, status: u16, message: &str) -> Value {
        let word = match status {
            400 => "INVALID_ARGUMENT",
            401 => "UNAUTHENTICATED",
            403 => "PERMISSION_DENIED",
            404 => "NOT_FOUND",
            429 => "RESOURCE_EXHAUSTED",
            503 => "UNAVAILABLE",
            _ => "INTERNAL",
        };
        json!({"error": {"code": status, "message": message, "status": word}})
    }
}

fn either<'a>(value: &'a Value, one: &str, other: &str) -> &'a Value {
    if value[one].is_null() { &value[other] } else { &value[one] }
}

fn part(part: &Value) -> Part {
    if let Some(text) = part["text"].as_str() {
        return Part::Text(text.to_owned());
    }
    let call = either(part, "functionCall", "function_call");
    if call.is_object() {
        return Part::Call {
            id: string(call, "id"),
            call: ToolCall {
                group: None,
                name: string(call, "name"),
                arguments: call["args"].clone(),
            },
        };
    }
    let answer = either(part, "functionResponse", "function_response");
    if answer.is_object() {
        let mut texts = Vec::new();
        strings(&answer["response"], &mut texts);
        return Part::Result { id: string(answer, "id"), text: texts.join("\n") };
    }
    Part::Other(part.clone())
}

/// An answer is an object of any shape: every string in it counts.
fn strings<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => found.push(text),
        Value::Array(items) => items.iter().for_each(|it| strings(it, found)),
        Value::Object(fields) => fields.values().for_each(|it| strings(it, found)),
        _ => {}
    }
}

fn call_part(turn: &Turn<'_>, index: usize, call: &ToolCall) -> Value {
    json!({"functionCall": {
        "id": turn.call_id(index),
        "name": call.name,
        "args": call.arguments,
    }})
}

/// The last piece of a thought has its signature.
fn thought(turn: &Turn<'_>, index: usize, text: &str) -> Value {
    json!({"text": text, "thought": true, "thoughtSignature": turn.signature(index)})
}

fn chunk(turn: &Turn<'_>, parts: &[Value]) -> Value {
    json!({
        "candidates": [{"index": 0, "content": {"role": "model", "parts": parts}}],
        "modelVersion": turn.served(),
        "responseId": turn.id("resp"),
    })
}

fn last(turn: &Turn<'_>, parts: &[Value]) -> Value {
    let mut chunk = chunk(turn, parts);
    chunk["candidates"][0]["finishReason"] = json!(match turn.reply.stop_reason() {
        StopReason::End | StopReason::ToolCalls => "STOP",
        StopReason::MaxTokens => "MAX_TOKENS",
        StopReason::Refusal => "SAFETY",
        StopReason::Paused => "OTHER",
        StopReason::Other(ref word) => word,
    });
    if let Some(tokens) = turn.reply.usage {
        chunk["usageMetadata"] = usage(tokens);
    }
    chunk
}

fn usage(usage: Usage) -> Value {
    let input = usage.input.saturating_add(usage.cache_read);
    json!({
        "promptTokenCount": input,
        "candidatesTokenCount": usage.output - usage.reasoning.min(usage.output),
        "thoughtsTokenCount": usage.reasoning,
        "cachedContentTokenCount": usage.cache_read,
        "totalTokenCount": input.saturating_add(usage.output),
    })
}

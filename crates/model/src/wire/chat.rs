//! OpenAI's `/v1/chat/completions`, and everything compatible with it.

mod envelope;
mod stream;

use bytes::Bytes;
use serde_json::{Value, json};

pub(super) use self::stream::ChatStream;
use super::{
    Dialect,
    json::{Body, field, list, name, raw, write},
    openai,
};
use crate::{
    message::{Message, Part, Role},
    request::{Request, ToolChoice, ToolSpec},
    wire::Wire,
};

pub(super) fn encode(request: &Request, dialect: Dialect) -> Body {
    let mut head = b"{".to_vec();
    field(&mut head, "model", &request.model);
    field(&mut head, "stream", &true);
    field(&mut head, "stream_options", &json!({"include_usage": true}));
    if let Some(max) = request.max_output_tokens {
        let key = match dialect {
            Dialect::Official => "max_completion_tokens",
            Dialect::Compatible => "max_tokens",
        };
        field(&mut head, key, &max);
    }
    if let Some(word) = openai::effort(request, dialect) {
        field(&mut head, "reasoning_effort", word);
    }
    if let Some(schema) = &request.schema {
        let format = json!({
            "name": schema.name,
            "schema": schema.schema,
            "strict": openai::is_strict(&schema.schema),
        });
        field(&mut head, "response_format", &json!({"type": "json_schema", "json_schema": format}));
    }
    let mut body = Body::default();
    if !request.tools.is_empty() {
        let choice = match &request.choice {
            // The default; there are servers that do not know the word.
            ToolChoice::Auto => None,
            ToolChoice::None => Some(json!("none")),
            ToolChoice::Required => Some(json!("required")),
            ToolChoice::Tool(name) => Some(json!({"type": "function", "function": {"name": name}})),
        };
        if let Some(choice) = choice {
            field(&mut head, "tool_choice", &choice);
        }
        name(&mut head, "tools");
        body.push(Bytes::from(std::mem::take(&mut head)));
        body.push(request.tools.encoded(Wire::Chat, |it, out| tools(it, out)).clone());
    }
    raw(&mut head, r#","messages":["#);
    if !request.system.is_empty() {
        raw(&mut head, r#"{"role":"system","content":"#);
        write(&mut head, &*request.system);
        raw(&mut head, "}");
    }
    body.push(Bytes::from(head));
    list(
        &mut body,
        request.messages.iter().map(|it| it.encoded(Wire::Chat, encode_message).clone()),
    );
    body.push(Bytes::from_static(b"]}"));
    body
}

fn tools(tools: &[ToolSpec], out: &mut Vec<u8>) {
    let tools = tools.iter().map(|tool| {
        let function = json!({
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.schema,
        });
        json!({"type": "function", "function": function})
    });
    write(out, &tools.collect::<Vec<_>>());
}

/// `,{"role":…}`, several of them where tools answered: each result is a message of its own.
fn encode_message(message: &Message, out: &mut Vec<u8>) {
    match message.role {
        Role::User => {
            for part in &message.parts {
                if let Part::ToolResult(result) = part {
                    let answer = json!({"role": "tool", "tool_call_id": result.id, "content": result.content});
                    raw(out, ",");
                    write(out, &answer);
                }
            }
            let text = message.text();
            if !text.is_empty() {
                raw(out, ",");
                write(out, &json!({"role": "user", "content": text}));
            }
        }
        Role::Assistant => {
            let calls: Vec<Value> = message.tool_calls().map(call).collect();
            let text = message.text();
            if text.is_empty() && calls.is_empty() {
                return;
            }
            let mut answer = json!({"role": "assistant", "content": text});
            if !calls.is_empty() {
                if text.is_empty() {
                    answer["content"] = Value::Null;
                }
                // What was thought before a call has to go back by some, and is ignored by the others.
                for part in &message.parts {
                    if let Part::Thinking(thought) = part
                        && let Some(signature) = &thought.signature
                        && signature.wire == Wire::Chat
                    {
                        let before = answer[&signature.data].as_str().unwrap_or_default();
                        answer[&signature.data] = json!(format!("{before}{}", thought.text));
                    }
                }
                answer["tool_calls"] = json!(calls);
            }
            raw(out, ",");
            write(out, &answer);
        }
    }
}

fn call(call: &crate::message::ToolCall) -> Value {
    let function = json!({"name": call.name, "arguments": call.input.to_text()});
    json!({"id": call.id, "type": "function", "function": function})
}

#[cfg(test)]
mod tests;

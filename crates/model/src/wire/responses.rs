//! OpenAI's `/v1/responses`.

mod stream;

use bytes::Bytes;
use serde_json::{Value, json};

pub(super) use self::stream::ResponsesStream;
use super::{
    Dialect,
    json::{Body, field, list, name, raw, write},
    openai,
};
use crate::{
    message::{Message, Part, Role, Thinking},
    request::{Request, ToolChoice, ToolSpec},
    wire::Wire,
};

pub(super) fn encode(request: &Request, dialect: Dialect) -> Body {
    let mut head = b"{".to_vec();
    field(&mut head, "model", &request.model);
    field(&mut head, "stream", &true);
    // The conversation is ours; the provider need not keep it.
    field(&mut head, "store", &false);
    if !request.system.is_empty() {
        field(&mut head, "instructions", &*request.system);
    }
    if let Some(max) = request.max_output_tokens {
        field(&mut head, "max_output_tokens", &max);
    }
    if openai::is_reasoning(&request.model) {
        // Thoughts are not kept there, so they travel with the conversation, sealed.
        field(&mut head, "include", &["reasoning.encrypted_content"]);
        if let Some(word) = openai::effort(request, dialect) {
            field(&mut head, "reasoning", &json!({"effort": word, "summary": "auto"}));
        }
    }
    if let Some(schema) = &request.schema {
        let format = json!({
            "type": "json_schema",
            "name": schema.name,
            "schema": schema.schema,
            "strict": openai::is_strict(&schema.schema),
        });
        field(&mut head, "text", &json!({"format": format}));
    }
    let mut body = Body::default();
    if !request.tools.is_empty() {
        let choice = match &request.choice {
            ToolChoice::Auto => json!("auto"),
            ToolChoice::None => json!("none"),
            ToolChoice::Required => json!("required"),
            ToolChoice::Tool(name) => json!({"type": "function", "name": name}),
        };
        field(&mut head, "tool_choice", &choice);
        name(&mut head, "tools");
        body.push(Bytes::from(std::mem::take(&mut head)));
        body.push(request.tools.encoded(Wire::Responses, |it, out| tools(it, out)).clone());
    }
    raw(&mut head, r#","input":["#);
    body.push(Bytes::from(head));
    let encoded = request.messages.iter().map(|it| it.encoded(Wire::Responses, encode_message));
    list(&mut body, encoded.cloned());
    body.push(Bytes::from_static(b"]}"));
    body
}

fn tools(tools: &[ToolSpec], out: &mut Vec<u8>) {
    let tools = tools.iter().map(|tool| {
        json!({
            "type": "function",
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.schema,
            "strict": false,
        })
    });
    write(out, &tools.collect::<Vec<_>>());
}

/// `,{"type":…}` for each part: here a message is an item among others.
fn encode_message(message: &Message, out: &mut Vec<u8>) {
    for item in message.parts.iter().filter_map(|part| item(message.role, part)) {
        raw(out, ",");
        write(out, &item);
    }
}

fn item(role: Role, part: &Part) -> Option<Value> {
    Some(match part {
        Part::Text(text) if text.is_empty() => return None,
        Part::Text(text) => match role {
            Role::User => json!({
                "type": "message",
                "role": "user",
                "content": [{"type": "input_text", "text": text}],
            }),
            Role::Assistant => json!({
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": text}],
            }),
        },
        Part::Thinking(thought) => reasoning(thought)?,
        Part::ToolCall(call) => json!({
            "type": "function_call",
            "call_id": call.id,
            "name": call.name,
            "arguments": call.input.to_text(),
        }),
        Part::ToolResult(result) => json!({
            "type": "function_call_output",
            "call_id": result.id,
            "output": result.content,
        }),
    })
}

/// The signature is the id of the item and its sealed contents, with a colon between.
fn reasoning(thought: &Thinking) -> Option<Value> {
    let signature = thought.signature.as_ref().filter(|it| it.wire == Wire::Responses)?;
    let (id, sealed) = signature.data.split_once(':')?;
    let summary = match thought.text.as_str() {
        "" => json!([]),
        text => json!([{"type": "summary_text", "text": text}]),
    };
    let mut item = json!({"type": "reasoning", "summary": summary, "encrypted_content": sealed});
    if !id.is_empty() {
        item["id"] = json!(id);
    }
    Some(item)
}

#[cfg(test)]
mod tests;

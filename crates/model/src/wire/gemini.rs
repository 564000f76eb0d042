//! Google's `/v1beta/models/<model>:streamGenerateContent`.

mod stream;

use bytes::Bytes;
use serde_json::{Value, json};

pub(super) use self::stream::GeminiStream;
use super::json::{Body, field, list, name, raw, write};
use crate::{
    message::{Message, Part, Role, Signature, ToolInput, ToolStatus},
    request::{Effort, Request, ToolChoice, ToolSpec},
    wire::Wire,
};

pub(super) fn encode(request: &Request) -> Body {
    let mut head = b"{".to_vec();
    if !request.system.is_empty() {
        field(&mut head, "systemInstruction", &json!({"parts": [{"text": &*request.system}]}));
    }
    let generation = generation(request);
    if generation.as_object().is_some_and(|it| !it.is_empty()) {
        field(&mut head, "generationConfig", &generation);
    }
    let mut body = Body::default();
    if !request.tools.is_empty() {
        let config = match &request.choice {
            ToolChoice::Auto => json!({"mode": "AUTO"}),
            ToolChoice::None => json!({"mode": "NONE"}),
            ToolChoice::Required => json!({"mode": "ANY"}),
            ToolChoice::Tool(name) => json!({"mode": "ANY", "allowedFunctionNames": [name]}),
        };
        field(&mut head, "toolConfig", &json!({"functionCallingConfig": config}));
        name(&mut head, "tools");
        body.push(Bytes::from(std::mem::take(&mut head)));
        body.push(request.tools.encoded(Wire::Gemini, |it, out| tools(it, out)).clone());
    }
    name(&mut head, "contents");
    raw(&mut head, "[");
    body.push(Bytes::from(head));
    let encoded = request.messages.iter().map(|it| it.encoded(Wire::Gemini, encode_message));
    list(&mut body, encoded.cloned());
    body.push(Bytes::from_static(b"]}"));
    body
}

/// The second generation is told a number of tokens, and cannot do both tools and a schema.
fn is_second(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    name.starts_with("gemini-2") || name.starts_with("gemini-1")
}

fn generation(request: &Request) -> Value {
    let mut config = json!({});
    if let Some(max) = request.max_output_tokens {
        config["maxOutputTokens"] = json!(max);
    }
    if let Some(schema) = &request.schema
        && (request.tools.is_empty() || !is_second(&request.model))
    {
        config["responseMimeType"] = json!("application/json");
        config["responseJsonSchema"] = schema.schema.clone();
    }
    if let Some(thinking) = request.effort.and_then(|effort| thinking(&request.model, effort)) {
        config["thinkingConfig"] = thinking;
    }
    config
}

fn thinking(model: &str, effort: Effort) -> Option<Value> {
    let name = model.rsplit('/').next().unwrap_or(model);
    if !is_second(name) {
        let level = match effort {
            Effort::None | Effort::Low => "low",
            Effort::Medium => "medium",
            Effort::High | Effort::Max => "high",
        };
        return Some(json!({"thinkingLevel": level, "includeThoughts": true}));
    }
    if !name.starts_with("gemini-2.5") {
        return None;
    }
    let tokens = match effort {
        // The large one cannot do without.
        Effort::None if name.contains("pro") => 128,
        Effort::None => 0,
        Effort::Low => 1024,
        Effort::Medium => 8192,
        Effort::High => 16_384,
        Effort::Max => 24_576,
    };
    Some(json!({"thinkingBudget": tokens, "includeThoughts": tokens > 0}))
}

fn tools(tools: &[ToolSpec], out: &mut Vec<u8>) {
    let tools = tools.iter().map(|tool| {
        json!({
            "name": tool.name,
            "description": tool.description,
            "parametersJsonSchema": tool.schema,
        })
    });
    write(out, &json!([{"functionDeclarations": tools.collect::<Vec<_>>()}]));
}

/// `,{"role":…,"parts":[…]}`.
fn encode_message(message: &Message, out: &mut Vec<u8>) {
    let parts: Vec<Value> = message.parts.iter().filter_map(part).collect();
    if parts.is_empty() {
        return;
    }
    let role = match message.role {
        Role::User => "user",
        Role::Assistant => "model",
    };
    raw(out, ",");
    write(out, &json!({"role": role, "parts": parts}));
}

fn part(part: &Part) -> Option<Value> {
    let ours = |signature: &Option<Signature>| {
        signature.as_ref().filter(|it| it.wire == Wire::Gemini).map(|it| it.data.clone())
    };
    Some(match part {
        Part::Text(text) if text.is_empty() => return None,
        Part::Text(text) => json!({"text": text}),
        // The signature is what counts; the text is a summary for people.
        Part::Thinking(thought) => {
            json!({"text": "", "thoughtSignature": ours(&thought.signature)?})
        }
        Part::ToolCall(call) => {
            let args = match &call.input {
                ToolInput::Json(Value::Object(input)) => Value::Object(input.clone()),
                other => json!({"malformed": other.to_text()}),
            };
            let mut part =
                json!({"functionCall": {"id": call.id, "name": call.name, "args": args}});
            if let Some(signature) = ours(&call.signature) {
                part["thoughtSignature"] = json!(signature);
            }
            part
        }
        Part::ToolResult(result) => {
            let key = match result.status {
                ToolStatus::Done => "output",
                ToolStatus::Failed => "error",
            };
            json!({"functionResponse": {
                "id": result.id,
                "name": result.name,
                "response": {key: result.content},
            }})
        }
    })
}

#[cfg(test)]
mod tests;

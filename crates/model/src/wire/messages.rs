//! Anthropic's `/v1/messages`.

mod stream;

use bytes::Bytes;
use serde_json::{Value, json};

pub(super) use self::stream::MessagesStream;
use super::json::{Body, field, list, name, raw, write};
use crate::{
    message::{Message, Part, Role, ToolInput, ToolStatus},
    request::{Caching, Effort, Request, ToolChoice, ToolSpec},
    wire::Wire,
};

/// The protocol wants a limit. Every model of the last years can do this much.
const DEFAULT_MAX_TOKENS: u32 = 16_384;
/// Those that cannot think cannot say more than this either.
const OLD_MAX_TOKENS: u32 = 4096;
const EPHEMERAL: &str = r#""cache_control":{"type":"ephemeral"}"#;
/// A thought whose text the provider does not show. Signatures are base64 and have no colon.
const REDACTED: &str = "redacted:";

/// How a model is told to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    /// Not at all: it cannot.
    Never,
    /// With a number of tokens.
    Budget,
    /// By its own judgement, with a word for how much.
    Adaptive,
}

/// Newer models refuse what older ones need, and every model to come is a newer one.
fn style(model: &str) -> Style {
    let name = model.rsplit('/').next().unwrap_or(model);
    let after = |prefix| name.strip_prefix(prefix).map(|rest: &str| rest.trim_start_matches('-'));
    if after("claude-3-7").is_some() {
        return Style::Budget;
    }
    if ["claude-3", "claude-2", "claude-instant"].into_iter().any(|it| after(it).is_some()) {
        return Style::Never;
    }
    let of_four =
        ["claude-opus-4", "claude-sonnet-4", "claude-haiku-4"].into_iter().find_map(after);
    match of_four {
        // `claude-opus-4`, `claude-opus-4-20250514`, `claude-opus-4-1`, `claude-sonnet-4-5`.
        Some(minor) => match minor.split('-').next().unwrap_or_default() {
            "" | "0" | "1" | "5" => Style::Budget,
            date if date.len() == 8 => Style::Budget,
            _ => Style::Adaptive,
        },
        None => Style::Adaptive,
    }
}

pub(super) fn encode(request: &Request) -> Body {
    let mut head = b"{".to_vec();
    field(&mut head, "model", &request.model);
    let thinking = thinking(request);
    let budget = thinking.as_ref().and_then(|it| it["budget_tokens"].as_u64()).unwrap_or(0);
    let default = match style(&request.model) {
        Style::Never => OLD_MAX_TOKENS,
        Style::Budget | Style::Adaptive => DEFAULT_MAX_TOKENS,
    };
    let max = u64::from(request.max_output_tokens.unwrap_or(default));
    // The budget counts within the limit and must be below it.
    field(&mut head, "max_tokens", &if budget < max { max } else { max + budget });
    field(&mut head, "stream", &true);
    if !request.system.is_empty() {
        name(&mut head, "system");
        raw(&mut head, r#"[{"type":"text","text":"#);
        write(&mut head, &*request.system);
        if request.caching == Caching::On {
            raw(&mut head, ",");
            raw(&mut head, EPHEMERAL);
        }
        raw(&mut head, "}]");
    }
    if let Some(thinking) = thinking {
        field(&mut head, "thinking", &thinking);
    }
    let output = output_config(request);
    if output.as_object().is_some_and(|it| !it.is_empty()) {
        field(&mut head, "output_config", &output);
    }
    let mut body = Body::default();
    if !request.tools.is_empty() {
        let choice = match &request.choice {
            ToolChoice::Auto => json!({"type": "auto"}),
            ToolChoice::None => json!({"type": "none"}),
            ToolChoice::Required => json!({"type": "any"}),
            ToolChoice::Tool(name) => json!({"type": "tool", "name": name}),
        };
        field(&mut head, "tool_choice", &choice);
        name(&mut head, "tools");
        body.push(Bytes::from(std::mem::take(&mut head)));
        body.push(request.tools.encoded(Wire::Messages, |it, out| tools(it, out)).clone());
    }
    raw(&mut head, r#","messages":["#);
    body.push(Bytes::from(head));
    let marked = marked(request);
    for (index, message) in request.messages.iter().enumerate() {
        let encoded = message.encoded(Wire::Messages, encode_message).clone();
        if marked.contains(&Some(index)) && encoded.ends_with(b"}]}") {
            let at = encoded.len() - b"}]}".len();
            list(&mut body, [encoded.slice(..at)].into_iter());
            body.push(Bytes::from_static(b","));
            body.push(Bytes::from_static(EPHEMERAL.as_bytes()));
            body.push(encoded.slice(at..));
        } else {
            list(&mut body, [encoded].into_iter());
        }
    }
    body.push(Bytes::from_static(b"]}"));
    body
}

/// The messages that the provider shall remember everything up to: the last of the user's, and the one before it, whose
/// mark the request before this one set.
fn marked(request: &Request) -> [Option<usize>; 2] {
    if request.caching == Caching::Off {
        return [None, None];
    }
    let messages = request.messages.iter().enumerate().rev();
    let mut users = messages.filter(|(_, it)| it.role == Role::User).map(|(index, _)| index);
    [users.next(), users.next()]
}

fn thinking(request: &Request) -> Option<Value> {
    let effort = request.effort?;
    // A model that must call a tool may not think before.
    if matches!(request.choice, ToolChoice::Required | ToolChoice::Tool(_)) {
        return None;
    }
    match (style(&request.model), effort) {
        (Style::Never, _) | (_, Effort::None) => None,
        (Style::Adaptive, _) => Some(json!({"type": "adaptive", "display": "summarized"})),
        (Style::Budget, effort) => {
            let tokens = match effort {
                Effort::None | Effort::Low => 2048,
                Effort::Medium => 8192,
                Effort::High => 16_384,
                Effort::Max => 31_999,
            };
            Some(json!({"type": "enabled", "budget_tokens": tokens}))
        }
    }
}

fn output_config(request: &Request) -> Value {
    let mut config = json!({});
    if style(&request.model) == Style::Adaptive {
        let word = match request.effort {
            None => None,
            Some(Effort::None | Effort::Low) => Some("low"),
            Some(Effort::Medium) => Some("medium"),
            Some(Effort::High) => Some("high"),
            Some(Effort::Max) => Some("max"),
        };
        if let Some(word) = word {
            config["effort"] = json!(word);
        }
    }
    if let Some(schema) = &request.schema {
        config["format"] = json!({"type": "json_schema", "schema": schema.schema});
    }
    config
}

fn tools(tools: &[ToolSpec], out: &mut Vec<u8>) {
    let tools = tools.iter().map(|tool| {
        json!({"name": tool.name, "description": tool.description, "input_schema": tool.schema})
    });
    write(out, &tools.collect::<Vec<_>>());
}

/// `,{"role":…,"content":[…]}`. Always a list of blocks, so that the last one can be marked.
fn encode_message(message: &Message, out: &mut Vec<u8>) {
    let blocks: Vec<Value> = message.parts.iter().filter_map(block).collect();
    if blocks.is_empty() {
        return;
    }
    let role = match message.role {
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    raw(out, r#",{"role":"#);
    write(out, role);
    field(out, "content", &blocks);
    raw(out, "}");
}

fn block(part: &Part) -> Option<Value> {
    Some(match part {
        // The provider does not take empty text.
        Part::Text(text) if text.is_empty() => return None,
        Part::Text(text) => json!({"type": "text", "text": text}),
        // A thought of another provider, or one without a signature, is not taken back.
        Part::Thinking(thought) => {
            let signature = thought.signature.as_ref().filter(|it| it.wire == Wire::Messages)?;
            match signature.data.strip_prefix(REDACTED) {
                Some(data) => json!({"type": "redacted_thinking", "data": data}),
                None => json!({
                    "type": "thinking",
                    "thinking": thought.text,
                    "signature": signature.data,
                }),
            }
        }
        Part::ToolCall(call) => {
            // Only an object is taken here; what the model wrote instead stays visible to it.
            let input = match &call.input {
                ToolInput::Json(Value::Object(input)) => Value::Object(input.clone()),
                other => json!({"malformed": other.to_text()}),
            };
            json!({"type": "tool_use", "id": call.id, "name": call.name, "input": input})
        }
        Part::ToolResult(result) => {
            let mut block = json!({
                "type": "tool_result",
                "tool_use_id": result.id,
                "content": result.content,
            });
            if result.status == ToolStatus::Failed {
                block["is_error"] = json!(true);
            }
            block
        }
    })
}

#[cfg(test)]
mod tests;

//! The lines of a transcript. Nobody else knows their form.

use std::borrow::Cow;

use agents_model::{
    Message, Part, Role, ToolCall, ToolInput, ToolResult, Usage,
    cost::MicroDollars,
    message::{Signature, Thinking, ToolStatus},
};
use agents_tool::secrets::Mask;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::{TaskId, TaskPath};

/// How a task began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Begin {
    /// The definition.
    pub agent: String,
    /// Where it stands.
    pub path: TaskPath,
    /// The task that started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<TaskId>,
    /// The task that it goes on from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumed_from: Option<TaskId>,
    /// The model that is asked.
    pub model: String,
    /// What it is told to be and to do.
    pub system: String,
    /// What is to be done.
    pub prompt: String,
    /// What its result must look like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// Whether its definition says so; otherwise whoever started it does.
    #[serde(default)]
    pub schema_is_own: bool,
    /// The names of its tools.
    #[serde(default)]
    pub tools: Vec<String>,
}

impl Begin {
    /// The schema of whoever started it, which no definition would give again.
    pub(crate) fn asked_schema(&self) -> Option<&Value> {
        self.schema.as_ref().filter(|_| !self.schema_is_own)
    }
}

/// What one call of the model took.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spent {
    /// Counted from 1.
    pub turn: u64,
    /// Tokens.
    pub tokens: Usage,
    /// Money.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<MicroDollars>,
}

/// The conversation was made shorter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compacted {
    /// How many messages the model no longer sees.
    pub left_out: usize,
}

/// A message as it stands in a line. Where there are parts, these count; `content` is for whoever only shows it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Spoken<'m> {
    role: Role,
    content: Cow<'m, str>,
    #[serde(default)]
    parts: Vec<Piece<'m>>,
    #[serde(default)]
    metadata: Around,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Around {
    visibility: Visibility,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Visibility {
    #[default]
    Both,
    AgentOnly,
    UserOnly,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Piece<'m> {
    Text {
        text: Cow<'m, str>,
    },
    ToolUse {
        id: Cow<'m, str>,
        name: Cow<'m, str>,
        #[serde(default)]
        input: Cow<'m, Value>,
        /// What the model wrote where it should have written JSON.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        raw: Option<Cow<'m, str>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<Cow<'m, Signature>>,
    },
    ToolResult {
        tool_use_id: Cow<'m, str>,
        #[serde(default)]
        name: Cow<'m, str>,
        content: Cow<'m, str>,
        #[serde(default)]
        is_error: bool,
    },
    ThinkingBlock {
        thinking: Cow<'m, str>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<Cow<'m, Signature>>,
    },
    /// Kinds that we do not write.
    #[serde(other)]
    Other,
}

impl<'m> Spoken<'m> {
    /// The form of a message, without anything that nobody may see.
    pub(super) fn new(message: &'m Message, mask: &Mask) -> Self {
        let content = flat(message, mask);
        let parts = match message.parts.as_slice() {
            [Part::Text(_)] => Vec::new(),
            parts => parts.iter().map(|it| Piece::new(it, mask)).collect(),
        };
        Self { role: message.role, content, parts, metadata: Around::default() }
    }

    pub(super) fn into_message(self) -> Message {
        let parts = if self.parts.is_empty() {
            vec![Part::Text(self.content.into_owned())]
        } else {
            self.parts.into_iter().filter_map(Piece::into_part).collect()
        };
        Message { role: self.role, parts }
    }
}

/// What a message says, in one text. What tools answered is in its parts and not repeated.
fn flat<'m>(message: &'m Message, mask: &Mask) -> Cow<'m, str> {
    if let [Part::Text(text)] = message.parts.as_slice() {
        return mask.hide(text);
    }
    let mut lines: Vec<Cow<'_, str>> = Vec::new();
    for part in &message.parts {
        match part {
            Part::Text(text) => lines.push(mask.hide(text)),
            Part::Thinking(_) => {}
            Part::ToolCall(call) => {
                let (name, id) = (mask.hide(&call.name), mask.hide(&call.id));
                lines.push(Cow::Owned(format!("[tool_use: {name}({id})]")));
            }
            Part::ToolResult(result) => {
                lines.push(Cow::Owned(format!("[tool_result: {}]", mask.hide(&result.id))));
            }
        }
    }
    Cow::Owned(lines.join("\n"))
}

impl<'m> Piece<'m> {
    fn new(part: &'m Part, mask: &Mask) -> Self {
        match part {
            Part::Text(text) => Self::Text { text: mask.hide(text) },
            Part::Thinking(Thinking { text, signature }) => Self::ThinkingBlock {
                thinking: mask.hide(text),
                signature: signature.as_ref().map(Cow::Borrowed),
            },
            Part::ToolCall(ToolCall { id, name, input, signature }) => {
                let (input, raw) = match input {
                    ToolInput::Json(value) => (hide_in(value, mask), None),
                    ToolInput::Raw(text) => (Cow::Owned(Value::Null), Some(mask.hide(text))),
                };
                let signature = signature.as_ref().map(Cow::Borrowed);
                Self::ToolUse { id: mask.hide(id), name: mask.hide(name), input, raw, signature }
            }
            Part::ToolResult(ToolResult { id, name, content, status }) => Self::ToolResult {
                tool_use_id: mask.hide(id),
                name: mask.hide(name),
                content: mask.hide(content),
                is_error: *status == ToolStatus::Failed,
            },
        }
    }

    fn into_part(self) -> Option<Part> {
        Some(match self {
            Self::Text { text } => Part::Text(text.into_owned()),
            Self::ThinkingBlock { thinking, signature } => Part::Thinking(Thinking {
                text: thinking.into_owned(),
                signature: signature.map(Cow::into_owned),
            }),
            Self::ToolUse { id, name, input, raw, signature } => Part::ToolCall(ToolCall {
                id: id.into_owned(),
                name: name.into_owned(),
                input: match raw {
                    Some(text) => ToolInput::Raw(text.into_owned()),
                    None => ToolInput::Json(input.into_owned()),
                },
                signature: signature.map(Cow::into_owned),
            }),
            Self::ToolResult { tool_use_id, name, content, is_error } => {
                Part::ToolResult(ToolResult {
                    id: tool_use_id.into_owned(),
                    name: name.into_owned(),
                    content: content.into_owned(),
                    status: if is_error { ToolStatus::Failed } else { ToolStatus::Done },
                })
            }
            Self::Other => return None,
        })
    }
}

/// A value without anything that nobody may see, in its keys neither.
pub(crate) fn hide_in<'v>(value: &'v Value, mask: &Mask) -> Cow<'v, Value> {
    if is_clean(value, mask) { Cow::Borrowed(value) } else { Cow::Owned(hidden(value, mask)) }
}

fn is_clean(value: &Value, mask: &Mask) -> bool {
    let clean = |text: &str| matches!(mask.hide(text), Cow::Borrowed(_));
    match value {
        Value::String(text) => clean(text),
        Value::Array(items) => items.iter().all(|it| is_clean(it, mask)),
        Value::Object(map) => map.iter().all(|(key, it)| clean(key) && is_clean(it, mask)),
        // A secret may be nothing but digits.
        Value::Number(number) => clean(&number.to_string()),
        Value::Null | Value::Bool(_) => true,
    }
}

fn hidden(value: &Value, mask: &Mask) -> Value {
    match value {
        Value::String(text) => Value::String(mask.hide(text).into_owned()),
        Value::Array(items) => items.iter().map(|it| hidden(it, mask)).collect(),
        Value::Object(map) => {
            let hide = |(key, it): (&String, &Value)| (mask.apply(key), hidden(it, mask));
            Value::Object(map.iter().map(hide).collect())
        }
        Value::Number(number) => match mask.hide(&number.to_string()) {
            Cow::Borrowed(_) => value.clone(),
            Cow::Owned(text) => Value::String(text),
        },
        other => other.clone(),
    }
}

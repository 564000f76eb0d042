//! A conversation as one text, for programs that take no other.

use std::fmt::Write as _;

use crate::{
    message::{Part, Role, ToolStatus},
    request::{Effort, Request},
};

/// What a program is told that gets a whole task.
const ALONE: &str = "Do this by yourself, with the tools that you have, until it is done; do not ask anything, for nobody is there to \
     answer. Your last message is the result: what you say before it is not read.";

/// The instructions, and the conversation. A single question stands as it is; of a longer conversation every part says whose it is.
pub(crate) fn prompt(request: &Request) -> (String, String) {
    let mut all = vec![request.system.to_string()];
    if request.work.is_some() {
        all.push(ALONE.to_owned());
    }
    if let Some(schema) = &request.schema {
        let whole = if request.work.is_some() { "Make your last message" } else { "Answer with" };
        all.push(format!(
            "{whole} one JSON value that is valid against this JSON schema, and nothing else:\n{}",
            schema.schema
        ));
    }
    all.retain(|it| !it.is_empty());
    let system = all.join("\n\n");
    let text = match request.messages.as_slice() {
        [only] if only.role == Role::User => only.text(),
        messages => {
            let mut text = String::new();
            for message in messages {
                for part in &message.parts {
                    told(&mut text, message.role, part);
                }
            }
            text.trim_end().to_owned()
        }
    };
    (system, text)
}

fn told(text: &mut String, role: Role, part: &Part) {
    let _ = match part {
        Part::Text(said) => {
            let who = if role == Role::User { "User" } else { "You" };
            write!(text, "{who}: {said}\n\n")
        }
        // Thoughts are nobody else's business.
        Part::Thinking(_) => Ok(()),
        Part::ToolCall(call) => {
            write!(text, "You called {} with {}\n\n", call.name, call.input.to_text())
        }
        Part::ToolResult(result) => {
            let how = if result.status == ToolStatus::Failed { "failed" } else { "answered" };
            write!(text, "{} {how}: {}\n\n", result.name, result.content)
        }
    };
}

/// The word that hosts have for a level.
pub(super) fn effort(effort: Effort) -> &'static str {
    match effort {
        // No host takes less.
        Effort::None | Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High => "high",
        Effort::Max => "max",
    }
}

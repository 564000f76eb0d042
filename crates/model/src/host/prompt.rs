//! A conversation as one text, for programs that take no other.

use std::fmt::Write as _;

use crate::{
    message::{Part, Role, ToolStatus},
    request::{Effort, Request},
};

/// The instructions, and the conversation. A single question stands as it is; of a longer conversation every part says whose it is.
pub(crate) fn prompt(request: &Request) -> (String, String) {
    let mut system = request.system.to_string();
    if let Some(schema) = &request.schema {
        if !system.is_empty() {
            system.push_str("\n\n");
        }
        let _ = write!(
            system,
            "Answer with one JSON value that is valid against this JSON schema, and with nothing else:\n{}",
            schema.schema
        );
    }
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

//! What is concluded from requests, and what the scripted model says to them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod clients;
mod dialogue;
mod sample;
mod seen;

use agents_model::endpoint::{Delivery, Message, Part, Protocol, Request, Role, Tool, ToolCall};
use serde_json::{Value, json};

/// A request in which the model reads `text` and is offered these tools.
fn request(text: &str, tools: &[&str]) -> Request {
    let tool = |name: &&str| Tool {
        group: None,
        name: (*name).to_owned(),
        description: String::new(),
        schema: json!({}),
    };
    Request {
        protocol: Protocol::Chat,
        model: String::new(),
        system: text.to_owned(),
        messages: Vec::new(),
        tools: tools.iter().map(tool).collect(),
        delivery: Delivery::Whole,
    }
}

/// The same, later: the model called something, and was answered.
fn and_then(mut request: Request, name: &str, arguments: Value, answer: &str) -> Request {
    let call = ToolCall { group: None, name: name.to_owned(), arguments };
    let part = Part::Call { id: String::new(), call };
    request.messages.push(Message { role: Role::Assistant, parts: vec![part] });
    let part = Part::Result { id: String::new(), text: answer.to_owned() };
    request.messages.push(Message { role: Role::Tool, parts: vec![part] });
    request
}

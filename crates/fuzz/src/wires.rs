//! What models and the programs that stand for them send while we wait for it.

use agents_host::host::HeadlessFormat;
use agents_model::{
    acp::read_update,
    endpoint::{read_request, stream_text},
    event::Event as ModelEvent,
    host::read_lines,
    message::{Message, Part, Role, Thinking, ToolCall, ToolInput, ToolResult, ToolStatus},
    request::{Request, ToolSpec},
    script::Reply,
    sse::{SseDecoder, SseError},
    wire::{Dialect, Wire as ModelWire, WireDecoder},
};
use serde_json::Value;

/// So much of one event of a stream is kept.
const LIMIT: usize = 1024;

/// Wherever a stream is cut, the same events come out of it, and no more of it is kept than was agreed.
pub fn answer(wire: ModelWire, data: &[u8]) {
    let decode = |size: usize| {
        let mut decoder = WireDecoder::new(wire, LIMIT);
        let mut events = Vec::new();
        let mut fed = Ok(());
        for chunk in data.chunks(size) {
            fed = decoder.feed(chunk, &mut events);
            assert!(decoder.held() <= LIMIT, "{} bytes are kept", decoder.held());
            if fed.is_err() {
                break;
            }
        }
        let ended = fed.and_then(|()| decoder.finish(&mut events));
        (events, ended.map_err(|it| it.to_string()))
    };
    let whole = decode(data.len().max(1));
    for size in [1, 3, 1 + data.len() / 2] {
        assert_eq!(decode(size), whole, "in pieces of {size}");
    }
}

/// Wherever a stream is cut, the same events come out of the decoder itself, and no more is kept than was agreed.
pub fn sse(data: &[u8]) {
    let decode = |size: usize| {
        let (mut decoder, mut events) = (SseDecoder::new(LIMIT), Vec::new());
        for chunk in data.chunks(size) {
            let fed = decoder.feed(chunk, |event| {
                events.push(format!("{event:?}"));
                Ok::<(), SseError>(())
            });
            assert!(decoder.held() <= LIMIT, "{} bytes are kept", decoder.held());
            if let Err(error) = fed {
                return (events, Some(error.to_string()));
            }
        }
        (events, None)
    };
    let whole = decode(data.len().max(1));
    for size in [1, 2, 1 + data.len() / 2] {
        assert_eq!(decode(size), whole, "in pieces of {size}");
    }
}

/// A conversation, one part on each line: `s` instructions, `u` the user, `a` the model, `k` what it thinks, `c` a call, `r` what a tool
/// answered, `t` a tool. In every wire format it is one JSON document in which the other side finds all that was said, and an answer of
/// the other side with the same words is understood here as it was meant.
pub fn request(text: &str) {
    let (request, said) = conversation(text);
    for wire in ModelWire::ALL {
        for dialect in [Dialect::Official, Dialect::Compatible] {
            let body = wire.encode(&request, dialect).to_vec();
            let body: Value = serde_json::from_slice(&body).expect("it is JSON");
            let heard = read_request(wire, "/v1beta/models/m:streamGenerateContent", &body).text();
            for part in &said {
                assert!(heard.contains(part), "{wire:?}: {part:?} is not in {heard:?}");
            }
        }
        for part in said.iter().filter(|it| !it.is_empty()) {
            let arguments = serde_json::json!({ "command": part });
            let reply = Reply::text(part.clone()).and_call("bash", arguments.clone());
            let (spoken, called) = answered(wire, &stream_text(wire, &reply, "m"));
            assert_eq!((&spoken, called), (part, Some(arguments)), "{wire:?}");
        }
    }
}

fn conversation(text: &str) -> (Request, Vec<String>) {
    let (mut request, mut said) = (Request::new("m"), Vec::new());
    let mut calls: Vec<ToolCall> = Vec::new();
    for (number, line) in text.lines().take(24).enumerate() {
        let rest = line.get(1..).unwrap_or_default().trim().to_owned();
        if rest.is_empty() {
            continue;
        }
        let answers = |calls: &mut Vec<ToolCall>, content: &str| {
            Message::results(calls.drain(..).map(|call| ToolResult {
                id: call.id,
                name: call.name,
                content: content.to_owned(),
                status: ToolStatus::default(),
            }))
        };
        let kind = line.as_bytes().first().copied();
        // Whoever is called answers before anybody else speaks.
        if !calls.is_empty() && kind != Some(b'c') {
            request = request.with_message(answers(&mut calls, &rest));
            said.push(rest);
            continue;
        }
        let message = match kind {
            Some(b's') => {
                request = request.with_system(rest.clone());
                continue;
            }
            Some(b't') => {
                let schema = serde_json::json!({ "type": "object", "properties": {} });
                let tool = ToolSpec { name: "bash".to_owned(), description: rest, schema };
                request = request.with_tools([tool]);
                continue;
            }
            Some(b'a') => Message::assistant(rest.clone()),
            Some(b'k') => {
                let thinking = Thinking { text: rest, signature: None };
                let parts = vec![Part::Thinking(thinking), Part::Text("so".to_owned())];
                request = request.with_message(Message { role: Role::Assistant, parts });
                continue;
            }
            Some(b'c') => {
                let id = format!("call-{number}");
                let input = ToolInput::parse(rest);
                let call = ToolCall { id, name: "bash".to_owned(), input, signature: None };
                calls.push(call.clone());
                let parts = vec![Part::ToolCall(call)];
                request = request.with_message(Message { role: Role::Assistant, parts });
                continue;
            }
            _ => Message::user(rest.clone()),
        };
        request = request.with_message(message);
        said.push(rest);
    }
    (request, said)
}

/// What an answer said, and what it called last.
fn answered(wire: ModelWire, stream: &str) -> (String, Option<Value>) {
    let mut decoder = WireDecoder::new(wire, 1024 * 1024);
    let mut events = Vec::new();
    decoder.feed(stream.as_bytes(), &mut events).expect("what the endpoint says can be read");
    decoder.finish(&mut events).expect("it is complete");
    let (mut text, mut input) = (String::new(), String::new());
    for event in events {
        match event {
            ModelEvent::Text(more) => text.push_str(&more),
            ModelEvent::ToolCallDelta { json, .. } => input.push_str(&json),
            _ => {}
        }
    }
    (text, serde_json::from_str(&input).ok())
}

/// What hosts print when they answer as a model, and what agents tell about a session: events, or nothing.
pub fn program_answer(text: &str) {
    use HeadlessFormat::{Claude, Codex, Copilot, Gemini, Goose, OpenCode};
    for format in [Claude, Codex, Gemini, OpenCode, Copilot, Goose] {
        let events = read_lines(format, text);
        let begins = events.iter().filter(|it| matches!(it, ModelEvent::Started { .. })).count();
        assert!(begins <= 1, "{format:?}: {events:?}");
        if let Some(first) = events.first() {
            assert!(matches!(first, ModelEvent::Started { .. }), "{format:?}: {first:?}");
        }
    }
    for line in text.lines() {
        if let Some(events) = read_update(line) {
            assert!(events.len() <= 1);
        }
    }
}

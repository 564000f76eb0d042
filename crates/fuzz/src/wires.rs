//! What others send while we wait for it: models their answers, hosts their events, handlers what they decided.

use agents_hook::{
    Decision, HookOutput,
    wire::{Received, Wire},
};
use agents_host::{Event, host::HeadlessFormat};
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

/// Whatever one host tells can be told to handlers of all others, and is understood there.
pub fn hook_input(data: &[u8]) {
    for wire in Wire::ALL {
        for event in Event::ALL {
            let Ok(Received::Input(input)) = wire.parse_input(event, data) else { continue };
            assert_eq!(input.event(), event);
            for other in Wire::ALL {
                let told = other.render_input(&input);
                let heard = other.parse_input(event, &told);
                assert!(heard.is_ok(), "{wire:?} to {other:?}: {heard:?}");
            }
            drop(agents_hook::wire::whereabouts(data));
        }
    }
}

/// A denial in any format is one in all others, or it is said that it cannot be.
pub fn hook_output(text: &str) {
    for wire in Wire::ALL {
        for event in Event::ALL {
            let Ok(output) = wire.parse_output(event, text) else { continue };
            for other in Wire::ALL {
                let mut output = output.clone();
                // What only one host understands is for that one alone.
                if other != wire {
                    output.native.clear();
                }
                denies(other, event, &output);
            }
        }
    }
}

fn denies(wire: Wire, event: Event, output: &HookOutput) {
    let (answer, losses) = wire.render_output(event, output);
    if output.decision != Some(Decision::Deny) || answer.code != 0 || !losses.is_empty() {
        return;
    }
    let heard = wire.parse_output(event, &answer.stdout).expect("what we say can be read");
    assert!(heard.decision == Some(Decision::Deny) || heard.stop, "{wire:?} {event:?}: {answer:?}");
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

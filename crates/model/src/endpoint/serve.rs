//! One connection: which door was knocked at, and what is answered there.

use std::io;

use serde_json::{Value, json};

use super::{
    Received, Shared,
    http::{Connection, Incoming},
    request::{Delivery, Request},
    wire::{Event, Turn, wire},
};
use crate::{
    script::{Fault, Reply},
    wire::Wire as Protocol,
};

/// What is behind a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Door {
    Model(Protocol),
    CountTokens(Protocol),
    Models,
    None,
}

/// Whether the connection can be used for another request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum After {
    Continue,
    Close,
}

/// Answers everything that comes over one connection.
pub(super) fn serve(mut connection: Connection, shared: &Shared) -> io::Result<()> {
    loop {
        let incoming = match connection.read() {
            Ok(Some(incoming)) => incoming,
            Ok(None) => break,
            // Where the next request would begin is not known.
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                let message = format!("this is no request: {error}");
                send(&mut connection, 400, &[], &json!({"error": {"message": message}}))?;
                break;
            }
            Err(error) => return Err(error),
        };
        let after = answer(&mut connection, &incoming, shared)?;
        if after == After::Close || !incoming.keep_alive {
            break;
        }
    }
    Ok(())
}

fn answer(connection: &mut Connection, incoming: &Incoming, shared: &Shared) -> io::Result<After> {
    let (path, query) = incoming.target.split_once('?').unwrap_or((&incoming.target, ""));
    let json: Option<Value> = serde_json::from_slice(&incoming.body).ok();
    let door = door(&incoming.method, path);
    let request = match (door, &json) {
        (Door::Model(protocol), Some(body)) => Some(wire(protocol).request(path, body)),
        _ => None,
    };
    shared.record(Received {
        method: incoming.method.clone(),
        path: path.to_owned(),
        query: query.to_owned(),
        headers: incoming.headers.clone(),
        json,
        request: request.clone(),
    });
    match (door, request) {
        (Door::Model(_), Some(request)) => speak(connection, &request, shared),
        (Door::Model(protocol), None) => {
            send(connection, 400, &[], &wire(protocol).error(400, "the body is not JSON"))
        }
        (Door::CountTokens(protocol), _) => {
            // About four bytes are one token; clients only want to know whether it is too much.
            let tokens = incoming.body.len() / 4;
            let body = match protocol {
                Protocol::Gemini => json!({"totalTokens": tokens}),
                _ => json!({"input_tokens": tokens}),
            };
            send(connection, 200, &[], &body)
        }
        (Door::Models, _) => send(connection, 200, &[], &models(shared, path)),
        // Some clients knock before they speak. The answer to this method has no body.
        (Door::None, _) if incoming.method == "HEAD" => {
            connection.whole(200, &[], b"")?;
            Ok(After::Continue)
        }
        (Door::None, _) => {
            let message = format!("there is nothing at `{path}`");
            send(connection, 404, &[], &json!({"error": {"message": message}}))
        }
    }
}

/// A client may put anything before the part of the path that the protocol defines.
fn door(method: &str, path: &str) -> Door {
    let path = path.trim_end_matches('/');
    let name = path.rsplit_once(':').map_or("", |(_, name)| name);
    match method {
        "POST" if path.ends_with("/messages/count_tokens") => Door::CountTokens(Protocol::Messages),
        "POST" if name == "countTokens" => Door::CountTokens(Protocol::Gemini),
        "POST" if path.ends_with("/messages") => Door::Model(Protocol::Messages),
        "POST" if path.ends_with("/chat/completions") => Door::Model(Protocol::Chat),
        "POST" if path.ends_with("/responses") => Door::Model(Protocol::Responses),
        "POST" if matches!(name, "generateContent" | "streamGenerateContent") => {
            Door::Model(Protocol::Gemini)
        }
        "GET" if path.ends_with("/models") => Door::Models,
        _ => Door::None,
    }
}

fn models(shared: &Shared, path: &str) -> Value {
    let model = &shared.model;
    if path.contains("/v1beta/") {
        let methods = ["generateContent", "streamGenerateContent", "countTokens"];
        let name = format!("models/{model}");
        return json!({"models": [{"name": name, "supportedGenerationMethods": methods}]});
    }
    // What Anthropic and OpenAI say in one: each client reads the keys that it knows.
    let entry = json!({
        "id": model,
        "object": "model",
        "type": "model",
        "display_name": model,
        "created": 0,
        "created_at": "2026-01-01T00:00:00Z",
        "owned_by": "script",
    });
    json!({"object": "list", "data": [entry], "has_more": false, "first_id": model, "last_id": model})
}

fn speak(connection: &mut Connection, request: &Request, shared: &Shared) -> io::Result<After> {
    let reply = shared.script.reply(request);
    let turn = Turn { number: shared.next_turn(), model: &request.model, reply: &reply };
    let wire = wire(request.protocol);
    shared.stop.sleep(reply.delay);
    match &reply.fault {
        Some(Fault::Silence) => {
            connection.wait_for_end();
            return Ok(After::Close);
        }
        Some(Fault::Status { code, headers, message }) => {
            return send(connection, *code, headers, &wire.error(*code, message));
        }
        _ => {}
    }
    match request.delivery {
        Delivery::Streamed => {
            let kind = match &reply.fault {
                Some(Fault::ContentType(kind)) => kind,
                _ => "text/event-stream",
            };
            connection.begin(200, &headers(kind))?;
            stream(connection, shared, &reply, &wire.events(&turn), |message| wire.failure(message))
        }
        Delivery::Whole => {
            whole(connection, &reply, &wire.whole(&turn), |message| wire.error(500, message))
        }
    }
}

fn stream(
    connection: &mut Connection,
    shared: &Shared,
    reply: &Reply,
    events: &[Event],
    failure: impl Fn(&str) -> Event,
) -> io::Result<After> {
    for (sent, event) in events.iter().enumerate() {
        match &reply.fault {
            Some(Fault::StallAfter(count)) if *count == sent => {
                connection.wait_for_end();
                return Ok(After::Close);
            }
            Some(Fault::DropAfter(count)) if *count == sent => return Ok(After::Close),
            Some(Fault::ResetAfter(count)) if *count == sent => {
                connection.reset();
                return Ok(After::Close);
            }
            Some(Fault::EndlessLineAfter(count, length)) if *count == sent => {
                endless_line(connection, *length)?;
                connection.wait_for_end();
                return Ok(After::Close);
            }
            Some(Fault::ErrorAfter(count, message)) if *count == sent => {
                write(connection, reply, &failure(message).render())?;
                connection.end()?;
                return Ok(After::Continue);
            }
            Some(Fault::GarbageAfter(count)) if *count == sent => {
                write(connection, reply, &event.render_garbage())?;
            }
            _ => {}
        }
        if sent > 0 {
            shared.stop.sleep(reply.pace);
        }
        write(connection, reply, &event.render())?;
    }
    connection.end()?;
    Ok(After::Continue)
}

fn endless_line(connection: &mut Connection, length: u64) -> io::Result<()> {
    let block = [b'x'; 64 * 1024];
    connection.chunk(b"data: \"")?;
    let mut left = length;
    while left > 0 {
        let size = block.len().min(usize::try_from(left).unwrap_or(block.len()));
        connection.chunk(&block[..size])?;
        left -= size as u64;
    }
    Ok(())
}

fn write(connection: &mut Connection, reply: &Reply, text: &str) -> io::Result<()> {
    let bytes = text.as_bytes();
    for fragment in bytes.chunks(reply.fragment.unwrap_or(bytes.len())) {
        connection.chunk(fragment)?;
    }
    Ok(())
}

/// A reply in one piece is one event: whatever goes wrong after it comes too late to matter.
fn whole(
    connection: &mut Connection,
    reply: &Reply,
    body: &Value,
    failure: impl Fn(&str) -> Value,
) -> io::Result<After> {
    let text = body.to_string();
    let half = &text.as_bytes()[..text.len() / 2];
    match &reply.fault {
        Some(Fault::ErrorAfter(0, message)) => send(connection, 500, &[], &failure(message)),
        Some(Fault::GarbageAfter(0)) => {
            connection.whole(200, &headers("application/json"), half)?;
            Ok(After::Continue)
        }
        Some(Fault::ResetAfter(0)) => {
            connection.reset();
            Ok(After::Close)
        }
        Some(Fault::DropAfter(0) | Fault::StallAfter(0)) => {
            connection.begin(200, &headers("application/json"))?;
            connection.chunk(half)?;
            if reply.fault == Some(Fault::StallAfter(0)) {
                connection.wait_for_end();
            }
            Ok(After::Close)
        }
        _ => send(connection, 200, &[], body),
    }
}

fn send(
    connection: &mut Connection,
    status: u16,
    more: &[(String, String)],
    body: &Value,
) -> io::Result<After> {
    let mut headers = headers("application/json");
    headers.extend_from_slice(more);
    connection.whole(status, &headers, body.to_string().as_bytes())?;
    Ok(After::Continue)
}

fn headers(content_type: &str) -> Vec<(String, String)> {
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    vec![pair("content-type", content_type), pair("cache-control", "no-cache")]
}

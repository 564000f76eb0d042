//! What providers say besides answers, and what clients say to a provider of ours.

use std::{
    io::{Read as _, Write as _},
    net::{Shutdown, TcpStream},
    time::Duration,
};

use agents_model::{
    endpoint::{Endpoint, Part, Reply, Script, read_request},
    http::{read_error, read_models},
    wire::Wire,
};
use serde_json::Value;

/// More of an error is not told.
const MAX_SAID: usize = 500;
/// Whoever waits longer waits for ever.
const PATIENCE: Duration = Duration::from_secs(4);

/// A status on the first line, then a body: whatever it looks like, something bounded is told on one line, and nothing of it steers a
/// terminal. A time to come back at is one that can be waited for or refused, not one that overflows.
pub fn provider_error(data: &[u8]) {
    let (first, body) = split_line(data);
    let status = std::str::from_utf8(first).ok().and_then(|it| it.trim().parse().ok());
    for status in status.into_iter().chain([400, 404, 429, 500]) {
        for model in ["", "best"] {
            let problem = read_error(status, body, model);
            let told = problem.to_string();
            assert!(!told.is_empty() && told.len() <= MAX_SAID + 200, "{told:?}");
            assert!(!told.contains(char::is_control), "{told:?}");
            drop(format!("{problem:?}"));
        }
    }
}

/// A list of models: those that it has in its order, each with a name, or why it is none.
pub fn provider_models(data: &[u8]) {
    match read_models(data) {
        Ok(models) => {
            let value: Value = serde_json::from_slice(data).expect("it was understood");
            let list = value["data"].as_array().or(value["models"].as_array()).expect("a list");
            assert!(models.len() <= list.len());
            let mut at = list.iter();
            for model in &models {
                let odd = |it: char| it.is_control() || it.is_whitespace();
                assert!(!model.id.is_empty() && !model.id.contains(odd), "{:?}", model.id);
                let is_it = |it: &Value| {
                    let id = it["id"].as_str().or(it["name"].as_str()).unwrap_or_default();
                    id.ends_with(&model.id)
                };
                assert!(at.any(is_it), "{:?} is not there, or not in this order", model.id);
                assert!(!model.title.as_deref().is_some_and(|it| it.contains(char::is_control)));
            }
        }
        Err(problem) => assert!(!problem.to_string().is_empty()),
    }
}

/// Any JSON as a request in each wire format: what is read of it is in it, and no more than that.
pub fn endpoint_request(text: &str) {
    let (path, body) = text.split_once('\n').unwrap_or(("/v1/x", text));
    let Ok(body) = serde_json::from_str::<Value>(body) else { return };
    let size = body.to_string().len();
    for wire in [Wire::Messages, Wire::Chat, Wire::Responses, Wire::Gemini] {
        let request = read_request(wire, path, &body);
        assert_eq!(request.protocol, wire);
        let parts = || request.messages.iter().flat_map(|it| &it.parts);
        let of = |it: &Part| match it {
            Part::Text(text) | Part::Result { text, .. } => text.len(),
            Part::Call { call, .. } => call.name.len(),
            Part::Other(_) => 0,
        };
        let said: usize = request.system.len() + parts().map(of).sum::<usize>();
        // Lines between texts are ours.
        assert!(said <= 2 * size + 64 && request.text().len() <= 3 * size + 64, "{wire:?}: {said}");
        assert_eq!(
            request.calls().count(),
            parts().filter(|it| matches!(it, Part::Call { .. })).count()
        );
        for tool in &request.tools {
            assert!(request.tool(&tool.full_name()).is_some(), "{tool:?}");
        }
    }
}

/// Bytes of a client of `model serve`: whatever they are, each request is answered once, in HTTP that can be read, wherever it is cut;
/// what is none is refused, and then the connection ends.
pub fn endpoint(data: &[u8]) {
    thread_local! {
        static ENDPOINT: Endpoint = Endpoint::start(Script::rule(|_| Reply::text("so be it")));
    }
    ENDPOINT.with(|endpoint| {
        let heard = |pieces: [&[u8]; 2]| {
            endpoint.forget();
            let answers = check_answers(&spoken(endpoint, pieces));
            let received = endpoint.received();
            let refused = answers.last() == Some(&400);
            assert!(received.len() <= answers.len(), "{answers:?}");
            assert!(answers.len() <= received.len() + usize::from(refused), "{answers:?}");
            (answers, received)
        };
        let whole = heard([data, b""]);
        let (one, other) = data.split_at(data.len() / 2);
        assert_eq!(heard([one, other]), whole, "in two pieces");
    });
}

fn spoken(endpoint: &Endpoint, pieces: [&[u8]; 2]) -> Vec<u8> {
    let mut stream = TcpStream::connect(("127.0.0.1", endpoint.port())).expect("it listens");
    stream.set_nodelay(true).expect("a socket");
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
    for piece in pieces {
        // It may have refused to hear more.
        if stream.write_all(piece).is_err() {
            break;
        }
    }
    let _ = stream.shutdown(Shutdown::Write);
    let mut heard = Vec::new();
    // Who refuses may hang up while we still speak.
    let read = stream.read_to_end(&mut heard);
    let hangs = |it: &std::io::Error| {
        use std::io::ErrorKind::{TimedOut, WouldBlock};
        matches!(it.kind(), TimedOut | WouldBlock)
    };
    assert!(!read.is_err_and(|it| hangs(&it)), "it neither answers nor ends");
    heard
}

/// The codes of the answers. What is not complete was cut off by the end of a connection, and only the last one can be.
fn check_answers(mut bytes: &[u8]) -> Vec<u16> {
    let mut codes = Vec::new();
    while !bytes.is_empty() {
        let at = bytes.windows(4).position(|it| it == b"\r\n\r\n").expect("the end of the headers");
        let head = std::str::from_utf8(&bytes[..at]).expect("headers are text");
        bytes = &bytes[at + 4..];
        let mut lines = head.split("\r\n");
        let first = lines.next().unwrap_or_default();
        let code = first.strip_prefix("HTTP/1.1 ").and_then(|it| it.get(..3)?.parse().ok());
        let code: u16 = code.unwrap_or_else(|| panic!("{first:?}"));
        let of = |name: &str| {
            let mut values = head.split("\r\n").filter_map(|it| it.split_once(": "));
            values.find(|(it, _)| *it == name).map(|(_, value)| value)
        };
        if code == 100 {
            continue;
        }
        match of("content-length") {
            Some(length) => bytes = &bytes[length.parse::<usize>().expect("a length")..],
            None => {
                assert_eq!(of("transfer-encoding"), Some("chunked"), "{head}");
                bytes = after_chunks(bytes);
            }
        }
        codes.push(code);
    }
    codes
}

fn after_chunks(mut bytes: &[u8]) -> &[u8] {
    loop {
        let (line, rest) = split_line(bytes);
        let line = std::str::from_utf8(line).expect("a size").trim_end();
        let size = usize::from_str_radix(line, 16).unwrap_or_else(|_| panic!("{line:?}"));
        bytes = &rest[size + 2..];
        if size == 0 {
            return bytes;
        }
    }
}

fn split_line(bytes: &[u8]) -> (&[u8], &[u8]) {
    let at = bytes.iter().position(|it| *it == b'\n').unwrap_or(bytes.len());
    (&bytes[..at], bytes.get(at + 1..).unwrap_or_default())
}

//! The same loop over real HTTP, in every wire format.

use std::{
    io::{Read as _, Write as _},
    net::TcpListener,
    sync::Arc,
    time::Duration,
};

use agents_model::{HttpProvider, RetryPolicy, Wire};
use agents_task::{Ending, Failure, Limit};
use agents_testkit::endpoint::{Endpoint, Protocol, Reply, Script, stream_text};
use serde_json::{Value, json};

use crate::{World, script};

const TALK: &str = r#"
    [[replies]]
    text = "Let me look."
    calls = [{ name = "read", input = { path = "a.txt" } }, { name = "find", input = { pattern = "*.txt" } }]

    [[replies]]
    when = { result = "forty-two" }
    text = "I could say it in a text."

    [[replies]]
    when = { text = "reminder 1 of 3" }
    calls = [{ name = "yield", input = { data = { n = "42" } } }]

    [[replies]]
    when = { result = "is not of type" }
    calls = [{ name = "yield", input = { data = { n = 42 } } }]
"#;

fn world(wire: Wire, endpoint: &Endpoint) -> World {
    let url = match wire {
        Wire::Chat | Wire::Responses => format!("{}/v1", endpoint.url()),
        Wire::Messages | Wire::Gemini => endpoint.url(),
    };
    let provider = HttpProvider::new("endpoint", wire, &url).unwrap();
    World::with(Arc::new(provider.with_retry(RetryPolicy::never())))
}

#[test]
fn a_whole_task_in_every_wire_format() {
    for wire in Wire::ALL {
        // The most telling reply first: a result stays in sight when the next text comes.
        let mut file = script(TALK);
        file.replies.reverse();
        let endpoint = Endpoint::start(Script::file(file));
        let world = world(wire, &endpoint)
            .file("a.txt", "forty-two")
            .wanting(json!({ "properties": { "n": { "type": "uint8" } } }));
        let outcome = world.run();
        assert_eq!(outcome.ending, Ending::Completed, "{wire:?}: {:?}", outcome.ending);
        assert_eq!(outcome.report.output.unwrap().value, json!({ "n": 42 }), "{wire:?}");
        assert_eq!((outcome.report.turns, outcome.report.tool_calls), (4, 2), "{wire:?}");
        assert_eq!(endpoint.requests().len(), 4, "{wire:?}");
    }
}

/// A server that sends so many events of an answer, then one byte at a time of one that never ends.
fn dripping_after(events: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answer = stream_text(Protocol::Messages, &Reply::text("So far."), "any");
    let begun: String = answer.split_inclusive("\n\n").take(events).collect();
    std::thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let _ = client.read(&mut [0; 65536]);
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
        let mut sent = client.write_all(format!("{head}{begun}data: ").as_bytes());
        // Until the client has had enough.
        while sent.is_ok() {
            std::thread::sleep(Duration::from_millis(10));
            sent = client.write_all(b"x").and_then(|()| client.flush());
        }
    });
    url
}

#[test]
fn a_drip_of_bytes_that_never_makes_an_event() {
    for (events, limit, said) in [(0, Limit::FirstToken, ""), (4, Limit::Idle, "So far.")] {
        let url = dripping_after(events);
        let provider = HttpProvider::new("endpoint", Wire::Messages, &url).unwrap();
        let mut world = World::with(Arc::new(provider.with_retry(RetryPolicy::never())));
        world.patience.model.first_token = Duration::from_millis(400);
        world.patience.model.idle = Duration::from_millis(400);
        // Without it, only this would end it.
        world.patience.model.total = Duration::from_secs(5);
        let outcome = world.run();
        assert_eq!(outcome.ending, Ending::OutOfLimits { limit });
        assert_eq!(outcome.report.text, said);
    }
}

#[test]
fn the_last_reminder_leaves_no_choice() {
    let text = "[[replies]]\nwhen = { tool = \"yield\" }\ntext = \"I am done.\"";
    let endpoint = Endpoint::start(Script::file(script(text)));
    let outcome = world(Wire::Messages, &endpoint).wanting(json!({ "type": "object" })).run();
    assert_eq!(outcome.ending, Ending::Failed { why: Failure::NoResult });
    let choices: Vec<Value> = endpoint
        .received()
        .into_iter()
        .map(|it| it.json.unwrap().get("tool_choice").cloned().unwrap_or_default())
        .collect();
    let forced = json!({ "type": "tool", "name": "yield" });
    assert_eq!(choices.len(), 4);
    assert_eq!(choices.iter().position(|it| *it == forced), Some(3), "{choices:?}");
}

#[test]
fn a_connection_that_stays_open_in_the_middle_of_a_call() {
    let stall = "[[replies]]\ncalls = [{ name = \"read\", input = { path = \"a.txt\" } }]\nfault = { stall-after = 3 }";
    let endpoint = Endpoint::start(Script::file(script(stall)));
    let mut world = world(Wire::Messages, &endpoint);
    world.patience.model.idle = Duration::from_millis(100);
    let outcome = world.run();
    assert_eq!(outcome.ending, Ending::OutOfLimits { limit: Limit::Idle });
    assert_eq!(outcome.report.tool_calls, 0);
}

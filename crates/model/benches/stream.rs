//! What streaming and asking cost.
//!
//! ```text
//! cargo bench -p agents-model --bench stream
//! ```
//!
//! Three questions. How fast bytes become typed events, against the usual way (the `eventsource-stream` crate, then
//! `serde_json` into a tagged enum). What building a request costs as the conversation grows, against serialising
//! all of it each time. And what a whole turn costs over loopback, against a client that only moves the bytes.
//!
//! Everything is measured in one run, in turns and in an order that changes, and each figure is the least of all rounds: a
//! noisy machine makes nothing faster. What matters are the ratios. It ends with 1 when a goal of the issue is
//! missed.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a measurement"
)]

#[path = "stream/turn.rs"]
mod turn;

use std::{
    hint::black_box,
    process::ExitCode,
    time::{Duration, Instant},
};

use agents_model::{
    Dialect, Event, Message, Part, Request, Role, ToolInput, ToolResult, ToolSpec, Wire,
    endpoint::{Reply, stream_text},
    message::{ToolCall, ToolStatus},
    sse::DEFAULT_LIMIT,
    wire::WireDecoder,
};
use eventsource_stream::Eventsource as _;
use futures_util::StreamExt as _;
use serde::Deserialize;
use serde_json::json;

const ROUNDS: usize = 41;
/// As much as a connection gives at a time, more or less.
const CHUNK: usize = 8 * 1024;
/// How much faster than the usual way it must be.
const FASTER: f64 = 2.0;
/// How much more a turn may cost with a hundred times the conversation, beyond what the bytes themselves cost.
const GROWTH: f64 = 2.0;
/// How much more than moving its bytes a turn may cost.
const TURN: f64 = 3.0;

/// Runs all of them in turns, each round beginning with another one; the least time of each.
fn least(runs: &mut [&mut dyn FnMut()]) -> Vec<Duration> {
    let mut least = vec![Duration::MAX; runs.len()];
    for round in 0..ROUNDS {
        for step in 0..runs.len() {
            let at = (round + step) % runs.len();
            let start = Instant::now();
            runs[at]();
            least[at] = least[at].min(start.elapsed());
        }
    }
    least
}

fn main() -> ExitCode {
    let streams = streams();
    requests();
    let turn = turn::measure();
    println!();
    let goals = [
        (
            "decoding a stream is {} times as fast as the usual way",
            streams,
            FASTER,
            streams >= FASTER,
        ),
        ("a turn costs {} times what a raw client costs", turn.ratio, TURN, turn.ratio <= TURN),
        (
            "a turn grows {} times as much as a raw client's",
            turn.growth,
            GROWTH,
            turn.growth <= GROWTH,
        ),
    ];
    for (what, value, goal, is_met) in goals {
        let what = what.replace("{}", &format!("{value:.2}"));
        println!("{}: {what}, at worst (goal: {goal})", if is_met { "met" } else { "missed" });
    }
    if goals.iter().all(|goal| goal.3) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The worst ratio of all wire formats.
fn streams() -> f64 {
    println!("SSE to typed events, in chunks of {CHUNK} bytes, least of {ROUNDS} rounds");
    let mut worst = f64::MAX;
    for wire in Wire::ALL {
        let bytes = stream_of(wire).into_bytes();
        let chunks: Vec<&[u8]> = bytes.chunks(CHUNK).collect();
        let count = ours(wire, &chunks);
        assert!(count > 10_000 && usual(wire, &chunks) > 10_000, "{wire}");
        let times = least(&mut [
            &mut || _ = black_box(ours(wire, &chunks)),
            &mut || _ = black_box(usual(wire, &chunks)),
            &mut || _ = black_box(frames(&chunks)),
            &mut || _ = black_box(usual_frames(&chunks)),
        ]);
        let rate = |time: Duration| bytes.len() as f64 / 1e6 / time.as_secs_f64();
        let ratio = times[1].as_secs_f64() / times[0].as_secs_f64();
        println!(
            "{:<10} {:>6.0} MB/s, the usual way {:>5.0} MB/s: {ratio:.2} times as fast; \
             frames alone {:>6.0} against {:>5.0} MB/s: {:.1}",
            wire.word(),
            rate(times[0]),
            rate(times[1]),
            rate(times[2]),
            rate(times[3]),
            times[3].as_secs_f64() / times[2].as_secs_f64(),
        );
        worst = worst.min(ratio);
    }
    worst
}

/// A long answer in pieces of the size that models send them.
fn stream_of(wire: Wire) -> String {
    let words =
        "The borrow checker wants `a` to outlive `b`, so we move the guard out of the loop.\n";
    let mut reply = Reply::text(words.repeat(700))
        .and_call("write", json!({"path": "src/lib.rs", "text": words.repeat(200)}));
    reply.piece = 5;
    stream_text(wire, &reply, "some-model")
}

fn ours(wire: Wire, chunks: &[&[u8]]) -> usize {
    let mut decoder = WireDecoder::new(wire, DEFAULT_LIMIT);
    let mut events: Vec<Event> = Vec::new();
    let mut count = 0;
    for chunk in chunks {
        decoder.feed(chunk, &mut events).unwrap();
        count += black_box(&events).len();
        events.clear();
    }
    decoder.finish(&mut events).unwrap();
    count + events.len()
}

fn frames(chunks: &[&[u8]]) -> usize {
    let mut decoder = agents_model::sse::SseDecoder::default();
    let mut count = 0;
    for chunk in chunks {
        let count = &mut count;
        let sink = |event: agents_model::sse::SseEvent<'_>| {
            *count += black_box(event.data).len();
            Ok::<_, agents_model::sse::SseError>(())
        };
        decoder.feed(chunk, sink).unwrap();
    }
    count
}

fn each_frame(chunks: &[&[u8]], mut take: impl FnMut(eventsource_stream::Event)) {
    let chunks = chunks.iter().map(|it| Ok::<_, std::io::Error>(*it));
    let mut events = futures_util::stream::iter(chunks).eventsource();
    let waker = futures_util::task::noop_waker();
    let mut context = std::task::Context::from_waker(&waker);
    while let std::task::Poll::Ready(Some(event)) = events.poll_next_unpin(&mut context) {
        take(event.unwrap());
    }
}

fn usual_frames(chunks: &[&[u8]]) -> usize {
    let mut count = 0;
    each_frame(chunks, |event| count += black_box(event.data).len());
    count
}

/// What one finds in most clients: every event into a `String`, then into the types of the protocol.
fn usual(wire: Wire, chunks: &[&[u8]]) -> usize {
    let mut count = 0;
    each_frame(chunks, |event| {
        if event.data == "[DONE]" {
            return;
        }
        match wire {
            Wire::Messages => {
                drop(black_box(serde_json::from_str::<Messages>(&event.data).unwrap()));
            }
            Wire::Responses => {
                drop(black_box(serde_json::from_str::<Responses>(&event.data).unwrap()));
            }
            Wire::Chat => drop(black_box(serde_json::from_str::<Chat>(&event.data).unwrap())),
            Wire::Gemini => drop(black_box(serde_json::from_str::<Gemini>(&event.data).unwrap())),
        }
        count += 1;
    });
    count
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[allow(dead_code, reason = "what is read is not looked at")]
enum Messages {
    MessageStart { message: serde_json::Value },
    ContentBlockStart { index: u64, content_block: serde_json::Value },
    ContentBlockDelta { index: u64, delta: MessagesDelta },
    ContentBlockStop { index: u64 },
    MessageDelta { delta: serde_json::Value, usage: serde_json::Value },
    MessageStop,
    Ping,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[allow(dead_code, reason = "what is read is not looked at")]
enum MessagesDelta {
    TextDelta { text: String },
    InputJsonDelta { partial_json: String },
}

#[derive(Deserialize)]
#[serde(tag = "type")]
#[allow(dead_code, reason = "what is read is not looked at")]
enum Responses {
    #[serde(rename = "response.output_text.delta")]
    Text {
        item_id: String,
        output_index: u64,
        content_index: u64,
        delta: String,
        sequence_number: u64,
    },
    #[serde(rename = "response.function_call_arguments.delta")]
    Arguments { item_id: String, output_index: u64, delta: String, sequence_number: u64 },
    #[serde(untagged)]
    Other(serde_json::Value),
}

#[derive(Deserialize)]
#[allow(dead_code, reason = "what is read is not looked at")]
struct Chat {
    id: String,
    object: String,
    created: u64,
    model: String,
    choices: Vec<ChatChoice>,
    usage: Option<serde_json::Value>,
}

#[derive(Deserialize)]
#[allow(dead_code, reason = "what is read is not looked at")]
struct ChatChoice {
    index: u64,
    delta: ChatDelta,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
#[allow(dead_code, reason = "what is read is not looked at")]
struct ChatDelta {
    role: Option<String>,
    content: Option<String>,
    tool_calls: Option<Vec<ChatCall>>,
}

#[derive(Deserialize)]
#[allow(dead_code, reason = "what is read is not looked at")]
struct ChatCall {
    index: u64,
    id: Option<String>,
    r#type: Option<String>,
    function: Option<ChatFunction>,
}

#[derive(Deserialize)]
#[allow(dead_code, reason = "what is read is not looked at")]
struct ChatFunction {
    name: Option<String>,
    arguments: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(dead_code, reason = "what is read is not looked at")]
struct Gemini {
    candidates: Vec<GeminiCandidate>,
    usage_metadata: Option<serde_json::Value>,
    model_version: Option<String>,
    response_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(dead_code, reason = "what is read is not looked at")]
struct GeminiCandidate {
    content: GeminiContent,
    finish_reason: Option<String>,
    index: Option<u64>,
}

#[derive(Deserialize)]
#[allow(dead_code, reason = "what is read is not looked at")]
struct GeminiContent {
    role: Option<String>,
    parts: Vec<GeminiPart>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(dead_code, reason = "what is read is not looked at")]
struct GeminiPart {
    text: Option<String>,
    function_call: Option<serde_json::Value>,
}

/// What a request costs with 4 kB and with 400 kB of history.
fn requests() {
    println!("\nbuilding a request with one new message, least of {ROUNDS} rounds of 20");
    for wire in Wire::ALL {
        let small = history(4 * 1024);
        let large = history(400 * 1024);
        let times = least(&mut [
            &mut || turns(wire, &small, Known::Before),
            &mut || turns(wire, &large, Known::Before),
            &mut || turns(wire, &small, Known::Never),
            &mut || turns(wire, &large, Known::Never),
        ]);
        let each = |at: usize| times[at].as_secs_f64() * 1e6 / 20.0;
        println!(
            "{:<10} 4 kB {:>5.1} µs, 400 kB {:>5.1} µs (serialised again {:>5.1} and {:>6.1} µs): \
             {:.0} times cheaper, grows {:.1} against {:.0}",
            wire.word(),
            each(0),
            each(1),
            each(2),
            each(3),
            each(3) / each(1),
            each(1) / each(0),
            each(3) / each(2),
        );
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    /// The history was sent before.
    Before,
    /// Everything is new each time.
    Never,
}

fn turns(wire: Wire, history: &Request, known: Known) {
    for number in 0..20 {
        let mut request = match known {
            Known::Before => history.clone(),
            Known::Never => {
                let mut request = history.clone();
                let fresh = history.messages.iter().map(|it| Message::clone(it).seal());
                request.messages = fresh.collect();
                let tools: Vec<ToolSpec> = history.tools.to_vec();
                request.with_tools(tools)
            }
        };
        request.messages.push(Message::user(format!("turn {number}")).seal());
        black_box(wire.encode(&request, Dialect::Official));
    }
}

/// A conversation as it comes from work: calls, what tools answered, a few words.
fn history(bytes: usize) -> Request {
    let tools = (0..12).map(|number| ToolSpec {
        name: format!("tool_{number}"),
        description: "Does something with a file of the workspace.".repeat(4),
        schema: json!({"type": "object", "properties": {
            "path": {"type": "string", "description": "Where it is"},
            "lines": {"type": "array", "items": {"type": "integer"}},
        }}),
    });
    let mut request = Request::new("some-model")
        .with_system("You are careful. Say what you saw.\n".repeat(60))
        .with_tools(tools)
        .with_message(Message::user("Find the bug"));
    let source = "    let value = map.get(\"key\").copied().unwrap_or_default();\n".repeat(60);
    let (mut size, mut number) = (0, 0);
    while size < bytes {
        let id = format!("call_{number}");
        let call = ToolCall {
            id: id.clone(),
            name: "tool_1".to_owned(),
            input: ToolInput::Json(json!({"path": "src/lib.rs", "lines": [number, 80]})),
            signature: None,
        };
        let said = Part::Text("I look at the next part of it.".to_owned());
        let parts = vec![said, Part::ToolCall(call)];
        let end = source.floor_char_boundary(source.len().min(bytes - size));
        let result = ToolResult {
            id,
            name: "tool_1".to_owned(),
            content: source[..end].to_owned(),
            status: ToolStatus::Done,
        };
        size += end.max(1);
        number += 1;
        request = request
            .with_message(Message { role: Role::Assistant, parts })
            .with_message(Message::results([result]));
    }
    // As after the turn before this one.
    for wire in Wire::ALL {
        black_box(wire.encode(&request, Dialect::Official));
    }
    request
}

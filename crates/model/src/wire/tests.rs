//! What the endpoint encodes, we decode, in whatever pieces it comes.

#![cfg(feature = "endpoint")]

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::{
    endpoint::stream_text,
    event::{Event, StopReason, Turn, Usage},
    message::{Part, ToolInput},
    script::{Reply, Said},
    sse::DEFAULT_LIMIT,
};

fn decode<'a>(wire: Wire, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Event> {
    let mut decoder = WireDecoder::new(wire, DEFAULT_LIMIT);
    let mut events = Vec::new();
    for piece in pieces {
        decoder.feed(piece, &mut events).unwrap();
    }
    decoder.finish(&mut events).unwrap();
    assert!(decoder.is_stopped());
    events
}

/// What of a reply can be seen through this wire format.
#[derive(Debug, PartialEq)]
struct Seen {
    text: String,
    thoughts: String,
    calls: Vec<(String, ToolInput)>,
    usage: Option<Usage>,
    stop: Option<StopReason>,
    model: String,
}

fn seen(turn: &Turn) -> Seen {
    let thoughts = turn.message.parts.iter().filter_map(|part| match part {
        Part::Thinking(thought) => Some(thought.text.as_str()),
        _ => None,
    });
    let calls = turn.message.tool_calls().map(|it| (it.name.clone(), it.input.clone()));
    Seen {
        text: turn.message.text(),
        thoughts: thoughts.collect(),
        calls: calls.collect(),
        usage: turn.usage,
        stop: turn.stop.clone(),
        model: turn.model.clone(),
    }
}

fn said(wire: Wire, reply: &Reply) -> Seen {
    let mut seen = Seen {
        text: String::new(),
        thoughts: String::new(),
        calls: Vec::new(),
        usage: reply.usage.map(|usage| Usage {
            cache_write: if wire == Wire::Messages { usage.cache_write } else { 0 },
            reasoning: if wire == Wire::Messages { 0 } else { usage.reasoning },
            ..usage
        }),
        stop: Some(reply.stop_reason()),
        model: reply.model.clone().unwrap_or("asked".to_owned()),
    };
    for said in &reply.says {
        match said {
            Said::Text(text) => seen.text.push_str(text),
            Said::Thinking(text) => seen.thoughts.push_str(text),
            Said::Call(call) => {
                seen.calls.push((call.name.clone(), ToolInput::Json(call.arguments.clone())));
            }
        }
    }
    seen
}

fn replies() -> impl Strategy<Value = Reply> {
    let text = || "\\PC{0,40}|[a-z\"\\\\\n\r\t€😀]{1,30}";
    let value = prop_oneof![
        text().prop_map(Value::String),
        any::<i64>().prop_map(Value::from),
        Just(json!([null, true, {"a": []}])),
    ];
    let input = proptest::collection::btree_map("[a-z]{1,6}", value, 0..4)
        .prop_map(|map| Value::Object(map.into_iter().collect()));
    let said = prop_oneof![
        text().prop_map(Said::Text),
        text().prop_map(Said::Thinking),
        ("[a-z_]{1,12}", input).prop_map(|(name, arguments)| Said::Call(
            crate::script::ScriptedCall { group: None, name, arguments }
        )),
    ];
    let usage = (0..1000u64, 0..1000u64, 0..1000u64, 0..1000u64, 0..1000u64).prop_map(
        |(input, output, cache_read, cache_write, reasoning)| Usage {
            input,
            output: output + reasoning,
            cache_read,
            cache_write,
            reasoning,
        },
    );
    let stop =
        proptest::option::of(prop_oneof![Just(StopReason::MaxTokens), Just(StopReason::Refusal),]);
    let says = proptest::collection::vec(said, 0..6);
    let model = proptest::option::of("[a-z0-9/.-]{1,12}");
    (says, proptest::option::of(usage), stop, model, 1..40usize).prop_map(
        |(says, usage, stop, model, piece)| Reply {
            says,
            usage,
            stop,
            model,
            piece,
            ..Reply::default()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_is_encoded_is_decoded_in_any_pieces(
        reply in replies(),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..60),
        size in 1..50usize,
    ) {
        for wire in Wire::ALL {
            let text = stream_text(wire, &reply, "asked");
            let bytes = text.as_bytes();
            let whole = decode(wire, [bytes]);
            let mut cuts: Vec<usize> = cuts.iter().map(|it| it.index(bytes.len() + 1)).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let pieces = cuts.windows(2).map(|it| &bytes[it[0]..it[1]]);
            prop_assert_eq!(&decode(wire, pieces), &whole, "{}", wire);
            prop_assert_eq!(&decode(wire, bytes.chunks(size)), &whole, "{}", wire);
            let turn: Turn = whole.into_iter().collect();
            prop_assert_eq!(seen(&turn), said(wire, &reply), "{}", wire);
        }
    }

    #[test]
    fn no_stream_makes_a_decoder_panic(
        reply in replies(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        end in any::<prop::sample::Index>(),
    ) {
        for wire in Wire::ALL {
            let mut bytes = stream_text(wire, &reply, "asked").into_bytes();
            for (at, byte) in &changes {
                let at = at.index(bytes.len());
                bytes[at] = *byte;
            }
            bytes.truncate(end.index(bytes.len() + 1));
            let mut decoder = WireDecoder::new(wire, DEFAULT_LIMIT);
            let mut events = Vec::new();
            if decoder.feed(&bytes, &mut events).is_ok() {
                let _ = decoder.finish(&mut events);
            }
            let stops = events.iter().filter(|it| matches!(it, Event::Stopped(_))).count();
            prop_assert!(stops <= 1);
        }
    }
}

#[test]
fn an_answer_goes_back_as_it_came() {
    let reply = Reply::default()
        .and_thinking("first")
        .and_text("I look")
        .and_call("read", json!({"path": "ä"}));
    for wire in Wire::ALL {
        let text = stream_text(wire, &reply, "asked");
        let turn: Turn = decode(wire, [text.as_bytes()]).into_iter().collect();
        let id = turn.message.tool_calls().next().unwrap().id.clone();
        let request =
            Request::new("m").with_message(crate::Message::user("hi")).with_message(turn.message);
        let body = wire.encode(&request, Dialect::Official);
        let body: Value = serde_json::from_slice(&body.to_vec()).unwrap();
        let sent = match wire {
            Wire::Messages => body["messages"][1]["content"].clone(),
            Wire::Chat => body["messages"][1].clone(),
            Wire::Responses => Value::Array(body["input"].as_array().unwrap()[1..].to_vec()),
            Wire::Gemini => body["contents"][1]["parts"].clone(),
        };
        let expected = match wire {
            Wire::Messages => json!([
                {"type": "thinking", "thinking": "first", "signature": "sealed_0000_0"},
                {"type": "text", "text": "I look"},
                {"type": "tool_use", "id": id, "name": "read", "input": {"path": "ä"}},
            ]),
            Wire::Chat => json!({
                "role": "assistant",
                "content": "I look",
                "reasoning_content": "first",
                "tool_calls": [{"id": id, "type": "function", "function": {
                    "name": "read", "arguments": "{\"path\":\"ä\"}",
                }}],
            }),
            Wire::Responses => json!([
                {
                    "type": "reasoning",
                    "summary": [{"type": "summary_text", "text": "first"}],
                    "encrypted_content": "sealed_0000_0",
                    "id": "rs_0000_0",
                },
                {
                    "type": "message",
                    "role": "assistant",
                    "content": [{"type": "output_text", "text": "I look"}],
                },
                {
                    "type": "function_call",
                    "call_id": id,
                    "name": "read",
                    "arguments": "{\"path\":\"ä\"}",
                },
            ]),
            Wire::Gemini => json!([
                {"text": "", "thoughtSignature": "sealed_0000_0"},
                {"text": "I look"},
                {"functionCall": {"id": id, "name": "read", "args": {"path": "ä"}}},
            ]),
        };
        assert_eq!(sent, expected, "{wire}");
    }
}

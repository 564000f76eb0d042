//! The liberties that compatible servers take.

use serde_json::{Value, json};

use super::*;
use crate::{
    error::Problem,
    event::{Event, StopReason, Turn, Usage},
    message::ToolInput,
};

fn decode(chunks: &[Value]) -> (Turn, Vec<Event>) {
    let mut state = ChatStream::default();
    let mut events = Vec::new();
    for chunk in chunks {
        state.event(&chunk.to_string(), &mut events).unwrap();
    }
    assert!(state.event("[DONE]", &mut events).unwrap());
    (events.iter().cloned().collect(), events)
}

fn delta(delta: &Value) -> Value {
    json!({"id": "x", "model": "m", "choices": [{"index": 0, "delta": delta}]})
}

fn calls(turn: &Turn) -> Vec<(String, String, String)> {
    let calls = turn.message.tool_calls();
    calls.map(|it| (it.id.clone(), it.name.clone(), it.input.to_text())).collect()
}

fn call(id: &str, name: &str, arguments: &str) -> (String, String, String) {
    (id.to_owned(), name.to_owned(), arguments.to_owned())
}

#[test]
fn ollama_sends_calls_whole_and_all_with_the_same_index() {
    let one = json!({"index": 0, "id": "call_a", "type": "function", "function": {"name": "read", "arguments": "{\"a\":1}"}});
    let two = json!({"index": 0, "id": "call_b", "type": "function", "function": {"name": "list", "arguments": "{}"}});
    let (turn, _) = decode(&[
        delta(&json!({"role": "assistant", "content": "", "tool_calls": [one]})),
        delta(&json!({"tool_calls": [two]})),
        json!({"id": "x", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
    ]);
    assert_eq!(calls(&turn), [call("call_a", "read", "{\"a\":1}"), call("call_b", "list", "{}")]);
    assert_eq!(turn.stop, Some(StopReason::ToolCalls), "although it says `stop`");
    assert_eq!(turn.usage, None);
}

#[test]
fn calls_without_id_index_or_packed_arguments() {
    let one = json!({"function": {"name": "read", "arguments": {"a": [1]}}});
    let two = json!({"function": {"name": "read", "arguments": {"a": [2]}}});
    let three = json!({"function": {"name": "list", "arguments": null}});
    let (turn, _) = decode(&[
        delta(&json!({"tool_calls": [one]})),
        delta(&json!({"tool_calls": [two, three]})),
    ]);
    assert_eq!(
        calls(&turn),
        [
            call("x_0", "read", "{\"a\":[1]}"),
            call("x_1", "read", "{\"a\":[2]}"),
            call("x_2", "list", "{}"),
        ]
    );
}

#[test]
fn calls_of_an_answer_without_a_name_are_counted() {
    let one = json!({"function": {"name": "list", "arguments": null}});
    let (turn, _) = decode(&[json!({"choices": [{"delta": {"tool_calls": [one]}}]})]);
    assert_eq!(calls(&turn), [call("call_0", "list", "{}")]);
}

#[test]
fn a_name_that_is_repeated_with_every_piece_is_one_call() {
    let piece = |arguments: &str| {
        let function = json!({"name": "read", "arguments": arguments});
        delta(&json!({"tool_calls": [{"index": 0, "id": "c", "function": function}]}))
    };
    let (turn, _) = decode(&[piece("{\"a\""), piece(":1"), piece("}")]);
    assert_eq!(calls(&turn), [call("c", "read", "{\"a\":1}")]);
}

#[test]
fn input_that_is_not_json_is_kept_as_it_is() {
    let (turn, _) = decode(&[delta(&json!({"tool_calls": [
        {"index": 0, "id": "c", "function": {"name": "read", "arguments": "{\"a\": "}},
    ]}))]);
    let call = turn.message.tool_calls().next().unwrap();
    assert_eq!(call.input, ToolInput::Raw("{\"a\": ".to_owned()));
}

#[test]
fn thoughts_by_every_name() {
    for (thought, key) in [
        (json!({"reasoning_content": "hm"}), "reasoning_content"),
        (json!({"reasoning": "hm"}), "reasoning"),
        (json!({"reasoning": "hm", "reasoning_content": "hm"}), "reasoning_content"),
        (
            json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]}),
            "reasoning_content",
        ),
    ] {
        let (turn, events) = decode(&[
            delta(&thought),
            delta(&json!({"content": "so", "reasoning_content": null})),
            delta(&json!({"content": [{"type": "text", "text": "!"}]})),
        ]);
        assert_eq!(turn.message.text(), "so!", "{thought}");
        let thoughts: Vec<&Event> =
            events.iter().filter(|it| matches!(it, Event::Thinking(_))).collect();
        assert_eq!(thoughts, [&Event::Thinking("hm".to_owned())], "{thought}");
        let Some(Part::Thinking(thought)) = turn.message.parts.first() else { panic!() };
        assert_eq!(thought.signature.as_ref().map(|it| &*it.data), Some(key));
    }
}

#[test]
fn usage_with_and_without_details() {
    let usage = |usage: Value| decode(&[json!({"choices": [], "usage": usage})]).0.usage;
    assert_eq!(usage(Value::Null), None);
    assert_eq!(
        usage(json!({"prompt_tokens": 10, "completion_tokens": 2})),
        Some(Usage { input: 10, output: 2, ..Usage::default() })
    );
    assert_eq!(
        usage(json!({
            "prompt_tokens": 10,
            "completion_tokens": 9,
            "prompt_tokens_details": {"cached_tokens": 8, "audio_tokens": null},
            "completion_tokens_details": {"reasoning_tokens": 4},
        })),
        Some(Usage { input: 2, output: 9, cache_read: 8, reasoning: 4, ..Usage::default() })
    );
    assert_eq!(
        usage(
            json!({"prompt_tokens": 10, "prompt_cache_hit_tokens": 4, "prompt_tokens_details": null})
        ),
        Some(Usage { input: 6, cache_read: 4, ..Usage::default() })
    );
}

#[test]
fn errors_in_the_stream_are_errors() {
    for (error, is) in [
        (json!({"error": {"message": "busy", "code": 503}}), "overloaded"),
        (json!({"error": {"message": "busy", "code": "rate_limit_exceeded"}}), "rate"),
        (json!({"error": "out of memory"}), "overloaded"),
        (json!({"error": {"message": "maximum context length is 5", "code": 400}}), "long"),
    ] {
        let problem = ChatStream::default().event(&error.to_string(), &mut Vec::new()).unwrap_err();
        let seen = match problem {
            Problem::Overloaded { .. } => "overloaded",
            Problem::RateLimited { .. } => "rate",
            Problem::ContextTooLong { .. } => "long",
            _ => "other",
        };
        assert_eq!(seen, is, "{error}");
    }
}

#[test]
fn a_stream_without_a_mark_at_its_end_is_complete_when_there_was_a_reason() {
    let mut state = ChatStream::default();
    let mut events = Vec::new();
    state.event(&delta(&json!({"content": "x"})).to_string(), &mut events).unwrap();
    assert!(!state.finish(&mut events));
    let last = json!({"choices": [{"delta": {}, "finish_reason": "length"}]});
    state.event(&last.to_string(), &mut events).unwrap();
    assert!(state.finish(&mut events));
    assert_eq!(events.last(), Some(&Event::Stopped(StopReason::MaxTokens)));
}

/// Chunks are written as text here: what is repeated is compared as it stands.
fn events(chunks: &[&str]) -> Result<Vec<Event>, Problem> {
    let mut state = ChatStream::default();
    let mut events = Vec::new();
    for chunk in chunks {
        state.event(chunk, &mut events)?;
    }
    Ok(events)
}

#[test]
fn chunks_that_begin_alike_are_read_like_those_that_do_not() {
    let heads =
        [r#"{"id":"x","model":"m","#, r#"{"model" : "m", "id": "x", "x": {"choices":[]}, "#];
    let tails = [
        r#""choices":[{"delta":{"content":"a"}}]}"#,
        r#""choices": [{"index":0,"delta":{"content":"\u0062\n"},"finish_reason":null}],"usage":null}"#,
        r#""choices":[{"delta":{"content":"c"}},{"delta":{"content":"not asked for"}}], "obfuscation":"}]"}"#,
        r#""choices":[{"delta":{"tool_calls":[{"index":0,"id":"1","function":{"name":"read","arguments":"{\"a\":"}}]}}]}"#,
        r#""choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}}] }"#,
        r#""choices":[{"delta":{},"finish_reason":"stop"}]}"#,
        r#""choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4}}"#,
        r#""choices":null,"usage":{"prompt_tokens":3,"completion_tokens":5}}"#,
    ];
    for head in heads {
        let chunks: Vec<String> = tails.iter().map(|tail| format!("{head}{tail}")).collect();
        let alike: Vec<&str> = chunks.iter().map(String::as_str).collect();
        // Another beginning each time, and the same once more.
        let each: Vec<String> = (0..)
            .zip(&chunks)
            .map(|(n, it)| it.replacen('{', &format!("{{\"n\":{n},"), 1))
            .collect();
        let each: Vec<&str> = each.iter().map(String::as_str).collect();
        let seen = events(&alike).unwrap();
        assert_eq!(seen, events(&each).unwrap());
        let twice: Vec<&str> = alike.iter().flat_map(|it| [*it, *it]).collect();
        assert!(events(&twice).is_ok());
        let turn: Turn = seen.into_iter().collect();
        assert_eq!((turn.message.text().as_str(), turn.id.as_str()), ("ab\nc", "x"));
        assert_eq!(turn.usage, Some(Usage { input: 3, output: 5, ..Usage::default() }));
    }
}

#[test]
fn a_beginning_that_says_something_is_said_each_time() {
    let usage = r#"{"id":"x","usage":{"completion_tokens":7},"choices":[]}"#;
    let count = |events: Vec<Event>| {
        events.iter().filter(|it| matches!(it, Event::Usage(usage) if usage.output == 7)).count()
    };
    assert_eq!(count(events(&[usage, usage, usage]).unwrap()), 3);
    let plain = r#"{"id":"x","choices":[]}"#;
    let failed = r#"{"id":"x","choices":[],"error":{"message":"no","code":500}}"#;
    assert!(events(&[plain, plain, failed]).is_err());
    for broken in [
        r#"{"id":"x","choices":[]"#,
        r#"{"id":"x","choices":[]}}"#,
        r#"{"id":"x","choices":[],}"#,
        r#"{"id":"x","choices":}"#,
        r#"{"id":"x","choices":[{]}"#,
    ] {
        let error = events(&[plain, plain, broken]).unwrap_err();
        assert!(matches!(error, Problem::Protocol { .. }), "{broken}: {error:?}");
    }
}

use super::*;
use crate::{error::Problem, event::Event, message::Thinking};

fn feed(frames: &[Value]) -> Result<Vec<Event>, Problem> {
    let mut state = MessagesStream::default();
    let mut events = Vec::new();
    for frame in frames {
        state.event(&frame.to_string(), &mut events)?;
    }
    Ok(events)
}

#[test]
fn each_generation_thinks_in_its_own_way() {
    for (model, expected) in [
        ("claude-3-haiku-20240307", Style::Never),
        ("claude-3-5-sonnet-latest", Style::Never),
        ("claude-3-7-sonnet-20250219", Style::Budget),
        ("claude-sonnet-4-20250514", Style::Budget),
        ("claude-opus-4", Style::Budget),
        ("claude-opus-4-1-20250805", Style::Budget),
        ("anthropic/claude-haiku-4-5", Style::Budget),
        ("claude-opus-4-6", Style::Adaptive),
        ("claude-sonnet-4-6-20260217", Style::Adaptive),
        ("claude-opus-5", Style::Adaptive),
        ("something-else", Style::Adaptive),
    ] {
        assert_eq!(style(model), expected, "{model}");
    }
}

#[test]
fn thoughts_that_are_not_shown_go_back_unread() {
    let block = json!({"type": "redacted_thinking", "data": "abc="});
    let events =
        feed(&[json!({"type": "content_block_start", "index": 0, "content_block": block})])
            .unwrap();
    let turn: crate::Turn = events.into_iter().collect();
    assert_eq!(super::block(&turn.message.parts[0]), Some(block));
    let unsigned = Part::Thinking(Thinking { text: "x".to_owned(), signature: None });
    assert_eq!(super::block(&unsigned), None);
}

#[test]
fn unknown_events_blocks_and_deltas_are_passed_over() {
    let events =
        feed(&[json!({"type": "brand_new", "index": "not a number?"}), json!({"type": "ping"})]);
    // A key that we read must be what it was; everything else may be anything.
    assert!(matches!(events, Err(Problem::Protocol { .. })));
    let events = feed(&[
        json!({"type": "brand_new", "delta": {"type": "x"}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "server_tool_use", "id": "s"}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "citations_delta", "citation": {}}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": "{}"}}),
        json!({"type": "content_block_stop", "index": 0}),
    ]);
    assert_eq!(events.unwrap(), []);
}

#[test]
fn errors_are_told_apart() {
    let error = |kind: &str| {
        let frame = json!({"type": "error", "error": {"type": kind, "message": "m"}});
        feed(&[frame]).unwrap_err()
    };
    assert!(matches!(error("overloaded_error"), Problem::Overloaded { status: None, .. }));
    assert!(matches!(error("api_error"), Problem::Overloaded { .. }));
    assert!(matches!(error("rate_limit_error"), Problem::RateLimited { .. }));
    assert!(matches!(error("invalid_request_error"), Problem::BadRequest { .. }));
    assert!(matches!(error("authentication_error"), Problem::Unauthorized { .. }));
}

#[test]
fn what_this_format_does_not_take_is_not_sent() {
    let message = Message { role: Role::User, parts: vec![Part::Text(String::new())] };
    let request = Request::new("m")
        .with_message(message)
        .with_message(Message::user("x"))
        .with_message(Message::assistant(""));
    let body: Value = serde_json::from_slice(&encode(&request).to_vec()).unwrap();
    assert_eq!(body["messages"].as_array().unwrap().len(), 1);
    assert_eq!(body.get("system"), None);
    assert_eq!(body.get("tools"), None);
}

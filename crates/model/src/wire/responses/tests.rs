use super::*;
use crate::{
    error::Problem,
    event::{Event, StopReason, Turn},
};

fn feed(frames: &[Value]) -> Result<Turn, Problem> {
    let mut state = ResponsesStream::default();
    let mut events: Vec<Event> = Vec::new();
    for frame in frames {
        state.event(&frame.to_string(), &mut events)?;
    }
    Ok(events.into_iter().collect())
}

#[test]
fn what_comes_only_at_the_end_of_an_item_is_not_lost_and_not_said_twice() {
    let message = json!({"type": "message", "content": [{"type": "output_text", "text": "hello"}]});
    let call =
        json!({"type": "function_call", "call_id": "c", "name": "read", "arguments": "{\"a\":1}"});
    let turn = feed(&[
        json!({"type": "response.created", "response": {"id": "r", "model": "m"}}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": message}),
        json!({"type": "response.output_item.done", "output_index": 1, "item": call}),
        json!({"type": "response.output_text.delta", "output_index": 2, "delta": "hello"}),
        json!({"type": "response.output_item.done", "output_index": 2, "item": message}),
        json!({"type": "response.completed", "response": {}}),
    ])
    .unwrap();
    assert_eq!(turn.message.text(), "hellohello");
    assert_eq!(turn.message.tool_calls().next().unwrap().input.to_text(), "{\"a\":1}");
    assert_eq!(turn.stop, Some(StopReason::ToolCalls));
}

#[test]
fn a_refusal_is_said_and_is_the_reason() {
    let turn = feed(&[
        json!({"type": "response.refusal.delta", "output_index": 0, "delta": "no"}),
        json!({"type": "response.completed", "response": {"usage": null}}),
    ])
    .unwrap();
    assert_eq!((turn.message.text(), turn.stop), ("no".to_owned(), Some(StopReason::Refusal)));
}

#[test]
fn parts_of_a_summary_are_paragraphs() {
    let delta =
        |text: &str| json!({"type": "response.reasoning_summary_text.delta", "delta": text});
    let part = |index: u64| json!({"type": "response.reasoning_summary_part.added", "summary_index": index});
    let turn = feed(&[part(0), delta("a"), part(1), delta("b")]).unwrap();
    let Some(Part::Thinking(thought)) = turn.message.parts.first() else { panic!() };
    assert_eq!(thought.text, "a\n\nb");
}

#[test]
fn both_kinds_of_errors() {
    let failed = json!({"type": "response.failed", "response": {"error": {"code": "rate_limit_exceeded", "message": "m"}}});
    assert!(matches!(feed(&[failed]), Err(Problem::RateLimited { .. })));
    let error = json!({"type": "error", "code": "server_error", "message": "m", "param": null});
    assert!(matches!(feed(&[error]), Err(Problem::Overloaded { said, .. }) if said == "m"));
    let error = json!({"type": "error", "error": {"type": "invalid_request_error", "code": "context_length_exceeded", "message": "m"}});
    assert!(matches!(feed(&[error]), Err(Problem::ContextTooLong { .. })));
}

#[test]
fn models_that_do_not_think_are_not_told_to() {
    let body = |model: &str| -> Value {
        let request = Request::new(model).with_effort(crate::Effort::High);
        serde_json::from_slice(&encode(&request, Dialect::Official).to_vec()).unwrap()
    };
    assert_eq!(body("gpt-4.1").get("include"), None);
    assert_eq!(body("gpt-4.1").get("reasoning"), None);
    assert_eq!(body("o4-mini")["reasoning"]["effort"], "high");
}

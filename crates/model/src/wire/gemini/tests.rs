use super::*;
use crate::{
    error::Problem,
    event::{Event, StopReason, Turn},
};

fn feed(chunks: &[Value]) -> Result<Turn, Problem> {
    let mut state = GeminiStream::default();
    let mut events: Vec<Event> = Vec::new();
    for chunk in chunks {
        state.event(&chunk.to_string(), &mut events)?;
    }
    state.finish(&mut events);
    Ok(events.into_iter().collect())
}

fn chunk(parts: &Value) -> Value {
    json!({"responseId": "r", "modelVersion": "gemini-x", "candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]})
}

#[test]
fn signatures_go_back_where_they_came_from() {
    let call =
        json!({"functionCall": {"name": "read", "args": {"a": 1}}, "thoughtSignature": "s1"});
    let text = json!({"text": "so", "thoughtSignature": "s2"});
    let turn = feed(&[chunk(&json!([{"text": "hm", "thought": true}, call, text]))]).unwrap();
    assert_eq!((&*turn.model, turn.stop.clone()), ("gemini-x", Some(StopReason::ToolCalls)));
    let sent: Vec<Value> = turn.message.parts.iter().filter_map(part).collect();
    assert_eq!(
        json!(sent),
        json!([
            {"functionCall": {"id": "r_0", "name": "read", "args": {"a": 1}}, "thoughtSignature": "s1"},
            {"text": "so"},
            {"text": "", "thoughtSignature": "s2"},
        ])
    );
}

#[test]
fn a_question_that_is_blocked_is_refused() {
    let blocked = json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}});
    assert!(
        matches!(feed(&[blocked]), Err(Problem::Refused { said }) if said == "PROHIBITED_CONTENT")
    );
    let mut stopped = chunk(&json!([]));
    stopped["candidates"][0]["finishReason"] = json!("SAFETY");
    assert_eq!(feed(&[stopped]).unwrap().stop, Some(StopReason::Refusal));
}

#[test]
fn each_generation_is_told_in_its_own_way() {
    let thinking = |model: &str, effort| super::thinking(model, effort).unwrap_or_default();
    assert_eq!(thinking("gemini-2.0-flash", Effort::High), Value::Null);
    assert_eq!(thinking("gemini-2.5-pro", Effort::None)["thinkingBudget"], 128);
    assert_eq!(thinking("gemini-2.5-flash", Effort::Max)["thinkingBudget"], 24_576);
    assert_eq!(thinking("gemini-3-pro-preview", Effort::Low)["thinkingLevel"], "low");
}

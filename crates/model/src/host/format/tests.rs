//! Lines as the published programs print them, cut down to what is read.

use serde_json::json;

use super::*;

fn read(format: HeadlessFormat, lines: &[Value]) -> Result<Vec<Event>, String> {
    let mut reader = Reader::new(format);
    let mut events = Vec::new();
    for line in lines {
        reader.read(line, &mut events)?;
    }
    Ok(events)
}

fn usage(input: u64, output: u64, cache_read: u64) -> Event {
    Event::Usage(Usage { input, output, cache_read, ..Usage::default() })
}

fn said(text: &str) -> Event {
    Event::Text(text.to_owned())
}

fn seen(id: &str, name: &str, phase: ToolPhase, about: &str) -> Event {
    notice(id, name, phase, &json!(about))
}

const END: Event = Event::Stopped(StopReason::End);

#[test]
fn claude_tells_pieces_once_and_its_tools() {
    let delta = |delta: Value| json!({"type": "stream_event", "event": {"type": "content_block_delta", "index": 0, "delta": delta}, "parent_tool_use_id": null});
    let assistant = |part: Value| json!({"type": "assistant", "message": {"id": "msg_0", "content": [part]}, "parent_tool_use_id": null});
    let events = read(
        HeadlessFormat::Claude,
        &[
            json!({"type": "system", "subtype": "init", "session_id": "s-1", "model": "claude-sonnet-5-5", "tools": ["Read"]}),
            json!({"type": "system", "subtype": "status", "status": "requesting"}),
            delta(json!({"type": "thinking_delta", "thinking": "Hm."})),
            delta(json!({"type": "text_delta", "text": "Let me "})),
            delta(json!({"type": "text_delta", "text": "look."})),
            assistant(json!({"type": "text", "text": "Let me look."})),
            assistant(
                json!({"type": "tool_use", "id": "t1", "name": "Read", "input": {"path": "a"}}),
            ),
            json!({"type": "assistant", "message": {"content": [{"type": "text", "text": "of a sub-agent"}]}, "parent_tool_use_id": "t1"}),
            json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t1", "content": "nothing", "is_error": true}]}}),
            json!({"type": "result", "subtype": "success", "is_error": false, "stop_reason": "end_turn", "result": "Let me look.",
                   "usage": {"input_tokens": 200, "output_tokens": 20, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 0}}),
        ],
    );
    assert_eq!(
        events.unwrap(),
        [
            started("s-1", "claude-sonnet-5-5"),
            Event::Thinking("Hm.".to_owned()),
            said("Let me "),
            said("look."),
            notice("t1", "Read", ToolPhase::Begins, &json!({"path": "a"})),
            seen("t1", "", ToolPhase::Failed, "nothing"),
            usage(200, 20, 7),
            END,
        ]
    );
}

#[test]
fn claude_without_pieces_tells_whole_messages() {
    let events = read(
        HeadlessFormat::Claude,
        &[
            json!({"type": "assistant", "message": {"content": [{"type": "text", "text": "Yes."}]}}),
            // The last line of 2.1.325 has no type.
            json!({"is_error": false, "stop_reason": "max_tokens", "usage": {}}),
        ],
    );
    assert_eq!(
        events.unwrap(),
        [started("", ""), said("Yes."), usage(0, 0, 0), Event::Stopped(StopReason::MaxTokens)]
    );
}

#[test]
fn codex_tells_items() {
    let events = read(
        HeadlessFormat::Codex,
        &[
            json!({"type": "thread.started", "thread_id": "t-1"}),
            json!({"type": "item.completed", "item": {"id": "item_0", "type": "error", "message": "Model metadata for `x` not found."}}),
            json!({"type": "turn.started"}),
            json!({"type": "item.completed", "item": {"id": "item_1", "type": "reasoning", "text": "Hm."}}),
            json!({"type": "item.started", "item": {"id": "item_2", "type": "command_execution", "command": "ls", "status": "in_progress"}}),
            json!({"type": "item.completed", "item": {"id": "item_2", "type": "command_execution", "command": "ls", "aggregated_output": "a\n", "exit_code": 1, "status": "failed"}}),
            json!({"type": "item.completed", "item": {"id": "item_3", "type": "agent_message", "text": "Forty-two."}}),
            json!({"type": "turn.completed", "usage": {"input_tokens": 200, "cached_input_tokens": 50, "output_tokens": 20}}),
        ],
    );
    assert_eq!(
        events.unwrap(),
        [
            started("t-1", ""),
            Event::Thinking("Hm.".to_owned()),
            seen("item_2", "command", ToolPhase::Begins, "ls"),
            seen("item_2", "command", ToolPhase::Failed, "a\n"),
            said("Forty-two."),
            usage(150, 20, 50),
            END,
        ]
    );
}

#[test]
fn gemini_tells_pieces() {
    let events = read(
        HeadlessFormat::Gemini,
        &[
            json!({"type": "init", "session_id": "s", "model": "gemini-4-argon"}),
            json!({"type": "message", "role": "user", "content": "What?"}),
            json!({"type": "tool_use", "tool_name": "read_file", "tool_id": "r1", "parameters": {"path": "a"}}),
            json!({"type": "tool_result", "tool_id": "r1", "status": "success", "output": "text"}),
            json!({"type": "message", "role": "assistant", "content": "Forty-", "delta": true}),
            json!({"type": "message", "role": "assistant", "content": "two.", "delta": true}),
            json!({"type": "result", "status": "success", "stats": {"input_tokens": 100, "output_tokens": 10, "cached": 40, "input": 60}}),
        ],
    );
    assert_eq!(
        events.unwrap(),
        [
            started("s", "gemini-4-argon"),
            notice("r1", "read_file", ToolPhase::Begins, &json!({"path": "a"})),
            seen("r1", "", ToolPhase::Done, "text"),
            said("Forty-"),
            said("two."),
            usage(60, 10, 40),
            END,
        ]
    );
}

#[test]
fn opencode_adds_up_its_steps() {
    let finish = |reason: &str| {
        json!({"type": "step_finish", "sessionID": "s", "part": {"reason": reason,
               "tokens": {"input": 100, "output": 10, "reasoning": 5, "cache": {"read": 3, "write": 0}}}})
    };
    let events = read(
        HeadlessFormat::OpenCode,
        &[
            json!({"type": "step_start", "sessionID": "s", "part": {}}),
            json!({"type": "tool_use", "part": {"tool": "bash", "callID": "c1", "state": {"status": "error", "input": {"command": "ls"}, "error": "denied"}}}),
            finish("tool-calls"),
            json!({"type": "step_start", "sessionID": "s", "part": {}}),
            json!({"type": "text", "part": {"text": "Forty-two."}}),
            finish("stop"),
        ],
    );
    let counted = |times: u64| {
        Event::Usage(Usage {
            input: 100 * times,
            output: 15 * times,
            cache_read: 3 * times,
            cache_write: 0,
            reasoning: 5 * times,
        })
    };
    assert_eq!(
        events.unwrap(),
        [
            started("s", ""),
            notice("c1", "bash", ToolPhase::Begins, &json!({"command": "ls"})),
            seen("c1", "bash", ToolPhase::Failed, "denied"),
            counted(1),
            said("Forty-two."),
            counted(2),
            END,
        ]
    );
}

#[test]
fn copilot_tells_its_session() {
    let events = read(
        HeadlessFormat::Copilot,
        &[
            json!({"type": "session.tools_updated", "data": {"model": "m"}}),
            json!({"type": "model.call_start", "data": {"turnId": "0", "model": "m"}}),
            json!({"type": "assistant.message_delta", "data": {"deltaContent": "Forty-two."}}),
            json!({"type": "assistant.message", "data": {"content": "Forty-two.", "toolRequests": []}}),
            json!({"type": "tool.execution_start", "data": {"toolCallId": "c", "toolName": "bash", "arguments": {}}}),
            json!({"type": "tool.execution_complete", "data": {"toolCallId": "c", "success": false, "error": {"message": "denied"}}}),
            json!({"type": "model.call_start", "data": {"turnId": "1", "model": "m"}}),
            json!({"type": "result", "exitCode": 0, "usage": {"premiumRequests": 0}}),
        ],
    );
    assert_eq!(
        events.unwrap(),
        [
            started("", "m"),
            said("Forty-two."),
            notice("c", "bash", ToolPhase::Begins, &json!({})),
            seen("c", "", ToolPhase::Failed, "denied"),
            END,
        ]
    );
}

#[test]
fn goose_tells_messages() {
    let message = |role: &str, part: Value| json!({"type": "message", "message": {"role": role, "content": [part]}});
    let events = read(
        HeadlessFormat::Goose,
        &[
            message(
                "assistant",
                json!({"type": "toolRequest", "id": "c", "toolCall": {"status": "success", "value": {"name": "shell", "arguments": {"command": "ls"}}}}),
            ),
            message(
                "user",
                json!({"type": "toolResponse", "id": "c", "toolResult": {"status": "success", "value": {"content": [{"type": "text", "text": "a"}], "isError": false}}}),
            ),
            message("assistant", json!({"type": "text", "text": "Forty-"})),
            message("assistant", json!({"type": "text", "text": "two."})),
            json!({"type": "complete", "total_tokens": 220, "input_tokens": 200, "output_tokens": 20, "cache_read_input_tokens": 1}),
        ],
    );
    assert_eq!(
        events.unwrap(),
        [
            started("", ""),
            notice("c", "shell", ToolPhase::Begins, &json!({"command": "ls"})),
            seen("c", "", ToolPhase::Done, "a"),
            said("Forty-"),
            said("two."),
            usage(199, 20, 1),
            END,
        ]
    );
}

#[test]
fn what_a_host_says_went_wrong_is_the_error() {
    for (format, line, error) in [
        (
            HeadlessFormat::Claude,
            json!({"type": "result", "is_error": true, "result": "Invalid API key"}),
            "Invalid API key",
        ),
        (
            HeadlessFormat::Claude,
            json!({"type": "result", "is_error": true, "subtype": "error_max_turns"}),
            "error_max_turns",
        ),
        (HeadlessFormat::Codex, json!({"type": "turn.failed", "error": {"message": "401"}}), "401"),
        (
            HeadlessFormat::Gemini,
            json!({"type": "result", "status": "error", "error": {"message": "quota"}}),
            "quota",
        ),
        (
            HeadlessFormat::OpenCode,
            json!({"type": "error", "error": {"name": "ProviderAuthError", "data": {"message": "no"}}}),
            "no",
        ),
        (
            HeadlessFormat::Copilot,
            json!({"type": "session.error", "data": {"message": "no"}}),
            "no",
        ),
        (
            HeadlessFormat::Copilot,
            json!({"type": "result", "exitCode": 1}),
            "it ended its session with code 1",
        ),
        (HeadlessFormat::Goose, json!({"type": "error", "error": "no provider"}), "no provider"),
        (
            HeadlessFormat::Goose,
            json!({"type": "error"}),
            "it reports an error without a word about it",
        ),
    ] {
        assert_eq!(read(format, &[line]).unwrap_err(), error);
    }
    let again = json!({"type": "error", "message": "Reconnecting... 1/5"});
    assert_eq!(read(HeadlessFormat::Codex, &[again]), Ok(vec![]));
}

#[test]
fn lines_of_no_meaning_and_of_the_wrong_shape_do_nothing() {
    let all = [
        HeadlessFormat::Claude,
        HeadlessFormat::Codex,
        HeadlessFormat::Gemini,
        HeadlessFormat::OpenCode,
        HeadlessFormat::Copilot,
        HeadlessFormat::Goose,
    ];
    let odd = [
        json!(null),
        json!([]),
        json!("text"),
        json!({"type": 7}),
        json!({"type": "news"}),
        json!({"type": "message", "message": 3}),
    ];
    for format in all {
        assert_eq!(read(format, &odd), Ok(vec![]), "{format:?}");
    }
}

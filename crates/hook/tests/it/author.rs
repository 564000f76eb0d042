//! A handler written with this crate, as a plugin's author would.

use std::process::ExitCode;

use agents_hook::{Format, HookInput, HookOutput, Received, Wire, handler};
use agents_host::Event;

fn ask(sent: &str, answer: impl FnOnce(&HookInput) -> HookOutput) -> (ExitCode, String) {
    let mut stdout = Vec::new();
    let code = handler::serve(sent.as_bytes(), &mut stdout, answer);
    (code, String::from_utf8(stdout).unwrap())
}

#[test]
fn what_an_author_writes_reaches_the_host() {
    let sent = r#"{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"cargo publish"}}"#;
    let Received::Input(input) =
        Wire::Claude.parse_input(Event::PreToolUse, sent.as_bytes()).unwrap()
    else {
        panic!("it is an event");
    };
    let told = Format::Neutral.render_input(Wire::Claude, sent.as_bytes(), &input);
    let (code, printed) = ask(std::str::from_utf8(&told).unwrap(), |input| match input {
        HookInput::PreToolUse(call) if call.command() == Some("cargo publish") => {
            HookOutput::deny("no")
        }
        _ => HookOutput::default(),
    });
    assert_eq!(code, ExitCode::SUCCESS);
    assert_eq!(printed, r#"{"PreToolUse":{"decision":"deny","reason":"no"}}"#);
    let output = Format::Neutral.parse_output(Wire::Claude, Event::PreToolUse, &printed).unwrap();
    assert_eq!(output, HookOutput::deny("no"));
}

#[test]
fn a_denial_without_a_reason_is_printed_and_silence_is_not() {
    let sent = r#"{"Stop":{"session_id":null,"cwd":"/w"}}"#;
    let bare = HookOutput { reason: None, ..HookOutput::deny("") };
    assert_eq!(ask(sent, |_| bare).1, r#"{"Stop":{"decision":"deny"}}"#);
    assert_eq!(ask(sent, |_| HookOutput::default()), (ExitCode::SUCCESS, String::new()));
}

#[test]
fn an_input_that_cannot_be_read_is_a_failure_and_no_denial() {
    assert_eq!(ask("{", |_| HookOutput::default()), (ExitCode::FAILURE, String::new()));
}

/// The neutral format as the reference had it: everything else is optional.
#[test]
fn the_smallest_inputs_are_read() {
    for sent in [
        r#"{"PreToolUse":{"tool_name":"Bash"}}"#,
        r#"{"PostToolUse":{"tool_name":"Bash","tool_input":null}}"#,
        r#"{"UserPromptSubmit":{}}"#,
        r#"{"SessionStart":{"session_id":null,"cwd":null}}"#,
        r#"{"SubagentStart":{"agent_type":"explorer","unknown":1}}"#,
    ] {
        assert_eq!(ask(sent, |_| HookOutput::default()).0, ExitCode::SUCCESS, "{sent}");
    }
}

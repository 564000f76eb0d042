//! What each host sends and gets, event by event.
//!
//! One file per host in `golden/`. In each section `in` is what the host sends; everything below it follows
//! and is checked: what it means, what a handler written for this host would get of it from another host,
//! and what the host gets for every kind of answer, with what is lost. `UPDATE_DOCS=1` writes what follows
//! anew; read the difference.

use std::fmt::Write as _;

use agents_hook::{Answer, Decision, HookOutput, Loss, Received, Source, Wire, merge};
use agents_host::Event;
use serde_json::{Value, json};

fn cases() -> Vec<(&'static str, HookOutput)> {
    let three: Vec<_> = ["a", "b", "c"]
        .map(|it| (Source::new(it, "hook"), HookOutput::context(it.to_uppercase())))
        .to_vec();
    vec![
        ("nothing", HookOutput::default()),
        ("deny", HookOutput::deny("not here")),
        ("ask", HookOutput::ask("really?")),
        ("allow", HookOutput::allow()),
        ("input", HookOutput::update_input(json!({"command": "ls -l"}))),
        ("context", merge(&three).0),
        ("output", HookOutput::update_output(json!("redacted"))),
        ("stop", HookOutput::stop("enough")),
        (
            "message",
            HookOutput {
                system_message: Some("hello".into()),
                suppress_output: true,
                ..HookOutput::default()
            },
        ),
        (
            "deny+context",
            HookOutput {
                additional_context: Some("see docs".into()),
                ..HookOutput::deny("not here")
            },
        ),
        (
            "allow+input",
            HookOutput {
                decision: Some(Decision::Allow),
                ..HookOutput::update_input(json!({"command": "ls -l"}))
            },
        ),
    ]
}

fn shown((answer, losses): (Answer, Vec<Loss>)) -> String {
    let mut text = answer.stdout.replace('\n', "\\n");
    if answer.code != 0 || !answer.stderr.is_empty() {
        let stderr = answer.stderr.replace('\n', "\\n");
        write!(text, "exit {}, stderr `{stderr}`", answer.code).unwrap();
    }
    for loss in losses {
        let instead = serde_json::to_value(loss.instead).unwrap();
        write!(text, "  ({} -> {})", loss.part.word(), instead.as_str().unwrap()).unwrap();
    }
    text
}

fn without_nulls(mut value: Value) -> Value {
    if let Some(facts) = value.as_object_mut().and_then(|it| it.values_mut().next()) {
        facts.as_object_mut().unwrap().retain(|_, fact| !fact.is_null());
    }
    value
}

fn section(wire: Wire, event: Event, sent: &str) -> String {
    let mut text = format!("## {event}\nin: {sent}\n");
    let Received::Input(input) = wire.parse_input(event, sent.as_bytes()).unwrap() else {
        panic!("{wire:?} {event}: nothing happened")
    };
    assert_eq!(input.event(), event);
    let neutral = without_nulls(serde_json::to_value(&*input).unwrap());
    writeln!(text, "is: {neutral}").unwrap();
    let native = String::from_utf8(wire.render_input(&input)).unwrap();
    writeln!(text, "as: {native}").unwrap();
    for (name, output) in cases() {
        writeln!(text, "{name}: {}", shown(wire.render_output(event, &output))).unwrap();
    }
    text.push('\n');
    text
}

#[test]
fn every_event_of_every_host_is_as_written_down() {
    let (hosts, _) = agents_host::hosts(None);
    for wire in Wire::ALL {
        let file = format!("{}/tests/it/golden/{}.txt", env!("CARGO_MANIFEST_DIR"), wire.host());
        let written = fs_err::read_to_string(&file).unwrap();
        let mut text = String::new();
        let mut events = Vec::new();
        for part in written.split("## ").skip(1) {
            let (name, rest) = part.split_once('\n').unwrap();
            let sent = rest.lines().find_map(|line| line.strip_prefix("in: ")).unwrap();
            let event = Event::parse(name).unwrap();
            events.push(event);
            text.push_str(&section(wire, event, sent));
        }
        agents_testkit::pages::check_generated(&file, &text);

        // No event is forgotten, and wire and descriptor agree about which there are.
        let known: Vec<Event> =
            Event::ALL.into_iter().filter(|event| wire.event(*event).is_some()).collect();
        assert_eq!(events, known, "{wire:?}");
        let host = agents_host::find(&hosts, wire.host()).unwrap();
        if let Some(hooks) = host.hooks.get() {
            for event in Event::ALL {
                assert_eq!(wire.event(event), hooks.event(event), "{wire:?} {event}");
            }
        }
    }
}

/// Our promise: a denial before a tool runs is one in every host that calls us then.
#[test]
fn a_denial_blocks_everywhere_and_its_reason_is_told() {
    for wire in Wire::ALL {
        let (answer, losses) = wire.render_output(Event::PreToolUse, &HookOutput::deny("not here"));
        assert_eq!(losses, [], "{wire:?}");
        let said = format!("{}{}", answer.stdout, answer.stderr);
        assert!(said.contains("not here"), "{wire:?}: {said}");
        assert!(answer.code == 2 || said.contains("\"deny\""), "{wire:?}: {said}");
    }
}

#[test]
fn a_later_call_of_antigravity_is_no_prompt() {
    let sent = br#"{"conversationId":"c","invocationNum":2}"#;
    let received = Wire::Antigravity.parse_input(Event::UserPromptSubmit, sent).unwrap();
    assert_eq!(received, Received::Nothing);
}

/// JavaScript writes half characters, and a model can be made to.
#[test]
fn half_a_character_does_not_get_a_tool_past_the_hooks() {
    let sent = br#"{"tool_name":"Bash","tool_input":{"command":"rm \ud83d"}}"#;
    let Received::Input(input) = Wire::Claude.parse_input(Event::PreToolUse, sent).unwrap() else {
        panic!("it is an event")
    };
    assert_eq!(input.tool().unwrap().command(), Some("rm \u{fffd}"));
}

#[test]
fn what_cannot_be_read_says_why() {
    let error = |event, sent: &str| Wire::Copilot.parse_input(event, sent.as_bytes()).unwrap_err();
    assert_eq!(error(Event::PreToolUse, "{}").to_string(), "`toolName` is missing");
    assert_eq!(error(Event::PreToolUse, "").to_string(), "`toolName` is missing");
    assert_eq!(error(Event::Stop, "[]").to_string(), "not a JSON object");
    assert!(error(Event::Stop, "{").to_string().starts_with("not JSON: "));
    // A fact of a strange type is kept as something that we do not know.
    let sent = br#"{"toolName":"bash","sessionId":7}"#;
    let Received::Input(input) = Wire::Copilot.parse_input(Event::PreToolUse, sent).unwrap() else {
        panic!("it is an event")
    };
    assert_eq!(input.session().session_id, None);
    assert_eq!(input.session().extra["sessionId"], 7);
}

#[test]
fn answers_of_handlers_are_read_in_their_format() {
    use agents_hook::Format;
    let read = |format: &str, calling, event, text| {
        let output = Format::parse(format).unwrap().parse_output(calling, event, text);
        output.map_err(|error| error.to_string())
    };
    let (pre, start) = (Event::PreToolUse, Event::SessionStart);
    let deny = Ok(HookOutput::deny("no"));
    let context = Ok(HookOutput::context("hello"));
    let table = [
        // Neutral: under the event's name, under another one, bare, and in the caller's own words.
        ("symposium", pre, r#"{"PreToolUse":{"decision":"deny","reason":"no"}}"#, &deny),
        ("symposium", pre, r#"{"Stop":{"decision":"block","reason":"no"}}"#, &deny),
        ("symposium", pre, r#"{"decision":"deny","reason":"no"}"#, &deny),
        (
            "symposium",
            pre,
            r#"{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"no"}}"#,
            &deny,
        ),
        ("symposium", start, " \n", &Ok(HookOutput::default())),
        ("symposium", start, "hello", &Err("printed text where the format wants JSON".to_owned())),
        // Those of hosts.
        ("claude", pre, r#"{"decision":"block","reason":"no"}"#, &deny),
        ("claude", start, "hello", &context),
        ("claude", pre, "hello", &Ok(HookOutput::default())),
        ("gemini", pre, r#"{"decision":"block","reason":"no"}"#, &deny),
        ("copilot", pre, r#"{"permissionDecision":"deny","permissionDecisionReason":"no"}"#, &deny),
        ("cursor", pre, r#"{"permission":"deny","agent_message":"no"}"#, &deny),
        ("kiro", start, "hello", &context),
        ("goose", pre, r#"{"decision":"block","reason":"no"}"#, &deny),
        ("antigravity", pre, r#"{"decision":"deny","reason":"no"}"#, &deny),
        ("antigravity", pre, r#"{"decision":"allow","reason":"hello"}"#, &context),
        ("opencode", pre, r#"{"decision":"deny","reason":"no"}"#, &deny),
    ];
    for (format, event, text, expected) in table {
        assert_eq!(&read(format, Wire::Claude, event, text), expected, "{format} {event} {text}");
    }
}

/// What only the host has a word for reaches that host, and no other one.
#[test]
fn words_that_only_the_host_knows_are_passed_on_to_it() {
    use agents_hook::Format;
    let format = Format::parse("claude").unwrap();
    let text = r#"{"terminalSequence":"x","hookSpecificOutput":{"hookEventName":"SessionStart","sessionTitle":"t"}}"#;
    let own = format.parse_output(Wire::Claude, Event::SessionStart, text).unwrap();
    let (answer, _) = Wire::Claude.render_output(Event::SessionStart, &own);
    let same: Value = serde_json::from_str(text).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&answer.stdout).unwrap(), same);
    let other = format.parse_output(Wire::Qwen, Event::SessionStart, text).unwrap();
    assert!(other.is_empty(), "{other:?}");
}

#[test]
fn a_handler_of_the_calling_hosts_format_gets_the_same_bytes() {
    use agents_hook::Format;
    let sent = br#"{"tool_name": "Bash",   "permission_mode": "plan"}"#;
    let Received::Input(input) = Wire::Claude.parse_input(Event::PreToolUse, sent).unwrap() else {
        panic!("it is an event")
    };
    let got = |format: &str| {
        let bytes = Format::parse(format).unwrap().render_input(Wire::Claude, sent, &input);
        String::from_utf8(bytes.into_owned()).unwrap()
    };
    assert_eq!(got("claude").as_bytes(), sent);
    assert_eq!(got("copilot"), r#"{"toolName":"Bash"}"#);
    assert_eq!(got("gemini"), r#"{"hook_event_name":"BeforeTool","tool_name":"Bash"}"#);
    let neutral: Value = serde_json::from_str(&got("symposium")).unwrap();
    assert_eq!(neutral["PreToolUse"]["extra"], json!({"permission_mode": "plan"}));
}

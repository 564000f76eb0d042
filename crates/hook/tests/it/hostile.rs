//! Handlers that misbehave, as real processes: each is contained, has the documented result, and does not
//! disturb the one beside it.

use std::time::Duration;

use agents_hook::{
    Decision, Dispatched, Format, Handler, HookInput, HookOutput, Received, Source, Wire, dispatch,
};
use agents_host::Event;
use agents_system::process::{Bounds, Call};
use agents_testkit::signal;
use serde_json::json;
use tempfile::TempDir;

const BOUNDS: Bounds = Bounds {
    whole: Duration::from_secs(60),
    grace: Duration::from_millis(100),
    output: 16 * 1024 * 1024,
};

/// What the well-behaved one says that runs beside every other one.
const FINE: &str = r#"{"PreToolUse":{"additionalContext":"I am fine"}}"#;

fn handler(plugin: &str, script: &str) -> Handler {
    Handler {
        source: Source::new(plugin, "hook"),
        call: Call::new("sh").arg("-c").arg(script).deadline(Duration::from_secs(20)),
        format: Format::Neutral,
    }
}

fn input(raw: &[u8]) -> HookInput {
    match Wire::Claude.parse_input(Event::PreToolUse, raw).unwrap() {
        Received::Input(input) => *input,
        Received::Nothing => panic!("it is an event"),
    }
}

fn sent(command: &str) -> Vec<u8> {
    json!({"tool_name": "Bash", "tool_input": {"command": command}}).to_string().into_bytes()
}

/// Runs it beside a well-behaved handler, which must not suffer; gives what the bad one answered and what
/// was found about it.
fn beside_a_good_one(bad: Handler) -> (HookOutput, Vec<String>) {
    let raw = sent("ls");
    let good = handler("good", &format!("cat >/dev/null; echo '{FINE}'"));
    let done = dispatch(Wire::Claude, &raw, &input(&raw), Vec::new(), &[bad, good], BOUNDS);
    assert_eq!(done.steps[1].output, HookOutput::context("I am fine"), "{done:?}");
    assert_eq!(done.steps[1].findings, []);
    let found = done.steps[0].findings.iter().map(|it| it.message.clone()).collect();
    (done.steps[0].output.clone(), found)
}

#[test]
fn one_that_sleeps_forever_is_ended() {
    let mut bad = handler("bad", "sleep 100000");
    bad.call = bad.call.deadline(Duration::from_secs(1));
    let (output, found) = beside_a_good_one(bad);
    assert!(output.is_empty());
    assert_eq!(
        found,
        ["hook `bad/hook` gave no answer: `sh` did not finish within 1 s and was stopped"]
    );
}

#[test]
fn one_that_ignores_requests_is_ended_with_its_children() {
    let dir = TempDir::new().unwrap();
    let pid = dir.path().join("pid");
    let stubborn = "trap \"\" TERM INT HUP; while :; do sleep 0.05; done";
    let mut bad =
        handler("bad", &format!("sh -c 'echo $$ > {}; {stubborn}' & {stubborn}", pid.display()));
    bad.call = bad.call.deadline(Duration::from_secs(1));
    let (output, found) = beside_a_good_one(bad);
    assert!(output.is_empty());
    assert_eq!(found.len(), 1);
    let pid = fs_err::read_to_string(pid).unwrap();
    assert!(is_gone(pid.trim()), "{pid} still runs");
}

#[test]
fn the_deadline_of_the_event_counts_for_all() {
    let raw = sent("ls");
    let slow = ["a", "b", "c"].map(|name| handler(name, "sleep 100000"));
    let bounds = Bounds { whole: Duration::from_secs(1), ..BOUNDS };
    let done = dispatch(Wire::Claude, &raw, &input(&raw), Vec::new(), &slow, bounds);
    assert_eq!(done.findings.len(), 3);
    assert_eq!((done.answer.stdout.as_str(), done.answer.code), ("{}", 0));
}

#[test]
fn one_that_leaves_a_daemon_behind_has_answered() {
    let dir = TempDir::new().unwrap();
    let pid = dir.path().join("pid");
    let script = format!(
        "setsid sh -c 'echo $$ > {0}; exec sleep 300' & while [ ! -s {0} ]; do sleep 0.01; done; echo '{FINE}'",
        pid.display()
    );
    let (output, found) = beside_a_good_one(handler("bad", &script));
    assert_eq!((output, found), (HookOutput::context("I am fine"), vec![]));
    let daemon = fs_err::read_to_string(pid).unwrap();
    let ended = signal::terminate(daemon.trim().parse().unwrap());
    assert!(ended, "the daemon was not there to hold the pipes");
}

#[test]
fn one_that_prints_without_end_is_cut_off() {
    for flood in ["head -c 1000000000 /dev/zero", "yes", "yes >&2"] {
        let (output, found) = beside_a_good_one(handler("bad", flood));
        assert!(output.is_empty());
        assert_eq!(
            found,
            ["hook `bad/hook` gave no answer: `sh` printed more than 16 MiB and was stopped"],
            "{flood}"
        );
    }
}

#[test]
fn invalid_text_is_tolerated() {
    let (output, found) = beside_a_good_one(handler("bad", r"printf '\377\376'"));
    assert!(output.is_empty());
    assert_eq!(
        found,
        [
            "hook `bad/hook` gave an answer that cannot be understood: printed text where the format wants JSON"
        ]
    );
    let (output, found) = beside_a_good_one(handler("bad", r"printf 'no \377' >&2; exit 2"));
    assert_eq!((output, found), (HookOutput::deny("no \u{fffd}"), vec![]));
}

#[test]
fn one_that_does_not_read_its_input_has_answered() {
    let raw = sent(&"x".repeat(50 * 1024 * 1024));
    let native = |plugin: &str, script: &str| Handler {
        format: Format::Native(Wire::Claude),
        ..handler(plugin, script)
    };
    let handlers = [
        handler("closes", &format!("exec <&-; echo '{FINE}'")),
        handler("ignores", &format!("echo '{FINE}'")),
        native("counts", r#"n=$(wc -c); echo "{\"decision\":\"block\",\"reason\":\"$n\"}""#),
        native("echoes", "cat"),
    ];
    let bounds = Bounds { output: 64 * 1024 * 1024, ..BOUNDS };
    let done = dispatch(Wire::Claude, &raw, &input(&raw), Vec::new(), &handlers, bounds);
    assert_eq!(done.findings, []);
    assert_eq!(done.steps[0].output, HookOutput::context("I am fine"));
    assert_eq!(done.steps[1].output, HookOutput::context("I am fine"));
    assert_eq!(done.steps[3].ran.stdout.len(), raw.len());
    let length = raw.len().to_string();
    assert_eq!(done.steps[2].output.reason.as_deref().map(str::trim), Some(length.as_str()));
}

#[test]
fn exit_codes_mean_what_is_documented() {
    let deny = |reason: Option<&str>| HookOutput {
        decision: Some(Decision::Deny),
        reason: reason.map(str::to_owned),
        ..HookOutput::default()
    };
    let printed = r#"{"PreToolUse":{"decision":"deny","reason":"printed"}}"#;
    let table = [
        ("echo 'because' >&2; exit 2".to_owned(), deny(Some("because")), vec![]),
        ("exit 2".to_owned(), deny(None), vec![]),
        (format!("echo '{printed}'; exit 2"), deny(Some("printed")), vec![]),
        (
            "exit 1".to_owned(),
            HookOutput::default(),
            vec!["hook `bad/hook` failed with exit code 1"],
        ),
        (
            format!("echo '{printed}'; exit 1"),
            deny(Some("printed")),
            vec!["hook `bad/hook` failed with exit code 1"],
        ),
        (
            format!("echo '{FINE}'; exit 1"),
            HookOutput::default(),
            vec!["hook `bad/hook` failed with exit code 1"],
        ),
        (
            "exit 139".to_owned(),
            HookOutput::default(),
            vec!["hook `bad/hook` failed with exit code 139"],
        ),
        (
            "kill -SEGV $$".to_owned(),
            HookOutput::default(),
            vec!["hook `bad/hook` failed with signal 11"],
        ),
        (
            "kill -KILL $$".to_owned(),
            HookOutput::default(),
            vec!["hook `bad/hook` failed with signal 9"],
        ),
        (
            "echo oops".to_owned(),
            HookOutput::default(),
            vec![
                "hook `bad/hook` gave an answer that cannot be understood: printed text where the format wants JSON",
            ],
        ),
    ];
    for (script, output, found) in table {
        let (real, really) = beside_a_good_one(handler("bad", &script));
        assert_eq!(
            (real, really),
            (output, found.into_iter().map(str::to_owned).collect()),
            "{script}"
        );
    }
}

#[test]
fn one_that_deletes_its_own_program_has_answered() {
    use std::os::unix::fs::PermissionsExt;
    let dir = TempDir::new().unwrap();
    let program = dir.path().join("handler");
    fs_err::write(&program, format!("#!/bin/sh\nrm \"$0\"\necho '{FINE}'\n")).unwrap();
    fs_err::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    let gone = || Handler { call: Call::new(&program), ..handler("bad", "") };
    let (output, found) = beside_a_good_one(gone());
    assert_eq!((output, found), (HookOutput::context("I am fine"), vec![]));
    // The next time there is nothing to start.
    let (output, found) = beside_a_good_one(gone());
    assert!(output.is_empty());
    assert_eq!(
        found,
        [format!("hook `bad/hook` gave no answer: there is no program `{}`", program.display())]
    );
}

#[test]
fn what_a_handler_says_on_standard_error_is_in_the_finding() {
    let raw = sent("ls");
    let bad = handler("bad", "echo 'cannot find the config' >&2; exit 1");
    let done = dispatch(Wire::Claude, &raw, &input(&raw), Vec::new(), &[bad], BOUNDS);
    assert_eq!(done.findings[0].label.as_deref(), Some("cannot find the config"));
}

/// From what the host sends to what it gets, with three plugins that speak different formats.
#[test]
fn three_plugins_answer_one_event() {
    let raw = sent("ls");
    let speaks = |plugin: &str, format: &str, script: &str| Handler {
        format: Format::parse(format).unwrap(),
        ..handler(plugin, script)
    };
    let handlers = [
        speaks("one", "symposium", r#"grep -q '"PreToolUse"' && echo '{"additionalContext":"A"}'"#),
        speaks("two", "copilot", r#"grep -q '"toolArgs":"' && echo '{"additionalContext":"B"}'"#),
        speaks("three", "kiro", "grep -q '\"tool_input\"' && echo 'not this one' >&2 && exit 2"),
    ];
    let ours = vec![(Source::new("cargo-agents", "hint"), HookOutput::context("0"))];
    let done: Dispatched = dispatch(Wire::Claude, &raw, &input(&raw), ours, &handlers, BOUNDS);
    assert_eq!((&done.findings, &done.losses), (&vec![], &vec![]));
    assert_eq!(
        done.answer.stdout,
        json!({"hookSpecificOutput": {
            "permissionDecision": "deny",
            "permissionDecisionReason": "[three] not this one",
            "additionalContext": "[cargo-agents] 0\n\n[one] A\n\n[two] B",
            "hookEventName": "PreToolUse",
        }})
        .to_string()
    );
    assert_eq!((done.answer.code, done.answer.stderr.as_str()), (0, ""));
}

/// Dead, or a zombie that nobody has collected yet (in a container without an init).
fn is_gone(pid: &str) -> bool {
    for _ in 0..200 {
        match fs_err::read_to_string(format!("/proc/{pid}/stat")) {
            Ok(stat) if !stat.contains(") Z ") => std::thread::sleep(Duration::from_millis(10)),
            _ => return true,
        }
    }
    false
}

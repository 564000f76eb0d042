//! `cargo agents hook <host> <event>`, as hosts call it.

use std::{io::Write as _, process::Stdio};

use agents_testkit::scratch;
use camino::Utf8Path;
use serde_json::{Value, json};

use crate::world::{Run, World};

/// Denies every command that publishes.
const GUARD: &str = "#!/bin/sh\ninput=$(cat)\ncase \"$input\" in\n*'cargo publish'*) echo 'CI publishes' >&2; exit 2;;\nesac\n";

fn guarded(gate: &str) -> World {
    let world = World::new();
    guard(&world, gate, "");
    world
}

fn guard(world: &World, gate: &str, more: &str) {
    world.plugin(
        "guard",
        &format!(
            "name = \"guard\"\n{gate}\n[[hooks]]\nname = \"no-publish\"\nevent = \"PreToolUse\"\ncommand = {{ script = \"guard.sh\" }}\n{more}\n"
        ),
    );
    world.plugin_script("guard", "guard.sh", GUARD);
}

/// Calls as a host does.
fn call(world: &World, host: &str, event: &str, input: &Value) -> Run {
    call_in(world, &world.sample.root(), host, event, input.to_string().as_bytes(), &[])
}

fn call_in(
    world: &World,
    dir: &Utf8Path,
    host: &str,
    event: &str,
    input: &[u8],
    env: &[(&str, &str)],
) -> Run {
    let mut command = world.command_in(dir, &["hook", host, event]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.env_remove("COPILOT_CLI").envs(env.iter().copied());
    let mut child = command.spawn().unwrap();
    // A child that does not want to read everything is no failure of the test.
    let _ = child.stdin.take().unwrap().write_all(input);
    Run::from(child.wait_with_output().unwrap())
}

fn bash(command: &str) -> Value {
    json!({
        "hook_event_name": "PreToolUse", "session_id": "s", "transcript_path": "/t",
        "tool_name": "Bash", "tool_input": { "command": command },
    })
}

fn denied(run: &Run) -> bool {
    let said: Value = serde_json::from_str(&run.stdout).unwrap_or_default();
    run.code == Some(2) || said["hookSpecificOutput"]["permissionDecision"] == "deny"
}

#[test]
fn a_plugin_of_a_dependency_denies_and_other_commands_run() {
    let world = guarded("crates = [\"serde\"]");
    let run = call(&world, "claude", "pre-tool-use", &bash("cargo publish"));
    assert!(denied(&run), "{run:?}");
    assert!(format!("{}{}", run.stdout, run.stderr).contains("CI publishes"), "{run:?}");
    let run = call(&world, "claude", "pre-tool-use", &bash("cargo test"));
    assert_eq!((run.code, denied(&run), run.stderr.as_str()), (Some(0), false, ""), "{run:?}");
}

#[test]
fn without_the_dependency_nothing_runs() {
    let world = guarded("crates = [\"diesel\"]");
    let run = call(&world, "claude", "pre-tool-use", &bash("cargo publish"));
    assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (Some(0), "{}", ""));
}

#[test]
fn the_index_notices_every_change() {
    let world = World::new();
    let publish = bash("cargo publish");
    let now = || denied(&call(&world, "claude", "pre-tool-use", &publish));
    assert!(!now());
    guard(&world, "crates = [\"serde\"]", "");
    assert!(now(), "a plugin that is new");
    guard(&world, "crates = [\"diesel\"]", "");
    assert!(!now(), "a gate that was edited");
    guard(&world, "crates = [\"serde\"]", "matcher = \"Edit\"");
    assert!(!now(), "a matcher that was edited");
    guard(&world, "crates = [\"serde\"]", "matcher = \"Bash\"");
    assert!(now());
    let config =
        "[defaults]\nsymposium-recommendations = false\n[plugins]\ndisable = [\"guard\"]\n";
    world.config(config);
    assert!(!now(), "turned off");
    world.config("[defaults]\nsymposium-recommendations = false\n");
    assert!(now(), "turned on again");
    // The dependency goes, first from the manifest alone: nobody has resolved it yet, and what held still does.
    world.sample.package(".", "app", "0.1.0", "[dependencies]\ntiny-sql = \"0.3\"\n");
    assert!(now(), "not resolved yet");
    world.sample.lock();
    assert!(!now(), "the dependency is gone");
}

/// A host waits for every one of them, before every tool call. Times would depend on the machine; this does not.
#[test]
fn with_nothing_to_do_few_system_calls_are_made_and_nothing_is_started() {
    if std::process::Command::new("strace").arg("-V").output().is_err() {
        eprintln!("there is no `strace` to count with");
        return;
    }
    let world = World::new();
    for at in 0..300 {
        let manifest = format!("name = \"plugin-{at}\"\ncrates = [\"serde\"]\n");
        world.plugin(&format!("plugin-{at}"), &manifest);
    }
    let inside = world.sample.root();
    for dir in [inside, world.outside()] {
        let plain = world.command_in(&dir, &["hook", "claude", "pre-tool-use"]);
        assert!(Run::from(command(&plain, &[]).output().unwrap()).stdout == "{}");
        let log = world.sample.scratch().path("calls");
        let traced = command(&plain, &["strace", "-f", "-o", log.as_str()]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&traced.stdout), "{}", "{traced:?}");
        let calls = std::fs::read_to_string(log).unwrap();
        assert!(calls.lines().count() > 50, "{calls}");
        assert!(calls.lines().count() <= 300, "{}:\n{calls}", calls.lines().count());
        let started = ["clone", "fork", "socket("].map(|word| calls.matches(word).count());
        assert_eq!(started, [0, 0, 0], "{calls}");
        assert_eq!(calls.matches("execve(").count(), 1, "{calls}");
    }
}

/// The same command, run by another one.
fn command(plain: &std::process::Command, by: &[&str]) -> std::process::Command {
    let mut words = by.iter().map(|word| (*word).into()).chain([plain.get_program().to_owned()]);
    let mut command = std::process::Command::new(words.next().unwrap());
    command.args(words).args(plain.get_args()).current_dir(plain.get_current_dir().unwrap());
    for (name, value) in plain.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.stdin(Stdio::null());
    command
}

/// What decides is outside of everything that an index can watch.
#[test]
fn a_condition_is_asked_at_every_call() {
    let world = guarded("crates = [\"serde\"]\npredicates = [\"path_exists(guarded)\"]");
    let publish = bash("cargo publish");
    let now = || denied(&call(&world, "claude", "pre-tool-use", &publish));
    assert!(!now());
    let flag = scratch::write(&world.sample.root().join("guarded"), "");
    assert!(now());
    std::fs::remove_file(flag).unwrap();
    assert!(!now());
}

#[test]
fn a_hook_for_one_host_runs_in_that_one_only() {
    let world = World::new();
    guard(&world, "crates = [\"serde\"]", "agent = \"codex\"");
    assert!(!denied(&call(&world, "claude", "pre-tool-use", &bash("cargo publish"))));
    assert!(denied(&call(&world, "codex", "pre-tool-use", &bash("cargo publish"))));
}

/// A workspace may only have been cloned.
#[test]
fn hooks_of_the_workspace_itself_need_the_users_word() {
    let world = World::new();
    let root = world.sample.root();
    let manifest = "[[hooks]]\nname = \"no-publish\"\nevent = \"PreToolUse\"\ncommand = { script = \"guard.sh\" }\n";
    scratch::write(&root.join("SYMPOSIUM.toml"), format!("name = \"app-guard\"\n{manifest}"));
    world.sample.scratch().script(root.join("guard.sh"), GUARD);
    let publish = bash("cargo publish");
    assert!(!denied(&call(&world, "claude", "pre-tool-use", &publish)));
    world.config(
        "[defaults]\nsymposium-recommendations = false\n[plugins]\nuse = [\"app-guard\"]\n",
    );
    assert!(denied(&call(&world, "claude", "pre-tool-use", &publish)));
}

#[test]
fn the_payload_says_where_the_call_is_about() {
    let world = guarded("crates = [\"serde\"]");
    let mut input = bash("cargo publish");
    input["cwd"] = json!(world.sample.root());
    let outside = world.outside();
    let run =
        call_in(&world, &outside, "claude", "pre-tool-use", input.to_string().as_bytes(), &[]);
    assert!(denied(&run), "{run:?}");
    input["cwd"] = json!(outside);
    let inside = world.sample.root();
    let run = call_in(&world, &inside, "claude", "pre-tool-use", input.to_string().as_bytes(), &[]);
    assert!(!denied(&run), "{run:?}");
}

/// Seen in Copilot CLI 1.0.102: it runs the hooks of the project's `.claude/settings.json` beside its own.
#[test]
fn what_copilot_runs_of_claudes_hooks_keeps_quiet() {
    let world = guarded("crates = [\"serde\"]");
    let copilots = json!({
        "hook_event_name": "PreToolUse", "session_id": "s", "timestamp": "2026-11-15T23:27:28.352Z",
        "tool_name": "Bash", "tool_input": { "command": "cargo publish" },
    });
    let root = world.sample.root();
    let copilot = [("COPILOT_CLI", "1")];
    let input = copilots.to_string();
    let run = call_in(&world, &root, "claude", "pre-tool-use", input.as_bytes(), &copilot);
    assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (Some(0), "", ""));
    // Claude Code that was started from within Copilot CLI is still Claude Code.
    let input = bash("cargo publish").to_string();
    let run = call_in(&world, &root, "claude", "pre-tool-use", input.as_bytes(), &copilot);
    assert!(denied(&run), "{run:?}");
}

const GARBAGE: [&str; 6] = ["", "{", "[]", "nonsense", "{\"tool_name\": 1}", "\u{0}"];

/// Otherwise a model could have a tool called in a way that its guards do not understand.
#[test]
fn what_cannot_be_read_does_not_get_past_a_guard() {
    let world = guarded("crates = [\"serde\"]");
    let root = world.sample.root();
    for garbage in GARBAGE {
        let run = call_in(&world, &root, "claude", "pre-tool-use", garbage.as_bytes(), &[]);
        assert!(denied(&run), "{garbage:?}: {run:?}");
        assert!(run.stdout.contains("cannot tell what this call is about"), "{run:?}");
        // Nobody guards these.
        for (host, event) in [("claude", "permission-request"), ("claude", "post-tool-use")] {
            let run = call_in(&world, &root, host, event, garbage.as_bytes(), &[]);
            assert_eq!((run.code, run.stdout.as_str()), (Some(0), "{}"), "{garbage:?}: {run:?}");
        }
    }
    guard(&world, "crates = [\"serde\"]", "agent = \"codex\"");
    let run = call_in(&world, &root, "claude", "pre-tool-use", b"{", &[]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "{}"), "{run:?}");
}

/// Exit code 2 is a denial to most hosts.
#[test]
fn nothing_that_goes_wrong_looks_like_a_denial() {
    let world = guarded("crates = [\"diesel\"]");
    let root = world.sample.root();
    for garbage in GARBAGE {
        let run = call_in(&world, &root, "claude", "pre-tool-use", garbage.as_bytes(), &[]);
        assert_eq!((run.code, run.stdout.as_str()), (Some(0), "{}"), "{garbage:?}: {run:?}");
    }
    world.config("hosts = [");
    let run = call(&world, "claude", "pre-tool-use", &bash("cargo test"));
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "{}"), "{run:?}");
    assert!(run.stderr.contains("configuration"), "{run:?}");
    for words in [["nobody", "pre-tool-use"], ["claude", "nonsense"]] {
        let run = world.agents(&["hook", words[0], words[1]]);
        assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{run:?}");
    }
    assert_eq!(world.agents(&["hook"]).code, Some(1));
}

#[test]
fn a_guard_still_guards_while_the_configuration_is_broken() {
    let world = guarded("crates = [\"serde\"]");
    assert!(denied(&call(&world, "claude", "pre-tool-use", &bash("cargo publish"))));
    world.config("hosts = [");
    assert!(denied(&call(&world, "claude", "pre-tool-use", &bash("cargo publish"))));
}

#[test]
fn a_session_is_told_what_there_is_to_discover() {
    let world = World::new();
    let start =
        json!({ "hook_event_name": "SessionStart", "source": "startup", "transcript_path": "/t" });
    let run = call(&world, "claude", "session-start", &start);
    let said: Value = serde_json::from_str(&run.stdout).unwrap();
    let context = said["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    assert!(context.contains("Run `cargo agents --help`"), "{context}");
    assert!(context.contains("'Commands for agents'"), "{context}");
    let outside = world.outside();
    let input = start.to_string();
    let run = call_in(&world, &outside, "claude", "session-start", input.as_bytes(), &[]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "{}"));
}

#[test]
fn a_missing_program_is_said_and_stops_nobody() {
    let world = World::new();
    world.plugin(
        "guard",
        "name = \"guard\"\ncrates = [\"serde\"]\n[[hooks]]\nname = \"h\"\nevent = \"PreToolUse\"\ncommand = { source = \"cargo\", crate = \"no-such-crate-here\" }\n",
    );
    let run = call(&world, "claude", "pre-tool-use", &bash("ls"));
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "{}"), "{run:?}");
    assert!(run.stderr.contains("not installed"), "{run:?}");
}

/// A file with what Claude Code sends.
fn input_file(world: &World, input: &Value) -> String {
    let scratch = world.sample.scratch();
    scratch.write("input.json", input.to_string()).into_string()
}

#[test]
fn a_test_shows_every_step() {
    let world = guarded("crates = [\"serde\"]");
    let hook = |name: &str, more: &str| {
        format!("[[hooks]]\nname = \"{name}\"\ncommand = {{ script = \"x.sh\" }}\n{more}\n")
    };
    let pre = "event = \"PreToolUse\"\n";
    let manifest = [
        "name = \"other\"\ncrates = [\"serde\"]\n".to_owned(),
        hook("edits", &format!("{pre}matcher = \"Edit\"")),
        hook("codex", &format!("{pre}agent = \"codex\"")),
        hook("later", "event = \"PostToolUse\""),
        hook("gated", &format!("{pre}predicates = [\"path_exists(nowhere)\"]")),
        format!(
            "[[hooks]]\nname = \"missing\"\n{pre}command = {{ source = \"cargo\", crate = \"no-such-crate\" }}\n"
        ),
    ];
    world.plugin("other", &manifest.join("\n"));
    world.plugin(
        "dormant",
        &format!("name = \"dormant\"\ncrates = [\"diesel\"]\n{}", hook("h", pre)),
    );
    let input = input_file(&world, &bash("cargo publish"));
    let shown = world.json(&["hook", "test", "claude", "pre-tool-use", "--input", &input]);
    let hooks = shown["hooks"].as_array().unwrap();
    let rows: Vec<String> = hooks
        .iter()
        .map(|it| {
            let why = it["because"].as_str().or(it["ended"].as_str()).unwrap_or_default();
            format!("{}/{} {}: {why}", it["plugin"], it["hook"], it["state"]).replace('"', "")
        })
        .collect();
    insta::assert_snapshot!(rows.join("\n"), @r"
    guard/no-publish ran: exit code 2
    other/edits skipped: its matcher `Edit` does not match
    other/missing skipped: hook `other/missing` did not run: its program is not installed
    dormant/h skipped: its plugin is not active: its conditions do not hold
    other/codex skipped: it is for codex only
    other/later skipped: it is for PostToolUse
    other/gated skipped: its own conditions do not hold
    ");
    assert_eq!(hooks[0]["stderr"], "CI publishes\n");
    assert_eq!(hooks[0]["means"], json!({ "decision": "deny", "reason": "CI publishes" }));
    let got: Value = serde_json::from_str(hooks[0]["got"].as_str().unwrap()).unwrap();
    assert_eq!(got["PreToolUse"]["tool_input"]["command"], "cargo publish");
    // It is what the host gets.
    let run = call(&world, "claude", "pre-tool-use", &bash("cargo publish"));
    assert_eq!(shown["answer"]["stdout"], run.stdout);
    assert_eq!(shown["answer"]["exit_code"], run.code.unwrap());
    let text = world.ok(&["hook", "test", "claude", "pre-tool-use", "--input", &input]);
    assert!(text.contains("means   deny: [guard] CI publishes"), "{text}");
}

#[test]
fn recorded_calls_are_made_again_and_a_difference_is_told() {
    let world = guarded("crates = [\"serde\"]");
    let input = input_file(&world, &bash("cargo publish"));
    let trace = world.sample.scratch().path("trace.jsonl");
    let record = ["hook", "test", "claude", "pre-tool-use", "--input", &input, "--record"];
    world.ok(&[&record[..], &[trace.as_str()]].concat());
    // What a host calls is recorded the same way.
    let root = world.sample.root();
    let sent = bash("cargo test").to_string();
    for name in ["CARGO_AGENTS_HOOK_TRACE", "SYMPOSIUM_HOOK_TRACE"] {
        let env = [(name, trace.as_str())];
        let run = call_in(&world, &root, "claude", "pre-tool-use", sent.as_bytes(), &env);
        assert_eq!((run.code, run.stdout.as_str()), (Some(0), "{}"), "{run:?}");
    }
    let text = std::fs::read_to_string(&trace).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 3);
    for line in &lines {
        assert_eq!((&line["event"], &line["agent"]), (&json!("PreToolUse"), &json!("claude")));
        assert_eq!(line["input"]["tool_name"], "Bash");
        assert!(line["output"].is_object(), "{line}");
    }
    let same = world.agents(&["hook", "replay", trace.as_str()]);
    assert_eq!(same.code, Some(0), "{same:?}");
    world.plugin_script("guard", "guard.sh", "#!/bin/sh\necho 'not today' >&2; exit 2\n");
    let run = world.agents(&["hook", "replay", trace.as_str()]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.stdout.contains("3 calls, 3 with another answer."), "{run:?}");
    assert!(run.stdout.contains("not today") && run.stdout.contains("CI publishes"), "{run:?}");
    scratch::write(&trace, "nonsense\n");
    assert_eq!(world.agents(&["hook", "replay", trace.as_str()]).code, Some(2));
}

#[test]
fn what_a_host_cannot_be_told_is_explained() {
    let world = World::new();
    let text = world.ok(&["hook", "explain", "goose", "pre-tool-use"]);
    insta::assert_snapshot!(text, @r"
    Goose

    PreToolUse  called `PreToolUse`
      understands  deny
      allow        nothing happens
      ask          it is denied
      input        it is denied
      context      nothing happens
      output       nothing happens
      stop         it is denied
      message      nothing happens
      suppress     nothing happens
    ");
    let all = world.json(&["hook", "explain", "claude"]);
    assert_eq!(all["events"].as_array().unwrap().len(), 12);
    assert_eq!(world.agents(&["hook", "explain", "nobody"]).code, Some(2));
    assert_eq!(world.agents(&["hook", "test", "claude", "nonsense"]).code, Some(2));
}

/// Hosts give up after thirty seconds and then do as they like.
#[test]
fn hostile_handlers_end_with_the_deadline_and_the_others_count() {
    let world = guarded("crates = [\"serde\"]");
    let hostile = [
        ("sleeps", "sleep 600"),
        ("ignores", "trap '' TERM; while :; do sleep 600; done"),
        ("floods", "while :; do echo yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy; done"),
        ("forks", "(sleep 600 &) ; (sleep 600 &); exit 1"),
        ("garbles", "printf '\\377\\376'"),
        ("dies", "kill -SEGV $$"),
    ];
    let mut manifest = "name = \"hostile\"\ncrates = [\"serde\"]\n".to_owned();
    for (name, body) in hostile {
        manifest += &format!(
            "[[hooks]]\nname = \"{name}\"\nevent = \"PreToolUse\"\ncommand = {{ script = \"{name}.sh\" }}\n"
        );
        world.plugin_script("hostile", &format!("{name}.sh"), &format!("#!/bin/sh\n{body}\n"));
    }
    world.plugin("hostile", &manifest);
    let root = world.sample.root();
    let sent = bash("cargo publish").to_string();
    let env = [("CARGO_AGENTS_HOOK_DEADLINE", "1.5")];
    let started = std::time::Instant::now();
    let run = call_in(&world, &root, "claude", "pre-tool-use", sent.as_bytes(), &env);
    assert!(denied(&run), "{run:?}");
    let said: Value = serde_json::from_str(&run.stdout).unwrap();
    let reason = said["hookSpecificOutput"]["permissionDecisionReason"].as_str();
    assert_eq!(reason, Some("[guard] CI publishes"));
    // Not a measurement: without the deadline it would be ten minutes.
    assert!(started.elapsed().as_secs() < 300);
}

/// While many hosts call and a sync runs, every answer is right and no index is torn.
#[test]
fn two_hundred_calls_at_once_during_a_sync_are_all_answered_right() {
    let world = guarded("crates = [\"serde\"]");
    let config = "hosts = [\"claude\", \"codex\"]\nhook-scope = \"project\"\n\
                  [defaults]\nsymposium-recommendations = false\n";
    world.config(config);
    let home = world.sample.scratch().path("user");
    std::fs::create_dir_all(&home).unwrap();
    std::thread::scope(|scope| {
        let sync = scope.spawn(|| {
            for round in 0..5 {
                // The index is stale again and again.
                world.plugin(
                    &format!("more-{round}"),
                    &format!("name = \"more-{round}\"\ncrates = [\"serde\"]\n"),
                );
                let run = world.command(&["sync"]).env("HOME", &home).output().unwrap();
                assert!(run.status.success(), "{run:?}");
            }
        });
        let callers: Vec<_> = (0..200)
            .map(|at| {
                let world = &world;
                scope.spawn(move || {
                    let command = if at % 2 == 0 { "cargo publish" } else { "cargo test" };
                    let run = call(world, "claude", "pre-tool-use", &bash(command));
                    assert_eq!(denied(&run), at % 2 == 0, "{at}: {run:?}");
                    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{at}: {run:?}");
                })
            })
            .collect();
        for caller in callers {
            caller.join().unwrap();
        }
        sync.join().unwrap();
    });
}

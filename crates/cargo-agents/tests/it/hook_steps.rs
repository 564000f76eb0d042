//! `cargo agents hook test`, `replay` and `explain`.

use agents_testkit::scratch;
use serde_json::{Value, json};

use crate::{
    hooks::{bash, call, call_in, guarded},
    world::World,
};

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

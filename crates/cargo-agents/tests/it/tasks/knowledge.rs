//! What agents know besides their definitions: skills, notes, messages of others; and the programs that watch them.

use agents_testkit::scratch;
use serde_json::Value;

use super::Stage;

/// The records of the last task.
fn logs(stage: &Stage) -> (Vec<Value>, String) {
    let text = stage.run(&["logs", "last"]).stdout;
    (text.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), text)
}

fn system(stage: &Stage) -> String {
    let (records, text) = logs(stage);
    records[0]["begin"]["system"].as_str().unwrap_or_else(|| panic!("{text}")).to_owned()
}

const NOTES: &str = r#"
[[replies]]
when = { text = "first" }
calls = [{ name = "memory", input = { action = "append", text = "the build needs nightly" } }]
[[replies]]
text = "Noted."
"#;

#[test]
fn a_task_remembers_what_the_one_before_noted() {
    let stage = Stage::new(NOTES);
    let (root, home) = (stage.world.sample.root().to_owned(), stage.world.home().to_owned());
    for (scope, dir) in [
        ("project", root.join(".agents/memory/helper")),
        ("local", root.join(".agents/memory-local/helper")),
        ("user", home.join("state/agent-memory/helper")),
    ] {
        // Its tools are listed, and its notes are its own all the same.
        stage.agent("helper", &format!("memory: {scope}\ntools: [read]\n"));
        let run = stage.run(&["run", "helper", "the first"]);
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
        let note = std::fs::read_to_string(dir.join("MEMORY.md")).unwrap();
        assert_eq!(note, "the build needs nightly");
        assert!(!system(&stage).contains("nightly"), "{scope}");
        stage.run(&["run", "helper", "the second"]);
        let told = system(&stage);
        assert!(
            told.contains("<agent-memory>\nthe build needs nightly\n</agent-memory>"),
            "{told}"
        );
        // How the result is handed in still comes last.
        assert!(told.find("agent-memory") < told.find("# When you are done"), "{told}");
        // Resumed, it remembers as well.
        stage.run(&["resume", "last", "the second"]);
        assert!(system(&stage).contains("nightly"), "{scope}");
    }
    // What came along with a project keeps no notes for all of them.
    let text = "---\nname: stranger\ndescription: helps\nmemory: user\n---\nYou help.\n";
    scratch::write(&root.join(".agents/agents/stranger.md"), text);
    let run = stage.run(&["run", "stranger", "the second"]);
    assert!(run.stderr.contains("agent `stranger` runs without what it remembers"), "{run:?}");
    assert!(!home.join("state/agent-memory/stranger").exists());
}

const SKILLED: &str = r#"
[[replies]]
calls = [{ name = "skill", input = { name = "queries" } }]
[[replies]]
text = "I know how."
"#;

#[test]
fn a_task_has_the_skills_that_its_definition_chooses() {
    let stage = Stage::new(SKILLED);
    let plugin = stage.world.home().join("plugins/tiny");
    let manifest =
        "name = \"tiny\"\ncrates = [\"tiny-sql\"]\n[[skills]]\nsource = { path = \"skills\" }\n";
    scratch::write(&plugin.join("SYMPOSIUM.toml"), manifest);
    for (name, what) in [("queries", "write SQL"), ("schemas", "change tables")] {
        let text = format!(
            "---\nname: {name}\ndescription: How to {what}\n---\nAlways {what} with care.\n"
        );
        scratch::write(&plugin.join("skills").join(name).join("SKILL.md"), &text);
    }
    let run = stage.run(&["run", "helper", "x"]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    let told = system(&stage);
    assert!(
        told.contains("- queries: How to write SQL\n- schemas: How to change tables"),
        "{told}"
    );
    assert!(!told.contains("with care"), "only what they are for: {told}");
    assert!(logs(&stage).1.contains("Always write SQL with care."));
    // Only one of them, although its tools are listed; and none at all.
    stage.agent("helper", "skills: [sch*]\ntools: [read]\n");
    stage.run(&["run", "helper", "x"]);
    let (told, all) = (system(&stage), logs(&stage).1);
    assert!(told.contains("- schemas:") && !told.contains("- queries:"), "{told}");
    assert!(all.contains("you have no skill `queries`; you have `schemas`"), "{all}");
    stage.agent("helper", "tools: [read]\n");
    stage.run(&["run", "helper", "x"]);
    assert!(!system(&stage).contains("# Skills"));
}

const WRITES: &str = r#"
[[replies]]
when = { text = "asks" }
calls = [{ name = "send_peer_message", input = { target = "listener", body = "the answer is 42" } }]
[[replies]]
when = { text = "listens" }
calls = [{ name = "check_messages", input = { wait_ms = 30000 } }]
[[replies]]
when = { result = "the answer is 42" }
text = "I heard it."
[[replies]]
when = { result = "no tool" }
text = "I have nothing to hear with."
[[replies]]
text = "I told it."
"#;

#[test]
fn tasks_of_a_batch_write_to_each_other_if_they_may() {
    let stage = Stage::new(WRITES);
    let batch = "agent = \"helper\"\n[[tasks]]\nname = \"listener\"\nprompt = \"listens\"\n[[tasks]]\nname = \"asker\"\nprompt = \"asks\"\n";
    scratch::write(&stage.world.sample.root().join("many.toml"), batch);
    let run = stage.run(&["batch", "many.toml"]);
    assert!(run.stdout.contains("I have nothing to hear with."), "{run:?}");
    stage.config("[tasks]\npeer-messages = true\n");
    let run = stage.run(&["batch", "many.toml"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.stdout.contains("I heard it.") && run.stdout.contains("I told it."), "{run:?}");
}

const RUNS: &str = r#"
[[replies]]
calls = [{ name = "bash", input = { command = "touch made" } }]
[[replies]]
text = "Over."
"#;
const GUARDED: &str = "hooks:\n  PreToolUse:\n    - matcher: Bash\n      hooks:\n        - type: command\n          command: echo not-here >&2; exit 2\n";

#[test]
fn hooks_of_a_definition_run_if_you_trust_it_and_not_otherwise() {
    let stage = Stage::new(RUNS);
    let root = stage.world.sample.root().to_owned();
    stage.agent("helper", GUARDED);
    let run = stage.run(&["run", "helper", "x", "--allow", "bash"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(!root.join("made").exists() && logs(&stage).1.contains("not-here"), "{run:?}");
    let hook = "hooks:\n  PreToolUse:\n    - hooks:\n        - command: touch ran-by-hook\n";
    let text = format!("---\nname: stranger\ndescription: helps\n{hook}---\nYou help.\n");
    scratch::write(&root.join(".agents/agents/stranger.md"), &text);
    stage.run(&["run", "stranger", "x", "--allow", "bash"]);
    assert!(root.join("made").exists() && !root.join("ran-by-hook").exists());
    stage.config(&format!("[agents]\ntrust = [\"{root}\"]\n"));
    stage.run(&["run", "stranger", "x", "--allow", "bash"]);
    assert!(root.join("ran-by-hook").exists());
}

#[test]
fn programs_run_when_tasks_begin_and_end() {
    let stage = Stage::new(RUNS);
    let log = stage.world.home().join("life.log");
    stage.config(&format!(
        "[[tasks.start-hooks]]\ncommand = \"echo $CARGO_AGENTS_AGENT $CARGO_AGENTS_STATE >> {log}\"\n\
         [[tasks.stop-hooks]]\ncommand = \"echo $CARGO_AGENTS_AGENT $CARGO_AGENTS_STATE >> {log}; exit 1\"\nfail-closed = true\n\
         [[tasks.stop-hooks]]\ncommand = \"echo never >> {log}\"\n"
    ));
    let run = stage.run(&["run", "helper", "x"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let mut lines: Vec<String> =
        std::fs::read_to_string(&log).unwrap().lines().map(str::to_owned).collect();
    lines.sort();
    assert_eq!(lines, ["helper completed", "helper submitted"]);
    stage.config("[[tasks.stop-hooks]]\ntimeout = \"1s\"\n");
    assert_eq!(stage.run(&["run", "helper", "x"]).code, Some(2));
}

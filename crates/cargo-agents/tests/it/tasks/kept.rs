//! Transcripts: `task list|show|logs|resume`.

use std::{process::Stdio, time::Duration};

use agents_testkit::harm::{Harm, Place};
use serde_json::Value;

use super::{LOOKS, Stage};

/// The only task that ran: its id.
fn only(stage: &Stage) -> String {
    let run = stage.run(&["list", "--json"]);
    let list: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(list["tasks"].as_array().unwrap().len(), 1, "{run:?}");
    list["tasks"][0]["id"].as_str().unwrap().to_owned()
}

#[test]
fn what_a_task_did_can_be_read_later() {
    let stage = Stage::new(LOOKS);
    assert_eq!(
        stage.run(&["list"]).stdout,
        "no task has run here yet: `cargo agents task run` starts one\n"
    );
    let run = stage.run(&["run", "helper", "what does it use?", "-v"]);
    let (_, short) = run.stderr.trim_end().rsplit_once(' ').unwrap();
    let list = stage.run(&["list"]);
    assert!(list.stdout.starts_with(short) && list.stdout.contains("completed"), "{list:?}");
    let page = stage.run(&["show", short]).stdout;
    for part in ["helper", "what does it use?", "Cargo.toml", "It uses tiny-sql.", "completed"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(stage.run(&["show", short, "--format", "markdown"]).stdout.starts_with('#'));
    let run = stage.run(&["show", short, "--format", "html", "--output", "page.html"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""));
    let html = std::fs::read_to_string(stage.world.sample.root().join("page.html")).unwrap();
    assert!(html.starts_with("<!doctype html>"), "{html}");
    let shown: Value = serde_json::from_str(&stage.run(&["show", short, "--json"]).stdout).unwrap();
    assert_eq!(shown["outcome"]["report"]["text"], "It uses tiny-sql.");
    let logs = stage.run(&["logs", short]).stdout;
    let lines: Vec<Value> = logs.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    assert!(lines.len() >= 5, "{logs}");
}

#[test]
fn a_transcript_that_is_cut_off_is_said_to_be() {
    let stage = Stage::new(LOOKS);
    stage.run(&["run", "helper", "what does it use?"]);
    let file = stage.world.home().join(format!("state/transcripts/{}.jsonl", only(&stage)));
    let whole = std::fs::read(&file).unwrap();
    let logs = || stage.run(&["logs", "last"]);
    assert_eq!(logs().stderr, "");
    // Only the end of its last line.
    std::fs::write(&file, &whole[..whole.len() - 1]).unwrap();
    let run = logs();
    assert_eq!((run.stdout.as_bytes(), run.stderr.as_str()), (&whole[..], ""));
    std::fs::write(&file, &whole[..20]).unwrap();
    let run = logs();
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""), "{run:?}");
    assert!(run.stderr.contains("line 1 is cut off: what it said is lost"), "{run:?}");
}

#[test]
fn a_clock_that_is_wrong_takes_no_transcripts() {
    let stage = Stage::new(LOOKS);
    stage.run(&["run", "helper", "what does it use?"]);
    let first = only(&stage);
    let mut command = stage.command(&["run", "helper", "what does it use?"]);
    let root = stage.world.sample.root().to_owned();
    Harm::Clock(10 * 365 * 24 * 60 * 60).put(Place::Below(&root, "cargo-agents"), &mut command);
    assert!(command.output().unwrap().status.success());
    let shown = stage.run(&["show", &first]);
    assert!(shown.stdout.contains("It uses tiny-sql."), "{shown:?}");
    let list = stage.run(&["list", "--json"]).stdout;
    let ahead = jiff::Zoned::now().year() + 9;
    let is_ahead = |year| list.contains(&format!("\"{year}-"));
    assert!(is_ahead(ahead) || is_ahead(ahead + 1), "the clock was not wrong: {list}");
}

#[test]
fn a_transcript_is_nobody_elses_business() {
    use std::os::unix::fs::PermissionsExt as _;
    let stage = Stage::new(LOOKS);
    stage.run(&["run", "helper", "x"]);
    let dir = stage.world.home().join("state/transcripts");
    for entry in std::fs::read_dir(&dir).unwrap().flatten() {
        let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode & 0o077, 0, "{entry:?} {mode:o}");
    }
}

#[test]
fn a_task_goes_on_with_everything_that_was_said() {
    let script = r#"
[[replies]]
when = { text = "first" }
text = "The answer is forty-two."
[[replies]]
when = { text = "second" }
text = "As I said: forty-two."
"#;
    let stage = Stage::new(script);
    stage.run(&["run", "helper", "first"]);
    let id = only(&stage);
    let run = stage.run(&["resume", &id, "second"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "As I said: forty-two.\n"), "{run:?}");
    let list: Value = serde_json::from_str(&stage.run(&["list", "--json"]).stdout).unwrap();
    assert_eq!(list["tasks"][0]["resumed_from"], id.as_str());
    let run = stage.run(&["resume", "no-such-task"]);
    assert_eq!(run.code, Some(2), "{run:?}");
}

#[test]
fn a_task_that_was_killed_is_interrupted_and_can_go_on() {
    let script = r#"
[[replies]]
when = { text = "first" }
calls = [{ name = "bash", input = { command = "touch started; sleep 59.625" } }]
[[replies]]
when = { text = "second" }
text = "Then without it."
"#;
    let stage = Stage::new(script);
    let mut command = stage.command(&["run", "helper", "first", "--allow", "bash"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while !stage.world.sample.root().join("started").exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
    let id = only(&stage);
    let running = stage.run(&["resume", &id, "second"]);
    assert_eq!(running.code, Some(2), "{running:?}");
    assert!(running.stderr.contains("is still running"), "{}", running.stderr);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(stage.run(&["list"]).stdout.contains("interrupted"));
    let run = stage.run(&["resume", &id, "second"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "Then without it.\n"), "{run:?}");
}

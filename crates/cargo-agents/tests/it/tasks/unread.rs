//! Whoever starts a task and does not read what it says.

use std::{
    io::Read as _,
    process::Stdio,
    time::{Duration, Instant},
};

use agents_testkit::scratch;
use serde_json::Value;

use super::{Stage, is_running};

/// Says more than a pipe holds, several times over, and then sleeps for so many seconds: a number of its own, by which a test finds it among all processes.
fn talkative(seconds: &str) -> Stage {
    let words = "many words, ".repeat(20_000);
    Stage::new(&format!(
        "[[replies]]\ntext = \"{words}\"\ncalls = [{{ name = \"bash\", input = {{ command = \"sleep {seconds}\" }} }}]\n"
    ))
}

fn listed(stage: &Stage) -> Value {
    let run = stage.run(&["list", "--json"]);
    let list: Value = serde_json::from_str(&run.stdout).unwrap();
    list["tasks"][0].clone()
}

/// How the only task is, once it is so.
#[track_caller]
fn until(stage: &Stage, state: &str) -> Value {
    let since = Instant::now();
    loop {
        let task = listed(stage);
        if task["state"] == state {
            return task;
        }
        assert!(since.elapsed() < Duration::from_secs(60), "it never was `{state}`: {task}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_task_ends_within_its_limits_although_nobody_reads_what_it_says() {
    let stage = talkative("47.2191");
    let mut command =
        stage.command(&["run", "helper", "x", "--allow", "bash", "--max-time", "3s", "--json"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    // Its time is over, nothing of it runs any more, and all of it is written down.
    let task = until(&stage, "out-of-limits");
    assert!(!is_running("sleep\x0047.2191\0"));
    let id = task["id"].as_str().unwrap();
    let page = stage.run(&["show", id]).stdout;
    assert!(page.contains("many words, many words") && page.contains("sleep 47.2191"), "{id}");
    let logs = stage.run(&["logs", id, "--json"]).stdout;
    assert!(logs.lines().last().unwrap().contains("outcome"), "{logs}");
    // Only the program itself waits for its reader, as every program in a pipe does, and then nothing is missing.
    assert_eq!(child.try_wait().unwrap(), None);
    let mut said = String::new();
    child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let events: Vec<Value> = said.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    let text: String = events.iter().filter_map(|it| it["text"].as_str()).collect();
    assert_eq!(text.len(), "many words, ".len() * 20_000);
    assert_eq!(events.last().unwrap()["event"], "ended");
    assert_eq!(events.last().unwrap()["outcome"]["ending"]["state"], "out-of-limits");
}

/// `task run --json … | head -1`
#[test]
fn a_task_goes_on_when_its_reader_has_left() {
    let stage = Stage::new(
        r#"
[[replies]]
calls = [{ name = "bash", input = { command = "while ! test -e go; do sleep 0.02; done; touch went" } }]
[[replies]]
text = "Done."
"#,
    );
    let mut command = stage.command(&["run", "helper", "x", "--allow", "bash", "--json"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = [0];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let root = stage.world.sample.root();
    scratch::write(&root.join("go"), "");
    let run = crate::world::Run::from(child.wait_with_output().unwrap());
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    assert!(root.join("went").exists());
    assert_eq!(listed(&stage)["state"], "completed");
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_program_that_nobody_reads() {
    let stage = talkative("47.2193");
    let mut command = stage.command(&["run", "helper", "x", "--allow", "bash", "--json"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let since = Instant::now();
    while !is_running("sleep\x0047.2193\0") {
        assert!(since.elapsed() < Duration::from_secs(60), "it never began");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(agents_testkit::signal::interrupt(child.id()));
    until(&stage, "cancelled");
    // The pipe is still full, and still open.
    assert_ne!(child.wait().unwrap().code(), Some(0));
    assert!(!is_running("sleep\x0047.2193\0"));
}

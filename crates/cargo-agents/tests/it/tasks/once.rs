//! One first event and one last one for every task, however it ends.

use std::{collections::BTreeMap, process::Stdio};

use serde_json::Value;

use super::Stage;

/// The events of each task, in order; each begins once and ends once, and nothing is before or after that.
fn by_task(events: &[Value]) -> BTreeMap<String, Vec<Value>> {
    let mut tasks: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for event in events {
        let task = event["task"].as_str().unwrap().to_owned();
        tasks.entry(task).or_default().push(event.clone());
    }
    for (task, events) in &tasks {
        let words: Vec<&str> = events.iter().map(|it| it["event"].as_str().unwrap()).collect();
        let count = |word: &str| words.iter().filter(|it| **it == word).count();
        assert_eq!((count("started"), count("ended")), (1, 1), "{task}: {words:?}");
        assert_eq!((words[0], words[words.len() - 1]), ("started", "ended"), "{task}: {words:?}");
    }
    tasks
}

fn state(events: &[Value]) -> String {
    let ending = &events[events.len() - 1]["outcome"]["ending"];
    let detail = ["why", "limit"].iter().find_map(|key| ending[key].as_str());
    let state = ending["state"].as_str().unwrap();
    detail.map_or(state.to_owned(), |it| format!("{state} {it}"))
}

#[test]
fn however_a_task_ends_it_begins_once_and_ends_once() {
    const TURN: &str = "[[replies]]\ntext = \"So far.\"\ncalls = [{ name = \"find\", input = { pattern = \"*\" } }]\n";
    let says = "[[replies]]\ntext = \"Done.\"\n";
    let gives_up = "[[replies]]\ncalls = [{ name = \"yield\", input = { error = \"no\" } }]\n";
    let sleeps =
        "[[replies]]\ncalls = [{ name = \"bash\", input = { command = \"sleep 71.5\" } }]\n";
    let fails = "[[replies]]\nfault = { status = { code = 400, message = \"no\" } }\n";
    let wrong = "[[replies]]\ncalls = [{ name = \"yield\", input = { data = 1 } }]\n".repeat(4);
    let cases: [(&str, &[&str], &str); 8] = [
        (says, &[], "completed"),
        (gives_up, &[], "failed gave-up"),
        (fails, &[], "failed model"),
        ("", &[], "failed model"),
        (&TURN.repeat(4), &["--max-turns", "3"], "out-of-limits turns"),
        (sleeps, &["--max-time", "1s", "--allow", "bash"], "out-of-limits time"),
        (&wrong, &["--schema", "{\"type\": \"string\"}"], "failed invalid-result"),
        (says, &["--done-when", "false", "--max-turns", "9"], "failed"),
    ];
    for (script, more, expected) in cases {
        let stage = Stage::new(script);
        let mut args = vec!["run", "helper", "x"];
        args.extend(more);
        let (events, _) = stage.events(&args);
        let tasks = by_task(&events);
        assert_eq!(tasks.len(), 1, "{expected}");
        for events in tasks.values() {
            assert!(state(events).starts_with(expected), "{expected}: {}", state(events));
        }
    }
}

#[test]
fn one_that_is_refused_never_begins_and_still_ends_once() {
    let stage = Stage::new("");
    stage.config("[tasks]\ndisabled-agents = [\"helper\"]\n");
    let (events, code) = stage.events(&["run", "helper", "x"]);
    assert_eq!((events.len(), code), (1, Some(3)));
    assert_eq!((events[0]["event"].as_str(), &*state(&events)), (Some("ended"), "refused"));
}

#[test]
fn so_does_every_task_of_a_tree_that_is_cancelled() {
    let script = r#"
[[replies]]
when = { text = "lead" }
calls = [{ name = "task", input = { tasks = [
    { id = "a", assignment = "sleep", agent = "scout" },
    { id = "b", assignment = "sleep", agent = "scout" },
] } }]
[[replies]]
calls = [{ name = "bash", input = { command = "touch $$.started; sleep 72.5" } }]
[[replies]]
calls = [{ name = "bash", input = { command = "touch $$.started; sleep 72.5" } }]
"#;
    let stage = Stage::new(script);
    stage.agent("lead", "spawns: [scout]\n");
    stage.agent("scout", "");
    let mut command = stage.command(&["run", "lead", "lead", "--allow", "bash", "--json"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let root = stage.world.sample.root();
    let started = || {
        let entries = std::fs::read_dir(&root).unwrap().flatten();
        entries.filter(|it| it.path().extension().is_some_and(|it| it == "started")).count()
    };
    while started() < 2 {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
    let output = child.wait_with_output().unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    let events: Vec<Value> = lines.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    let tasks = by_task(&events);
    assert_eq!(tasks.len(), 3);
    assert!(tasks.values().all(|events| state(events) == "cancelled"), "{lines}");
    let last = &events[events.len() - 1];
    assert_eq!(last["path"], serde_json::json!(["lead"]), "children end before their parent");
}

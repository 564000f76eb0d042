//! One first event and one last one for every task, however it ends.

use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader},
    process::Stdio,
};

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
        ("", &[], "failed not-started"),
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
when = { text = "lead the way" }
calls = [{ name = "task", input = { tasks = [
    { id = "a", assignment = "slowly", agent = "scout" },
    { id = "b", assignment = "slowly", agent = "scout" },
] } }]
[[replies]]
when = { text = "slowly" }
text = "Too late."
delay-ms = 600000
"#;
    let stage = Stage::new(script);
    stage.agent("lead", "spawns: [scout]\n");
    stage.agent("scout", "");
    let mut command = stage.command(&["run", "lead", "lead the way", "--json"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut events: Vec<Value> = Vec::new();
    let asks = |it: &&Value| it["event"] == "turn" && it["path"].as_array().unwrap().len() == 2;
    while events.iter().filter(asks).count() < 2 {
        events.push(serde_json::from_str(&lines.next().unwrap()).unwrap());
    }
    assert!(agents_testkit::signal::interrupt(child.id()));
    events.extend(lines.map(|it| serde_json::from_str::<Value>(&it).unwrap()));
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let tasks = by_task(&events);
    assert_eq!(tasks.len(), 3);
    assert!(tasks.values().all(|events| state(events) == "cancelled"), "{events:?}");
    let last = &events[events.len() - 1];
    assert_eq!(last["path"], serde_json::json!(["lead"]), "children end before their parent");
}

//! Tasks through the door.

use rmcp::model::{CallToolResponse, CancelTaskParams, GetTaskParams, UpdateTaskParams};
use serde_json::json;

use agents_testkit::collector::Collector;

use super::client::{Client, Manner, program, until};
use crate::tasks::{
    Stage, is_running,
    telemetry::{sending_to, spans},
};

const LOOKS: &str = r#"
[[replies]]
calls = [{ name = "read", input = { path = "Cargo.toml" } }]
[[replies]]
when = { result = "tiny-sql" }
text = "It uses tiny-sql."
"#;

/// An agent that starts a program which takes long, by which it can be recognised.
fn sleeps(seconds: &str) -> String {
    format!(
        "[[replies]]\ntext = \"On it.\"\ncalls = [{{ name = \"bash\", input = {{ command = \"touch started; sleep {seconds}\" }} }}]\n"
    )
}

#[tokio::test]
async fn a_task_is_run_and_told_about_turn_by_turn() {
    let stage = Stage::new(LOOKS);
    let client = Client::start(&stage, &[], Manner::Plain).await;
    let said = client
        .ok("task", json!({"tasks": [{"agent": "helper", "prompt": "what does it use?"}]}))
        .await;
    let task = &said["tasks"][0];
    assert_eq!(
        (&task["state"], &task["result"], &task["agent"], &task["turns"], &task["tool_calls"]),
        (&json!("completed"), &json!("It uses tiny-sql."), &json!("helper"), &json!(2), &json!(1)),
        "{said}"
    );
    let progress = client.progress();
    let lines: Vec<&str> = progress.iter().map(|it| it.1.as_str()).collect();
    assert_eq!(
        lines,
        [
            "helper: starts: helper on demo/default",
            "helper: turn 1",
            "helper: calls read",
            "helper: turn 2",
            "helper: completed",
        ]
    );
    assert!(progress.windows(2).all(|it| it[0].0 < it[1].0), "{progress:?}");
    let page = json!({"id": task["id"], "part": "transcript"});
    let page = client.ok("task_output", page).await;
    assert!(page["text"].as_str().unwrap().contains("what does it use?"), "{page}");
    assert_eq!(client.leave().await, Some(0));
}

#[tokio::test]
async fn a_batch_keeps_its_order_and_starts_whole_or_not_at_all() {
    let stage = Stage::new("[[replies]]\ntext = \"Done.\"\n");
    let client = Client::start(&stage, &[], Manner::Plain).await;
    let two = json!([{"agent": "helper", "prompt": "a", "name": "one"}, {"agent": "helper", "prompt": "b", "name": "two"}]);
    let said = client.ok("task", json!({"tasks": two, "context": "for both"})).await;
    assert_eq!(
        (&said["tasks"][0]["name"], &said["tasks"][1]["name"]),
        (&json!("one"), &json!("two"))
    );
    let before = client.ok("task_status", json!({})).await["tasks"].as_array().unwrap().len();
    let wrong = json!([{"agent": "helper", "prompt": "a"}, {"agent": "nobody", "prompt": "b"}]);
    let error = client.fails("task", json!({"tasks": wrong})).await;
    assert!(error.contains("Unknown agent \"nobody\""), "{error}");
    assert_eq!(
        client.ok("task_status", json!({})).await["tasks"].as_array().unwrap().len(),
        before
    );
}

#[tokio::test]
async fn what_is_asked_for_wrongly_is_told_with_a_way_out() {
    let stage = Stage::new("[[replies]]\ntext = \"Done.\"\n");
    let client = Client::start(&stage, &[], Manner::Plain).await;
    for (arguments, part) in [
        (json!({}), "missing field `tasks`"),
        (json!({"tasks": []}), "`tasks` is empty"),
        (json!({"tasks": [{"prompt": "x", "mode": "bypass"}]}), "unknown field `mode`"),
        (json!({"tasks": [{"prompt": "x", "max_time": "soon"}]}), "`soon` is not a time"),
    ] {
        let error = client.fails("task", arguments).await;
        assert!(error.contains(part) && error.contains("hint:"), "{part}: {error}");
    }
    let bad = json!([{"prompt": "x", "agent": "helper", "schema": {"type": "nonsense"}}]);
    let error = client.fails("task", json!({"tasks": bad})).await;
    assert!(error.contains("the schema does not compile"), "{error}");
    for tool in ["task_status", "task_cancel"] {
        let error = client.fails(tool, json!({"ids": ["ffffffff-nothing"]})).await;
        assert!(error.contains("ffffffff-nothing") && error.contains("hint:"), "{error}");
    }
}

#[tokio::test]
async fn in_the_background_they_are_asked_about_waited_for_and_read() {
    let stage = Stage::new("[[replies]]\ntext = \"Done.\"\n");
    let client = Client::start(&stage, &[], Manner::Plain).await;
    let tasks = json!([{"agent": "helper", "prompt": "x"}]);
    let said = client.ok("task", json!({"tasks": tasks, "background": true})).await;
    let id = said["tasks"][0]["id"].clone();
    let said = client.ok("task_status", json!({"ids": [id], "wait_seconds": 60})).await;
    assert_eq!(said["tasks"][0]["state"], "completed", "{said}");
    let page = client.ok("task_output", json!({"id": id})).await;
    assert_eq!((&page["text"], &page["state"]), (&json!("Done."), &json!("completed")));
    // Another client, and another program, can read what was written down.
    let other = Client::start(&stage, &[], Manner::Plain).await;
    let page = other.ok("task_output", json!({"id": id})).await;
    assert_eq!((&page["text"], &page["state"]), (&json!("Done."), &json!("completed")));
    assert_eq!(other.ok("task_status", json!({})).await, json!({"tasks": []}));
    let error = other.fails("task_cancel", json!({"ids": [id]})).await;
    assert!(error.contains("is not a task of this connection"), "{error}");
}

#[tokio::test]
async fn a_request_that_is_cancelled_ends_the_programs_of_its_agent() {
    let stage = Stage::new(&sleeps("47.2161"));
    let client = Client::start(&stage, &["--allow", "bash"], Manner::Plain).await;
    let request = Client::request("task", json!({"tasks": [{"agent": "helper", "prompt": "x"}]}));
    let started = stage.world.sample.root().join("started");
    tokio::select! {
        result = client.peer().call_tool_once(request) => panic!("{result:?}"),
        () = until(|| started.exists() && is_running("sleep\x0047.2161\0")) => {}
    }
    // The call is not waited for any more, so the client says that it is cancelled.
    until(|| !is_running("sleep\x0047.2161\0")).await;
    let said = client.ok("task_status", json!({"wait_seconds": 60})).await;
    assert_eq!(said["tasks"][0]["state"], "cancelled", "{said}");
}

#[tokio::test]
async fn task_cancel_ends_one_of_them_and_waits_for_it() {
    let stage = Stage::new(&sleeps("47.2162"));
    let client = Client::start(&stage, &["--allow", "bash"], Manner::Plain).await;
    let tasks = json!([{"agent": "helper", "prompt": "x"}]);
    let said = client.ok("task", json!({"tasks": tasks, "background": true})).await;
    let id = said["tasks"][0]["id"].clone();
    until(|| is_running("sleep\x0047.2162\0")).await;
    let said = client.ok("task_status", json!({"ids": [id]})).await;
    assert_eq!(
        (&said["tasks"][0]["state"], &said["tasks"][0]["told"]),
        (&json!("running"), &json!("bash"))
    );
    let said = client.ok("task_cancel", json!({"ids": [id]})).await;
    assert_eq!(said["tasks"][0]["state"], "cancelled", "{said}");
    assert!(!is_running("sleep\x0047.2162\0"));
}

#[tokio::test]
async fn when_the_client_goes_away_everything_ends() {
    let stage = Stage::new(&sleeps("47.2163"));
    let client = Client::start(&stage, &["--allow", "bash"], Manner::Plain).await;
    let tasks = json!([{"agent": "helper", "prompt": "x"}]);
    client.ok("task", json!({"tasks": tasks, "background": true})).await;
    until(|| is_running("sleep\x0047.2163\0")).await;
    assert_eq!(client.leave().await, Some(0));
    assert!(!is_running("sleep\x0047.2163\0"), "a process was left behind");
    let list = stage.world.json(&["task", "list"]);
    assert_eq!(list["tasks"][0]["state"], "cancelled", "{list}");
}

const ASKS: &str = r#"
[[replies]]
calls = [{ name = "bash", input = { command = "touch made" } }]
[[replies]]
text = "Tried."
"#;

#[tokio::test]
async fn the_user_of_the_client_is_asked_where_that_is_possible() {
    for (manner, is_made, questions) in
        [(Manner::Asks("once"), true, 1), (Manner::Asks("no"), false, 1), (Manner::Plain, false, 0)]
    {
        let stage = Stage::new(ASKS);
        let client = Client::start(&stage, &[], manner).await;
        let said = client.ok("task", json!({"tasks": [{"agent": "helper", "prompt": "x"}]})).await;
        assert_eq!(stage.world.sample.root().join("made").exists(), is_made, "{manner:?}: {said}");
        let asked = client.asked();
        assert_eq!(asked.len(), questions, "{asked:?}");
        assert!(
            asked.iter().all(|it| it.starts_with("helper: ") && it.contains("touch made")),
            "{asked:?}"
        );
        let refused = said["tasks"][0].get("not_agreed").is_some();
        assert_eq!(refused, !is_made, "{said}");
    }
}

#[tokio::test]
async fn whoever_calls_gets_no_more_rights_than_the_server_was_started_with() {
    let stage = Stage::new(ASKS);
    let client =
        Client::start(&stage, &["--mode", "plan", "--allow", "bash"], Manner::Asks("always")).await;
    client.ok("task", json!({"tasks": [{"agent": "helper", "prompt": "x"}]})).await;
    assert!(!stage.world.sample.root().join("made").exists());
    let client = Client::start(&stage, &["--allow", "bash"], Manner::Plain).await;
    client.ok("task", json!({"tasks": [{"agent": "helper", "prompt": "x", "plan": true}]})).await;
    assert!(!stage.world.sample.root().join("made").exists());
    client.ok("task", json!({"tasks": [{"agent": "helper", "prompt": "x"}]})).await;
    assert!(stage.world.sample.root().join("made").exists());
}

#[tokio::test]
async fn a_host_that_runs_for_a_task_cannot_go_deeper_through_here_than_agents_may() {
    let stage = Stage::new("[[replies]]\ntext = \"Done.\"\n");
    for (depth, starts) in [("1", true), ("2", false)] {
        let mut command = program(&stage, &[]);
        command.env("CARGO_AGENTS_DEPTH", depth);
        let client = Client::over(command, Manner::Plain).await;
        let tasks = json!({"tasks": [{"agent": "helper", "prompt": "x"}]});
        if starts {
            client.ok("task", tasks).await;
        } else {
            let error = client.fails("task", tasks).await;
            assert_eq!(
                error,
                "agents are 2 deep already, and may not be deeper\nhint: `tasks.max-depth` in the configuration decides that"
            );
        }
    }
}

#[tokio::test]
async fn two_clients_and_a_hundred_calls_at_once() {
    let stage = Stage::new("[[replies]]\ntext = \"Done.\"\n");
    let (one, other) = tokio::join!(
        Client::start(&stage, &[], Manner::Plain),
        Client::start(&stage, &[], Manner::Plain)
    );
    let call = |client| async move {
        let client: &Client = client;
        let said = client.ok("task", json!({"tasks": [{"agent": "helper", "prompt": "x"}]})).await;
        assert_eq!(said["tasks"][0]["result"], "Done.");
    };
    let calls = (0..100).map(|at| call(if at % 2 == 0 { &one } else { &other }));
    futures_util::future::join_all(calls).await;
    for client in [&one, &other] {
        let said = client.ok("task_status", json!({})).await;
        assert_eq!(said["tasks"].as_array().unwrap().len(), 50);
    }
}

#[tokio::test]
async fn what_all_tasks_of_a_call_may_do_is_not_agreed_to_for_those_of_another() {
    let stage = Stage::new(
        "[[replies]]\ncalls = [{ name = \"bash\", input = { command = \"touch made\" } }]\n\
         [[replies]]\ncalls = [{ name = \"bash\", input = { command = \"touch more\" } }]\n\
         [[replies]]\ntext = \"Done.\"\n",
    );
    let client = Client::start(&stage, &[], Manner::Asks("always")).await;
    for calls in 1..=2 {
        let said = client.ok("task", json!({"tasks": [{"agent": "helper", "prompt": "x"}]})).await;
        assert_eq!(said["tasks"][0]["result"], "Done.", "{said}");
        assert!(stage.world.sample.root().join("more").exists());
        assert_eq!(client.asked().len(), calls, "{:?}", client.asked());
    }
}

#[tokio::test]
async fn an_overview_of_all_tasks_has_no_results() {
    let stage = Stage::new("[[replies]]\ntext = \"Done.\"\n");
    let client = Client::start(&stage, &[], Manner::Plain).await;
    let said = client.ok("task", json!({"tasks": [{"agent": "helper", "prompt": "x"}]})).await;
    let all = client.ok("task_status", json!({})).await;
    let task = &all["tasks"][0];
    assert_eq!((&task["state"], &task["cut"]), (&json!("completed"), &json!(true)), "{all}");
    assert!(task.get("result").is_none(), "{all}");
    let named = client.ok("task_status", json!({"ids": [said["tasks"][0]["id"]]})).await;
    assert_eq!(named["tasks"][0]["result"], "Done.", "{named}");
}

/// A client with the tasks extension gets its results later, and is asked through them.
#[tokio::test]
async fn results_are_asked_for_later_where_the_client_can() {
    for (word, is_made) in [("once", true), ("no", false)] {
        let stage = Stage::new(ASKS);
        let client = Client::start(&stage, &[], Manner::Later).await;
        let tasks = json!({"tasks": [{"agent": "helper", "prompt": "x"}]});
        let id = later(&client, tasks).await;
        let asked = polled(&client, &id, "input_required").await;
        let (key, request) = asked["inputRequests"].as_object().unwrap().iter().next().unwrap();
        let question = request["params"]["message"].as_str().unwrap();
        assert!(question.starts_with("helper: ") && question.contains("touch made"), "{asked}");
        let answer = json!({"action": "accept", "content": {"answer": word}});
        let answers = [(key.clone(), answer)].into_iter().collect();
        client.peer().update_task(UpdateTaskParams::new(id.clone(), answers)).await.unwrap();
        let done = polled(&client, &id, "completed").await;
        let task = &done["result"]["structuredContent"]["tasks"][0];
        assert_eq!(task["state"], "completed", "{done}");
        assert_eq!(stage.world.sample.root().join("made").exists(), is_made, "{done}");
    }
}

/// As the official inspector 2.12 does.
#[tokio::test]
async fn who_names_the_extension_in_an_older_revision_gets_the_result_at_once() {
    let stage = Stage::new("[[replies]]\ntext = \"Done.\"\n");
    let client = Client::start(&stage, &[], Manner::TooEarly).await;
    let said = client.ok("task", json!({"tasks": [{"agent": "helper", "prompt": "x"}]})).await;
    assert_eq!(said["tasks"][0]["result"], "Done.");
}

#[tokio::test]
async fn what_is_asked_for_later_can_be_cancelled() {
    let stage = Stage::new(&sleeps("47.2178"));
    let client = Client::start(&stage, &["--allow", "bash"], Manner::Later).await;
    let id = later(&client, json!({"tasks": [{"agent": "helper", "prompt": "x"}]})).await;
    until(|| stage.world.sample.root().join("started").exists()).await;
    client.peer().cancel_task(CancelTaskParams::new(id.clone())).await.unwrap();
    polled(&client, &id, "cancelled").await;
    assert!(!is_running("sleep 47.2178"));
    assert!(client.peer().get_task(GetTaskParams::new("no-such-task")).await.is_err());
}

pub(super) async fn later(client: &Client, tasks: serde_json::Value) -> String {
    let response = client.peer().call_tool_once(Client::request("task", tasks)).await.unwrap();
    let CallToolResponse::Task(created) = response else { panic!("{response:?}") };
    created.task.task_id
}

/// How the task of the protocol is, once it is so.
pub(super) async fn polled(client: &Client, id: &str, status: &str) -> serde_json::Value {
    for _ in 0..6000 {
        let got = client.peer().get_task(GetTaskParams::new(id)).await.unwrap();
        let got = serde_json::to_value(got).unwrap();
        if got["status"] == status {
            return got;
        }
        assert!(["working", "input_required"].iter().any(|it| got["status"] == *it), "{got}");
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("it never was `{status}`")
}

#[tokio::test]
async fn tasks_make_spans_and_run_hooks_as_those_of_task_run_do() {
    let (stage, collector) = (Stage::new(LOOKS), Collector::start());
    let log = stage.world.home().join("hooks.log");
    stage.config(&format!(
        "[[tasks.start-hooks]]\ncommand = \"echo $CARGO_AGENTS_AGENT $CARGO_AGENTS_STATE >> {log}\"\n\
         [[tasks.stop-hooks]]\ncommand = \"sleep 0.2; echo $CARGO_AGENTS_AGENT $CARGO_AGENTS_STATE >> {log}\"\n"
    ));
    let mut command = program(&stage, &[]);
    command.envs(sending_to(&collector.url()));
    let client = Client::over(command, Manner::Plain).await;
    let tasks = json!({"tasks": [{"agent": "helper", "prompt": "what does it use?"}]});
    let said = client.ok("task", tasks).await;
    // Both are waited for.
    assert_eq!(client.leave().await, Some(0));
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "helper submitted\nhelper completed\n");
    let spans = spans(&collector);
    let task = &spans["invoke_agent helper"];
    assert_eq!(task.attribute("gen_ai.agent.id"), said["tasks"][0]["id"].as_str().unwrap());
    assert_eq!(spans["execute_tool read"].parent_span_id, task.span_id);
}

//! Secrets for tasks behind the door: the client is asked whether, and never told what.

use agents_testkit::endpoint::{Endpoint, Reply, Script};
use rmcp::model::UpdateTaskParams;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;

use super::{
    client::{Client, Manner, program},
    tasks::{later, polled},
};
use crate::tasks::{
    Stage,
    secrets::{VALUE, asking, files_with, got_it, with_secret},
};

const QUESTION: &str = "helper: `helper` wants the secret `CI_TOKEN` (from `OUTER`) for commands that name it, and says: to publish it";

/// What `sha256sum` says about the value.
const HASH: &str = "9dbfc84621c10c4a8eaa8185a63e1cd7ed6b0128669d43ee04b5a60f81d73b76";

async fn client(stage: &Stage, args: &[&str], manner: Manner) -> Client {
    let mut all = vec!["--allow", "bash"];
    all.extend(args);
    let mut command = program(stage, &all);
    command.env("OUTER", VALUE);
    Client::over(command, manner).await
}

fn one() -> Value {
    json!({"tasks": [{"agent": "helper", "prompt": "publish it"}]})
}

#[tokio::test]
async fn the_user_of_the_client_is_asked_whether_a_task_gets_a_secret() {
    for (manner, got, questions) in [
        (Manner::Asks("once"), true, 1),
        (Manner::Asks("task"), true, 1),
        (Manner::Asks("always"), true, 1),
        (Manner::Asks("no"), false, 1),
        (Manner::Asks("something else"), false, 1),
        (Manner::Declines, false, 1),
        (Manner::Cancels, false, 1),
        (Manner::Plain, false, 0),
        (Manner::Newest, false, 0),
    ] {
        let stage = asking();
        let client = client(&stage, &[], manner).await;
        let said = client.ok("task", one()).await;
        let task = &said["tasks"][0];
        let result = if got { "Published." } else { "Then not." };
        assert_eq!((&task["result"], got_it(&stage)), (&json!(result), got), "{manner:?}: {said}");
        assert_eq!(client.asked(), vec![QUESTION; questions], "{manner:?}");
        if got {
            let titles = client.titles();
            assert_eq!(titles[0], "Yes, for 5 min", "{titles:?}");
            assert_eq!(titles[1], "Yes, as long as this task runs", "{titles:?}");
        } else {
            let why = task["not_agreed"][0].as_str().unwrap();
            assert!(why.contains("the secret `CI_TOKEN`"), "{said}");
        }
        assert!(!client.heard().contains(VALUE), "{manner:?}");
    }
}

#[tokio::test]
async fn nobody_waits_for_a_client_that_does_not_answer() {
    let stage = asking();
    stage.config("[tasks]\napproval-timeout = \"1s\"\n[secrets]\nCI_TOKEN = { env = \"OUTER\" }\n");
    let client = client(&stage, &[], Manner::Silent).await;
    let said = client.ok("task", one()).await;
    assert_eq!(said["tasks"][0]["result"], "Then not.", "{said}");
    assert_eq!((client.asked().len(), got_it(&stage)), (1, false));
    let why = said["tasks"][0]["not_agreed"][0].as_str().unwrap();
    assert!(why.ends_with("nobody answered in time"), "{said}");
}

#[tokio::test]
async fn what_the_server_was_started_with_needs_no_question() {
    let stage = asking();
    let open = client(&stage, &["--secret", "CI_TOKEN"], Manner::Plain).await;
    let said = open.ok("task", one()).await;
    assert_eq!((&said["tasks"][0]["result"], got_it(&stage)), (&json!("Published."), true));
    assert!(!open.heard().contains(VALUE));
    let mut wrong = program(&stage, &["--secret", "OTHER"]);
    let ended = wrong.stdin(std::process::Stdio::null()).output().await.unwrap();
    assert_eq!(ended.status.code(), Some(2));
}

#[tokio::test]
async fn in_the_background_a_client_is_asked_only_if_the_user_wants_that() {
    for (setting, questions) in [("deny", 0), ("ask", 1)] {
        let stage = asking();
        stage.config(&format!(
            "[tasks]\nbackground-secrets = \"{setting}\"\n[secrets]\nCI_TOKEN = {{ env = \"OUTER\" }}\n"
        ));
        let client = client(&stage, &[], Manner::Asks("once")).await;
        let mut tasks = one();
        tasks["background"] = json!(true);
        let said = client.ok("task", tasks).await;
        let id = said["tasks"][0]["id"].clone();
        let said = client.ok("task_status", json!({"ids": [id], "wait_seconds": 60})).await;
        assert_eq!(said["tasks"][0]["state"], "completed", "{said}");
        assert_eq!((client.asked().len(), got_it(&stage)), (questions, questions == 1), "{said}");
    }
}

#[tokio::test]
async fn a_client_that_gets_results_later_is_asked_through_them() {
    let stage = asking();
    let client = client(&stage, &[], Manner::Later).await;
    let id = later(&client, one()).await;
    let asked = polled(&client, &id, "input_required").await;
    let (key, request) = asked["inputRequests"].as_object().unwrap().iter().next().unwrap();
    assert_eq!(request["params"]["message"], QUESTION);
    let answer = json!({"action": "accept", "content": {"answer": "once"}});
    let answers = [(key.clone(), answer)].into_iter().collect();
    client.peer().update_task(UpdateTaskParams::new(id.clone(), answers)).await.unwrap();
    polled(&client, &id, "completed").await;
    assert!(got_it(&stage) && !client.heard().contains(VALUE));
}

/// A model over HTTP, so that every byte that it gets is seen, and an agent that shows the value in every way that it can.
#[tokio::test]
async fn the_value_is_in_the_tool_and_in_no_byte_that_a_client_or_a_model_gets() {
    let shows = "printf %s \"$CI_TOKEN\" | sha256sum; echo \"$CI_TOKEN\"; echo \"$CI_TOKEN\" | fold -w 5; echo \"$CI_TOKEN\" > leak.txt; exit 3";
    let endpoint = Endpoint::start(Script::of([
        Reply::call("request_secret", json!({"key": "CI_TOKEN", "reason": "to see it"})),
        Reply::call("bash", json!({"command": shows})),
        Reply::call("read", json!({"path": "leak.txt"})),
        Reply::call("bash", json!({"command": "rm leak.txt"})),
        Reply::text("Seen.").in_fragments_of(2),
    ]));
    let stage = Stage::new("");
    stage.world.config(
        "[defaults]\nsymposium-recommendations = false\n[secrets]\nCI_TOKEN = { env = \"OUTER\" }\n",
    );
    with_secret(&stage);
    let mut command = program(&stage, &["--allow", "bash"]);
    command.env("OUTER", VALUE).env("RUST_LOG", "trace");
    command.env("ANTHROPIC_API_KEY", "sk-of-the-model").env("ANTHROPIC_BASE_URL", endpoint.url());
    command.stderr(std::process::Stdio::piped());
    let mut client = Client::over(command, Manner::Asks("once")).await;
    let said = client.ok("task", one()).await;
    assert_eq!(said["tasks"][0]["result"], "Seen.", "{said}");
    let page = json!({"id": said["tasks"][0]["id"], "part": "transcript"});
    client.ok("task_output", page).await;
    let sent = format!("{:?}", endpoint.received());
    // It was really there.
    assert!(sent.contains("<SECRET:") && sent.contains(HASH), "{sent}");
    let mut stderr = client.child.stderr.take().unwrap();
    let heard = client.heard();
    assert_eq!(client.leave().await, Some(0));
    let mut logged = String::new();
    stderr.read_to_string(&mut logged).await.unwrap();
    for (what, text) in [("model", &sent), ("client", &heard), ("log", &logged)] {
        let flat: String = text.replace("\\\\n", "").replace("\\n", "");
        let flat: String = flat.split_whitespace().collect();
        assert!(!text.contains(VALUE) && !flat.contains(VALUE), "{what}: {text}");
    }
    let mut files = Vec::new();
    for dir in [stage.world.home(), stage.world.user(), stage.world.sample.root()] {
        files_with(dir.as_std_path(), &[VALUE.to_owned()], &mut files);
    }
    assert_eq!(files, Vec::<String>::new());
}

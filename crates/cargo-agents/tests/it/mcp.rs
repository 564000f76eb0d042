//! `cargo agents mcp`, as real clients meet it: those of the official SDK, and ones that do not behave.

mod behind;
mod client;
mod http;
mod secrets;
mod tasks;
mod wire;

use serde_json::json;

use self::client::{Client, Manner, program_in};
use crate::{
    tasks::Stage,
    trust::{OLD, Trusting},
};

#[tokio::test]
async fn it_says_what_it_has() {
    let stage = Stage::new("");
    let client = Client::start(&stage, &[], Manner::Plain).await;
    let info = client.peer().peer_info().unwrap();
    assert_eq!(info.server_info.as_ref().unwrap().name, "cargo-agents");
    assert!(info.instructions.as_ref().unwrap().contains("skills"));
    let names: Vec<&str> = client.tools.iter().map(|it| &*it.name).collect();
    assert_eq!(
        names,
        [
            "task",
            "task_status",
            "task_output",
            "task_cancel",
            "agents",
            "skills",
            "crate_info",
            "commands",
            "list_tools",
            "call_tool",
            "execute"
        ]
    );
}

#[tokio::test]
async fn the_newest_revision_of_the_protocol_is_spoken_too() {
    let stage = Stage::new("[[replies]]\ntext = \"Hello.\"\n");
    let client = Client::start(&stage, &[], Manner::Newest).await;
    let said = client.ok("task", json!({"tasks": [{"agent": "helper", "prompt": "hello"}]})).await;
    assert_eq!(said["tasks"][0]["result"], "Hello.");
    assert!(!client.progress().is_empty());
}

#[tokio::test]
async fn agents_are_listed_with_what_they_are_for() {
    let stage = Stage::new("");
    let client = Client::start(&stage, &[], Manner::Plain).await;
    let said = client.ok("agents", json!({"query": "help"})).await;
    let helper =
        said["agents"].as_array().unwrap().iter().find(|it| it["name"] == "helper").unwrap();
    assert_eq!(helper["description"], "helps");
    assert!(helper["from"].as_str().unwrap().ends_with("helper.md"));
    let said = client.ok("agents", json!({"query": "no such words"})).await;
    assert_eq!(said, json!({"agents": []}));
}

#[tokio::test]
async fn sources_of_crates_are_found_at_the_version_in_use() {
    let stage = Stage::new("");
    let client = Client::start(&stage, &[], Manner::Plain).await;
    let said = client.ok("crate_info", json!({"name": "tiny-sql"})).await;
    assert_eq!((&said["name"], &said["version"]), (&json!("tiny-sql"), &json!("0.3.1")));
    assert!(std::path::Path::new(said["source"].as_str().unwrap()).is_dir());
    let error = client.fails("crate_info", json!({"name": "no-such-crate"})).await;
    assert!(error.contains("no-such-crate"), "{error}");
    let error = client.fails("crate_info", json!({"name": "serde", "version": "?"})).await;
    assert!(
        error.contains("`?` is not a version requirement") && error.contains("hint:"),
        "{error}"
    );
}

#[tokio::test]
async fn skills_are_found_by_words_and_loaded_when_they_are_needed() {
    let stage = Stage::new("");
    let plugin =
        "name = \"tiny\"\ncrates = [\"tiny-sql\"]\n[[skills]]\nsource = { path = \"skills\" }\n";
    stage.world.plugin("tiny", plugin);
    for (name, about) in [("queries", "how to write SQL"), ("pooling", "connections")] {
        let text = format!("---\nname: {name}\ndescription: {about}\n---\nDo it well.\n");
        let dir = stage.world.home().join("plugins/tiny/skills").join(name);
        agents_testkit::scratch::write(&dir.join("SKILL.md"), text);
        agents_testkit::scratch::write(&dir.join("references/more.md"), "more");
    }
    let client = Client::start(&stage, &[], Manner::Plain).await;
    let said = client.ok("skills", json!({"query": "SQL"})).await;
    assert_eq!(said["skills"][0]["name"], "queries", "{said}");
    assert_eq!(said["skills"][0]["crates"], json!(["tiny-sql"]));
    let said = client.ok("skills", json!({})).await;
    assert_eq!(said["skills"].as_array().unwrap().len(), 2);
    let said = client.ok("skills", json!({"load": "queries"})).await;
    let loaded = &said["loaded"];
    assert!(loaded["text"].as_str().unwrap().ends_with("Do it well.\n"), "{said}");
    assert_eq!(loaded["files"], json!(["references/more.md"]));
    let error = client.fails("skills", json!({"load": "nothing"})).await;
    assert_eq!(
        error,
        "there is no skill `nothing` here\nhint: `skills` without arguments lists all of them"
    );
    // What is new in the workspace is seen without a restart.
    let dir = stage.world.home().join("plugins/tiny/skills/later");
    let text = "---\nname: later\ndescription: came later\n---\nx\n";
    agents_testkit::scratch::write(&dir.join("SKILL.md"), text);
    let said = client.ok("skills", json!({"query": "later"})).await;
    assert_eq!(said["skills"][0]["name"], "later");
}

#[tokio::test]
async fn a_skill_that_nobody_has_agreed_to_is_read_by_nobody() {
    let it = Trusting::new();
    it.ok(&["sync"]);
    let client = Client::over(program_in(&it.world, &[]), Manner::Plain).await;
    let said = client.ok("skills", json!({"load": "usage"})).await;
    assert_eq!(said["loaded"]["text"], OLD);
    // There is no model here, which only tasks need.
    let error = client.fails("task", json!({"tasks": [{"prompt": "x"}]})).await;
    assert!(error.contains("there is no provider to ask") && error.contains("hint:"), "{error}");
    // It changes while the server runs.
    it.publish("0.3.2", &OLD.replace("Prepare", "Always prepare"));
    it.upgrade();
    assert_eq!(client.ok("skills", json!({})).await["skills"], json!([]));
    client.fails("skills", json!({"load": "usage"})).await;
    it.ok(&["update", "--yes"]);
    let said = client.ok("skills", json!({"load": "usage"})).await;
    assert!(said["loaded"]["text"].as_str().unwrap().contains("Always prepare"), "{said}");
}

#[tokio::test]
async fn a_skill_with_hidden_instructions_is_not_there_even_before_anything_was_agreed_to() {
    let it = Trusting::new();
    let client = Client::over(program_in(&it.world, &[]), Manner::Plain).await;
    assert_eq!(client.ok("skills", json!({})).await["skills"][0]["name"], "usage");
    it.poison();
    assert_eq!(client.ok("skills", json!({})).await["skills"], json!([]));
}

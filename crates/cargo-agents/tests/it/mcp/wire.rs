//! Clients that do not behave.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};

use super::client::program;
use crate::{tap::ends_unread, tasks::Stage};

struct Raw {
    child: Child,
    write: ChildStdin,
    read: Lines<BufReader<ChildStdout>>,
}

impl Raw {
    fn start(stage: &Stage) -> Self {
        let mut child = program(stage, &[]).spawn().unwrap();
        let write = child.stdin.take().unwrap();
        let read = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, write, read }
    }

    async fn say(&mut self, text: &str) {
        self.write.write_all(text.as_bytes()).await.unwrap();
        self.write.write_all(b"\n").await.unwrap();
    }

    /// The answer with this id; whatever else is said meanwhile is JSON, too.
    async fn answer(&mut self, id: u64) -> Value {
        loop {
            let line = self.read.next_line().await.unwrap().unwrap();
            let said: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}"));
            if said["id"] == id {
                return said;
            }
        }
    }

    async fn ask(&mut self, id: u64, method: &str, params: Value) -> Value {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.say(&request.to_string()).await;
        self.answer(id).await
    }

    async fn greet(&mut self) {
        let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}});
        let said = self.ask(1, "initialize", params).await;
        assert_eq!(said["result"]["protocolVersion"], "2025-06-18", "{said}");
        self.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    }
}

#[tokio::test]
async fn lines_that_are_no_messages_do_not_end_it() {
    let stage = Stage::new("");
    let mut raw = Raw::start(&stage);
    raw.say("garbage before anything").await;
    raw.greet().await;
    for line in [
        "garbage",
        "",
        "{",
        "[]",
        "null",
        "{\"jsonrpc\":\"2.0\"}",
        "{\"jsonrpc\":\"1.0\",\"id\":{}}",
    ] {
        raw.say(line).await;
    }
    raw.write.write_all(b"\xff\xfe\x00\n").await.unwrap();
    let said = raw.ask(2, "tools/list", json!({})).await;
    assert_eq!(said["result"]["tools"].as_array().unwrap().len(), 11);
    let said = raw.ask(3, "no/such/method", json!({})).await;
    assert_eq!(said["error"]["code"], -32601, "{said}");
    let said = raw.ask(4, "tools/call", json!({"name": "no-such-tool"})).await;
    assert_eq!(said["error"]["message"], "there is no tool `no-such-tool`", "{said}");
    let said = raw.ask(5, "tools/call", json!({"name": "agents", "arguments": {"query": 3}})).await;
    assert_eq!(said["result"]["isError"], true, "{said}");
    // Far more than anybody has to say, and more than is listened to.
    let huge = "x".repeat(1024 * 1024);
    let said =
        raw.ask(6, "tools/call", json!({"name": "skills", "arguments": {"query": huge}})).await;
    assert_eq!(said["result"]["structuredContent"]["skills"], json!([]));
    let (mut sent, endless) = (0, "y".repeat(1024 * 1024));
    while sent < 20 {
        raw.write.write_all(endless.as_bytes()).await.unwrap();
        sent += 1;
    }
    raw.say("").await;
    let said = raw.ask(7, "ping", json!({})).await;
    assert_eq!(said["result"], json!({}));
    drop(raw.write);
    assert_eq!(raw.child.wait().await.unwrap().code(), Some(0));
}

#[tokio::test]
async fn one_that_says_nothing_and_leaves_is_no_error() {
    let stage = Stage::new("");
    let mut raw = Raw::start(&stage);
    drop(raw.write);
    assert_eq!(raw.read.next_line().await.unwrap(), None);
    assert_eq!(raw.child.wait().await.unwrap().code(), Some(0));
}

#[tokio::test]
async fn one_that_sends_its_last_question_and_leaves_gets_its_answer() {
    let stage = Stage::new("");
    let mut raw = Raw::start(&stage);
    raw.greet().await;
    let request = json!({"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": "agents", "arguments": {}}});
    raw.say(&request.to_string()).await;
    drop(raw.write);
    let line = raw.read.next_line().await.unwrap().unwrap();
    let said: Value = serde_json::from_str(&line).unwrap();
    assert_eq!((&said["id"], &said["result"]["isError"]), (&json!(9), &json!(false)));
    assert_eq!(raw.child.wait().await.unwrap().code(), Some(0));
}

#[tokio::test]
async fn a_signal_ends_it_with_everything() {
    let stage = Stage::new("");
    let mut raw = Raw::start(&stage);
    raw.greet().await;
    assert!(agents_testkit::signal::terminate(raw.child.id().unwrap()));
    assert_eq!(raw.child.wait().await.unwrap().code(), Some(130));
}

#[tokio::test]
async fn one_that_never_reads_is_not_waited_for() {
    let stage = Stage::new("");
    for is_signal in [false, true] {
        let Raw { child, mut write, read } = {
            let mut raw = Raw::start(&stage);
            raw.greet().await;
            raw
        };
        for id in 2..200 {
            let request = json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"});
            write.write_all(format!("{request}\n").as_bytes()).await.unwrap();
        }
        ends_unread(child, write, is_signal).await;
        drop(read);
    }
}

#[tokio::test]
async fn one_that_begins_with_something_else_is_told_what_was_expected() {
    let stage = Stage::new("");
    let mut command = program(&stage, &[]);
    let mut child = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
    let mut write = child.stdin.take().unwrap();
    write
        .write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n")
        .await
        .unwrap();
    let ended = tokio::time::timeout(Duration::from_secs(30), child.wait_with_output()).await;
    let ended = ended.expect("it ends").unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(2), "{said}");
    let expected = "its first message must be a request, usually `initialize`, and was `notifications/initialized`";
    assert!(said.contains(expected), "{said}");
}

//! The suite's MCP server, by itself.

#![allow(clippy::disallowed_methods, reason = "tests")]

use std::{
    io::Write as _,
    process::{Command, Stdio},
};

use serde_json::{Value, json};

#[test]
fn the_server_answers_what_it_knows_and_refuses_the_rest() {
    let dir = agents_testkit::scratch::Scratch::new();
    let mut server = Command::new(env!("CARGO_BIN_EXE_notes-server"))
        .args(["--log", dir.path("log").as_str()])
        .env("NOTES_TOKEN", "secret")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let call = json!({"name": "look_up", "arguments": {"krate": "serde"}});
    let mut input = server.stdin.take().unwrap();
    for message in [
        json!({"jsonrpc": "2.0", "id": 0, "method": "server/discover"}),
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-03-26"}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": "two", "method": "tools/list"}),
        json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": call}),
    ] {
        writeln!(input, "{message}").unwrap();
    }
    drop(input);
    let output = server.wait_with_output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<Value> = text.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    let ids: Vec<&Value> = answers.iter().map(|it| &it["id"]).collect();
    assert_eq!(ids, [&json!(0), &json!(1), &json!("two"), &json!(3)]);
    assert_eq!(answers[0]["error"]["code"], -32601);
    assert_eq!(answers[1]["result"]["protocolVersion"], "2025-03-26");
    assert_eq!(answers[2]["result"]["tools"][0]["name"], "look_up");
    let answer = &answers[3]["result"]["content"][0]["text"];
    assert_eq!(answer, "the note about serde is secret");
    assert_eq!(fs_err::read_to_string(dir.path("log")).unwrap(), "serde\n");
}

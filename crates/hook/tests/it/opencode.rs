//! The plugin module for OpenCode, run by a real JavaScript engine where there is one, with a script in
//! our place that answers each event.

use std::{os::unix::fs::PermissionsExt, time::Duration};

use agents_host::hooks::opencode_module;
use agents_system::process::{Call, find_program};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Calls the hooks of the module as OpenCode does and prints what became of it.
const DRIVER: &str = r#"
import { CargoAgents } from "./plugin.mjs"
const seen = { replied: [] }
const client = { postSessionIdPermissionsPermissionId: async (reply) => { seen.replied.push(reply) } }
const hooks = await CargoAgents({ client, directory: process.cwd() })
const message = { parts: [{ type: "text", text: "hi" }] }
await hooks["chat.message"]({ sessionID: "s1" }, message)
await hooks["chat.message"]({ sessionID: "s1" }, { parts: [] })
seen.prompt = message.parts[0].text
const args = { command: "ls", timeout: 5 }
await hooks["tool.execute.before"]({ tool: "bash", sessionID: "s1", callID: "c1" }, { args })
seen.args = args
await hooks["tool.execute.before"]({ tool: "rm", sessionID: "s1", callID: "c2" }, { args: {} })
  .catch((error) => { seen.denied = error.message })
const after = { title: "ls", output: "secret", metadata: {} }
await hooks["tool.execute.after"]({ tool: "bash", sessionID: "s1", callID: "c1", args: {} }, after)
seen.output = after.output
const status = { status: "ask" }
await hooks["permission.ask"]({ id: "p1", type: "bash", pattern: "ls", sessionID: "s1", metadata: {} }, status)
seen.status = status.status
const asked = (id, permission) => ({
  type: "permission.asked",
  properties: { id, sessionID: "s1", permission, patterns: ["ls"], metadata: {} },
})
await hooks.event({ event: asked("p1", "bash") })
await hooks.event({ event: asked("p2", "bash") })
await hooks.event({ event: asked("p3", "edit") })
await hooks.event({ event: asked("p4", "webfetch") })
await hooks.event({ event: { type: "session.idle", properties: { sessionID: "s1" } } })
console.log(JSON.stringify(seen))
"#;

/// In our place: notes what it is told and answers in the words of the wire format.
const PROGRAM: &str = r#"#!/bin/sh
told=$(cat)
echo "$2 $3 $told" >> log
case "$3 $told" in
  session-start*) echo '{"additionalContext":"welcome"}' ;;
  user-prompt-submit*) echo '{}' ;;
  "pre-tool-use "*'"rm"'*) echo '{"decision":"deny","reason":"not that one"}' ;;
  pre-tool-use*) echo '{"updatedInput":{"command":"ls -l"}}' ;;
  post-tool-use*) echo '{"updatedOutput":"redacted","additionalContext":"note"}' ;;
  "permission-request "*'"edit"'*) echo '{"decision":"allow"}' ;;
  "permission-request "*'"webfetch"'*) echo '{"decision":"ask"}' ;;
  permission-request*) echo '{"decision":"deny","reason":"no"}' ;;
  stop*) echo 'this is no answer'; exit 3 ;;
esac
"#;

#[test]
fn the_module_does_what_it_is_told() {
    let Some(node) = find_program("node") else { return };
    let dir = TempDir::new().unwrap();
    let program = dir.path().join("our \"own\" program");
    fs_err::write(&program, PROGRAM).unwrap();
    fs_err::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    fs_err::write(dir.path().join("plugin.mjs"), opencode_module(program.to_str().unwrap()))
        .unwrap();
    fs_err::write(dir.path().join("driver.mjs"), DRIVER).unwrap();
    let cwd = dir.path().to_str().unwrap();
    let done = Call::new(node.as_str())
        .arg("driver.mjs")
        .cwd(cwd)
        .deadline(Duration::from_secs(120))
        .capture()
        .unwrap();
    assert!(done.status.success(), "{}", done.said());
    let seen: Value = serde_json::from_slice(&done.stdout).unwrap();
    let reply = |id: &str, response: &str| json!({"path": {"id": "s1", "permissionID": id}, "body": {"response": response}});
    assert_eq!(
        seen,
        json!({
            // What was asked in the old way is not asked once more, and who is to be asked is asked.
            "replied": [reply("p2", "reject"), reply("p3", "once")],
            "prompt": "hi\n\n<hook_context>\nwelcome\n</hook_context>",
            "args": {"command": "ls -l"},
            "denied": "not that one",
            "output": "redacted\n\nnote",
            "status": "deny",
        })
    );
    let log = fs_err::read_to_string(dir.path().join("log")).unwrap();
    let told: Vec<&str> = log.lines().map(|line| line.split(" {").next().unwrap()).collect();
    assert_eq!(
        told,
        [
            "opencode session-start",
            "opencode user-prompt-submit",
            "opencode user-prompt-submit",
            "opencode pre-tool-use",
            "opencode pre-tool-use",
            "opencode post-tool-use",
            "opencode permission-request",
            "opencode permission-request",
            "opencode permission-request",
            "opencode permission-request",
            "opencode stop",
        ]
    );
    // What it tells is understood as what it is about.
    for line in log.lines() {
        let (event, told) = line.strip_prefix("opencode ").unwrap().split_once(' ').unwrap();
        let event = agents_host::Event::parse(event).unwrap();
        let received = agents_hook::Wire::OpenCode.parse_input(event, told.as_bytes()).unwrap();
        let agents_hook::Received::Input(input) = received else { panic!("{line}") };
        assert_eq!(input.session().session_id.as_deref(), Some("s1"));
        assert!(input.session().extra.is_empty(), "{line}");
    }
}

//! What stands behind the door: commands of plugins, and MCP servers.

use serde_json::json;
use tokio::io::AsyncReadExt as _;

use super::client::{Client, Manner, program, until};
use crate::tasks::{Stage, is_running};

/// A program that speaks MCP, by hand, so that it can misbehave.
const SERVER: &str = r#"
say() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
text() { say "{\"content\":[{\"type\":\"text\",\"text\":\"$1\"}]}"; }
echo x >> "$0.starts"
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  version=$(printf '%s' "$line" | sed -n 's/.*"protocolVersion":"\([^"]*\)".*/\1/p')
  case "$line" in
    *'"method":"initialize"'*) say "{\"protocolVersion\":\"$version\",\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"notes\",\"version\":\"1\"}}" ;;
    *'"method":"tools/list"'*) say '{"tools":[{"name":"find","description":"Finds notes","inputSchema":{"type":"object","properties":{"words":{"type":"array","items":{"type":"string"}},"most":{"type":"integer"}},"required":["words"]}},{"name":"die","description":"Ends it","inputSchema":{"type":"object"}},{"name":"nap","description":"Takes long","inputSchema":{"type":"object"}}]}' ;;
    *'"name":"find"'*) text "two notes" ;;
    *'"name":"nap"'*) sleep 47.2164 ;;
    *'"name":"die"'*) echo bye >&2; exit 3 ;;
  esac
done
"#;

fn stage() -> Stage {
    stage_with("")
}

fn stage_with(replies: &str) -> Stage {
    let stage = Stage::new(replies);
    let script = stage.world.plugin_script("helper", "notes.sh", SERVER);
    stage.world.plugin_script("helper", "count.sh", "echo \"$# arguments\"; [ \"$1\" != fail ]\n");
    stage.world.plugin(
        "helper",
        &format!(
            "name = \"helper\"\ncrates = [\"*\"]\n\
             [[mcp_servers]]\nname = \"notes\"\ncommand = \"{script}\"\n\
             [[mcp_servers]]\nname = \"broken\"\ncommand = \"/no/such/program\"\n\
             [subcommand.count]\ndescription = \"Count arguments\"\naudience = \"agents\"\ncommand = {{ script = \"count.sh\" }}\n\
             [subcommand.greet]\ndescription = \"Greet\"\naudience = \"humans\"\ncommand = {{ script = \"count.sh\" }}\n"
        ),
    );
    stage
}

fn starts(stage: &Stage) -> usize {
    let file = stage.world.home().join("plugins/helper/notes.sh.starts");
    std::fs::read_to_string(file).unwrap_or_default().lines().count()
}

#[tokio::test]
async fn commands_for_agents_are_listed_and_run() {
    let stage = stage();
    let client = Client::start(&stage, &[], Manner::Plain).await;
    let said = client.ok("commands", json!({})).await;
    let commands = said["commands"].as_array().unwrap();
    let names: Vec<&str> = commands.iter().filter_map(|it| it["name"].as_str()).collect();
    assert!(
        names.contains(&"plugin__helper__count") && !names.iter().any(|it| it.contains("greet")),
        "{names:?}"
    );
    let said = client
        .ok("commands", json!({"run": "plugin__helper__count", "args": ["a b", "$HOME"]}))
        .await;
    assert!(said["output"].as_str().unwrap().contains("2 arguments"), "{said}");
    let error =
        client.fails("commands", json!({"run": "plugin__helper__count", "args": ["fail"]})).await;
    assert!(error.contains("1 arguments"), "{error}");
    // It is a tool of its own, too.
    let tool = client.tools.iter().find(|it| it.name == "plugin__helper__count").unwrap();
    let description = tool.description.as_deref();
    assert_eq!(description, Some("Count arguments (a command of the plugin `helper`)"));
    let said = client.call("plugin__helper__count", json!({"args": ["a", "b", "c"]})).await;
    assert!(said.content[0].as_text().unwrap().text.contains("3 arguments"), "{said:?}");
    client.fails("plugin__helper__count", json!({"arguments": 3})).await;
    let error = client.fails("commands", json!({"run": "greet"})).await;
    assert!(
        error.contains("there is no command `greet`") && error.contains("`plugin__helper__count`"),
        "{error}"
    );
}

#[tokio::test]
async fn servers_are_started_when_they_are_needed_and_declared_in_short() {
    let stage = stage();
    let client = Client::start(&stage, &[], Manner::Plain).await;
    client.ok("agents", json!({})).await;
    assert_eq!(starts(&stage), 0);
    let said = client.ok("list_tools", json!({"servers": ["notes"]})).await;
    assert_eq!(
        said,
        json!({
            "declarations": "// server notes\n/** Finds notes */\nfind(input: { words: string[]; most?: number })\n/** Ends it */\ndie()\n/** Takes long */\nnap()\n",
            "other_servers": ["broken"],
        })
    );
    let said = client.ok("list_tools", json!({"query": "finds"})).await;
    assert!(
        said["declarations"].as_str().unwrap().starts_with("// server notes\n/** Finds"),
        "{said}"
    );
    assert!(said["problems"][0].as_str().unwrap().contains("`broken`"), "{said}");
    let said = client
        .ok("call_tool", json!({"server": "notes", "tool": "find", "arguments": {"words": ["x"]}}))
        .await;
    assert!(said["output"].as_str().unwrap().contains("two notes"), "{said}");
    assert_eq!(starts(&stage), 1);
    for (server, tool, part) in [
        ("nothing", "x", "there is no MCP server `nothing`"),
        ("notes", "x", "the server `notes` has no tool `x`"),
        ("broken", "x", "the MCP server `broken`"),
    ] {
        let error = client.fails("call_tool", json!({"server": server, "tool": tool})).await;
        assert!(error.contains(part), "{error}");
    }
}

#[tokio::test]
async fn a_server_that_dies_is_started_again_however_often() {
    let stage = stage();
    let client = Client::start(&stage, &[], Manner::Plain).await;
    for _ in 0..4 {
        let error = client.fails("call_tool", json!({"server": "notes", "tool": "die"})).await;
        assert!(
            error.contains("the MCP server `notes` ended during the call") && error.contains("bye"),
            "{error}"
        );
    }
    let find = json!({"server": "notes", "tool": "find", "arguments": {"words": []}});
    assert!(client.ok("call_tool", find).await["output"].as_str().unwrap().contains("two notes"));
}

#[tokio::test]
async fn servers_end_with_the_client() {
    let stage = stage();
    let client = Client::start(&stage, &[], Manner::Plain).await;
    let nap = Client::request("call_tool", json!({"server": "notes", "tool": "nap"}));
    tokio::select! {
        result = client.peer().call_tool_once(nap) => panic!("{result:?}"),
        () = until(|| is_running("sleep\x0047.2164\0")) => {}
    }
    assert_eq!(client.leave().await, Some(0));
    assert!(!is_running("sleep\x0047.2164\0"), "a process was left behind");
}

#[tokio::test]
async fn a_script_makes_many_calls_and_only_its_result_comes_back() {
    let stage = stage();
    let client = Client::start(&stage, &[], Manner::Plain).await;
    client.ok("execute", json!({"script": "return 1"})).await;
    assert_eq!(starts(&stage), 0);
    let script = "const all = await Promise.all([1, 2, 3].map((it) => tools.notes.find({ words: [String(it)] })));
        return { calls: all.length, same: new Set(all).size, first: all[0] }";
    let said = client.ok("execute", json!({ "script": script })).await;
    let output = said["output"].as_str().unwrap();
    assert!(
        output.contains("\"calls\": 3") && output.contains("\"first\": \"two notes\""),
        "{output}"
    );
    assert_eq!(starts(&stage), 1);
    for (script, part) in [
        (
            "await tools.notes.nothing()",
            "the server `notes` has no tool `nothing`; there are `find`",
        ),
        ("await tools.broken.x()", "the MCP server `broken`"),
        ("await tools.notes.die()", "the MCP server `notes` ended during the call; it said: bye"),
        ("await fetch('https://example.org')", "fetch is not defined"),
    ] {
        let error = client.fails("execute", json!({ "script": script })).await;
        assert!(error.contains("the script failed: ") && error.contains(part), "{error}");
    }
    let error = client.fails("execute", json!({"script": "while (true);", "timeout": 1})).await;
    assert!(error.contains("it took more than 1 s"), "{error}");
    // A server that died is there again.
    let script = "return await tools.notes.find({ words: [] })";
    let said = client.ok("execute", json!({ "script": script })).await;
    assert!(said["output"].as_str().unwrap().contains("two notes"), "{said}");
    assert_eq!(client.leave().await, Some(0));
}

#[tokio::test]
async fn a_hundred_calls_at_once_go_to_one_server() {
    let stage = stage();
    let client = Client::start(&stage, &[], Manner::Plain).await;
    let find = || json!({"server": "notes", "tool": "find", "arguments": {"words": ["x"]}});
    let calls = (0..100).map(|_| client.ok("call_tool", find()));
    for said in futures_util::future::join_all(calls).await {
        assert!(said["output"].as_str().unwrap().contains("two notes"), "{said}");
    }
    assert_eq!(starts(&stage), 1);
}

#[tokio::test]
async fn what_a_task_lacks_is_said_once_to_the_user_and_not_only_to_nobody() {
    let stage = stage_with("[[replies]]\ntext = \"Done.\"\n[[replies]]\ntext = \"Done.\"\n");
    stage.agent("helper", "tools: [read, mcp__broken__find]\n");
    let mut command = program(&stage, &[]);
    command.stderr(std::process::Stdio::piped());
    let mut client = Client::over(command, Manner::Plain).await;
    for _ in 0..2 {
        let task = json!({"tasks": [{"agent": "helper", "prompt": "look"}]});
        let said = client.ok("task", task).await;
        assert_eq!(said["tasks"][0]["result"], "Done.", "{said}");
    }
    let mut stderr = client.child.stderr.take().unwrap();
    assert_eq!(client.leave().await, Some(0));
    let mut said = String::new();
    stderr.read_to_string(&mut said).await.unwrap();
    let lines: Vec<&str> = said.lines().filter(|it| it.contains("`broken`")).collect();
    assert_eq!(lines.len(), 1, "{said}");
    assert!(lines[0].starts_with("warning: ") && lines[0].contains("/no/such/program"), "{said}");
}

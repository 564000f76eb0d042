use agents_plugin::manifest::RemoteKind;
use insta::assert_snapshot;

use super::*;
use crate::{
    Scope,
    testing::{built_in, pick, plain},
};

fn pairs(name: &str) -> Vec<(String, String)> {
    vec![(name.to_owned(), "1".to_owned())]
}

fn stdio_server() -> McpServer {
    let transport = McpTransport::Stdio {
        command: "srv".to_owned(),
        args: vec!["--x".to_owned()],
        env: pairs("A"),
    };
    McpServer { name: "s".to_owned(), transport, gate: Default::default() }
}

fn remote_server(kind: RemoteKind) -> McpServer {
    let url = "https://e.org/mcp".to_owned();
    let transport = McpTransport::Remote { kind, url, headers: pairs("X-A") };
    McpServer { name: "s".to_owned(), transport, gate: Default::default() }
}

/// What each host gets for a server, one line each.
fn entries(server: &McpServer) -> String {
    let lines = built_in().into_iter().map(|host| {
        let mcp = host.mcp.get().unwrap();
        let keys = mcp.key_path(&server.name);
        let what = |scope| match mcp.entry(scope, server) {
            Ok(entry) => entry.to_string(),
            Err(error) => error.to_string(),
        };
        let (user, project) = (what(Scope::User), what(Scope::Project));
        let other =
            if project == user { String::new() } else { format!("  in the project {project}\n") };
        format!("{} {keys:?}\n  {user}\n{other}", host.id)
    });
    lines.collect()
}

#[test]
fn a_program() {
    assert_snapshot!(entries(&stdio_server()), @r#"
    claude ["mcpServers", "s"]
      {"command":"srv","args":["--x"],"env":{"A":"1"}}
    codex ["mcp_servers", "s"]
      {"command":"srv","args":["--x"],"env":{"A":"1"}}
    copilot ["mcpServers", "s"]
      {"type":"local","command":"srv","args":["--x"],"env":{"A":"1"},"tools":["*"]}
      in the project {"command":"srv","args":["--x"],"env":{"A":"1"}}
    gemini ["mcpServers", "s"]
      {"command":"srv","args":["--x"],"env":{"A":"1"}}
    antigravity ["mcpServers", "s"]
      {"command":"srv","args":["--x"],"env":{"A":"1"}}
    kiro ["mcpServers", "s"]
      {"command":"srv","args":["--x"],"env":{"A":"1"}}
    opencode ["mcp", "s"]
      {"type":"local","command":["srv","--x"],"environment":{"A":"1"},"enabled":true}
    goose ["extensions", "s"]
      {"name":"s","type":"stdio","cmd":"srv","args":["--x"],"envs":{"A":"1"},"enabled":true,"timeout":300}
    cursor ["mcpServers", "s"]
      {"command":"srv","args":["--x"],"env":{"A":"1"}}
    qwen ["mcpServers", "s"]
      {"command":"srv","args":["--x"],"env":{"A":"1"}}
    factory ["mcpServers", "s"]
      {"type":"stdio","command":"srv","args":["--x"],"env":{"A":"1"}}
    amp ["amp.mcpServers", "s"]
      {"command":"srv","args":["--x"],"env":{"A":"1"}}
    zed ["context_servers", "s"]
      {"command":"srv","args":["--x"],"env":{"A":"1"}}
    "#);
}

#[test]
fn streamable_http() {
    assert_snapshot!(entries(&remote_server(RemoteKind::Http)), @r#"
    claude ["mcpServers", "s"]
      {"type":"http","url":"https://e.org/mcp","headers":{"X-A":"1"}}
    codex ["mcp_servers", "s"]
      {"url":"https://e.org/mcp","http_headers":{"X-A":"1"}}
    copilot ["mcpServers", "s"]
      {"type":"http","url":"https://e.org/mcp","headers":{"X-A":"1"},"tools":["*"]}
      in the project {"type":"http","url":"https://e.org/mcp","headers":{"X-A":"1"}}
    gemini ["mcpServers", "s"]
      {"httpUrl":"https://e.org/mcp","headers":{"X-A":"1"}}
    antigravity ["mcpServers", "s"]
      {"serverUrl":"https://e.org/mcp","headers":{"X-A":"1"}}
    kiro ["mcpServers", "s"]
      {"url":"https://e.org/mcp","headers":{"X-A":"1"}}
    opencode ["mcp", "s"]
      {"type":"remote","url":"https://e.org/mcp","headers":{"X-A":"1"},"enabled":true}
    goose ["extensions", "s"]
      {"name":"s","type":"streamable_http","uri":"https://e.org/mcp","headers":{"X-A":"1"},"enabled":true,"timeout":300}
    cursor ["mcpServers", "s"]
      {"url":"https://e.org/mcp","headers":{"X-A":"1"}}
    qwen ["mcpServers", "s"]
      {"httpUrl":"https://e.org/mcp","headers":{"X-A":"1"}}
    factory ["mcpServers", "s"]
      {"type":"http","url":"https://e.org/mcp","headers":{"X-A":"1"}}
    amp ["amp.mcpServers", "s"]
      {"url":"https://e.org/mcp","headers":{"X-A":"1"}}
    zed ["context_servers", "s"]
      {"url":"https://e.org/mcp","headers":{"X-A":"1"}}
    "#);
}

#[test]
fn server_sent_events() {
    assert_snapshot!(entries(&remote_server(RemoteKind::Sse)), @r#"
    claude ["mcpServers", "s"]
      {"type":"sse","url":"https://e.org/mcp","headers":{"X-A":"1"}}
    codex ["mcp_servers", "s"]
      MCP server `s` uses `sse`, which the host cannot
    copilot ["mcpServers", "s"]
      {"type":"sse","url":"https://e.org/mcp","headers":{"X-A":"1"},"tools":["*"]}
      in the project {"type":"sse","url":"https://e.org/mcp","headers":{"X-A":"1"}}
    gemini ["mcpServers", "s"]
      {"url":"https://e.org/mcp","headers":{"X-A":"1"}}
    antigravity ["mcpServers", "s"]
      {"serverUrl":"https://e.org/mcp","headers":{"X-A":"1"}}
    kiro ["mcpServers", "s"]
      {"url":"https://e.org/mcp","headers":{"X-A":"1"}}
    opencode ["mcp", "s"]
      {"type":"remote","url":"https://e.org/mcp","headers":{"X-A":"1"},"enabled":true}
    goose ["extensions", "s"]
      MCP server `s` uses `sse`, which the host cannot
    cursor ["mcpServers", "s"]
      {"url":"https://e.org/mcp","headers":{"X-A":"1"}}
    qwen ["mcpServers", "s"]
      {"url":"https://e.org/mcp","headers":{"X-A":"1"}}
    factory ["mcpServers", "s"]
      MCP server `s` uses `sse`, which the host cannot
    amp ["amp.mcpServers", "s"]
      {"url":"https://e.org/mcp","headers":{"X-A":"1"}}
    zed ["context_servers", "s"]
      MCP server `s` uses `sse`, which the host cannot
    "#);
}

#[test]
fn what_is_empty_is_left_out_except_the_arguments() {
    let transport =
        McpTransport::Stdio { command: "srv".to_owned(), args: Vec::new(), env: Vec::new() };
    let server = McpServer { transport, ..stdio_server() };
    assert_snapshot!(entry(McpShape::Claude, &server).unwrap(), @r#"{"command":"srv","args":[]}"#);
    assert_snapshot!(entry(McpShape::Opencode, &server).unwrap(), @r#"{"type":"local","command":["srv"],"enabled":true}"#);
    assert_snapshot!(entry(McpShape::Goose, &server).unwrap(), @r#"{"name":"s","type":"stdio","cmd":"srv","args":[],"enabled":true,"timeout":300}"#);
}

#[test]
fn a_shape_without_server_sent_events_says_so_by_itself() {
    let server = remote_server(RemoteKind::Sse);
    for shape in [McpShape::Codex, McpShape::Goose] {
        let error = entry(shape, &server).unwrap_err();
        assert_eq!(error.transport, Transport::Sse);
    }
}

#[test]
fn of_two_equal_names_the_last_wins() {
    let env = [pairs("A"), vec![("A".to_owned(), "2".to_owned())]].concat();
    let transport = McpTransport::Stdio { command: "srv".to_owned(), args: Vec::new(), env };
    let server = McpServer { transport, ..stdio_server() };
    assert_eq!(entry(McpShape::Claude, &server).unwrap()["env"], json!({"A": "2"}));
}

#[test]
fn hosts_that_share_a_file_of_the_project_want_the_same_in_it() {
    let hosts = built_in();
    let servers = [stdio_server(), remote_server(RemoteKind::Http), remote_server(RemoteKind::Sse)];
    for one in &hosts {
        for other in &hosts {
            let file = |host: &crate::Host| host.paths(Scope::Project, &plain()).mcp_file;
            if file(one).is_some() && file(one) == file(other) {
                let (one, other) = (one.mcp.get().unwrap(), other.mcp.get().unwrap());
                assert_eq!(one.container, other.container);
                for server in &servers {
                    let entry = one.entry(Scope::Project, server);
                    assert_eq!(entry, other.entry(Scope::Project, server));
                }
            }
        }
    }
    let shared = pick(&hosts, &["claude", "copilot"]);
    let files = shared.iter().map(|host| host.paths(Scope::Project, &plain()).mcp_file);
    assert!(files.into_iter().all(|file| file.as_deref() == Some("/w/.mcp.json".into())));
}

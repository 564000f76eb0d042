use super::*;

fn server(text: &str) -> McpServer {
    demo(&format!("[[mcp_servers]]\nname = \"m\"\n{text}")).mcp_servers.remove(0)
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn without_a_type_a_server_is_a_program() {
    let expected = McpTransport::Stdio {
        command: "m".to_owned(),
        args: vec!["serve".to_owned()],
        env: pairs(&[("A", "1")]),
    };
    let list = "command = \"m\"\nargs = [\"serve\"]\nenv = [{ name = \"A\", value = \"1\" }]";
    assert_eq!(server(list).transport, expected);
    let map = "type = \"stdio\"\ncommand = \"m\"\nargs = [\"serve\"]\nenv = { A = \"1\" }";
    assert_eq!(server(map).transport, expected);
}

#[test]
fn http_and_sse_servers_have_an_address() {
    for (word, kind) in [("http", RemoteKind::Http), ("sse", RemoteKind::Sse)] {
        let text = format!(
            "type = \"{word}\"\nurl = \"https://x\"\nheaders = [{{ name = \"H\", value = \"v\" }}]"
        );
        let expected = McpTransport::Remote {
            kind,
            url: "https://x".to_owned(),
            headers: pairs(&[("H", "v")]),
        };
        assert_eq!(server(&text).transport, expected);
    }
}

#[test]
fn arguments_environment_and_headers_may_be_left_out_and_other_keys_are_tolerated() {
    let plain = McpTransport::Stdio { command: "m".to_owned(), args: vec![], env: vec![] };
    assert_eq!(server("command = \"m\"\ntimeout = 30").transport, plain);
}

#[test]
fn a_server_without_its_essentials_is_refused() {
    let error =
        |text: &str, message: &str| check_error(&format!("[[mcp_servers]]\n{text}"), message);
    error("command = \"m\"", "`name` is missing in [[mcp_servers]]");
    error("name = \"m\"", "`command` is missing in [[mcp_servers]]");
    error("name = \"m\"\ntype = \"http\"", "`url` is missing in [[mcp_servers]]");
    error(
        "name = \"m\"\ntype = \"websocket\"\nurl = \"x\"",
        "`type` cannot be `websocket` in [[mcp_servers]]",
    );
    error(
        "name = \"m\"\ncommand = \"m\"\nenv = { A = 1 }",
        "`env` must be a string, not an integer",
    );
    error(
        "name = \"m\"\ncommand = \"m\"\nenv = [{ name = \"A\" }]",
        "`value` is missing in [[mcp_servers.env]]",
    );
}

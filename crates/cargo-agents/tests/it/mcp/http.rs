//! The door over HTTP: official clients, and whoever else knocks.

use std::{
    io::{BufRead as _, Write as _},
    net::TcpStream,
    os::unix::fs::PermissionsExt as _,
    process::{Child, Stdio},
};

use agents_system::process::keeper::Keeper;
use agents_testkit::knock::{Answer, knock};
use agents_tool::{
    Area, CallContext, Confinement, Ground, Tool as _,
    artifacts::ArtifactDir,
    mcp::{McpTool, Reach, Server, ServerName, ServerSettings},
};
use futures_util::future::join_all;
use serde_json::{Value, json};

use super::client::{program, until};
use crate::tasks::{Stage, is_running};

/// A server at a port, and the token for it.
struct Served {
    child: Child,
    port: u16,
    token: String,
}

impl Served {
    fn start(stage: &Stage, args: &[&str]) -> Self {
        let mut all = vec!["--http"];
        all.extend(args);
        let mut command = program(stage, &all).into_std();
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut said = std::io::BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        let between = |from: &str, to: &str| {
            let rest = line.split_once(from).unwrap_or_else(|| panic!("{line}")).1;
            rest.split_once(to).unwrap().0.to_owned()
        };
        let port = between("http://127.0.0.1:", "/mcp").parse().unwrap();
        Self { child, port, token: between("Bearer ", "`") }
    }

    /// What is answered to a request by hand: the status, and all of it.
    fn knock(
        &self,
        headers: &[(&str, &str)],
        method: &str,
        path: &str,
        body: &[u8],
    ) -> (u16, String) {
        let Answer { status, head, body } = knock(self.port, method, path, headers, body);
        (status, format!("{head}\r\n\r\n{body}"))
    }

    fn bearer(&self) -> String {
        format!("Bearer {}", self.token)
    }

    /// The tools, through a client of the official SDK.
    async fn client(&self, stage: &Stage) -> (std::sync::Arc<Server>, Vec<McpTool>) {
        let settings = ServerSettings {
            name: ServerName::parse("us").unwrap(),
            reach: Reach::Address {
                url: format!("http://127.0.0.1:{}/mcp", self.port),
                headers: vec![("Authorization".to_owned(), self.bearer().into())],
            },
            start: None,
            call: None,
        };
        let keeper = Keeper { program: "/none".into(), args: Vec::new() };
        let area = Area::workspace(&stage.world.sample.root()).unwrap();
        let server = Server::new(settings, Ground { keeper, area, confinement: Confinement::None });
        let tools = server.tools().await.unwrap().0;
        (server, tools)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn call(stage: &Stage, tools: &[McpTool], tool: &str, input: Value) -> Result<Value, String> {
    let area = Area::workspace(&stage.world.sample.root()).unwrap();
    let artifacts = std::sync::Arc::new(ArtifactDir::new(&stage.world.home().join("artifacts")));
    let context = CallContext::new(area, artifacts, std::time::Duration::from_secs(120));
    let tool = tools.iter().find(|it| it.own_name() == tool).unwrap();
    let output = tool.call(input, &context).await.map_err(|it| it.to_string())?;
    if output.failed { Err(output.text) } else { Ok(output.structured.unwrap()) }
}

#[tokio::test]
async fn official_clients_work_at_the_same_time_and_share_their_tasks() {
    let stage = Stage::new("[[replies]]\ntext = \"Done.\"\n");
    let served = Served::start(&stage, &[]);
    let (one, tools) = served.client(&stage).await;
    let (other, same) = served.client(&stage).await;
    assert!(tools.len() >= 11 && tools.len() == same.len());
    let tasks = json!({"tasks": [{"agent": "helper", "prompt": "x"}]});
    let said = call(&stage, &tools, "task", tasks).await.unwrap();
    assert_eq!(said["tasks"][0]["result"], "Done.", "{said}");
    let said = call(&stage, &same, "task_status", json!({})).await.unwrap();
    assert_eq!(said["tasks"].as_array().unwrap().len(), 1, "{said}");
    let said = call(&stage, &same, "execute", json!({"script": "return 6 * 7"})).await.unwrap();
    assert!(said["output"].as_str().unwrap().contains("42"), "{said}");
    let many = (0..100).map(|at| {
        let tools = if at % 2 == 0 { &tools } else { &same };
        call(&stage, tools, "agents", json!({"query": "helper"}))
    });
    for said in join_all(many).await {
        assert_eq!(said.unwrap()["agents"][0]["name"], "helper");
    }
    // One that goes away leaves the other alone.
    one.end().await;
    drop((one, tools));
    call(&stage, &same, "agents", json!({})).await.unwrap();
    other.end().await;
}

#[test]
fn nobody_comes_in_without_the_token_or_from_another_site() {
    let stage = Stage::new("");
    let served = Served::start(&stage, &[]);
    let bearer = served.bearer();
    let token = ("authorization", bearer.as_str());
    let ping = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let evil = format!("evil.example:{}", served.port);
    let wrong = format!("Bearer {}", "0".repeat(64));
    for (headers, status) in [
        (vec![], 401),
        (vec![("authorization", "Bearer ")], 401),
        (vec![("authorization", wrong.as_str())], 401),
        (vec![("authorization", &bearer[..70])], 401),
        (vec![token, ("host", evil.as_str())], 403),
        (vec![token, ("host", "127.0.0.1")], 403),
        (vec![token, ("origin", "https://evil.example")], 403),
        (vec![token, ("origin", "null")], 403),
        (vec![token, ("sec-fetch-site", "cross-site")], 403),
    ] {
        for (method, path) in [("POST", "/mcp"), ("GET", "/mcp"), ("GET", "/"), ("OPTIONS", "/mcp")]
        {
            let (said, all) = served.knock(&headers, method, path, ping);
            assert_eq!(said, status, "{headers:?} {method} {path}: {all}");
            assert!(!all.to_lowercase().contains("access-control-allow"), "{all}");
        }
    }
    assert_eq!(served.knock(&[token], "GET", "/elsewhere", b"").0, 404);
    let kept = stage.world.home().join("state/mcp-token");
    assert_eq!(std::fs::read_to_string(&kept).unwrap(), served.token);
    assert_eq!(std::fs::metadata(&kept).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(Served::start(&stage, &[]).token, served.token);
}

#[tokio::test]
async fn whatever_is_said_it_goes_on() {
    let stage = Stage::new("");
    let served = Served::start(&stage, &[]);
    let bearer = served.bearer();
    let headers = [
        ("authorization", bearer.as_str()),
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
    ];
    let huge = vec![b'x'; 20 * 1024 * 1024];
    for body in [
        &b""[..],
        b"garbage",
        b"{}",
        b"[]",
        b"\xff\xfe",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"no/such\"}",
        &huge,
    ] {
        let (status, said) = served.knock(&headers, "POST", "/mcp", body);
        assert!(
            (400..500).contains(&status) || (body.len() > 1000 && status == 0),
            "{status} {said}"
        );
    }
    // Half a request, and a connection that is dropped while its answer comes.
    for text in
        ["POST /mcp HTTP/1.1\r\n", "POST /mcp HTTP/1.1\r\nhost: x\r\ncontent-length: 9999\r\n\r\n{"]
    {
        let mut stream = TcpStream::connect(("127.0.0.1", served.port)).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
    }
    let (_server, tools) = served.client(&stage).await;
    call(&stage, &tools, "agents", json!({})).await.unwrap();
}

#[tokio::test]
async fn when_it_is_interrupted_nothing_is_left() {
    let script = "[[replies]]\ntext = \"On it.\"\ncalls = [{ name = \"bash\", input = { command = \"touch started; sleep 47.2177\" } }]\n";
    let stage = Stage::new(script);
    let mut served = Served::start(&stage, &["--allow", "bash"]);
    let (_server, tools) = served.client(&stage).await;
    let tasks = json!({"tasks": [{"agent": "helper", "prompt": "x"}], "background": true});
    call(&stage, &tools, "task", tasks).await.unwrap();
    until(|| stage.world.sample.root().join("started").exists()).await;
    assert!(agents_testkit::signal::interrupt(served.child.id()));
    assert_eq!(served.child.wait().unwrap().code(), Some(130));
    assert!(!is_running("sleep 47.2177"));
}

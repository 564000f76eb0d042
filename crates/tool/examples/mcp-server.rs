//! An MCP server for the tests of this room: one that works, and ones that do not.
//!
//! `mcp-server` speaks on its standard streams, `mcp-server http` on a port of this machine that it prints. `lies` and `mute` are
//! written by hand: no library would let them.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    clippy::zombie_processes,
    reason = "for tests"
)]

use std::{
    io::{BufRead as _, Read as _, Write as _},
    net::TcpStream,
    sync::Arc,
    time::Duration,
};

use http_body_util::{BodyExt as _, Full};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ListToolsResult,
        PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
    },
    service::{RequestContext, ServiceExt as _},
    transport::{
        stdio,
        streamable_http_server::{
            StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
        },
    },
};
use serde_json::{Value, json};

#[derive(Clone)]
struct Server;

const TOOLS: [&str; 10] =
    ["echo", "fail", "die", "hang", "flood", "image", "look", "write", "daemon", "pid"];

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}});
        let schema = Arc::new(schema.as_object().unwrap().clone());
        let tool = |name| Tool::new(name, "For tests.", Arc::clone(&schema));
        Ok(ListToolsResult::with_all_items(TOOLS.into_iter().map(tool).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let text = arguments.get("text").and_then(Value::as_str).unwrap_or_default().to_owned();
        let said = |text: String| CallToolResult::success(vec![ContentBlock::text(text)]);
        let result = match &*request.name {
            "echo" => said(text),
            "fail" => CallToolResult::error(vec![ContentBlock::text("it went wrong")]),
            "die" => {
                eprintln!("the last words");
                std::process::exit(3)
            }
            "hang" => {
                tokio::time::sleep(Duration::from_secs(3600)).await;
                said(String::new())
            }
            "flood" => said("x".repeat(4_000_000)),
            "image" => CallToolResult::success(vec![ContentBlock::image("AAAA", "image/png")]),
            "look" => {
                let variables: Vec<String> = std::env::vars().map(|it| it.0).collect();
                let cwd = std::env::current_dir().unwrap();
                said(format!("{} {}", cwd.display(), variables.join(" ")))
            }
            "write" => match std::fs::write(&text, "written") {
                Ok(()) => said("written".to_owned()),
                Err(error) => said(error.to_string()),
            },
            "pid" => said(std::process::id().to_string()),
            "daemon" => {
                let mut command = std::process::Command::new("setsid");
                command.args(["sleep", "1234"]).stdin(std::process::Stdio::null());
                let child = command.stdout(std::process::Stdio::null()).spawn().unwrap();
                said(child.id().to_string())
            }
            _ => return Err(ErrorData::invalid_params("there is no such tool", None)),
        };
        Ok(CallToolResponse::Complete(result))
    }
}

fn main() {
    let mode = std::env::args().nth(1).unwrap_or_default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    match mode.as_str() {
        "" => runtime.block_on(async {
            let _ = Server.serve(stdio()).await.unwrap().waiting().await;
        }),
        "http" => runtime.block_on(http()),
        "lies" => by_hand(&json!([
            {"name": "no schema", "description": 7},
            {"name": "text", "inputSchema": "everything"},
            {"name": "list", "inputSchema": {"type": "array"}},
            {"inputSchema": {"type": "object"}},
            {"name": "fine", "description": "Works.", "inputSchema": {"type": "object", "properties": {}}},
            "not even an object",
        ])),
        "mute" => std::thread::sleep(Duration::from_secs(3600)),
        "broken" => {
            eprintln!("cannot find my configuration");
            std::process::exit(1);
        }
        "noise" => loop {
            println!("{}", "noise ".repeat(1000));
            eprintln!("{}", "noise ".repeat(1000));
        },
        other => eprintln!("there is no mode `{other}`"),
    }
}

/// Answers what every client asks, and says that it has these tools.
fn by_hand(tools: &Value) {
    for line in std::io::stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let result = match request["method"].as_str().unwrap_or_default() {
            "initialize" => json!({
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "lies", "version": "1"},
            }),
            "tools/list" => json!({ "tools": tools }),
            "tools/call" => json!({"content": [{"type": "text", "text": "yes"}]}),
            _ => continue,
        };
        println!("{}", json!({"jsonrpc": "2.0", "id": request["id"], "result": result}));
        std::io::stdout().flush().unwrap();
    }
}

/// The library's own service for HTTP, with as much HTTP around it as it takes.
async fn http() {
    let config = StreamableHttpServerConfig::default();
    let sessions = Arc::new(LocalSessionManager::default());
    let service = Arc::new(StreamableHttpService::new(|| Ok(Server), sessions, config));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("{}", listener.local_addr().unwrap().port());
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let stream = stream.into_std().unwrap();
        stream.set_nonblocking(false).unwrap();
        let service = Arc::clone(&service);
        tokio::spawn(async move {
            let mut answer = stream.try_clone().unwrap();
            let request = tokio::task::spawn_blocking(move || request(stream)).await.unwrap();
            let Some(request) = request else { return };
            let response = service.handle(request).await;
            let (head, mut body) = response.into_parts();
            let mut text = format!("HTTP/1.1 {}\r\nconnection: close\r\n", head.status);
            for (name, value) in &head.headers {
                text.push_str(&format!("{name}: {}\r\n", value.to_str().unwrap()));
            }
            text.push_str("\r\n");
            let mut open = answer.write_all(text.as_bytes()).is_ok();
            while let Some(frame) = body.frame().await.filter(|_| open) {
                let data = frame.unwrap().into_data().unwrap();
                open = answer.write_all(&data).is_ok();
            }
        });
    }
}

/// Reads one request.
fn request(stream: TcpStream) -> Option<http::Request<Full<bytes::Bytes>>> {
    let mut reader = std::io::BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace();
    let mut builder = http::Request::builder().method(words.next()?).uri(words.next()?);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim().split_once(": ") else { break };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.parse().ok()?;
        }
        builder = builder.header(name, value);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    builder.body(Full::new(body.into())).ok()
}

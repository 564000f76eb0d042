//! MCP servers: real programs under the keeper, and real HTTP.

use std::{
    io::BufRead as _,
    sync::Arc,
    time::{Duration, Instant},
};

use agents_agent::definition::PermissionMode;
use agents_tool::{
    Bypass, Catalogue, Confinement, Ground, Guarded, Presented, Request, Rights, Sandbox, Standing,
    ToolResult,
    bounds::Bounds,
    executor::{Executor as _, Nobody},
    mcp::{Reach, Server, ServerError, ServerName, ServerSettings},
    secrets::Mask,
};
use camino::Utf8PathBuf;
use serde_json::{Value, json};

use crate::{Agent, example, keeper};

fn program() -> Utf8PathBuf {
    example("mcp-server")
}

struct Case {
    agent: Agent,
    server: Arc<Server>,
    executor: Option<Presented<Guarded<Catalogue>>>,
    findings: Vec<String>,
    runtime: tokio::runtime::Runtime,
}

fn settings(mode: &str) -> ServerSettings {
    ServerSettings {
        name: ServerName::parse("test").unwrap(),
        reach: Reach::Program {
            program: program().into(),
            args: (!mode.is_empty()).then(|| mode.to_owned()).into_iter().collect(),
            env: vec![("GIVEN".to_owned(), "x".into())],
            cwd: None,
        },
        start: None,
        call: None,
    }
}

impl Case {
    fn new(mode: &str) -> Self {
        Self::with(settings(mode), Confinement::None).unwrap()
    }

    fn with(settings: ServerSettings, confinement: Confinement) -> Result<Self, ServerError> {
        let agent = Agent::new();
        let area = agent.context.area.clone();
        let server = Server::new(settings, Ground { keeper: keeper(), area, confinement });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (tools, findings) = runtime.block_on(server.tools())?;
        let mut catalogue = Catalogue::default();
        tools.into_iter().for_each(|tool| catalogue.add(tool).unwrap());
        let mode = PermissionMode::BypassPermissions;
        let standing = Standing::root(Rights::all(), mode, Bypass::Allowed);
        let guarded = Guarded::new(catalogue, standing, Arc::new(Nobody), Instant::now());
        let executor = Presented::new(guarded, Arc::new(Mask::default()), Bounds::default());
        let findings = findings.into_iter().map(|it| it.message).collect();
        Ok(Self { agent, server, executor: Some(executor), findings, runtime })
    }

    fn call(&self, tool: &str, text: &str) -> ToolResult {
        let request =
            Request { tool: format!("mcp__test__{tool}"), input: json!({ "text": text }) };
        let executor = self.executor.as_ref().unwrap();
        let result = self.runtime.block_on(executor.call(request, &self.agent.context));
        ToolResult { content: crate::unmarked(&result.content), ..result }
    }

    #[track_caller]
    fn fails(&self, tool: &str, with: &str) {
        let result = self.call(tool, "");
        assert!(result.is_error && result.content.contains(with), "{}", result.content);
    }
}

fn is_there(process: &str) -> bool {
    // A zombie that nobody has asked about is not there any more.
    let stat = fs_err::read_to_string(format!("/proc/{process}/stat"));
    stat.is_ok_and(|it| !it.contains(") Z "))
}

#[test]
fn tools_are_offered_under_the_name_of_the_server_and_work() {
    let case = Case::new("");
    let offered = case.executor.as_ref().unwrap().inner().offered();
    assert_eq!(offered.len(), 10);
    assert!(offered.iter().all(|it| it.name.starts_with("mcp__test__")));
    assert!(case.findings.is_empty(), "{:?}", case.findings);
    let result = case.call("echo", "hello");
    assert_eq!((result.content.as_str(), result.is_error), ("hello", false));
    let result = case.call("fail", "");
    assert_eq!((result.content.as_str(), result.is_error), ("it went wrong", true));
    let image = case.call("image", "").content;
    assert_eq!(image, "[an image of type `image/png`, 4 bytes in base64: not shown]");
}

#[test]
fn the_policy_knows_the_server_and_asks_about_anything() {
    let case = Case::new("");
    let guard = case.executor.as_ref().unwrap().inner();
    let request = Request { tool: "mcp__test__echo".to_owned(), input: Value::Null };
    let intent = guard.intent(&request, &case.agent.context).unwrap();
    assert_eq!(intent.effects, agents_tool::Effects::ALL);
    assert!(Rights::only(["mcp__test__*"]).allows("mcp__test__echo"));
    assert!(!Rights::only(["mcp__other__*"]).allows("mcp__test__echo"));
}

#[test]
fn a_server_that_dies_is_started_once_more() {
    let case = Case::new("");
    case.fails("die", "the MCP server `test` ended during the call; it said: the last words");
    // Started again, and has a chance again because it answered.
    assert_eq!(case.call("echo", "back").content, "back");
    case.fails("die", "ended during the call");
    case.fails("die", "ended during the call");
    case.fails("echo", "has ended twice without an answer and is not started again");
    case.fails("echo", "has ended twice");
}

#[test]
fn a_server_that_died_while_nobody_called_it_is_not_noticed() {
    let case = Case::new("");
    // As often as it happens: it has answered in between.
    for _ in 0..3 {
        let pid = case.call("pid", "").content;
        let process = rustix::process::Pid::from_raw(pid.parse().unwrap()).unwrap();
        rustix::process::kill_process(process, rustix::process::Signal::KILL).unwrap();
        let since = Instant::now();
        while is_there(&pid) {
            assert!(since.elapsed() < Duration::from_secs(30));
            std::thread::sleep(Duration::from_millis(5));
        }
        // Its keeper says goodbye.
        std::thread::sleep(Duration::from_millis(500));
        assert_eq!(case.call("echo", "back").content, "back");
    }
}

#[test]
fn a_server_that_does_not_answer_costs_no_more_than_its_time() {
    let settings = ServerSettings { call: Some(Duration::from_secs(2)), ..settings("") };
    let case = Case::with(settings, Confinement::None).unwrap();
    case.fails("hang", "the MCP server `test` did not answer within 2 s");
    assert_eq!(case.call("echo", "still there").content, "still there");
    let mut case = Case::new("");
    case.agent.context.deadline = Instant::now() + Duration::from_millis(300);
    case.fails("hang", "its time was over");
    case.agent.context.deadline = Instant::now() + Duration::from_secs(60);
    case.agent.context.cancelled.cancel();
    case.fails("hang", "cancelled");
}

#[test]
fn what_it_gives_back_is_bounded() {
    let result = Case::new("").call("flood", "");
    assert!(result.content.len() <= 501_000, "{}", result.content.len());
    assert!(result.content.contains("the middle is left out"));
}

#[test]
fn servers_that_cannot_be_used_are_told_apart() {
    let start = |mode: &str, patience: u64| {
        let settings =
            ServerSettings { start: Some(Duration::from_millis(patience)), ..settings(mode) };
        Case::with(settings, Confinement::None).err().unwrap().to_string()
    };
    assert_eq!(
        start("broken", 20_000),
        "the MCP server `test` cannot be reached: it ended; it said: cannot find my configuration"
    );
    assert_eq!(start("mute", 300), "the MCP server `test` did not answer within 0 s");
    assert_eq!(start("noise", 500), "the MCP server `test` did not answer within 0 s");
    let mut missing = settings("");
    missing.reach = Reach::Program {
        program: "no-such-program".into(),
        args: Vec::new(),
        env: Vec::new(),
        cwd: None,
    };
    let error = Case::with(missing, Confinement::None).err().unwrap().to_string();
    assert!(error.contains("cannot run `no-such-program`"), "{error}");
}

#[test]
fn what_is_said_about_tools_is_not_believed() {
    let case = Case::new("lies");
    let offered = case.executor.as_ref().unwrap().inner().offered();
    let names: Vec<&str> = offered.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(
        names,
        ["mcp__test__fine", "mcp__test__list", "mcp__test__no_schema", "mcp__test__text"]
    );
    assert!(offered.iter().all(|it| it.input_schema["type"] == "object"));
    assert_eq!(case.findings.len(), 5, "{:?}", case.findings);
    assert_eq!(case.call("no_schema", "").content, "yes");
}

#[test]
fn it_gets_few_variables_and_leaves_nothing_behind() {
    let case = Case::new("");
    let seen = case.call("look", "").content;
    assert!(seen.contains(case.agent.context.area.cwd().as_str()), "{seen}");
    assert!(seen.contains(" GIVEN") && !seen.contains("CARGO_BIN"), "{seen}");
    let daemon = case.call("daemon", "").content;
    assert!(is_there(&daemon));
    case.runtime.block_on(case.server.end());
    assert!(!is_there(&daemon), "something is left");
}

#[test]
fn one_that_nobody_holds_any_more_is_ended() {
    let mut case = Case::new("");
    let daemon = case.call("daemon", "").content;
    case.executor = None;
    let Case { server, runtime, .. } = case;
    drop(server);
    drop(runtime);
    let since = Instant::now();
    while is_there(&daemon) {
        assert!(since.elapsed() < Duration::from_secs(30), "something is left");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn in_the_sandbox_it_changes_nothing_but_what_it_was_given() {
    let Some(agent) = Agent::new().sandboxed() else { return };
    fs_err::create_dir(agent.scratch.path("given")).unwrap();
    let own = agent.scratch.path("given/file");
    let sandbox = Sandbox {
        read: vec![program()],
        write: vec![agent.scratch.path("given")],
        ..Sandbox::default()
    };
    let case = Case::with(settings(""), Confinement::Sandbox(sandbox)).unwrap();
    let root = case.agent.context.area.cwd().join("made");
    assert!(case.call("write", root.as_str()).content.contains("ermission denied"));
    assert!(!root.exists());
    assert_eq!(case.call("write", own.as_str()).content, "written");
}

#[test]
fn an_address_works_like_a_program() {
    #[expect(clippy::disallowed_methods, reason = "the server of the test")]
    let mut child = std::process::Command::new(program())
        .arg("http")
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut port = String::new();
    std::io::BufReader::new(child.stdout.take().unwrap()).read_line(&mut port).unwrap();
    let reach = |port: &str| Reach::Address {
        url: format!("http://127.0.0.1:{}/mcp", port.trim()),
        headers: vec![("x-token".to_owned(), "secret".into())],
    };
    let at = |port: &str| ServerSettings {
        reach: reach(port),
        call: Some(Duration::from_secs(20)),
        ..settings("")
    };
    let case = Case::with(at(&port), Confinement::None).unwrap();
    assert_eq!(case.call("echo", "over HTTP").content, "over HTTP");
    assert!(case.call("flood", "").content.contains("the middle is left out"));
    child.kill().unwrap();
    child.wait().unwrap();
    let result = case.call("echo", "gone");
    assert!(
        result.is_error && result.content.contains("the MCP server `test`"),
        "{}",
        result.content
    );
    let error = Case::with(at(&port), Confinement::None).err().unwrap();
    assert!(matches!(error, ServerError::Unreachable { .. }), "{error}");
}

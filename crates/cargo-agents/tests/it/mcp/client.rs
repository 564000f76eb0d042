//! A client of the official SDK that starts the program as hosts do.

use std::{
    process::Stdio,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use rmcp::{
    ClientHandler, ErrorData, Peer, RoleClient,
    model::{
        CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig,
        ElicitRequestParams, ElicitResult, ElicitationAction, Implementation,
        ProgressNotificationParam, ProtocolVersion, Tool,
    },
    service::{
        ClientLifecycleMode, NotificationContext, RequestContext, RunningService,
        serve_client_with_lifecycle,
    },
};
use serde_json::{Value, json};
use tokio::process::{Child, Command};

use crate::{
    models::CUSTOMARY,
    tap::{Heard, Tap},
    tasks::Stage,
    world::World,
};

/// What the client can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    /// As most hosts.
    Plain,
    /// It asks its user, who answers with this word.
    Asks(&'static str),
    /// It asks its user, who wants to hear nothing of it.
    Declines,
    /// It asks its user, who goes away.
    Cancels,
    /// It asks its user, who says nothing at all.
    Silent,
    /// It speaks the newest revision, which has no handshake.
    Newest,
    /// The same, and it asks for results of tasks later.
    Later,
    /// It says that it asks for results later, in a revision in which it cannot.
    TooEarly,
}

#[derive(Clone)]
struct Handler {
    manner: Manner,
    progress: Arc<Mutex<Vec<(f64, String)>>>,
    asked: Arc<Mutex<Vec<String>>>,
    /// What the answers to the last question were called.
    titles: Arc<Mutex<Vec<String>>>,
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let capabilities = match self.manner {
            Manner::Asks(_) | Manner::Declines | Manner::Cancels | Manner::Silent => {
                ClientCapabilities::builder().enable_elicitation().build()
            }
            Manner::Later | Manner::TooEarly => {
                ClientCapabilities::builder().enable_tasks().build()
            }
            _ => ClientCapabilities::default(),
        };
        ClientConfig::new(capabilities, Implementation::new("test", "1"))
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.progress.lock().unwrap().push((params.progress, params.message.unwrap_or_default()));
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } = request
        else {
            panic!("{request:?}")
        };
        self.asked.lock().unwrap().push(message);
        let form = serde_json::to_value(requested_schema).unwrap();
        let titles = form["properties"]["answer"]["oneOf"].as_array().unwrap();
        *self.titles.lock().unwrap() =
            titles.iter().map(|it| it["title"].as_str().unwrap().to_owned()).collect();
        match self.manner {
            Manner::Asks(word) => {
                let answer = ElicitResult::new(ElicitationAction::Accept);
                Ok(answer.with_content(json!({ "answer": word })))
            }
            Manner::Declines => Ok(ElicitResult::new(ElicitationAction::Decline)),
            Manner::Cancels => Ok(ElicitResult::new(ElicitationAction::Cancel)),
            Manner::Silent => std::future::pending().await,
            Manner::Plain | Manner::Newest | Manner::Later | Manner::TooEarly => {
                panic!("nobody can be asked")
            }
        }
    }
}

/// A client that has been welcomed.
pub(super) struct Client {
    service: RunningService<RoleClient, Handler>,
    handler: Handler,
    heard: Heard,
    pub(super) child: Child,
    pub(super) tools: Vec<Tool>,
}

/// The program, with pipes.
pub(super) fn program(stage: &Stage, args: &[&str]) -> Command {
    program_in(&stage.world, args)
}

/// The same anywhere.
pub(super) fn program_in(world: &World, args: &[&str]) -> Command {
    let mut all = vec!["mcp"];
    all.extend(args);
    let mut command = world.command(&all);
    CUSTOMARY.iter().for_each(|name| {
        command.env_remove(name);
    });
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let mut command = Command::from(command);
    command.kill_on_drop(true);
    command
}

impl Client {
    pub(super) async fn start(stage: &Stage, args: &[&str], manner: Manner) -> Self {
        Self::over(program(stage, args), manner).await
    }

    pub(super) async fn over(mut program: Command, manner: Manner) -> Self {
        let mut child = program.spawn().unwrap();
        let heard = Heard::default();
        let stdout = Tap::new(child.stdout.take().unwrap(), Arc::clone(&heard));
        let streams = (stdout, child.stdin.take().unwrap());
        let (progress, asked, titles) = (Arc::default(), Arc::default(), Arc::default());
        let handler = Handler { manner, progress, asked, titles };
        let lifecycle = match manner {
            Manner::Newest | Manner::Later => ClientLifecycleMode::Discover {
                preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            },
            _ => ClientLifecycleMode::Initialize,
        };
        let service =
            serve_client_with_lifecycle(handler.clone(), streams, lifecycle).await.unwrap();
        let tools = service.peer().list_all_tools().await.unwrap();
        Self { service, handler, heard, child, tools }
    }

    pub(super) fn peer(&self) -> &Peer<RoleClient> {
        self.service.peer()
    }

    pub(super) fn request(tool: &str, arguments: Value) -> CallToolRequestParams {
        let Value::Object(arguments) = arguments else { panic!("{arguments}") };
        CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments)
    }

    pub(super) async fn call(&self, tool: &str, arguments: Value) -> CallToolResult {
        let result = self.service.call_tool(Self::request(tool, arguments)).await.unwrap();
        // Whatever is structured is what was promised.
        if let Some(value) = &result.structured_content {
            let tool = self.tools.iter().find(|it| it.name == tool).unwrap();
            let schema = Value::Object((**tool.output_schema.as_ref().unwrap()).clone());
            let issues: Vec<String> = jsonschema::validator_for(&schema)
                .unwrap()
                .iter_errors(value)
                .map(|it| it.to_string())
                .collect();
            assert!(issues.is_empty(), "{issues:?}: {value}");
        }
        result
    }

    /// The structured result of a call that must work.
    pub(super) async fn ok(&self, tool: &str, arguments: Value) -> Value {
        let result = self.call(tool, arguments).await;
        assert_ne!(result.is_error, Some(true), "{result:?}");
        result.structured_content.unwrap()
    }

    /// What a call that must fail says.
    pub(super) async fn fails(&self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments).await;
        assert_eq!(result.is_error, Some(true), "{result:?}");
        result.content[0].as_text().unwrap().text.clone()
    }

    pub(super) fn progress(&self) -> Vec<(f64, String)> {
        self.handler.progress.lock().unwrap().clone()
    }

    pub(super) fn asked(&self) -> Vec<String> {
        self.handler.asked.lock().unwrap().clone()
    }

    pub(super) fn titles(&self) -> Vec<String> {
        self.handler.titles.lock().unwrap().clone()
    }

    /// Every byte that the program has sent.
    pub(super) fn heard(&self) -> String {
        String::from_utf8_lossy(&self.heard.lock().unwrap()).into_owned()
    }

    /// Goes away, and gives how the program ended.
    pub(super) async fn leave(mut self) -> Option<i32> {
        self.service.close().await.unwrap();
        self.child.wait().await.unwrap().code()
    }
}

/// Waits for something that must come.
#[track_caller]
pub(super) fn until(mut holds: impl FnMut() -> bool) -> impl Future<Output = ()> {
    let since = Instant::now();
    async move {
        while !holds() {
            assert!(since.elapsed() < Duration::from_secs(60), "it never came");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

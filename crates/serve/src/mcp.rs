//! The door for MCP clients; the only place of this room that knows the SDK.
//!
//! [`serve`] speaks with one client until that goes away, then ends everything that was started for it; `serve_http` with all that have
//! the token, until it is told to stop. What a tool cannot do is told as
//! an error of the tool, with a hint, so that a model can do better; only what is no call of a tool at all is an error of the protocol.
//!
//! | the client | becomes |
//! |---|---|
//! | cancels a request | its tasks, programs and calls end |
//! | has the tasks extension | it gets the results of tasks later, and is asked through them |
//! | gives a token for progress | it is told what tasks do, turn by turn |
//! | can ask its user (`elicitation`) | it is asked whatever a task must ask for |
//! | cannot | the answer is no, and the result of the task says so |
//! | goes away | everything ends |

mod asks;
mod catalogue;
#[cfg(feature = "http")]
mod http;
mod later;
mod progress;

use std::sync::Arc;

use agents_task::runner::Unavailable;
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, CancelTaskParams, ContentBlock,
        GetTaskParams, GetTaskResult, Implementation, ListToolsResult, PaginatedRequestParams,
        ServerCapabilities, ServerConfig, UpdateTaskParams,
    },
    service::{RequestContext, ServerInitializeError, serve_server_with_ct},
    task_manager::TaskManager,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

#[cfg(feature = "http")]
pub use self::http::{serve_http, serve_http_at};
use self::{
    asks::{Asker, Clients, Waits},
    catalogue::{Verb, command_tool},
};
use crate::{
    hearing::{Ending, parted},
    offer::Offer,
    tasks::{Tasks, Terms},
    verbs::{
        Verbs,
        answer::TaskList,
        asked::{Commands, RunTasks},
    },
};

/// More commands are not tools of their own: a host shows all tools to its model, needed or not.
const MAX_COMMANDS: usize = 20;
/// The command that is a tool of ours already.
const CRATE_INFO: &str = "plugin__crate-info__crate-info";

/// What a client is told about all of it.
const INSTRUCTIONS: &str = "Sub-agents and knowledge for this Rust workspace. Before you work with a crate, look for a skill with \
`skills` (words, or the name of the crate) and load the one that fits. `crate_info` finds the sources of the exact version in use. \
`task` gives work to sub-agents, several at once if you like; `agents` says which there are. `list_tools`, `call_tool` and \
`execute` (many calls in one script) reach the MCP servers that the crates of this workspace bring.";

/// A client could not be served.
#[derive(Debug, thiserror::Error)]
#[error("the client does not speak MCP: {0}")]
pub struct NotServed(String);

/// Speaks with the client at the other end until it goes away or `cancel` says so. Then nothing that was started for it is left.
///
/// # Errors
/// It never said what an MCP client says first.
pub async fn serve<R, W>(
    offer: Arc<dyn Offer>,
    terms: Terms,
    (read, write): (R, W),
    cancel: CancellationToken,
) -> Result<(), NotServed>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let (door, asks) = Door::new(offer, terms, &cancel);
    let (verbs, work) = (Arc::clone(&door.verbs), door.over.clone());
    let answering = tokio::spawn(asks);
    // Tasks end as soon as nobody listens, not when their calls have been waited for.
    let read = Ending::new(read, work.clone());
    let served = match serve_server_with_ct(door, (read, write), cancel).await {
        Ok(running) => {
            // How it ended is of no interest: it has, or nobody takes what it still has to say.
            tokio::select! {
                _ = running.waiting() => {}
                () = parted(&work) => {}
            }
            Ok(())
        }
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {
            Ok(())
        }
        Err(error) => Err(NotServed(told(&error))),
    };
    work.cancel();
    answering.abort();
    verbs.end().await;
    served
}

/// What was wrong with what a client said first.
fn told(error: &ServerInitializeError) -> String {
    let said = match error {
        ServerInitializeError::ExpectedInitializeRequest(said) => said.as_ref(),
        error => return error.to_string(),
    };
    let said = said.and_then(|it| serde_json::to_value(it).ok());
    let said = match said.as_ref().and_then(|it| it["method"].as_str()) {
        Some(method) => format!("`{}`", &method[..method.floor_char_boundary(100)]),
        None => "an answer that nobody waits for".to_owned(),
    };
    format!("its first message must be a request, usually `initialize`, and was {said}")
}

/// What clients speak with.
#[derive(Clone)]
struct Door {
    verbs: Arc<Verbs>,
    clients: Clients,
    /// Calls whose results clients ask for later.
    later: TaskManager,
    /// Cancelled when everything ends.
    over: CancellationToken,
}

impl Door {
    /// The door, and what answers the questions of tasks as long as it runs.
    fn new(
        offer: Arc<dyn Offer>,
        terms: Terms,
        cancel: &CancellationToken,
    ) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let over = cancel.child_token();
        let (approval, artifacts) = (terms.approval, Arc::clone(&terms.artifacts));
        let clients = Clients::new(terms.secrets.background);
        let (tasks, asks) = Tasks::new(offer.surroundings(), terms, over.clone());
        let verbs = Arc::new(Verbs::new(offer, tasks, artifacts));
        let answering = clients.clone().answer(asks, approval);
        (Self { verbs, clients, later: TaskManager::new(), over }, answering)
    }
}

impl ServerHandler for Door {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_tasks().build();
        let name = Implementation::new("cargo-agents", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(capabilities).with_server_info(name).with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let commands = self.verbs.command_tools();
        let commands = commands.iter().filter(|it| it.name() != CRATE_INFO);
        let commands = commands.take(MAX_COMMANDS).map(|it| command_tool(&**it));
        let verbs = Verb::ALL.iter().map(|it| it.tool());
        Ok(ListToolsResult::with_all_items(verbs.chain(commands).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let input = Value::Object(request.arguments.unwrap_or_default());
        let cancelled = both(&context.ct, &self.over);
        let result = match Verb::named(&request.name) {
            Some(Verb::Task) if later::suits(&context) => match read(input) {
                Ok(asked) => {
                    let Self { verbs, clients, later, over } = self;
                    return Ok(later::start(later, verbs, clients, over, asked));
                }
                Err(trouble) => Err(trouble),
            },
            Some(verb) => self.obey(verb, input, &context, &cancelled).await,
            None if self.has_command(&request.name) => {
                self.run_command(request.name.into_owned(), input, &cancelled).await
            }
            None => {
                let message = format!("there is no tool `{}`", request.name);
                return Err(ErrorData::invalid_params(message, None));
            }
        };
        Ok(CallToolResponse::from(result.unwrap_or_else(|it| error(&it))))
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        self.later.get_task(&request.task_id).map(GetTaskResult::new)
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.later.update_task(&request.task_id, request.input_responses)
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.later.cancel_task(&request.task_id)
    }
}

impl Door {
    async fn obey(
        &self,
        verb: Verb,
        input: Value,
        context: &RequestContext<RoleServer>,
        cancelled: &CancellationToken,
    ) -> Result<CallToolResult, Unavailable> {
        let verbs = &self.verbs;
        match verb {
            Verb::Task => {
                let asked: RunTasks = read(input)?;
                let asker = Asker::Client(context.peer.clone());
                let waits = Waits::for_tasks(asked.background);
                let begun = |paths: &[_]| self.clients.started(paths, &asker, waits);
                let run = |watch| verbs.run_tasks(asked, cancelled, begun, watch);
                let list = progress::told(context, run).await?;
                Ok(of_tasks(&list))
            }
            Verb::TaskStatus => done(&verbs.task_status(read(input)?, cancelled).await?),
            Verb::TaskOutput => done(&verbs.task_output(read(input)?).await?),
            Verb::TaskCancel => done(&verbs.task_cancel(read(input)?, cancelled).await?),
            Verb::Agents => done(&verbs.agents(&read(input)?)),
            Verb::Skills => done(&verbs.skills(read(input)?).await?),
            Verb::CrateInfo => done(&verbs.crate_info(read(input)?).await?),
            Verb::Commands => done(&verbs.commands(read(input)?, cancelled).await?),
            Verb::ListTools => done(&verbs.list_tools(read(input)?).await?),
            Verb::CallTool => done(&verbs.call_tool(read(input)?, cancelled).await?),
            #[cfg(feature = "script")]
            Verb::Execute => done(&verbs.execute(read(input)?, cancelled).await?),
        }
    }
}

impl Door {
    fn has_command(&self, name: &str) -> bool {
        self.verbs.command_tools().iter().any(|it| it.name() == name)
    }

    async fn run_command(
        &self,
        name: String,
        input: Value,
        cancelled: &CancellationToken,
    ) -> Result<CallToolResult, Unavailable> {
        let asked = Commands { run: Some(name), ..read(input)? };
        let said = self.verbs.commands(asked, cancelled).await?;
        let said = said.output.unwrap_or_default();
        Ok(CallToolResult::success(vec![ContentBlock::text(said)]))
    }
}

/// Cancelled when either is. Nothing is left behind when it is dropped.
fn both(one: &CancellationToken, other: &CancellationToken) -> CancellationToken {
    let either = one.child_token();
    let (weak, other) = (either.clone(), other.clone());
    tokio::spawn(async move {
        tokio::select! {
            () = other.cancelled() => weak.cancel(),
            () = weak.cancelled() => {}
        }
    });
    either
}

/// A wrong input is something that a model can put right.
fn read<T: DeserializeOwned>(input: Value) -> Result<T, Unavailable> {
    serde_json::from_value(input).map_err(|error| Unavailable {
        message: format!("the arguments are not right: {error}"),
        hint: Some("`tools/list` has their schema".to_owned()),
    })
}

fn done(answer: &impl Serialize) -> Result<CallToolResult, Unavailable> {
    let value = serde_json::to_value(answer).map_err(|error| Unavailable {
        message: format!("the answer cannot be written: {error}"),
        hint: None,
    })?;
    Ok(CallToolResult::structured(value))
}

/// An error if none of them came to anything.
fn of_tasks(list: &TaskList) -> CallToolResult {
    let failed = list.tasks.iter().all(|it| it.state != "completed" && it.state != "running");
    match done(list) {
        Ok(mut result) => {
            result.is_error = Some(failed);
            result
        }
        Err(trouble) => error(&trouble),
    }
}

fn error(trouble: &Unavailable) -> CallToolResult {
    let hint = trouble.hint.as_ref().map(|it| format!("\nhint: {it}")).unwrap_or_default();
    CallToolResult::error(vec![ContentBlock::text(format!("{}{hint}", trouble.message))])
}

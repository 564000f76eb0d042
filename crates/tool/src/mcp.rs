//! Tools of MCP servers.
//!
//! A [`Server`] is a program that we start and speak with, or an address. Its tools are called `mcp__server__tool`, and nothing that
//! the server says about them is believed: they may do anything, whatever their annotations claim; a schema that is none is replaced
//! by one that takes everything; names, descriptions and results are bounded.
//!
//! | a server | becomes |
//! |---|---|
//! | dies while nobody calls it | it is started again by the next call |
//! | dies during a call | an error: whether something was done is not known, so nothing is done twice |
//! | dies again before it has answered a call | an error from then on |
//! | does not answer | an error when the time of the call is over, and the call is cancelled |
//!
//! A program runs under a keeper and inside of the sandbox like the commands of `bash`, except that in the sandbox it may not change the
//! roots: it outlives the call after which changes of protected files would be put back.

mod names;
mod wire;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use agents_system::finding::Finding;
use camino::Utf8PathBuf;
use futures_util::future::BoxFuture;
use secrecy::SecretString;
use serde_json::Value;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::Mutex,
};

pub use names::{BadServerName, ServerName};

use self::wire::Connection;
use crate::{
    context::{CallContext, Ground},
    conversation::Child,
    policy::Effects,
    tool::{Intent, Output, Tool, ToolError},
};

/// How long a server may take to say what it has, unless somebody says otherwise.
const START: Duration = Duration::from_secs(30);
/// How long a call may take.
const CALL: Duration = Duration::from_secs(120);
/// How long the end of a server is waited for.
const END: Duration = Duration::from_secs(10);

/// A server as it is configured.
#[derive(Debug, Clone)]
pub struct ServerSettings {
    /// What it is called.
    pub name: ServerName,
    /// Where it is.
    pub reach: Reach,
    /// How long it may take to start; 30 seconds if absent.
    pub start: Option<Duration>,
    /// How long a call may take; 120 seconds if absent.
    pub call: Option<Duration>,
}

/// Where a server is.
#[derive(Debug, Clone)]
pub enum Reach {
    /// A program that speaks on its standard streams.
    Program {
        /// Its name or path.
        program: String,
        /// Its arguments.
        args: Vec<String>,
        /// Its variables, besides the few that all programs get.
        env: Vec<(String, SecretString)>,
        /// Where it runs; where the agents are if `None`.
        cwd: Option<Utf8PathBuf>,
    },
    /// An address that speaks streamable HTTP.
    Address {
        /// The address.
        url: String,
        /// What every request carries.
        headers: Vec<(String, SecretString)>,
    },
}

/// Why a server did not do what it was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ServerError {
    /// It cannot be started or reached.
    #[error("the MCP server `{server}` cannot be reached: {why}")]
    Unreachable {
        /// Its name.
        server: ServerName,
        /// What went wrong.
        why: String,
    },
    /// It must run in a sandbox, and there is none.
    #[error("the sandbox that the MCP server `{server}` must run in is not available: {why}")]
    NoSandbox {
        /// Its name.
        server: ServerName,
        /// What is missing.
        why: String,
    },
    /// It ended during a call.
    #[error("the MCP server `{server}` ended during the call{}", said(.last_words))]
    Died {
        /// Its name.
        server: ServerName,
        /// What it printed last on standard error.
        last_words: String,
    },
    /// It ended again and again.
    #[error("the MCP server `{server}` has ended twice without an answer and is not started again{}", said(.last_words))]
    GivenUp {
        /// Its name.
        server: ServerName,
        /// What it printed last on standard error.
        last_words: String,
    },
    /// It did not answer.
    #[error("the MCP server `{server}` did not answer within {} s", .after.as_secs())]
    Silent {
        /// Its name.
        server: ServerName,
        /// How long it was waited for.
        after: Duration,
    },
    /// It says that the call is wrong.
    #[error("the MCP server `{server}` refused the call: {why}")]
    Refused {
        /// Its name.
        server: ServerName,
        /// What it said.
        why: String,
    },
    /// It said something that the protocol does not have there.
    #[error("the MCP server `{server}` does not speak the protocol: {why}")]
    Protocol {
        /// Its name.
        server: ServerName,
        /// What was wrong.
        why: String,
    },
}

fn said(last_words: &str) -> String {
    if last_words.is_empty() { String::new() } else { format!("; it said: {last_words}") }
}

/// What can go wrong with a connection; the server gives it its name.
#[derive(Debug)]
enum Trouble {
    Closed(String),
    Refused(String),
    Protocol(String),
}

/// A server, running or not.
pub struct Server {
    settings: ServerSettings,
    ground: Ground,
    state: Mutex<State>,
}

struct State {
    live: Option<Arc<Live>>,
    /// How often it may be started again before it has answered a call.
    chances: u8,
    last_words: String,
}

struct Live {
    connection: Connection,
    child: Option<Child>,
}

impl Live {
    fn is_over(&self) -> bool {
        self.connection.is_closed() || self.child.as_ref().is_some_and(Child::is_over)
    }
}

/// A tool as a server describes it, with what is wrong about that put right.
#[derive(Debug, Clone, PartialEq)]
struct Described {
    name: String,
    description: String,
    schema: Arc<Value>,
}

impl Server {
    /// One that is not started yet.
    #[must_use]
    pub fn new(settings: ServerSettings, ground: Ground) -> Arc<Self> {
        let state = State { live: None, chances: 1, last_words: String::new() };
        Arc::new(Self { settings, ground, state: Mutex::new(state) })
    }

    /// What it is called.
    #[must_use]
    pub fn name(&self) -> &ServerName {
        &self.settings.name
    }

    /// Starts it and asks what it has. What is wrong with single tools is told as findings; the others are there.
    pub async fn tools(self: &Arc<Self>) -> Result<(Vec<McpTool>, Vec<Finding>), ServerError> {
        let live = {
            let mut state = self.state.lock().await;
            match &state.live {
                Some(live) if !live.is_over() => Arc::clone(live),
                _ => Arc::clone(state.live.insert(self.start().await?)),
            }
        };
        let time = self.settings.start.unwrap_or(START);
        let listed = tokio::time::timeout(time, live.connection.tools()).await;
        let listed = listed.map_err(|_| self.silent(time))?;
        let listed = match listed {
            Ok(listed) => listed,
            Err(trouble) => return Err(self.trouble(trouble, &live).await),
        };
        let (described, findings) = names::describe(self.name(), listed);
        let tool = |it: (String, Described)| McpTool {
            server: Arc::clone(self),
            name: it.0,
            described: it.1,
        };
        Ok((described.into_iter().map(tool).collect(), findings))
    }

    /// Whether it has ended so often that it is not started again.
    pub async fn is_given_up(&self) -> bool {
        let state = self.state.lock().await;
        state.chances == 0 && state.live.as_ref().is_none_or(|live| live.is_over())
    }

    /// Ends it, and waits until nothing of it is left.
    pub async fn end(&self) {
        let live = self.state.lock().await.live.take();
        if let Some(child) = live.as_ref().and_then(|live| live.child.as_ref()) {
            child.stop();
            // The keeper kills what does not end by itself.
            let _ = tokio::time::timeout(END, child.over()).await;
        }
    }

    async fn start(&self) -> Result<Arc<Live>, ServerError> {
        let server = || self.name().clone();
        let time = self.settings.start.unwrap_or(START);
        let (connection, child) = match &self.settings.reach {
            Reach::Program { program, args, env, cwd } => {
                let cwd = cwd.as_deref().unwrap_or(self.ground.area.cwd());
                let started = Child::start(program, args, env, cwd, &self.ground);
                let unreachable = |why| ServerError::Unreachable { server: server(), why };
                let (child, stream) = started.map_err(unreachable)?;
                let connection =
                    tokio::time::timeout(time, Connection::over(stream.into_split())).await;
                (connection, Some(child))
            }
            Reach::Address { url, headers } => {
                (tokio::time::timeout(time, Connection::to(url, headers)).await, None)
            }
        };
        match connection {
            Ok(Ok(connection)) => Ok(Arc::new(Live { connection, child })),
            Ok(Err(trouble)) => {
                let why = match (trouble, child) {
                    (Trouble::Closed(_), Some(child)) => {
                        let _ = tokio::time::timeout(END, child.over()).await;
                        if let Some(why) = child.no_sandbox() {
                            return Err(ServerError::NoSandbox { server: server(), why });
                        }
                        format!("it ended{}", said(&child.last_words()))
                    }
                    (Trouble::Closed(why) | Trouble::Refused(why), _) => why,
                    (Trouble::Protocol(why), _) => {
                        return Err(ServerError::Protocol { server: server(), why });
                    }
                };
                Err(ServerError::Unreachable { server: server(), why })
            }
            Err(_) => Err(self.silent(time)),
        }
    }

    /// The connection, started again if it has ended and there is a chance left.
    async fn live(&self) -> Result<Arc<Live>, ServerError> {
        let mut state = self.state.lock().await;
        if let Some(live) = &state.live {
            if !live.is_over() {
                return Ok(Arc::clone(live));
            }
            if let Some(child) = &live.child {
                state.last_words = child.last_words();
            }
        }
        state.live = None;
        if state.chances == 0 {
            let last_words = state.last_words.clone();
            return Err(ServerError::GivenUp { server: self.name().clone(), last_words });
        }
        // A start that nobody waits for any more costs no chance.
        let started = self.start().await;
        state.chances -= 1;
        Ok(Arc::clone(state.live.insert(started?)))
    }

    async fn call(&self, tool: &str, input: Value) -> Result<Output, ServerError> {
        let live = self.live().await?;
        match live.connection.call(tool, input).await {
            Ok(output) => {
                self.state.lock().await.chances = 1;
                Ok(output)
            }
            Err(trouble) => Err(self.trouble(trouble, &live).await),
        }
    }

    async fn trouble(&self, trouble: Trouble, live: &Live) -> ServerError {
        let server = self.name().clone();
        match (trouble, &live.child) {
            (Trouble::Closed(_), Some(child)) => {
                let _ = tokio::time::timeout(END, child.over()).await;
                ServerError::Died { server, last_words: child.last_words() }
            }
            (Trouble::Closed(why), None) => ServerError::Unreachable { server, why },
            (Trouble::Refused(why), _) => {
                self.state.lock().await.chances = 1;
                ServerError::Refused { server, why }
            }
            (Trouble::Protocol(why), _) => ServerError::Protocol { server, why },
        }
    }

    fn silent(&self, after: Duration) -> ServerError {
        ServerError::Silent { server: self.name().clone(), after }
    }
}

/// What a server at the other end of these streams has, and what it answers to the call of a tool.
#[doc(hidden)]
pub async fn overhear<R, W>(
    server: &ServerName,
    streams: (R, W),
    (tool, input): (&str, Value),
) -> Result<Overheard, String>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let told = |trouble| format!("{trouble:?}");
    let connection = Connection::over(streams).await.map_err(told)?;
    let (tools, findings) = names::describe(server, connection.tools().await.map_err(told)?);
    let tools = tools.into_iter().map(|(name, it)| (name, it.description, it.schema)).collect();
    let answer = connection.call(tool, input).await.map_err(told);
    Ok(Overheard { tools, findings, answer })
}

/// What a server said.
#[doc(hidden)]
#[derive(Debug)]
pub struct Overheard {
    /// Its tools: the name, the description and the schema of each.
    pub tools: Vec<(String, String, Arc<Value>)>,
    /// What is wrong with them.
    pub findings: Vec<Finding>,
    /// What it answered.
    pub answer: Result<Output, String>,
}

/// A tool of a server.
pub struct McpTool {
    server: Arc<Server>,
    name: String,
    described: Described,
}

impl McpTool {
    /// The name that the server gives it.
    #[must_use]
    pub fn own_name(&self) -> &str {
        &self.described.name
    }
}

impl Tool for McpTool {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        &self.described.description
    }

    fn schema(&self) -> Arc<Value> {
        Arc::clone(&self.described.schema)
    }

    fn intent(&self, _: &Value, _: &CallContext) -> Result<Intent, ToolError> {
        Ok(Intent::plain(Effects::ALL))
    }

    fn call<'a>(
        &'a self,
        input: Value,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<Output, ToolError>> {
        Box::pin(async move {
            let time = self.server.settings.call.unwrap_or(CALL);
            let own = CallContext { deadline: context.deadline_within(time), ..context.clone() };
            let called = own.bounded(self.server.call(&self.described.name, input)).await;
            match called {
                Ok(called) => Ok(called?),
                Err(ToolError::TimedOut) if Instant::now() < context.deadline => {
                    Err(self.server.silent(time).into())
                }
                Err(error) => Err(error),
            }
        })
    }
}

//! Any agent that speaks the Agent Client Protocol, as a child process.
//!
//! This is the one module that knows the protocol and its crate. An agent works with its own tools; what it asks permission for
//! is answered here by the rights that it was given, and a question is never left standing. Not every agent asks: one that
//! may only read is put into a mode in which it does no more, and is not asked at all if it has none. Files and terminals
//! of ours are not offered to it.

mod session;

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use agent_client_protocol::{
    Agent, Client, Lines, is_incoming_transport_closed, on_receive_notification,
    on_receive_request,
    schema::ProtocolVersion,
    v1::{
        ConnectionTo,
        schema::{
            self, ContentBlock, Implementation, InitializeRequest, NewSessionRequest,
            NewSessionResponse, PermissionOptionKind, PromptRequest, PromptResponse,
            RequestPermissionOutcome, RequestPermissionRequest, RequestPermissionResponse,
            SelectedPermissionOutcome, SessionNotification, SessionUpdate,
            SetSessionConfigOptionRequest, SetSessionModeRequest, TextContent, ToolCallStatus,
        },
    },
};
use agents_host::host::Headless;
use agents_system::process::Call;
use camino::Utf8PathBuf;
use futures_util::{FutureExt as _, future::BoxFuture};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::{Semaphore, mpsc},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

use crate::{
    answer::{More, Source, asking_program},
    child::Running,
    error::{ModelError, Problem},
    event::{Event, StopReason, ToolNotice, ToolPhase, Usage},
    host::{DEFAULT_MODEL, With as _, granted, prompt, refuse_tools},
    keys::Mask,
    lines,
    provider::{EventStream, Hands, ModelInfo, Provider},
    request::{OwnRights, Request},
};

/// An ACP agent that answers as a model.
#[derive(Debug)]
pub struct AcpProvider {
    /// The name of the provider.
    pub name: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// What it may at most do by itself, if the configuration says so.
    pub rights: Option<OwnRights>,
    /// The host that it is, if we know it: agents do not always ask before they act, and some can be told not to by their
    /// environment.
    pub host: Option<Headless>,
    /// Where it works.
    pub cwd: Utf8PathBuf,
    /// The models that it is known to have.
    pub models: Vec<String>,
    /// How many may run at a time.
    pub permits: Arc<Semaphore>,
}

impl Provider for AcpProvider {
    fn name(&self) -> &str {
        &self.name
    }

    /// It may be kept to reading by a mode of its session: that is seen when there is one. What it asks for and what it does
    /// are two things, so only its environment keeps it to changing files.
    fn hands(&self) -> Hands {
        let edit = (!self.env(OwnRights::Edit).is_empty()).then_some(OwnRights::Edit);
        let kept_to = [Some(OwnRights::Read), edit, Some(OwnRights::All)];
        Hands::Own { kept_to: kept_to.into_iter().flatten().collect() }
    }

    fn stream(
        &self,
        request: Request,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<EventStream, ModelError>> {
        let asking = asking_program(&self.name, &self.permits, &request, cancel);
        async move { asking.ask(|| std::future::ready(self.begin(&request))).await }.boxed()
    }

    fn models(&self, _: CancellationToken) -> BoxFuture<'_, Result<Vec<ModelInfo>, ModelError>> {
        std::future::ready(Ok(ModelInfo::named(&self.models))).boxed()
    }
}

impl AcpProvider {
    /// What keeps the host that it is to these rights; empty if nothing does.
    fn env(&self, rights: OwnRights) -> &[(String, String)] {
        let rights = self.host.as_ref().and_then(|host| host.with(rights));
        rights.map_or(&[], |rights| rights.env.as_slice())
    }

    fn begin(&self, request: &Request) -> Result<Answer, Problem> {
        refuse_tools(request)?;
        let rights = granted(&self.hands(), self.rights, request)?;
        let env = self.env(rights);
        let cwd = request.work.as_ref().map_or(&self.cwd, |work| &work.cwd);
        let mut words = self.command.iter();
        let program = words.next().cloned().unwrap_or_default();
        let call = Call::new(program).args(words).cwd(cwd);
        let call = env.iter().fold(call, |call, (name, value)| call.env(name, value));
        let (running, stdin, stdout) = Running::start(&call)?;
        let (system, text) = prompt(request);
        let text = if system.is_empty() { text } else { format!("{system}\n\n{text}") };
        let wanted = Wanted {
            cwd: cwd.clone(),
            model: (request.model != DEFAULT_MODEL).then(|| request.model.clone()),
            text,
            rights,
            is_confined: !env.is_empty(),
        };
        let (sender, events) = mpsc::channel(64);
        let task = tokio::spawn(converse(wanted, (stdout, stdin), sender));
        Ok(Answer { running, events, task, said: false })
    }
}

/// What is asked of an agent.
struct Wanted {
    cwd: Utf8PathBuf,
    model: Option<String>,
    text: String,
    rights: OwnRights,
    /// Its environment keeps it to its rights already.
    is_confined: bool,
}

/// What comes of it.
type Said = Result<Event, Broken>;

/// Why a conversation ended without an answer.
enum Broken {
    /// It is not there any more; how it ended is for whoever started it to say.
    Gone,
    Problem(Problem),
}

/// What is told of an agent that is not there any more.
const GONE: &str = "it did not finish its answer";

/// One session with one prompt.
async fn converse(
    wanted: Wanted,
    (read, write): (
        impl AsyncRead + Send + Unpin + 'static,
        impl AsyncWrite + Send + Unpin + 'static,
    ),
    sender: mpsc::Sender<Said>,
) {
    // What the crate of the protocol has for bytes keeps a line however long it is, and ends with the first byte that is wrong.
    let transport = Lines::new(lines::write(write), lines::read(read, lines::MAX_ACP));
    let (updates, rights, started) = (sender.clone(), wanted.rights, sender.clone());
    // What is said before there was a question is no answer: Gemini tells that its mode was set.
    let is_asked = AtomicBool::new(false);
    let is_asked = &is_asked;
    let ended = Client
        .v1()
        .name("cargo-agents")
        .on_receive_notification(
            async move |notification: SessionNotification, _| {
                let events = events(notification.update);
                for event in events.into_iter().filter(|_| is_asked.load(Ordering::Relaxed)) {
                    // Nobody listens any more: then the session is about to end.
                    let _ = updates.send(Ok(event)).await;
                }
                Ok(())
            },
            on_receive_notification!(),
        )
        .on_receive_request(
            async move |request: RequestPermissionRequest, responder, _| {
                responder.respond(RequestPermissionResponse::new(permission(&request, rights)))
            },
            on_receive_request!(),
        )
        .connect_with(transport, async |connection| {
            let hello = InitializeRequest::new(ProtocolVersion::V1);
            let hello = connection.send_request(hello).block_task().await?;
            let session = NewSessionRequest::new(wanted.cwd.as_std_path());
            let session = connection.send_request(session).block_task().await?;
            let agent = hello.agent_info.as_ref();
            if let Err(problem) = set_up(&wanted, agent, &session, &connection).await {
                return Ok(vec![Err(Broken::Problem(problem))]);
            }
            let id = session.session_id.clone();
            let model = wanted.model.unwrap_or_default();
            let _ = started.send(Ok(Event::Started { id: id.to_string(), model })).await;
            let text = ContentBlock::Text(TextContent::new(wanted.text));
            let prompt = PromptRequest::new(id, vec![text]);
            is_asked.store(true, Ordering::Relaxed);
            connection.send_request(prompt).block_task().await.map(|response| end(&response))
        })
        .await;
    let broken = |error| match is_incoming_transport_closed(&error) {
        true => Broken::Gone,
        false => Broken::Problem(failed(&error)),
    };
    for said in ended.unwrap_or_else(|error| vec![Err(broken(error))]) {
        let _ = sender.send(said).await;
    }
}

/// Makes a session what is wanted of it.
async fn set_up(
    wanted: &Wanted,
    agent: Option<&Implementation>,
    session: &NewSessionResponse,
    connection: &ConnectionTo<Agent>,
) -> Result<(), Problem> {
    let failed = |error| failed(&error);
    let id = || session.session_id.clone();
    let set = async |(option, value)| {
        let request = SetSessionConfigOptionRequest::new(id(), option, value);
        connection.send_request(request).block_task().await.map_err(failed).map(drop)
    };
    if let Some(model) = &wanted.model {
        set(session::model(session, model)?).await?;
    }
    if wanted.rights != OwnRights::Read {
        return Ok(());
    }
    // An agent need not ask before it acts, so to refuse what it asks for is not enough.
    let mode = session::read_mode(session);
    if !wanted.is_confined && (mode.is_none() || !session::keeps_to_modes(agent)) {
        return Err(Problem::Unconfined);
    }
    match mode {
        Some(session::Mode::Option(choice)) => set(choice).await,
        Some(session::Mode::Own(mode)) => {
            let request = SetSessionModeRequest::new(id(), mode);
            connection.send_request(request).block_task().await.map_err(failed).map(drop)
        }
        None => Ok(()),
    }
}

/// Once for a question that the rights cover, never for all that come after it.
fn permission(request: &RequestPermissionRequest, rights: OwnRights) -> RequestPermissionOutcome {
    let wanted = match rights {
        OwnRights::Read => PermissionOptionKind::RejectOnce,
        OwnRights::Edit | OwnRights::All => PermissionOptionKind::AllowOnce,
    };
    let option = request.options.iter().find(|option| option.kind == wanted);
    match option {
        Some(option) => {
            let id = option.option_id.clone();
            RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(id))
        }
        None => RequestPermissionOutcome::Cancelled,
    }
}

/// What comes of a prompt to an agent at the other end of these streams, which has such rights.
#[doc(hidden)]
pub async fn overhear(
    streams: (impl AsyncRead + Send + Unpin + 'static, impl AsyncWrite + Send + Unpin + 'static),
    model: Option<String>,
    rights: OwnRights,
) -> Vec<Result<Event, String>> {
    let (cwd, text) = (Utf8PathBuf::from("/"), "Do it.".to_owned());
    let wanted = Wanted { cwd, model, text, rights, is_confined: false };
    let (sender, mut events) = mpsc::channel::<Said>(64);
    let heard = async {
        let mut all = Vec::new();
        while let Some(said) = events.recv().await {
            all.push(said.map_err(|broken| match broken {
                Broken::Gone => GONE.to_owned(),
                Broken::Problem(problem) => problem.to_string(),
            }));
        }
        all
    };
    tokio::join!(converse(wanted, streams, sender), heard).1
}

/// What an agent tells about a session, if it is that.
#[doc(hidden)]
#[must_use]
pub fn read_update(text: &str) -> Option<Vec<Event>> {
    serde_json::from_str(text).ok().map(events)
}

fn events(update: SessionUpdate) -> Vec<Event> {
    match update {
        SessionUpdate::AgentMessageChunk(chunk) => text(chunk.content).map(Event::Text),
        SessionUpdate::AgentThoughtChunk(chunk) => text(chunk.content).map(Event::Thinking),
        SessionUpdate::ToolCall(call) => Some(Event::ToolNotice(ToolNotice {
            id: call.tool_call_id.to_string(),
            name: call.name.unwrap_or_default(),
            phase: phase(call.status),
            about: call.title,
        })),
        SessionUpdate::ToolCallUpdate(update) => {
            let phase = update.fields.status.map(phase).filter(|phase| *phase != ToolPhase::Begins);
            phase.map(|phase| {
                Event::ToolNotice(ToolNotice {
                    id: update.tool_call_id.to_string(),
                    name: update.fields.name.unwrap_or_default(),
                    phase,
                    about: update.fields.title.unwrap_or_default(),
                })
            })
        }
        _ => None,
    }
    .into_iter()
    .collect()
}

fn text(content: ContentBlock) -> Option<String> {
    match content {
        ContentBlock::Text(text) => Some(text.text),
        _ => None,
    }
}

fn phase(status: ToolCallStatus) -> ToolPhase {
    match status {
        ToolCallStatus::Completed => ToolPhase::Done,
        ToolCallStatus::Failed => ToolPhase::Failed,
        _ => ToolPhase::Begins,
    }
}

/// What an answer cost. Gemini has a place of its own for it.
fn usage(response: &PromptResponse) -> Option<Usage> {
    if let Some(usage) = &response.usage {
        return Some(Usage {
            input: usage.input_tokens,
            output: usage.output_tokens,
            cache_read: usage.cached_read_tokens.unwrap_or_default(),
            cache_write: usage.cached_write_tokens.unwrap_or_default(),
            reasoning: usage.thought_tokens.unwrap_or_default(),
        });
    }
    let counts = response.meta.as_ref()?.get("quota")?.get("token_count")?;
    let count = |key: &str| counts.get(key)?.as_u64();
    Some(Usage {
        input: count("input_tokens")?,
        output: count("output_tokens")?,
        ..Usage::default()
    })
}

fn end(response: &PromptResponse) -> Vec<Said> {
    let usage = usage(response).map(Event::Usage);
    let stop = match response.stop_reason {
        schema::StopReason::EndTurn => StopReason::End,
        schema::StopReason::MaxTokens => StopReason::MaxTokens,
        schema::StopReason::Refusal => StopReason::Refusal,
        schema::StopReason::MaxTurnRequests => StopReason::Other("max_turn_requests".to_owned()),
        schema::StopReason::Cancelled => StopReason::Other("cancelled".to_owned()),
        _ => StopReason::Other("unknown".to_owned()),
    };
    usage.into_iter().chain([Event::Stopped(stop)]).map(Ok).collect()
}

fn failed(error: &agent_client_protocol::Error) -> Problem {
    // The protocol's own place for what went wrong is `data`.
    let data = error.data.as_ref().map(|data| match data.as_str() {
        Some(text) => text.to_owned(),
        None => data.to_string(),
    });
    let what = match data {
        Some(data) if !data.is_empty() => format!("{}: {data}", error.message),
        _ => error.message.clone(),
    };
    let what: String = what.chars().take(1000).collect();
    Problem::Program { what: Mask::of_environment().hide(&what), details: None }
}

/// An answer that is being read.
struct Answer {
    running: Running,
    events: mpsc::Receiver<Said>,
    task: JoinHandle<()>,
    said: bool,
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer").field("said", &self.said).finish_non_exhaustive()
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Source for Answer {
    async fn read(&mut self, out: &mut Vec<Event>) -> Result<More, Problem> {
        match self.events.recv().await {
            Some(Ok(event)) => {
                self.said |= matches!(event, Event::Stopped(_));
                out.push(event);
                // An agent waits for the next prompt, and there is none: nothing is lost by ending it.
                Ok(if self.said { More::No } else { More::Yes })
            }
            Some(Err(Broken::Problem(Problem::Program { what, .. }))) => {
                let details = self.running.tail().text();
                Err(Problem::Program { what, details })
            }
            Some(Err(Broken::Problem(problem))) => Err(problem),
            Some(Err(Broken::Gone)) | None => Err(self.running.failed(GONE).await),
        }
    }

    fn complete(&mut self, _: &mut Vec<Event>) -> bool {
        self.said
    }
}

#[cfg(test)]
mod tests;

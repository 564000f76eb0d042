//! The door for editors: our runner as an agent of the Agent Client Protocol. The only place of this room that knows the protocol.
//!
//! | the editor | becomes |
//! |---|---|
//! | begins a session | one [`Session`] in its directory; it is told the commands that can be typed there |
//! | prompts | a task that goes on from the one before; what it says and does is told as it happens |
//! | is asked for permission | what a task must ask for; no answer is a no |
//! | cancels | the task ends, with everything that it started |
//! | loads a session | it is told everything that was said, and can go on, also after a restart |
//! | goes away | everything ends |

pub(crate) mod told;

use std::{
    collections::HashMap,
    io,
    sync::{Arc, Mutex, PoisonError},
};

use agent_client_protocol::{
    Agent, Client, Error, Lines, on_receive_notification, on_receive_request,
    schema::ProtocolVersion,
    v1::{
        ConnectionTo, Responder,
        schema::{
            AgentCapabilities, AuthenticateRequest, AuthenticateResponse, CancelNotification,
            ContentBlock, Implementation, InitializeRequest, InitializeResponse,
            ListSessionsRequest, ListSessionsResponse, LoadSessionRequest, LoadSessionResponse,
            NewSessionRequest, NewSessionResponse, PromptCapabilities, PromptRequest,
            PromptResponse, RequestPermissionOutcome, SessionCapabilities, SessionInfo,
            SessionListCapabilities, SessionMode, SessionModeState, SessionNotification,
            SessionUpdate, SetSessionModeRequest, SetSessionModeResponse,
        },
    },
};
use agents_agent::definition::PermissionMode;
use agents_model::lines;
use agents_task::{
    broker::{Ask, Asks, Reply},
    runner::Unavailable,
};
use camino::Utf8PathBuf;
use futures_util::{Sink, Stream};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use crate::sessions::{Grounds, Kept, Session};

/// An editor could not be served.
#[derive(Debug, thiserror::Error)]
#[error("the editor does not speak ACP: {0}")]
pub struct NotServed(String);

/// Speaks with the editor at the other end until it goes away or `cancel` says so. Then nothing that was started for it is left.
///
/// # Errors
/// It does not speak the protocol.
pub async fn serve<R, W>(
    grounds: Arc<dyn Grounds>,
    (read, write): (R, W),
    cancel: CancellationToken,
) -> Result<(), NotServed>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let house = House { grounds, sessions: Arc::default(), over: cancel.child_token() };
    // What the crate of the protocol has for bytes keeps a line however long it is, and ends with the first byte that is wrong.
    let streams = Lines::new(lines::write(write), lines::read(read, lines::MAX_ACP));
    let ended = tokio::select! {
        ended = house.connect(streams) => ended,
        () = cancel.cancelled() => Ok(()),
    };
    house.end().await;
    ended.map_err(|error| NotServed(error.to_string()))
}

/// All sessions of an editor.
#[derive(Clone)]
struct House {
    grounds: Arc<dyn Grounds>,
    sessions: Arc<Mutex<HashMap<String, Arc<Session>>>>,
    over: CancellationToken,
}

type Connection = ConnectionTo<Client>;

impl House {
    async fn connect(
        &self,
        streams: Lines<
            impl Sink<String, Error = io::Error> + Send + 'static,
            impl Stream<Item = io::Result<String>> + Send + 'static,
        >,
    ) -> Result<(), Error> {
        let (creating, loading, listing) = (self.clone(), self.clone(), self.clone());
        let (choosing, prompting, cancelling) = (self.clone(), self.clone(), self.clone());
        Agent
            .v1()
            .name("cargo-agents")
            .on_receive_request(
                async move |_: InitializeRequest, responder, _: Connection| {
                    responder.respond(welcome())
                },
                on_receive_request!(),
            )
            .on_receive_request(
                async move |_: AuthenticateRequest, responder, _: Connection| {
                    responder.respond(AuthenticateResponse::default())
                },
                on_receive_request!(),
            )
            .on_receive_request(
                async move |asked: NewSessionRequest, responder, to: Connection| {
                    let (house, own) = (creating.clone(), to.clone());
                    to.spawn(async move { house.create(asked, responder, own).await })
                },
                on_receive_request!(),
            )
            .on_receive_request(
                async move |asked: LoadSessionRequest, responder, to: Connection| {
                    let (house, own) = (loading.clone(), to.clone());
                    to.spawn(async move { house.load(asked, responder, own).await })
                },
                on_receive_request!(),
            )
            .on_receive_request(
                async move |asked: ListSessionsRequest, responder, _: Connection| {
                    responder.respond(listing.list(&asked))
                },
                on_receive_request!(),
            )
            .on_receive_request(
                async move |asked: SetSessionModeRequest, responder, _: Connection| {
                    responder.respond_with_result(choosing.set_mode(&asked))
                },
                on_receive_request!(),
            )
            .on_receive_request(
                async move |asked: PromptRequest, responder, to: Connection| {
                    let (house, own) = (prompting.clone(), to.clone());
                    to.spawn(async move {
                        responder.respond_with_result(house.prompt(asked, own).await)
                    })
                },
                on_receive_request!(),
            )
            .on_receive_notification(
                async move |asked: CancelNotification, _: Connection| {
                    if let Ok(session) = cancelling.find(&asked.session_id.0) {
                        session.cancel();
                    }
                    Ok(())
                },
                on_receive_notification!(),
            )
            .connect_to(streams)
            .await
    }

    async fn create(
        &self,
        asked: NewSessionRequest,
        responder: Responder<NewSessionResponse>,
        to: Connection,
    ) -> Result<(), Error> {
        let kept = match Utf8PathBuf::from_path_buf(asked.cwd) {
            Ok(cwd) => Kept::new(cwd),
            Err(path) => {
                let message = format!("`{}` is not UTF-8", path.display());
                return responder.respond_with_error(Error::invalid_params().data(message));
            }
        };
        match self.open(agents_task::TaskId::new().to_string(), kept, &to).await {
            Ok(session) => {
                let answer = NewSessionResponse::new(session.id.clone()).modes(modes(&session));
                responder.respond(answer)?;
                tell_commands(&session, &to)
            }
            Err(trouble) => responder.respond_with_error(error(&trouble)),
        }
    }

    async fn load(
        &self,
        asked: LoadSessionRequest,
        responder: Responder<LoadSessionResponse>,
        to: Connection,
    ) -> Result<(), Error> {
        let id = asked.session_id.0.to_string();
        let opened = match Kept::load(&*self.grounds, &id) {
            Ok(kept) => self.open(id, kept, &to).await,
            Err(trouble) => Err(trouble),
        };
        let session = match opened.and_then(|it| it.said().map(|said| (it, said))) {
            Ok((session, said)) => {
                for update in told::everything(&said) {
                    to.send_notification(SessionNotification::new(session.id.clone(), update))?;
                }
                session
            }
            Err(trouble) => return responder.respond_with_error(error(&trouble)),
        };
        responder.respond(LoadSessionResponse::new().modes(modes(&session)))?;
        tell_commands(&session, &to)
    }

    /// Opening looks at the disk, and may run cargo.
    async fn open(
        &self,
        id: String,
        kept: Kept,
        to: &Connection,
    ) -> Result<Arc<Session>, Unavailable> {
        let (grounds, over, own) = (Arc::clone(&self.grounds), self.over.clone(), id.clone());
        let opening =
            tokio::task::spawn_blocking(move || Session::open(&*grounds, own, kept, &over));
        let broke = |_| Unavailable { message: "opening broke down".to_owned(), hint: None };
        let (session, asks) = opening.await.map_err(broke)??;
        let session = Arc::new(session);
        let before = {
            let mut all = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
            all.insert(id.clone(), Arc::clone(&session))
        };
        if let Some(before) = before {
            before.end().await;
        }
        tokio::spawn(answer(asks, id, to.clone()));
        Ok(session)
    }

    fn list(&self, asked: &ListSessionsRequest) -> ListSessionsResponse {
        let all = Kept::all(&*self.grounds).into_iter();
        let here = all.filter(|(_, it)| asked.cwd.as_ref().is_none_or(|cwd| it.cwd == *cwd));
        let info = |(id, it): (String, Kept)| SessionInfo::new(id, it.cwd).title(it.title);
        ListSessionsResponse::new(here.map(info).collect())
    }

    fn find(&self, id: &str) -> Result<Arc<Session>, Error> {
        let all = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let unknown = || Error::invalid_params().data(format!("there is no session `{id}`"));
        all.get(id).cloned().ok_or_else(unknown)
    }

    fn set_mode(&self, asked: &SetSessionModeRequest) -> Result<SetSessionModeResponse, Error> {
        let session = self.find(&asked.session_id.0)?;
        let id = &*asked.mode_id.0;
        let mode = session.modes().into_iter().find(|it| words(*it).0 == id);
        let unknown = || Error::invalid_params().data(format!("there is no mode `{id}`"));
        session.set_mode(mode.ok_or_else(unknown)?).map_err(|it| error(&it))?;
        Ok(SetSessionModeResponse::default())
    }

    async fn prompt(&self, asked: PromptRequest, to: Connection) -> Result<PromptResponse, Error> {
        let session = self.find(&asked.session_id.0)?;
        let text = expanded(&session, &text_of(&asked.prompt));
        let id = session.id.clone();
        let tell = |event: &agents_task::event::Event| {
            if let Some(update) = told::update(event) {
                // The editor may be gone, which ends everything anyway.
                drop(to.send_notification(SessionNotification::new(id.clone(), update)));
            }
        };
        let outcome = session.prompt(&text, tell).await.map_err(|it| error(&it))?;
        if let Some(update) = told::result(&outcome) {
            to.send_notification(SessionNotification::new(id.clone(), update))?;
        }
        told::ended(&outcome)
    }

    async fn end(&self) {
        self.over.cancel();
        let all: Vec<Arc<Session>> = {
            let mut all = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
            all.drain().map(|(_, session)| session).collect()
        };
        for session in all {
            session.end().await;
        }
    }
}

fn welcome() -> InitializeResponse {
    let sessions = SessionCapabilities::new().list(SessionListCapabilities::default());
    let capabilities = AgentCapabilities::new()
        .load_session(true)
        .prompt_capabilities(PromptCapabilities::new().embedded_context(true))
        .session_capabilities(sessions);
    InitializeResponse::new(ProtocolVersion::V1)
        .agent_capabilities(capabilities)
        .agent_info(Implementation::new("cargo-agents", env!("CARGO_PKG_VERSION")))
}

fn error(trouble: &Unavailable) -> Error {
    let hint = trouble.hint.as_ref().map(|it| format!("\nhint: {it}")).unwrap_or_default();
    Error::internal_error().data(format!("{}{hint}", trouble.message))
}

/// The id of a mode, its name, and what it means.
fn words(mode: PermissionMode) -> (&'static str, &'static str, &'static str) {
    match mode {
        PermissionMode::Plan => ("plan", "Plan", "looks and thinks, and changes nothing"),
        PermissionMode::AcceptEdits => ("accept-edits", "Accept edits", "edits without asking"),
        PermissionMode::BypassPermissions => ("bypass-permissions", "Bypass", "never asks"),
        _ => ("default", "Ask", "asks before it changes something"),
    }
}

fn modes(session: &Session) -> SessionModeState {
    let mode = |it| {
        let (id, name, meaning) = words(it);
        SessionMode::new(id, name).description(meaning.to_owned())
    };
    let all = session.modes().into_iter().map(mode).collect();
    SessionModeState::new(words(session.mode()).0, all)
}

fn tell_commands(session: &Session, to: &Connection) -> Result<(), Error> {
    let update = SessionUpdate::AvailableCommandsUpdate(told::commands(&session.offer.typed()));
    to.send_notification(SessionNotification::new(session.id.clone(), update))
}

/// What is said, with what it refers to.
fn text_of(blocks: &[ContentBlock]) -> String {
    let parts: Vec<String> = blocks.iter().filter_map(told::words_of).collect();
    parts.join("\n")
}

/// A command that was typed (`/name words`) stands for its instructions; what begins like one and is none is what it is.
fn expanded(session: &Session, text: &str) -> String {
    let Some(typed) = text.strip_prefix('/') else { return text.to_owned() };
    let (name, input) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
    session.offer.expand(name, input.trim()).unwrap_or_else(|| text.to_owned())
}

/// Puts the questions of a session's tasks to the editor.
async fn answer(mut asks: Asks, session: String, to: Connection) {
    let mut number = 0_u64;
    while let Some(ask) = asks.recv().await {
        number += 1;
        let (to, question) = (to.clone(), told::question(&session, number, &ask));
        tokio::spawn(async move {
            // An answer that does not come is a no.
            if let Ok(answer) = to.send_request(question).block_task().await {
                reply(ask, &answer.outcome);
            }
        });
    }
}

fn reply(ask: Ask, outcome: &RequestPermissionOutcome) {
    let reply = match outcome {
        RequestPermissionOutcome::Selected(chosen) => told::reply(&chosen.option_id.0),
        _ => Reply::No,
    };
    ask.answer(reply);
}

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
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use agent_client_protocol::{
    Agent, Client, Error, Lines, on_receive_notification, on_receive_request,
    schema::ProtocolVersion,
    v1::{
        self, ConnectionTo, Responder,
        schema::{
            AgentCapabilities, AuthenticateRequest, AuthenticateResponse, CancelNotification,
            ContentBlock, Implementation, InitializeRequest, InitializeResponse,
            ListSessionsRequest, ListSessionsResponse, LoadSessionRequest, LoadSessionResponse,
            NewSessionRequest, NewSessionResponse, PromptCapabilities, PromptRequest,
            PromptResponse, RequestPermissionOutcome, SessionCapabilities, SessionInfo,
            SessionListCapabilities, SessionMode, SessionModeState, SessionNotification,
            SessionUpdate, SetSessionModeRequest, SetSessionModeResponse, StopReason,
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

use crate::{
    hearing::{Ending, parted},
    sessions::{Grounds, Kept, Session, Turn, no_session},
};

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
    let read = Ending::new(read, house.over.clone());
    let streams = Lines::new(lines::write(write), lines::read(read, lines::MAX_ACP));
    let ended = tokio::select! {
        ended = house.connect(streams) => ended,
        () = cancel.cancelled() => Ok(()),
        () = parted(&house.over) => Ok(()),
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
                    // Before anything that the editor says after it is looked at: that may be to cancel it.
                    let turn = match prompting.begin(&asked) {
                        Ok(turn) => turn,
                        Err(error) => return responder.respond_with_error(error),
                    };
                    let own = to.clone();
                    to.spawn(async move {
                        responder.respond_with_result(prompt(turn, &asked, own).await)
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
        let kept = match place(asked.cwd) {
            Ok(cwd) => Kept::new(cwd),
            Err(error) => return responder.respond_with_error(error),
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
        let kept = Kept::load(&*self.grounds, &id).map_err(|it| unknown(&it));
        // It takes place where it began, whatever the editor says now.
        let kept = kept.and_then(|it| place(it.cwd.clone().into()).map(|_| it));
        let opened = match kept {
            Ok(kept) => self.open(id, kept, &to).await,
            Err(error) => return responder.respond_with_error(error),
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
        all.get(id).cloned().ok_or_else(|| unknown(&no_session(id)))
    }

    fn set_mode(&self, asked: &SetSessionModeRequest) -> Result<SetSessionModeResponse, Error> {
        let session = self.find(&asked.session_id.0)?;
        let id = &*asked.mode_id.0;
        let mode = session.modes().into_iter().find(|it| words(*it).0 == id);
        let unknown = || mistake(format!("there is no mode `{id}`"));
        session.set_mode(mode.ok_or_else(unknown)?).map_err(|it| mistake(told_of(&it)))?;
        Ok(SetSessionModeResponse::default())
    }

    /// The turn that a prompt asks for.
    fn begin(&self, asked: &PromptRequest) -> Result<Turn, Error> {
        let session = self.find(&asked.session_id.0)?;
        if text_of(&asked.prompt).trim().is_empty() {
            return Err(mistake("the prompt has no words; pictures and sounds are not looked at"));
        }
        session.begin().map_err(|it| mistake(told_of(&it)))
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

/// Has it said what the editor prompts, and tells what becomes of it.
async fn prompt(
    turn: Turn,
    asked: &PromptRequest,
    to: Connection,
) -> Result<PromptResponse, Error> {
    let (id, text) = (turn.session().id.clone(), expanded(turn.session(), &text_of(&asked.prompt)));
    let mut teller = told::Teller::default();
    let tell = |event: &agents_task::event::Event| {
        if let Some(update) = teller.update(event) {
            // The editor may be gone, which ends everything anyway.
            drop(to.send_notification(SessionNotification::new(id.clone(), update)));
        }
    };
    let outcome = turn.prompt(&text, tell).await.map_err(|it| error(&it))?;
    let Some(outcome) = outcome else { return Ok(PromptResponse::new(StopReason::Cancelled)) };
    if let Some(update) = told::result(&outcome) {
        to.send_notification(SessionNotification::new(id.clone(), update))?;
    }
    told::ended(&outcome)
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

/// Something that is not the editor's fault.
fn error(trouble: &Unavailable) -> Error {
    Error::internal_error().data(told_of(trouble))
}

/// Something that the editor could have said otherwise.
fn mistake(message: impl Into<String>) -> Error {
    Error::invalid_params().data(message.into())
}

/// There is no such session.
fn unknown(trouble: &Unavailable) -> Error {
    Error::from(v1::schema::Error::resource_not_found(None)).data(told_of(trouble))
}

fn told_of(trouble: &Unavailable) -> String {
    let hint = trouble.hint.as_ref().map(|it| format!("\nhint: {it}")).unwrap_or_default();
    format!("{}{hint}", trouble.message)
}

/// Where a session may take place.
fn place(cwd: PathBuf) -> Result<Utf8PathBuf, Error> {
    let wrong = |path: &Path| {
        let path = path.display();
        mistake(format!(
            "`cwd` must be the absolute path of a directory that exists, and is `{path}`"
        ))
    };
    let cwd = Utf8PathBuf::from_path_buf(cwd)
        .map_err(|path| mistake(format!("`{}` is not UTF-8", path.display())))?;
    if cwd.is_absolute() && cwd.is_dir() { Ok(cwd) } else { Err(wrong(cwd.as_std_path())) }
}

/// The id of a mode, its name, and what it means.
fn words(mode: PermissionMode) -> (&'static str, &'static str, &'static str) {
    match mode {
        PermissionMode::Plan => ("plan", "Plan", "looks and thinks, and changes nothing"),
        PermissionMode::AcceptEdits => ("accept-edits", "Accept edits", "edits without asking"),
        PermissionMode::DontAsk => {
            ("dont-ask", "Don't ask", "does what is allowed and refuses the rest, without asking")
        }
        PermissionMode::BypassPermissions => ("bypass-permissions", "Bypass", "never asks"),
        PermissionMode::Default => ("default", "Ask", "asks before it changes something"),
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

//! The service of a worker: what Restate calls, and the address that it is called at.

mod service;

use std::{
    collections::HashMap,
    convert::Infallible,
    fmt,
    future::Future,
    net::SocketAddr,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use agents_system::explain::{Code, ErrorKind, Explain};
use bytes::Bytes;
use camino::Utf8PathBuf;
use http::{Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt as _, Either, Full};
use hyper::{body::Incoming, server::conn::http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use restate_sdk::endpoint::{Endpoint, HandleOptions, ProtocolMode, ResponseBody};
use restate_sdk_shared_core::IdentityVerifier;
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinSet};
use tokio_util::sync::CancellationToken;

use super::{
    hall::{Hall, Job},
    lanes::{self, Lanes, SLOTS},
    server::{Server, ServerError},
    wire::Assignment,
};
use crate::event::Outcome;

/// How often it is seen to that new tasks for the lane come here.
const LOOK: Duration = Duration::from_secs(15);
/// How often the server is looked for while it is not there.
const PAUSE: Duration = Duration::from_secs(1);
/// How long a connection may be silent before it is tried, and how long it may take to answer then.
const SILENCE: Duration = Duration::from_secs(20);

/// Whoever does the work at a worker.
pub trait Bench: Send + Sync + 'static {
    /// Does what is to be done, in the files that came (`archive`, if they came in one). It ends soon when the token of the job is
    /// cancelled, and must not go on when the future is dropped.
    fn work(
        &self,
        assignment: Assignment,
        archive: Option<Utf8PathBuf>,
        job: &Job,
    ) -> impl Future<Output = Finished> + Send;
}

/// What was done.
#[derive(Debug, Clone, PartialEq)]
pub struct Finished {
    /// How it went.
    pub outcome: Outcome,
    /// What it changed.
    pub patch: Vec<u8>,
}

/// How a worker is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listening {
    /// The name of its lane. The same after a restart, so that it goes on with what was its own.
    pub name: String,
    /// Where it listens.
    pub at: SocketAddr,
    /// How the server reaches it: `http://HOST:PORT`, if that is not where it listens.
    pub advertised: Option<String>,
    /// The public key of the server; without one, whoever reaches the address is the server.
    pub identity: Option<String>,
    /// How many tasks it takes at once.
    pub slots: usize,
    /// How long a task goes on that the server does not ask for any more.
    pub patience: Duration,
    /// Where it keeps things.
    pub dir: Utf8PathBuf,
}

/// Why there is no worker.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The name cannot be one.
    #[error("`{0}` is not a name of letters, digits, `-` and `_`")]
    Name(String),
    /// Everybody could reach it.
    #[error("whoever reaches `{0}` could run tasks here")]
    Open(SocketAddr),
    /// The key is none.
    #[error("the public key of the server is not one: {0}")]
    Key(String),
    /// The address cannot be had.
    #[error("cannot listen at `{at}`")]
    Listen {
        /// Which.
        at: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
}

impl Explain for WorkerError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Listen { .. } => ErrorKind::Failure,
            _ => ErrorKind::Usage,
        }
    }

    fn code(&self) -> Option<Code> {
        match self {
            Self::Name(_) => None,
            Self::Open(_) | Self::Key(_) => Some(Code::WorkerOpen),
            Self::Listen { .. } => Some(Code::CannotListen),
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Open(_) => Some(
                "say the server's public key with `--identity-key`, or listen at `127.0.0.1`"
                    .to_owned(),
            ),
            _ => None,
        }
    }
}

/// What a worker tells whoever runs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// The server knows it.
    Registered {
        /// Under this address.
        uri: String,
    },
    /// The server does not, yet.
    NotRegistered {
        /// Why.
        why: String,
    },
}

/// A worker.
pub struct Worker<B> {
    listening: Listening,
    listener: TcpListener,
    server: Server,
    door: Arc<Door<B>>,
}

impl<B> fmt::Debug for Worker<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker").field("listening", &self.listening).finish_non_exhaustive()
    }
}

impl<B: Bench> Worker<B> {
    /// Opens the door, for nobody yet.
    ///
    /// # Errors
    /// The address cannot be had, or would be open to everybody.
    pub async fn open(listening: Listening, server: Server, bench: B) -> Result<Self, WorkerError> {
        if !lanes::is_name(&listening.name) {
            return Err(WorkerError::Name(listening.name));
        }
        if listening.identity.is_none() && !listening.at.ip().is_loopback() {
            return Err(WorkerError::Open(listening.at));
        }
        let keys: Vec<&str> = listening.identity.iter().map(String::as_str).collect();
        let identity =
            IdentityVerifier::new(&keys).map_err(|error| WorkerError::Key(error.to_string()))?;
        let at = listening.at;
        let failed = |source| WorkerError::Listen { at, source };
        let listener = TcpListener::bind(at).await.map_err(failed)?;
        let Listening { dir, slots, patience, .. } = listening.clone();
        let hall = Arc::new(Hall::new(bench, server.clone(), dir, slots, patience));
        let door = Door { hall, identity, slots, lanes: Mutex::default() };
        Ok(Self { listening, listener, server, door: Arc::new(door) })
    }

    /// The address that the server is told.
    #[must_use]
    pub fn uri(&self) -> String {
        let here = || {
            let at = self.listener.local_addr().unwrap_or(self.listening.at);
            format!("http://{at}")
        };
        let worker = self.listening.advertised.clone().unwrap_or_else(here);
        lanes::address(&worker, &self.listening.name)
    }

    /// Works until it is told to end.
    pub async fn serve(self, end: CancellationToken, note: impl Fn(Note) + Send + Sync + 'static) {
        let mut connections = JoinSet::new();
        let registering =
            register(self.server.clone(), self.listening.name.clone(), self.uri(), note);
        connections.spawn(registering);
        loop {
            tokio::select! {
                () = end.cancelled() => break,
                Some(_) = connections.join_next() => {}
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) => {
                        let served = http2::Builder::new(TokioExecutor::new())
                            .timer(TokioTimer::new())
                            .keep_alive_interval(SILENCE)
                            .keep_alive_timeout(SILENCE)
                            .serve_connection(TokioIo::new(stream), Visitor(Arc::clone(&self.door)));
                        connections.spawn(async move { _ = served.await });
                    }
                    // Too many files are open, or the visitor was gone again.
                    Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
                },
            }
        }
        self.door.hall.stop();
        connections.shutdown().await;
    }
}

/// Sees to it that the server knows the lane, and that new tasks for it come here.
async fn register(server: Server, name: String, uri: String, note: impl Fn(Note)) {
    let lanes = Lanes::new(server.clone());
    let is_here = async || -> Result<bool, ServerError> {
        let all = lanes.all().await?;
        Ok(all.iter().any(|it| it.name == name && it.uri.trim_end_matches('/') == uri))
    };
    // Whatever the server knew may be of an older version of us.
    let mut is_known = false;
    loop {
        let known = if is_known { is_here().await } else { Ok(false) };
        let registered = match known {
            Ok(true) => Ok(false),
            Ok(false) => server.register(&uri).await.map(|()| true),
            Err(error) => Err(error),
        };
        let pause = match registered {
            Ok(news) => {
                is_known = true;
                if news {
                    note(Note::Registered { uri: uri.clone() });
                }
                LOOK
            }
            Err(error) => {
                note(Note::NotRegistered { why: agents_system::explain::with_causes(&error) });
                PAUSE
            }
        };
        tokio::time::sleep(pause).await;
    }
}

/// Where Restate comes in: every lane is served, each by a service of its own.
struct Door<B> {
    hall: Arc<Hall<B>>,
    identity: IdentityVerifier,
    slots: usize,
    lanes: Mutex<HashMap<String, Endpoint>>,
}

struct Visitor<B>(Arc<Door<B>>);

type Answer = Response<Either<ResponseBody, Full<Bytes>>>;

impl<B: Bench> hyper::service::Service<Request<Incoming>> for Visitor<B> {
    type Response = Answer;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Answer, Infallible>> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let door = Arc::clone(&self.0);
        Box::pin(async move { Ok(door.answer(request).await) })
    }
}

/// What is asked for.
#[derive(Debug, PartialEq, Eq)]
enum Wanted<'a> {
    Discover { lane: &'a str },
    Invoke { lane: &'a str, handler: &'a str },
}

/// Reads `/lane/NAME/discover` and `/lane/NAME/invoke/agents.NAME/HANDLER`.
fn wanted(path: &str) -> Option<Wanted<'_>> {
    let (lane, rest) = path.strip_prefix("/lane/")?.split_once('/')?;
    if !lanes::is_name(lane) {
        return None;
    }
    if rest == "discover" {
        return Some(Wanted::Discover { lane });
    }
    let (service, handler) = rest.strip_prefix("invoke/")?.split_once('/')?;
    (lanes::lane(service) == Some(lane)).then_some(Wanted::Invoke { lane, handler })
}

impl<B: Bench> Door<B> {
    async fn answer(&self, mut request: Request<Incoming>) -> Answer {
        let path = request.uri().path().to_owned();
        // It is signed for the path as it is, so this comes first.
        if self.identity.verify_identity(request.headers(), &path).is_err() {
            return said(StatusCode::UNAUTHORIZED, Bytes::new());
        }
        let options = HandleOptions { protocol_mode: ProtocolMode::BidiStream };
        match wanted(&path) {
            None => said(StatusCode::NOT_FOUND, Bytes::new()),
            Some(Wanted::Discover { lane }) => {
                let (head, body) =
                    self.endpoint(lane).handle_with_options(request, options).into_parts();
                let Ok(body) = body.collect().await else {
                    return said(StatusCode::INTERNAL_SERVER_ERROR, Bytes::new());
                };
                let body = body.to_bytes();
                let body = renamed(&body, lane, self.slots).unwrap_or(body);
                Response::from_parts(head, Either::Right(Full::new(body)))
            }
            Some(Wanted::Invoke { lane, handler }) => {
                let endpoint = self.endpoint(lane);
                let Ok(uri) = Uri::try_from(format!("/invoke/{}/{handler}", service::NAME)) else {
                    return said(StatusCode::NOT_FOUND, Bytes::new());
                };
                *request.uri_mut() = uri;
                endpoint.handle_with_options(request, options).map(Either::Left)
            }
        }
    }

    fn endpoint(&self, lane: &str) -> Endpoint {
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        let made = || service::endpoint(lane, &self.hall);
        lanes.entry(lane.to_owned()).or_insert_with(made).clone()
    }
}

fn said(status: StatusCode, body: Bytes) -> Answer {
    let mut answer = Response::new(Either::Right(Full::new(body)));
    *answer.status_mut() = status;
    answer
}

/// The SDK has one name for a type of service; here each lane has its own. `None` for what is no such description.
fn renamed(description: &[u8], lane: &str, slots: usize) -> Option<Bytes> {
    let mut description: Value = serde_json::from_slice(description).ok()?;
    for service in description.get_mut("services")?.as_array_mut()? {
        let service = service.as_object_mut()?;
        service.insert("name".to_owned(), json!(lanes::service(lane)));
        service.insert("metadata".to_owned(), json!({ SLOTS: slots.to_string() }));
    }
    Some(description.to_string().into())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_answered_was_asked_for(path in "/?(lane|discover|invoke|agents\\.|one|run|[a-z./ %é]{0,3}|/){0,9}") {
            let asked = wanted(&path).map(|it| match it {
                Wanted::Discover { lane } => (lane, format!("/lane/{lane}/discover")),
                Wanted::Invoke { lane, handler } => (lane, format!("/lane/{lane}/invoke/agents.{lane}/{handler}")),
            });
            if let Some((lane, meant)) = asked {
                prop_assert!(lanes::is_name(lane) && meant == path, "{}", meant);
            }
        }

        #[test]
        fn a_description_keeps_all_that_is_not_ours(
            names in prop::collection::vec(".{0,8}", 0..4),
            more in ".{0,8}",
            bytes in prop::collection::vec(any::<u8>(), 0..32),
            slots in any::<usize>(),
        ) {
            let said = |name: &str| json!({ "name": name, "ty": more, "handlers": [more, { "name": more }] });
            let before = json!({ "services": names.iter().map(|it| said(it)).collect::<Vec<_>>(), "protocol": more });
            let after = renamed(before.to_string().as_bytes(), "one", slots).unwrap();
            let mut after: Value = serde_json::from_slice(&after).unwrap();
            for (service, name) in after["services"].as_array_mut().unwrap().iter_mut().zip(&names) {
                prop_assert_eq!(service["name"].take(), "agents.one");
                let metadata = service.as_object_mut().unwrap().remove("metadata");
                prop_assert_eq!(metadata, Some(json!({ SLOTS: slots.to_string() })));
                service["name"] = json!(name);
            }
            prop_assert_eq!(after, before);
            prop_assert!(renamed(&bytes, "one", slots).is_none());
        }
    }

    #[test]
    fn only_what_restate_asks_for_is_answered() {
        assert_eq!(wanted("/lane/one/discover"), Some(Wanted::Discover { lane: "one" }));
        let run = Wanted::Invoke { lane: "one", handler: "run" };
        assert_eq!(wanted("/lane/one/invoke/agents.one/run"), Some(run));
        for other in
            ["/", "/discover", "/lane/one/invoke/agents.two/run", "/lane/a.b/discover", "/lane/one"]
        {
            assert_eq!(wanted(other), None, "{other}");
        }
    }

    #[test]
    fn a_lane_is_described_under_its_own_name() {
        let described =
            renamed(br#"{"services":[{"name":"agents","ty":"VIRTUAL_OBJECT"}]}"#, "one", 3);
        let described: Value = serde_json::from_slice(&described.unwrap()).unwrap();
        assert_eq!(described["services"][0]["name"], "agents.one");
        assert_eq!(described["services"][0]["metadata"]["slots"], "3");
        assert_eq!(renamed(b"no such service", "one", 3), None);
    }
}

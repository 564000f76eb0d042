//! A scripted model endpoint over real HTTP.
//!
//! It listens on a port of 127.0.0.1 and speaks the wire formats of the providers: Anthropic's messages,
//! OpenAI's chat completions and responses, Gemini's content generation; streamed and in one piece,
//! with token counting and the list of models. What it says is a [`Script`] of [`Reply`]s that know
//! nothing of wire formats; what it was asked is kept as [`Received`], with a neutral view
//! ([`Request`]) beside the JSON that really came. The same script thus drives our own provider code and the
//! real hosts.
//!
//! ```
//! use agents_model::endpoint::{Endpoint, Reply, Script};
//! use serde_json::json;
//!
//! let endpoint = Endpoint::start(Script::of([
//!     Reply::text("Let me look.").and_call("read_file", json!({"path": "Cargo.toml"})),
//!     Reply::text("It is a library."),
//! ]));
//! // Point a client at `endpoint.url()`, then look at what it sent:
//! assert!(endpoint.requests().is_empty());
//! ```
//!
//! Things go wrong on demand: errors with headers, silence, stalls, dropped connections, events that
//! cannot be parsed ([`Fault`]), and bytes that are cut anywhere ([`Reply::in_fragments_of`]).
//!
//! One module per wire format; a new one is a new file and a line in `wire`.

mod chat;
mod gemini;
mod http;
mod messages;
mod request;
mod responses;
mod script;
mod serve;
mod stop;
mod wire;

#[cfg(test)]
mod tests;

use std::{
    io,
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread::JoinHandle,
};

use serde_json::Value;

use self::{http::Connection, stop::Stop};
pub use self::{
    http::Headers,
    request::{Delivery, Message, Part, Request, Role, Tool},
    script::Script,
};
pub use crate::{
    event::{StopReason, Usage},
    script::{Fault, Reply, Said, ScriptedCall as ToolCall},
    wire::Wire as Protocol,
};

/// More than any test opens at a time; a client that runs wild is refused.
const MAX_CONNECTIONS: usize = 256;
/// More than any test asks; later requests are answered, not kept.
const MAX_RECEIVED: usize = 10_000;
/// The one model in the list of models.
const MODEL: &str = "scripted-model";

/// A model endpoint on a port of its own. Gone when it is dropped, with all its connections.
#[derive(Debug)]
pub struct Endpoint {
    address: SocketAddr,
    shared: Arc<Shared>,
    listener: Option<JoinHandle<()>>,
}

/// A request as it arrived, whatever it was for.
#[derive(Debug, Clone, PartialEq)]
pub struct Received {
    /// `POST` mostly.
    pub method: String,
    /// Without the query.
    pub path: String,
    /// What followed the `?`.
    pub query: String,
    /// The headers.
    pub headers: Headers,
    /// The body, if it was JSON.
    pub json: Option<Value>,
    /// What it asks the model, if it asks the model.
    pub request: Option<Request>,
}

/// What all threads of an endpoint have in common.
#[derive(Debug)]
struct Shared {
    script: Script,
    model: String,
    received: Mutex<Vec<Received>>,
    turns: AtomicUsize,
    open: AtomicUsize,
    stop: Stop,
}

impl Shared {
    fn record(&self, received: Received) {
        let mut all = self.received.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() < MAX_RECEIVED {
            all.push(received);
        }
    }

    fn next_turn(&self) -> usize {
        self.turns.fetch_add(1, Ordering::Relaxed)
    }
}

impl Endpoint {
    /// Starts it on a port that is free, for a test.
    ///
    /// # Panics
    /// No port can be had.
    #[must_use]
    #[expect(clippy::expect_used, reason = "a test without a port has failed; programs use `bind`")]
    pub fn start(script: Script) -> Self {
        Self::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), script).expect("a port")
    }

    /// Starts it on this address; port 0 is any that is free.
    ///
    /// # Errors
    /// The address cannot be had.
    pub fn bind(address: SocketAddr, script: Script) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            script,
            model: MODEL.to_owned(),
            received: Mutex::default(),
            turns: AtomicUsize::new(0),
            open: AtomicUsize::new(0),
            stop: Stop::default(),
        });
        let state = Arc::clone(&shared);
        let listener = std::thread::spawn(move || accept(&listener, &state));
        Ok(Self { address, shared, listener: Some(listener) })
    }

    /// `http://127.0.0.1:<port>`, without a slash at the end.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// The model that the endpoint says it has. It answers for every other one too.
    #[must_use]
    pub fn model(&self) -> &str {
        &self.shared.model
    }

    /// Everything that arrived, the oldest first.
    #[must_use]
    pub fn received(&self) -> Vec<Received> {
        self.shared.received.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What the model was asked, the oldest first.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        let all = self.shared.received.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().filter_map(|received| received.request.clone()).collect()
    }

    /// How many connections are open.
    #[must_use]
    pub fn open_connections(&self) -> usize {
        self.shared.open.load(Ordering::Relaxed)
    }

    /// Forgets what arrived so far.
    pub fn forget(&self) {
        self.shared.received.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.shared.stop.ask();
        // Wakes the listener up; it looks at the flag before it does anything else.
        let _ = TcpStream::connect(self.address);
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
    }
}

/// The streamed answer that an endpoint gives as its first: the body of it, as one text.
#[must_use]
pub fn stream_text(protocol: Protocol, reply: &Reply, model: &str) -> String {
    let turn = wire::Turn { number: 0, model, reply };
    wire::wire(protocol).events(&turn).iter().map(wire::Event::render).collect()
}

/// The neutral view of a request in this wire format, as an endpoint takes it.
#[must_use]
pub fn read_request(protocol: Protocol, path: &str, body: &serde_json::Value) -> Request {
    wire::wire(protocol).request(path, body)
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.stop.is_asked() {
            return;
        }
        let Ok(stream) = stream else { continue };
        if shared.open.fetch_add(1, Ordering::Relaxed) >= MAX_CONNECTIONS {
            shared.open.fetch_sub(1, Ordering::Relaxed);
            continue;
        }
        let shared = Arc::clone(shared);
        std::thread::spawn(move || {
            // A client that goes away in the middle is nothing to report: its own test sees that.
            let connection = Connection::new(stream, shared.stop.clone());
            let _ = connection.and_then(|connection| serve::serve(connection, &shared));
            shared.open.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

//! What clients, editors and browsers say to our own servers.
//!
//! `streams` says what an input is made of.

mod place;

use std::{
    io,
    sync::{Arc, Mutex},
    time::Duration,
};

use agents_serve::{
    acp,
    dashboard::{self, Act, Sight, Topic},
    http::Token,
    mcp,
};
use agents_task::{runner::Unavailable, transcript::Store};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex, split},
    time::sleep,
};
use tokio_util::sync::CancellationToken;

use self::place::{Place, Shop};
use crate::streams::{
    Talk, Turn, answers, in_runtime, nothing_is_left_open, parts, replaced, talk,
};

/// So much is on its way at most.
const PIPE: usize = 64 * 1024;

/// Whatever an MCP client says, and wherever that is cut: what it hears is JSON-RPC, each of its requests is answered once, and the server
/// ends when it goes away.
pub fn mcp_server(data: &[u8]) {
    everywhere(data, async |size| {
        let place = Place::new();
        let (ours, theirs) = duplex(PIPE);
        let cancel = CancellationToken::new();
        let serving =
            mcp::serve(Arc::new(Shop(Arc::clone(&place))), place.terms(), split(ours), cancel);
        // Whoever does not speak the protocol is told so.
        let (_, talk) = tokio::join!(serving, talk(theirs, data, size, Turn::AfterQuiet));
        talk
    });
}

/// The same for an editor. The protocol lets nothing follow the first line before it is answered.
pub fn acp_server(data: &[u8]) {
    let at = data.iter().position(|it| *it == b'\n').unwrap_or(data.len());
    let data = &[&data[..at], b"\n%%", &data[at..]].concat();
    everywhere(data, async |size| {
        let (ours, theirs) = duplex(PIPE);
        let grounds = Arc::new(Shop(Place::new()));
        let serving = acp::serve(grounds, split(ours), CancellationToken::new());
        let (_, talk) = tokio::join!(serving, talk(theirs, data, size, Turn::AfterQuiet));
        talk
    });
}

fn everywhere(data: &[u8], speak: impl AsyncFn(usize) -> Talk) {
    let heard = |size: usize| {
        let talk = in_runtime(speak(size));
        nothing_is_left_open(&talk, answers(&talk))
    };
    let whole = heard(data.len().max(1));
    assert_eq!(heard(7), whole, "in pieces of 7");
}

/// Connections in memory, one after the other.
struct Doorstep(tokio::sync::mpsc::Receiver<DuplexStream>);

impl axum::serve::Listener for Doorstep {
    type Addr = ();
    type Io = DuplexStream;

    async fn accept(&mut self) -> (DuplexStream, ()) {
        match self.0.recv().await {
            Some(stream) => (stream, ()),
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> io::Result<()> {
        Ok(())
    }
}

/// The port that everybody believes to be at.
const PORT: u16 = 4711;

/// Something to look at, which notes what is done.
struct Shown {
    store: Store,
    acts: Mutex<Vec<Act>>,
    _place: Arc<Place>,
}

impl Sight for Shown {
    fn look(&self, topic: &Topic) -> Result<Value, Unavailable> {
        match topic {
            Topic::Plan(name) | Topic::Plugin(name) => {
                Err(Unavailable { message: format!("there is no `{name}`"), hint: None })
            }
            other => Ok(json!({ "topic": format!("{other:?}") })),
        }
    }

    fn mark(&self, _: &Topic) -> u64 {
        1
    }

    fn act(&self, act: Act) -> Result<String, Unavailable> {
        self.acts.lock().expect("nobody panics").push(act);
        Ok("done".to_owned())
    }

    fn transcripts(&self) -> &Store {
        &self.store
    }
}

/// Requests of a browser, byte by byte, with `@TOKEN@` where the token belongs: each part of an input is a connection. Nothing is shown
/// without the token, nothing is done but by a request that says where it comes from, and what is shown cannot be used by another page.
pub fn dashboard(data: &[u8]) {
    let token = Token::random().expect("something random");
    let secret = token.reveal().to_owned();
    let place = Place::new();
    let store = place.store();
    let shown = Arc::new(Shown { store, acts: Mutex::default(), _place: place });
    let sight = Arc::clone(&shown);
    in_runtime(async {
        let (come, comes) = tokio::sync::mpsc::channel(1);
        let cancel = CancellationToken::new();
        let over = cancel.clone();
        let serving = dashboard::serve_at(sight, (Doorstep(comes), PORT), token, cancel);
        let knocking = async {
            for part in parts(data) {
                let done = shown.acts.lock().expect("nobody panics").len();
                let said = replaced(part, b"@TOKEN@", secret.as_bytes());
                let heard = knock(&come, &said).await;
                let done = shown.acts.lock().expect("nobody panics").len() - done;
                check_answer(part, &heard, done);
            }
            over.cancel();
        };
        tokio::join!(serving, knocking).0.expect("it ends when it is told to");
    });
}

/// What comes of a request until nothing more does.
async fn knock(come: &tokio::sync::mpsc::Sender<DuplexStream>, said: &[u8]) -> Vec<u8> {
    let (ours, theirs) = duplex(PIPE);
    come.send(ours).await.expect("somebody is there");
    let (mut read, mut write) = split(theirs);
    let mut heard = Vec::new();
    let speaking = async {
        // It may have closed the connection already.
        drop(write.write_all(said).await);
        sleep(Duration::from_secs(1)).await;
        drop(write.shutdown().await);
    };
    let hearing = async {
        let mut chunk = vec![0; PIPE];
        while let Ok(length @ 1..) = read.read(&mut chunk).await {
            heard.extend_from_slice(&chunk[..length]);
            // A page that is shown what happens is never told everything.
            if heard.len() > 1024 * 1024 {
                break;
            }
        }
    };
    let patience = sleep(Duration::from_secs(60));
    tokio::select! {
        _ = async { tokio::join!(speaking, hearing) } => {}
        () = patience => {}
    }
    heard
}

fn check_answer(said: &[u8], heard: &[u8], done: usize) {
    if said.starts_with(b"PRI * HTTP/2.0") {
        return assert_eq!(done, 0, "no browser speaks like that to a page without TLS");
    }
    let text = String::from_utf8_lossy(heard);
    // Whoever asks in the older version is answered in it.
    let in_version =
        |version: &str, status: &str| text.matches(&format!("{version} {status}")).count();
    let statuses = |status: &str| in_version("HTTP/1.1", status) + in_version("HTTP/1.0", status);
    assert!(heard.is_empty() || text.starts_with("HTTP/1."), "{text}");
    let mentions = |word: &[u8]| said.windows(word.len()).any(|it| it.eq_ignore_ascii_case(word));
    let good = statuses("200");
    if !mentions(b"@TOKEN@") {
        assert_eq!((good, done), (0, 0), "without the token: {text}");
    }
    if done > 0 {
        assert!(
            mentions(b"origin") && mentions(b"application/json") && mentions(b"POST"),
            "{text}"
        );
        assert!(done <= good, "{done} things done, {good} told");
    }
    if good > 0 {
        let policies = text.matches("content-security-policy: default-src 'none'").count();
        assert!(policies >= good, "{text}");
    }
    assert_eq!(statuses("500"), 0, "{text}");
}

/// Messages to the MCP server over HTTP, one in each part of an input; those after the first belong to the session that it began.
/// What comes back are well-formed messages with ids that were asked for.
pub fn mcp_http(data: &[u8]) {
    let token = Token::random().expect("something random");
    let secret = token.reveal().to_owned();
    let place = Place::new();
    in_runtime(async {
        let (come, comes) = tokio::sync::mpsc::channel(1);
        let cancel = CancellationToken::new();
        let over = cancel.clone();
        let shop = Arc::new(Shop(Arc::clone(&place)));
        let at = (Doorstep(comes), PORT);
        let serving = mcp::serve_http_at(shop, place.terms(), at, token, cancel);
        let knocking = async {
            let mut session = String::new();
            for part in parts(data) {
                let head = format!(
                    "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{PORT}\r\nAuthorization: Bearer {secret}\r\n\
                     Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
                     Connection: close\r\n{session}Content-Length: {}\r\n\r\n",
                    part.len()
                );
                let heard = knock(&come, &[head.as_bytes(), part].concat()).await;
                let text = String::from_utf8_lossy(&heard).into_owned();
                assert!(text.starts_with("HTTP/1.1 ") && !text.starts_with("HTTP/1.1 5"), "{text}");
                let begun = text.lines().find_map(|it| it.strip_prefix("mcp-session-id: "));
                if let Some(begun) = begun {
                    session = format!("Mcp-Session-Id: {begun}\r\n");
                }
                check_events(part, &text);
            }
            over.cancel();
        };
        tokio::join!(serving, knocking).0.expect("it ends when it is told to");
    });
}

/// The messages in an answer are what they must be.
fn check_events(said: &[u8], heard: &str) {
    let data = heard.lines().filter_map(|it| it.strip_prefix("data: ")).filter(|it| it.len() > 1);
    let heard = data.collect::<Vec<_>>().join("\n").into_bytes();
    // A message may be written on several lines.
    let said = serde_json::from_slice::<Value>(said).map(|it| it.to_string()).unwrap_or_default();
    answers(&Talk { said: said.into_bytes(), heard });
}

//! A running language server.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use camino::Utf8Path;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader},
    net::unix::OwnedWriteHalf,
    sync::{oneshot, watch},
};

use super::frame;
use crate::{context::Ground, conversation::Child, tool::ToolError};

/// What a server answers when the code changed while it was thinking.
const CONTENT_MODIFIED: i64 = -32801;
/// How often it is asked again then.
const RETRIES: usize = 5;
/// How long the end of a server is waited for.
const END: Duration = Duration::from_secs(10);

type Pending = Arc<Mutex<HashMap<i64, oneshot::Sender<Result<Value, Refusal>>>>>;

/// What a server says instead of an answer.
struct Refusal {
    code: i64,
    message: String,
}

pub(super) struct Session {
    child: Child,
    write: Arc<tokio::sync::Mutex<OwnedWriteHalf>>,
    pending: Pending,
    next: AtomicI64,
    /// What it knows of each file: the version and the text.
    files: Mutex<HashMap<String, (i64, String)>>,
    /// Whether it has read the workspace.
    ready: watch::Receiver<bool>,
    /// Whether it ever tells that.
    tells: bool,
    reader: tokio::task::JoinHandle<()>,
}

impl Session {
    pub(super) async fn start(program: &Utf8Path, ground: &Ground) -> Result<Self, ToolError> {
        let started = Child::start(program.as_str(), &[], &[], ground.area.cwd(), ground);
        let (child, stream) = started.map_err(ToolError::failed)?;
        let (read, write) = stream.into_split();
        let write = Arc::new(tokio::sync::Mutex::new(write));
        let pending = Pending::default();
        let (say, ready) = watch::channel(false);
        let reader = tokio::spawn(listen(
            BufReader::new(read),
            Arc::clone(&write),
            Arc::clone(&pending),
            say,
        ));
        let next = AtomicI64::new(1);
        let files = Mutex::default();
        let mut session = Self { child, write, pending, next, files, ready, tells: false, reader };
        let root = frame::uri(ground.area.cwd().as_str());
        let answer = session.ask("initialize", introduction(&root)).await;
        if let (Err(_), Some(why)) = (&answer, session.child.no_sandbox()) {
            return Err(ToolError::NoSandbox { why });
        }
        session.tells = answer?["serverInfo"]["name"] == "rust-analyzer";
        session.tell("initialized", json!({})).await?;
        Ok(session)
    }

    pub(super) fn is_over(&self) -> bool {
        self.child.is_over() || self.reader.is_finished()
    }

    /// Tells the server what is in a file now, and gives the address of the file.
    pub(super) async fn open(&self, path: &Utf8Path, text: &str) -> Result<String, ToolError> {
        let uri = frame::uri(path.as_str());
        let before = {
            let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
            let before = files.get(&uri).cloned();
            let version = before.as_ref().map_or(1, |(version, _)| version + 1);
            files.insert(uri.clone(), (version, text.to_owned()));
            before
        };
        match before {
            Some((_, known)) if known == text => {}
            Some((version, _)) => {
                let document = json!({"uri": uri, "version": version + 1});
                let params = json!({"textDocument": document, "contentChanges": [{"text": text}]});
                self.tell("textDocument/didChange", params).await?;
            }
            None => {
                let document =
                    json!({"uri": uri, "languageId": "rust", "version": 1, "text": text});
                self.tell("textDocument/didOpen", json!({ "textDocument": document })).await?;
            }
        }
        Ok(uri)
    }

    /// Waits until it has read the workspace, if it tells when. The caller sees to it that nobody waits for ever.
    pub(super) async fn ready(&self) {
        if self.tells {
            let _ = self.ready.clone().wait_for(|ready| *ready).await;
        }
    }

    /// Asks, again if the code changed meanwhile.
    pub(super) async fn ask(&self, method: &str, params: Value) -> Result<Value, ToolError> {
        for _ in 0..RETRIES {
            match self.ask_once(method, &params).await? {
                Ok(answer) => return Ok(answer),
                Err(refusal) if refusal.code == CONTENT_MODIFIED => {
                    tokio::time::sleep(Duration::from_millis(200)).await;
                }
                Err(Refusal { message, .. }) => {
                    return Err(ToolError::failed(format!("the language server says: {message}")));
                }
            }
        }
        Err(ToolError::failed("the language server is still busy with changes"))
    }

    async fn ask_once(
        &self,
        method: &str,
        params: &Value,
    ) -> Result<Result<Value, Refusal>, ToolError> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (say, answer) = oneshot::channel();
        self.pending.lock().unwrap_or_else(PoisonError::into_inner).insert(id, say);
        let asked = Asked { session: self, id };
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send(&message).await?;
        let answered = answer.await;
        drop(asked);
        match answered {
            Ok(answer) => Ok(answer),
            Err(_) => {
                let _ = tokio::time::timeout(END, self.child.over()).await;
                let words = self.child.last_words();
                let words = if words.is_empty() { words } else { format!("; it said: {words}") };
                Err(ToolError::failed(format!("the language server has ended{words}")))
            }
        }
    }

    async fn tell(&self, method: &str, params: Value) -> Result<(), ToolError> {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params})).await
    }

    async fn send(&self, message: &Value) -> Result<(), ToolError> {
        let sent = self.write.lock().await.write_all(&frame::write(message)).await;
        sent.map_err(|error| ToolError::failed(format!("the language server is gone: {error}")))
    }

    /// Ends it, and waits until nothing of it is left.
    pub(super) async fn end(&self) {
        self.child.stop();
        // The keeper kills what does not end by itself.
        let _ = tokio::time::timeout(END, self.child.over()).await;
    }
}

/// A question that nobody waits for any more is forgotten.
struct Asked<'s> {
    session: &'s Session,
    id: i64,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        self.session.pending.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
    }
}

/// Hears what the server says until it ends.
async fn listen(
    mut read: BufReader<impl AsyncRead + Unpin>,
    write: Arc<tokio::sync::Mutex<impl AsyncWrite + Unpin>>,
    pending: Pending,
    ready: watch::Sender<bool>,
) {
    while let Some(message) = frame::read(&mut read).await {
        let id = message.get("id");
        match (message.get("method").and_then(Value::as_str), id) {
            (Some(method), Some(id)) => {
                // It wants settings or permission for a progress bar; there are none and it may.
                let result = match method {
                    "workspace/configuration" => {
                        let count = message["params"]["items"].as_array().map_or(0, Vec::len);
                        Value::Array(vec![Value::Null; count])
                    }
                    _ => Value::Null,
                };
                let answer = json!({"jsonrpc": "2.0", "id": id, "result": result});
                if write.lock().await.write_all(&frame::write(&answer)).await.is_err() {
                    break;
                }
            }
            (Some("experimental/serverStatus"), None) => {
                let quiet = message["params"]["quiescent"] == true;
                ready.send_if_modified(|it| quiet && !std::mem::replace(it, true));
            }
            (Some(_), None) => {}
            (None, id) => {
                let waiting = id.and_then(Value::as_i64).and_then(|id| {
                    pending.lock().unwrap_or_else(PoisonError::into_inner).remove(&id)
                });
                let answer = match message.get("error") {
                    Some(error) => Err(Refusal {
                        code: error["code"].as_i64().unwrap_or_default(),
                        message: error["message"].as_str().unwrap_or_default().to_owned(),
                    }),
                    None => Ok(message["result"].clone()),
                };
                if let Some(waiting) = waiting {
                    // Nobody may wait for it any more.
                    let _ = waiting.send(answer);
                }
            }
        }
    }
    // Whoever waits is told by that.
    pending.lock().unwrap_or_else(PoisonError::into_inner).clear();
    let _ = ready.send(true);
}

/// What a server says to somebody who waits for these answers: the answers, or why there is none.
#[doc(hidden)]
pub async fn overhear(
    read: impl AsyncRead + Unpin,
    write: impl AsyncWrite + Unpin,
    waiting: std::ops::Range<i64>,
) -> Vec<Option<Result<Value, String>>> {
    let pending = Pending::default();
    let ask = |id| {
        let (say, answer) = oneshot::channel();
        pending.lock().unwrap_or_else(PoisonError::into_inner).insert(id, say);
        answer
    };
    let answers: Vec<_> = waiting.map(ask).collect();
    let (say, _) = watch::channel(false);
    let write = Arc::new(tokio::sync::Mutex::new(write));
    listen(BufReader::new(read), write, Arc::clone(&pending), say).await;
    let heard = |mut answer: oneshot::Receiver<Result<Value, Refusal>>| {
        answer.try_recv().ok().map(|it| it.map_err(|refusal| refusal.message))
    };
    answers.into_iter().map(heard).collect()
}

fn introduction(root: &str) -> Value {
    json!({
        "processId": null,
        "clientInfo": {"name": "cargo-agents", "version": env!("CARGO_PKG_VERSION")},
        "rootUri": root,
        "workspaceFolders": [{"uri": root, "name": "workspace"}],
        "capabilities": {
            "textDocument": {
                "hover": {"contentFormat": ["plaintext", "markdown"]},
                "documentSymbol": {"hierarchicalDocumentSymbolSupport": true},
                "diagnostic": {},
                "definition": {"linkSupport": false},
            },
            "workspace": {"configuration": true},
            "window": {"workDoneProgress": false},
            "experimental": {"serverStatusNotification": true},
        },
        // Nothing of the workspace is run by looking at it.
        "initializationOptions": {
            "checkOnSave": false,
            "cargo": {"buildScripts": {"enable": false}},
            "procMacro": {"enable": false},
            "cachePriming": {"enable": false},
            "files": {"watcher": "server"},
        },
    })
}

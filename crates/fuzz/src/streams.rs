//! The other end of a conversation: in memory, and on a clock that goes on only when nobody has anything left to do.
//!
//! An input has parts with a line `%%` between them. One part is said, then it is waited until everything that can come of it has come.
//! What cannot be known when an input is written stands in it as a word: `@ID@` is the id of the last request that was heard,
//! `@SESSION@`, `@TASK@` the last `sessionId` or `taskId`.

use std::{collections::BTreeMap, time::Duration};

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, ReadHalf, WriteHalf},
    sync::Mutex,
    time::{sleep, timeout},
};

/// What separates the parts of an input.
const SEPARATOR: &[u8] = b"\n%%\n";
/// More parts of an input are not looked at.
const MAX_PARTS: usize = 24;
/// Longer than anything that can be asked for.
const LONG: Duration = Duration::from_secs(3 * 60 * 60);
/// Everything that lasts longer lasts for ever.
const TOO_LONG: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Runs something to its end.
pub(crate) fn in_runtime<T>(work: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().start_paused(true).build().expect("a runtime");
    let done = runtime.block_on(async { timeout(TOO_LONG, work).await });
    runtime.shutdown_background();
    done.expect("everything comes to an end")
}

/// The parts of an input.
pub(crate) fn parts(data: &[u8]) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    let mut rest = data;
    while parts.len() < MAX_PARTS {
        let found = rest.windows(SEPARATOR.len()).position(|it| it == SEPARATOR);
        let Some(at) = found else { break };
        parts.push(&rest[..at]);
        rest = &rest[at + SEPARATOR.len()..];
    }
    parts.push(rest);
    parts
}

/// When the next part is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// When nothing more comes of the one before: a client, to a server.
    AfterQuiet,
    /// When something is asked: a server, to a client.
    AfterQuestion,
}

/// What was said, and what was heard.
#[derive(Debug, Default)]
pub(crate) struct Talk {
    pub(crate) said: Vec<u8>,
    pub(crate) heard: Vec<u8>,
}

/// Says the parts of an input, so many bytes at a time, and hears what comes of it until the other end has gone.
pub(crate) async fn talk(stream: DuplexStream, data: &[u8], size: usize, turn: Turn) -> Talk {
    let (mut read, mut write) = tokio::io::split(stream);
    let talk = Mutex::new(Talk::default());
    let (ask, mut asked) = tokio::sync::mpsc::unbounded_channel();
    let hearing = async {
        let mut questions = 0;
        while let Some(chunk) = next(&mut read).await {
            let mut talk = talk.lock().await;
            talk.heard.extend(chunk);
            let all = lines(&talk.heard).filter(|it| question(it).is_some()).count();
            for _ in questions..all {
                let _ = ask.send(());
            }
            questions = all;
        }
        drop(ask);
    };
    let speaking = async {
        for part in parts(data) {
            // Whoever asks nothing more is told it all the same, after a while.
            if turn == Turn::AfterQuestion && timeout(LONG, asked.recv()).await == Ok(None) {
                break;
            }
            let mut own = talk.lock().await;
            let text = filled(part, &own.heard);
            own.said.extend_from_slice(&text);
            drop(own);
            if say(&mut write, &text, size).await.is_none() {
                break;
            }
            sleep(Duration::from_secs(1)).await;
        }
        sleep(LONG).await;
        // It may have gone.
        drop(write.shutdown().await);
    };
    tokio::join!(hearing, speaking);
    talk.into_inner()
}

async fn next(read: &mut ReadHalf<DuplexStream>) -> Option<Vec<u8>> {
    let mut chunk = vec![0; 8 * 1024];
    let length = read.read(&mut chunk).await.ok().filter(|it| *it > 0)?;
    chunk.truncate(length);
    Some(chunk)
}

async fn say(write: &mut WriteHalf<DuplexStream>, text: &[u8], size: usize) -> Option<()> {
    for chunk in text.chunks(size) {
        write.write_all(chunk).await.ok()?;
        tokio::task::yield_now().await;
    }
    Some(())
}

/// A part with what is known by now, and the end of its last line.
fn filled(part: &[u8], heard: &[u8]) -> Vec<u8> {
    let asked = lines(heard).filter_map(|it| question(&it)).last().map(|it| it.to_string());
    let named = |key: &str| {
        let key = format!("\"{key}\":\"");
        let text = String::from_utf8_lossy(heard).into_owned();
        let at = text.rfind(&key)? + key.len();
        text[at..].split('"').next().map(str::to_owned)
    };
    let mut text = part.to_vec();
    for (word, value) in [
        (&b"\"@ID@\""[..], asked),
        (b"@SESSION@", named("sessionId")),
        (b"@TASK@", named("taskId")),
    ] {
        if let Some(value) = value {
            text = replaced(&text, word, value.as_bytes());
        }
    }
    text.push(b'\n');
    text
}

pub(crate) fn replaced(text: &[u8], word: &[u8], value: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.windows(word.len()).position(|it| it == word) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(value);
        rest = &rest[at + word.len()..];
    }
    out.extend_from_slice(rest);
    out
}

/// The lines that are JSON.
fn lines(bytes: &[u8]) -> impl Iterator<Item = Value> + '_ {
    bytes.split(|it| *it == b'\n').filter_map(|line| serde_json::from_slice(line).ok())
}

/// The id of a request, if it is one.
fn question(message: &Value) -> Option<Value> {
    message.get("method").filter(|it| it.is_string())?;
    message.get("id").filter(|it| !it.is_null()).cloned()
}

/// The answers to requests by their ids: the codes of those that were refused.
pub(crate) type Answers = BTreeMap<String, Vec<Option<i64>>>;

/// Everything that was heard is JSON-RPC; what of it answers a request. Only what was asked is answered, and only as often as it was asked.
pub(crate) fn answers(talk: &Talk) -> Answers {
    let mut open: BTreeMap<String, usize> = BTreeMap::new();
    // Some put up with bytes that are wrong within a line.
    let said = String::from_utf8_lossy(&talk.said);
    for id in lines(said.as_bytes()).filter_map(|it| question(&it)) {
        *open.entry(id.to_string()).or_default() += 1;
    }
    let mut answers = Answers::new();
    for line in talk.heard.split(|it| *it == b'\n').filter(|it| !it.is_empty()) {
        let text = String::from_utf8_lossy(line);
        let message: Value = match serde_json::from_slice(line) {
            Ok(message) => message,
            // Whoever says something as deep as we can read may hear it with something around it.
            Err(error) if error.to_string().starts_with("recursion limit") => {
                return Answers::new();
            }
            Err(error) => panic!("{error}: {text}"),
        };
        assert_eq!(message["jsonrpc"], "2.0", "{text}");
        let has = |key: &str| message.get(key).is_some();
        if has("method") {
            assert!(message["method"].is_string() && !has("result") && !has("error"), "{text}");
            continue;
        }
        assert!(has("result") != has("error"), "{text}");
        let code = has("error").then(|| message["error"]["code"].as_i64().expect("a code"));
        assert!(code.is_none() || message["error"]["message"].is_string(), "{text}");
        // What could not be read has no id that could be repeated, and what has no id may be answered without one.
        if message["id"].is_null() {
            continue;
        }
        let id = message["id"].to_string();
        let open = open.get_mut(&id).filter(|it| **it > 0);
        *open.unwrap_or_else(|| panic!("nobody asked, or not that often: {text}")) -= 1;
        answers.entry(id).or_default().push(code);
    }
    answers
}

/// Every request that was made after the first one was answered well, with an id that nothing else has, got an answer, unless something was
/// taken back. What is left are the answers to those.
pub(crate) fn nothing_is_left_open(talk: &Talk, mut answers: Answers) -> Answers {
    let asked: Vec<Value> = lines(&talk.said).filter(|it| question(it).is_some()).collect();
    let of = |it: &Value| it["id"].to_string();
    let is_alone = |id: &String| asked.iter().filter(|it| of(it) == *id).count() == 1;
    let welcome = asked.first().and_then(|it| answers.get(&of(it)));
    let is_welcome =
        welcome.is_some_and(|it| it[..] == [None]) && asked[0]["method"] == "initialize";
    let cancels = |it: Value| it["method"].as_str().is_some_and(|it| it.contains("cancel"));
    if !is_welcome || lines(&talk.said).any(cancels) {
        return Answers::new();
    }
    // What is no request of the protocol, such as one with a list for its parameters, may be refused without its id.
    let refused = lines(&talk.heard).filter(|it| it["id"].is_null() && it["error"].is_object());
    let is_plain =
        |it: &Value| it["jsonrpc"] == "2.0" && (it["id"].is_string() || it["id"].is_i64());
    let is_open = |it: &&Value| is_alone(&of(it)) && is_plain(it) && !answers.contains_key(&of(it));
    let open: Vec<&Value> = asked.iter().filter(is_open).collect();
    assert!(open.len() <= refused.count(), "no answer to {open:?}");
    answers.retain(|id, _| is_alone(id));
    answers
}

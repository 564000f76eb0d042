//! What programs that we start and ask say to us: MCP servers, ACP agents, language servers, interpreters.
//!
//! `streams` says what an input for the first two is made of: each request of ours is answered by the next part of it.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use agents_model::OwnRights;
use agents_tool::{
    Area, CallContext, Confinement, Output,
    artifacts::ArtifactDir,
    mcp::{self, ServerName},
    script::{self, Calls},
    tools::{LspAction, lsp},
};
use camino::Utf8Path;
use futures_util::future::{BoxFuture, ready};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex, split};

use crate::{
    files::in_scratch,
    streams::{Turn, answers, in_runtime, talk},
};

/// So much is on its way at most.
const PIPE: usize = 64 * 1024;
/// The longest name that models are shown.
const MAX_NAME: usize = 64;

/// Whatever a server says about its tools, models can be shown them; whatever it answers is a result or a reason why there is none, the
/// same wherever it is cut. What it asks us is answered.
pub fn mcp_client(data: &[u8]) {
    let server = ServerName::parse("docs").expect("a name");
    let heard = |size: usize| {
        in_runtime(async {
            let (ours, theirs) = duplex(PIPE);
            let call = ("look", json!({ "words": "x" }));
            let asking = mcp::overhear(&server, split(ours), call);
            let (heard, talk) = tokio::join!(asking, talk(theirs, data, size, Turn::AfterQuestion));
            answers(&talk);
            heard
        })
    };
    let whole = heard(data.len().max(1));
    if let Ok(said) = &whole {
        let mut names = Vec::new();
        for (name, description, schema) in &said.tools {
            let is_fine = |it: u8| it.is_ascii_alphanumeric() || it == b'-' || it == b'_';
            assert!(name.starts_with("mcp__docs__") && name.len() <= MAX_NAME, "{name}");
            assert!(name.bytes().all(is_fine) && !names.contains(&name), "{name}");
            names.push(name);
            let odd = |it: char| it.is_control() && !"\n\t".contains(it);
            assert!(!description.contains(odd), "{description:?}");
            assert!(schema["type"] == "object", "{schema}");
        }
    }
    let in_words = |it: &Result<mcp::Overheard, String>| format!("{it:?}");
    assert_eq!(in_words(&heard(7)), in_words(&whole), "in pieces of 7");
}

/// Whatever an agent says: what is told of it begins once and ends once, and nothing comes after the end. One that may only read is asked
/// nothing before it is in a mode in which it does no more.
pub fn acp_client(data: &[u8]) {
    for (rights, model) in
        [(OwnRights::Read, None), (OwnRights::All, Some("best".to_owned())), (OwnRights::All, None)]
    {
        let heard = |size: usize| {
            in_runtime(async {
                let (ours, theirs) = duplex(PIPE);
                let asking = agents_model::acp::overhear(split(ours), model.clone(), rights);
                let (heard, talk) =
                    tokio::join!(asking, talk(theirs, data, size, Turn::AfterQuestion));
                answers(&talk);
                let heard: Vec<_> =
                    heard.iter().map(|it| without_ids(&format!("{it:?}"))).collect();
                (heard, String::from_utf8_lossy(&talk.heard).into_owned())
            })
        };
        let (events, asked) = heard(data.len().max(1));
        let count = |what: &str| events.iter().filter(|it| it.starts_with(what)).count();
        assert!(count("Ok(Started") <= 1 && count("Ok(Stopped") + count("Err(") <= 1, "{events:?}");
        let last =
            events.last().is_none_or(|it| it.starts_with("Ok(Stopped") || it.starts_with("Err("));
        assert!(last, "{events:?}");
        if rights == OwnRights::Read && asked.contains("session/prompt") {
            let at = asked.find("session/prompt");
            let set = asked.find("session/set_mode").or(asked.find("session/set_config_option"));
            assert!(set.is_some_and(|it| Some(it) < at), "{asked}");
        }
        assert_eq!(heard(7).0, events, "in pieces of 7");
    }
}

/// The same without ids of ours, which are by chance: whoever hears one may repeat it anywhere.
fn without_ids(text: &str) -> String {
    const DASHES: [usize; 4] = [8, 13, 18, 23];
    let is_id = |it: &str| {
        let mut bytes = it.bytes().enumerate();
        bytes.all(|(at, it)| if DASHES.contains(&at) { it == b'-' } else { it.is_ascii_hexdigit() })
    };
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match rest.get(..36) {
            Some(id) if is_id(id) => 36,
            _ => {
                out.push(first);
                first.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    out
}

/// Frames of a language server, which somebody waits for with ids from 1 to 4: the same answers wherever they are cut, each of its own
/// requests answered once with its id, and whatever is answered can be shown.
pub fn lsp(data: &[u8]) {
    let heard = |size: usize| {
        in_runtime(async {
            let (ours, theirs) = duplex(size);
            let (read, write) = split(ours);
            let (mut hear, mut say) = split(theirs);
            let saying = async {
                // It stops listening at what is no message.
                drop(say.write_all(data).await);
                drop(say.shutdown().await);
            };
            let mut answered = Vec::new();
            let hearing = async { drop(hear.read_to_end(&mut answered).await) };
            let asking = lsp::overhear(read, write, 1..5);
            let (heard, ..) = tokio::join!(asking, saying, hearing);
            (heard, answered)
        })
    };
    let (answers, answered) = heard(PIPE);
    for size in [1, 3, 64] {
        assert_eq!(heard(size), (answers.clone(), answered.clone()), "in pieces of {size}");
    }
    check_frames(&answered, data.len());
    let values: Vec<&Value> = answers.iter().flatten().filter_map(|it| it.as_ref().ok()).collect();
    values.iter().for_each(|it| check_addresses(it));
    if values.is_empty() {
        return;
    }
    in_scratch("lsp/lib.rs", b"fn main() {}\n// \xf0\x9f\xa6\x80 crab\n", |file| {
        let context = context(file.parent().expect("a directory"));
        for value in values {
            use LspAction::{Definition, Diagnostics, Hover, References, Symbols};
            for action in [Definition, References, Hover, Symbols, Diagnostics] {
                let shown = lsp::render(action, value, &context);
                assert!(shown.text.len() <= 64 * (data.len() + 64), "{}", shown.text.len());
            }
        }
    });
}

/// A file is at an address only if all that is escaped in it is: whoever else reads it would look elsewhere.
fn check_addresses(value: &Value) {
    match value {
        Value::String(uri) => {
            let Some(path) = lsp::file_at(uri) else { return };
            let mut escapes = uri.split('%').skip(1);
            let is_one =
                |it: &str| it.len() >= 2 && it.bytes().take(2).all(|it| it.is_ascii_hexdigit());
            assert!(path.is_absolute() && escapes.all(is_one), "{uri:?} is {path:?}");
        }
        Value::Array(items) => items.iter().for_each(check_addresses),
        Value::Object(members) => members.values().for_each(check_addresses),
        _ => {}
    }
}

/// What we answered are frames again, and no more of them than there can have been requests.
fn check_frames(mut bytes: &[u8], said: usize) {
    let mut count = 0;
    while !bytes.is_empty() {
        let at = bytes.windows(4).position(|it| it == b"\r\n\r\n").expect("a header");
        let header = std::str::from_utf8(&bytes[..at]).expect("a header");
        let length = header.strip_prefix("Content-Length: ").expect("a length");
        let length: usize = length.parse().expect("a length");
        let message: Value = serde_json::from_slice(&bytes[at + 4..at + 4 + length]).expect("JSON");
        assert!(message["jsonrpc"] == "2.0" && message.get("id").is_some(), "{message}");
        assert!(message.get("result").is_some() && message.get("error").is_none(), "{message}");
        bytes = &bytes[at + 4 + length..];
        count += 1;
    }
    assert!(count * 20 <= said, "{count} answers to {said} bytes");
}

/// For a call of a tool in this directory.
pub(crate) fn context(root: &Utf8Path) -> CallContext {
    let area = Area::workspace(root).expect("it is there");
    let artifacts = Arc::new(ArtifactDir::new(&root.join("artifacts")));
    CallContext {
        confinement: Confinement::None,
        ..CallContext::new(area, artifacts, Duration::from_secs(60))
    }
}

/// Makes the calls of a script that nobody wrote.
#[derive(Default)]
struct Echo(Mutex<usize>);

impl Calls for Echo {
    fn servers(&self) -> Vec<String> {
        vec!["docs".to_owned()]
    }

    fn call<'a>(
        &'a self,
        server: String,
        tool: String,
        input: Value,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<Output, String>> {
        *self.0.lock().expect("nobody panics") += 1;
        let answer = if server == "docs" {
            Ok(Output::data(format!("{tool} {input}")))
        } else {
            Err(format!("there is no server `{server}`"))
        };
        Box::pin(ready(answer))
    }
}

/// Lines of an interpreter that somebody has taken over: no more calls than a script may make, each answered once, and an end that is told
/// in bounded words.
pub fn script_frames(data: &[u8]) {
    let heard = |size: usize| {
        in_runtime(async {
            let (ours, theirs) = duplex(size);
            let (mut hear, mut say) = split(theirs);
            let echo = Echo::default();
            let context = context(Utf8Path::new("/"));
            let saying = async {
                drop(say.write_all(data).await);
                drop(say.shutdown().await);
            };
            let mut answered = Vec::new();
            let hearing = async { drop(hear.read_to_end(&mut answered).await) };
            let leading = script::overhear(split(ours), &echo, &context);
            let (output, ..) = tokio::join!(leading, saying, hearing);
            let made = *echo.0.lock().expect("nobody panics");
            (output.text, output.failed, made, answered)
        })
    };
    let (text, failed, made, answered) = heard(PIPE);
    assert!(made <= 200 && text.len() <= 3 * data.len() + 128 * 1024, "{made}, {}", text.len());
    let lines = answered.split_inclusive(|it| *it == b'\n').skip(1);
    let count = lines.filter(|it| it.ends_with(b"\n")).map(|line| {
        let answer: Value = serde_json::from_slice(line).expect("JSON");
        assert!(answer["id"].is_u64() && answer["result"].is_object(), "{answer}");
    });
    assert!(count.count() <= made);
    let (again, failed_again, ..) = heard(64);
    assert_eq!((again, failed_again), (text, failed), "in pieces");
}

//! A language server for the tests of this room, where `rust-analyzer` is not installed. It speaks the real protocol and finds words
//! in the files that it was told; it asks something back, is busy at first, and dies when it is asked about `die`.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "for tests"
)]

use std::{
    collections::BTreeMap,
    io::{BufRead as _, Read as _, Write as _},
};

use serde_json::{Value, json};

fn main() {
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    let mut busy = true;
    while let Some(message) = receive() {
        let params = &message["params"];
        let uri = params["textDocument"]["uri"].as_str().unwrap_or_default().to_owned();
        let result = match message["method"].as_str().unwrap_or_default() {
            "initialize" => {
                assert_eq!(params["initializationOptions"]["procMacro"]["enable"], false);
                json!({"capabilities": {}, "serverInfo": {"name": "rust-analyzer", "version": "0"}})
            }
            "initialized" => {
                let items = json!({"items": [{"section": "rust-analyzer"}]});
                send(
                    &json!({"jsonrpc": "2.0", "id": "ask", "method": "workspace/configuration", "params": items}),
                );
                continue;
            }
            "" if message["id"] == "ask" => {
                assert_eq!(message["result"], json!([null]));
                let status = json!({"health": "ok", "quiescent": true});
                send(
                    &json!({"jsonrpc": "2.0", "method": "experimental/serverStatus", "params": status}),
                );
                continue;
            }
            "textDocument/didOpen" => {
                let text = params["textDocument"]["text"].as_str().unwrap().to_owned();
                files.insert(uri, text);
                continue;
            }
            "textDocument/didChange" => {
                let text = params["contentChanges"][0]["text"].as_str().unwrap().to_owned();
                assert!(files.insert(uri, text).is_some(), "it was never opened");
                continue;
            }
            "textDocument/references" if std::mem::take(&mut busy) => {
                let error = json!({"code": -32801, "message": "content modified"});
                send(&json!({"jsonrpc": "2.0", "id": message["id"], "error": error}));
                continue;
            }
            "textDocument/definition" | "textDocument/references" => {
                let word = word(&files[&uri], &params["position"]);
                if word == "die" {
                    eprintln!("the last words");
                    std::process::exit(1);
                }
                if word == "hang" {
                    continue;
                }
                let mut found = places(&files, &word);
                if message["method"] == "textDocument/definition" {
                    found.truncate(1);
                }
                Value::Array(found)
            }
            "textDocument/hover" => {
                let word = word(&files[&uri], &params["position"]);
                json!({"contents": {"kind": "markdown", "value": format!("about {word}")}})
            }
            "textDocument/documentSymbol" => json!([{
                "name": "outer", "kind": 2, "range": range(0, 0), "selectionRange": range(0, 0),
                "children": [{"name": "inner", "detail": "fn()", "kind": 12, "range": range(1, 0), "selectionRange": range(1, 0)}],
            }]),
            "textDocument/diagnostic" => {
                let wrong = files[&uri].lines().position(|it| it.contains("wrong"));
                let item = |line| json!({"range": range(line, 0), "severity": 1, "message": "this is wrong"});
                json!({"kind": "full", "items": wrong.map(item).into_iter().collect::<Vec<_>>()})
            }
            other => {
                let error = json!({"code": -32601, "message": format!("there is no {other}")});
                send(&json!({"jsonrpc": "2.0", "id": message["id"], "error": error}));
                continue;
            }
        };
        send(&json!({"jsonrpc": "2.0", "id": message["id"], "result": result}));
    }
}

fn receive() -> Option<Value> {
    let mut stdin = std::io::stdin().lock();
    let mut length = 0;
    loop {
        let mut line = String::new();
        if stdin.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim().strip_prefix("Content-Length: ") {
            Some(number) => length = number.parse().ok()?,
            None if line.trim().is_empty() => break,
            None => {}
        }
    }
    let mut body = vec![0; length];
    stdin.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}

fn send(message: &Value) {
    let body = message.to_string();
    let mut stdout = std::io::stdout().lock();
    write!(stdout, "Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
    stdout.flush().unwrap();
}

fn range(line: usize, from: usize) -> Value {
    json!({"start": {"line": line, "character": from}, "end": {"line": line, "character": from}})
}

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn word(text: &str, position: &Value) -> String {
    let line = text.lines().nth(usize::try_from(position["line"].as_u64().unwrap()).unwrap());
    let units: Vec<u16> = line.unwrap_or_default().encode_utf16().collect();
    let from = usize::try_from(position["character"].as_u64().unwrap()).unwrap();
    String::from_utf16_lossy(&units[from..]).chars().take_while(|c| is_part(*c)).collect()
}

fn places(files: &BTreeMap<String, String>, word: &str) -> Vec<Value> {
    let mut found = Vec::new();
    for (uri, text) in files {
        for (number, line) in text.lines().enumerate() {
            for (at, _) in line.match_indices(word) {
                let from = line[..at].encode_utf16().count();
                found.push(json!({"uri": uri, "range": range(number, from)}));
            }
        }
    }
    found
}

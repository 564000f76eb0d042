//! A client that knows nothing of the code under test.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};

use serde_json::Value;

use super::super::Endpoint;

pub(super) struct Client(BufReader<TcpStream>);

#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
    /// The sizes of its chunks.
    pub(super) chunks: Vec<usize>,
    /// Whether the answer came to its proper end.
    pub(super) complete: bool,
}

impl Client {
    pub(super) fn new(endpoint: &Endpoint) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", endpoint.port())).unwrap();
        // So that a test of an endpoint that hangs fails.
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Self(BufReader::new(stream))
    }

    pub(super) fn patience(&self, patience: Duration) {
        self.0.get_ref().set_read_timeout(Some(patience)).unwrap();
    }

    pub(super) fn send(&mut self, bytes: &[u8]) {
        self.0.get_mut().write_all(bytes).unwrap();
    }

    pub(super) fn post(&mut self, path: &str, body: &Value) -> Answer {
        let body = body.to_string();
        let head = format!("POST {path} HTTP/1.1\r\nhost: x\r\nContent-Length: {}", body.len());
        self.send(format!("{head}\r\nX-Test: yes\r\n\r\n{body}").as_bytes());
        self.answer()
    }

    pub(super) fn get(&mut self, path: &str) -> Answer {
        self.send(format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes());
        self.answer()
    }

    pub(super) fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let count = self.0.read_line(&mut line).ok()?;
        (count > 0).then(|| line.trim_end().to_owned())
    }

    pub(super) fn answer(&mut self) -> Answer {
        let status = self.line().unwrap_or_default();
        let status = status.split(' ').nth(1).and_then(|it| it.parse().ok()).unwrap_or(0);
        let mut headers = Vec::new();
        while let Some(line) = self.line().filter(|line| !line.is_empty()) {
            let (name, value) = line.split_once(": ").unwrap();
            headers.push((name.to_owned(), value.to_owned()));
        }
        let mut answer =
            Answer { status, headers, body: Vec::new(), chunks: Vec::new(), complete: false };
        if let Some(length) = answer.header("content-length") {
            answer.body.resize(length.parse().unwrap(), 0);
            answer.complete = self.0.read_exact(&mut answer.body).is_ok();
            return answer;
        }
        while let Some(size) = self.line().and_then(|line| usize::from_str_radix(&line, 16).ok()) {
            let mut chunk = vec![0; size + 2];
            if self.0.read_exact(&mut chunk).is_err() {
                break;
            }
            if size == 0 {
                answer.complete = true;
                break;
            }
            answer.body.extend(&chunk[..size]);
            answer.chunks.push(size);
        }
        answer
    }
}

impl Answer {
    pub(super) fn header(&self, name: &str) -> Option<String> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone())
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(super) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    /// Name and data of every event.
    pub(super) fn events(&self) -> Vec<(String, String)> {
        let text = self.text();
        let blocks = text.split("\n\n").filter(|block| !block.is_empty());
        let field = |block: &str, name: &str| {
            let line = block.lines().find_map(|line| line.strip_prefix(name));
            line.unwrap_or_default().to_owned()
        };
        blocks.map(|it| (field(it, "event: "), field(it, "data: "))).collect()
    }

    /// The data of every event that is JSON.
    pub(super) fn data(&self) -> Vec<Value> {
        let events = self.events();
        events.iter().filter_map(|(_, data)| serde_json::from_str(data).ok()).collect()
    }
}

//! Requests by hand, for doors that must also bear those who do not behave.

use std::{
    collections::VecDeque,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};

/// What was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// 0 if nothing was.
    pub status: u16,
    /// The first line and the headers.
    pub head: String,
    /// What follows them, as it came.
    pub body: String,
}

/// Sends a request to a port of this machine, and takes everything that comes. The port is the `host` unless a header says so.
#[must_use]
pub fn knock(port: u16, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
    let mut stream = send(port, method, path, headers, body);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let status = answer.split(' ').nth(1).and_then(|it| it.parse().ok()).unwrap_or_default();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    Answer { status, head: head.to_owned(), body: body.to_owned() }
}

fn send(port: u16, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let mut text = format!(
        "{method} {path} HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n",
        body.len()
    );
    if !headers.iter().any(|it| it.0 == "host") {
        text.push_str(&format!("host: 127.0.0.1:{port}\r\n"));
    }
    headers.iter().for_each(|(name, value)| text.push_str(&format!("{name}: {value}\r\n")));
    stream.write_all(format!("{text}\r\n").as_bytes()).unwrap();
    // Who is refused may not be listened to until the end.
    let _ = stream.write_all(body);
    stream
}

/// Server-sent events, as they come.
#[derive(Debug)]
pub struct Events {
    from: BufReader<TcpStream>,
    /// Those that nobody has asked for yet, with their names.
    kept: VecDeque<(String, String)>,
}

impl Events {
    /// Listens at an address. Whoever waits too long for an event breaks down.
    #[must_use]
    pub fn listen(port: u16, path: &str) -> Self {
        let stream = send(port, "GET", path, &[], b"");
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Self { from: BufReader::new(stream), kept: VecDeque::new() }
    }

    /// The data of the next event of a name that is as wanted. Those of other names are kept, for they come in any order.
    pub fn until(&mut self, name: &str, mut wanted: impl FnMut(&str) -> bool) -> String {
        let mut others = VecDeque::new();
        loop {
            let (event, data) = self.kept.pop_front().unwrap_or_else(|| self.next(name));
            if event != name {
                others.push_back((event, data));
            } else if wanted(&data) {
                others.append(&mut self.kept);
                self.kept = others;
                return data;
            }
        }
    }

    fn next(&mut self, awaited: &str) -> (String, String) {
        let mut event = String::new();
        loop {
            let mut line = String::new();
            let count = self.from.read_line(&mut line).unwrap();
            assert!(count > 0, "no `{awaited}` came before the end");
            if let Some(it) = line.strip_prefix("event: ") {
                it.trim().clone_into(&mut event);
            }
            if let Some(data) = line.strip_prefix("data: ") {
                return (event, data.trim().to_owned());
            }
        }
    }
}

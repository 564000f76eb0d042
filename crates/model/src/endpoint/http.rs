//! As much of HTTP/1.1 as model clients use: keep-alive, bodies with a length or in chunks, answers
//! with a length or in chunks. Everything that is read has a bound.

use std::{
    io::{self, ErrorKind, Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};

use agents_system::digits;

use super::stop::Stop;

/// More than any client sends as headers.
const MAX_HEAD: usize = 256 * 1024;
/// More than any client sends as a request.
const MAX_BODY: usize = 64 * 1024 * 1024;
/// How often a thread that waits for a client looks whether the endpoint is being taken down.
const POLL: Duration = Duration::from_millis(50);

/// A request as it came over the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Incoming {
    pub(super) method: String,
    pub(super) target: String,
    pub(super) headers: Headers,
    pub(super) body: Vec<u8>,
    /// Whether the client wants to send another one over the same connection.
    pub(super) keep_alive: bool,
}

/// Header lines in their order. Names compare without case.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Headers(Vec<(String, String)>);

impl Headers {
    /// The first value of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    fn has_word(&self, name: &str, word: &str) -> bool {
        let mut words = self.get(name).into_iter().flat_map(|value| value.split(','));
        words.any(|it| it.trim().eq_ignore_ascii_case(word))
    }
}

/// One connection, with what was read from it and not yet used.
#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
    stop: Stop,
}

impl Connection {
    pub(super) fn new(stream: TcpStream, stop: Stop) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(POLL))?;
        stream.set_write_timeout(Some(Duration::from_secs(30)))?;
        Ok(Self { stream, buffer: Vec::new(), stop })
    }

    /// The next request; `None` when the client has closed the connection between two of them.
    pub(super) fn read(&mut self) -> io::Result<Option<Incoming>> {
        let Some(head) = self.head()? else { return Ok(None) };
        let mut lines = head.split("\r\n");
        let first = lines.next().unwrap_or_default();
        let words: Vec<&str> = first.split(' ').collect();
        let [method, target, version] = words[..] else {
            return Err(broken(format!("the request line `{first}`")));
        };
        if !version.starts_with("HTTP/1.") {
            return Err(broken(format!("the version `{version}`")));
        }
        let headers = lines
            .filter(|line| !line.is_empty())
            .map(|line| {
                let (name, value) = line.split_once(':').ok_or_else(|| broken(line))?;
                Ok((name.to_owned(), value.trim().to_owned()))
            })
            .collect::<io::Result<Vec<_>>>()?;
        let headers = Headers(headers);
        if headers.has_word("expect", "100-continue") {
            self.send(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        let body = if headers.has_word("transfer-encoding", "chunked") {
            self.chunks()?
        } else {
            let length = headers.get("content-length").unwrap_or("0");
            let length = digits::decimal(length)
                .ok_or_else(|| broken(format!("content-length {length}")))?;
            self.take(length)?
        };
        let keep_alive = version == "HTTP/1.1" && !headers.has_word("connection", "close");
        Ok(Some(Incoming {
            method: method.to_owned(),
            target: target.to_owned(),
            headers,
            body,
            keep_alive,
        }))
    }

    fn head(&mut self) -> io::Result<Option<String>> {
        loop {
            if let Some(at) = self.buffer.windows(4).position(|it| it == b"\r\n\r\n") {
                let head: Vec<u8> = self.buffer.drain(..at + 4).collect();
                return String::from_utf8(head).map(Some).map_err(|_| broken("headers"));
            }
            if self.buffer.len() > MAX_HEAD {
                return Err(broken("too many headers"));
            }
            if self.fill()? == 0 {
                let clean = self.buffer.is_empty();
                return if clean { Ok(None) } else { Err(ErrorKind::UnexpectedEof.into()) };
            }
        }
    }

    fn chunks(&mut self) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let line = self.line()?;
            let size = line.split(';').next().unwrap_or_default().trim();
            let size: usize = digits::hexadecimal(size)
                .ok_or_else(|| broken(format!("the chunk size `{line}`")))?;
            if size == 0 {
                // Trailers, then an empty line.
                while !self.line()?.is_empty() {}
                return Ok(body);
            }
            if body.len().saturating_add(size) > MAX_BODY {
                return Err(broken("a body that is too long"));
            }
            body.extend(self.take(size)?);
            if !self.line()?.is_empty() {
                return Err(broken(format!("a chunk that is longer than its size `{line}`")));
            }
        }
    }

    fn line(&mut self) -> io::Result<String> {
        loop {
            if let Some(at) = self.buffer.windows(2).position(|it| it == b"\r\n") {
                let line: Vec<u8> = self.buffer.drain(..at + 2).collect();
                return Ok(String::from_utf8_lossy(&line[..at]).into_owned());
            }
            if self.buffer.len() > MAX_HEAD || self.fill()? == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
    }

    fn take(&mut self, length: usize) -> io::Result<Vec<u8>> {
        if length > MAX_BODY {
            return Err(broken("a body that is too long"));
        }
        while self.buffer.len() < length {
            if self.fill()? == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(self.buffer.drain(..length).collect())
    }

    /// Waits for bytes; 0 when there will be none.
    fn fill(&mut self) -> io::Result<usize> {
        let mut bytes = [0; 16 * 1024];
        loop {
            if self.stop.is_asked() {
                return Ok(0);
            }
            match self.stream.read(&mut bytes) {
                Ok(count) => {
                    self.buffer.extend(&bytes[..count]);
                    return Ok(count);
                }
                Err(error) if is_pause(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Closes so that the other side sees a reset. What was written before may be lost there, as in real life.
    pub(super) fn reset(&self) {
        let _ = rustix::net::sockopt::set_socket_linger(&self.stream, Some(Duration::ZERO));
    }

    /// Waits until the client has gone, or the endpoint is being taken down. What it still sends is kept.
    pub(super) fn wait_for_end(&mut self) {
        while self.buffer.len() < MAX_HEAD && matches!(self.fill(), Ok(1..)) {}
    }

    /// Writes an answer that is known as a whole.
    pub(super) fn whole(
        &mut self,
        status: u16,
        headers: &[(String, String)],
        body: &[u8],
    ) -> io::Result<()> {
        let mut head = start(status, headers);
        head.push_str(&format!("content-length: {}\r\n\r\n", body.len()));
        self.send(head.as_bytes())?;
        self.send(body)
    }

    /// Begins an answer in chunks.
    pub(super) fn begin(&mut self, status: u16, headers: &[(String, String)]) -> io::Result<()> {
        let mut head = start(status, headers);
        head.push_str("transfer-encoding: chunked\r\n\r\n");
        self.send(head.as_bytes())
    }

    /// Writes one chunk.
    pub(super) fn chunk(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut framed = format!("{:x}\r\n", bytes.len()).into_bytes();
        framed.extend(bytes);
        framed.extend(b"\r\n");
        self.send(&framed)
    }

    /// Ends an answer in chunks.
    pub(super) fn end(&mut self) -> io::Result<()> {
        self.send(b"0\r\n\r\n")
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)?;
        self.stream.flush()
    }
}

fn start(status: u16, headers: &[(String, String)]) -> String {
    let mut head = format!("HTTP/1.1 {status} {}\r\n", reason(status));
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        404 => "Not Found",
        429 => "Too Many Requests",
        500..=599 => "Server Error",
        _ => "Status",
    }
}

fn is_pause(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

fn broken(what: impl Into<String>) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what.into())
}

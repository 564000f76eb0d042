//! Whole turns over loopback, against a client that sends the same bytes and only waits for the last of the answer.
//!
//! The scripted endpoint reads every request as JSON, as any server has to, and that is most of a turn with a long
//! conversation. So the same is shown with a server that looks at nothing and has its answer ready. No goal is about that one:
//! a raw client takes a fifth of the time there whenever the system puts both on the same core.

use std::{
    hint::black_box,
    io::{Read as _, Write as _},
    net::{Ipv4Addr, TcpListener, TcpStream},
};

use agents_model::{
    Dialect, HttpProvider, Message, Provider as _, Request, Turn, Wire,
    endpoint::{Endpoint, Reply, Script, stream_text},
};
use futures_util::StreamExt as _;
use tokio_util::sync::CancellationToken;

use crate::{ROUNDS, history, least};

const WIRE: Wire = Wire::Messages;
/// In one measurement.
const TURNS: u32 = 10;
const LAST: &[u8] = b"\r\n0\r\n\r\n";

/// How much a turn costs, with the scripted endpoint.
pub(crate) struct Cost {
    /// The worst ratio to the raw client.
    pub(crate) ratio: f64,
    /// How much more than the raw client's it grows with a hundred times the history.
    pub(crate) growth: f64,
}

pub(crate) fn measure() -> Cost {
    println!("\na turn over loopback, 40 events, least of {ROUNDS} rounds of {TURNS}");
    let mut reply = Reply::text("to be, or not. ".repeat(16));
    reply.piece = 6;
    let answer = stream_text(WIRE, &reply, "some-model");
    let endpoint = Endpoint::start(Script::rule(move |_| reply.clone()));
    let servers =
        [("the scripted endpoint", endpoint.url()), ("a server that only answers", serve(&answer))];
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let costs = servers.map(|(who, url)| {
        let provider = HttpProvider::new("it", WIRE, &url).unwrap();
        let (small, large) = (history(4 * 1024), history(400 * 1024));
        let ours = |history: &Request| {
            for _ in 0..TURNS {
                let text = runtime.block_on(turn(&provider, history)).message.text();
                assert_eq!(text.len(), 240);
            }
            // It keeps what it was asked.
            endpoint.forget();
        };
        let (mut raw_small, mut raw_large) = (Raw::new(&url, &small), Raw::new(&url, &large));
        let times = least(&mut [
            &mut || ours(&small),
            &mut || ours(&large),
            &mut || raw_small.turns(&endpoint),
            &mut || raw_large.turns(&endpoint),
        ]);
        let each = |at: usize| times[at].as_secs_f64() * 1e6 / f64::from(TURNS);
        let ratio = |at: usize| each(at) / each(at + 2);
        let (grows, raw_grows) = (each(1) / each(0), each(3) / each(2));
        println!(
            "{who}: 4 kB {:.0} µs, the raw client {:.0} µs: {:.2} times; 400 kB {:.0} and {:.0} µs: {:.2} times; \
             grows {grows:.1}, the raw client {raw_grows:.1}",
            each(0),
            each(2),
            ratio(0),
            each(1),
            each(3),
            ratio(1),
        );
        Cost { ratio: ratio(0).max(ratio(1)), growth: grows / raw_grows }
    });
    costs.into_iter().next().unwrap()
}

fn next(history: &Request) -> Request {
    let mut request = history.clone();
    request.messages.push(Message::user("And now?").seal());
    request
}

async fn turn(provider: &HttpProvider, history: &Request) -> Turn {
    let mut events = provider.stream(next(history), CancellationToken::new()).await.unwrap();
    let mut turn = Turn::default();
    while let Some(event) = events.next().await {
        turn.push(event.unwrap());
    }
    turn
}

/// Sends what was written down before, and reads up to the end of an answer in chunks.
struct Raw {
    stream: TcpStream,
    request: Vec<u8>,
    answer: Vec<u8>,
}

impl Raw {
    fn new(url: &str, history: &Request) -> Self {
        let address = url.strip_prefix("http://").unwrap();
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        let body = WIRE.encode(&next(history), Dialect::Official).to_vec();
        let mut request = format!(
            "POST /v1/messages HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
             anthropic-version: 2023-06-01\r\ncontent-length: {}\r\n\r\n",
            body.len()
        )
        .into_bytes();
        request.extend(body);
        Self { stream, request, answer: vec![0; 256 * 1024] }
    }

    fn turns(&mut self, endpoint: &Endpoint) {
        for _ in 0..TURNS {
            self.stream.write_all(&self.request).unwrap();
            let mut length = 0;
            while !self.answer[..length].ends_with(LAST) {
                let count = self.stream.read(&mut self.answer[length..]).unwrap();
                assert_ne!(count, 0, "the server has gone");
                length += count;
            }
            black_box(&self.answer[..length]);
        }
        endpoint.forget();
    }
}

/// Answers every request with the same stream, in one piece. Ends with the process.
fn serve(answer: &str) -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked";
    let answer = format!("{head}\r\n\r\n{:x}\r\n{answer}\r\n0\r\n\r\n", answer.len());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let answer = answer.clone();
            std::thread::spawn(move || answer_all(&mut stream.unwrap(), answer.as_bytes()));
        }
    });
    url
}

fn answer_all(stream: &mut TcpStream, answer: &[u8]) {
    stream.set_nodelay(true).unwrap();
    let mut buffer = vec![0; 1024 * 1024];
    loop {
        let (mut read, mut whole) = (0, usize::MAX);
        while read < whole {
            match stream.read(&mut buffer[read..]) {
                Ok(0) | Err(_) => return,
                Ok(count) => read += count,
            }
            if whole == usize::MAX {
                whole = length(&buffer[..read]).unwrap_or(usize::MAX);
            }
        }
        if stream.write_all(answer).is_err() {
            return;
        }
    }
}

/// Of the whole request, if its head is there.
fn length(bytes: &[u8]) -> Option<usize> {
    let end = bytes.windows(4).position(|it| it == b"\r\n\r\n")? + 4;
    let head = str::from_utf8(&bytes[..end]).unwrap().to_ascii_lowercase();
    let mut lines = head.lines().filter_map(|line| line.strip_prefix("content-length:"));
    Some(end + lines.next().unwrap().trim().parse::<usize>().unwrap())
}

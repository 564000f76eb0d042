//! From the start of the process to the first request that a model gets.

use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    process::{Command, Stdio},
    sync::mpsc,
    time::{Duration, Instant},
};

use crate::ground::Ground;

/// What other programs were seen to take, and how many times as fast we must be.
const OTHERS: [(&str, f64, f64); 2] = [("codex exec", 276.0, 40.0), ("oh-my-pi", 3_300.0, 400.0)];

const ANSWER: &str = concat!(
    "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",",
    "\"role\":\"assistant\",\"content\":[],\"model\":\"any\",\"stop_reason\":null,",
    "\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,",
    "\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,",
    "\"delta\":{\"type\":\"text_delta\",\"text\":\"done\"}}\n\n",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
    "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},",
    "\"usage\":{\"output_tokens\":2}}\n\n",
    "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
);

/// Measures and prints it.
pub(crate) fn run(ground: &Ground, rounds: usize, programs: &[(String, String)]) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (arrived, arrivals) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            if let Some(at) = answer(stream.unwrap()) {
                arrived.send(at).unwrap();
            }
        }
    });
    let mut commands: Vec<Command> = programs
        .iter()
        .enumerate()
        .map(|(build, (_, program))| {
            let args = ["task", "run", "task", "where are errors made?"];
            let mut command = ground.command(build, program, &args, 100);
            command.env("ANTHROPIC_API_KEY", "none").env("ANTHROPIC_BASE_URL", &url);
            command.stdin(Stdio::null()).stdout(Stdio::null());
            command
        })
        .collect();
    let mut first = |command: &mut Command| -> Duration {
        let began = Instant::now();
        let mut child = command.spawn().unwrap();
        let at: Instant = arrivals.recv_timeout(Duration::from_secs(20)).expect("a request");
        assert!(child.wait().unwrap().success());
        at - began
    };
    commands.iter_mut().for_each(|it| drop(first(it)));
    let mut all = vec![Vec::with_capacity(rounds); commands.len()];
    for _ in 0..rounds {
        for (command, times) in commands.iter_mut().zip(&mut all) {
            times.push(first(command));
        }
    }
    for ((label, _), mut times) in programs.iter().zip(all) {
        times.sort_unstable();
        let millis = |it: Duration| it.as_secs_f64() * 1e3;
        let (least, median) = (millis(times[0]), millis(times[times.len() / 2]));
        println!("{label} start to first request: least {least:.2} ms, median {median:.2} ms");
        for (name, other, goal) in OTHERS {
            println!(
                "  {:.0} times as fast as {name} (goal {goal:.0}), by the median {:.0}",
                other / least,
                other / median
            );
        }
    }
}

/// Answers one request; when the last byte of it was there, or `None` if there was none.
fn answer(mut stream: TcpStream) -> Option<Instant> {
    let (mut buffer, mut seen) = (vec![0; 64 * 1024], Vec::new());
    let mut whole = usize::MAX;
    while seen.len() < whole {
        let read = stream.read(&mut buffer).ok().filter(|it| *it > 0)?;
        seen.extend_from_slice(&buffer[..read]);
        if let Some(head) = seen.windows(4).position(|it| it == b"\r\n\r\n") {
            let text = String::from_utf8_lossy(&seen[..head]).to_lowercase();
            let length = text.split("content-length: ").nth(1)?.split("\r\n").next()?;
            whole = head + 4 + length.parse::<usize>().ok()?;
        }
    }
    let at = Instant::now();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n";
    let _ = write!(stream, "{head}content-length: {}\r\n\r\n{ANSWER}", ANSWER.len());
    Some(at)
}

//! A child process that is talked to while it runs: a process group of its own that dies with its handle, lines of bounded
//! length out of it, and the last it said for whoever must find out what went wrong.

use std::{
    collections::VecDeque,
    process::{ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use agents_system::{
    env,
    process::{self, Call, ProcessError, ending},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _},
    process::{Child, ChildStdin, ChildStdout},
    task::JoinHandle,
    time::timeout,
};

use crate::{error::Problem, keys::Mask};

/// The longest line that a program may print.
pub(crate) const MAX_LINE: usize = 8 * 1024 * 1024;
/// More than any answer has.
const MAX_OUTPUT: usize = 256 * 1024 * 1024;
/// How much of what it said last is kept.
const TAIL: usize = 4 * 1024;
/// How long a program may take to end once it has said everything.
const GRACE: Duration = Duration::from_secs(5);

/// How long its last words may take to arrive.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Kills the whole group when it is dropped.
#[derive(Debug)]
pub(crate) struct Group(u32);

impl Drop for Group {
    fn drop(&mut self) {
        process::kill_group(self.0);
    }
}

/// A child process.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    group: Group,
    tail: Tail,
    /// Listens to what it says, until that ends.
    listener: Option<JoinHandle<()>>,
}

/// What it said last, on both streams.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tail(Arc<Mutex<VecDeque<u8>>>);

impl Tail {
    pub(crate) fn push(&self, bytes: &[u8]) {
        let mut tail = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let last = &bytes[bytes.len().saturating_sub(TAIL)..];
        tail.extend(last);
        let over = tail.len().saturating_sub(TAIL);
        tail.drain(..over);
    }

    /// As text, without what must not be shown. Half a line at the beginning is left out: it could hold half a secret.
    pub(crate) fn text(&self) -> Option<String> {
        let bytes: Vec<u8> =
            self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect();
        let text = String::from_utf8_lossy(&bytes);
        let whole =
            if bytes.len() < TAIL { &text } else { text.split_once('\n').map_or("", |it| it.1) };
        let lines: Vec<&str> = whole.lines().filter(|line| !line.trim().is_empty()).collect();
        let last = lines[lines.len().saturating_sub(12)..].join("\n");
        (!last.is_empty()).then(|| Mask::of_environment().hide(&last))
    }
}

impl Running {
    /// Starts it, with pipes.
    pub(crate) fn start(call: &Call) -> Result<(Self, ChildStdin, ChildStdout), Problem> {
        let mut command = tokio::process::Command::from(call.group_leader());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.kill_on_drop(true);
        // A host may have us among its own tools: what it starts there is not the first of a tree.
        command.env(env::AGENTS_DEPTH.name, (env::depth() + 1).to_string());
        let mut child = command.spawn().map_err(|source| not_started(call, source))?;
        let group = Group(child.id().unwrap_or_default());
        let tail = Tail::default();
        let stderr = child.stderr.take();
        let listener = stderr.map(|stderr| tokio::spawn(listen(stderr, tail.clone())));
        match (child.stdin.take(), child.stdout.take()) {
            (Some(stdin), Some(stdout)) => {
                Ok((Self { child, group, tail, listener }, stdin, stdout))
            }
            _ => {
                Err(Problem::Program { what: "the program has no pipes".to_owned(), details: None })
            }
        }
    }

    /// The last it said.
    pub(crate) fn tail(&self) -> Tail {
        self.tail.clone()
    }

    /// Waits for its end, for a while, and tells how it ended. What it left running is ended with it.
    pub(crate) async fn end(&mut self) -> Option<ExitStatus> {
        let status = timeout(GRACE, self.child.wait()).await.ok().and_then(Result::ok);
        process::kill_group(self.group.0);
        // What it said last may still be on its way; a daemon that it left behind keeps the pipe open.
        if let Some(listener) = &mut self.listener {
            let _ = timeout(LAST_WORDS, listener).await;
        }
        self.listener = None;
        status
    }

    /// It ended, or was silent, without having said what it should.
    pub(crate) async fn failed(&mut self, what: &str) -> Problem {
        let how = match self.end().await {
            Some(status) => format!("{what}: it ended with {}", ending(status)),
            None => what.to_owned(),
        };
        Problem::Program { what: how, details: self.tail.text() }
    }
}

fn not_started(call: &Call, source: std::io::Error) -> Problem {
    let program = call.display();
    let program = program.split(' ').next().unwrap_or_default().to_owned();
    let error = match source.kind() {
        std::io::ErrorKind::NotFound => ProcessError::NotFound { program },
        _ => ProcessError::Io { program, source },
    };
    Problem::Program { what: error.to_string(), details: None }
}

async fn listen(mut stream: impl AsyncRead + Unpin, tail: Tail) {
    let mut buffer = [0; 4096];
    while let Ok(length) = stream.read(&mut buffer).await {
        if length == 0 {
            break;
        }
        tail.push(&buffer[..length]);
    }
}

/// Gives a program its prompt. That it does not want all of it is seen in what it answers.
pub(crate) async fn feed(mut stdin: ChildStdin, text: String) {
    let _ = stdin.write_all(text.as_bytes()).await;
    let _ = stdin.shutdown().await;
}

/// Lines of a program.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    stream: R,
    buffer: Vec<u8>,
    /// How much of the buffer holds no end of a line.
    looked_at: usize,
    read: usize,
    at_end: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(crate) fn new(stream: R) -> Self {
        Self { stream, buffer: Vec::new(), looked_at: 0, read: 0, at_end: false }
    }

    /// The next line, without its end; `None` after the last one. Nothing is lost if this is dropped while it waits.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<u8>>, Problem> {
        let too_much = |what: &str| Problem::Protocol {
            what: what.to_owned(),
            place: "what it printed".to_owned(),
        };
        loop {
            if let Some(at) = memchr::memchr(b'\n', &self.buffer[self.looked_at..]) {
                let at = self.looked_at + at;
                let rest = self.buffer.split_off(at + 1);
                let mut line = std::mem::replace(&mut self.buffer, rest);
                self.looked_at = 0;
                line.truncate(at);
                return Ok(Some(line));
            }
            self.looked_at = self.buffer.len();
            if self.at_end {
                let rest = std::mem::take(&mut self.buffer);
                self.looked_at = 0;
                return Ok((!rest.is_empty()).then_some(rest));
            }
            if self.buffer.len() > MAX_LINE {
                return Err(too_much("a line without end"));
            }
            if self.read > MAX_OUTPUT {
                return Err(too_much("more than any answer has"));
            }
            match self.stream.read_buf(&mut self.buffer).await {
                Ok(0) => self.at_end = true,
                Ok(length) => self.read += length,
                Err(source) => {
                    return Err(Problem::Network {
                        doing: "reading what it printed",
                        source: Box::new(source),
                    });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_runtime<T>(work: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
    }

    #[test]
    fn lines_come_out_whole_wherever_they_were_cut() {
        for size in [1, 2, 3, 7, 64] {
            let text: &[u8] = "eins\n\nzwei é\r\ndrei".as_bytes();
            let (mut sender, receiver) = tokio::io::duplex(size);
            let lines = in_runtime(async {
                let send = async move { sender.write_all(text).await.unwrap() };
                let read = async move {
                    let mut lines = Lines::new(receiver);
                    let mut all = Vec::new();
                    while let Some(line) = lines.next().await.unwrap() {
                        all.push(String::from_utf8(line).unwrap());
                    }
                    all
                };
                tokio::join!(send, read).1
            });
            assert_eq!(lines, ["eins", "", "zwei é\r", "drei"], "{size}");
        }
    }

    #[test]
    fn a_line_without_end_is_an_error_and_not_all_of_the_memory() {
        let error =
            in_runtime(async { Lines::new(tokio::io::repeat(b'x')).next().await.unwrap_err() });
        assert_eq!(error.to_string(), "a line without end, in what it printed");
    }

    #[test]
    fn of_what_it_said_the_last_lines_are_kept() {
        let tail = Tail::default();
        assert_eq!(tail.text(), None);
        for number in 0..10_000 {
            tail.push(format!("line {number}\n").as_bytes());
        }
        let text = tail.text().unwrap();
        assert_eq!(text.lines().count(), 12);
        assert!(text.starts_with("line 9988\n") && text.ends_with("line 9999"), "{text}");
        tail.push(&[b'x'; 3 * TAIL]);
        assert_eq!(tail.text(), None, "half a line could hold half a secret");
    }

    #[test]
    fn a_program_knows_how_deep_it_stands() {
        in_runtime(async {
            let call = Call::new("sh").args(["-c", "echo $CARGO_AGENTS_DEPTH"]);
            let (_running, _stdin, mut stdout) = Running::start(&call).unwrap();
            let mut said = String::new();
            tokio::io::AsyncReadExt::read_to_string(&mut stdout, &mut said).await.unwrap();
            assert_eq!(said, format!("{}\n", env::depth() + 1));
        });
    }

    #[test]
    fn a_program_dies_with_its_whole_group() {
        let dir = agents_testkit::scratch::Scratch::new();
        let pid = dir.path("pid");
        in_runtime(async {
            let script =
                format!("sh -c 'echo $$ > {pid}.new; mv {pid}.new {pid}; sleep 60' & wait");
            let call = Call::new("sh").args(["-c", &script]);
            let (running, ..) = Running::start(&call).unwrap();
            while !pid.exists() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            drop(running);
        });
        let id = fs_err::read_to_string(&pid).unwrap();
        let stat = format!("/proc/{}/stat", id.trim());
        let gone = || fs_err::read_to_string(&stat).map_or(true, |stat| stat.contains(") Z "));
        let waited = (0..500).find(|_| {
            std::thread::sleep(Duration::from_millis(10));
            gone()
        });
        assert!(waited.is_some(), "process {id} still runs");
    }
}

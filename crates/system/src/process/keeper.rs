//! A child that leaves nothing behind.
//!
//! A process group is not enough: whoever starts a session of its own has left it. So the child is started by a *keeper*, a process
//! of ours between us and it, to which the system gives everything that loses its parent (`PR_SET_CHILD_SUBREAPER`). When
//! the child has ended, or we say so, or we are gone, the keeper ends whatever is left below it, until nothing is.
//!
//! The keeper is our own program, called with arguments of which its `main` knows that they mean [`keep`]. It gets its
//! [`Order`] through a socket on standard input and answers through it; that the socket is closed means that it is to stop. Inside
//! a sandbox the child cannot send signals to the keeper. Outside of one it can, as it can do anything else that the user could.

use std::{
    borrow::Cow,
    io::{self, BufRead as _, Read as _, Write as _},
    net::Shutdown,
    os::{
        fd::{AsFd as _, BorrowedFd, OwnedFd},
        unix::{net::UnixStream, process::CommandExt as _},
    },
    process::{Child, Command, ExitCode, Stdio},
    time::{Duration, Instant},
};

use camino::Utf8PathBuf;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, Signal, WaitOptions},
    stdio::stdout,
};
use serde::{Deserialize, Serialize};

use super::{ProcessError, interrupted};
use crate::sandbox;

/// How long we go without looking whether we are to stop.
const GLANCE: Duration = Duration::from_millis(20);
/// How long a keeper may take to end what is left, besides the time that it gives.
const PATIENCE: Duration = Duration::from_secs(10);

/// The command line that becomes a keeper: a program of ours, and what tells it to call [`keep`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keeper {
    /// The program.
    pub program: Utf8PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
}

/// What a keeper is to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// The program, found through the `PATH` of `env` unless it is a path.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Where it runs.
    pub cwd: Utf8PathBuf,
    /// All of its variables; it gets no others.
    pub env: Vec<(String, String)>,
    /// What it may do, if the system is to see to it.
    pub sandbox: Option<sandbox::Rights>,
    /// How long it may take to react to a polite request to end.
    pub grace: Duration,
    /// A directory that is removed once nothing of it is running, even if we are gone by then.
    #[serde(default)]
    pub room: Option<Utf8PathBuf>,
}

/// What a keeper is told. Who orders nothing else gets a child without anything to read.
#[derive(Debug, Serialize, Deserialize)]
struct Told<'a> {
    #[serde(flatten)]
    order: Cow<'a, Order>,
    #[serde(default)]
    stdin: Stdin,
}

/// What a kept child can read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
enum Stdin {
    /// Nothing.
    #[default]
    Nothing,
    /// What we send it.
    Ours,
}

/// How a kept child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    /// With this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

/// What a keeper answers.
#[derive(Debug, Serialize, Deserialize)]
enum Report {
    Ended { ending: Ending, ended_too: usize },
    NotStarted(String),
    NoSandbox(String),
    LeftBehind(usize),
}

/// What became of a kept child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept {
    /// How it ended.
    pub ending: Ending,
    /// Whether it had to be stopped.
    pub stopped: bool,
    /// How many others of its making were still running, and have been ended.
    pub ended_too: usize,
}

/// Why a kept child did not run, or not to its end.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    /// The keeper could not be started.
    #[error(transparent)]
    Keeper(#[from] ProcessError),
    /// The child could not be started.
    #[error("{0}")]
    NotStarted(String),
    /// It must run in a sandbox, and there is none.
    #[error("{0}")]
    NoSandbox(String),
    /// The keeper ended without a word.
    #[error("the keeper of the program was killed: something may still be running")]
    Killed,
    /// Some of it cannot be ended.
    #[error("{0} processes could not be ended")]
    LeftBehind(usize),
}

impl Keeper {
    /// Runs a child to its end. `heard` gets what it prints to both streams, as it comes; `stop` is asked now and then whether it is
    /// to end before its time.
    pub fn run(
        &self,
        order: &Order,
        heard: &mut dyn FnMut(&[u8]),
        stop: &mut dyn FnMut() -> bool,
    ) -> Result<Kept, KeepError> {
        self.attended(order, None, heard, stop)
    }

    /// Runs a child that we speak with, to its end: its standard input and output are `talk`, the other end of which is ours.
    /// `heard` gets what it prints to standard error.
    pub fn converse(
        &self,
        order: &Order,
        talk: OwnedFd,
        heard: &mut dyn FnMut(&[u8]),
        stop: &mut dyn FnMut() -> bool,
    ) -> Result<Kept, KeepError> {
        self.attended(order, Some(talk), heard, stop)
    }

    fn attended(
        &self,
        order: &Order,
        talk: Option<OwnedFd>,
        heard: &mut dyn FnMut(&[u8]),
        stop: &mut dyn FnMut() -> bool,
    ) -> Result<Kept, KeepError> {
        let failed = |source| ProcessError::Io { program: self.program.to_string(), source };
        let (mut ours, theirs) = UnixStream::pair().map_err(failed)?;
        let (mut output, print) = io::pipe().map_err(failed)?;
        let stdin = if talk.is_some() { Stdin::Ours } else { Stdin::Nothing };
        let mut child = {
            #[expect(clippy::disallowed_methods, reason = "this is the module for it")]
            let mut command = Command::new(self.program.as_std_path());
            command.args(&self.args).env_clear().process_group(0).current_dir("/");
            let stdout = match talk {
                Some(talk) => Stdio::from(talk),
                None => Stdio::from(print.try_clone().map_err(failed)?),
            };
            command.stdin(OwnedFd::from(theirs)).stdout(stdout).stderr(print);
            command.spawn().map_err(failed)?
        };
        let result = attend(&mut ours, &mut output, (order, stdin), heard, stop);
        if !matches!(result, Ok(_) | Err(KeepError::NotStarted(_) | KeepError::NoSandbox(_))) {
            let _ = rustix::process::kill_process_group(Pid::from_child(&child), Signal::KILL);
        }
        let _ = child.wait();
        if result.is_ok() {
            drain(&mut output, heard);
        }
        result
    }
}

fn attend(
    ours: &mut UnixStream,
    output: &mut io::PipeReader,
    (order, stdin): (&Order, Stdin),
    heard: &mut dyn FnMut(&[u8]),
    stop: &mut dyn FnMut() -> bool,
) -> Result<Kept, KeepError> {
    let failed = |source| ProcessError::Io { program: order.program.clone(), source };
    let mut text = serde_json::to_vec(&Told { order: Cow::Borrowed(order), stdin })
        .map_err(|error| failed(error.into()))?;
    text.push(b'\n');
    ours.write_all(&text).map_err(|_| KeepError::Killed)?;
    let mut stopped = None;
    let mut chunk = vec![0; 64 * 1024];
    let mut output_open = true;
    loop {
        let now = Instant::now();
        if stopped.is_none() && (interrupted() || stop()) {
            // That is how the keeper knows.
            let _ = ours.shutdown(Shutdown::Write);
            stopped = Some(now);
        }
        if stopped.is_some_and(|since| now > since + order.grace + PATIENCE) {
            return Err(KeepError::Killed);
        }
        let mut fds = vec![PollFd::from_borrowed_fd(ours.as_fd(), PollFlags::IN)];
        if output_open {
            fds.push(PollFd::from_borrowed_fd(output.as_fd(), PollFlags::IN));
        }
        wait(&mut fds, GLANCE);
        let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        if ready.get(1) == Some(&true) {
            match output.read(&mut chunk) {
                Ok(0) | Err(_) => output_open = false,
                Ok(count) => heard(&chunk[..count]),
            }
        }
        if ready.first() == Some(&true) {
            let mut answer = String::new();
            let _ = ours.read_to_string(&mut answer);
            return match serde_json::from_str(&answer) {
                Ok(Report::Ended { ending, ended_too }) => {
                    Ok(Kept { ending, stopped: stopped.is_some(), ended_too })
                }
                Ok(Report::NotStarted(why)) => Err(KeepError::NotStarted(why)),
                Ok(Report::NoSandbox(why)) => Err(KeepError::NoSandbox(why)),
                Ok(Report::LeftBehind(count)) => Err(KeepError::LeftBehind(count)),
                Err(_) => Err(KeepError::Killed),
            };
        }
    }
}

/// What was printed before the end is in the pipe; nobody is left who could keep it open.
fn drain(output: &mut io::PipeReader, heard: &mut dyn FnMut(&[u8])) {
    let mut chunk = vec![0; 64 * 1024];
    loop {
        let mut fds = [PollFd::from_borrowed_fd(output.as_fd(), PollFlags::IN)];
        wait(&mut fds, Duration::ZERO);
        if fds[0].revents().is_empty() {
            return;
        }
        match output.read(&mut chunk) {
            Ok(0) | Err(_) => return,
            Ok(count) => heard(&chunk[..count]),
        }
    }
}

fn wait(fds: &mut [PollFd<'_>], at_most: Duration) {
    let timeout = Timespec::try_from(at_most).ok();
    if let Err(errno) = poll(fds, timeout.as_ref())
        && errno != rustix::io::Errno::INTR
    {
        std::thread::sleep(at_most);
    }
}

/// Is the keeper. For the first lines of a `main` that finds that it was called as one.
#[must_use]
pub fn keep() -> ExitCode {
    let Ok(socket) = io::stdin().as_fd().try_clone_to_owned() else { return ExitCode::FAILURE };
    let mut socket = UnixStream::from(socket);
    let report = match obey(&socket) {
        Ok(report) => report,
        Err(error) => Report::NotStarted(error.to_string()),
    };
    let sent = serde_json::to_vec(&report).is_ok_and(|text| socket.write_all(&text).is_ok());
    if sent { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn obey(socket: &UnixStream) -> io::Result<Report> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    let mut line = String::new();
    io::BufReader::new(socket).read_line(&mut line)?;
    let Told { order, stdin } = serde_json::from_str(&line)?;
    let report = carry_out(&order, stdin, socket);
    if let Some(room) = &order.room {
        // Whoever ordered this removes it, too, if they can.
        let _ = fs_err::remove_dir_all(room);
    }
    Ok(report)
}

fn carry_out(order: &Order, stdin: Stdin, socket: &UnixStream) -> Report {
    // Rules bind a thread and what it starts, so we stay free to end what we started.
    let started = std::thread::scope(|scope| scope.spawn(|| start(order, stdin)).join());
    let child =
        match started.unwrap_or_else(|_| Err(Report::NotStarted("the keeper broke".to_owned()))) {
            Ok(child) => child,
            Err(report) => return report,
        };
    let pid = Pid::from_child(&child);
    let over = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok();
    let mut ending = None;
    let mut asked: Option<Instant> = None;
    loop {
        ending = reap(pid).or(ending);
        let waited = asked.map(|since| since.elapsed());
        match (ending, waited) {
            (Some(_), _) => break,
            (None, Some(waited)) if waited > order.grace => break,
            (None, Some(_)) => std::thread::sleep(Duration::from_millis(5)),
            (None, None) => {
                let ends = [Some(socket.as_fd()), over.as_ref().map(|fd| fd.as_fd())];
                let mut fds: Vec<PollFd<'_>> = ends.into_iter().flatten().map(watched).collect();
                wait(&mut fds, if over.is_some() { Duration::from_millis(500) } else { GLANCE });
                if !fds[0].revents().is_empty() {
                    descendants().into_iter().for_each(|pid| signal(pid, Signal::TERM));
                    asked = Some(Instant::now());
                }
            }
        }
    }
    let left = end_all(pid, &mut ending);
    match (ending, left) {
        (Some(ending), Ok(ended_too)) => Report::Ended { ending, ended_too },
        (None, Ok(_)) => Report::Ended { ending: Ending::Signal(9), ended_too: 0 },
        (_, Err(left)) => Report::LeftBehind(left),
    }
}

fn watched(fd: BorrowedFd<'_>) -> PollFd<'_> {
    PollFd::from_borrowed_fd(fd, PollFlags::IN)
}

fn start(order: &Order, stdin: Stdin) -> Result<Child, Report> {
    if let Some(rights) = &order.sandbox {
        let restricted = sandbox::restrict(rights);
        restricted.map_err(|error| Report::NoSandbox(error.to_string()))?;
    }
    #[expect(clippy::disallowed_methods, reason = "this is the module for it")]
    let mut command = Command::new(&order.program);
    // What it is to read arrives on the socket that is its output, too: a keeper has no other place to be given one.
    let stdin = match stdin {
        Stdin::Nothing => Stdio::null(),
        Stdin::Ours => stdout()
            .try_clone_to_owned()
            .map(Stdio::from)
            .map_err(|error| Report::NotStarted(format!("it has no standard input: {error}")))?,
    };
    command.args(&order.args).current_dir(&order.cwd).process_group(0).stdin(stdin);
    command.env_clear().envs(order.env.iter().map(|(name, value)| (name, value)));
    command
        .spawn()
        .map_err(|error| Report::NotStarted(format!("cannot run `{}`: {error}", order.program)))
}

/// Reaps whatever has ended; gives the ending of the child if it is among it.
fn reap(child: Pid) -> Option<Ending> {
    let mut ending = None;
    while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG) {
        if pid == child {
            let signal = status.terminating_signal().map(Ending::Signal);
            ending = signal.or(status.exit_status().map(Ending::Code));
        }
    }
    ending
}

/// Ends everything below us, until nothing is there; tells how many there were, or how many cannot be ended.
fn end_all(child: Pid, ending: &mut Option<Ending>) -> Result<usize, usize> {
    let since = Instant::now();
    let mut seen = std::collections::BTreeSet::new();
    loop {
        *ending = reap(child).or(*ending);
        let left = descendants();
        if left.is_empty() {
            return Ok(seen.len());
        }
        if since.elapsed() > PATIENCE / 2 {
            return Err(left.len());
        }
        for pid in left {
            if pid != child {
                seen.insert(pid.as_raw_nonzero());
            }
            signal(pid, Signal::KILL);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn signal(pid: Pid, signal: Signal) {
    // That it is gone is what we want.
    let _ = rustix::process::kill_process(pid, signal);
}

/// Every process below us. Those that lost their parent are ours, too.
fn descendants() -> Vec<Pid> {
    let us = rustix::process::getpid();
    let mut parents: Vec<(Pid, Pid)> = Vec::new();
    for entry in fs_err::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|it| it.parse::<i32>().ok()) else {
            continue;
        };
        let Ok(stat) = fs_err::read_to_string(entry.path().join("stat")) else { continue };
        // The name in parentheses may hold anything.
        let Some((_, rest)) = stat.rsplit_once(')') else { continue };
        let parent = rest.split_ascii_whitespace().nth(1).and_then(|it| it.parse::<i32>().ok());
        let (pid, parent) = (Pid::from_raw(pid), parent.and_then(Pid::from_raw));
        parents.extend(pid.zip(parent));
    }
    let mut found = vec![us];
    let mut at = 0;
    while at < found.len() {
        let above = found[at];
        found.extend(parents.iter().filter(|(_, parent)| *parent == above).map(|(pid, _)| *pid));
        at += 1;
    }
    found.split_off(1)
}

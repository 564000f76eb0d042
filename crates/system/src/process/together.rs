//! Several children at once, each with something to read.
//!
//! One loop waits for all of them: it feeds them, listens to them and ends them, without a thread and
//! without a runtime. Pipes, not files, because scripts write to `/dev/stderr`, which would truncate a
//! file. Nobody can hold us up: a child that does not read, that never stops printing, that ignores
//! requests, or that leaves a daemon behind with our pipes still open.

use std::{
    io::{self, ErrorKind, Read, Write as _},
    os::fd::{AsFd as _, BorrowedFd, OwnedFd},
    process::{Child, ChildStderr, ChildStdin, ChildStdout, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{Call, ProcessError, Signal, end_group, interrupted};
use crate::span;

/// How often we look when the system cannot tell us that a child has ended.
const GLANCE: Duration = Duration::from_millis(2);
/// How much is read from one pipe before the others get their turn.
const TURN: usize = 256 * 1024;

/// One child to be, and what it gets on standard input.
#[derive(Debug, Clone, Copy)]
pub struct Job<'a> {
    /// What is run; its own deadline counts.
    pub call: &'a Call,
    /// What it can read. That it may not want all of it is no error.
    pub stdin: &'a [u8],
}

/// What holds for all children together.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// When all of them must have ended, however long their own deadlines are.
    pub whole: Duration,
    /// How long a child may take to react to a polite request to end.
    pub grace: Duration,
    /// How many bytes a child may print, to each of the two streams.
    pub output: usize,
}

/// What became of one child.
#[derive(Debug)]
pub struct Ran {
    /// How it ended, or why it was ended or never ran.
    pub ending: Result<ExitStatus, ProcessError>,
    /// What it printed, at most [`Bounds::output`] bytes.
    pub stdout: Vec<u8>,
    /// What it said, at most [`Bounds::output`] bytes.
    pub stderr: Vec<u8>,
    /// How long it ran.
    pub took: Duration,
}

/// Runs all of them at the same time; the results come in the order of the jobs. Whatever a child left
/// running in its process group is ended with it.
#[must_use]
pub fn run_together(jobs: &[Job<'_>], bounds: Bounds) -> Vec<Ran> {
    let start = Instant::now();
    let mut places: Vec<Place<'_>> =
        jobs.iter().map(|job| Place::start(job, start, bounds)).collect();
    loop {
        let now = Instant::now();
        let mut next = None;
        for running in places.iter_mut().filter_map(Place::running) {
            let due = running.enforce(now, bounds);
            next = Some(next.map_or(due, |next: Instant| next.min(due)));
        }
        // Nobody runs any more.
        let Some(next) = next else { break };
        let ready = wait(&places, next.saturating_duration_since(now));
        for (place, ready) in places.iter_mut().zip(ready) {
            place.attend(&ready, bounds);
        }
    }
    places.into_iter().filter_map(Place::ran).collect()
}

enum Place<'a> {
    Running(Box<Running<'a>>),
    Over(Ran),
}

struct Running<'a> {
    call: &'a Call,
    child: Child,
    since: Instant,
    deadline: Instant,
    /// Readable once the child has ended.
    over: Option<OwnedFd>,
    stdin: Option<(ChildStdin, &'a [u8])>,
    stdout: Heard<ChildStdout>,
    stderr: Heard<ChildStderr>,
    /// Set once it has been asked to end: why, and when it will be forced.
    asked: Option<(ProcessError, Instant)>,
}

struct Heard<P> {
    pipe: Option<P>,
    bytes: Vec<u8>,
}

/// Something of a child that can be waited for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Over,
    Stdin,
    Stdout,
    Stderr,
}

/// Which of a child's ends have something for us.
#[derive(Default)]
struct Ready {
    over: bool,
    stdin: bool,
    stdout: bool,
    stderr: bool,
}

impl<'a> Place<'a> {
    fn start(job: &Job<'a>, start: Instant, bounds: Bounds) -> Self {
        let since = Instant::now();
        match Running::start(job, since, span::after(start, bounds.whole)) {
            Ok(running) => Self::Running(Box::new(running)),
            Err(error) => Self::Over(Ran {
                ending: Err(error),
                stdout: Vec::new(),
                stderr: Vec::new(),
                took: since.elapsed(),
            }),
        }
    }

    fn running(&mut self) -> Option<&mut Running<'a>> {
        match self {
            Self::Running(running) => Some(running),
            Self::Over(_) => None,
        }
    }

    fn attend(&mut self, ready: &Ready, bounds: Bounds) {
        let Self::Running(running) = self else { return };
        if let Some(ran) = running.attend(ready, bounds) {
            *self = Self::Over(ran);
        }
    }

    fn ran(self) -> Option<Ran> {
        match self {
            Self::Over(ran) => Some(ran),
            Self::Running(_) => None,
        }
    }
}

impl<'a> Running<'a> {
    fn start(job: &Job<'a>, since: Instant, whole: Instant) -> Result<Self, ProcessError> {
        let call = job.call;
        let mut child = call.spawn(Stdio::piped(), Stdio::piped(), Stdio::piped())?;
        let mut running = Self {
            call,
            since,
            deadline: span::after(since, call.deadline).min(whole),
            over: end_of(&child),
            stdin: child.stdin.take().map(|pipe| (pipe, job.stdin)),
            stdout: Heard { pipe: child.stdout.take(), bytes: Vec::new() },
            stderr: Heard { pipe: child.stderr.take(), bytes: Vec::new() },
            asked: None,
            child,
        };
        match running.unblock() {
            Ok(()) => Ok(running),
            Err(source) => {
                running.force();
                let _ = running.child.wait();
                Err(call.io(source))
            }
        }
    }

    fn unblock(&self) -> io::Result<()> {
        for (end, fd) in self.ends() {
            if end != End::Over {
                rustix::io::ioctl_fionbio(fd, true)?;
            }
        }
        Ok(())
    }

    fn ends(&self) -> impl Iterator<Item = (End, BorrowedFd<'_>)> {
        let all = [
            (End::Over, self.over.as_ref().map(|fd| fd.as_fd())),
            (End::Stdin, self.stdin.as_ref().map(|(pipe, _)| pipe.as_fd())),
            (End::Stdout, self.stdout.pipe.as_ref().map(|pipe| pipe.as_fd())),
            (End::Stderr, self.stderr.pipe.as_ref().map(|pipe| pipe.as_fd())),
        ];
        all.into_iter().filter_map(|(end, fd)| Some((end, fd?)))
    }

    /// Asks or forces it to end if it is time; tells when to look again.
    fn enforce(&mut self, now: Instant, bounds: Bounds) -> Instant {
        if self.asked.is_none() {
            if interrupted() {
                self.ask(ProcessError::Interrupted, now, bounds);
            } else if now >= self.deadline {
                let after = self.deadline.saturating_duration_since(self.since);
                let program = self.call.program_name();
                self.ask(ProcessError::TimedOut { program, after }, now, bounds);
            }
        }
        let due = match &self.asked {
            None => self.deadline,
            Some((_, forced)) if now >= *forced => {
                self.force();
                now + GLANCE
            }
            Some((_, forced)) => *forced,
        };
        if self.over.is_some() { due } else { due.min(now + GLANCE) }
    }

    fn ask(&mut self, why: ProcessError, now: Instant, bounds: Bounds) {
        end_group(&self.child, Signal::Terminate);
        self.stdin = None;
        self.asked = Some((why, span::after(now, bounds.grace)));
    }

    fn force(&mut self) {
        end_group(&self.child, Signal::Kill);
        let _ = self.child.kill();
    }

    fn attend(&mut self, ready: &Ready, bounds: Bounds) -> Option<Ran> {
        if ready.stdin {
            self.feed();
        }
        let mut flooded = false;
        if ready.stdout {
            flooded |= self.stdout.listen(bounds.output, TURN);
        }
        if ready.stderr {
            flooded |= self.stderr.listen(bounds.output, TURN);
        }
        if flooded && self.asked.is_none() {
            let limit = u64::try_from(bounds.output).unwrap_or(u64::MAX);
            let program = self.call.program_name();
            let why = ProcessError::TooMuchOutput { program, limit };
            self.ask(why, Instant::now(), bounds);
        }
        let ended = match (&self.over, ready.over) {
            (Some(_), false) => return None,
            // It cannot be reaped yet, so that its group still carries its number: end what it left.
            (Some(_), true) => {
                end_group(&self.child, Signal::Kill);
                self.child.wait().map(Some)
            }
            (None, _) => self.child.try_wait(),
        };
        let ending = match ended {
            Ok(None) => return None,
            Ok(Some(status)) => Ok(status),
            Err(source) => {
                self.force();
                Err(self.call.io(source))
            }
        };
        end_group(&self.child, Signal::Kill);
        // What it wrote before it ended is in the pipes; who else holds them open does not matter.
        self.stdout.listen(bounds.output, bounds.output);
        self.stderr.listen(bounds.output, bounds.output);
        let ending = match self.asked.take() {
            Some((why, _)) => Err(why),
            None => ending,
        };
        Some(Ran {
            ending,
            stdout: std::mem::take(&mut self.stdout.bytes),
            stderr: std::mem::take(&mut self.stderr.bytes),
            took: self.since.elapsed(),
        })
    }

    /// Writes as much as it takes now.
    fn feed(&mut self) {
        let Some((pipe, left)) = &mut self.stdin else { return };
        let over = loop {
            if left.is_empty() {
                break true;
            }
            match pipe.write(left) {
                Ok(count) => *left = &left[count..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break false,
                // It does not want the rest.
                Err(_) => break true,
            }
        };
        if over {
            self.stdin = None;
        }
    }
}

impl<P: Read> Heard<P> {
    /// Reads what is there, at most `turn` bytes, and keeps at most `limit` of all. Tells whether there
    /// was more than that.
    fn listen(&mut self, limit: usize, turn: usize) -> bool {
        let Some(pipe) = &mut self.pipe else { return false };
        let mut chunk = [0; 16 * 1024];
        let mut taken = 0;
        while taken < turn {
            match pipe.read(&mut chunk) {
                Ok(0) => {
                    self.pipe = None;
                    break;
                }
                Ok(count) => {
                    taken += count;
                    let room = limit - self.bytes.len();
                    self.bytes.extend_from_slice(&chunk[..count.min(room)]);
                    if count > room {
                        return true;
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => {
                    self.pipe = None;
                    break;
                }
            }
        }
        false
    }
}

/// Waits until something can be done for somebody, or until the time is over.
fn wait(places: &[Place<'_>], at_most: Duration) -> Vec<Ready> {
    let mut fds: Vec<PollFd<'_>> = Vec::new();
    let mut owners: Vec<(usize, End)> = Vec::new();
    for (index, place) in places.iter().enumerate() {
        let Place::Running(running) = place else { continue };
        for (end, fd) in running.ends() {
            let flags = if end == End::Stdin { PollFlags::OUT } else { PollFlags::IN };
            fds.push(PollFd::from_borrowed_fd(fd, flags));
            owners.push((index, end));
        }
    }
    let mut ready: Vec<Ready> = places.iter().map(|_| Ready::default()).collect();
    let timeout = Timespec::try_from(at_most).ok();
    match poll(&mut fds, timeout.as_ref()) {
        Ok(_) => {}
        // A signal: the caller looks whether it was for us.
        Err(rustix::io::Errno::INTR) => return ready,
        // Cannot happen with descriptors of our own; do not turn in circles if it does.
        Err(_) => std::thread::sleep(at_most.min(GLANCE)),
    }
    for (fd, (index, end)) in fds.iter().zip(owners) {
        if !fd.revents().is_empty() {
            let ready = &mut ready[index];
            match end {
                End::Over => ready.over = true,
                End::Stdin => ready.stdin = true,
                End::Stdout => ready.stdout = true,
                End::Stderr => ready.stderr = true,
            }
        }
    }
    ready
}

/// Something that becomes readable when the child ends, where the system has such a thing.
#[cfg(target_os = "linux")]
fn end_of(child: &Child) -> Option<OwnedFd> {
    use rustix::process::{Pid, PidfdFlags, pidfd_open};
    pidfd_open(Pid::from_child(child), PidfdFlags::empty()).ok()
}

#[cfg(not(target_os = "linux"))]
fn end_of(_: &Child) -> Option<OwnedFd> {
    None
}

//! Child processes.
//!
//! Every child has a deadline, is its own process group and dies as one; its output goes through files,
//! so no pipe can fill up and no reader thread is needed. [`Call::replace`] and [`Call::detach`] are the exceptions: there we
//! *become* the child, or leave it to itself. [`run_together`] runs several at once.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io::{self, Read as _, Seek as _},
    process::{Child, Command, ExitStatus, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use camino::{Utf8Path, Utf8PathBuf};

use crate::{
    env,
    lock::{Lock, Locked},
};

#[cfg(unix)]
pub mod daemon;
mod interrupt;
#[cfg(target_os = "linux")]
pub mod keeper;
mod own;
#[cfg(unix)]
mod together;

pub(crate) use interrupt::listen_for_ctrl_c;
pub use interrupt::{interrupted, listen_for_interrupts};
pub use own::this_program;
#[cfg(unix)]
pub use together::{Bounds, Job, Ran, run_together};

/// More than any tool we run has reason to print.
const MAX_OUTPUT: u64 = 256 * 1024 * 1024;
/// How long a child may take to react to a polite request to end.
const GRACE: Duration = Duration::from_secs(2);

/// A child process to be.
#[derive(Debug, Clone)]
pub struct Call {
    program: OsString,
    args: Vec<OsString>,
    cwd: Option<Utf8PathBuf>,
    inherit: Inherit,
    env: Vec<(OsString, Option<OsString>)>,
    deadline: Duration,
    on_interrupt: OnInterrupt,
    /// Given to the child as its standard input, and never read.
    held: Option<Arc<Locked>>,
}

/// What Ctrl-C does to a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OnInterrupt {
    End,
    Finish,
}

/// What a child gets of our own environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Inherit {
    All,
    Nothing,
}

/// What a child printed and how it ended.
#[derive(Debug)]
pub struct Captured {
    /// How it ended.
    pub status: ExitStatus,
    /// What it printed.
    pub stdout: Vec<u8>,
    /// What it said.
    pub stderr: Vec<u8>,
}

/// Why a child did not run to its end.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// There is no such program.
    #[error("there is no program `{program}`")]
    NotFound {
        /// As we called it.
        program: String,
    },
    /// It could not be started or watched.
    #[error("cannot run `{program}`")]
    Io {
        /// As we called it.
        program: String,
        /// Why.
        source: io::Error,
    },
    /// It was ended because it took too long.
    #[error("`{program}` did not finish within {} s and was stopped", after.as_secs())]
    TimedOut {
        /// As we called it.
        program: String,
        /// Its deadline.
        after: Duration,
    },
    /// It was ended because it printed without end.
    #[error("`{program}` printed more than {} MiB and was stopped", limit / 1024 / 1024)]
    TooMuchOutput {
        /// As we called it.
        program: String,
        /// How many bytes it might have printed.
        limit: u64,
    },
    /// Ctrl-C.
    #[error("interrupted")]
    Interrupted,
}

impl Call {
    /// A call of `program`, found through `PATH` unless it is a path.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            cwd: None,
            inherit: Inherit::All,
            env: Vec::new(),
            deadline: Duration::from_secs(60),
            on_interrupt: OnInterrupt::End,
            held: None,
        }
    }

    /// One more argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// More arguments.
    #[must_use]
    pub fn args<S: Into<OsString>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// The same call made by another program, which gets it after `args` and `--`.
    #[must_use]
    pub fn through<S: Into<OsString>>(
        mut self,
        program: impl Into<OsString>,
        args: impl IntoIterator<Item = S>,
    ) -> Self {
        let inner = std::mem::replace(&mut self.program, program.into());
        let first = args.into_iter().map(Into::into).chain(["--".into(), inner]);
        self.args.splice(0..0, first);
        self
    }

    /// Where it runs.
    #[must_use]
    pub fn cwd(mut self, dir: impl Into<Utf8PathBuf>) -> Self {
        self.cwd = Some(dir.into());
        self
    }

    /// With this variable set.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), Some(value.into())));
        self
    }

    /// With no variable but those that are set for this call.
    #[must_use]
    pub fn in_empty_env(mut self) -> Self {
        self.inherit = Inherit::Nothing;
        self
    }

    /// Without this variable.
    #[must_use]
    pub fn without_env(mut self, name: impl Into<OsString>) -> Self {
        self.env.push((name.into(), None));
        self
    }

    /// How long it may take; a minute unless said otherwise.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Not ended by Ctrl-C: for what puts things in order after one. Its deadline stays.
    #[must_use]
    pub fn even_if_interrupted(mut self) -> Self {
        self.on_interrupt = OnInterrupt::Finish;
        self
    }

    /// While the child runs, nobody else gets this lock, even if we are killed meanwhile.
    #[must_use]
    pub fn holding(mut self, lock: &Lock) -> Self {
        self.held = Some(lock.shared());
        self
    }

    /// The command line, for messages.
    #[must_use]
    pub fn display(&self) -> String {
        let words = std::iter::once(&self.program).chain(&self.args);
        words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    /// Runs it and keeps what it prints.
    pub fn capture(&self) -> Result<Captured, ProcessError> {
        self.capture_watched(|_| {})
    }

    /// Runs it and keeps what it prints; `watch` is called now and then with the last line that it
    /// printed to standard error.
    pub fn capture_watched(&self, mut watch: impl FnMut(&str)) -> Result<Captured, ProcessError> {
        let mut stdout = tempfile::tempfile().map_err(|source| self.io(source))?;
        let mut stderr = tempfile::tempfile().map_err(|source| self.io(source))?;
        let share = |file: &File| file.try_clone().map_err(|source| self.io(source));
        let child = self.spawn(self.stdin()?, share(&stdout)?.into(), share(&stderr)?.into())?;
        let status = self.wait(child, |poll| {
            let length = |file: &File| file.metadata().map_or(0, |data| data.len());
            if length(&stdout) + length(&stderr) > MAX_OUTPUT {
                let program = self.program_name();
                return Err(ProcessError::TooMuchOutput { program, limit: MAX_OUTPUT });
            }
            if poll.is_multiple_of(16) {
                watch(&last_line(&mut stderr));
            }
            Ok(())
        })?;
        let read = |file: &mut File| {
            let mut bytes = Vec::new();
            file.rewind().and_then(|()| file.read_to_end(&mut bytes)).map(|_| bytes)
        };
        let out = read(&mut stdout).map_err(|source| self.io(source))?;
        let err = read(&mut stderr).map_err(|source| self.io(source))?;
        Ok(Captured { status, stdout: out, stderr: err })
    }

    /// Runs it silently and tells how it ended.
    pub fn status(&self) -> Result<ExitStatus, ProcessError> {
        let child = self.spawn(self.stdin()?, Stdio::null(), Stdio::null())?;
        self.wait(child, |_| Ok(()))
    }

    /// Runs it in front of the user: same standard streams, same terminal, same process group, so that Ctrl-C reaches it.
    pub fn attended(&self) -> Result<ExitStatus, ProcessError> {
        listen_for_ctrl_c();
        let child = begin(&mut self.command()).map_err(|source| self.failed(source))?;
        self.wait(child, |_| Ok(()))
    }

    /// Starts it and goes on: it has no streams, is not waited for and outlives us. Its deadline is its own business.
    pub fn detach(&self) -> Result<(), ProcessError> {
        let mut command = self.command();
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        begin(&mut command).map(drop).map_err(|source| self.failed(source))
    }

    /// The same, with what it says going to a file, and in our process group for the moment: only who leads none can leave
    /// the terminal with [`daemon::leave`].
    #[cfg(unix)]
    pub fn detach_saying(&self, said: File) -> Result<(), ProcessError> {
        let mut command = self.command();
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said);
        begin(&mut command).map(drop).map_err(|source| self.failed(source))
    }

    /// Becomes the child: same standard streams, same terminal, same process group. Returns only if
    /// that was not possible. Where the platform has no such call, the child is run to its end
    /// and the program exits with its code.
    pub fn replace(self) -> ProcessError {
        let mut command = self.command();
        #[cfg(unix)]
        {
            use std::os::unix::process::CommandExt as _;
            self.failed(command.exec())
        }
        #[cfg(not(unix))]
        match command.status() {
            Ok(status) => std::process::exit(status.code().unwrap_or(1)),
            Err(source) => self.failed(source),
        }
    }

    /// The child to be, as the leader of a process group of its own, for a caller that waits for it in another way than we
    /// do. Whoever starts it ends the whole group with [`kill_group`]. The deadline is the caller's affair.
    #[must_use]
    pub fn group_leader(&self) -> Command {
        let mut command = self.command();
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command
    }

    fn command(&self) -> Command {
        #[expect(clippy::disallowed_methods, reason = "this is the one place")]
        let mut command = Command::new(&self.program);
        command.args(&self.args);
        if let Some(cwd) = &self.cwd {
            command.current_dir(cwd);
        }
        if self.inherit == Inherit::Nothing {
            command.env_clear();
        }
        for (name, value) in &self.env {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
    }

    /// A duplicate of the locked file is the same opened file: if we are killed, the lock lives as long as the child.
    fn stdin(&self) -> Result<Stdio, ProcessError> {
        match &self.held {
            None => Ok(Stdio::null()),
            Some(file) => file.try_clone().map(Stdio::from).map_err(|source| self.io(source)),
        }
    }

    fn spawn(&self, stdin: Stdio, stdout: Stdio, stderr: Stdio) -> Result<Child, ProcessError> {
        listen_for_ctrl_c();
        let mut command = self.command();
        command.stdin(stdin).stdout(stdout).stderr(stderr);
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        begin(&mut command).map_err(|source| self.failed(source))
    }

    fn wait(
        &self,
        mut child: Child,
        mut each_poll: impl FnMut(u64) -> Result<(), ProcessError>,
    ) -> Result<ExitStatus, ProcessError> {
        let since = Instant::now();
        let mut pause = Duration::from_micros(100);
        for poll in 1_u64.. {
            match child.try_wait() {
                Ok(Some(status)) => {
                    // Whatever it left running in its group must not outlive it.
                    end_group(&child, Signal::Kill);
                    return Ok(status);
                }
                Ok(None) => {}
                Err(source) => {
                    end(&mut child);
                    return Err(self.io(source));
                }
            }
            let verdict = if self.on_interrupt == OnInterrupt::End && interrupted() {
                Err(ProcessError::Interrupted)
            } else if since.elapsed() > self.deadline {
                Err(ProcessError::TimedOut { program: self.program_name(), after: self.deadline })
            } else {
                each_poll(poll)
            };
            if let Err(error) = verdict {
                end(&mut child);
                return Err(error);
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(20));
        }
        Err(ProcessError::Interrupted)
    }

    fn program_name(&self) -> String {
        self.program.to_string_lossy().into_owned()
    }

    fn failed(&self, source: io::Error) -> ProcessError {
        let cwd_is_there = self.cwd.as_ref().is_none_or(|cwd| cwd.is_dir());
        match source.kind() {
            io::ErrorKind::NotFound if cwd_is_there => {
                ProcessError::NotFound { program: self.program_name() }
            }
            _ => self.io(source),
        }
    }

    fn io(&self, source: io::Error) -> ProcessError {
        ProcessError::Io { program: self.program_name(), source }
    }
}

impl Captured {
    /// Standard output as text.
    #[must_use]
    pub fn stdout_text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Both streams as text, for people: standard error, then standard output, without terminal codes.
    #[must_use]
    pub fn said(&self) -> String {
        let stderr = String::from_utf8_lossy(&self.stderr);
        let stdout = String::from_utf8_lossy(&self.stdout);
        format!("{}\n{}", stderr.trim(), stdout.trim()).trim().to_owned()
    }
}

/// How a child ended, in words: `exit code 3`, `signal 9`.
#[must_use]
pub fn ending(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("signal {signal}");
    }
    status.code().map_or_else(|| status.to_string(), |code| format!("exit code {code}"))
}

/// Ends every process of the group that the process with this id leads, at once.
pub fn kill_group(leader: u32) {
    #[cfg(unix)]
    if let Ok(id) = i32::try_from(leader)
        && id > 1
    {
        // No such group any more is what we want.
        let _ = nix::sys::signal::killpg(nix::unistd::Pid::from_raw(id), nix::sys::signal::SIGKILL);
    }
    #[cfg(not(unix))]
    let _ = leader;
}

/// Where a program is, looked up as the shell would.
#[must_use]
pub fn find_program(name: impl AsRef<OsStr>) -> Option<Utf8PathBuf> {
    Utf8PathBuf::from_path_buf(which::which(name).ok()?).ok()
}

/// Every program of that name on `PATH`, in the order of the search.
#[must_use]
pub fn find_programs(name: impl AsRef<OsStr>) -> Vec<Utf8PathBuf> {
    let all = which::which_all(name).into_iter().flatten();
    all.filter_map(|path| Utf8PathBuf::from_path_buf(path).ok()).collect()
}

/// `PATH` with directories in front.
#[must_use]
pub fn path_with<'a>(front: impl IntoIterator<Item = &'a Utf8Path>) -> OsString {
    let rest = env::PATH.get().unwrap_or_default();
    let front = front.into_iter().map(|dir| dir.as_std_path().to_owned());
    let all: Vec<_> = front.chain(std::env::split_paths(&rest)).collect();
    std::env::join_paths(all).unwrap_or(rest)
}

#[derive(Clone, Copy)]
enum Signal {
    Terminate,
    Kill,
}

fn end(child: &mut Child) {
    end_group(child, Signal::Terminate);
    let asked = Instant::now();
    while asked.elapsed() < GRACE {
        if matches!(child.try_wait(), Ok(Some(_)) | Err(_)) {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    end_group(child, Signal::Kill);
    let _ = child.kill();
    let _ = child.wait();
}

#[cfg(unix)]
fn end_group(child: &Child, signal: Signal) {
    use nix::{sys::signal, unistd::Pid};
    let signal = match signal {
        Signal::Terminate => signal::SIGTERM,
        Signal::Kill => signal::SIGKILL,
    };
    if let Ok(id) = i32::try_from(child.id()) {
        // No such group any more is what we want.
        let _ = signal::killpg(Pid::from_raw(id), signal);
    }
}

#[cfg(not(unix))]
fn end_group(_: &Child, _: Signal) {}

fn last_line(file: &mut File) -> String {
    let mut tail = Vec::new();
    let start = file.metadata().map_or(0, |data| data.len()).saturating_sub(512);
    // The child shares the offset only on platforms without positioned reads; a duplicate handle of
    // our own file would share it too, so read by position.
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileExt as _;
        tail.resize(512, 0);
        let length = file.read_at(&mut tail, start).unwrap_or(0);
        tail.truncate(length);
    }
    #[cfg(not(unix))]
    let _ = start;
    let text = String::from_utf8_lossy(&tail);
    text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default().to_owned()
}

/// Starts it. A script that we wrote a moment ago may still be open in a child that another thread is just starting; that passes.
fn begin(command: &mut Command) -> io::Result<Child> {
    let mut pause = Duration::from_millis(1);
    loop {
        let begun = command.spawn();
        let is_busy = |error: &io::Error| error.kind() == io::ErrorKind::ExecutableFileBusy;
        if !begun.as_ref().is_err_and(is_busy) || pause > Duration::from_secs(1) {
            return begun;
        }
        std::thread::sleep(pause);
        pause *= 2;
    }
}

#[cfg(all(test, unix))]
mod tests;

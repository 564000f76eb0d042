//! Tasks that run in the background: `--background`, and the commands that reach them from any terminal.
//!
//! | module | holds |
//! |---|---|
//! | [`wire`] | what is said, by whom |
//! | [`lines`] | how it is read and written |
//! | [`client`] | whoever wants something: finds the supervisor, or starts it |
//! | [`supervisor`] | the process that looks after background tasks, one per user |
//! | [`runs`] | what it knows of them |
//! | [`journal`] | what happened to them, for whoever comes later |
//! | [`worker`] | the process that runs them, one per `task run` |
//!
//! The supervisor runs nothing itself: each run is a process of its own, with the environment, the directory and the file mode mask
//! of whoever typed it, since all of these are properties of a process and none of a task. What was typed is what it is given, so it
//! takes the same way from there as a run in front of the user. The environment is passed over the socket, stays in memory and is
//! dropped as soon as the process has it; the supervisor itself is started with none.
//!
//! A run lives as long as the supervisor: a process whose supervisor is gone ends at once, so that a crash leaves runs that are
//! interrupted and can be resumed, and none that nobody can reach.

pub(super) mod client;
mod journal;
mod lines;
mod runs;
mod supervisor;
pub(super) mod wire;
mod worker;

use std::{ffi::OsString, io, process::ExitCode};

use agents_system::{
    dirs::Dirs,
    env,
    explain::ErrorKind,
    process::{Call, daemon, this_program},
};
#[cfg(feature = "http")]
use agents_task::TaskId;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err::os::unix::fs::OpenOptionsExt as _;
use serde::Serialize;

use self::wire::{Began, Order, Request, Say};
use super::assignment::Input;
use crate::{
    args::{TaskCommand, without_cargo},
    failure::Failure,
    output::Output,
    settings::Settings,
};

/// What tells this program that it is the supervisor; the state directory and its patience in seconds follow.
const SUPERVISE: &str = "__supervise";
/// What tells it that it runs tasks for one.
const WORK: &str = "__work";
/// How long a supervisor stays for nothing, in seconds.
const IDLE: u64 = 60;
/// The most that is kept of what earlier supervisors had to say.
const MAX_LOG: u64 = 1024 * 1024;
/// Longer paths are no addresses of sockets everywhere.
const MAX_ADDRESS: usize = 100;

/// Whether this process is one of ours, and what became of it.
pub(crate) fn called(argv: &[OsString]) -> Option<ExitCode> {
    match argv {
        [_, command, state, idle] if command == SUPERVISE => {
            let state = Utf8PathBuf::from_os_string(state.clone()).ok()?;
            let idle = idle.to_str()?.parse().ok()?;
            Some(supervisor::run(&Home::below(&state), idle))
        }
        [_, command] if command == WORK => Some(worker::run()),
        _ => None,
    }
}

/// Where the supervisor is.
#[derive(Debug, Clone)]
pub(super) struct Home {
    dir: Utf8PathBuf,
}

impl Home {
    pub(super) fn of(dirs: &Dirs) -> Self {
        Self::below(&dirs.state)
    }

    fn below(state: &Utf8Path) -> Self {
        Self { dir: state.join("supervisor") }
    }

    pub(super) fn log_file(&self) -> Utf8PathBuf {
        self.dir.join("log")
    }

    fn lock_file(&self) -> Utf8PathBuf {
        self.dir.join("lock")
    }

    fn socket(&self) -> Utf8PathBuf {
        self.dir.join("socket")
    }

    /// Makes the directory; nobody else may enter it.
    fn secure(&self) -> io::Result<()> {
        use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true).mode(0o700).create(&self.dir)?;
        let found = fs_err::symlink_metadata(&self.dir)?;
        if !found.is_dir() || found.uid() != daemon::user() {
            let why = format!("`{}` is not a directory of this user", self.dir);
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        if found.mode() & 0o077 != 0 {
            fs_err::set_permissions(&self.dir, std::fs::Permissions::from_mode(0o700))?;
        }
        Ok(())
    }

    /// The file that supervisors write to what happens; one that has grown too long is begun anew.
    fn log(&self) -> io::Result<std::fs::File> {
        let file = self.log_file();
        if fs_err::metadata(&file).is_ok_and(|it| it.len() > MAX_LOG) {
            fs_err::remove_file(&file)?;
        }
        let opened = fs_err::OpenOptions::new().create(true).append(true).mode(0o600).open(file)?;
        Ok(opened.into_parts().0)
    }

    /// The socket as the system takes it, and what must stay open meanwhile.
    fn address(&self) -> io::Result<(Utf8PathBuf, Option<std::fs::File>)> {
        let socket = self.socket();
        if socket.as_str().len() <= MAX_ADDRESS {
            return Ok((socket, None));
        }
        #[cfg(target_os = "linux")]
        {
            use std::os::fd::AsRawFd as _;
            let dir = fs_err::File::open(&self.dir)?.into_parts().0;
            let short = format!("/proc/self/fd/{}/socket", dir.as_raw_fd());
            Ok((short.into(), Some(dir)))
        }
        #[cfg(not(target_os = "linux"))]
        {
            let why = format!("`{socket}` is too long for a socket: set `CARGO_AGENTS_HOME`");
            Err(io::Error::new(io::ErrorKind::InvalidInput, why))
        }
    }

    /// Starts a supervisor. If there is one already, this one goes again.
    fn start(&self) -> io::Result<()> {
        self.secure()?;
        let state = self.dir.parent().unwrap_or(&self.dir);
        let idle = env::SUPERVISOR_IDLE.text().and_then(|it| it.trim().parse().ok());
        let call = Call::new(this_program()?)
            .arg(SUPERVISE)
            .arg(state.as_str())
            .arg(idle.unwrap_or(IDLE).to_string())
            .cwd(self.dir.clone())
            .in_empty_env();
        call.detach_saying(self.log()?).map_err(io::Error::other)
    }
}

/// `--background --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct TaskBackgroundDocument {
    /// In the order of the assignments
    tasks: Vec<StartedView>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct StartedView {
    id: String,
    path: String,
}

/// Has the supervisor run what could have been typed here, the first word of which is the name of the program.
fn begin(settings: &Settings, argv: Vec<String>, input: Option<String>) -> Result<Began, Failure> {
    let order = Order {
        argv,
        input,
        cwd: settings.cwd.clone(),
        mask: daemon::mask(),
        env: env::everything().into_iter().map(|(key, it)| (key.into(), it.into())).collect(),
    };
    match client::ask(settings, &Request::Run(Box::new(order)), client::Start::IfNeeded)? {
        Some(Say::Began(began)) => Ok(began),
        _ => Err(client::unexpected()),
    }
}

/// Goes on from a task, as `task resume --background` does: the id of the one that does.
#[cfg(feature = "http")]
pub(crate) fn resume(settings: &Settings, id: TaskId, prompt: String) -> Result<TaskId, Failure> {
    let words = ["cargo-agents", "task", "resume", &id.to_string(), "-", "--background"];
    let began = begin(settings, words.map(str::to_owned).to_vec(), Some(prompt))?;
    began.tasks.first().map(|it| it.id).ok_or_else(client::unexpected)
}

/// Hands what was typed to the supervisor, and says what it is called.
pub(super) fn hand_over(
    settings: &Settings,
    output: &Output,
    command: &TaskCommand,
) -> Result<ExitCode, Failure> {
    let reads = match command {
        TaskCommand::Run(args) => args.reads_input(),
        TaskCommand::Batch(args) => args.reads_input(),
        TaskCommand::Resume(args) => args.reads_input(),
        _ => false,
    };
    let word = |word: OsString| {
        word.into_string().map_err(|word| {
            Failure::new(ErrorKind::Usage, format!("`{}` is not UTF-8", word.display()))
        })
    };
    let argv = without_cargo(std::env::args_os().collect());
    let argv = argv.into_iter().map(word).collect::<Result<_, _>>()?;
    let input = reads.then(|| Input::Standard.text()).transpose()?;
    let Began { tasks, findings } = begin(settings, argv, input)?;
    if output.is_json() {
        let view =
            |it: wire::Task| StartedView { id: it.id.to_string(), path: it.path.to_string() };
        let tasks = tasks.into_iter().map(view).collect();
        output.document(&TaskBackgroundDocument { tasks })?;
        return Ok(ExitCode::SUCCESS);
    }
    if !output.is_quiet() {
        findings.iter().for_each(|it| output.talk(it));
    }
    for task in &tasks {
        output.line(task.id.to_string())?;
    }
    Ok(ExitCode::SUCCESS)
}

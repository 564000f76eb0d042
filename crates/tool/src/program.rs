//! How programs are started for an agent: what they are told of our environment, and what the system lets them do.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use agents_system::{
    env,
    process::keeper::{Ending, KeepError, Keeper, Order},
    sandbox,
};
use camino::{Utf8Path, Utf8PathBuf};
use secrecy::{ExposeSecret as _, SecretString};

use crate::{
    confine::{Area, RootAccess},
    context::{CallContext, Confinement, Sandbox},
    guardian::{Changed, Guardian, Now},
    policy::{Effect, Effects},
    tool::{Output, ToolError},
};

/// How long a program may take to react to a polite request to end.
const GRACE: Duration = Duration::from_secs(2);

/// How long a command may take unless the call asks for something else.
const DEFAULT_TIME: Duration = Duration::from_secs(120);
/// How much of what is printed first and last is kept, each.
const MAX_HALF: usize = 8 * 1024 * 1024;

/// Where cargo builds.
const TARGET_DIR: &str = "CARGO_TARGET_DIR";

/// Variables that programs get from our own environment, and no others: what else is in it may be a secret.
const HANDED_ON: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    TARGET_DIR,
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    // Where we ourselves look, when a plugin's command is a tool.
    "CARGO_AGENTS_HOME",
    "SYMPOSIUM_HOME",
    "JAVA_HOME",
    "NVM_DIR",
    "PKG_CONFIG_PATH",
    "LD_LIBRARY_PATH",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NIX_PATH",
    "NIX_PROFILES",
];

/// Variables that are the same for all commands: nobody is there to answer, to page or to see colours, and a directory that looks like
/// a repository is none.
const FIXED: &[(&str, &str)] = &[
    ("TERM", "dumb"),
    ("NO_COLOR", "1"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_EDITOR", "true"),
    ("EDITOR", "true"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("GIT_CONFIG_COUNT", "1"),
    ("GIT_CONFIG_KEY_0", "safe.bareRepository"),
    ("GIT_CONFIG_VALUE_0", "explicit"),
];

/// What becomes of the roots of the area in a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Roots {
    /// They may be changed where the area says so.
    AsTheyAre,
    /// They may be looked at: for what runs longer than one call, since nobody puts back what it changes.
    ReadOnly,
}

/// What a program is started with.
pub(crate) struct Surroundings<'a> {
    pub(crate) area: &'a Area,
    pub(crate) secrets: &'a [(String, SecretString)],
    /// Besides the few that all get.
    pub(crate) variables: &'a [(String, String)],
    pub(crate) confinement: &'a Confinement,
    pub(crate) roots: Roots,
    /// A directory of its own, which is gone when it has ended.
    pub(crate) room: &'a Utf8Path,
}

impl Surroundings<'_> {
    /// What a keeper is told.
    pub(crate) fn order(&self, program: &str, args: Vec<String>, cwd: &Utf8Path) -> Order {
        Order {
            program: program.to_owned(),
            args,
            cwd: cwd.to_owned(),
            env: self.environment(),
            sandbox: match self.confinement {
                Confinement::None => None,
                Confinement::Sandbox(sandbox) => Some(self.rights(sandbox)),
            },
            grace: GRACE,
            room: Some(self.room.to_owned()),
        }
    }

    fn environment(&self) -> Vec<(String, String)> {
        let handed =
            HANDED_ON.iter().filter_map(|name| Some(((*name).to_owned(), env::handed_on(name)?)));
        let mut all: Vec<(String, String)> = handed.collect();
        all.extend(FIXED.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        if let Confinement::Sandbox(sandbox) = self.confinement {
            // Git does not run at all where it may not read the user's own configuration.
            all.push(("GIT_CONFIG_GLOBAL".to_owned(), "/dev/null".to_owned()));
            // Where all workspaces of the user are built is not for one of them to change: cargo takes the workspace's own directory.
            let write = self.rights(sandbox).write;
            all.retain(|(name, value)| name != TARGET_DIR || is_within(value.as_ref(), &write));
        }
        for (name, value) in self.variables {
            all.retain(|(it, _)| it != name);
            all.push((name.clone(), value.clone()));
        }
        all.push(("TMPDIR".to_owned(), self.room.to_string()));
        let secrets = self.secrets.iter();
        all.extend(secrets.map(|(name, value)| (name.clone(), value.expose_secret().to_owned())));
        all
    }

    fn rights(&self, sandbox: &Sandbox) -> sandbox::Rights {
        let mut read = sandbox::programs(sandbox.network);
        read.extend(sandbox.read.iter().cloned());
        let mut write: Vec<Utf8PathBuf> = vec!["/dev/null".into(), self.room.to_owned()];
        write.extend(sandbox.write.iter().cloned());
        for (path, access) in self.area.roots() {
            match (access, self.roots) {
                (RootAccess::Write, Roots::AsTheyAre) => write.push(path.to_owned()),
                (RootAccess::Write, Roots::ReadOnly) | (RootAccess::Read, _) => {
                    read.push(path.to_owned());
                }
            }
        }
        sandbox::Rights { read, write, network: sandbox.network }
    }
}

/// Whether a path is in one of these directories. One that is not absolute begins where the program stands, and that is in the area.
fn is_within(path: &Utf8Path, directories: &[Utf8PathBuf]) -> bool {
    path.is_relative() || directories.iter().any(|it| path.starts_with(it))
}

/// A directory that goes with its owner.
pub(crate) struct Room {
    pub(crate) path: Utf8PathBuf,
    _dir: tempfile::TempDir,
}

/// Makes one.
pub(crate) fn room() -> Result<Room, ToolError> {
    let dir = tempfile::Builder::new().prefix("cargo-agents-").tempdir();
    let dir = dir.map_err(|error| ToolError::failed(format!("no temporary directory: {error}")))?;
    let path = Utf8PathBuf::from_path_buf(dir.path().to_owned());
    let path =
        path.map_err(|_| ToolError::failed("the path of the temporary directory is not UTF-8"))?;
    Ok(Room { path, _dir: dir })
}

/// Why a program did not run.
pub(crate) fn failed(error: KeepError) -> ToolError {
    match error {
        KeepError::NoSandbox(why) => ToolError::NoSandbox { why },
        error => ToolError::failed(error.to_string()),
    }
}

/// What a program may do that is started so.
pub(crate) fn effects(confinement: &Confinement) -> Effects {
    let network = match confinement {
        Confinement::Sandbox(sandbox) if sandbox.network == sandbox::Network::Denied => {
            Effects::NONE
        }
        _ => Effects::NONE.and(Effect::Network),
    };
    network.and(Effect::Reads).and(Effect::Writes).and(Effect::Executes)
}

/// Runs something with a keeper on a thread of its own. The keeper is always waited for: it ends soon after it is told to, and then
/// nothing is left.
pub(crate) async fn attended(
    context: &CallContext,
    work: impl FnOnce(&CallContext) -> Result<Output, ToolError> + Send + 'static,
) -> Result<Output, ToolError> {
    let own = context.clone();
    let ran = tokio::task::spawn_blocking(move || work(&own)).await;
    ran.unwrap_or_else(|_| Err(ToolError::failed("the tool broke down: this is a bug in it")))
}

/// Runs a program to its end or that of its time, in seconds, and tells what it printed and how it ended.
pub(crate) fn run(
    keeper: &Keeper,
    order: &Order,
    timeout: Option<u64>,
    context: &CallContext,
) -> Result<Output, ToolError> {
    let guardian = match &context.confinement {
        Confinement::None => None,
        Confinement::Sandbox(_) => Some(Guardian::remember(&context.area)),
    };
    let left = context.deadline.saturating_duration_since(Instant::now());
    let time = timeout.map_or(DEFAULT_TIME, Duration::from_secs).min(left);
    let deadline = context.deadline_within(time);
    let mut heard = Heard::new(MAX_HALF);
    let mut stop = || context.cancelled.is_cancelled() || Instant::now() >= deadline;
    let kept = keeper.run(order, &mut |bytes| heard.push(bytes), &mut stop);
    let restored = guardian.map(Guardian::restore).unwrap_or_default();
    let kept = kept.map_err(failed)?;
    if kept.stopped && context.cancelled.is_cancelled() {
        return Err(ToolError::Cancelled);
    }
    let mut text = heard.text();
    let mut note = |line: String| {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&format!("[{line}]\n"));
    };
    if kept.stopped {
        note(format!("stopped: it did not end within {} s", time.as_secs()));
    }
    match kept.ending {
        Ending::Code(0) => {}
        Ending::Code(code) => note(format!("exit code {code}")),
        Ending::Signal(signal) => note(format!("ended by signal {signal}")),
    }
    if kept.ended_too > 0 {
        note(format!("{} processes were still running and have been stopped", kept.ended_too));
    }
    for Changed { path, now } in &restored {
        note(match now {
            Now::AsBefore => format!("`{path}` is protected: its change has been undone"),
            Now::Changed => format!("`{path}` is protected, and its change cannot be undone"),
        });
    }
    let failed = kept.stopped || kept.ending != Ending::Code(0) || !restored.is_empty();
    if text.is_empty() {
        return Ok(Output::said("it printed nothing and ended with 0"));
    }
    Ok(Output { failed, ..Output::data(text) })
}

/// What was printed: the beginning and the end, however much there is between them.
pub(crate) struct Heard {
    /// How much of the beginning and of the end is kept, each.
    half: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    left_out: usize,
}

impl Heard {
    pub(crate) fn new(half: usize) -> Self {
        Self { half, head: Vec::new(), tail: VecDeque::new(), left_out: 0 }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let (first, rest) = bytes.split_at(bytes.len().min(self.half - self.head.len()));
        self.head.extend_from_slice(first);
        self.tail.extend(rest);
        let over = self.tail.len().saturating_sub(self.half);
        self.tail.drain(..over);
        self.left_out += over;
    }

    pub(crate) fn text(mut self) -> String {
        let mut text = String::from_utf8_lossy(&self.head).into_owned();
        if self.left_out > 0 {
            text.push_str(&format!(
                "\n[{} bytes were left out here and are not kept]\n",
                self.left_out
            ));
        }
        // A character may stand on the border.
        if self.left_out == 0 {
            self.head.extend(&self.tail);
            return String::from_utf8_lossy(&self.head).into_owned();
        }
        text.push_str(&String::from_utf8_lossy(self.tail.make_contiguous()));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::is_within;

    #[test]
    fn only_a_build_directory_that_may_be_written_to_is_handed_on() {
        let write = ["/home/ann/shop".into(), "/tmp/room".into()];
        for path in ["target", "/home/ann/shop/target", "/home/ann/shop"] {
            assert!(is_within(path.as_ref(), &write), "{path}");
        }
        for path in ["/home/ann/.target", "/home/ann", "/home/ann/shopping", "/"] {
            assert!(!is_within(path.as_ref(), &write), "{path}");
        }
    }
}

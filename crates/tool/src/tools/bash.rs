//! `bash`.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use agents_system::{
    env,
    process::{
        find_program,
        keeper::{Ending, KeepError, Keeper, Order},
    },
    sandbox,
};
use camino::{Utf8Path, Utf8PathBuf};
use schemars::JsonSchema;
use secrecy::ExposeSecret as _;
use serde::Deserialize;

use crate::{
    confine::RootAccess,
    context::{CallContext, Confinement, Sandbox},
    guardian::Guardian,
    policy::{Effect, Effects},
    rights::Subject,
    tool::{Intent, Output, ToolError, Typed},
};

/// How long a command may take unless the call asks for something else.
const DEFAULT_TIME: Duration = Duration::from_secs(120);
/// How long it may take to react to a polite request to end.
const GRACE: Duration = Duration::from_secs(2);
/// How much of what is printed first and last is kept, each.
const MAX_HALF: usize = 8 * 1024 * 1024;

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
    "CARGO_TARGET_DIR",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
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

/// Runs commands of the shell.
#[derive(Debug, Clone)]
pub struct Bash {
    keeper: Keeper,
}

impl Bash {
    /// Commands run under this keeper, which sees to it that nothing of them stays.
    #[must_use]
    pub fn new(keeper: Keeper) -> Self {
        Self { keeper }
    }
}

/// What to run.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BashInput {
    /// The command. Each call is a new shell: variables and directories of earlier ones are gone.
    pub command: String,
    /// The directory to run it in; the working directory if absent.
    #[serde(default)]
    pub cwd: Option<String>,
    /// How many seconds it may take; 120 if absent.
    #[serde(default)]
    pub timeout: Option<u64>,
}

impl Typed for Bash {
    type Input = BashInput;

    const NAME: &'static str = "bash";
    const DESCRIPTION: &'static str = "Runs a command with bash and gives what it printed, and how it ended. Nothing is there to answer questions, and whatever is still \
        running when the command ends is stopped. Use `cwd` instead of `cd`, and `read`, `write`, `edit`, `search` and `find` instead of commands that do the same.";

    fn intent(&self, input: &BashInput, context: &CallContext) -> Result<Intent, ToolError> {
        context.area.locate(input.cwd.as_deref().unwrap_or("."))?;
        let network = match &context.confinement {
            Confinement::Sandbox(sandbox) if sandbox.network == sandbox::Network::Denied => {
                Effects::NONE
            }
            _ => Effects::NONE.and(Effect::Network),
        };
        let effects = network.and(Effect::Reads).and(Effect::Writes).and(Effect::Executes);
        Ok(Intent { subject: Subject::Command(input.command.clone()), ..Intent::plain(effects) })
    }

    async fn run(&self, input: BashInput, context: &CallContext) -> Result<Output, ToolError> {
        // The keeper is always waited for: it ends soon after it is told to, and then nothing is left.
        let keeper = self.keeper.clone();
        let own = context.clone();
        let ran = tokio::task::spawn_blocking(move || run(&keeper, &input, &own)).await;
        ran.unwrap_or_else(|_| Err(ToolError::failed("the tool broke down: this is a bug in it")))
    }
}

fn run(keeper: &Keeper, input: &BashInput, context: &CallContext) -> Result<Output, ToolError> {
    let area = context.area.at(input.cwd.as_deref().unwrap_or("."))?;
    let scratch = tempfile::Builder::new().prefix("cargo-agents-").tempdir();
    let scratch =
        scratch.map_err(|error| ToolError::failed(format!("no temporary directory: {error}")))?;
    let Some(room) = Utf8Path::from_path(scratch.path()) else {
        return Err(ToolError::failed("the path of the temporary directory is not UTF-8"));
    };
    let shell = find_program("bash").or_else(|| find_program("sh"));
    let shell = shell.ok_or_else(|| ToolError::failed("there is no shell"))?;
    let order = Order {
        args: arguments(&shell, &input.command),
        program: shell.into(),
        cwd: area.cwd().to_owned(),
        env: environment(context, room),
        sandbox: match &context.confinement {
            Confinement::None => None,
            Confinement::Sandbox(sandbox) => Some(rights(sandbox, context, room)),
        },
        grace: GRACE,
    };
    let guardian = match &context.confinement {
        Confinement::None => None,
        Confinement::Sandbox(_) => Some(Guardian::remember(&context.area)),
    };
    let time = input.timeout.map_or(DEFAULT_TIME, Duration::from_secs);
    let own = Instant::now() + time;
    let deadline = context.deadline.min(own);
    let mut heard = Heard::default();
    let mut stop = || context.cancelled.is_cancelled() || Instant::now() >= deadline;
    let kept = keeper.run(&order, &mut |bytes| heard.push(bytes), &mut stop);
    let restored = guardian.map(Guardian::restore).unwrap_or_default();
    let kept = kept.map_err(|error| match error {
        KeepError::NoSandbox(why) => ToolError::NoSandbox { why },
        error => ToolError::failed(error.to_string()),
    })?;
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
    for path in &restored {
        note(format!("`{path}` is protected: its change has been undone"));
    }
    let failed = kept.stopped || kept.ending != Ending::Code(0) || !restored.is_empty();
    if text.is_empty() {
        return Ok(Output::said("it printed nothing and ended with 0"));
    }
    Ok(Output { failed, ..Output::data(text) })
}

fn arguments(shell: &Utf8Path, command: &str) -> Vec<String> {
    let quiet: &[&str] =
        if shell.file_name() == Some("bash") { &["--noprofile", "--norc"] } else { &[] };
    quiet.iter().copied().chain(["-c", command]).map(str::to_owned).collect()
}

fn environment(context: &CallContext, room: &Utf8Path) -> Vec<(String, String)> {
    let handed =
        HANDED_ON.iter().filter_map(|name| Some(((*name).to_owned(), env::handed_on(name)?)));
    let mut all: Vec<(String, String)> = handed.collect();
    all.extend(FIXED.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    all.push(("TMPDIR".to_owned(), room.to_string()));
    let secrets = context.secrets.iter();
    all.extend(secrets.map(|(name, value)| (name.clone(), value.expose_secret().to_owned())));
    all
}

fn rights(sandbox: &Sandbox, context: &CallContext, room: &Utf8Path) -> sandbox::Rights {
    let mut read = sandbox::programs(sandbox.network);
    read.extend(sandbox.read.iter().cloned());
    let mut write: Vec<Utf8PathBuf> = vec!["/dev/null".into(), room.to_owned()];
    write.extend(sandbox.write.iter().cloned());
    for (path, access) in context.area.roots() {
        match access {
            RootAccess::Write => write.push(path.to_owned()),
            RootAccess::Read => read.push(path.to_owned()),
        }
    }
    sandbox::Rights { read, write, network: sandbox.network }
}

/// What was printed: the beginning and the end, however much there is between them.
#[derive(Default)]
struct Heard {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    left_out: usize,
}

impl Heard {
    fn push(&mut self, bytes: &[u8]) {
        let (first, rest) = bytes.split_at(bytes.len().min(MAX_HALF - self.head.len()));
        self.head.extend_from_slice(first);
        self.tail.extend(rest);
        let over = self.tail.len().saturating_sub(MAX_HALF);
        self.tail.drain(..over);
        self.left_out += over;
    }

    fn text(mut self) -> String {
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

//! `bash`.

use std::time::{Duration, Instant};

use agents_system::{
    process::{
        find_program,
        keeper::{Ending, Keeper},
    },
    sandbox,
};
use camino::Utf8Path;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    context::{CallContext, Confinement},
    guardian::Guardian,
    policy::{Effect, Effects},
    program::{self, Heard, Roots, Surroundings},
    rights::Subject,
    tool::{Intent, Output, ToolError, Typed},
};

/// How long a command may take unless the call asks for something else.
const DEFAULT_TIME: Duration = Duration::from_secs(120);
/// How much of what is printed first and last is kept, each.
const MAX_HALF: usize = 8 * 1024 * 1024;

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
    let scratch = program::room()?;
    let room = &scratch.path;
    let shell = find_program("bash").or_else(|| find_program("sh"));
    let shell = shell.ok_or_else(|| ToolError::failed("there is no shell"))?;
    let order = Surroundings {
        area: &context.area,
        secrets: &context.secrets,
        confinement: &context.confinement,
        roots: Roots::AsTheyAre,
        room,
    }
    .order(shell.as_str(), arguments(&shell, &input.command), area.cwd());
    let guardian = match &context.confinement {
        Confinement::None => None,
        Confinement::Sandbox(_) => Some(Guardian::remember(&context.area)),
    };
    let time = input.timeout.map_or(DEFAULT_TIME, Duration::from_secs);
    let own = Instant::now() + time;
    let deadline = context.deadline.min(own);
    let mut heard = Heard::new(MAX_HALF);
    let mut stop = || context.cancelled.is_cancelled() || Instant::now() >= deadline;
    let kept = keeper.run(&order, &mut |bytes| heard.push(bytes), &mut stop);
    let restored = guardian.map(Guardian::restore).unwrap_or_default();
    let kept = kept.map_err(program::failed)?;
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

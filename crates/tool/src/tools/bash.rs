//! `bash`.

use agents_system::process::{find_program, keeper::Keeper};
use camino::Utf8Path;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    context::CallContext,
    program::{self, Roots, Surroundings},
    rights::Subject,
    tool::{Intent, Output, ToolError, Typed},
};

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
        let effects = program::effects(&context.confinement);
        Ok(Intent { subject: Subject::Command(input.command.clone()), ..Intent::plain(effects) })
    }

    async fn run(&self, input: BashInput, context: &CallContext) -> Result<Output, ToolError> {
        let keeper = self.keeper.clone();
        program::attended(context, move |context| run(&keeper, &input, context)).await
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
        variables: &context.variables,
        confinement: &context.confinement,
        roots: Roots::AsTheyAre,
        room,
    }
    .order(shell.as_str(), arguments(&shell, &input.command), area.cwd());
    program::run(keeper, &order, input.timeout, context)
}

fn arguments(shell: &Utf8Path, command: &str) -> Vec<String> {
    let quiet: &[&str] =
        if shell.file_name() == Some("bash") { &["--noprofile", "--norc"] } else { &[] };
    quiet.iter().copied().chain(["-c", command]).map(str::to_owned).collect()
}

//! Subcommands that plugins have for agents, as tools.
//!
//! Each is run by the program itself, as `cargo-agents <name> ...`: that knows how its program is obtained and what its plugin's sandbox
//! lets it do. Around that stands what this agent may do, so that both hold.

use std::sync::Arc;

use agents_system::process::keeper::Keeper;
use camino::Utf8PathBuf;
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    context::{CallContext, Confinement, Sandbox},
    program::{self, Roots, Surroundings},
    rights::Subject,
    shell::quoted,
    tool::{Intent, Output, Tool, ToolError, schema_of},
};

/// A subcommand of a plugin.
#[derive(Debug, Clone)]
pub struct PluginCommand {
    keeper: Keeper,
    program: Vec<String>,
    command: String,
    name: String,
    description: String,
    readable: Vec<Utf8PathBuf>,
}

impl PluginCommand {
    /// The subcommand `command` of `plugin`, which `program` (that may be several words) knows. `readable` is what that needs besides
    /// what all programs do: our own directories.
    #[must_use]
    pub fn new(
        keeper: Keeper,
        program: Vec<String>,
        (plugin, command): (&str, &str),
        description: &str,
        readable: Vec<Utf8PathBuf>,
    ) -> Self {
        let fine = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
        let name = format!("plugin__{plugin}__{command}");
        let mut name: String = name.chars().map(fine).collect();
        name.truncate(64);
        let description = format!("{} (a command of the plugin `{plugin}`)", description.trim());
        Self { keeper, program, command: command.to_owned(), name, description, readable }
    }
}

/// How it is called.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CommandInput {
    /// The arguments, one by one; no shell looks at them.
    #[serde(default)]
    args: Vec<String>,
    /// The directory to run it in; the working directory if absent.
    #[serde(default)]
    cwd: Option<String>,
    /// How many seconds it may take; 120 if absent.
    #[serde(default)]
    timeout: Option<u64>,
}

impl Tool for PluginCommand {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn schema(&self) -> Arc<Value> {
        schema_of::<CommandInput>()
    }

    fn intent(&self, input: &Value, context: &CallContext) -> Result<Intent, ToolError> {
        let input = self.parse(input.clone())?;
        context.area.locate(input.cwd.as_deref().unwrap_or("."))?;
        let effects = program::effects(&context.confinement);
        // Rules are compared word by word, as those about commands of the shell are.
        let words: Vec<String> = input.args.iter().map(|it| quoted(it)).collect();
        Ok(Intent { subject: Subject::Command(words.join(" ")), ..Intent::plain(effects) })
    }

    fn call<'a>(
        &'a self,
        input: Value,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<Output, ToolError>> {
        Box::pin(async move {
            let input = self.parse(input)?;
            let own = self.clone();
            program::attended(context, move |context| own.run(&input, context)).await
        })
    }
}

impl PluginCommand {
    fn parse(&self, input: Value) -> Result<CommandInput, ToolError> {
        let input = if input.is_null() { Value::Object(serde_json::Map::new()) } else { input };
        serde_json::from_value(input)
            .map_err(|source| ToolError::Input { tool: self.name.clone(), source })
    }

    fn run(&self, input: &CommandInput, context: &CallContext) -> Result<Output, ToolError> {
        let area = context.area.at(input.cwd.as_deref().unwrap_or("."))?;
        let room = program::room()?;
        let confinement = match &context.confinement {
            Confinement::None => Confinement::None,
            Confinement::Sandbox(sandbox) => Confinement::Sandbox(Sandbox {
                read: sandbox.read.iter().chain(&self.readable).cloned().collect(),
                ..sandbox.clone()
            }),
        };
        let [program, first @ ..] = self.program.as_slice() else {
            return Err(ToolError::failed("there is no program that knows plugins"));
        };
        let words = first.iter().chain([&self.command]).chain(&input.args);
        let order = Surroundings {
            area: &context.area,
            secrets: &context.secrets,
            variables: &context.variables,
            confinement: &confinement,
            roots: Roots::AsTheyAre,
            room: &room.path,
        }
        .order(program, words.cloned().collect(), area.cwd());
        program::run(&self.keeper, &order, input.timeout, context)
    }
}

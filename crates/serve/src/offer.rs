//! What a door needs of the program that opens it.

use std::sync::Arc;

use agents_system::finding::Finding;
use agents_task::{Surroundings, runner::Unavailable};
use agents_tool::Tool;
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Serialize;

/// What the program has, where it stands. A server lives longer than a workspace stays the same: agents, skills and crates are looked
/// for anew with each request. Commands and servers are those that there were when the door was opened, because they run programs.
pub trait Offer: Send + Sync {
    /// Where agents, models and tools of tasks come from.
    fn surroundings(&self) -> Arc<dyn Surroundings>;

    /// Where the definition of an agent is, in words.
    fn place_of(&self, agent: &agents_agent::AgentDefinition) -> String;

    /// The skills that apply here and may be used.
    fn skills(&self) -> BoxFuture<'_, Result<Vec<SkillCard>, Unavailable>>;

    /// One of them, with its text.
    fn skill(&self, name: String) -> BoxFuture<'_, Result<LoadedSkill, Unavailable>>;

    /// The sources of a crate, at the version of this workspace or one that fits the requirement.
    fn find_crate(
        &self,
        name: String,
        version: Option<String>,
    ) -> BoxFuture<'_, Result<FoundCrate, Unavailable>>;

    /// The commands that plugins have for agents.
    fn commands(&self) -> Vec<Arc<dyn Tool>>;

    /// The commands that a person can type: texts that stand for longer ones.
    fn typed(&self) -> Vec<TypedCommand>;

    /// What the agent is told for one of them, with these words in its place.
    fn expand(&self, name: &str, input: &str) -> Option<String>;

    /// The names of the MCP servers that stand behind this one. Nothing is started.
    fn servers(&self) -> Vec<String>;

    /// The tools of these servers, which are started if they are not running.
    fn tools_of(&self, servers: Vec<String>) -> BoxFuture<'_, ServerTools>;

    /// What runs scripts.
    ///
    /// # Errors
    /// Nothing can run them here.
    #[cfg(feature = "script")]
    fn interpreter(&self) -> Result<agents_tool::script::Interpreter, Unavailable>;

    /// Ends everything that was started for any request.
    fn end(&self) -> BoxFuture<'_, ()>;
}

/// What servers have.
#[derive(Clone, Default)]
pub struct ServerTools {
    /// Their tools, called `mcp__server__tool`.
    pub tools: Vec<Arc<dyn Tool>>,
    /// What there is to say about servers that do not start, and about single tools.
    pub findings: Vec<Finding>,
}

/// A command that a person can type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypedCommand {
    /// What it is started by.
    pub name: String,
    /// What it does.
    pub description: String,
}

/// A skill as it is listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SkillCard {
    /// Its name
    pub name: String,
    /// When to use it
    pub description: String,
    /// The plugin that brings it
    pub plugin: String,
    /// The crates that make it apply here
    pub crates: Vec<String>,
}

/// A skill with its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LoadedSkill {
    /// How it is listed
    #[serde(flatten)]
    pub card: SkillCard,
    /// The text of its `SKILL.md`
    pub text: String,
    /// Its directory, which paths in the text are relative to
    pub dir: String,
    /// The other files in it
    pub files: Vec<String>,
}

/// Where the sources of a crate are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FoundCrate {
    /// Its name
    pub name: String,
    /// Its version
    pub version: String,
    /// The directory of its sources
    pub source: String,
}

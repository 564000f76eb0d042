//! The attribute names of the OpenTelemetry conventions for generative AI that we use, and one of our own.

/// What is done: [`INVOKE_AGENT`], [`CHAT`] or [`EXECUTE_TOOL`].
pub const OPERATION: &str = "gen_ai.operation.name";
/// Who answers as the model.
pub const PROVIDER: &str = "gen_ai.provider.name";
/// The model that is asked.
pub const REQUEST_MODEL: &str = "gen_ai.request.model";
/// The model that says that it answered.
pub const RESPONSE_MODEL: &str = "gen_ai.response.model";
/// The name of the definition.
pub const AGENT_NAME: &str = "gen_ai.agent.name";
/// The task.
pub const AGENT_ID: &str = "gen_ai.agent.id";
/// The first task of the tree.
pub const CONVERSATION: &str = "gen_ai.conversation.id";
/// Tokens of requests, those from and into the cache included.
pub const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
/// Tokens of answers.
pub const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
/// Tokens of requests that came from the cache.
pub const CACHE_READ_TOKENS: &str = "gen_ai.usage.cache_read.input_tokens";
/// Tokens of requests that went into it.
pub const CACHE_CREATION_TOKENS: &str = "gen_ai.usage.cache_creation.input_tokens";
/// The tool.
pub const TOOL_NAME: &str = "gen_ai.tool.name";
/// Which call of it.
pub const TOOL_CALL: &str = "gen_ai.tool.call.id";
/// `function`, always.
pub const TOOL_TYPE: &str = "gen_ai.tool.type";
/// What a tool is given; only if that was asked for.
pub const TOOL_ARGUMENTS: &str = "gen_ai.tool.call.arguments";
/// What the model said; only if that was asked for.
pub const OUTPUT_MESSAGES: &str = "gen_ai.output.messages";
/// How something failed, in one word.
pub const ERROR_TYPE: &str = "error.type";
/// What it cost, in dollars. There is no name for this in the conventions.
pub const COST: &str = "cargo_agents.cost.usd";
/// Where the task stands in its tree, with slashes.
pub const PATH: &str = "cargo_agents.task.path";
/// Calls of the model.
pub const TURNS: &str = "cargo_agents.task.turns";

/// A task.
pub const INVOKE_AGENT: &str = "invoke_agent";
/// A call of the model.
pub const CHAT: &str = "chat";
/// A call of a tool.
pub const EXECUTE_TOOL: &str = "execute_tool";

/// What the conventions call a provider that we know.
#[must_use]
pub fn provider(ours: &str) -> &str {
    match ours {
        "gemini" => "gcp.gemini",
        other => other,
    }
}

//! Copilot CLI: `.agent.md`. The name of the file is the id; `name` is only shown.

use super::grammar::{Grammar, Key, McpNames, McpStyle, Naming, SpawnStyle, ToolStyle};
use crate::definition::Dialect;

pub(super) const GRAMMAR: Grammar = Grammar {
    dialect: Dialect::Copilot,
    naming: Naming::File,
    keys: &[
        ("name", Key::Name),
        ("description", Key::Description),
        ("tools", Key::Tools),
        ("model", Key::Model),
        ("mcp-servers", Key::McpServers),
    ],
    extra: &[
        "infer",
        "target",
        "argument-hint",
        "handoffs",
        "agents",
        "user-invocable",
        "disable-model-invocation",
        "metadata",
    ],
    tools: ToolStyle::List,
    mcp_names: McpNames::Slash,
    spawns: SpawnStyle::Tool,
    mcp: McpStyle::Map,
    ..Grammar::MARKDOWN
};

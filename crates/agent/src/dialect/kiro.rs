//! Kiro CLI: JSON. Its editor reads Markdown with the same keys.

use super::grammar::{Grammar, Key, McpNames, McpStyle, Naming, SpawnStyle, ToolStyle};
use crate::definition::Dialect;

pub(super) const GRAMMAR: Grammar = Grammar {
    dialect: Dialect::Kiro,
    naming: Naming::KeyOrFile,
    keys: &[
        ("name", Key::Name),
        ("description", Key::Description),
        ("prompt", Key::Prompt),
        ("tools", Key::Tools),
        ("model", Key::Model),
        ("mcpServers", Key::McpServers),
        ("hooks", Key::Hooks),
    ],
    extra: &[
        "$schema",
        "toolAliases",
        "allowedTools",
        "toolsSettings",
        "resources",
        "includeMcpJson",
        "useLegacyMcpJson",
        "keyboardShortcut",
        "welcomeMessage",
        "permissions",
    ],
    tools: ToolStyle::ListOrStar,
    mcp_names: McpNames::At,
    spawns: SpawnStyle::Tool,
    mcp: McpStyle::Map,
    ..Grammar::MARKDOWN
};

//! Gemini CLI: Markdown. Its agents start no others.

use super::grammar::{Grammar, Key, McpNames, McpStyle, Models, Names};
use crate::definition::Dialect;

pub(super) const GRAMMAR: Grammar = Grammar {
    dialect: Dialect::Gemini,
    names: Names::Lower,
    keys: &[
        ("name", Key::Name),
        ("description", Key::Description),
        ("tools", Key::Tools),
        ("model", Key::Model),
        ("max_turns", Key::Turns),
        ("timeout_mins", Key::Minutes),
        ("mcpServers", Key::McpServers),
    ],
    extra: &["kind", "temperature", "display_name", "agent_card_url", "auth"],
    mcp_names: McpNames::Single,
    models: Models::Gemini,
    mcp: McpStyle::Map,
    ..Grammar::MARKDOWN
};

//! Factory Droid: Markdown; tools by name or by category.

use super::grammar::{Grammar, Key, McpStyle, Names};
use crate::definition::{
    Dialect,
    Effort::{High, Low, Max, Medium, Minimal, Off, Xhigh},
};

pub(super) const GRAMMAR: Grammar = Grammar {
    dialect: Dialect::Factory,
    names: Names::Lower,
    keys: &[
        ("name", Key::Name),
        ("description", Key::Description),
        ("model", Key::Model),
        ("reasoningEffort", Key::Effort),
        ("tools", Key::Tools),
        ("mcpServers", Key::McpServers),
    ],
    extra: &["version", "location", "color"],
    efforts: &[
        ("off", Off),
        ("none", Off),
        ("minimal", Minimal),
        ("low", Low),
        ("medium", Medium),
        ("high", High),
        ("xhigh", Xhigh),
        ("max", Max),
    ],
    mcp: McpStyle::Names,
    max_description: Some(500),
    ..Grammar::MARKDOWN
};

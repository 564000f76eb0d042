//! Claude Code: Markdown, flat keys.

use super::grammar::{DenyStyle, Grammar, Key, McpStyle, Models, Patterns, SpawnStyle, ToolStyle};
use crate::definition::{
    Dialect,
    Effort::{High, Low, Max, Medium, Xhigh},
    PermissionMode::{AcceptEdits, BypassPermissions, Default, DontAsk, Plan},
};

pub(super) const GRAMMAR: Grammar = Grammar {
    dialect: Dialect::Claude,
    keys: &[
        ("name", Key::Name),
        ("description", Key::Description),
        ("tools", Key::Tools),
        ("disallowedTools", Key::Deny),
        ("model", Key::Model),
        ("effort", Key::Effort),
        ("permissionMode", Key::Mode),
        ("maxTurns", Key::Turns),
        ("skills", Key::Skills),
        ("mcpServers", Key::McpServers),
        ("hooks", Key::Hooks),
        ("memory", Key::Memory),
        ("background", Key::Background),
        ("isolation", Key::Isolation),
    ],
    extra: &["color", "initialPrompt"],
    modes: &[
        ("default", Default),
        ("manual", Default),
        ("acceptEdits", AcceptEdits),
        ("dontAsk", DontAsk),
        ("bypassPermissions", BypassPermissions),
        ("plan", Plan),
    ],
    efforts: &[("low", Low), ("medium", Medium), ("high", High), ("xhigh", Xhigh), ("max", Max)],
    tools: ToolStyle::Commas,
    deny: DenyStyle::List,
    patterns: Patterns::Arguments,
    spawns: SpawnStyle::ToolWithNames,
    models: Models::Claude,
    mcp: McpStyle::Mixed,
    ..Grammar::MARKDOWN
};

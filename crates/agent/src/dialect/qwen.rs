//! Qwen Code: Markdown, with the keys of Claude Code besides its own.

use super::grammar::{DenyStyle, Grammar, Key, McpStyle, Models, Names, SpawnStyle};
use crate::definition::{
    Dialect,
    PermissionMode::{AcceptEdits, BypassPermissions, Default, DontAsk, Plan},
};

pub(super) const GRAMMAR: Grammar = Grammar {
    dialect: Dialect::Qwen,
    names: Names::Plain,
    keys: &[
        ("name", Key::Name),
        ("description", Key::Description),
        ("tools", Key::Tools),
        ("disallowedTools", Key::Deny),
        ("model", Key::Model),
        ("approvalMode", Key::Mode),
        ("permissionMode", Key::Mode),
        ("maxTurns", Key::Turns),
        ("mcpServers", Key::McpServers),
        ("hooks", Key::Hooks),
    ],
    extra: &["color", "modelConfig", "runConfig"],
    modes: &[
        ("plan", Plan),
        ("default", Default),
        ("auto-edit", AcceptEdits),
        ("yolo", BypassPermissions),
        // Those of Claude Code, which it accepts.
        ("acceptEdits", AcceptEdits),
        ("bypassPermissions", BypassPermissions),
        ("dontAsk", DontAsk),
    ],
    deny: DenyStyle::List,
    spawns: SpawnStyle::Tool,
    models: Models::OneOrFast,
    mcp: McpStyle::Map,
    ..Grammar::MARKDOWN
};

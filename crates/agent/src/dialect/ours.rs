//! Our own: all that a definition can say.

use super::grammar::{
    DenyStyle, Grammar, Key, ListStyle, McpStyle, Models, Patterns, SpawnStyle, ToolStyle,
};
use crate::definition::{
    Dialect,
    Effort::{High, Low, Max, Medium, Minimal, Off, Xhigh},
    PermissionMode::{AcceptEdits, BypassPermissions, Default, DontAsk, Plan},
};

pub(super) const GRAMMAR: Grammar = Grammar {
    dialect: Dialect::Ours,
    keys: &[
        ("name", Key::Name),
        ("description", Key::Description),
        ("tools", Key::Tools),
        ("spawns", Key::Spawns),
        ("model", Key::Model),
        ("effort", Key::Effort),
        ("permission-mode", Key::Mode),
        ("waiting", Key::Waiting),
        ("isolation", Key::Isolation),
        ("limits.turns", Key::Turns),
        ("limits.time", Key::Time),
        ("limits.tokens", Key::Tokens),
        ("limits.cost", Key::Cost),
        ("limits.history", Key::History),
        ("limits.grant", Key::Grant),
        ("skills", Key::Skills),
        ("mcp-servers", Key::McpServers),
        ("hooks", Key::Hooks),
        ("memory", Key::Memory),
        ("secrets", Key::Secrets),
        ("priority", Key::Priority),
        ("mutex", Key::Mutex),
        ("output", Key::Output),
    ],
    // What must hold before a task is done: read by whoever runs it.
    extra: &["done-when"],
    modes: &[
        ("default", Default),
        ("accept-edits", AcceptEdits),
        ("dont-ask", DontAsk),
        ("bypass-permissions", BypassPermissions),
        ("plan", Plan),
    ],
    efforts: &[
        ("off", Off),
        ("minimal", Minimal),
        ("low", Low),
        ("medium", Medium),
        ("high", High),
        ("xhigh", Xhigh),
        ("max", Max),
    ],
    tools: ToolStyle::ListOrNested,
    deny: DenyStyle::List,
    patterns: Patterns::All,
    spawns: SpawnStyle::Key,
    models: Models::Patterns,
    mcp: McpStyle::Mixed,
    lists: ListStyle::Nested,
    ..Grammar::MARKDOWN
};

//! Zeph: Markdown, nested `tools`, `permissions` and `skills`; YAML, or TOML between `+++`.

use super::grammar::{DenyStyle, Grammar, Key, Lines, ListStyle, Names, Patterns, ToolStyle};
use crate::definition::{
    Dialect,
    PermissionMode::{AcceptEdits, BypassPermissions, Default, DontAsk, Plan},
};

pub(super) const GRAMMAR: Grammar = Grammar {
    dialect: Dialect::Zeph,
    names: Names::Plain,
    keys: &[
        ("name", Key::Name),
        ("description", Key::Description),
        ("model", Key::Model),
        ("tools", Key::Tools),
        ("permissions.secrets", Key::Secrets),
        ("permissions.max_turns", Key::Turns),
        ("permissions.background", Key::Background),
        ("permissions.timeout_secs", Key::Seconds),
        ("permissions.ttl_secs", Key::GrantSeconds),
        ("permissions.permission_mode", Key::Mode),
        ("permissions.max_history_messages", Key::History),
        ("permissions.worktree", Key::Worktree),
        ("skills", Key::Skills),
        ("hooks", Key::Hooks),
        ("memory", Key::Memory),
    ],
    modes: &[
        ("default", Default),
        ("accept_edits", AcceptEdits),
        ("dont_ask", DontAsk),
        ("bypass_permissions", BypassPermissions),
        ("plan", Plan),
    ],
    tools: ToolStyle::Nested,
    deny: DenyStyle::List,
    patterns: Patterns::Names,
    lists: ListStyle::Nested,
    description_lines: Lines::One,
    ..Grammar::MARKDOWN
};

//! agentsdk-go: Markdown, comma lists.

use super::grammar::{
    Grammar, Key, ListStyle, Models, Names, Naming, Patterns, SpawnStyle, ToolStyle,
};
use crate::definition::{
    Dialect,
    PermissionMode::{AcceptEdits, BypassPermissions, Default, Plan},
};

pub(super) const GRAMMAR: Grammar = Grammar {
    dialect: Dialect::AgentSdk,
    names: Names::Hyphens,
    naming: Naming::KeyOrFile,
    keys: &[
        ("name", Key::Name),
        ("description", Key::Description),
        ("tools", Key::Tools),
        ("model", Key::Model),
        ("permissionMode", Key::Mode),
        ("skills", Key::Skills),
    ],
    modes: &[
        ("default", Default),
        ("acceptEdits", AcceptEdits),
        ("bypassPermissions", BypassPermissions),
        ("plan", Plan),
    ],
    tools: ToolStyle::Commas,
    patterns: Patterns::Names,
    spawns: SpawnStyle::Tool,
    models: Models::ClaudeAlias,
    lists: ListStyle::Commas,
    ..Grammar::MARKDOWN
};

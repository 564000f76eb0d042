//! Codex: a TOML role, which is a layer of its configuration with a name and instructions.

use super::grammar::{Grammar, Key, McpStyle, Models, ToolStyle};
use crate::definition::{
    Dialect,
    Effort::{High, Low, Medium, Minimal, Off, Xhigh},
};

pub(super) const GRAMMAR: Grammar = Grammar {
    dialect: Dialect::Codex,
    keys: &[
        ("name", Key::Name),
        ("description", Key::Description),
        ("developer_instructions", Key::Prompt),
        ("model", Key::Model),
        ("model_reasoning_effort", Key::Effort),
        ("approval_policy", Key::Approval),
        ("sandbox_mode", Key::Sandbox),
        ("mcp_servers", Key::McpServers),
    ],
    // The keys of its configuration that roles use; there are many more.
    extra: &[
        "nickname_candidates",
        "model_provider",
        "model_reasoning_summary",
        "model_verbosity",
        "service_tier",
        "sandbox_workspace_write",
        "web_search",
        "features",
        "tools",
        "skills",
        "shell_environment_policy",
        "personality",
    ],
    efforts: &[
        ("none", Off),
        ("minimal", Minimal),
        ("low", Low),
        ("medium", Medium),
        ("high", High),
        ("xhigh", Xhigh),
    ],
    tools: ToolStyle::Never,
    models: Models::OpenAi,
    mcp: McpStyle::Map,
    ..Grammar::MARKDOWN
};

//! Claude Code, over the Messages format.

use agents_system::process::Call;
use camino::Utf8PathBuf;
use serde_json::{Value, json};

use super::{Client, Place};

pub(super) struct Claude;

impl Client for Claude {
    fn host(&self) -> &'static str {
        "claude"
    }

    fn files(&self, _place: &Place<'_>) -> Vec<(Utf8PathBuf, String)> {
        // It reads strict JSON, so there is no comment to keep here.
        let settings = "{\n  \"permissions\": { \"allow\": [\"mcp__notes\", \"mcp__cargo-agents\", \"Bash\"] },\n  \
                        \"enableAllProjectMcpServers\": true\n}\n";
        let state = "{ \"hasCompletedOnboarding\": true,\n\t\"theme\": \"dark\" }\n";
        vec![
            (".claude/settings.json".into(), settings.to_owned()),
            (".claude.json".into(), state.to_owned()),
        ]
    }

    fn env(&self, place: &Place<'_>) -> Vec<(&'static str, String)> {
        vec![
            ("ANTHROPIC_BASE_URL", place.url.to_owned()),
            ("ANTHROPIC_API_KEY", "none".to_owned()),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
            ("DISABLE_AUTOUPDATER", "1".to_owned()),
            // Otherwise the tools of MCP servers are hidden behind a search.
            ("ENABLE_TOOL_SEARCH", "false".to_owned()),
        ]
    }

    fn prompt(&self, place: &Place<'_>, text: &str) -> Call {
        place.call(self).args(["--model", place.model, "-p", text])
    }

    fn shell(&self) -> &'static str {
        "Bash"
    }

    fn tool(&self, server: &str, tool: &str) -> String {
        format!("mcp__{server}__{tool}")
    }

    fn delegate(&self, agent: &str, prompt: &str) -> (&'static str, Value) {
        ("Agent", json!({"description": "Reads queries", "prompt": prompt, "subagent_type": agent}))
    }

    fn calls_home(&self) -> &'static [&'static str] {
        &["api.anthropic.com", "statsig.anthropic.com", "downloads.claude.ai", "claude.ai"]
    }
}

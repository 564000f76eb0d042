//! Qwen Code, over the Chat Completions format.

use agents_system::process::Call;
use camino::Utf8PathBuf;
use serde_json::{Value, json};

use super::{Client, Place};

pub(super) struct Qwen;

impl Client for Qwen {
    fn host(&self) -> &'static str {
        "qwen"
    }

    fn files(&self, _place: &Place<'_>) -> Vec<(Utf8PathBuf, String)> {
        // Otherwise the tools of MCP servers are hidden behind a search.
        let settings = "{\n  // no login\n  \
                        \"tools\": { \"toolSearch\": { \"enabled\": false } }, // show me all\n  \
                        \"security\": { \"auth\": { \"selectedType\": \"openai\" } },\n  \
                        \"privacy\": { \"usageStatisticsEnabled\": false }\n}\n";
        vec![(".qwen/settings.json".into(), settings.to_owned())]
    }

    fn env(&self, place: &Place<'_>) -> Vec<(&'static str, String)> {
        vec![
            ("OPENAI_API_KEY", "none".to_owned()),
            ("OPENAI_BASE_URL", format!("{}/v1", place.url)),
            ("OPENAI_MODEL", place.model.to_owned()),
        ]
    }

    fn prompt(&self, place: &Place<'_>, text: &str) -> Call {
        place.call(self).args(["--yolo", "-p", text])
    }

    fn shell(&self) -> &'static str {
        "run_shell_command"
    }

    fn shell_input(&self, command: &str) -> Value {
        json!({"command": command, "description": "Runs it", "is_background": false})
    }

    fn tool(&self, server: &str, tool: &str) -> String {
        format!("mcp__{server}__{tool}")
    }

    fn delegate(&self, agent: &str, prompt: &str) -> (&'static str, Value) {
        ("agent", json!({"description": "Reads queries", "prompt": prompt, "subagent_type": agent}))
    }

    fn calls_home(&self) -> &'static [&'static str] {
        &["gb4w8c3ygj-default-sea.rum.aliyuncs.com", "registry.npmjs.org"]
    }
}

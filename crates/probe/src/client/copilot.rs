//! GitHub Copilot CLI with a model of the user's own, over the Chat Completions format.

use agents_system::process::Call;
use camino::Utf8PathBuf;
use serde_json::{Value, json};

use super::{Client, Place};

pub(super) struct Copilot;

impl Client for Copilot {
    fn host(&self) -> &'static str {
        "copilot"
    }

    fn files(&self, _place: &Place<'_>) -> Vec<(Utf8PathBuf, String)> {
        let servers = "{\n    \"mcpServers\": {\n    }\n}\n";
        vec![(".copilot/mcp-config.json".into(), servers.to_owned())]
    }

    fn env(&self, place: &Place<'_>) -> Vec<(&'static str, String)> {
        vec![
            ("COPILOT_OFFLINE", "true".to_owned()),
            ("COPILOT_PROVIDER_BASE_URL", format!("{}/v1", place.url)),
            ("COPILOT_PROVIDER_API_KEY", "none".to_owned()),
            ("COPILOT_MODEL", place.model.to_owned()),
        ]
    }

    fn prompt(&self, place: &Place<'_>, text: &str) -> Call {
        place.call(self).args(["--trust-folder", "--allow-all", "-p", text])
    }

    fn shell(&self) -> &'static str {
        "bash"
    }

    fn shell_input(&self, command: &str) -> Value {
        json!({"command": command, "description": "Runs it", "mode": "sync"})
    }

    fn failing(&self) -> (&'static str, Value) {
        // A command that fails is a tool that worked.
        ("view", json!({"path": "/there-is-no-such-file"}))
    }

    fn tool(&self, server: &str, tool: &str) -> String {
        format!("{server}-{tool}")
    }

    fn delegate(&self, agent: &str, prompt: &str) -> (&'static str, Value) {
        (
            "task",
            json!({"agent_type": agent, "prompt": prompt, "description": "Reads queries", "name": "reader"}),
        )
    }

    fn calls_home(&self) -> &'static [&'static str] {
        &[
            "api.github.com",
            "github.com",
            "api.githubcopilot.com",
            "telemetry.business.githubcopilot.com",
        ]
    }
}

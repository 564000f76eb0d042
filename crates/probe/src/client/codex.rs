//! Codex CLI, over the Responses format.

use agents_system::process::Call;
use camino::Utf8PathBuf;
use serde_json::{Value, json};

use super::{Client, Place};

pub(super) struct Codex;

impl Client for Codex {
    fn host(&self) -> &'static str {
        "codex"
    }

    fn files(&self, place: &Place<'_>) -> Vec<(Utf8PathBuf, String)> {
        let Place { url, model, workspace, .. } = place;
        // The last table stands for a folder that the user has accepted; without it Codex ignores
        // what the workspace configures.
        let config = format!(
            "# how I like it\n\
             model = \"{model}\" # the cheap one\n\
             model_provider = \"scripted\"\n\
             \n\
             [model_providers.scripted]\n\
             name = \"Scripted\"\n\
             base_url = \"{url}/v1\"\n\
             env_key = \"SCRIPTED_KEY\"\n\
             wire_api = \"responses\"\n\
             \n\
             # accepted on the first day\n\
             [projects.\"{workspace}\"]\n\
             trust_level = \"trusted\"\n"
        );
        vec![(".codex/config.toml".into(), config)]
    }

    fn env(&self, _place: &Place<'_>) -> Vec<(&'static str, String)> {
        vec![("SCRIPTED_KEY", "none".to_owned())]
    }

    fn prompt(&self, place: &Place<'_>, text: &str) -> Call {
        let mode = [
            "exec",
            "--skip-git-repo-check",
            "--dangerously-bypass-approvals-and-sandbox",
            // Stands for the user's yes to our hooks, which are not run without one.
            "--dangerously-bypass-hook-trust",
        ];
        place.call(self).args(mode).arg(text)
    }

    fn shell(&self) -> &'static str {
        "exec_command"
    }

    fn shell_input(&self, command: &str) -> Value {
        json!({"cmd": command})
    }

    fn tool(&self, server: &str, tool: &str) -> String {
        // It turns whatever a name of a function may not have into `_`.
        format!("mcp__{}__{tool}", server.replace('-', "_"))
    }

    fn delegate(&self, agent: &str, prompt: &str) -> (&'static str, Value) {
        ("spawn_agent", json!({"agent_type": agent, "message": prompt}))
    }

    fn hear(&self) -> fn(&str) -> Option<(&'static str, Value)> {
        |answered| {
            let answered: Value = serde_json::from_str(answered).ok()?;
            Some(("wait_agent", json!({"targets": [answered["agent_id"]], "timeout_ms": 60_000})))
        }
    }

    fn calls_home(&self) -> &'static [&'static str] {
        &["chatgpt.com", "api.openai.com", "ab.chatgpt.com", "github.com", "api.github.com"]
    }
}

//! Gemini CLI, over the format of Gemini.

use agents_system::{cache::hex, process::Call};
use camino::Utf8PathBuf;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::{Client, Place};

pub(super) struct Gemini;

impl Client for Gemini {
    fn host(&self) -> &'static str {
        "gemini"
    }

    fn files(&self, _place: &Place<'_>) -> Vec<(Utf8PathBuf, String)> {
        let settings = "{\n  // with the key of the team\n  \
                        \"security\": { \"auth\": { \"selectedType\": \"gemini-api-key\" } },\n  \
                        \"privacy\": { \"usageStatisticsEnabled\": false } // please\n}\n";
        vec![(".gemini/settings.json".into(), settings.to_owned())]
    }

    fn env(&self, place: &Place<'_>) -> Vec<(&'static str, String)> {
        vec![
            ("GEMINI_API_KEY", "none".to_owned()),
            ("GOOGLE_GEMINI_BASE_URL", place.url.to_owned()),
            ("GEMINI_CLI_TRUST_WORKSPACE", "true".to_owned()),
        ]
    }

    fn prompt(&self, place: &Place<'_>, text: &str) -> Call {
        place.call(self).args(["--yolo", "--model", place.model, "-p", text])
    }

    fn shell(&self) -> &'static str {
        "run_shell_command"
    }

    fn tool(&self, server: &str, tool: &str) -> String {
        format!("mcp_{server}_{tool}")
    }

    fn delegate(&self, agent: &str, prompt: &str) -> (&'static str, Value) {
        ("invoke_agent", json!({"agent_name": agent, "prompt": prompt}))
    }

    fn accepted(&self, place: &Place<'_>) -> Vec<(Utf8PathBuf, String)> {
        // It asks about every agent of a workspace before it uses it.
        let dir = place.workspace.join(".gemini/agents");
        let entries = dir.read_dir_utf8().into_iter().flatten().flatten();
        let agents = entries.filter_map(|entry| {
            let name = entry.path().file_stem()?.to_owned();
            let sum = Sha256::digest(fs_err::read(entry.path()).ok()?);
            Some((name, json!(hex(&sum))))
        });
        let agents: Map<String, Value> = agents.collect();
        let all = json!({ place.workspace.as_str(): agents });
        vec![(".gemini/acknowledgments/agents.json".into(), all.to_string())]
    }

    fn calls_home(&self) -> &'static [&'static str] {
        &["play.googleapis.com", "generativelanguage.googleapis.com", "registry.npmjs.org"]
    }
}

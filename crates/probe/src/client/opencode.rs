//! OpenCode, over the Chat Completions format.

use agents_system::process::Call;
use camino::Utf8PathBuf;
use serde_json::{Value, json};

use super::{Client, Place};

pub(super) struct Opencode;

impl Client for Opencode {
    fn host(&self) -> &'static str {
        "opencode"
    }

    fn files(&self, place: &Place<'_>) -> Vec<(Utf8PathBuf, String)> {
        let Place { url, model, .. } = place;
        let config = format!(
            "{{\n  // my own model\n  \"model\": \"scripted/{model}\",\n  \"permission\": \"allow\",\n  \
             \"provider\": {{\n    \"scripted\": {{\n      \"npm\": \"@ai-sdk/openai-compatible\",\n      \
             \"options\": {{ \"baseURL\": \"{url}/v1\", \"apiKey\": \"none\" }},\n      \
             \"models\": {{ \"{model}\": {{}} }}, // one is enough\n    }},\n  }},\n}}\n"
        );
        // On its first start it asks npm for a package, and waits long for a network that is not there.
        let npmrc = format!("; mine\nregistry={url}/npm/\nfetch-retries=0\n");
        vec![(".config/opencode/opencode.json".into(), config), (".npmrc".into(), npmrc)]
    }

    fn env(&self, _place: &Place<'_>) -> Vec<(&'static str, String)> {
        vec![("OPENCODE_DISABLE_MODELS_FETCH", "1".to_owned())]
    }

    fn prompt(&self, place: &Place<'_>, text: &str) -> Call {
        place.call(self).args(["run", text])
    }

    fn shell(&self) -> &'static str {
        "bash"
    }

    fn tool(&self, server: &str, tool: &str) -> String {
        format!("{server}_{tool}")
    }

    fn delegate(&self, agent: &str, prompt: &str) -> (&'static str, Value) {
        ("task", json!({"description": "Reads queries", "prompt": prompt, "subagent_type": agent}))
    }

    fn calls_home(&self) -> &'static [&'static str] {
        &["models.dev", "opencode.ai", "api.opencode.ai", "registry.npmjs.org"]
    }
}

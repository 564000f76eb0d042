//! OpenCode, over the Chat Completions format.

use std::time::Duration;

use agents_system::process::Call;
use camino::Utf8PathBuf;
use serde_json::{Value, json};

use super::{Client, Place, codex::Codex};
use crate::install::Package;

pub(super) struct Opencode;

/// Where Codex keeps the `rg` that it brings.
const RG: &str = "node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/codex-path";

impl Client for Opencode {
    fn host(&self) -> &'static str {
        "opencode"
    }

    fn package(&self) -> Package {
        Package { name: "opencode-ai", program: "node_modules/.bin/opencode" }
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

    fn env(&self, place: &Place<'_>) -> Vec<(&'static str, String)> {
        // It wants an `rg` on the path, and would download one.
        let rg = place.prefix.file(Codex.package(), RG);
        let (ours, rg) = (place.ours.to_owned(), rg.unwrap_or_default());
        let path = [ours, place.prefix.node(), rg, "/usr/bin".into(), "/bin".into()];
        let path = path.map(Utf8PathBuf::into_string).join(":");
        vec![("OPENCODE_DISABLE_MODELS_FETCH", "1".to_owned()), ("PATH", path)]
    }

    fn prompt(&self, place: &Place<'_>, text: &str) -> Call {
        place.call(self).args(["run", text]).deadline(Duration::from_secs(180))
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

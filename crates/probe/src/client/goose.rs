//! Goose, over the Chat Completions format.

use agents_system::process::Call;
use camino::Utf8PathBuf;
use serde_json::{Value, json};

use super::{Client, Place};

pub(super) struct Goose;

impl Client for Goose {
    fn host(&self) -> &'static str {
        "goose"
    }

    fn files(&self, place: &Place<'_>) -> Vec<(Utf8PathBuf, String)> {
        let config = format!(
            "# my goose\nGOOSE_PROVIDER: openai\nGOOSE_MODEL: {} # the only one\nGOOSE_MODE: auto\n\
             extensions:\n  # for files\n  developer:\n    name: developer\n    type: builtin\n    enabled: true\n\
             GOOSE_TELEMETRY_ENABLED: false\n",
            place.model
        );
        vec![(".config/goose/config.yaml".into(), config)]
    }

    fn env(&self, place: &Place<'_>) -> Vec<(&'static str, String)> {
        vec![
            ("OPENAI_API_KEY", "none".to_owned()),
            ("OPENAI_HOST", place.url.to_owned()),
            ("GOOSE_DISABLE_KEYRING", "1".to_owned()),
        ]
    }

    fn prompt(&self, place: &Place<'_>, text: &str) -> Call {
        place.call(self).args(["run", "--no-session", "-t", text])
    }

    fn shell(&self) -> &'static str {
        "shell"
    }

    fn shell_input(&self, command: &str) -> Value {
        json!({"command": command})
    }

    fn tool(&self, server: &str, tool: &str) -> String {
        format!("{server}__{tool}")
    }

    fn delegate(&self, agent: &str, prompt: &str) -> (&'static str, Value) {
        ("delegate", json!({"source": agent, "instructions": prompt}))
    }
}

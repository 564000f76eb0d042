//! Every setting about models with its value and who says so, for `config show`.

use std::collections::BTreeMap;

use agents_plugin::config::{Config, ConfigError, Origin, Setting, quoted_key};
use agents_system::{
    decode::{Document, Table},
    dirs::Dirs,
};
use serde_json::{Value, json};

use super::{ModelSettings, ProviderSettings};
use crate::{keys::KeySource, select::level_word};

impl ModelSettings {
    /// Every setting that the file has. Written as TOML again, they mean the same.
    pub fn settings(dirs: &Dirs) -> Result<Vec<Setting>, ConfigError> {
        let file = Config::file(dirs);
        let text = Config::text(&file)?;
        let settings = Self::parse(&file, &text, &dirs.config)?;
        let document = Document::parse(file.clone(), &text)
            .map_err(|finding| ConfigError::Invalid { file, findings: vec![*finding] })?;
        let root = document.root();
        let mut all = settings.of_models(root.table("models").as_ref());
        let tables = root.table("providers");
        for provider in &settings.providers {
            let table = tables.as_ref().and_then(|all| {
                let (_, value) = all.entries().find(|(name, _)| name.as_str() == provider.name)?;
                value.table(provider.name.clone())
            });
            all.extend(of_provider(provider, table.as_ref()));
        }
        Ok(all)
    }

    fn of_models(&self, table: Option<&Table<'_>>) -> Vec<Setting> {
        let preferences = &self.preferences;
        let effort = preferences.max_effort.map(level_word);
        let said = |key: &'static str| Origin::of(table, key);
        let mut all = Vec::new();
        if !preferences.providers.is_empty() {
            let providers = json!(preferences.providers);
            all.push(setting("models.providers", providers, said("providers")));
        }
        if let Some(effort) = effort {
            all.push(setting("models.max-effort", json!(effort), said("max-effort")));
        }
        let named: [(&'static str, &BTreeMap<String, Vec<String>>); 3] = [
            ("roles", &preferences.roles),
            ("aliases", &preferences.aliases),
            ("agents", &preferences.agents),
        ];
        for (key, map) in named {
            for (name, patterns) in map {
                let inner = table.and_then(|table| table.table(key));
                let line = inner.and_then(|inner| {
                    let mut entries = inner.entries();
                    entries
                        .find(|(it, _)| it.eq_ignore_ascii_case(name))
                        .map(|(_, value)| value.line())
                });
                // The role `default` has a short form of its own.
                let line = line.map_or_else(|| said("default"), |line| Origin::File { line });
                all.push(setting(
                    format!("models.{key}.{}", quoted_key(name)),
                    json!(patterns),
                    line,
                ));
            }
        }
        if !self.known.is_empty() {
            let known: Vec<Value> = self.known.iter().map(known).collect();
            all.push(setting("models.known", json!(known), said("known")));
        }
        all
    }
}

fn of_provider(provider: &ProviderSettings, table: Option<&Table<'_>>) -> Vec<Setting> {
    let mut values: Vec<(&'static str, Value)> = vec![("kind", json!(provider.kind.word()))];
    let texts = [("url", &provider.url), ("model", &provider.model), ("host", &provider.host)];
    values.extend(texts.into_iter().filter_map(|(key, text)| Some((key, json!(text.as_ref()?)))));
    for source in &provider.keys {
        match source {
            KeySource::Env(name) => values.push(("key-env", json!(name))),
            KeySource::Command(words) => values.push(("key-command", json!(words))),
            // It is there without being asked for.
            KeySource::Keyring(_) => {}
        }
    }
    if !provider.models.is_empty() {
        values.push(("models", json!(provider.models)));
    }
    if let Some(most) = provider.max_requests {
        values.push(("max-requests", json!(most)));
    }
    if !provider.command.is_empty() {
        values.push(("command", json!(provider.command)));
    }
    if let Some(rights) = provider.rights {
        values.push(("rights", json!(rights.word())));
    }
    if let Some(script) = &provider.script {
        values.push(("script", json!(script)));
    }
    let keys = values.into_iter();
    let mut all: Vec<Setting> = keys
        .map(|(key, value)| {
            setting(format!("providers.{}.{key}", provider.name), value, Origin::of(table, key))
        })
        .collect();
    all.extend(provider.headers.iter().map(|(name, value)| {
        let key = format!("providers.{}.headers.{}", provider.name, quoted_key(name));
        setting(key, json!(value), Origin::of(table, "headers"))
    }));
    all
}

fn known(known: &crate::catalogue::Known) -> Value {
    let mut value = serde_json::to_value(known).unwrap_or_default();
    if let Some(map) = value.as_object_mut() {
        map.retain(|_, value| {
            !value.is_null() && value.as_array().is_none_or(|list| !list.is_empty())
        });
    }
    value
}

fn setting(key: impl Into<String>, value: Value, origin: Origin) -> Setting {
    Setting { key: key.into(), value, origin }
}

//! The providers and what is said about models: from `config.toml`, customary variables and installed hosts.
//!
//! Only the user's own file is read. A workspace has no say in where requests go, or with which key: what a cloned repository
//! brings may choose among the models that the user has, and nothing else.

use std::collections::BTreeMap;

use agents_agent::definition::Effort;
use agents_plugin::config::{Config, ConfigError, Values};
use agents_system::{
    decode::{Table, Text, remote},
    dirs::Dirs,
    finding::Finding,
};
use camino::Utf8Path;

use crate::{
    catalogue::{Catalogue, Known, patterns},
    select::{Preferences, level, level_word},
};

mod around;
mod ollama;
mod provider;
mod shown;

pub use around::{Around, InstalledHost, NoProvider, all_providers};
pub use ollama::ollama_url;
pub use provider::{Kind, Origin, ProviderSettings};

/// What `config.toml` says about models.
#[derive(Debug, Clone, Default)]
pub struct ModelSettings {
    /// `[providers.NAME]`, in the order of the file.
    pub providers: Vec<ProviderSettings>,
    /// `[models]`, without what is built in.
    pub preferences: Preferences,
    /// `[[models.known]]`.
    pub known: Vec<Known>,
    /// What there is to say about them.
    pub findings: Vec<Finding>,
}

impl ModelSettings {
    /// Reads the file; a missing one means the defaults, a broken one is an error.
    pub fn load(dirs: &Dirs) -> Result<Self, ConfigError> {
        let file = Config::file(dirs);
        Self::parse(&file, &Config::text(&file)?, &dirs.config)
    }

    /// The same from its text; relative paths in it start from `dir`.
    pub fn parse(file: &Utf8Path, text: &str, dir: &Utf8Path) -> Result<Self, ConfigError> {
        let (mut settings, findings) = Config::tables(file, text, Values::Hidden, |root| {
            let mut settings = Self::default();
            if let Some(table) = root.table("providers") {
                settings.providers = providers(&table, dir);
            }
            if let Some(table) = root.table("models") {
                settings.models(&table);
            }
            settings
        })?;
        settings.findings = findings;
        Ok(settings)
    }

    fn models(&mut self, table: &Table<'_>) {
        let preferences = &mut self.preferences;
        preferences.providers =
            table.strings("providers").iter().map(ToString::to_string).collect();
        preferences.max_effort = table.string("max-effort").and_then(|text| effort(&text));
        for (key, target) in [
            ("roles", &mut preferences.roles),
            ("aliases", &mut preferences.aliases),
            ("agents", &mut preferences.agents),
        ] {
            if let Some(table) = table.table(key) {
                *target = patterns(&table);
            }
        }
        // Names of agents are exact; those of roles and aliases are not.
        for named in [&mut preferences.roles, &mut preferences.aliases] {
            *named = std::mem::take(named)
                .into_iter()
                .map(|(name, to)| (name.to_ascii_lowercase(), to))
                .collect();
        }
        let default = table.string_or_strings("default");
        if !default.is_empty() {
            let default = default.iter().map(ToString::to_string).collect();
            preferences.roles.insert("default".to_owned(), default);
        }
        self.known = table.tables("known").iter().filter_map(Known::decode).collect();
        table.deny_unknown();
    }

    /// What is known of models, with what the user says.
    #[must_use]
    pub fn catalogue(&self) -> Catalogue {
        Catalogue::built_in().with(&self.known)
    }

    /// What counts for all agents: what the user says before what is built in.
    #[must_use]
    pub fn preferences(&self) -> Preferences {
        let built_in = Preferences::built_in(Catalogue::built_in());
        let mut aliases: BTreeMap<_, _> = built_in.aliases;
        aliases.extend(self.preferences.aliases.clone());
        Preferences { built_in_roles: built_in.built_in_roles, aliases, ..self.preferences.clone() }
    }
}

fn effort(text: &Text<'_>) -> Option<Effort> {
    let effort = level(text);
    if effort.is_none() {
        let all = [
            Effort::Off,
            Effort::Minimal,
            Effort::Low,
            Effort::Medium,
            Effort::High,
            Effort::Xhigh,
            Effort::Max,
        ];
        let words: Vec<&str> = all.map(level_word).to_vec();
        text.report(
            Finding::error(format!("there is no effort `{text}`"))
                .hint(format!("allowed: {}", agents_system::nearest::quoted_list(&words, "or"))),
        );
    }
    effort
}

fn providers(table: &Table<'_>, dir: &Utf8Path) -> Vec<ProviderSettings> {
    let mut all: Vec<(u32, ProviderSettings)> = Vec::new();
    for (name, value) in table.entries() {
        let Some(table) = value.table(format!("[providers.{name}]")) else {
            value.wrong_type(name.as_str(), "a table");
            continue;
        };
        remote::refuse_secrets(&table);
        if let Some(provider) = provider::decode(&name, &table, dir) {
            all.push((table.line(), provider));
        }
    }
    all.sort_by_key(|(line, _)| *line);
    all.into_iter().map(|(_, provider)| provider).collect()
}

#[cfg(test)]
mod tests;

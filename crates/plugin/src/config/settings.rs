//! Every setting of `config.toml` with its value and who says so.

use agents_system::{
    decode::{Document, Table},
    dirs::Dirs,
};
use serde_json::{Value, json};

use super::{
    AgentsSyncing, AutoSync, AutoUpdate, Config, ConfigError, Key, RegistryPlace, RegistrySpec,
};

/// One setting.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// Its key, with dots; `registry` once for each `[[registry]]`.
    pub key: String,
    /// What counts, with paths resolved.
    pub value: Value,
    /// Who says so.
    pub origin: Origin,
}

/// Who says what a setting is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Nobody, so it is what it is by default.
    Default,
    /// The file.
    File {
        /// Where the value begins, counted from 1.
        line: u32,
    },
}

impl Setting {
    /// A setting of a table; `key` is its last part, and `path` what stands in front of that.
    #[must_use]
    pub fn of(table: Option<&Table<'_>>, path: &str, key: &'static str, value: Value) -> Self {
        Self { key: format!("{path}.{key}"), value, origin: Origin::of(table, key) }
    }
}

impl Origin {
    /// Who says what a key of a table is.
    #[must_use]
    pub fn of(table: Option<&Table<'_>>, key: &'static str) -> Self {
        let value = table.and_then(|table| table.get(key));
        value.map_or(Self::Default, |value| Self::File { line: value.line() })
    }
}

/// A key of TOML, with quotes if it needs them.
#[must_use]
pub fn quoted_key(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !name.is_empty() && name.chars().all(bare) {
        name.to_owned()
    } else {
        json!(name).to_string()
    }
}

impl Config {
    /// Every setting in the order of the documentation. Written as TOML again, they mean the same.
    pub fn settings(dirs: &Dirs) -> Result<Vec<Setting>, ConfigError> {
        let file = Self::file(dirs);
        let text = Self::text(&file)?;
        let config = Self::parse(dirs, &file, &text)?;
        let document = Document::parse(file.clone(), &text).map_err(|finding| {
            ConfigError::Invalid { file: file.clone(), findings: vec![*finding] }
        })?;
        Ok(config.with_origins(&document.root(), dirs))
    }

    fn with_origins(&self, root: &Table<'_>, dirs: &Dirs) -> Vec<Setting> {
        let defaults = root.table("defaults");
        let plugins = root.table("plugins");
        let sandbox = root.table("sandbox");
        let agents = root.table("agents");
        let of = Origin::of;
        let top = |key| of(Some(root), key);
        let by_default = super::default_registries(root, dirs);
        let has = |name| by_default.iter().any(|spec| spec.name == name);
        let hosts = match top("hosts") {
            Origin::Default => top("agent"),
            origin => origin,
        };
        let syncing = self.agents_syncing == AgentsSyncing::On;
        let enablement = &self.enablement;
        let mut settings: Vec<Setting> = [
            ("hosts", json!(self.hosts), hosts),
            ("hook-scope", json!(self.registration.word()), top("hook-scope")),
            ("mcp-register", json!(self.servers.word()), top("mcp-register")),
            ("agents-syncing", json!(syncing), top("agents-syncing")),
            ("auto-update", json!(self.own_update.word()), top("auto-update")),
            ("auto-sync", json!(self.auto_sync == AutoSync::On), top("auto-sync")),
            (
                "defaults.symposium-recommendations",
                json!(has(super::RECOMMENDATIONS)),
                of(defaults.as_ref(), "symposium-recommendations"),
            ),
            (
                "defaults.user-plugins",
                json!(has(super::USER_PLUGINS)),
                of(defaults.as_ref(), "user-plugins"),
            ),
            ("plugins.use", enablement.value(Key::Use), of(plugins.as_ref(), "use")),
            (
                "plugins.auto-enable",
                enablement.value(Key::AutoEnable),
                of(plugins.as_ref(), "auto-enable"),
            ),
            ("plugins.disable", enablement.value(Key::Disable), of(plugins.as_ref(), "disable")),
            ("sandbox.plugins", self.sandboxed.value(), of(sandbox.as_ref(), "plugins")),
            ("agents.deliver", self.agents.deliver.value(), of(agents.as_ref(), "deliver")),
            ("agents.trust", json!(self.agents.trust), of(agents.as_ref(), "trust")),
        ]
        .into_iter()
        .map(|(key, value, origin)| Setting { key: key.to_owned(), value, origin })
        .collect();
        let tables = super::registry_tables(root);
        let own = self.registries.iter().skip(by_default.len());
        settings.extend(own.zip(tables).map(|(spec, table)| Setting {
            key: "registry".to_owned(),
            value: registry_value(spec),
            origin: Origin::File { line: table.line() },
        }));
        settings
    }
}

fn registry_value(spec: &RegistrySpec) -> Value {
    let (key, place) = match &spec.place {
        RegistryPlace::Path(path) => ("path", path.as_str()),
        RegistryPlace::Git(url) => ("git", url.as_str()),
    };
    json!({ "name": spec.name, key: place, "auto-update": spec.auto_update == AutoUpdate::On })
}

//! What `config.toml` says about where plans run: `[engine.restate]`.
//!
//! Only the user's own file is read, as for tasks: a repository does not decide who gets to see it.

use std::time::Duration;

use agents_plugin::config::{Config, ConfigError, Setting, Values};
use agents_system::{decode::Table, dirs::Dirs, finding::Finding, span};
use camino::Utf8Path;
use serde_json::{Value, json};

/// Where Restate is, and how tasks get to its workers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestateSettings {
    /// Where tasks are given in: `ingress`.
    pub ingress: String,
    /// Where it is administered: `admin`.
    pub admin: String,
    /// A git remote that drivers and workers can reach, for workspaces; without one they go through Restate: `remote`.
    pub remote: Option<String>,
    /// How long a worker may be gone before another one takes over: `replace-after`.
    pub replace_after: Duration,
    /// The public key of the server, which workers check: `identity-key`.
    pub identity_key: Option<String>,
    /// What there is to say about them.
    pub findings: Vec<Finding>,
}

impl Default for RestateSettings {
    fn default() -> Self {
        Self {
            ingress: "http://127.0.0.1:8080".to_owned(),
            admin: "http://127.0.0.1:9070".to_owned(),
            remote: None,
            replace_after: Duration::from_secs(15),
            identity_key: None,
            findings: Vec::new(),
        }
    }
}

impl RestateSettings {
    /// Reads the file; a missing one means the defaults, a broken one is an error.
    pub fn load(dirs: &Dirs) -> Result<Self, ConfigError> {
        let file = Config::file(dirs);
        Self::parse(&file, &Config::text(&file)?)
    }

    /// The same from its text.
    pub fn parse(file: &Utf8Path, text: &str) -> Result<Self, ConfigError> {
        let (mut settings, findings) = Config::tables(file, text, Values::Shown, |root| {
            let mut settings = Self::default();
            if let Some(engine) = root.table("engine") {
                if let Some(table) = engine.table("restate") {
                    settings.read(&table);
                }
                engine.deny_unknown();
            }
            settings
        })?;
        settings.findings = findings;
        Ok(settings)
    }

    fn read(&mut self, table: &Table<'_>) {
        let text = |key| table.string(key).map(|it| it.as_str().trim().to_owned());
        self.ingress = text("ingress").unwrap_or_else(|| self.ingress.clone());
        self.admin = text("admin").unwrap_or_else(|| self.admin.clone());
        self.remote = text("remote");
        self.identity_key = text("identity-key");
        if let Some(text) = table.string("replace-after") {
            match span::parse(text.as_str().trim(), Duration::from_secs(1)) {
                Some(time) => self.replace_after = time,
                None => text.error("`replace-after` is a time such as `15s` or `2m`"),
            }
        }
        table.deny_unknown();
    }

    /// Every setting with its value and who says so, for `config show`.
    pub fn settings(dirs: &Dirs) -> Result<Vec<Setting>, ConfigError> {
        Config::of_table(dirs, &["engine", "restate"], Self::load(dirs)?.shown())
    }

    fn shown(&self) -> Vec<(&'static str, Value)> {
        let mut all = vec![
            ("ingress", json!(self.ingress)),
            ("admin", json!(self.admin)),
            ("replace-after", json!(span::written(self.replace_after))),
        ];
        all.extend(self.remote.as_ref().map(|it| ("remote", json!(it))));
        all.extend(self.identity_key.as_ref().map(|it| ("identity-key", json!(it))));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<RestateSettings, String> {
        RestateSettings::parse(Utf8Path::new("config.toml"), text).map_err(|error| {
            let ConfigError::Invalid { findings, .. } = error else { return error.to_string() };
            findings.into_iter().map(|it| it.message).collect::<Vec<_>>().join("; ")
        })
    }

    #[test]
    fn everything_that_can_be_said() {
        let text = "[engine.restate]\ningress = \"http://a:1\"\nadmin = \"http://b:2\"\nremote = \"git@c:d\"\nreplace-after = \"1m\"\nidentity-key = \"publickeyv1_x\"\n";
        let said = parse(text).unwrap();
        assert_eq!((said.ingress.as_str(), said.admin.as_str()), ("http://a:1", "http://b:2"));
        assert_eq!(said.remote.as_deref(), Some("git@c:d"));
        assert_eq!(said.replace_after, Duration::from_secs(60));
        assert_eq!(said.identity_key.as_deref(), Some("publickeyv1_x"));
        assert_eq!(parse("").unwrap(), RestateSettings::default());
    }

    #[test]
    fn what_is_wrong_is_told() {
        for (text, told) in [
            ("[engine.restat]\n", "unknown key `restat` in [engine]"),
            ("[engine.restate]\nurl = \"x\"\n", "unknown key `url` in [engine.restate]"),
            (
                "[engine.restate]\nreplace-after = \"soon\"\n",
                "`replace-after` is a time such as `15s` or `2m`",
            ),
        ] {
            assert_eq!(parse(text).unwrap_err(), told);
        }
    }
}

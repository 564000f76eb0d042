//! What `config.toml` says about secrets: `[secrets.NAME]`, where each is. Never what it is.
//!
//! Only the user's own file is read: what a repository brings along says nothing about secrets.

use std::{collections::BTreeMap, fmt};

use agents_plugin::config::{Config, ConfigError, Setting, Values, path_in, quoted_key};
use agents_system::{
    decode::{Table, Text, remote},
    dirs::Dirs,
    explain::{Code, ErrorKind, Explain},
    finding::Finding,
    keys::{AgeError, AgeFile, KeyError, KeySource, Unlock, find_key},
};
use agents_tool::{grants::SecretKey, secrets::Mask};
use camino::Utf8Path;
use secrecy::SecretString;
use serde_json::{Value, json};

/// What a table may have.
const KEYS: [&str; 7] =
    ["env", "keyring", "command", "age", "entry", "identity", "passphrase-command"];
/// Those of them that say where the secret is.
const PLACES: [&str; 4] = ["env", "keyring", "command", "age"];

/// Where a secret is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretSource {
    /// In the environment, the keyring of the system, or printed by a command.
    Key(KeySource),
    /// In a file that is encrypted with age.
    Age(AgeFile),
}

/// A secret cannot be read where it is said to be. Nothing of a secret is in it.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// From a command or the keyring.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// From an encrypted file.
    #[error(transparent)]
    Age(#[from] AgeError),
}

impl Explain for SourceError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Key(error) => error.kind(),
            Self::Age(error) => error.kind(),
        }
    }

    fn code(&self) -> Option<Code> {
        match self {
            // The same words, for something else than the key of a provider.
            Self::Key(error) => error.code().map(|_| Code::NoSecret),
            Self::Age(error) => error.code(),
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Key(error) => error.hint(),
            Self::Age(error) => error.hint(),
        }
    }
}

/// Whether a secret is there, as far as can be told without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// It is, or the files that hold it are.
    There,
    /// It is not.
    Missing,
    /// Only whoever reads it knows: a command would have to be run, or a keyring unlocked.
    Unknown,
}

impl SecretSource {
    /// Reads it; `None` if there is nothing there. It may take as long as a command takes, or a person who unlocks something.
    ///
    /// # Errors
    /// There should be something, and it cannot be read.
    pub fn read(&self) -> Result<Option<SecretString>, SourceError> {
        match self {
            Self::Key(source) => {
                Ok(find_key(std::slice::from_ref(source))?.map(|found| found.secret))
            }
            Self::Age(file) => Ok(file.read()?),
        }
    }

    /// Whether it is there. Nothing is run, opened or unlocked.
    #[must_use]
    pub fn presence(&self) -> Presence {
        let there = match self {
            Self::Key(KeySource::Env(_)) => self.read().is_ok_and(|it| it.is_some()),
            Self::Key(_) => return Presence::Unknown,
            Self::Age(file) => file.missing().is_none(),
        };
        if there { Presence::There } else { Presence::Missing }
    }

    /// The file that is needed to read it and is not there, unless it is the one that it is named after.
    #[must_use]
    pub fn missing_besides(&self) -> Option<&Utf8Path> {
        match self {
            Self::Key(_) => None,
            Self::Age(age) => age.missing().filter(|file| *file != age.file),
        }
    }

    /// What kind of place it is, in a word: the key of the configuration.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Key(KeySource::Env(_)) => "env",
            Self::Key(KeySource::Keyring(_)) => "keyring",
            Self::Key(KeySource::Command(_)) => "command",
            Self::Age(_) => "age",
        }
    }
}

impl fmt::Display for SecretSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(source) => source.fmt(f),
            Self::Age(file) => file.fmt(f),
        }
    }
}

/// Where secrets are, by their names.
#[derive(Debug, Clone, Default)]
pub struct SecretSettings {
    sources: BTreeMap<SecretKey, SecretSource>,
    /// What there is to say about them.
    pub findings: Vec<Finding>,
}

impl SecretSettings {
    /// Reads the file; a missing one means that there are none, a broken one is an error.
    pub fn load(dirs: &Dirs) -> Result<Self, ConfigError> {
        let file = Config::file(dirs);
        Self::parse(&file, &Config::text(&file)?, &dirs.config)
    }

    /// The same from its text; relative paths in it start from `dir`.
    pub fn parse(file: &Utf8Path, text: &str, dir: &Utf8Path) -> Result<Self, ConfigError> {
        // Somebody may have written the secret itself.
        let (mut settings, findings) = Config::tables(file, text, Values::Hidden, |root| {
            let mut settings = Self::default();
            if let Some(table) = root.table("secrets") {
                settings.read(&table, dir);
            }
            settings
        })?;
        settings.findings = findings;
        Ok(settings)
    }

    fn read(&mut self, table: &Table<'_>, dir: &Utf8Path) {
        for (name, value) in table.entries() {
            let Some(key) = SecretKey::new(&name).filter(|it| it.as_str() == name.as_str()) else {
                name.error("the name of a secret is 1 to 100 letters, digits, `-` and `_`");
                continue;
            };
            let Some(table) = value.table(format!("[secrets.{name}]")) else {
                let told = format!("`{name}` in [secrets] is not a table");
                name.report(Finding::error(told).hint(
                    "it says where the secret is and not what it is, such as `{ env = \"NAME\" }`; a secret that stood in a \
                     file should be replaced",
                ));
                continue;
            };
            remote::deny_others(&table, &KEYS);
            if let Some(source) = decode(&name, &table, dir) {
                let same = self.sources.keys().find(|it| it.variable() == key.variable());
                match same {
                    Some(same) => name.error(format!(
                        "`{name}` and `{}` would be the same variable, `{}`",
                        same.as_str(),
                        key.variable()
                    )),
                    None => drop(self.sources.insert(key, source)),
                }
            }
        }
    }

    /// Where a secret is, if that is said.
    #[must_use]
    pub fn source(&self, key: &str) -> Option<&SecretSource> {
        self.sources.get(&SecretKey::new(key)?)
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&SecretKey, &SecretSource)> {
        self.sources.iter()
    }

    /// Hides those that are in our own environment: programs could print these before anybody asks for them.
    pub fn hide(&self, mask: &Mask) {
        let own = self.iter().filter(|(_, it)| matches!(it, SecretSource::Key(KeySource::Env(_))));
        for (key, source) in own {
            if let Ok(Some(value)) = source.read() {
                mask.register(key.as_str(), &value);
            }
        }
    }

    /// Every setting with its value and who says so, for `config show`.
    pub fn settings(dirs: &Dirs) -> Result<Vec<Setting>, ConfigError> {
        let file = Config::file(dirs);
        let text = Config::text(&file)?;
        let settings = Self::parse(&file, &text, &dirs.config)?;
        let (all, _) = Config::tables(&file, &text, Values::Hidden, |root| {
            let table = root.table("secrets");
            let mut all = Vec::new();
            for (key, source) in settings.iter() {
                let said = table.as_ref().and_then(|table| {
                    let (_, value) =
                        table.entries().find(|(name, _)| name.as_str() == key.as_str())?;
                    value.table(String::new())
                });
                let prefix = format!("secrets.{}", quoted_key(key.as_str()));
                let shown = shown(source).into_iter();
                all.extend(
                    shown.map(|(key, value)| Setting::of(said.as_ref(), &prefix, key, value)),
                );
            }
            all
        })?;
        Ok(all)
    }
}

fn decode(name: &Text<'_>, table: &Table<'_>, dir: &Utf8Path) -> Option<SecretSource> {
    let said: Vec<&str> = PLACES.into_iter().filter(|key| table.has(key)).collect();
    let [place] = said[..] else {
        name.error(format!(
            "{} says where the secret is with one of `env`, `keyring`, `command` and `age`",
            table.label()
        ));
        return None;
    };
    let with_age = ["entry", "identity", "passphrase-command"];
    if let Some(key) = with_age.into_iter().find(|key| place != "age" && table.has(key)) {
        name.error(format!("`{key}` in {} is for files of age", table.label()));
        return None;
    }
    Some(match place {
        "env" => SecretSource::Key(KeySource::Env(table.string("env")?.to_string())),
        "keyring" => SecretSource::Key(KeySource::Keyring(table.string("keyring")?.to_string())),
        "command" => SecretSource::Key(KeySource::Command(words(table, "command")?)),
        _ => {
            let unlock = match (table.has("identity"), table.has("passphrase-command")) {
                (true, false) => Unlock::Identity(path_in(dir, &table.string("identity")?)),
                (false, true) => Unlock::Passphrase(words(table, "passphrase-command")?),
                _ => {
                    let told = "is opened by one of `identity` and `passphrase-command`";
                    name.error(format!("the file of {} {told}", table.label()));
                    return None;
                }
            };
            let entry = table.string("entry").map(|it| it.to_string());
            SecretSource::Age(AgeFile { file: path_in(dir, &table.string("age")?), entry, unlock })
        }
    })
}

fn words(table: &Table<'_>, key: &'static str) -> Option<Vec<String>> {
    let words: Vec<String> = table.string_or_strings(key).iter().map(ToString::to_string).collect();
    (!words.is_empty()).then_some(words)
}

fn shown(source: &SecretSource) -> Vec<(&'static str, Value)> {
    match source {
        SecretSource::Key(KeySource::Env(name)) => vec![("env", json!(name))],
        SecretSource::Key(KeySource::Keyring(account)) => vec![("keyring", json!(account))],
        SecretSource::Key(KeySource::Command(words)) => vec![("command", json!(words))],
        SecretSource::Age(AgeFile { file, entry, unlock }) => {
            let mut all = vec![("age", json!(file))];
            all.extend(entry.as_ref().map(|it| ("entry", json!(it))));
            all.push(match unlock {
                Unlock::Identity(file) => ("identity", json!(file)),
                Unlock::Passphrase(words) => ("passphrase-command", json!(words)),
            });
            all
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<SecretSettings, String> {
        let parsed = SecretSettings::parse("config.toml".into(), text, "/etc/us".into());
        parsed.map_err(|error| {
            let ConfigError::Invalid { findings, .. } = error else { return error.to_string() };
            let all = format!("{findings:?}");
            assert!(!all.contains("planted"), "{all}");
            findings.into_iter().map(|it| it.message).collect::<Vec<_>>().join("; ")
        })
    }

    #[test]
    fn everything_that_can_be_said() {
        let said = parse(
            r#"
            [secrets]
            CI_TOKEN = { env = "CI_JOB_TOKEN" }
            npm = { keyring = "npm" }
            [secrets.deploy]
            command = ["pass", "show", "deploy"]
            [secrets.cert]
            age = "team.age"
            entry = "CERT"
            identity = "/keys/me"
            [secrets.own]
            age = "/own.age"
            passphrase-command = "ask-me"
            "#,
        )
        .unwrap();
        let told = |key: &str| said.source(key).unwrap().to_string();
        assert_eq!(told("CI_TOKEN"), "`CI_JOB_TOKEN`");
        assert_eq!(told("npm"), "the keyring (service `cargo-agents`, account `npm`)");
        assert_eq!(told("deploy"), "the command `pass`");
        assert_eq!(told("cert"), "`CERT` in `/etc/us/team.age`");
        assert_eq!(told("own"), "`/own.age`");
        assert_eq!(said.iter().map(|(_, it)| it.word()).collect::<Vec<_>>().len(), 5);
        assert_eq!(said.source("cert").unwrap().presence(), Presence::Missing);
        assert_eq!(said.source("deploy").unwrap().presence(), Presence::Unknown);
        assert!(said.source("CI-TOKEN").is_none());
    }

    #[test]
    fn what_is_wrong_is_told_without_a_value() {
        for (text, told) in [
            ("TOKEN = \"planted\"", "`TOKEN` in [secrets] is not a table"),
            (
                "TOKEN = { value = \"planted\" }",
                "unknown key `value` in [secrets.TOKEN]; [secrets.TOKEN] says where the secret is with one of `env`, `keyring`, \
                 `command` and `age`",
            ),
            (
                "TOKEN = { env = \"A\", command = \"planted\" }",
                "[secrets.TOKEN] says where the secret is with one of `env`, `keyring`, `command` and `age`",
            ),
            (
                "TOKEN = { age = \"a\" }",
                "the file of [secrets.TOKEN] is opened by one of `identity` and `passphrase-command`",
            ),
            (
                "TOKEN = { env = \"A\", entry = \"B\" }",
                "`entry` in [secrets.TOKEN] is for files of age",
            ),
            (
                "\"a b\" = { env = \"A\" }",
                "the name of a secret is 1 to 100 letters, digits, `-` and `_`",
            ),
            (
                "a-b = { env = \"A\" }\na_b = { env = \"B\" }",
                "`a_b` and `a-b` would be the same variable, `a_b`",
            ),
        ] {
            assert_eq!(parse(&format!("[secrets]\n{text}\n")).unwrap_err(), told);
        }
        assert_eq!(parse("").unwrap().iter().count(), 0);
    }
}

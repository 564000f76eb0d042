//! `[mcp-servers.NAME]`.

use std::time::Duration;

use agents_system::{
    decode::{Table, Text, remote},
    env,
    finding::Finding,
    keys::{KeyError, KeySource, find_key, into_secret},
};
use camino::{Utf8Path, Utf8PathBuf};
use secrecy::{ExposeSecret as _, SecretString};

use crate::mcp::{Reach, ServerName, ServerSettings};

/// An MCP server as it is configured, without the keys that it needs: see [`open`](Self::open).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfiguredServer {
    /// What it is called.
    pub name: ServerName,
    /// Whether agents get its tools.
    pub enabled: Enabled,
    /// Whether it is believed more than the agents that call it.
    pub trust: ServerTrust,
    /// The only tools of it that agents get, by the names that it gives them; all if `None`.
    pub tools: Option<Vec<String>>,
    /// Where it is.
    pub reach: ConfiguredReach,
    /// How long it may take to start.
    pub start: Option<Duration>,
    /// How long a call may take.
    pub call: Option<Duration>,
}

/// Whether agents get the tools of a server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Enabled {
    /// They do.
    #[default]
    Yes,
    /// `enabled = false`.
    No,
}

/// Whether a server is believed more than the agents that call it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ServerTrust {
    /// It is confined for agents that are.
    #[default]
    AsTheAgent,
    /// `trust = true`: it runs without a sandbox, whoever calls it.
    Always,
}

/// Where a configured server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfiguredReach {
    /// A program that speaks on its standard streams.
    Program {
        /// Its name or path.
        program: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables that are no secrets.
        env: Vec<(String, String)>,
        /// Variables that it gets from our environment.
        env_from: Vec<String>,
        /// Where it runs; in the workspace if `None`.
        cwd: Option<Utf8PathBuf>,
    },
    /// An address that speaks streamable HTTP.
    Address {
        /// The address.
        url: String,
        /// Headers that are no secrets.
        headers: Vec<(String, String)>,
        /// Headers, with the variables that their values are in.
        headers_from_env: Vec<(String, String)>,
        /// Where the key is that goes with every request as `Authorization: Bearer`.
        keys: Vec<KeySource>,
    },
}

const KEYS: [&str; 16] = [
    "command",
    "args",
    "env",
    "env-from",
    "cwd",
    "url",
    "headers",
    "headers-from-env",
    "key-env",
    "key-command",
    "enabled",
    "trust",
    "tools",
    "timeout",
    "start-timeout",
    "note",
];

pub(super) fn decode_all(table: &Table<'_>, dir: &Utf8Path) -> Vec<ConfiguredServer> {
    let mut all: Vec<(u32, ConfiguredServer)> = Vec::new();
    for (name, value) in table.entries() {
        let Some(table) = value.table(format!("[mcp-servers.{name}]")) else {
            value.wrong_type(name.as_str(), "a table");
            continue;
        };
        remote::refuse_secrets(&table);
        if let Some(server) = decode(&name, &table, dir) {
            all.push((table.line(), server));
        }
    }
    all.sort_by_key(|(line, _)| *line);
    all.into_iter().map(|(_, server)| server).collect()
}

fn decode(name: &Text<'_>, table: &Table<'_>, dir: &Utf8Path) -> Option<ConfiguredServer> {
    remote::deny_others(table, &KEYS);
    let parsed = ServerName::parse(name);
    if let Err(error) = &parsed {
        name.error(error.to_string());
    }
    let reach = reach(table, dir);
    let tools = table.has("tools").then(|| owned(&table.strings("tools")));
    let seconds = |key| table.count(key).map(Duration::from_secs);
    let (call, start) = (seconds("timeout"), seconds("start-timeout"));
    let enabled = match table.boolean("enabled") {
        Some(false) => Enabled::No,
        _ => Enabled::Yes,
    };
    let trust = match table.boolean("trust") {
        Some(true) => ServerTrust::Always,
        _ => ServerTrust::AsTheAgent,
    };
    Some(ConfiguredServer { name: parsed.ok()?, enabled, trust, tools, reach: reach?, start, call })
}

fn reach(table: &Table<'_>, dir: &Utf8Path) -> Option<ConfiguredReach> {
    let words = owned(&table.string_or_strings("command"));
    let url = table.string("url").and_then(|text| remote::address(&text));
    let of_programs = ["args", "env", "env-from", "cwd"];
    let of_addresses = ["headers", "headers-from-env", "key-env", "key-command"];
    let label = table.label();
    let without = |keys: &[&'static str], which: &str| {
        for key in keys.iter().copied().filter(|key| table.has(key)) {
            table.report(Finding::error(format!("`{key}` in {label} is for servers with {which}")));
        }
    };
    match (words.as_slice(), table.has("url")) {
        ([], false) => {
            let message = format!("{label} says neither `command` nor `url`");
            table.report(Finding::error(message).hint(
                "a server is a program (`command = [\"npx\", \"-y\", \"some-mcp\"]`) or an address (`url = \"https://…/mcp\"`)",
            ));
            None
        }
        ([_, ..], true) => {
            let message = format!("{label} says both `command` and `url`");
            table.report(Finding::error(message));
            None
        }
        ([], true) => {
            without(&of_programs, "a `command`");
            let pairs = |key| table.table(key).map(|it| remote::headers(&it)).unwrap_or_default();
            Some(ConfiguredReach::Address {
                headers: pairs("headers"),
                headers_from_env: pairs("headers-from-env"),
                keys: remote::key_sources(table),
                url: url?,
            })
        }
        ([program, more @ ..], false) => {
            without(&of_addresses, "a `url`");
            let env = table.table("env").map(|it| variables(&it)).unwrap_or_default();
            Some(ConfiguredReach::Program {
                program: program.clone(),
                args: more.iter().cloned().chain(owned(&table.strings("args"))).collect(),
                env,
                env_from: owned(&table.strings("env-from")),
                cwd: table.string("cwd").map(|path| dir.join(path.as_str())),
            })
        }
    }
}

fn variables(table: &Table<'_>) -> Vec<(String, String)> {
    let pairs = table.entries();
    pairs
        .filter_map(|(name, value)| {
            Some((name.to_string(), value.string(name.as_str())?.to_string()))
        })
        .collect()
}

fn owned(texts: &[Text<'_>]) -> Vec<String> {
    texts.iter().map(ToString::to_string).collect()
}

impl ConfiguredServer {
    /// The server as it can be started: variables and keys are read now, and key commands run. What is not there is told, and the
    /// server is tried without it.
    pub fn open(&self) -> Result<(ServerSettings, Vec<Finding>), KeyError> {
        let mut findings = Vec::new();
        let reach = match &self.reach {
            ConfiguredReach::Program { program, args, env, env_from, cwd } => {
                let mut all: Vec<(String, SecretString)> =
                    env.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect();
                all.extend(
                    env_from.iter().filter_map(|name| {
                        Some((name.clone(), self.variable(name, &mut findings)?))
                    }),
                );
                Reach::Program {
                    program: program.clone(),
                    args: args.clone(),
                    env: all,
                    cwd: cwd.clone(),
                }
            }
            ConfiguredReach::Address { url, headers, headers_from_env, keys } => {
                let mut all: Vec<(String, SecretString)> = headers
                    .iter()
                    .map(|(name, value)| (name.clone(), value.as_str().into()))
                    .collect();
                all.extend(headers_from_env.iter().filter_map(|(header, name)| {
                    Some((header.clone(), self.variable(name, &mut findings)?))
                }));
                match find_key(keys)? {
                    Some(key) => {
                        let value = format!("Bearer {}", key.secret.expose_secret());
                        all.push(("Authorization".to_owned(), value.into()));
                    }
                    None if keys.is_empty() => {}
                    None => {
                        let looked: Vec<String> = keys.iter().map(ToString::to_string).collect();
                        findings.push(
                            self.lacks(&format!("its key is not in {}", looked.join(" or "))),
                        );
                    }
                }
                Reach::Address { url: url.clone(), headers: all }
            }
        };
        let (start, call) = (self.start, self.call);
        Ok((ServerSettings { name: self.name.clone(), reach, start, call }, findings))
    }

    fn variable(&self, name: &str, findings: &mut Vec<Finding>) -> Option<SecretString> {
        let value = env::named_by_config(name).and_then(into_secret);
        if value.is_none() {
            findings.push(self.lacks(&format!("the variable `{name}` is not set")));
        }
        value
    }

    fn lacks(&self, what: &str) -> Finding {
        Finding::warning(format!(
            "the MCP server `{}` is started without what it needs: {what}",
            self.name
        ))
    }
}

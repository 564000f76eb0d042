//! Every setting about tools with its value and who says so, for `config show`.

use agents_plugin::config::{Config, ConfigError, Origin, Setting, quoted_key};
use agents_system::{
    decode::{Document, Table},
    dirs::Dirs,
    keys::KeySource,
    sandbox::Network,
};
use serde_json::{Value, json};

use super::{ConfiguredReach, ConfiguredServer, Enabled, FetchSettings, ServerTrust, ToolSettings};
use crate::tools::web::PrivateAddresses;

impl ToolSettings {
    /// Every setting, also those that the file does not have. Written as TOML again, they mean the same.
    pub fn settings(dirs: &Dirs) -> Result<Vec<Setting>, ConfigError> {
        let file = Config::file(dirs);
        let text = Config::text(&file)?;
        let settings = Self::parse(&file, &text, &dirs.config)?;
        let document = Document::parse(file.clone(), &text)
            .map_err(|finding| ConfigError::Invalid { file, findings: vec![*finding] })?;
        let root = document.root();
        let mut all = settings.of_tasks(root.table("tasks").as_ref());
        all.extend(settings.of_web(root.table("web").as_ref()));
        let tables = root.table("mcp-servers");
        for server in &settings.servers {
            let table = tables.as_ref().and_then(|all| {
                let mut entries = all.entries();
                let (_, value) = entries.find(|(name, _)| name.as_str() == server.name.as_str())?;
                value.table(server.name.to_string())
            });
            all.extend(of_server(server, table.as_ref()));
        }
        Ok(all)
    }

    fn of_tasks(&self, table: Option<&Table<'_>>) -> Vec<Setting> {
        let network = self.tasks.network == Network::Allowed;
        vec![
            Setting::of(table, "tasks", "sandbox", json!(self.tasks.sandbox.word())),
            Setting::of(table, "tasks", "network", json!(network)),
        ]
    }

    fn of_web(&self, table: Option<&Table<'_>>) -> Vec<Setting> {
        let pages = table.map(FetchSettings::read).unwrap_or_default();
        let hosts: Vec<&str> = pages.sites.hosts().collect();
        let private = pages.private == PrivateAddresses::Allowed;
        let of = |key, value| Setting::of(table, "web", key, value);
        let mut all = vec![
            of("fetch", json!(self.web.fetch.is_some())),
            of("hosts", json!(hosts)),
            of("private-addresses", json!(private)),
        ];
        if let Some(search) = &self.web.search {
            let table = table.and_then(|table| table.table("search"));
            let of = |key, value| Setting::of(table.as_ref(), "web.search", key, value);
            all.push(of("provider", json!(search.service.word())));
            all.push(of("url", json!(search.url)));
            all.extend(
                search.keys.iter().filter_map(|it| key(it)).map(|(key, value)| of(key, value)),
            );
        }
        all
    }
}

fn of_server(server: &ConfiguredServer, table: Option<&Table<'_>>) -> Vec<Setting> {
    let path = format!("mcp-servers.{}", server.name);
    let mut values: Vec<(&'static str, Value)> = Vec::new();
    let mut pairs: Vec<(&'static str, &Vec<(String, String)>)> = Vec::new();
    match &server.reach {
        ConfiguredReach::Program { program, args, env, env_from, cwd } => {
            let words: Vec<&String> = std::iter::once(program).chain(args).collect();
            values.push(("command", json!(words)));
            if !env_from.is_empty() {
                values.push(("env-from", json!(env_from)));
            }
            values.extend(cwd.as_ref().map(|cwd| ("cwd", json!(cwd))));
            pairs.push(("env", env));
        }
        ConfiguredReach::Address { url, headers, headers_from_env, keys } => {
            values.push(("url", json!(url)));
            values.extend(keys.iter().filter_map(key));
            pairs.extend([("headers", headers), ("headers-from-env", headers_from_env)]);
        }
    }
    values.push(("enabled", json!(server.enabled == Enabled::Yes)));
    values.push(("trust", json!(server.trust == ServerTrust::Always)));
    values.extend(server.tools.as_ref().map(|tools| ("tools", json!(tools))));
    let seconds = [("timeout", server.call), ("start-timeout", server.start)];
    values.extend(seconds.into_iter().filter_map(|(key, it)| Some((key, json!(it?.as_secs())))));
    let mut all: Vec<Setting> =
        values.into_iter().map(|(key, value)| Setting::of(table, &path, key, value)).collect();
    for (key, pairs) in pairs {
        all.extend(pairs.iter().map(|(name, value)| Setting {
            key: format!("{path}.{key}.{}", quoted_key(name)),
            value: json!(value),
            origin: Origin::of(table, key),
        }));
    }
    all
}

fn key(source: &KeySource) -> Option<(&'static str, Value)> {
    match source {
        KeySource::Env(name) => Some(("key-env", json!(name))),
        KeySource::Command(words) => Some(("key-command", json!(words))),
        // It is there without being asked for.
        KeySource::Keyring(_) => None,
    }
}

//! What `config.toml` says about all tasks: `[tasks]`.
//!
//! Only the user's own file is read: what a repository brings along may not widen anything.

use std::{collections::BTreeSet, time::Duration};

use agents_model::cost::MicroDollars;
use agents_plugin::config::{Config, ConfigError, Setting, Values};
use agents_system::{decode::Table, dirs::Dirs, env, finding::Finding, span};
use agents_tool::Bypass;
use camino::Utf8Path;
use serde_json::{Value, json};

use crate::{
    broker::DEFAULT_PATIENCE,
    limits::Limits,
    peers::PeerLimits,
    preflight::Settings,
    request::Form,
    runner::DEFAULT_CONCURRENCY,
    secret::Asks,
    subagents::{HookDef, OnFailure},
};

/// The keys of `[tasks]` that the room of tools reads: how programs are confined.
const OF_TOOLS: [&str; 2] = ["sandbox", "network"];

/// What the configuration says about tasks.
#[derive(Debug, Clone)]
pub struct TaskSettings {
    /// What requests may say: `form`.
    pub form: Form,
    /// How deep agents may start agents: `max-depth`, a number or `"unlimited"`.
    pub max_depth: Option<u32>,
    /// Agents that must not be started: `disabled-agents`.
    pub disabled: BTreeSet<String>,
    /// Whether agents may run without being asked anything: `allow-bypass-permissions`.
    pub bypass: Bypass,
    /// How far a task may go: `max-turns`, `max-time`, `max-tokens`, `max-cost`, `max-children`.
    pub limits: Limits,
    /// How many tasks run at the same time: `max-concurrency`.
    pub concurrency: usize,
    /// How long a question waits for an answer: `approval-timeout`.
    pub approval: Duration,
    /// Whether background tasks may ask for secrets: `background-secrets`.
    pub background_secrets: Asks,
    /// Whether tasks may write to each other: `peer-messages`.
    pub peers: Peers,
    /// What runs when a task begins: `start-hooks`.
    pub start_hooks: Vec<HookDef>,
    /// What runs when one has ended: `stop-hooks`.
    pub stop_hooks: Vec<HookDef>,
    /// What there is to say about them.
    pub findings: Vec<Finding>,
}

impl Default for TaskSettings {
    fn default() -> Self {
        let Settings { form, max_depth, disabled, bypass, limits, .. } = Settings::default();
        Self {
            form,
            max_depth,
            disabled,
            bypass,
            limits,
            concurrency: DEFAULT_CONCURRENCY,
            approval: DEFAULT_PATIENCE,
            background_secrets: Asks::Nobody,
            peers: Peers::MayNot,
            start_hooks: Vec::new(),
            stop_hooks: Vec::new(),
            findings: Vec::new(),
        }
    }
}

const FORMS: [(&str, Form); 3] = [
    ("default", Form::Default),
    ("schema-free", Form::SchemaFree),
    ("independent", Form::Independent),
];

/// Whether tasks may write to each other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Peers {
    /// They may: `peer-messages = true`.
    May,
    /// They may not.
    #[default]
    MayNot,
}

const BACKGROUND_SECRETS: [(&str, Asks); 2] = [("deny", Asks::Nobody), ("ask", Asks::Somebody)];

impl TaskSettings {
    /// Reads the file; a missing one means the defaults, a broken one is an error.
    pub fn load(dirs: &Dirs) -> Result<Self, ConfigError> {
        let file = Config::file(dirs);
        Self::parse(&file, &Config::text(&file)?)
    }

    /// The same from its text.
    pub fn parse(file: &Utf8Path, text: &str) -> Result<Self, ConfigError> {
        let (mut settings, findings) = Config::tables(file, text, Values::Shown, |root| {
            let mut settings = Self::default();
            if let Some(table) = root.table("tasks") {
                settings.read(&table);
            }
            settings
        })?;
        settings.findings = findings;
        Ok(settings)
    }

    fn read(&mut self, table: &Table<'_>) {
        if let Some(form) = table.choice("form", &FORMS) {
            self.form = form;
        }
        match table.get("max-depth") {
            Some(value) if value.is_string() => {
                if let Some(text) = table.string("max-depth") {
                    match text.as_str() {
                        "unlimited" => self.max_depth = None,
                        _ => text.error("`max-depth` is a number, or `unlimited`"),
                    }
                }
            }
            Some(_) => {
                let depth = table.count("max-depth");
                self.max_depth = depth.map(|it| u32::try_from(it).unwrap_or(u32::MAX));
            }
            None => {}
        }
        self.disabled = table.strings("disabled-agents").iter().map(ToString::to_string).collect();
        if table.boolean("allow-bypass-permissions") == Some(true) {
            self.bypass = Bypass::Allowed;
        }
        let limits = &mut self.limits;
        limits.turns = table.count("max-turns").or(limits.turns);
        limits.tokens = table.count("max-tokens").or(limits.tokens);
        limits.children = table.count("max-children").or(limits.children);
        limits.time = time(table, "max-time").or(limits.time);
        limits.cost = dollars(table, "max-cost").or(limits.cost);
        self.approval = time(table, "approval-timeout").unwrap_or(self.approval);
        if let Some(asks) = table.choice("background-secrets", &BACKGROUND_SECRETS) {
            self.background_secrets = asks;
        }
        if table.boolean("peer-messages") == Some(true) {
            self.peers = Peers::May;
        }
        self.start_hooks = hooks(table, "start-hooks");
        self.stop_hooks = hooks(table, "stop-hooks");
        match table.count("max-concurrency") {
            Some(0) => table.report(Finding::error("`max-concurrency` is at least 1")),
            Some(most) => self.concurrency = usize::try_from(most).unwrap_or(usize::MAX),
            None => {}
        }
        for key in OF_TOOLS {
            table.get(key);
        }
        table.deny_unknown();
    }

    /// What the preflight is given. What an agent must not start is said by a variable, too, and so is how deep we stand already.
    #[must_use]
    pub fn for_preflight(&self, models: agents_model::select::Preferences) -> Settings {
        let variables = [env::AGENTS_BLOCKED_AGENT, env::PI_BLOCKED_AGENT];
        let blocked = variables.iter().find_map(|it| Some((it.text()?, it.name.to_owned())));
        Settings {
            form: self.form,
            max_depth: self.max_depth.map(|max| max.saturating_sub(env::depth())),
            disabled: self.disabled.clone(),
            blocked,
            bypass: self.bypass,
            limits: self.limits,
            bounds: self.limits,
            models,
            peers: (self.peers == Peers::May).then(PeerLimits::default),
        }
    }

    /// Every setting with its value and who says so, for `config show`.
    pub fn settings(dirs: &Dirs) -> Result<Vec<Setting>, ConfigError> {
        Config::of_table(dirs, &["tasks"], Self::load(dirs)?.shown())
    }

    fn shown(&self) -> Vec<(&'static str, Value)> {
        let form = FORMS.iter().find(|it| it.1 == self.form).map_or("default", |it| it.0);
        let secrets = BACKGROUND_SECRETS.iter().find(|it| it.1 == self.background_secrets);
        let secrets = secrets.map_or("deny", |it| it.0);
        let depth = self.max_depth.map_or(json!("unlimited"), |it| json!(it));
        let mut all = vec![
            ("form", json!(form)),
            ("max-depth", depth),
            ("disabled-agents", json!(self.disabled)),
            ("allow-bypass-permissions", json!(self.bypass == Bypass::Allowed)),
            ("max-concurrency", json!(self.concurrency)),
            ("approval-timeout", json!(span::written(self.approval))),
            ("background-secrets", json!(secrets)),
            ("peer-messages", json!(self.peers == Peers::May)),
        ];
        let Limits { turns, time, tokens, cost, children } = self.limits;
        let counted = [("max-turns", turns), ("max-tokens", tokens), ("max-children", children)];
        all.extend(counted.into_iter().filter_map(|(key, most)| Some((key, json!(most?)))));
        for (key, hooks) in [("start-hooks", &self.start_hooks), ("stop-hooks", &self.stop_hooks)] {
            if !hooks.is_empty() {
                all.push((key, hooks.iter().map(shown_hook).collect()));
            }
        }
        all.extend(time.map(|it| ("max-time", json!(span::written(it)))));
        all.extend(cost.map(|it| ("max-cost", json!(it.written()))));
        all
    }
}

/// Commands that run at a moment of a task's life.
fn hooks(table: &Table<'_>, key: &'static str) -> Vec<HookDef> {
    let read = |table: Table<'_>| {
        let command = table.required_string("command");
        let timeout = time(&table, "timeout");
        let closed = table.boolean("fail-closed") == Some(true);
        table.deny_unknown();
        let mut hook = HookDef::new(command?.to_string());
        hook.timeout = timeout.unwrap_or(hook.timeout);
        hook.failure = if closed { OnFailure::Stop } else { OnFailure::GoOn };
        Some(hook)
    };
    let all = table.tables(key).into_iter();
    all.filter_map(|it| read(it.labelled(format!("[[tasks.{key}]]")))).collect()
}

fn shown_hook(hook: &HookDef) -> Value {
    let mut shown = json!({ "command": hook.command, "timeout": span::written(hook.timeout) });
    if hook.failure == OnFailure::Stop {
        shown["fail-closed"] = json!(true);
    }
    shown
}

fn time(table: &Table<'_>, key: &'static str) -> Option<Duration> {
    let text = table.string(key)?;
    let time = span::parse(text.as_str().trim(), Duration::from_secs(1));
    if time.is_none() {
        text.error(format!("`{key}` is a time such as `90s`, `10m` or `2h`"));
    }
    time
}

fn dollars(table: &Table<'_>, key: &'static str) -> Option<MicroDollars> {
    let text = table.string(key)?;
    let cost = MicroDollars::parse(text.as_str());
    if cost.is_none() {
        text.error(format!("`{key}` is an amount in dollars such as `\"0.50\"`"));
    }
    cost
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<TaskSettings, String> {
        TaskSettings::parse(Utf8Path::new("config.toml"), text).map_err(|error| {
            let ConfigError::Invalid { findings, .. } = error else { return error.to_string() };
            findings.into_iter().map(|it| it.message).collect::<Vec<_>>().join("; ")
        })
    }

    #[test]
    fn everything_that_can_be_said() {
        let said = parse(
            r#"
            [tasks]
            form = "independent"
            max-depth = "unlimited"
            disabled-agents = ["explore"]
            allow-bypass-permissions = true
            max-concurrency = 3
            max-turns = 7
            max-time = "10m"
            max-tokens = 1000
            max-cost = "0.50"
            max-children = 2
            approval-timeout = "30s"
            sandbox = "always"
            "#,
        )
        .unwrap();
        assert_eq!(
            (said.form, said.max_depth, said.bypass),
            (Form::Independent, None, Bypass::Allowed)
        );
        assert!(said.disabled.contains("explore"));
        assert_eq!((said.concurrency, said.approval), (3, Duration::from_secs(30)));
        let limits = Limits {
            turns: Some(7),
            time: Some(Duration::from_secs(600)),
            tokens: Some(1000),
            cost: Some(MicroDollars(500_000)),
            children: Some(2),
        };
        assert_eq!(said.limits, limits);
        assert!(said.findings.is_empty());
    }

    #[test]
    fn what_is_wrong_is_told() {
        for (text, told) in [
            ("max-depth = \"deep\"", "`max-depth` is a number, or `unlimited`"),
            ("max-time = \"soon\"", "`max-time` is a time such as `90s`, `10m` or `2h`"),
            ("max-cost = \"much\"", "`max-cost` is an amount in dollars such as `\"0.50\"`"),
            ("max-concurrency = 0", "`max-concurrency` is at least 1"),
            ("max-turn = 1", "unknown key `max-turn` in [tasks]"),
        ] {
            assert_eq!(parse(&format!("[tasks]\n{text}\n")).unwrap_err(), told);
        }
        let nothing = parse("").unwrap();
        assert_eq!((nothing.max_depth, nothing.limits), (Some(2), Limits::DEFAULT));
    }
}

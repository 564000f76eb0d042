//! What a file says about tools and other agents.

use serde_json::Value;

use super::{
    settle::TASK,
    values::{Entry, Reader, did_you_mean, split_commas},
};
use crate::{
    definition::{AgentDefinition, Dialect, Spawns},
    dialect::{
        grammar::{Key, SpawnStyle},
        opencode,
    },
    tools::{
        ToolPattern, Tools,
        names::{Familiar, all, from_host},
    },
};

/// Names of tools, as they are written.
#[derive(Debug, Default)]
struct Said {
    /// `None` if nothing is said.
    allow: Option<Vec<String>>,
    deny: Vec<String>,
}

/// The tool with which agents of some hosts give their result. Every agent has it.
const YIELD: &str = "yield";
/// Where a list stands for no tools at all.
pub(crate) const NONE: &str = "none";

impl Reader<'_, '_> {
    pub(super) fn tools(&mut self, entries: &[(Key, Entry<'_>)], to: &mut AgentDefinition) {
        let find = |wanted| entries.iter().find_map(|(key, it)| (*key == wanted).then_some(it));
        let mut spawns = None;
        if let Some(entry) = find(Key::Permission) {
            let said = opencode::read_permission(entry.value);
            for tool in &said.with_arguments {
                self.unenforced(entry, tool);
            }
            if said.unreadable {
                self.error(entry, "a permission is `allow`, `ask`, `deny` or a table of them");
            }
            if !said.rest.is_empty() {
                to.extra.insert(entry.spelled(), Value::Object(said.rest));
            }
            spawns = said.spawns;
            self.take(
                entry,
                Said { allow: said.allow, deny: said.deny },
                &mut to.tools,
                &mut spawns,
            );
        }
        if let Some(entry) = find(Key::Tools) {
            let said = self.listed(entry);
            self.take(entry, said, &mut to.tools, &mut spawns);
        }
        if let Some(entry) = find(Key::Deny) {
            let said = Said { allow: None, deny: self.list(entry) };
            self.take(entry, said, &mut to.tools, &mut spawns);
        }
        if let Some(entry) = find(Key::Spawns) {
            let names = self.list(entry);
            // An empty list is as good as none.
            if !names.is_empty() {
                spawns = Some(Spawns::Only(names));
            }
        }
        to.spawns = spawns.unwrap_or_default();
    }

    /// The tools in whatever way they are listed.
    fn listed(&mut self, entry: &Entry<'_>) -> Said {
        let Value::Object(table) = entry.value else {
            return match entry.value {
                Value::Bool(true) => Said::default(),
                Value::Bool(false) => Said { allow: None, deny: vec!["*".to_owned()] },
                _ => {
                    let allow = self.list(entry);
                    if allow.is_empty() {
                        let hint = format!("leave it out, or write `{NONE}` for no tools at all");
                        self.doubt(entry, "an empty list of tools is no restriction", Some(hint));
                    }
                    Said { allow: Some(allow), deny: Vec::new() }
                }
            };
        };
        if !table.is_empty() && table.values().all(Value::is_boolean) {
            return switches(table);
        }
        let mut said = Said::default();
        for (key, value) in table {
            let inner = Entry { path: [entry.path.clone(), vec![key.clone()]].concat(), value };
            match key.as_str() {
                "allow" => {
                    let allow = self.list(&inner);
                    // Zeph means it.
                    if allow.is_empty() && !value.is_null() {
                        said.deny.push("*".to_owned());
                    }
                    said.allow = Some(allow);
                }
                "deny" | "except" => said.deny.extend(self.list(&inner)),
                _ => self.error(&inner, format!("`{}` is not known", inner.spelled())),
            }
        }
        if self.grammar.dialect == Dialect::Zeph
            && table.contains_key("allow")
            && table.contains_key("deny")
        {
            self.error(entry, "`allow` and `deny` cannot both be there; write `except`");
        }
        said
    }

    /// Adds what was said, in our names.
    fn take(
        &mut self,
        entry: &Entry<'_>,
        said: Said,
        tools: &mut Tools,
        spawns: &mut Option<Spawns>,
    ) {
        if let Some(mut names) = said.allow.filter(|names| !names.is_empty()) {
            names.retain(|name| !name.eq_ignore_ascii_case(YIELD));
            if names.is_empty() || names.iter().all(|name| name == NONE) {
                tools.deny.push(ToolPattern::new("*"));
            } else {
                let allow = self.patterns(entry, &names, Some(spawns));
                tools.allow.get_or_insert_default().extend(allow);
            }
        }
        let denied = self.patterns(entry, &said.deny, None);
        tools.deny.extend(denied);
    }

    fn patterns(
        &mut self,
        entry: &Entry<'_>,
        names: &[String],
        mut spawns: Option<&mut Option<Spawns>>,
    ) -> Vec<ToolPattern> {
        let dialect = self.grammar.dialect;
        let mut all_patterns = Vec::new();
        for name in names {
            let (patterns, familiar) = from_host(dialect, name);
            let title = dialect.title();
            match familiar {
                Familiar::Own => {}
                Familiar::Foreign => {
                    self.doubt(entry, format!("`{name}` is not a tool of {title}"), None);
                }
                Familiar::Unknown => {
                    let hint = did_you_mean(name, all().map(|(name, _)| name));
                    self.doubt(entry, format!("`{name}` is not a tool that is known"), hint);
                }
            }
            for pattern in patterns {
                let starts_agents = pattern.tool() == TASK;
                match &mut spawns {
                    Some(_) if starts_agents && self.grammar.spawns == SpawnStyle::Never => {
                        self.doubt(entry, format!("agents of {title} cannot start others"), None);
                    }
                    Some(spawns) if starts_agents => {
                        let names = pattern.argument().map(split_commas);
                        let said = names.map_or(Spawns::Any, Spawns::Only);
                        spawns.get_or_insert(said);
                        all_patterns.push(pattern.without_argument());
                    }
                    _ => {
                        if pattern.argument().is_some() {
                            self.unenforced(entry, name);
                        }
                        all_patterns.push(pattern);
                    }
                }
            }
        }
        all_patterns
    }

    fn unenforced(&mut self, entry: &Entry<'_>, name: &str) {
        let message =
            format!("`{name}` restricts the arguments of a tool, which is not enforced here");
        self.doubt(entry, message, None);
    }
}

/// `{ write: false }`, or `{ "*": false, read: true }`.
fn switches(table: &serde_json::Map<String, Value>) -> Said {
    let on = |is: bool| {
        let entries =
            table.iter().filter(move |(name, value)| value.as_bool() == Some(is) && *name != "*");
        entries.map(|(name, _)| name.clone()).collect::<Vec<_>>()
    };
    match table.get("*") {
        Some(Value::Bool(false)) => {
            let allow = on(true);
            if allow.is_empty() {
                return Said { allow: None, deny: vec!["*".to_owned()] };
            }
            Said { allow: Some(allow), deny: Vec::new() }
        }
        _ => Said { allow: None, deny: on(false) },
    }
}

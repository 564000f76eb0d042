//! OpenCode: Markdown, `mode` and `permission`.
//!
//! There, tools are not listed but permitted: a map from a tool, or a pattern, to `allow`, `ask` or `deny`, or to a map from
//! arguments to those. The last one that matches counts.

use serde_json::{Map, Value};

use super::grammar::{DenyStyle, Grammar, Key, McpNames, Models, Naming, SpawnStyle, ToolStyle};
use crate::{
    definition::{AgentDefinition, Dialect, Spawns},
    parse::TASK,
    tools::{ToolPattern, names::to_host},
};

pub(super) const GRAMMAR: Grammar = Grammar {
    dialect: Dialect::OpenCode,
    naming: Naming::File,
    keys: &[
        ("description", Key::Description),
        ("name", Key::Name),
        ("model", Key::Model),
        ("steps", Key::Turns),
        ("maxSteps", Key::Turns),
        ("prompt", Key::Prompt),
        ("permission", Key::Permission),
        ("tools", Key::Tools),
    ],
    extra: &["mode", "temperature", "top_p", "disable", "hidden", "color", "options", "variant"],
    always: &[("mode", "subagent")],
    tools: ToolStyle::Permission,
    deny: DenyStyle::List,
    mcp_names: McpNames::Bare,
    spawns: SpawnStyle::Permission,
    models: Models::WithProvider,
    ..Grammar::MARKDOWN
};

/// Permissions for something that is no tool.
const NO_TOOLS: [&str; 2] = ["external_directory", "doom_loop"];

/// What a map of permissions says.
#[derive(Debug, Default)]
pub(crate) struct Permissions {
    pub(crate) allow: Option<Vec<String>>,
    pub(crate) deny: Vec<String>,
    pub(crate) spawns: Option<Spawns>,
    /// Tools whose arguments are restricted.
    pub(crate) with_arguments: Vec<String>,
    /// What has no equal: when to ask.
    pub(crate) rest: Map<String, Value>,
    pub(crate) unreadable: bool,
}

pub(crate) fn read_permission(value: &Value) -> Permissions {
    let mut said = Permissions::default();
    let table = match value {
        Value::Object(table) => table.clone(),
        // One for everything.
        Value::String(_) => Map::from_iter([("*".to_owned(), value.clone())]),
        _ => {
            said.unreadable = true;
            return said;
        }
    };
    let refused = table.get("*").and_then(Value::as_str) == Some("deny");
    let mut allow = Vec::new();
    for (tool, value) in &table {
        let keep = |said: &mut Permissions| {
            said.rest.insert(tool.clone(), value.clone());
        };
        if NO_TOOLS.contains(&tool.as_str()) {
            keep(&mut said);
            continue;
        }
        match value {
            Value::String(word) => match (word.as_str(), tool.as_str()) {
                ("deny", "*") => {}
                ("deny", _) => said.deny.push(tool.clone()),
                ("allow" | "ask", TASK) => {
                    said.spawns = Some(Spawns::Any);
                    allow.push(tool.clone());
                    if word == "ask" {
                        keep(&mut said);
                    }
                }
                ("allow", tool) if refused && tool != "*" => allow.push(tool.to_owned()),
                ("allow" | "ask", _) => {
                    if refused {
                        allow.push(tool.clone());
                    }
                    keep(&mut said);
                }
                _ => said.unreadable = true,
            },
            Value::Object(patterns) if tool == TASK => {
                let is = |word: &str| {
                    let found = patterns
                        .iter()
                        .filter(move |(name, it)| it.as_str() == Some(word) && *name != "*");
                    found.map(|(name, _)| name.clone()).collect::<Vec<_>>()
                };
                let open = patterns.get("*").is_none_or(|it| it.as_str() != Some("deny"));
                said.spawns = Some(if open { Spawns::Any } else { Spawns::Only(is("allow")) });
                if open {
                    keep(&mut said);
                }
                allow.push(tool.clone());
            }
            Value::Object(patterns) => {
                let all_denied = patterns.values().all(|it| it.as_str() == Some("deny"));
                if all_denied && patterns.contains_key("*") {
                    said.deny.push(tool.clone());
                    continue;
                }
                if refused {
                    allow.push(tool.clone());
                }
                said.with_arguments.push(tool.clone());
                keep(&mut said);
            }
            _ => said.unreadable = true,
        }
    }
    if refused {
        if allow.is_empty() {
            said.deny = vec!["*".to_owned()];
        } else {
            said.allow = Some(allow);
        }
    }
    said
}

/// Where tools are listed, all others are denied, and what was said of everything holds for those of the list: to ask first must not
/// become to allow. Only for agents there is no such word: which of them may be started is said in a table.
pub(crate) fn narrow(definition: &mut AgentDefinition) {
    let tools = &definition.tools;
    let Some(allow) = &tools.allow else { return };
    let Some(Value::Object(rest)) = definition.extra.get_mut("permission") else { return };
    let all = rest.shift_remove("*").filter(|it| it != "allow");
    let restricted = matches!(definition.spawns, Spawns::Only(_));
    let listed = allow.iter().filter(|it| tools.allows(it.tool()));
    let listed = listed.filter(|it| !(restricted && it.tool() == TASK));
    for name in listed.filter_map(|it| to_host(Dialect::OpenCode, it)) {
        if let Some(all) = &all {
            rest.entry(name).or_insert_with(|| all.clone());
        }
    }
    if rest.is_empty() {
        definition.extra.shift_remove("permission");
    }
}

/// The map for a definition; `None` if nothing is restricted.
pub(crate) fn permission(definition: &AgentDefinition) -> Option<Value> {
    let mut table = Map::new();
    let tools = &definition.tools;
    let rest = definition.extra.get("permission").and_then(Value::as_object);
    if tools.allow.is_some() || tools.is_nothing() {
        table.insert("*".to_owned(), "deny".into());
    } else if let Some(all) = rest.and_then(|it| it.get("*")) {
        table.insert("*".to_owned(), all.clone());
    }
    let mut set = |patterns: &[ToolPattern], word: &str| {
        for name in patterns.iter().filter_map(|it| to_host(Dialect::OpenCode, it)) {
            table.insert(name, word.into());
        }
    };
    set(tools.allow.as_deref().unwrap_or_default(), "allow");
    if !tools.is_nothing() {
        set(&tools.deny, "deny");
    }
    match &definition.spawns {
        Spawns::None => {}
        Spawns::Any => {
            table.insert(TASK.to_owned(), "allow".into());
        }
        Spawns::Only(names) => {
            let mut only = Map::from_iter([("*".to_owned(), "deny".into())]);
            only.extend(names.iter().map(|name| (name.clone(), "allow".into())));
            table.insert(TASK.to_owned(), Value::Object(only));
        }
    }
    for (tool, value) in rest.into_iter().flatten() {
        // Whatever was kept must not give back what is taken away.
        if table.get(tool).and_then(Value::as_str) != Some("deny") {
            table.insert(tool.clone(), value.clone());
        }
    }
    (!table.is_empty()).then_some(Value::Object(table))
}

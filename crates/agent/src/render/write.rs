//! Text for what a dialect can say.

use std::{fmt::Write as _, time::Duration};

use agents_system::edit::{self, Format};
use serde_json::{Map, Value, json};

use super::{
    lower::mode_word,
    tools::{host_text, is_one_item},
};
use crate::{
    definition::{
        AgentDefinition, Dialect, Isolation, McpServerUse, MemoryScope, PermissionMode, Spawns,
        Waiting,
    },
    dialect::{
        Syntax,
        grammar::{Grammar, Key, ListStyle, McpStyle, Naming, SpawnStyle, ToolStyle},
        opencode,
    },
    entries, hooks, mcp,
    parse::{NONE, TASK},
    tools::ToolPattern,
};

/// The file for a definition that the dialect can hold.
pub(super) fn write(kept: &AgentDefinition, grammar: &Grammar) -> String {
    let table = table(kept, grammar);
    let file_name = grammar.dialect.file_name(kept.name.as_str());
    match grammar.dialect.syntax(file_name.as_str().into()) {
        Syntax::Markdown => {
            let header = written(Format::Yaml, &table);
            format!("---\n{header}---\n{}", separated(&kept.prompt, "\n"))
        }
        Syntax::Json => written(Format::Json, &table),
        Syntax::Toml => {
            let (mut first, mut rest) = (Map::new(), table);
            let mut prompt = String::new();
            for key in [Key::Name, Key::Description, Key::Prompt] {
                let Some(spelling) = grammar.spelling(key) else { continue };
                match rest.shift_remove(spelling) {
                    Some(Value::String(text)) if key == Key::Prompt => {
                        prompt = format!("{spelling} = {}\n", lines_of_toml(&text));
                    }
                    Some(value) => {
                        first.insert(spelling.to_owned(), value);
                    }
                    None => {}
                }
            }
            format!("{}{prompt}{}", written(Format::Toml, &first), written(Format::Toml, &rest))
        }
    }
}

/// A prompt below a header.
pub(crate) fn separated(prompt: &str, newline: &str) -> String {
    if prompt.is_empty() { String::new() } else { format!("{newline}{prompt}{newline}") }
}

/// A text with these entries.
fn written(format: Format, table: &Map<String, Value>) -> String {
    edit::write(format, table).unwrap_or_else(|_| {
        // What the format cannot hold (a null, or a number of more than 63 bits in TOML) is left out.
        let mut fine = Map::new();
        for (key, value) in table {
            fine.insert(key.clone(), value.clone());
            if edit::write(format, &fine).is_err() {
                fine.shift_remove(key);
            }
        }
        edit::write(format, &fine).unwrap_or_default()
    })
}

/// The prompt as TOML over several lines.
fn lines_of_toml(prompt: &str) -> String {
    let mut out = String::from("\"\"\"\n");
    for c in prompt.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '\n' | '\t' => out.push(c),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push_str("\n\"\"\"");
    out
}

fn table(kept: &AgentDefinition, grammar: &Grammar) -> Map<String, Value> {
    let mut table = Map::new();
    let mut written: Vec<Key> = Vec::new();
    for (spelling, key) in grammar.keys {
        if written.contains(key) {
            continue;
        }
        if let Some(value) = value(kept, *key, grammar) {
            let path: Vec<&str> = spelling.split('.').collect();
            entries::insert(&mut table, &path, value);
            written.push(*key);
        }
    }
    for (key, value) in &kept.extra {
        match (table.get_mut(key), value) {
            (Some(Value::Object(there)), Value::Object(more)) => {
                for (key, value) in more {
                    there.entry(key).or_insert_with(|| value.clone());
                }
            }
            (Some(_), _) => {}
            (None, value) => {
                table.insert(key.clone(), value.clone());
            }
        }
    }
    table
}

/// What is written for a meaning; `None` if there is nothing to say.
pub(crate) fn value(kept: &AgentDefinition, key: Key, grammar: &Grammar) -> Option<Value> {
    let limits = &kept.limits;
    Some(match key {
        Key::Name => match (grammar.naming, kept.extra.get("name")) {
            (Naming::File, Some(shown)) => shown.clone(),
            // The name of the file says it.
            (Naming::File, None) if grammar.dialect == Dialect::OpenCode => return None,
            _ => kept.name.as_str().into(),
        },
        Key::Description if kept.description.is_empty() => return None,
        Key::Description => kept.description.clone().into(),
        Key::Prompt => match grammar.dialect.syntax(grammar.dialect.file_name("x").as_str().into())
        {
            Syntax::Markdown => return None,
            _ if kept.prompt.is_empty() => return None,
            _ => kept.prompt.clone().into(),
        },
        Key::Tools => return tools(kept, grammar),
        Key::Deny => {
            let deny = &kept.tools.deny;
            if deny.is_empty() || kept.tools.is_nothing() {
                return None;
            }
            list(grammar, names(kept, grammar, deny))
        }
        Key::Permission => return opencode::permission(kept),
        Key::Spawns => match &kept.spawns {
            Spawns::None => return None,
            Spawns::Any => "*".into(),
            Spawns::Only(names) => list(grammar, names.clone()),
        },
        Key::Model => match kept.model.as_slice() {
            [] => return None,
            [one] if is_one_item(&one.0) => one.0.clone().into(),
            several => several.iter().map(|it| it.0.clone()).collect(),
        },
        Key::Effort => {
            let effort = kept.effort?;
            grammar.efforts.iter().find(|(_, it)| *it == effort)?.0.into()
        }
        Key::Output => kept.output.as_ref()?.schema.clone(),
        Key::Waiting => match kept.waiting? {
            Waiting::Blocking => "blocking".into(),
            Waiting::Background => "background".into(),
        },
        Key::Blocking => (kept.waiting? == Waiting::Blocking).then_some(Value::Bool(true))?,
        Key::Background => (kept.waiting? == Waiting::Background).then_some(Value::Bool(true))?,
        Key::Isolation => match kept.isolation? {
            Isolation::None => "none".into(),
            Isolation::Worktree => "worktree".into(),
        },
        Key::Worktree => (kept.isolation? == Isolation::Worktree).into(),
        Key::Mode => mode_word(grammar, kept.permission_mode?)?.into(),
        Key::ReadOnly => {
            (kept.permission_mode? == PermissionMode::Plan).then_some(Value::Bool(true))?
        }
        Key::Sandbox => match kept.permission_mode? {
            PermissionMode::Plan => "read-only".into(),
            PermissionMode::AcceptEdits => "workspace-write".into(),
            PermissionMode::BypassPermissions => "danger-full-access".into(),
            PermissionMode::Default | PermissionMode::DontAsk => return None,
        },
        Key::Approval => match kept.permission_mode? {
            PermissionMode::Default | PermissionMode::AcceptEdits => "on-request".into(),
            PermissionMode::DontAsk | PermissionMode::BypassPermissions => "never".into(),
            PermissionMode::Plan => return None,
        },
        Key::Turns => limits.turns?.into(),
        Key::Time => in_words(limits.time?).into(),
        Key::Seconds => limits.time?.as_secs().into(),
        Key::Minutes => (limits.time?.as_secs() / 60).into(),
        Key::Tokens => limits.tokens?.into(),
        Key::Cost => limits.cost?.into(),
        Key::History => limits.history?.into(),
        Key::Grant => in_words(limits.grant?).into(),
        Key::GrantSeconds => limits.grant?.as_secs().into(),
        Key::Skills => return skills(kept, grammar),
        Key::McpServers => return servers(kept, grammar),
        Key::Hooks => hooks::to_dialect(grammar.dialect, kept.hooks.as_ref()?),
        Key::Memory => match kept.memory? {
            MemoryScope::User => "user".into(),
            MemoryScope::Project => "project".into(),
            MemoryScope::Local => "local".into(),
        },
        Key::Secrets if kept.secrets.is_empty() => return None,
        Key::Secrets => kept.secrets.clone().into(),
        Key::Priority => (kept.choice.priority != 0).then_some(kept.choice.priority)?.into(),
        Key::Mutex => kept.choice.mutex.clone()?.into(),
    })
}

/// The largest unit that says it exactly.
fn in_words(time: Duration) -> String {
    let millis = time.as_millis();
    match [(3_600_000, "h"), (60_000, "m"), (1000, "s")]
        .iter()
        .find(|(unit, _)| millis.is_multiple_of(*unit))
    {
        Some((unit, name)) if millis > 0 => format!("{}{name}", millis / unit),
        _ => format!("{millis}ms"),
    }
}

fn list(grammar: &Grammar, names: Vec<String>) -> Value {
    match grammar.tools {
        ToolStyle::Commas => names.join(", ").into(),
        _ => names.into(),
    }
}

/// The names of tools in the host, each once.
fn names(kept: &AgentDefinition, grammar: &Grammar, patterns: &[ToolPattern]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for pattern in patterns {
        let Some(mut name) = host_text(grammar, pattern) else { continue };
        if let (TASK, SpawnStyle::ToolWithNames, Spawns::Only(agents)) =
            (pattern.as_str(), grammar.spawns, &kept.spawns)
        {
            let _ = write!(name, "({})", agents.join(", "));
        }
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn tools(kept: &AgentDefinition, grammar: &Grammar) -> Option<Value> {
    let tools = &kept.tools;
    let allow = tools.allow.as_ref().map(|allow| names(kept, grammar, allow));
    let deny = names(kept, grammar, &tools.deny);
    match grammar.tools {
        ToolStyle::Permission | ToolStyle::Never => None,
        ToolStyle::Nested if tools.is_nothing() => Some(json!({ "allow": [] })),
        ToolStyle::ListOrNested if tools.is_nothing() => Some(json!({ "deny": ["*"] })),
        ToolStyle::Commas | ToolStyle::List | ToolStyle::ListOrStar if tools.is_nothing() => {
            Some(list(grammar, vec![NONE.to_owned()]))
        }
        ToolStyle::Commas | ToolStyle::List => allow.map(|allow| list(grammar, allow)),
        ToolStyle::ListOrStar => Some(allow.unwrap_or_else(|| vec!["*".to_owned()]).into()),
        ToolStyle::ListOrNested if deny.is_empty() => allow.map(Value::from),
        ToolStyle::ListOrNested | ToolStyle::Nested => {
            let mut table = Map::new();
            let denied =
                if allow.is_some() && grammar.dialect == Dialect::Zeph { "except" } else { "deny" };
            if let Some(allow) = allow {
                table.insert("allow".to_owned(), allow.into());
            }
            if !deny.is_empty() {
                table.insert(denied.to_owned(), deny.into());
            }
            (!table.is_empty()).then_some(Value::Object(table))
        }
    }
}

fn skills(kept: &AgentDefinition, grammar: &Grammar) -> Option<Value> {
    let skills = &kept.skills;
    if skills.include.is_empty() && skills.exclude.is_empty() {
        return None;
    }
    Some(match grammar.lists {
        ListStyle::Commas => skills.include.join(", ").into(),
        ListStyle::List => skills.include.clone().into(),
        ListStyle::Nested => {
            let mut table = Map::new();
            for (key, names) in [("include", &skills.include), ("exclude", &skills.exclude)] {
                if !names.is_empty() {
                    table.insert(key.to_owned(), names.clone().into());
                }
            }
            Value::Object(table)
        }
    })
}

fn servers(kept: &AgentDefinition, grammar: &Grammar) -> Option<Value> {
    if kept.mcp_servers.is_empty() {
        return None;
    }
    let said = |entry: &Value| mcp::to_dialect(grammar.dialect, entry).unwrap_or_default();
    let named = kept.mcp_servers.iter().map(|server| match server {
        McpServerUse::Named(name) => Value::from(name.clone()),
        McpServerUse::Inline { name, entry } => {
            Value::Object(Map::from_iter([(name.clone(), said(entry))]))
        }
    });
    match grammar.mcp {
        McpStyle::Mixed | McpStyle::Names => Some(named.collect()),
        McpStyle::Map => {
            let entries = kept.mcp_servers.iter().filter_map(|server| match server {
                McpServerUse::Inline { name, entry } => Some((name.clone(), said(entry))),
                McpServerUse::Named(_) => None,
            });
            Some(Value::Object(entries.collect()))
        }
        McpStyle::Never => None,
    }
}

//! From the text of a file to a definition.

use agents_system::{
    cache::digest,
    finding::{Finding, Place, Severity},
};
use camino::Utf8Path;
use serde_json::{Map, Value};

use crate::{
    definition::{
        AgentDefinition, AgentName, Choice, Dialect, Effort, Limits, McpServerUse, ModelPattern,
        Origin, OutputSchema, PermissionMode, SchemaLanguage, SkillFilter, Source, Spawns, Waiting,
    },
    tools::{ToolPattern, Tools},
};

/// What unknown keys are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strictness {
    /// Warnings.
    Lenient,
    /// Errors.
    Strict,
}

/// The dialect that a file is written in, by its place and name.
#[must_use]
pub fn dialect_of(path: &Utf8Path) -> Option<Dialect> {
    path.as_str().ends_with(".md").then_some(Dialect::Ours)
}

/// Reads a definition. `None` if there is none; the findings say why.
#[must_use]
pub fn parse(
    file: &Utf8Path,
    text: &str,
    dialect: Dialect,
    source: Source,
    strictness: Strictness,
) -> (Option<AgentDefinition>, Vec<Finding>) {
    let mut findings = Vec::new();
    let wrong = |message: &str| Finding::error(message).at(Place::file(file));
    let Some((header, body)) = text.strip_prefix("---\n").and_then(|rest| {
        rest.split_once("\n---\n").or(rest.strip_suffix("\n---").map(|it| (it, "")))
    }) else {
        return (None, vec![wrong("there is no header between two `---` lines")]);
    };
    let mut keys: Map<String, Value> = match serde_saphyr::from_str(header) {
        Ok(keys) => keys,
        Err(error) => return (None, vec![wrong(&format!("the header is no YAML: {error}"))]),
    };
    let mut string = |key: &str| match keys.remove(key) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    };
    let (name, description) = (string("name"), string("description"));
    let name = name.as_deref().and_then(AgentName::new);
    let (Some(name), Some(description)) = (name, description) else {
        return (None, vec![wrong("`name` and `description` are required")]);
    };
    let mode = string("permissionMode");
    let effort = string("thinkingLevel");
    let mutex = string("mutex");
    let list = |value: Option<Value>| -> Option<Vec<String>> {
        match value? {
            Value::String(text) => {
                Some(text.split(',').map(|it| it.trim().to_owned()).collect::<Vec<_>>())
            }
            Value::Array(items) => {
                Some(items.iter().filter_map(|it| it.as_str().map(str::to_owned)).collect())
            }
            _ => None,
        }
    };
    let tools = list(keys.remove("tools"));
    let deny = list(keys.remove("disallowedTools")).unwrap_or_default();
    let pattern = |names: Vec<String>| names.iter().map(|it| ToolPattern::new(it)).collect();
    let spawns = match list(keys.remove("spawns")) {
        None => Spawns::None,
        Some(names) if names == ["*"] => Spawns::Any,
        Some(names) => Spawns::Only(names),
    };
    let servers = match keys.remove("mcpServers") {
        Some(Value::Object(entries)) => {
            entries.into_iter().map(|(name, entry)| McpServerUse::Inline { name, entry }).collect()
        }
        other => list(other).unwrap_or_default().into_iter().map(McpServerUse::Named).collect(),
    };
    let definition = AgentDefinition {
        name,
        description,
        prompt: body.trim().to_owned(),
        tools: Tools { allow: tools.map(pattern), deny: pattern(deny) },
        spawns,
        model: list(keys.remove("model"))
            .unwrap_or_default()
            .into_iter()
            .map(ModelPattern)
            .collect(),
        effort: effort.and_then(|it| serde_json::from_value::<Effort>(Value::String(it)).ok()),
        output: keys
            .remove("output")
            .map(|schema| OutputSchema { language: SchemaLanguage::Typedef, schema }),
        waiting: matches!(keys.remove("blocking"), Some(Value::Bool(true)))
            .then_some(Waiting::Blocking),
        isolation: None,
        permission_mode: mode.and_then(|mode| match mode.as_str() {
            "plan" => Some(PermissionMode::Plan),
            "default" => Some(PermissionMode::Default),
            "acceptEdits" => Some(PermissionMode::AcceptEdits),
            "dontAsk" => Some(PermissionMode::DontAsk),
            "bypassPermissions" => Some(PermissionMode::BypassPermissions),
            _ => None,
        }),
        limits: Limits::default(),
        skills: SkillFilter::default(),
        mcp_servers: servers,
        hooks: keys.remove("hooks"),
        memory: None,
        secrets: list(keys.remove("secrets")).unwrap_or_default(),
        choice: Choice {
            priority: keys
                .remove("priority")
                .and_then(|it| u32::try_from(it.as_u64()?).ok())
                .unwrap_or(0),
            mutex,
        },
        extra: Map::new(),
        origin: Origin {
            source,
            file: Some(file.to_owned()),
            dialect,
            digest: digest(text.as_bytes()),
        },
    };
    let severity = match strictness {
        Strictness::Lenient => Severity::Warning,
        Strictness::Strict => Severity::Error,
    };
    for key in keys.keys() {
        let message = format!("unknown key `{key}`");
        findings.push(Finding::new(severity, message).at(Place::file(file)));
    }
    let sound = findings.iter().all(|finding| finding.severity != Severity::Error);
    (sound.then_some(definition), findings)
}

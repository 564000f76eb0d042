//! One way to say each thing.

use crate::{
    definition::{AgentDefinition, Spawns},
    tools::{ToolPattern, Tools},
};

/// Makes what a definition says about tools and other agents consistent, without changing what it allows:
///
/// - who may start agents has the tool for it, and who may not has it neither among its tools;
/// - no tools at all is said by taking everything away, never by an empty list;
/// - everything is said by no list, never by a list with `*` in it;
/// - nothing is said twice.
pub(crate) fn settle(definition: &mut AgentDefinition) {
    match &mut definition.spawns {
        Spawns::Only(names) if names.iter().any(|it| it == "*") => definition.spawns = Spawns::Any,
        Spawns::Only(names) => {
            dedup(names);
            if names.is_empty() {
                definition.spawns = Spawns::None;
            }
        }
        Spawns::None | Spawns::Any => {}
    }
    let mut servers: Vec<String> = Vec::new();
    definition.mcp_servers.retain(|server| {
        let name = server.name().to_owned();
        let new = !servers.contains(&name);
        servers.push(name);
        new
    });
    let tools = &mut definition.tools;
    dedup(&mut tools.deny);
    if tools.is_nothing() {
        *tools = Tools::nothing();
    }
    if tools.deny.iter().any(|it| it.argument().is_none() && it.matches(TASK)) {
        definition.spawns = Spawns::None;
    }
    let Some(allow) = &mut tools.allow else { return };
    dedup(allow);
    if allow.iter().any(|it| it.as_str() == "*") {
        tools.allow = None;
        return;
    }
    let task = ToolPattern::new(TASK);
    if definition.spawns == Spawns::None {
        allow.retain(|it| it.tool() != TASK);
    } else if !allow.contains(&task) {
        allow.push(task);
    }
    if allow.is_empty() {
        *tools = Tools::nothing();
    }
}

/// The tool that starts agents.
pub(crate) const TASK: &str = "task";

pub(crate) fn dedup<T: PartialEq + Clone>(items: &mut Vec<T>) {
    let mut seen: Vec<T> = Vec::with_capacity(items.len());
    items.retain(|item| {
        let new = !seen.contains(item);
        if new {
            seen.push(item.clone());
        }
        new
    });
}

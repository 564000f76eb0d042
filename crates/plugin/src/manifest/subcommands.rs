//! `[subcommand.<name>]`.

use std::collections::BTreeMap;

use agents_system::{
    decode::{Table, Text},
    finding::Finding,
};

use super::{
    Audience, MAX_DESCRIPTION, Subcommand, SubcommandName, gates, installations::Book,
    parse::Manner,
};

/// Names that only the program itself may have, those of later versions included.
pub const RESERVED: &[&str] = &[
    "acp",
    "agent",
    "audit",
    "command",
    "completions",
    "config",
    "crate-info",
    "dashboard",
    "diff",
    "disable",
    "doctor",
    "explain",
    "help",
    "hook",
    "host",
    "init",
    "man",
    "mcp",
    "model",
    "plan",
    "plugin",
    "search",
    "secret",
    "self-update",
    "status",
    "sync",
    "task",
    "tour",
    "uninstall",
    "update",
    "use",
    "worker",
];

pub(super) fn decode<'d>(
    root: &Table<'d>,
    book: &mut Book<'d>,
    manner: Manner,
) -> BTreeMap<SubcommandName, Subcommand> {
    let mut subcommands = BTreeMap::new();
    let Some(all) = root.table("subcommand") else { return subcommands };
    for (key, value) in all.entries() {
        let Some(table) = value.table(format!("[subcommand.{key}]")) else {
            value.report(
                Finding::error(format!("`subcommand.{key}` must be a table"))
                    .hint("write `[subcommand.<name>]` with `description` and `command` below it"),
            );
            continue;
        };
        let name = check_name(key, manner);
        let description = table.required_string("description");
        if let Some(description) = description {
            check_description(description, "the description of a subcommand");
        }
        let audience = table
            .choice("audience", &[("humans", Audience::Humans), ("agents", Audience::Agents)])
            .unwrap_or_default();
        let from = format!("subcommand `{key}`");
        let command = book.command(&table, &key, &from);
        if let Some(command) = &command {
            book.must_run(command, key, &from);
        }
        let gate = gates::decode(&table);
        table.deny_unknown();
        if let (Some(name), Some(description), Some(command)) = (name, description, command) {
            let description = description.to_string();
            subcommands.insert(name, Subcommand { description, audience, command, gate });
        }
    }
    subcommands
}

fn check_name(key: Text<'_>, manner: Manner) -> Option<SubcommandName> {
    if manner != Manner::FirstParty && RESERVED.contains(&key.as_str()) {
        key.report(
            Finding::error(format!("the subcommand name `{key}` is reserved"))
                .hint("a plugin cannot take the name of a built-in command; choose another"),
        );
        return None;
    }
    let name = SubcommandName::new(&key);
    if name.is_none() {
        key.report(
            Finding::error(format!("`{key}` cannot be the name of a subcommand"))
                .hint("at most 64 letters, digits, `-` and `_`, and no `-` at the start"),
        );
    }
    name
}

/// Reports a description that is empty or too long; characters count, not bytes.
pub(super) fn check_description(text: Text<'_>, what: &str) {
    let length = text.chars().count();
    if text.trim().is_empty() {
        text.error(format!("{what} cannot be empty"));
    } else if length > MAX_DESCRIPTION {
        text.error(format!("{what} has {length} characters and exceeds {MAX_DESCRIPTION}"));
    }
}

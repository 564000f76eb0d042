//! `[[hooks]]`.

use std::collections::BTreeSet;

use agents_install::{Entry, Installation, InstallationName, Source};
use agents_system::{decode::Table, finding::Finding, nearest::quoted_list};

use super::{
    Hook, gates,
    installations::{Book, decode_entry, owned},
};
use crate::predicate::Gate;

/// The moments at which some host can call us. The room of hosts, which is above this one, knows more of each; a test there holds both together.
pub const EVENTS: &[&str] = &[
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "UserPromptSubmit",
    "SessionStart",
    "SessionEnd",
    "Stop",
    "SubagentStart",
    "SubagentStop",
    "PermissionRequest",
    "PreCompact",
    "Notification",
];

/// The hosts that a hook can be written for; likewise.
pub const HOSTS: &[&str] = &[
    "claude",
    "codex",
    "copilot",
    "gemini",
    "antigravity",
    "kiro",
    "goose",
    "opencode",
    "cursor",
    "qwen",
    "factory",
    "amp",
    "zed",
];

/// Those among them that never call a hook. What is for them is read, since others write it, and never runs; likewise.
pub const WITHOUT_HOOKS: &[&str] = &["amp", "zed"];

/// The wire format of our own.
const NEUTRAL: &str = "symposium";

/// A hook whose references still have to be looked at when all installations are known.
pub(super) struct Unchecked<'d> {
    hook: Hook,
    table: Table<'d>,
}

pub(super) fn decode<'d>(root: &Table<'d>, book: &mut Book<'d>) -> Vec<Unchecked<'d>> {
    let tables = root.tables("hooks");
    tables.into_iter().filter_map(|table| decode_one(table, book)).collect()
}

fn decode_one<'d>(table: Table<'d>, book: &mut Book<'d>) -> Option<Unchecked<'d>> {
    let name = table.required_string("name");
    let owner = name.map_or_else(String::new, |name| name.to_string());
    let from = format!("hook `{owner}`");
    if !table.has("event") {
        table.missing("event");
    }
    let events: Vec<(&str, &str)> = EVENTS.iter().map(|event| (*event, *event)).collect();
    let hosts: Vec<(&str, &str)> = HOSTS.iter().map(|host| (*host, *host)).collect();
    let formats: Vec<(&str, &str)> = hosts.iter().copied().chain([(NEUTRAL, NEUTRAL)]).collect();
    let event = table.choice("event", &events);
    let host = table.choice("agent", &hosts);
    let format = table.choice("format", &formats).unwrap_or(NEUTRAL);
    doubt_that_it_runs(&table, &owner, [("agent", host), ("format", Some(format))]);
    let matcher = table.string("matcher").map(|matcher| matcher.to_string());
    let requirements = book.requirements(&table, &owner, &from);
    let command = book.command(&table, &owner, &from);
    let entry = decode_entry(&table);
    let args = owned(&table.strings("args"));
    let gate = Gate::new(Vec::new(), gates::decode_predicates(&table));
    table.deny_unknown();
    let hook = Hook {
        name: owner,
        event: event?.to_owned(),
        host: host.map(str::to_owned),
        matcher,
        requirements,
        command: command?,
        entry,
        args,
        format: format.to_owned(),
        gate,
    };
    name.map(|_| Unchecked { hook, table })
}

/// Says so if no host ever calls the hook, or none speaks as it does.
fn doubt_that_it_runs(table: &Table<'_>, owner: &str, said: [(&'static str, Option<&str>); 2]) {
    for (key, host) in said {
        let Some(host) = host.filter(|it| WITHOUT_HOOKS.contains(it)) else { continue };
        let own = (key == "format").then_some(NEUTRAL);
        let calling = HOSTS.iter().copied().filter(|it| !WITHOUT_HOOKS.contains(it));
        let known: Vec<&str> = own.into_iter().chain(calling).collect();
        let doubt =
            Finding::warning(format!("hook `{owner}` can never run: `{host}` calls no hooks"))
                .hint(format!("`{key}` can be {}", quoted_list(&known, "or")));
        if let Some(value) = table.string(key) {
            value.report(doubt);
        }
    }
}

/// Checks what can only be known when all installations are, and completes the requirements.
pub(super) fn finish(unchecked: Vec<Unchecked<'_>>, book: &Book<'_>) -> Vec<Hook> {
    let hooks = unchecked.into_iter().map(|Unchecked { mut hook, table }| {
        if let Some(installation) = book.get(&hook.command) {
            check(&hook, installation, &table);
        }
        hook.requirements = complete(&hook, book);
        hook
    });
    hooks.collect()
}

fn check(hook: &Hook, installation: &Installation, table: &Table<'_>) {
    let name = &hook.name;
    if installation.entry.is_some() && hook.entry.is_some() {
        table.report(
            Finding::error(format!(
                "hook `{name}`: at most one of `executable` / `script` may be set across hook and installation"
            ))
            .hint("remove it from one of the two"),
        );
    }
    let inferred = matches!(installation.source, Some(Source::Cargo { .. }));
    if installation.entry.is_none() && hook.entry.is_none() && !inferred {
        table.report(
            Finding::error(format!("hook `{name}` has nothing to run"))
                .hint("set `executable` or `script` on the hook or on its installation"),
        );
    }
    if !installation.args.is_empty() && !hook.args.is_empty() {
        table.report(
            Finding::error(format!("hook `{name}` and its installation both set `args`"))
                .hint("keep the arguments in one place"),
        );
    }
    if let Some(Entry::Script(_)) = hook.entry
        && matches!(installation.source, Some(Source::Cargo { .. }))
    {
        table.report(Finding::warning(format!(
            "hook `{name}` runs a script out of a cargo installation, which holds binaries"
        )));
    }
}

/// The command's own requirements, then each of the hook's, prerequisites first, each once.
fn complete(hook: &Hook, book: &Book<'_>) -> Vec<InstallationName> {
    let needs = |name: &InstallationName| {
        book.get(name).map(|installation| installation.requirements.clone()).unwrap_or_default()
    };
    let mut all = needs(&hook.command);
    for requirement in &hook.requirements {
        all.extend(needs(requirement));
        all.push(requirement.clone());
    }
    let mut seen = BTreeSet::new();
    all.retain(|name| seen.insert(name.clone()));
    all
}

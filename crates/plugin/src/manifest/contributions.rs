//! `[[mcp_servers]]`, `[[predicate]]` and `[[plugins]]`.

use agents_system::{
    decode::{Table, Text, Value},
    finding::Finding,
};
use agents_workspace::CrateName;

use super::{
    Chained, CustomPredicate, McpServer, McpTransport, RemoteKind, gates,
    installations::{Book, owned},
};
use crate::predicate::{Atom, PredicateName, Requirement};

pub(super) fn decode_mcp_servers(root: &Table<'_>) -> Vec<McpServer> {
    let servers = root.tables("mcp_servers").into_iter().filter_map(|table| {
        let name = table.required_string("name");
        let gate = gates::decode(&table);
        let transport = decode_transport(&table);
        // Other tools write more keys into this table than we need; they are none of our business.
        Some(McpServer { name: name?.to_string(), transport: transport?, gate })
    });
    servers.collect()
}

#[derive(Clone, Copy)]
enum Kind {
    Stdio,
    Remote(RemoteKind),
}

fn decode_transport(table: &Table<'_>) -> Option<McpTransport> {
    let kinds = [
        ("stdio", Kind::Stdio),
        ("http", Kind::Remote(RemoteKind::Http)),
        ("sse", Kind::Remote(RemoteKind::Sse)),
    ];
    let kind = if table.has("type") { table.choice("type", &kinds)? } else { Kind::Stdio };
    match kind {
        Kind::Stdio => Some(McpTransport::Stdio {
            command: table.required_string("command")?.to_string(),
            args: owned(&table.strings("args")),
            env: decode_pairs(table, "env"),
        }),
        Kind::Remote(kind) => Some(McpTransport::Remote {
            kind,
            url: table.required_string("url")?.to_string(),
            headers: decode_pairs(table, "headers"),
        }),
    }
}

/// `[{ name = "A", value = "1" }]`, or `{ A = "1" }` as most hosts write it.
fn decode_pairs(table: &Table<'_>, key: &'static str) -> Vec<(String, String)> {
    let Some(value) = table.get(key) else { return Vec::new() };
    if let Some(map) = value.table(format!("`{key}`")) {
        let pairs = map
            .entries()
            .filter_map(|(name, value)| Some((name.to_string(), value.string(key)?.to_string())));
        return pairs.collect();
    }
    let pairs = table.tables(key).into_iter().filter_map(|pair| {
        let (name, value) = (pair.required_string("name"), pair.required_string("value"));
        pair.deny_unknown();
        Some((name?.to_string(), value?.to_string()))
    });
    pairs.collect()
}

pub(super) fn decode_predicates<'d>(root: &Table<'d>, book: &mut Book<'d>) -> Vec<CustomPredicate> {
    let mut predicates: Vec<CustomPredicate> = Vec::new();
    for table in root.tables("predicate") {
        let text = table.required_string("name");
        let shown = text.map_or_else(String::new, |text| text.to_string());
        let from = format!("predicate `{shown}`");
        let command = book.command(&table, &format!("__pred_{shown}"), &from);
        let args = owned(&table.strings("args"));
        table.deny_unknown();
        let Some(text) = text else { continue };
        let Some(name) = PredicateName::new(&text) else {
            text.report(
                Finding::error(format!("`{text}` cannot be the name of a predicate")).hint(
                    "a letter, then letters, digits and `_`, and not the name of a built-in one",
                ),
            );
            continue;
        };
        if predicates.iter().any(|known| known.name == name) {
            text.error(format!("the predicate `{name}` is defined twice"));
            continue;
        }
        if let Some(command) = command {
            book.must_run(&command, text, &from);
            predicates.push(CustomPredicate { name, command, args });
        }
    }
    predicates
}

pub(super) fn decode_chained(root: &Table<'_>) -> Vec<Chained> {
    let chained = root.tables("plugins").into_iter().filter_map(|table| {
        let gate = gates::decode(&table);
        let source = table.table("source");
        if source.is_none() && !table.has("source") {
            table.missing("source");
        }
        table.deny_unknown();
        let (name, requirement) = decode_target(&source?)?;
        Some(Chained { gate, name, requirement })
    });
    chained.collect()
}

fn decode_target(source: &Table<'_>) -> Option<(CrateName, Option<Requirement>)> {
    for key in ["git", "path"] {
        if let Some(value) = source.get(key) {
            value.report(
                Finding::error(format!("a chained plugin cannot come from `{key}` yet"))
                    .hint("name a crate with `source.cargo`, or add the place as a registry"),
            );
            return None;
        }
    }
    let value = source.get("cargo");
    source.deny_unknown();
    let Some(value) = value else {
        source.missing("cargo");
        return None;
    };
    if value.is_string() {
        let text = value.string("cargo")?;
        return decode_crate(text);
    }
    decode_target_table(value)
}

/// `"widget"` or `"widget>=1"`.
fn decode_crate(text: Text<'_>) -> Option<(CrateName, Option<Requirement>)> {
    match text.parse::<Atom>() {
        Ok(Atom::Crate { name, requirement }) => Some((name, requirement)),
        Ok(Atom::Everywhere) => {
            text.error("a chained plugin must name one crate, not `*`");
            None
        }
        Err(error) => {
            text.report(Finding { hint: error.hint(), ..Finding::error(error.to_string()) });
            None
        }
    }
}

fn decode_target_table(value: Value<'_>) -> Option<(CrateName, Option<Requirement>)> {
    let Some(table) = value.table("[[plugins]] source.cargo") else {
        value.wrong_type("cargo", "a crate name or a table with `name` and `version`");
        return None;
    };
    if !table.has("name") {
        table.report(
            Finding::error("a chained plugin needs the `name` of its crate")
                .hint("write `source.cargo = { name = \"widget\", version = \"1\" }`"),
        );
        return None;
    }
    let name = table.required_string("name").and_then(decode_crate);
    let requirement = match table.string("version") {
        None => None,
        Some(version) => match semver::VersionReq::parse(&version) {
            Ok(requirement) => Some(Requirement(requirement)),
            Err(error) => {
                version.error(format!("`{version}` is not a version requirement: {error}"));
                None
            }
        },
    };
    table.deny_unknown();
    let (name, beside) = name?;
    Some((name, requirement.or(beside)))
}

//! `[[installations]]`, inline installations and the references to them.
//!
//! Whoever needs an installation names one or writes it on the spot; the latter gets a name of its own
//! and joins the list. References may point forward, so names are checked when everything is read.

use std::collections::BTreeMap;

use agents_install::{
    CargoPlace, Entry, Installation, InstallationName, Installations, Source, find_cycle,
    git::GitAddress,
};
use agents_system::{
    decode::{Table, Text, Value},
    explain::Explain as _,
    finding::Finding,
    nearest::{nearest, quoted_list},
};

/// Each unknown name is compared with every known one, which takes long in a hostile manifest.
const MAX_UNKNOWN: usize = 20;

/// The installations of a manifest while it is being read.
#[derive(Default)]
pub(super) struct Book<'d> {
    installations: Installations,
    /// Where each declared name stands, to find duplicates.
    declared: BTreeMap<String, Text<'d>>,
    references: Vec<Reference<'d>>,
    /// What must turn out to be something that can be run.
    runnable: Vec<Wanted<'d>>,
}

struct Reference<'d> {
    name: Text<'d>,
    from: String,
}

struct Wanted<'d> {
    command: InstallationName,
    at: Text<'d>,
    from: String,
}

impl<'d> Book<'d> {
    /// Reads all `[[installations]]`.
    pub(super) fn declare(&mut self, tables: &[Table<'d>]) {
        for table in tables {
            let name = table.required_string("name");
            let key = name.map_or_else(String::new, |name| name.to_string());
            let installation = self.decode(table, &key);
            table.deny_unknown();
            let Some(name) = name else { continue };
            if self.declared.insert(key.clone(), name).is_some() {
                name.error(format!("there are two installations with the name `{key}`"));
            }
            self.installations.insert(InstallationName::new(key), installation);
        }
    }

    /// What a `command` means: the name of an installation, or one written on the spot, which then
    /// is called `synthetic`.
    pub(super) fn command(
        &mut self,
        table: &Table<'d>,
        synthetic: &str,
        from: &str,
    ) -> Option<InstallationName> {
        let Some(value) = table.get("command") else {
            table.missing("command");
            return None;
        };
        self.refer(value, "command", synthetic, from)
    }

    /// What the elements of `requirements` mean; inline ones are called `<owner>__req_<index>`.
    pub(super) fn requirements(
        &mut self,
        table: &Table<'d>,
        owner: &str,
        from: &str,
    ) -> Vec<InstallationName> {
        let Some(value) = table.get("requirements") else { return Vec::new() };
        let Some(items) = value.items() else {
            value.wrong_type("requirements", "a list of installation names or tables");
            return Vec::new();
        };
        let items: Vec<Value<'d>> = items.collect();
        let names = items.into_iter().enumerate().filter_map(|(index, item)| {
            self.refer(item, "requirements", &format!("{owner}__req_{index}"), from)
        });
        names.collect()
    }

    /// Notes that `command` must be something that can be run; `at` is where it is wanted.
    pub(super) fn must_run(&mut self, command: &InstallationName, at: Text<'d>, from: &str) {
        self.runnable.push(Wanted { command: command.clone(), at, from: from.to_owned() });
    }

    /// The installation of that name, once everything is declared.
    pub(super) fn get(&self, name: &InstallationName) -> Option<&Installation> {
        self.installations.get(name)
    }

    /// Everything, after checking that every reference points at something.
    pub(super) fn finish(self) -> Installations {
        let unknown = self.references.iter().filter(|Reference { name, .. }| {
            !self.installations.contains_key(&InstallationName::new(name.as_str()))
        });
        for Reference { name, from } in unknown.take(MAX_UNKNOWN) {
            let known: Vec<&str> = self.declared.keys().map(String::as_str).collect();
            let near = nearest(name, known.iter().copied());
            let finding =
                Finding::error(format!("{from} references unknown installation `{name}`"));
            name.report(if !near.is_empty() {
                finding.label(format!("did you mean {}?", quoted_list(&near, "or")))
            } else if known.is_empty() {
                finding.hint("declare it with `[[installations]]`, or write a table on the spot")
            } else {
                finding.hint(format!("declared here: {}", quoted_list(&known, "and")))
            });
        }
        if let Some(chain) = find_cycle(&self.installations) {
            let names: Vec<&str> = chain.iter().map(InstallationName::as_str).collect();
            // An inline installation cannot be referred to, so a declared one is among them.
            if let Some(declared) = names.iter().find_map(|name| self.declared.get(*name)) {
                declared.report(
                    Finding::error(format!(
                        "installations require each other: {}",
                        names.join(" -> ")
                    ))
                    .hint("remove one of these `requirements`"),
                );
            }
        }
        for Wanted { command, at, from } in &self.runnable {
            let Some(installation) = self.installations.get(command) else { continue };
            let inferred = matches!(installation.source, Some(Source::Cargo { .. }));
            if installation.entry.is_none() && !inferred {
                at.report(
                    Finding::error(format!("{from} has nothing to run"))
                        .hint(format!("set `executable` or `script` on installation `{command}`")),
                );
            }
        }
        self.installations
    }

    fn refer(
        &mut self,
        value: Value<'d>,
        key: &str,
        synthetic: &str,
        from: &str,
    ) -> Option<InstallationName> {
        if value.is_string() {
            let name = value.string(key)?;
            self.references.push(Reference { name, from: from.to_owned() });
            return Some(InstallationName::new(name.as_str()));
        }
        let Some(table) = value.table(format!("the inline installation of {from}")) else {
            value.wrong_type(key, "the name of an installation or a table");
            return None;
        };
        let installation = self.decode(&table, synthetic);
        table.deny_unknown();
        let name = match key {
            // Nobody refers to these, so any free name will do.
            "requirements" => self.free_name(synthetic),
            _ => InstallationName::new(synthetic),
        };
        if self.installations.contains_key(&name) {
            value.report(
                Finding::error(format!(
                    "the inline installation of {from} conflicts with the installation `{synthetic}`"
                ))
                .hint("rename that installation, or refer to it by name"),
            );
            return None;
        }
        self.installations.insert(name.clone(), installation);
        Some(name)
    }

    /// `wanted`, or with the first number behind it that makes it unique.
    fn free_name(&self, wanted: &str) -> InstallationName {
        let numbered = (2..).map(|number| format!("{wanted}_{number}"));
        let mut names =
            std::iter::once(wanted.to_owned()).chain(numbered).map(InstallationName::new);
        let free = names.find(|name| !self.installations.contains_key(name));
        free.unwrap_or_else(|| InstallationName::new(wanted))
    }

    fn decode(&mut self, table: &Table<'d>, name: &str) -> Installation {
        let source = decode_source(table);
        let entry = decode_entry(table);
        check_entry(table, source.as_ref(), entry.as_ref());
        let from = format!("installation `{name}`");
        Installation {
            source,
            entry,
            args: owned(&table.strings("args")),
            install_commands: owned(&table.strings("install_commands")),
            requirements: self.requirements(table, name, &from),
        }
    }
}

/// `executable` or `script`, not both.
pub(super) fn decode_entry(table: &Table<'_>) -> Option<Entry> {
    let executable = table.string("executable");
    let script = table.string("script");
    for text in executable.iter().chain(&script).filter(|text| text.trim().is_empty()) {
        text.error("what to run cannot be empty");
    }
    match (executable, script) {
        (Some(_), Some(script)) => {
            script.report(
                Finding::error("`executable` and `script` exclude each other").hint("keep one"),
            );
            None
        }
        (Some(executable), None) => Some(Entry::Executable(executable.to_string())),
        (None, Some(script)) => Some(Entry::Script(script.to_string())),
        (None, None) => None,
    }
}

/// What only means something together with `source`.
const SOURCE_KEYS: [&str; 5] = ["crate", "version", "global", "url", "git"];

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Cargo,
    Git,
}

fn decode_source(table: &Table<'_>) -> Option<Source> {
    let kinds = [("cargo", Kind::Cargo), ("github", Kind::Git), ("git", Kind::Git)];
    if !table.has("source") {
        for key in SOURCE_KEYS {
            if let Some(value) = table.get(key) {
                value.report(
                    Finding::error(format!("`{key}` means nothing without a `source`"))
                        .hint("add `source = \"cargo\"` or `source = \"github\"`"),
                );
            }
        }
        return None;
    }
    let Some(kind) = table.choice("source", &kinds) else {
        // Which keys belong here is not known then, so none of them is a mistake.
        for key in SOURCE_KEYS {
            table.get(key);
        }
        return None;
    };
    match kind {
        Kind::Cargo => decode_cargo(table),
        Kind::Git => {
            let url = table.string("url").or_else(|| table.string("git"));
            if !table.has("url") && !table.has("git") {
                table.missing("url");
            }
            Some(Source::Git { url: decode_address(url?)? })
        }
    }
}

fn decode_cargo(table: &Table<'_>) -> Option<Source> {
    let name = table.required_string("crate");
    if let Some(name) = name {
        check_crate(name);
    }
    let version = table.string("version");
    if let Some(version) = version
        && semver::Version::parse(version.trim_start_matches('=')).is_err()
    {
        version.report(
            Finding::error(format!("`{version}` is not an exact version"))
                .hint("write all three numbers, as `1.2.3`; leave it out for the newest"),
        );
    }
    let global = table.boolean("global").unwrap_or(false);
    let git = table.string("git").and_then(decode_address);
    Some(Source::Cargo {
        name: name?.to_string(),
        version: version.map(|version| version.trim_start_matches('=').to_owned()),
        git,
        place: if global { CargoPlace::Global } else { CargoPlace::Own },
    })
}

fn check_crate(name: Text<'_>) {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.trim().is_empty() {
        name.error("`crate` cannot be empty");
    } else if !name.chars().all(is_word) {
        name.report(
            Finding::error(format!(
                "`{name}` is not a crate name: only letters, digits, `-` and `_`"
            ))
            .hint("a version is written beside it, as `version = \"1.2.3\"`"),
        );
    }
}

/// An address that git can fetch from.
pub(super) fn decode_address(text: Text<'_>) -> Option<String> {
    match GitAddress::parse(&text) {
        Ok(_) => Some(text.to_string()),
        Err(error) => {
            text.report(Finding { hint: error.hint(), ..Finding::error(error.to_string()) });
            None
        }
    }
}

fn check_entry(table: &Table<'_>, source: Option<&Source>, entry: Option<&Entry>) {
    let Some(Source::Cargo { git, place, .. }) = source else { return };
    let why = match (git, place) {
        (Some(_), _) => "with `git`",
        (None, CargoPlace::Global) => "with `global = true`",
        (None, CargoPlace::Own) => return,
    };
    if !matches!(entry, Some(Entry::Executable(_))) {
        table.report(
            Finding::error(format!("a cargo installation {why} needs `executable`"))
                .hint("name the binary that cargo installs"),
        );
    }
}

pub(super) fn owned(texts: &[Text<'_>]) -> Vec<String> {
    texts.iter().map(ToString::to_string).collect()
}

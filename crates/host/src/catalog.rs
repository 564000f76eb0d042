//! All hosts that there are, with the user's changes.

use agents_system::{
    decode::{Document, Table},
    finding::Finding,
    nearest::{nearest, quoted_list},
};
use camino::Utf8PathBuf;

use crate::{descriptor, host::Host};

macro_rules! embedded {
    ($($id:literal),+ $(,)?) => {
        &[$(($id, include_str!(concat!("../hosts/", $id, ".toml")))),+]
    };
}

/// The descriptors, in the order in which hosts are listed.
const EMBEDDED: &[(&str, &str)] = embedded![
    "claude",
    "codex",
    "copilot",
    "gemini",
    "antigravity",
    "kiro",
    "opencode",
    "goose",
    "cursor",
    "qwen",
    "factory",
    "amp",
    "zed",
];

/// The user's `hosts.toml`: tables `[host.<id>]` whose keys replace those of the descriptors.
#[derive(Debug, Clone, Copy)]
pub struct Overrides<'t> {
    /// Where it was read from, for findings.
    pub file: &'t camino::Utf8Path,
    /// What it says.
    pub text: &'t str,
}

/// The ids of all hosts, in the order in which they are listed.
pub fn ids() -> impl Iterator<Item = &'static str> {
    EMBEDDED.iter().map(|(id, _)| *id)
}

/// All hosts, in the order in which they are listed.
///
/// Whatever is wrong with the overrides is a finding: an unknown host, an unknown key or an unusable value
/// is left out, and the descriptor's own value counts.
#[must_use]
pub fn hosts(overrides: Option<Overrides<'_>>) -> (Vec<Host>, Vec<Finding>) {
    load(overrides, |_| true)
}

/// One host by its id (not by an alias), without reading the other descriptors.
#[must_use]
pub fn host(id: &str, overrides: Option<Overrides<'_>>) -> (Option<Host>, Vec<Finding>) {
    let (hosts, findings) = load(overrides, |other| other == id);
    (hosts.into_iter().next(), findings)
}

/// As many hosts as it takes to [`find`] these names and to say what is wrong: the descriptors of the others are not read if
/// every name is an id and nothing is overridden.
#[must_use]
pub fn hosts_for(names: &[String], overrides: Option<Overrides<'_>>) -> (Vec<Host>, Vec<Finding>) {
    let is_id = |name: &String| ids().any(|id| id == name);
    let only_these = overrides.is_none() && names.iter().all(is_id);
    load(overrides, |id| !only_these || names.iter().any(|name| name == id))
}

fn load(
    overrides: Option<Overrides<'_>>,
    wanted: impl Fn(&str) -> bool,
) -> (Vec<Host>, Vec<Finding>) {
    let mut findings = Vec::new();
    let mut hosts = Vec::new();
    let document = overrides.and_then(|Overrides { file, text }| {
        Document::parse(file.to_owned(), text).map_err(|finding| findings.push(*finding)).ok()
    });
    let mut tables = document.as_ref().map(override_tables).unwrap_or_default();
    for (id, text) in EMBEDDED.iter().copied().filter(|(id, _)| wanted(id)) {
        let at = tables.iter().position(|(other, _)| *other == id);
        let over = at.map(|at| tables.swap_remove(at).1);
        let file = Utf8PathBuf::from(format!("<built in>/hosts/{id}.toml"));
        match Document::parse(file, text) {
            Ok(base) => {
                hosts.extend(descriptor::decode(base.root(), over));
                findings.extend(base.into_findings());
            }
            Err(finding) => findings.push(*finding),
        }
    }
    drop(tables);
    findings.extend(document.map(Document::into_findings).unwrap_or_default());
    (hosts, findings)
}

/// The tables `[host.<id>]`, by id.
fn override_tables<'d>(document: &'d Document<'d>) -> Vec<(&'d str, Table<'d>)> {
    let root = document.root();
    let host = root.table("host");
    root.warn_unknown();
    let Some(host) = host else { return Vec::new() };
    let mut tables = Vec::new();
    for (id, value) in host.entries() {
        let id_text = id.as_str();
        if !ids().any(|known| known == id_text) {
            let finding = Finding::warning(format!("there is no host `{id_text}`"));
            let near = nearest(id_text, ids());
            id.report(match near.as_slice() {
                [] => finding.hint(format!("known hosts: {}", known_list())),
                near => finding.label(format!("did you mean {}?", quoted_list(near, "or"))),
            });
            continue;
        }
        match value.table(format!("[host.{id_text}]")) {
            Some(table) => tables.push((id_text, table)),
            None => value.wrong_type(id_text, "a table"),
        }
    }
    tables
}

fn known_list() -> String {
    quoted_list(&ids().collect::<Vec<_>>(), "and")
}

/// No host has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no host `{name}`")]
pub struct UnknownHost {
    /// What was asked for.
    pub name: String,
    /// What was probably meant, nearest first.
    pub near: Vec<String>,
    /// The ids of all hosts.
    pub known: Vec<String>,
}

impl UnknownHost {
    /// What to do about it.
    #[must_use]
    pub fn advice(&self) -> String {
        match self.near.as_slice() {
            [] => format!("known hosts: {}", quoted_list(&self.known, "and")),
            near => format!("did you mean {}?", quoted_list(near, "or")),
        }
    }

    /// As a finding: an unknown name in a configuration is left out, it does not stop anything.
    #[must_use]
    pub fn finding(&self) -> Finding {
        Finding::warning(self.to_string()).hint(self.advice())
    }
}

impl agents_system::explain::Explain for UnknownHost {
    fn kind(&self) -> agents_system::explain::ErrorKind {
        agents_system::explain::ErrorKind::Usage
    }

    fn code(&self) -> Option<agents_system::explain::Code> {
        Some(agents_system::explain::Code::UnknownHost)
    }
    fn hint(&self) -> Option<String> {
        Some(self.advice())
    }
}

/// The host of this name: its id, an alias, or its name for people, in any case.
pub fn find<'h>(hosts: &'h [Host], name: &str) -> Result<&'h Host, UnknownHost> {
    let wanted = name.trim().to_lowercase();
    let is_it = |host: &&Host| {
        host.id.as_str() == wanted
            || host.aliases.iter().any(|alias| alias.to_lowercase() == wanted)
            || host.name.to_lowercase() == wanted
    };
    hosts.iter().find(is_it).ok_or_else(|| {
        let names = hosts.iter().flat_map(|host| {
            std::iter::once(host.id.as_str()).chain(host.aliases.iter().map(String::as_str))
        });
        UnknownHost {
            name: name.to_owned(),
            near: nearest(&wanted, names).into_iter().map(str::to_owned).collect(),
            known: hosts.iter().map(|host| host.id.to_string()).collect(),
        }
    })
}

#[cfg(test)]
mod tests;

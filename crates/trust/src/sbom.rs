//! Everything that is active as a CycloneDX 1.6 document: nothing in it depends on the moment, so equal places have equal documents.

use serde_json::{Value, json};

use crate::lock::{CrateFrom, Entry, Kind, Source};

/// An entry with what else is known about it, as name and value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Component {
    /// The entry.
    pub entry: Entry,
    /// Who wrote it.
    pub authors: Vec<String>,
    /// What else is known.
    pub properties: Vec<(String, String)>,
}

/// The document.
#[must_use]
pub fn cyclonedx(components: &[Component], program_version: &str) -> Value {
    let tool = json!({ "type": "application", "name": "cargo-agents", "version": program_version });
    json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": { "tools": { "components": [tool] } },
        "components": components.iter().map(component).collect::<Vec<_>>(),
    })
}

fn component(it: &Component) -> Value {
    let Component { entry, authors, properties } = it;
    let kind = match entry.kind {
        Kind::Plugin | Kind::Tree => "library",
        Kind::Skill | Kind::Agent => "data",
        Kind::Installation => "application",
    };
    let mut value = json!({
        "type": kind,
        "bom-ref": format!("{}:{}:{}", entry.kind.word(), entry.name, entry.source),
        "name": entry.name,
    });
    if let Some(version) = entry.source.version() {
        value["version"] = version.into();
    }
    if !authors.is_empty() {
        let people: Vec<Value> = authors.iter().map(|name| json!({ "name": name })).collect();
        value["authors"] = people.into();
    }
    if let Some(hash) = &entry.hash {
        value["hashes"] = json!([{ "alg": "BLAKE3", "content": hash.digits() }]);
    }
    if let Source::Crate { name, version, from: CrateFrom::CratesIo } = &entry.source {
        value["purl"] = format!("pkg:cargo/{name}@{}", version.replace('+', "%2B")).into();
    }
    let own = [("cargo-agents:source".to_owned(), entry.source.to_string())];
    let own = own.iter().chain(properties);
    let listed: Vec<Value> =
        own.map(|(name, value)| json!({ "name": name, "value": value })).collect();
    value["properties"] = listed.into();
    value
}

//! From the text of a lock file to its entries.

use std::collections::BTreeMap;

use super::{CrateFrom, Entry, Hash, Kind, Lock, LockFileError, RegistryFrom, Source, VERSION};
use agents_system::{
    decode::{Document, Table, Text},
    finding::Finding,
};
use camino::{Utf8Path, Utf8PathBuf};

impl Lock {
    /// Reads the text of `file`. Branches may have left the entries in any order; two that contradict each other are an error.
    pub fn parse(file: &Utf8Path, text: &str) -> Result<Self, LockFileError> {
        let is_marker = |line: &str| line.starts_with("<<<<<<<") || line.starts_with(">>>>>>>");
        if let Some(at) = text.lines().position(is_marker) {
            return Err(LockFileError::Conflict { file: file.to_owned(), line: at + 1 });
        }
        let invalid = |findings| LockFileError::Invalid { file: file.to_owned(), findings };
        let document =
            Document::parse(file.to_owned(), text).map_err(|finding| invalid(vec![*finding]))?;
        // What a later version writes may look like anything, so this is looked at first.
        let layout = layout(text);
        if let Some(found) = layout.filter(|found| *found > VERSION) {
            return Err(LockFileError::Newer { file: file.to_owned(), found });
        }
        let (mut entries, mut hashes) = (Vec::new(), BTreeMap::new());
        {
            let root = document.root();
            root.get("version");
            if layout != Some(VERSION) {
                root.report(Finding::error(format!("`version = {VERSION}` is missing")));
            }
            for kind in Kind::ALL {
                for table in root.tables(kind.word()) {
                    let Some(entry) = decode(kind, &table) else { continue };
                    let pin = (entry.kind, entry.name.clone(), entry.source.clone());
                    let known = hashes.insert(pin, entry.hash.clone());
                    if known.is_some_and(|known| known != entry.hash) {
                        table.report(Finding::error(format!("{entry} is here with two hashes")));
                    }
                    entries.push(entry);
                }
            }
            root.deny_unknown();
        }
        match document.is_sound() {
            true => Ok(Self::new(entries)),
            false => Err(invalid(document.into_findings())),
        }
    }
}

/// The number at the top.
fn layout(text: &str) -> Option<i64> {
    let top = text.lines().take_while(|line| !line.starts_with('['));
    let mut keys = top.filter_map(|line| line.split_once('='));
    let (_, value) = keys.find(|(key, _)| key.trim() == "version")?;
    value.trim().parse().ok()
}

fn decode(kind: Kind, table: &Table<'_>) -> Option<Entry> {
    let name = table.required_string("name");
    let source = decode_source(table);
    let hash = match table.string("hash") {
        None => Some(None),
        Some(text) => {
            let hash = Hash::parse(text.as_str());
            if hash.is_none() {
                text.error("this is not a hash");
            }
            hash.map(Some)
        }
    };
    table.deny_unknown();
    Some(Entry { kind, name: name?.to_string(), source: source?, hash: hash? })
}

fn decode_source(table: &Table<'_>) -> Option<Source> {
    let path = || Some(Utf8PathBuf::from(table.required_string("path")?.as_str()));
    let commit = || Some(table.required_string("commit")?.to_string());
    if let Some(name) = table.string("crate") {
        let version = table.required_string("version");
        let from = table.required_string("from")?;
        let from = match from.split_once(' ') {
            None if from.as_str() == "crates.io" => CrateFrom::CratesIo,
            None if from.as_str() == "path" => CrateFrom::Path(None),
            Some(("path", path)) => CrateFrom::Path(Some(path.into())),
            Some(("index", url)) => CrateFrom::Index(url.to_owned()),
            Some(("git", url)) => CrateFrom::Git { url: url.to_owned(), commit: commit()? },
            _ => return unknown(from),
        };
        return Some(Source::Crate { name: name.to_string(), version: version?.to_string(), from });
    }
    if let Some(name) = table.string("registry") {
        let from = table.required_string("from")?;
        let from = match from.split_once(' ') {
            None if from.as_str() == "path" => RegistryFrom::Path(None),
            Some(("path", path)) => RegistryFrom::Path(Some(path.into())),
            Some(("git", url)) => RegistryFrom::Git { url: url.to_owned(), commit: commit()? },
            _ => return unknown(from),
        };
        return Some(Source::Registry { name: name.to_string(), from, path: path()? });
    }
    if let Some(url) = table.string("git") {
        return Some(Source::Git { url: url.to_string(), commit: commit()?, path: path()? });
    }
    Some(Source::Workspace { path: path()? })
}

fn unknown(from: Text<'_>) -> Option<Source> {
    from.error(format!("`{from}` is no place that things come from"));
    None
}

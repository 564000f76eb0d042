//! From the text of a lock file to its entries.

use std::collections::BTreeMap;

use super::{CrateFrom, Entry, Hash, Kind, Lock, LockFileError, RegistryFrom, Source, VERSION};
use agents_system::{
    decode::{Document, Table, Text},
    finding::Finding,
};
use camino::{Utf8Path, Utf8PathBuf};

impl Lock {
    /// Reads the text of `file`. Branches may have left the entries in any order. Where git could not merge two branches, what
    /// either of them agreed to was agreed to; what contradicts itself is an error.
    pub fn parse(file: &Utf8Path, text: &str) -> Result<Self, LockFileError> {
        match text.lines().position(|line| Marker::of(line).is_some()) {
            None => Self::parse_whole(file, text),
            Some(at) => Self::parse_sides(file, text)
                .ok_or_else(|| LockFileError::Conflict { file: file.to_owned(), line: at + 1 }),
        }
    }

    /// What both sides of a conflict agreed to, if they do not contradict each other.
    fn parse_sides(file: &Utf8Path, text: &str) -> Option<Self> {
        let sides = sides(text)?.map(|side| Self::parse_whole(file, &side));
        let [Ok(ours), Ok(theirs)] = sides else { return None };
        let both = Self::new(ours.entries.into_iter().chain(theirs.entries));
        let contradicts = |pair: &[Entry]| pair[0].pin() == pair[1].pin();
        (!both.entries.windows(2).any(contradicts)).then_some(both)
    }

    fn parse_whole(file: &Utf8Path, text: &str) -> Result<Self, LockFileError> {
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

/// What git leaves in a file that it cannot merge.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Marker {
    Ours,
    /// What both had, in the `diff3` style.
    Base,
    Theirs,
    End,
}

impl Marker {
    fn of(line: &str) -> Option<Self> {
        let markers = [
            ("<<<<<<<", Self::Ours),
            ("|||||||", Self::Base),
            ("=======", Self::Theirs),
            (">>>>>>>", Self::End),
        ];
        markers.into_iter().find(|(mark, _)| line.starts_with(mark)).map(|(_, marker)| marker)
    }
}

/// The two texts that a conflict stands for.
fn sides(text: &str) -> Option<[String; 2]> {
    let (mut ours, mut theirs) = (String::new(), String::new());
    let mut within = Marker::End;
    for line in text.lines() {
        match (Marker::of(line), within) {
            (Some(Marker::Ours), Marker::End) => within = Marker::Ours,
            (Some(Marker::Base), Marker::Ours) => within = Marker::Base,
            (Some(Marker::Theirs), Marker::Ours | Marker::Base) => within = Marker::Theirs,
            (Some(Marker::End), Marker::Theirs) => within = Marker::End,
            (Some(_), _) => return None,
            (None, _) => {
                if matches!(within, Marker::End | Marker::Ours) {
                    ours.extend([line, "\n"]);
                }
                if matches!(within, Marker::End | Marker::Theirs) {
                    theirs.extend([line, "\n"]);
                }
            }
        }
    }
    (within == Marker::End).then_some([ours, theirs])
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

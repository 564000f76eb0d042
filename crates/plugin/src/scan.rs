//! Finding the plugins below a directory.
//!
//! A directory with a `SYMPOSIUM.toml` is a plugin; one with only a `SKILL.md` is a plugin that consists of
//! that skill. Neither is looked into any further. The root of a registry cannot be one itself.

use std::{collections::BTreeSet, io};

use agents_system::{
    finding::{Finding, Place},
    fingerprint::Inputs,
};
use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};

use crate::{
    manifest::{
        ContentGroup, ContentSource, MANIFEST_FILE, MAX_NAME, Manifest, Manner, PluginName,
        parse::{Parsed, check_size, parse_manifest},
    },
    plugin::{Origin, Plugin},
    predicate::Gate,
    skill::{SKILL_FILE, parse_skill},
};

/// Nobody nests a registry deeper.
const MAX_DEPTH: usize = 16;

/// What was found below a directory.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Scan {
    /// The plugins, by path.
    pub plugins: Vec<Plugin>,
    /// What could not be loaded.
    pub invalid: Vec<Invalid>,
    /// What else there is to say.
    pub findings: Vec<Finding>,
}

/// A manifest that could not be loaded.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Invalid {
    /// The file.
    pub file: Utf8PathBuf,
    /// Why.
    pub findings: Vec<Finding>,
}

/// The directories that a walk has been in, by their real paths: links may lead anywhere, also back.
#[derive(Debug, Default)]
pub(crate) struct Visited(BTreeSet<Utf8PathBuf>);

impl Visited {
    /// Whether it is a directory that the walk has not been in; from now on it has.
    pub(crate) fn enter(&mut self, dir: &Utf8Path) -> bool {
        dir.is_dir() && dir.canonicalize_utf8().is_ok_and(|real| self.0.insert(real))
    }
}

/// Whether a directory holds a plugin, and which file says so.
pub fn manifest_in(
    dir: &Utf8Path,
    inputs: &mut Inputs,
) -> io::Result<Option<(Utf8PathBuf, String)>> {
    for name in [MANIFEST_FILE, SKILL_FILE] {
        let file = dir.join(name);
        if let Some(text) = inputs.read(&file)? {
            return Ok(Some((file, text)));
        }
    }
    Ok(None)
}

/// Parses the file that makes a directory a plugin of a registry.
#[must_use]
pub fn parse_entry(file: &Utf8Path, text: &str) -> Parsed {
    if file.file_name() != Some(SKILL_FILE) {
        return parse_manifest(file, text, Manner::Registry, None);
    }
    if let Err(finding) = check_size(file, text) {
        return Parsed { manifest: None, findings: vec![*finding] };
    }
    let (header, mut findings) = parse_skill(file, text);
    let manifest = header.and_then(|header| {
        let Some(name) = PluginName::new(&header.name) else {
            let message = format!("the name of a skill has at most {MAX_NAME} characters");
            let finding = Finding::error(message);
            findings.push(finding.at(Place::file(file)));
            return None;
        };
        // The skill's gate becomes the plugin's, so that what is not active is not even looked at.
        let group =
            ContentGroup { gate: Gate::open(), source: ContentSource::Path(".".to_owned()) };
        Some(Manifest { name, gate: header.gate, skills: vec![group], ..Manifest::default() })
    });
    Parsed { manifest, findings }
}

/// Scans a registry. Everything that is read goes through `inputs`.
pub fn scan(root: &Utf8Path, registry: &str, inputs: &mut Inputs) -> Scan {
    let mut walk = Walk { registry, inputs, visited: Visited::default(), scan: Scan::default() };
    walk.visited.enter(root);
    match manifest_in(root, walk.inputs) {
        Ok(None) => walk.descend(root, MAX_DEPTH),
        Ok(Some((file, _))) => {
            let finding = Finding::error(format!("registry `{registry}` is itself a plugin"))
                .at(Place::file(file))
                .hint("a registry holds plugins in directories below it");
            walk.scan.findings.push(finding);
        }
        Err(error) => walk.scan.findings.push(unreadable(root, &error)),
    }
    walk.scan
}

struct Walk<'a> {
    registry: &'a str,
    inputs: &'a mut Inputs,
    visited: Visited,
    scan: Scan,
}

impl Walk<'_> {
    fn descend(&mut self, dir: &Utf8Path, depth: usize) {
        let names = match self.inputs.list(dir) {
            Ok(names) => names.unwrap_or_default(),
            Err(error) => return self.scan.findings.push(unreadable(dir, &error)),
        };
        let Some(depth) = depth.checked_sub(1) else {
            let message = format!("directories deeper than {MAX_DEPTH} are not searched");
            return self.scan.findings.push(Finding::warning(message).at(Place::file(dir)));
        };
        for name in names.iter().filter(|name| !name.starts_with('.') && *name != "target") {
            let inner = dir.join(name);
            if !self.visited.enter(&inner) {
                continue;
            }
            match manifest_in(&inner, self.inputs) {
                Ok(None) => self.descend(&inner, depth),
                Ok(Some((file, text))) => self.load(&file, &text),
                Err(error) => self.scan.findings.push(unreadable(&inner, &error)),
            }
        }
    }

    fn load(&mut self, file: &Utf8Path, text: &str) {
        let Parsed { manifest, findings } = parse_entry(file, text);
        match manifest {
            Some(manifest) => {
                let origin = Origin::Registry(self.registry.to_owned());
                self.scan.plugins.push(Plugin::of_text(&manifest, origin, file, text));
                self.scan.findings.extend(findings);
            }
            None => self.scan.invalid.push(Invalid { file: file.to_owned(), findings }),
        }
    }
}

pub(crate) fn unreadable(path: &Utf8Path, error: &io::Error) -> Finding {
    Finding::error(format!("cannot be read: {error}")).at(Place::file(path))
}

#[cfg(test)]
mod tests;

//! Checking manifests before they are published.

use std::collections::BTreeMap;

use agents_system::{
    finding::{Finding, Place, Severity},
    fingerprint::Inputs,
};
use camino::{Utf8Path, Utf8PathBuf};

use crate::{
    embedded::{self, Owner},
    manifest::{
        ContentSource, MANIFEST_FILE, Manifest, Manner,
        parse::{Parsed, parse_crate_metadata, parse_manifest},
    },
    plugin::{Origin, Plugin, Waking},
    scan::{Scan, manifest_in, parse_entry, scan},
    skill::{SKILL_FILE, parse_skill, skills_below},
    skills::named,
};

/// One file that was checked.
#[derive(Debug)]
pub struct Checked {
    /// The file.
    pub file: Utf8PathBuf,
    /// What it is.
    pub kind: Kind,
    /// What there is to say about it.
    pub findings: Vec<Finding>,
    /// The manifest, if it is one and sound.
    pub manifest: Option<Manifest>,
}

/// What a checked file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A plugin.
    Plugin,
    /// A skill.
    Skill,
}

impl Checked {
    /// Whether nothing in it is an error.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.findings.iter().all(|finding| finding.severity != Severity::Error)
    }
}

/// Checks a manifest, a plugin's directory or a whole registry. Empty if there is nothing to check.
pub fn validate(path: &Utf8Path) -> std::io::Result<Vec<Checked>> {
    if path.is_dir() {
        return validate_directory(path);
    }
    let text = fs_err::read_to_string(path)?;
    Ok(validate_file(path, &text))
}

fn validate_file(file: &Utf8Path, text: &str) -> Vec<Checked> {
    if file.file_name() == Some("Cargo.toml") {
        let Some(Parsed { manifest, findings }) = parse_crate_metadata(file, text, "crate") else {
            return Vec::new();
        };
        return vec![Checked { file: file.to_owned(), kind: Kind::Plugin, findings, manifest }];
    }
    let dir = file.parent().unwrap_or(Utf8Path::new("."));
    let embedded = file.file_name() == Some(MANIFEST_FILE) && dir.join("Cargo.toml").is_file();
    let Parsed { manifest, findings } = if embedded {
        parse_manifest(file, text, Manner::Embedded, Some("crate"))
    } else {
        parse_entry(file, text)
    };
    let kind = match file.file_name() {
        Some(SKILL_FILE) => Kind::Skill,
        _ => Kind::Plugin,
    };
    // A skill of a crate applies where the crate does; only one of a registry has to say so.
    let of_crate = kind == Kind::Skill && is_of_crate(dir);
    let origin = match embedded || of_crate {
        true => Origin::Member(String::new()),
        false => Origin::Registry(String::new()),
    };
    let mut checked = Checked { file: file.to_owned(), kind, findings, manifest };
    let inner = checked.manifest.as_ref().map(|manifest| check_inside(manifest, file, origin));
    let (findings, skills) = inner.unwrap_or_default();
    checked.findings.extend(findings);
    // A skill on its own is its plugin, too: one row for both, and nothing said twice.
    let (own, skills): (Vec<_>, Vec<_>) = skills.into_iter().partition(|it| it.file == file);
    for finding in own.into_iter().flat_map(|it| it.findings) {
        if !checked.findings.contains(&finding) {
            checked.findings.push(finding);
        }
    }
    std::iter::once(checked).chain(skills).collect()
}

/// Whether the directory of a skill is where crates have theirs: below `skills`, beside a `Cargo.toml`.
fn is_of_crate(dir: &Utf8Path) -> bool {
    let mut above = dir.ancestors().skip(1).filter(|it| it.file_name() == Some("skills"));
    above.any(|skills| skills.with_file_name("Cargo.toml").is_file())
}

/// A crate's directory: both layers of its plugin, and the skills that it would bring.
fn validate_crate(dir: &Utf8Path) -> Vec<Checked> {
    let mut found = Scan::default();
    let name = dir.file_name().unwrap_or("crate");
    let origin = Origin::Member(name.to_owned());
    embedded::look_into(dir, name, origin, Owner::Member, &mut Inputs::new(), &mut found);
    let invalid = found.invalid.into_iter().map(|invalid| Checked {
        file: invalid.file,
        kind: Kind::Plugin,
        findings: invalid.findings,
        manifest: None,
    });
    let mut all: Vec<Checked> = invalid.collect();
    for plugin in &found.plugins {
        let Ok(manifest) = plugin.manifest() else { continue };
        let (findings, skills) = check_inside(manifest, &plugin.file, plugin.origin.clone());
        if plugin.file.is_file() {
            let findings = found.findings.iter().cloned().chain(findings).collect();
            let file = plugin.file.clone();
            let manifest = Some(manifest.clone());
            all.push(Checked { file, kind: Kind::Plugin, findings, manifest });
        }
        all.extend(skills);
    }
    all
}

fn validate_directory(dir: &Utf8Path) -> std::io::Result<Vec<Checked>> {
    let mut inputs = Inputs::new();
    if dir.join("Cargo.toml").is_file() {
        return Ok(validate_crate(dir));
    }
    if let Some((file, text)) = manifest_in(dir, &mut inputs)? {
        return Ok(validate_file(&file, &text));
    }
    let found = scan(dir, dir.file_name().unwrap_or("registry"), &mut inputs);
    let mut all = Vec::new();
    for finding in found.findings.into_iter().filter(|it| it.severity == Severity::Error) {
        let file = finding.place.as_ref().map_or_else(|| dir.to_owned(), |it| it.file.clone());
        all.push(Checked { file, kind: Kind::Plugin, findings: vec![finding], manifest: None });
    }
    let mut files: Vec<Utf8PathBuf> = found.plugins.iter().map(|it| it.file.clone()).collect();
    files.extend(found.invalid.into_iter().map(|invalid| invalid.file));
    files.sort();
    for file in files {
        let text = fs_err::read_to_string(&file)?;
        all.extend(validate_file(&file, &text));
    }
    compare(&mut all);
    Ok(all)
}

/// What is wrong with a sound manifest once one looks around it.
fn check_inside(
    manifest: &Manifest,
    file: &Utf8Path,
    origin: Origin,
) -> (Vec<Finding>, Vec<Checked>) {
    let mut findings = Vec::new();
    let dir = file.parent().unwrap_or(Utf8Path::new("."));
    let plugin = Plugin::new(manifest, origin, file);
    if plugin.waking == Waking::WhenUsed {
        findings.push(
            Finding::warning("it names no crate, so it sleeps until `[plugins] use` names it")
                .at(Place::file(file))
                .hint("add `crates = [\"…\"]`, or `crates = [\"*\"]` for everywhere"),
        );
    }
    let mut skills = Vec::new();
    for group in &manifest.skills {
        let ContentSource::Path(path) = &group.source else { continue };
        // Without the `.` of `source.path = "."`.
        let found = skills_below(&dir.join(path).components().collect::<Utf8PathBuf>());
        if found.is_empty() {
            let message = format!("there is no `{SKILL_FILE}` in `{path}`");
            findings.push(Finding::warning(message).at(Place::file(file)));
        }
        skills.extend(found.into_iter().map(check_skill));
    }
    for group in &manifest.agents {
        let ContentSource::Path(path) = &group.source else { continue };
        if !dir.join(path).is_dir() {
            let message = format!("there is no directory `{path}` for agents");
            findings.push(Finding::warning(message).at(Place::file(file)));
        }
    }
    (findings, skills)
}

fn check_skill(file: Utf8PathBuf) -> Checked {
    let findings = match fs_err::read_to_string(&file) {
        Ok(text) => {
            let (header, mut findings) = parse_skill(&file, &text);
            findings.extend(header.and_then(|it| match named(&it.name, &file) {
                Ok((_, said)) => said,
                Err(finding) => Some(*finding),
            }));
            findings
        }
        Err(error) => vec![Finding::error(error.to_string()).at(Place::file(&file))],
    };
    Checked { file, kind: Kind::Skill, findings, manifest: None }
}

/// What is only wrong because of what stands in another file.
fn compare(all: &mut [Checked]) {
    let mut names: BTreeMap<(&str, String), Vec<usize>> = BTreeMap::new();
    for (at, checked) in all.iter().enumerate() {
        let Some(manifest) = &checked.manifest else { continue };
        let plugin = ("plugin", manifest.name.as_str().replace('_', "-"));
        let subcommands = manifest.subcommands.keys().map(|it| ("subcommand", it.to_string()));
        let predicates = manifest.predicates.iter().map(|it| ("predicate", it.name.to_string()));
        for key in std::iter::once(plugin).chain(subcommands).chain(predicates) {
            names.entry(key).or_default().push(at);
        }
    }
    let twice = names.into_iter().filter(|(_, places)| places.len() > 1);
    let twice: Vec<_> = twice.map(|((kind, name), places)| (kind, name, places)).collect();
    for (kind, name, places) in twice {
        for at in &places {
            let others: Vec<&str> = places
                .iter()
                .filter(|other| *other != at)
                .map(|other| all[*other].file.as_str())
                .collect();
            let message = format!("the {kind} `{name}` is also defined in {}", others.join(", "));
            let place = Place::file(&all[*at].file);
            all[*at].findings.push(Finding::warning(message).at(place));
        }
    }
}

#[cfg(test)]
mod tests;

//! Plugins that live inside crates: the workspace's own members, and its dependencies.
//!
//! A crate embeds a plugin with `[package.metadata.symposium]` in its `Cargo.toml`, a `SYMPOSIUM.toml` beside it
//! (which is laid over the former), or just a `skills/` directory.

use agents_system::{finding::Finding, fingerprint::Inputs};
use camino::{Utf8Path, Utf8PathBuf};

use crate::{
    manifest::{
        ContentGroup, ContentSource, CrateSkills, DefaultSkills, MANIFEST_FILE, Manifest, Manner,
        PluginName, SkillEntry,
        parse::{Parsed, parse_crate_metadata, parse_manifest},
    },
    plugin::{Origin, Plugin},
    predicate::{Gate, Predicate},
    scan::{Invalid, Scan, unreadable},
    skill::SKILL_FILE,
    skills::MARKER,
};

/// Where a crate keeps its skills unless it says otherwise.
const SKILLS_DIR: &str = "skills";
/// Where people keep skills that are for this workspace only.
pub(crate) const AGENTS_SKILLS_DIR: &str = ".agents/skills";

/// Whose crate it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// The workspace's own.
    Member,
    /// Somebody else's.
    Dependency,
}

/// Looks into the directory of a crate and adds what it embeds to `scan`.
pub fn look_into(
    dir: &Utf8Path,
    crate_name: &str,
    origin: Origin,
    owner: Owner,
    inputs: &mut Inputs,
    scan: &mut Scan,
) {
    let mut layers = Vec::new();
    let cargo_toml = dir.join("Cargo.toml");
    let metadata = read(&cargo_toml, inputs, scan)
        .and_then(|text| parse_crate_metadata(&cargo_toml, &text, crate_name));
    let named = metadata.as_ref().and_then(|parsed| Some(parsed.manifest.as_ref()?.name.clone()));
    layers.extend(metadata.map(|parsed| (cargo_toml, parsed)));
    let own = dir.join(MANIFEST_FILE);
    if let Some(text) = read(&own, inputs, scan) {
        let name = named.as_ref().map_or(crate_name, PluginName::as_str);
        let parsed = parse_manifest(&own, &text, Manner::Embedded, Some(name));
        layers.push((own, parsed));
    }
    let (mut manifest, file) = join_layers(layers, scan);
    let defaults = default_groups(dir, manifest.as_ref(), owner, inputs, &mut scan.findings);
    if manifest.is_none() && defaults.is_empty() {
        return;
    }
    let Some(name) = PluginName::new(crate_name) else { return };
    let merged = manifest.get_or_insert_with(|| Manifest { name, ..Manifest::default() });
    merged.skills.extend(defaults);
    let file = file.unwrap_or_else(|| dir.join(MANIFEST_FILE));
    scan.plugins.push(Plugin::new(merged, origin, &file));
}

fn read(file: &Utf8Path, inputs: &mut Inputs, scan: &mut Scan) -> Option<String> {
    inputs.read(file).unwrap_or_else(|error| {
        let findings = vec![unreadable(file, &error)];
        scan.invalid.push(Invalid { file: file.to_owned(), findings });
        None
    })
}

/// A layer that is wrong is left out and reported; the others stand.
fn join_layers(
    layers: Vec<(Utf8PathBuf, Parsed)>,
    scan: &mut Scan,
) -> (Option<Manifest>, Option<Utf8PathBuf>) {
    let (mut joined, mut file) = (None::<Manifest>, None);
    for (path, parsed) in layers {
        match parsed.manifest {
            Some(upper) => {
                joined = Some(match joined {
                    Some(lower) => lower.overlaid_by(upper),
                    None => upper,
                });
                file = Some(path);
                scan.findings.extend(parsed.findings);
            }
            None => scan.invalid.push(Invalid { file: path, findings: parsed.findings }),
        }
    }
    (joined, file)
}

fn default_groups(
    dir: &Utf8Path,
    manifest: Option<&Manifest>,
    owner: Owner,
    inputs: &mut Inputs,
    findings: &mut Vec<Finding>,
) -> Vec<ContentGroup> {
    let group = |gate: Gate, path: &str| ContentGroup {
        gate,
        source: ContentSource::Path(path.to_owned()),
    };
    let mut groups = Vec::new();
    match manifest.map(|manifest| (&manifest.crate_skills, manifest.default_skills)) {
        Some((CrateSkills::Listed(entries), _)) => {
            let paths = entries.iter().filter_map(|entry| match entry {
                SkillEntry::Path(path) => Some(path),
                SkillEntry::Crate { .. } => None,
            });
            groups.extend(paths.map(|path| group(Gate::open(), path)));
        }
        Some((CrateSkills::Unsaid, DefaultSkills::Off)) => {}
        Some((CrateSkills::Unsaid, DefaultSkills::On)) | None => {
            if holds_skills(&dir.join(SKILLS_DIR), inputs, findings) {
                groups.push(group(Gate::open(), SKILLS_DIR));
            }
        }
    }
    if owner == Owner::Member && holds_skills(&dir.join(AGENTS_SKILLS_DIR), inputs, findings) {
        groups.push(group(
            Gate::new(Vec::new(), vec![Predicate::WorkspaceMember]),
            AGENTS_SKILLS_DIR,
        ));
    }
    groups
}

/// A directory of that name may hold anything; only one with a `SKILL.md` in it, or one level down, counts. What we installed there
/// ourselves is nobody's. One that cannot be looked into is said to be.
fn holds_skills(dir: &Utf8Path, inputs: &mut Inputs, findings: &mut Vec<Finding>) -> bool {
    let names = match inputs.list(dir) {
        Ok(Some(names)) => names,
        Ok(None) => return false,
        Err(error) => {
            findings.push(unreadable(dir, &error));
            return false;
        }
    };
    let mut dirs = std::iter::once(dir.to_owned()).chain(names.iter().map(|name| dir.join(name)));
    dirs.any(|it| inputs.exists(&it.join(SKILL_FILE)) && !inputs.exists(&it.join(MARKER)))
}

#[cfg(test)]
mod tests;

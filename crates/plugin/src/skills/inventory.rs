//! Step five: what is in the skills of a directory, read once and remembered until it changes.

use agents_system::{
    cache::{CacheFile, Digest, name_hash},
    finding::{Finding, Place},
    memory::{Memory, Watch},
};
use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};

use super::{
    SkillName,
    area::{Area, Whose},
    discover::{Found, discover},
    tree::digest_of,
    within::read_text,
};
use crate::{
    predicate::Gate,
    skill::{parse_own_skill, parse_skill},
};

/// Changes with what is remembered.
const LAYOUT: &str = "skills 1";

/// What a directory holds. The gates are not asked here: that is for those who know on whose behalf.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Inventory {
    pub(super) items: Vec<Item>,
    /// About the directory as a whole.
    pub(super) findings: Vec<Finding>,
}

/// A `SKILL.md` that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Item {
    /// Its directory, as it really is.
    pub(super) dir: Utf8PathBuf,
    /// `None` if something is wrong with it.
    pub(super) header: Option<Header>,
    /// About the `SKILL.md`.
    pub(super) findings: Vec<Finding>,
    pub(super) content: Content,
}

/// What a `SKILL.md` says, under a name that can be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Header {
    pub(super) name: SkillName,
    pub(super) description: String,
    pub(super) gate: Gate,
}

/// What a skill consists of, in short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Content {
    /// Of everything in it; `None` if it is too large or a part of it cannot be read.
    pub digest: Option<Digest>,
    /// What is left out, and why there is no digest.
    pub findings: Vec<Finding>,
}

/// Everything that was read for one workspace.
pub(super) struct Inventories {
    memory: Memory<Inventory>,
}

impl Inventories {
    /// Those that are remembered for whoever stands in `dir`.
    pub(super) fn load(cache: &Utf8Path, dir: &Utf8Path) -> Self {
        let file = cache.join("skills").join(name_hash(dir.as_str()));
        Self { memory: Memory::load(CacheFile::new(file, LAYOUT)) }
    }

    pub(super) fn of(&mut self, area: &Area) -> Inventory {
        let kind = match area.whose {
            Whose::Member { .. } => "own",
            Whose::Crate { .. } | Whose::Git { .. } | Whose::Registry { .. } => "other",
        };
        // How far links may lead does not matter: where there are links, nothing is remembered.
        self.memory.ask(kind, &area.dir, |watch| take_stock(area, watch))
    }

    pub(super) fn save(self) {
        self.memory.save();
    }
}

/// The conditions of skills in a directory, where they run programs. Nothing is remembered.
pub(super) fn asking(area: &Area) -> Vec<Gate> {
    let found = discover(area, &mut Vec::new(), &mut Watch::new());
    let header = |Found { dir, file }: &Found| {
        let text = read_text(file, file).ok()?;
        read_header(area, dir, file, &text, &mut Vec::new())
    };
    let gates = found.iter().filter_map(header).map(|header| header.gate);
    gates.filter(Gate::runs_programs).collect()
}

fn take_stock(area: &Area, watch: &mut Watch) -> Inventory {
    let mut findings = Vec::new();
    let found = discover(area, &mut findings, watch);
    let items = found.into_iter().map(|found| look_into(found, area, watch)).collect();
    Inventory { items, findings }
}

fn look_into(found: Found, area: &Area, watch: &mut Watch) -> Item {
    let Found { dir, file } = found;
    let mut findings = Vec::new();
    watch.look(&file);
    let header = match read_text(&file, &file) {
        Ok(text) => read_header(area, &dir, &file, &text, &mut findings),
        Err(finding) => {
            watch.give_up();
            findings.push(*finding);
            None
        }
    };
    // Nobody asks what else is in a skill that is none.
    let content = match &header {
        Some(_) => digest_of(&area.within, &dir, watch),
        None => Content { digest: None, findings: Vec::new() },
    };
    Item { dir, header, findings, content }
}

fn read_header(
    area: &Area,
    dir: &Utf8Path,
    file: &Utf8Path,
    text: &str,
    findings: &mut Vec<Finding>,
) -> Option<Header> {
    let (header, said) = match &area.whose {
        // People keep notes for their own agents without any header.
        Whose::Member { .. } => parse_own_skill(file, text, dir.file_name().unwrap_or("")),
        _ => parse_skill(file, text),
    };
    findings.extend(said);
    let header = header?;
    match named(&header.name, file) {
        Ok((name, finding)) => {
            findings.extend(finding);
            Some(Header { name, description: header.description, gate: header.gate })
        }
        Err(finding) => {
            findings.push(*finding);
            None
        }
    }
}

/// The name that a skill is given, and what is wrong with the one it gives itself.
pub(crate) fn named(
    text: &str,
    file: &Utf8Path,
) -> Result<(SkillName, Option<Finding>), Box<Finding>> {
    if let Some(name) = SkillName::new(text) {
        return Ok((name, None));
    }
    let shown: String = text.chars().take(80).flat_map(char::escape_debug).collect();
    let rules = "a name has 1 to 64 of a-z, 0-9 and single hyphens between them";
    let at = |finding: Finding| finding.at(Place::file(file)).hint(rules);
    match SkillName::normalised(text) {
        Some(name) => {
            let message = format!("`{shown}` cannot be the name of a skill; it is called `{name}`");
            Ok((name, Some(at(Finding::warning(message)))))
        }
        None => {
            let message = format!("`{shown}` cannot be the name of a skill; it is left out");
            Err(Box::new(at(Finding::error(message))))
        }
    }
}

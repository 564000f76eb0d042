//! Text that may not be what it seems: characters that nobody sees, and sentences that are meant to take over an agent.
//!
//! | module | finds |
//! |---|---|
//! | `hidden` | characters that are not drawn, or that turn the text around |
//! | `shaped` | the usual shapes of prompt injection, a short list |
//!
//! It is a look by a machine before a person looks, not a proof: what is found keeps content of untrusted places from being
//! installed without `cargo agents update`, what is not found may still be bad. Nothing here touches the disk.

mod hidden;
mod shaped;

use std::{fmt::Write as _, ops::Range};

use agents_system::finding::{Finding, Place, Spot};
use camino::Utf8Path;

use agents_plugin::skills::{SkillTree, TreeKind};

/// More of one file is not worth reading.
const MAX_PER_FILE: usize = 20;

/// Kinds of files that people and agents read as prose. In programs, commands are no surprise.
const PROSE: &[&str] = &["md", "mdx", "mdc", "markdown", "txt", "rst", "adoc", ""];

/// A part of a text that may not be what it seems.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suspicion {
    /// What it is, in a few words.
    pub what: String,
    /// The bytes that are meant.
    pub part: Range<usize>,
}

/// Whether a text is prose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// It is read by people and agents.
    Prose,
    /// It is a program or data.
    Code,
}

/// What is suspicious about a text, in order.
#[must_use]
pub fn inspect(text: &str, reading: Reading) -> Vec<Suspicion> {
    let mut found = hidden::find(text);
    if reading == Reading::Prose {
        found.extend(shaped::find(text));
    }
    found.sort_by_key(|it| it.part.start);
    found.truncate(MAX_PER_FILE);
    found
}

/// What is suspicious about a skill. Files that are no text are not looked into.
#[must_use]
pub fn inspect_tree(tree: &SkillTree, dir: &Utf8Path) -> Vec<Finding> {
    inspect_files(tree, dir, |path| {
        let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
        let is_prose = PROSE.contains(&extension.as_str());
        if is_prose { Reading::Prose } else { Reading::Code }
    })
}

/// What is suspicious about the definition of an agent. Whatever it is written in, what it says is told to a model.
#[must_use]
pub fn inspect_agent(tree: &SkillTree, dir: &Utf8Path) -> Vec<Finding> {
    inspect_files(tree, dir, |_| Reading::Prose)
}

fn inspect_files(
    tree: &SkillTree,
    dir: &Utf8Path,
    reading: impl Fn(&Utf8Path) -> Reading,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for entry in &tree.entries {
        let TreeKind::File { bytes, .. } = &entry.kind else { continue };
        let Ok(text) = std::str::from_utf8(bytes) else { continue };
        let found = inspect(text, reading(&entry.path));
        findings.extend(found.iter().map(|it| finding(it, &dir.join(&entry.path), text)));
    }
    findings
}

/// As a finding, with what is hidden made visible.
fn finding(suspicion: &Suspicion, file: &Utf8Path, text: &str) -> Finding {
    let mut place = Place::span(file, text, suspicion.part.clone());
    if let Some(spot) = &mut place.spot {
        reveal_in(spot);
    }
    Finding::warning(suspicion.what.clone()).at(place)
}

fn reveal_in(spot: &mut Spot) {
    let (start, end) = (spot.part.start as usize, spot.part.end as usize);
    let (before, part) = (reveal(&spot.text[..start]), reveal(&spot.text[start..end]));
    let after = reveal(&spot.text[end..]);
    let at = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
    spot.part = at(before.len())..at(before.len() + part.len());
    spot.text = before + &part + &after;
}

/// The text with every hidden character written as `\u{…}`, so that it can be read and compared.
#[must_use]
pub fn reveal(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut at = 0;
    for it in hidden::find(text) {
        shown.push_str(&text[at..it.part.start]);
        for c in text[it.part.clone()].chars() {
            let _ = write!(shown, "\\u{{{:04x}}}", u32::from(c));
        }
        at = it.part.end;
    }
    shown.push_str(&text[at..]);
    shown
}

#[cfg(test)]
mod tests;

//! `SKILL.md`: a header between `---` lines, then the text that steers an agent.

use std::ops::Range;

use agents_system::{
    edit::Format,
    finding::{Finding, Place, Severity},
    frontmatter::{Header, HeaderError, parse_yaml, split},
};
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Map, Value};

use crate::{
    manifest::MAX_DESCRIPTION,
    predicate::{Gate, PredicateError, parse_atoms, parse_predicates},
    scan::Visited,
};

/// The file that makes a directory a skill.
pub const SKILL_FILE: &str = "SKILL.md";

/// Deeper directories are not searched.
const MAX_DEPTH: usize = 16;

/// What the header of a `SKILL.md` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillHeader {
    /// Its name.
    pub name: String,
    /// When an agent should use it.
    pub description: String,
    /// When it applies.
    pub gate: Gate,
}

/// Reads the header of a skill. Everything that is wrong with it is among the findings; without an error
/// among them there is a header.
#[must_use]
pub fn parse_skill(file: &Utf8Path, text: &str) -> (Option<SkillHeader>, Vec<Finding>) {
    Reader { file, text, fenced: 0..0, default_name: None, findings: Vec::new() }.finish()
}

/// Reads the header of a skill that belongs to the workspace itself. It may lack anything: without a name of its
/// own it is called `default_name`, and without a header the whole file is its text.
#[must_use]
pub fn parse_own_skill(
    file: &Utf8Path,
    text: &str,
    default_name: &str,
) -> (Option<SkillHeader>, Vec<Finding>) {
    let default_name = Some(default_name);
    Reader { file, text, fenced: 0..0, default_name, findings: Vec::new() }.finish()
}

struct Reader<'t> {
    file: &'t Utf8Path,
    text: &'t str,
    /// Where the header stands in the text.
    fenced: Range<usize>,
    /// For a skill that need not say anything.
    default_name: Option<&'t str>,
    findings: Vec<Finding>,
}

impl Reader<'_> {
    fn finish(mut self) -> (Option<SkillHeader>, Vec<Finding>) {
        let header = self.read();
        let sound = self.findings.iter().all(|finding| finding.severity != Severity::Error);
        (header.filter(|_| sound), self.findings)
    }

    fn read(&mut self) -> Option<SkillHeader> {
        let parts = split(self.text).ok().filter(|parts| parts.format == Format::Yaml);
        let Some(parts) = parts else {
            if let Some(name) = self.default_name {
                let (name, description) = (name.to_owned(), String::new());
                return Some(SkillHeader { name, description, gate: Gate::open() });
            }
            let finding = Finding::error("a skill starts with a header between two `---` lines");
            let hint = "put `---`, `name: …`, `description: …` and `---` at the top of the file";
            self.report(0..self.text.lines().next().map_or(0, str::len), finding.hint(hint));
            return None;
        };
        self.fenced = parts.header;
        let header = self.parse_yaml()?;
        let name = self.required(&header, "name").map(|name| name.trim_matches('"').to_owned());
        if let Some(name) = &name
            && leads_elsewhere(name)
        {
            self.at_key(
                "name",
                Finding::error(format!("`{name}` cannot be the name of a skill"))
                    .hint("it becomes the name of a directory: letters, digits and `-` are best"),
            );
        }
        let description = self.required(&header, "description");
        if let Some(description) = &description {
            let length = description.chars().count();
            if length > MAX_DESCRIPTION {
                self.at_key(
                    "description",
                    Finding::error(format!(
                        "the description of a skill has {length} characters and exceeds {MAX_DESCRIPTION}"
                    )),
                );
            }
        }
        let mut atoms = self.list(&header, "crates", parse_atoms);
        let others = self.list(&header, "depends-on", parse_atoms);
        if !atoms.is_empty() && !others.is_empty() {
            self.at_key(
                "depends-on",
                Finding::error("`crates` and `depends-on` mean the same and both are set")
                    .hint("keep one of them"),
            );
        }
        atoms.extend(others);
        let predicates = self.list(&header, "predicates", parse_predicates);
        let gate = Gate::new(atoms, predicates);
        Some(SkillHeader { name: name?, description: description?, gate })
    }

    fn parse_yaml(&mut self) -> Option<Map<String, Value>> {
        match parse_yaml(&self.text[self.fenced.clone()]) {
            Ok(Header { entries, mended }) => {
                if mended.is_some() {
                    self.at_line(
                        mended,
                        Finding::warning("the header is not valid YAML and was read line by line")
                            .hint("put the value that holds a `:` or `#` between quotes"),
                    );
                }
                Some(entries)
            }
            Err(HeaderError::NoTable) => {
                self.at_start(Finding::error("the header of a skill must be `key: value` lines"));
                None
            }
            Err(error) => {
                self.at_line(error.line(), Finding::error(error.to_string()));
                None
            }
        }
    }

    fn required(&mut self, header: &Map<String, Value>, key: &str) -> Option<String> {
        match header.get(key) {
            Some(Value::String(text)) if !text.trim_matches(is_filler).is_empty() => {
                Some(text.clone())
            }
            Some(Value::String(_) | Value::Null) => {
                self.at_key(key, Finding::error(format!("`{key}` of a skill cannot be empty")));
                None
            }
            Some(_) => {
                self.at_key(key, Finding::error(format!("`{key}` of a skill must be a string")));
                None
            }
            None if let Some(name) = self.default_name => {
                Some(if key == "name" { name.to_owned() } else { String::new() })
            }
            None => {
                self.at_start(Finding::error(format!(
                    "`{key}` is missing in the header of the skill"
                )));
                None
            }
        }
    }

    /// A comma list, or a list of YAML.
    fn list<T>(
        &mut self,
        header: &Map<String, Value>,
        key: &str,
        parse: impl Fn(&str) -> Result<Vec<T>, PredicateError>,
    ) -> Vec<T> {
        let texts: Option<Vec<&str>> = match header.get(key) {
            None | Some(Value::Null) => return Vec::new(),
            Some(Value::Array(items)) => items.iter().map(Value::as_str).collect(),
            Some(value) => value.as_str().map(|text| vec![text]),
        };
        let Some(texts) = texts else {
            let message = format!("`{key}` must be a comma list or a list of strings");
            self.at_key(key, Finding::error(message));
            return Vec::new();
        };
        let mut all = Vec::new();
        for text in texts {
            match parse(text) {
                Ok(parsed) => all.extend(parsed),
                Err(error) => {
                    let finding = Finding::error(error.to_string());
                    self.at_key(key, Finding { hint: error.hint(), ..finding });
                }
            }
        }
        all
    }

    fn at_key(&mut self, key: &str, finding: Finding) {
        let lines = self.text[self.fenced.clone()].lines();
        let is_key = |line: &str| {
            line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with(':'))
        };
        let at = lines.into_iter().position(is_key);
        self.at_line(at.map(|index| index + 1), finding);
    }

    /// At a line of the header, counted from 1.
    fn at_line(&mut self, line: Option<usize>, finding: Finding) {
        let mut start = self.fenced.start;
        for (index, text) in self.text[self.fenced.clone()].split_inclusive('\n').enumerate() {
            if Some(index + 1) == line {
                return self.report(start..start + text.trim_end().len(), finding);
            }
            start += text.len();
        }
        self.at_start(finding);
    }

    fn at_start(&mut self, finding: Finding) {
        self.findings.push(finding.at(Place::file(self.file)));
    }

    fn report(&mut self, span: Range<usize>, finding: Finding) {
        self.findings.push(finding.at(Place::span(self.file, self.text, span)));
    }
}

/// Whether a name, taken for that of a directory, means another place than one below.
fn leads_elsewhere(name: &str) -> bool {
    name.starts_with('.') || name.contains(['/', '\\']) || name.chars().any(char::is_control)
}

fn is_filler(c: char) -> bool {
    c == '"' || c.is_whitespace()
}

/// The skills in a directory, nearest first: itself, or what is below it. What lies inside a skill belongs to
/// that skill.
#[must_use]
pub fn skills_below(dir: &Utf8Path) -> Vec<Utf8PathBuf> {
    let mut found = Vec::new();
    collect_skills(dir, MAX_DEPTH, &mut Visited::default(), &mut found);
    found.sort_by_key(|file| file.components().count());
    found
}

fn collect_skills(
    dir: &Utf8Path,
    depth: usize,
    visited: &mut Visited,
    found: &mut Vec<Utf8PathBuf>,
) {
    if !visited.enter(dir) {
        return;
    }
    let file = dir.join(SKILL_FILE);
    if file.is_file() {
        return found.push(file);
    }
    let Ok(entries) = dir.read_dir_utf8() else { return };
    let mut dirs: Vec<Utf8PathBuf> =
        entries.flatten().map(camino::Utf8DirEntry::into_path).collect();
    dirs.sort();
    if let Some(depth) = depth.checked_sub(1) {
        dirs.iter().for_each(|dir| collect_skills(dir, depth, visited, found));
    }
}

#[cfg(test)]
mod tests;

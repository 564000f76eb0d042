//! `SKILL.md`: a header between `---` lines, then the text that steers an agent.

use agents_system::finding::{Finding, Place, Severity};
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Map, Value};

use crate::{
    manifest::MAX_DESCRIPTION,
    predicate::{Gate, PredicateError, parse_atoms, parse_predicates},
};

/// The file that makes a directory a skill.
pub const SKILL_FILE: &str = "SKILL.md";

/// Deeper directories are not searched; a loop of symbolic links would be endless.
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
    let mut reader = Reader { file, text, findings: Vec::new() };
    let header = reader.read();
    let sound = reader.findings.iter().all(|finding| finding.severity != Severity::Error);
    (header.filter(|_| sound), reader.findings)
}

struct Reader<'t> {
    file: &'t Utf8Path,
    text: &'t str,
    findings: Vec<Finding>,
}

impl Reader<'_> {
    fn read(&mut self) -> Option<SkillHeader> {
        let Some(fenced) = fenced(self.text) else {
            let finding = Finding::error("a skill starts with a header between two `---` lines");
            let hint = "put `---`, `name: …`, `description: …` and `---` at the top of the file";
            self.report(0..self.text.lines().next().map_or(0, str::len), finding.hint(hint));
            return None;
        };
        let header = self.parse_yaml(fenced)?;
        let name = self.required(&header, "name").map(|name| name.trim_matches('"').to_owned());
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
        atoms.extend(self.list(&header, "depends-on", parse_atoms));
        let predicates = self.list(&header, "predicates", parse_predicates);
        let gate = Gate::new(atoms, predicates);
        Some(SkillHeader { name: name?, description: description?, gate })
    }

    /// Real YAML first; many skills in the wild are not, mostly for a colon in an unquoted
    /// description, and their authors never noticed.
    fn parse_yaml(&mut self, fenced: &str) -> Option<Map<String, Value>> {
        let error = match serde_saphyr::from_str::<Value>(fenced) {
            Ok(Value::Object(header)) => return Some(header),
            Ok(Value::Null) => return Some(Map::new()),
            Ok(_) => {
                self.at_start(Finding::error("the header of a skill must be `key: value` lines"));
                return None;
            }
            Err(error) => error,
        };
        let said = error.without_snippet().to_string();
        let lenient = parse_lines(fenced);
        if lenient.contains_key("name") && lenient.contains_key("description") {
            self.at_start(
                Finding::warning("the header is not valid YAML and was read line by line")
                    .hint("put the value that holds a `:` or `#` between quotes"),
            );
            return Some(lenient);
        }
        self.at_start(Finding::error(format!("the header is not valid YAML: {said}")));
        None
    }

    fn required(&mut self, header: &Map<String, Value>, key: &str) -> Option<String> {
        match header.get(key) {
            Some(Value::String(text)) if !text.trim().is_empty() => Some(text.clone()),
            Some(Value::String(_)) => {
                self.at_key(key, Finding::error(format!("`{key}` of a skill cannot be empty")));
                None
            }
            Some(_) => {
                self.at_key(key, Finding::error(format!("`{key}` of a skill must be a string")));
                None
            }
            None => {
                self.at_start(Finding::error(format!("`{key}` is missing in the header of the skill")));
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
        let texts: Vec<&str> = match header.get(key) {
            None | Some(Value::Null) => return Vec::new(),
            Some(Value::String(text)) => vec![text],
            Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).collect(),
            Some(_) => {
                self.at_key(key, Finding::error(format!("`{key}` must be a comma list")));
                return Vec::new();
            }
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
        let mut start = 0;
        for line in self.text.split_inclusive('\n') {
            if line.trim_start().starts_with(key) {
                return self.report(start..start + line.trim_end().len(), finding);
            }
            start += line.len();
        }
        self.at_start(finding);
    }

    fn at_start(&mut self, finding: Finding) {
        self.findings.push(finding.at(Place::file(self.file)));
    }

    fn report(&mut self, span: std::ops::Range<usize>, finding: Finding) {
        self.findings.push(finding.at(Place::span(self.file, self.text, span)));
    }
}

/// What stands between the first two `---` lines.
fn fenced(text: &str) -> Option<&str> {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let rest = text.strip_prefix("---")?;
    let (blank, rest) = rest.split_once('\n')?;
    if !blank.trim().is_empty() {
        return None;
    }
    let mut end = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Some(&rest[..end]);
        }
        end += line.len();
    }
    None
}

fn parse_lines(fenced: &str) -> Map<String, Value> {
    let pairs = fenced.lines().filter(|line| !line.starts_with([' ', '\t', '#', '-']));
    let pairs = pairs.filter_map(|line| line.split_once(':'));
    pairs.map(|(key, value)| (key.trim().to_owned(), Value::String(unquoted(value.trim())))).collect()
}

fn unquoted(text: &str) -> String {
    let inner = |quote| text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    inner('"').or_else(|| inner('\'')).unwrap_or(text).to_owned()
}

/// The skills in a directory, nearest first: itself, or what is below it. What lies inside a skill belongs to
/// that skill.
#[must_use]
pub fn skills_below(dir: &Utf8Path) -> Vec<Utf8PathBuf> {
    let mut found = Vec::new();
    collect_skills(dir, MAX_DEPTH, &mut found);
    found
}

fn collect_skills(dir: &Utf8Path, depth: usize, found: &mut Vec<Utf8PathBuf>) {
    let file = dir.join(SKILL_FILE);
    if file.is_file() {
        return found.push(file);
    }
    let Ok(entries) = dir.read_dir_utf8() else { return };
    let mut dirs: Vec<Utf8PathBuf> =
        entries.flatten().map(|entry| entry.into_path()).filter(|path| path.is_dir()).collect();
    dirs.sort();
    if let Some(depth) = depth.checked_sub(1) {
        dirs.iter().for_each(|dir| collect_skills(dir, depth, found));
    }
}

#[cfg(test)]
mod tests;

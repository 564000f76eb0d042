//! From a text to a plan, or to everything that is wrong with it.

use std::ops::Range;

use agents_system::{
    edit::{self, Format},
    finding::{Finding, Place},
    nearest::{nearest, quoted_list},
    nested,
};
use camino::{Utf8Path, Utf8PathBuf};
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_path_to_error::Segment;

use super::{
    model::{Plan, Task},
    spots::{Path, Spots},
};

/// The largest file that is read.
pub(super) const MAX_BYTES: u64 = 4 << 20;
/// The most tasks of one file.
const MAX_TASKS: usize = 10_000;
/// The most findings about one file.
const MAX_FINDINGS: usize = 100;

/// A plan with the file that it was read from.
#[derive(Debug, Clone)]
pub struct PlanFile {
    /// The file.
    pub file: Utf8PathBuf,
    /// What it says. What could not be read is missing.
    pub plan: Plan,
    text: String,
    spots: Spots,
    /// Which entry of the file each task was.
    entries: Vec<Entry>,
}

/// The position of a task in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry(usize);

impl PlanFile {
    /// Reads a plan; the end of the file's name tells the format. A plan that is not sound comes with errors among the findings, and
    /// as much of it as could be read.
    #[must_use]
    pub fn parse(file: Utf8PathBuf, text: &str) -> (Option<Self>, Vec<Finding>) {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let format = match file.extension() {
            Some("toml") => Format::Toml,
            Some("json" | "jsonc") => Format::Json,
            Some("yaml" | "yml") => Format::Yaml,
            _ => {
                let message = format!("`{file}` is not a plan");
                let hint = "the name of a plan ends in `.toml`, `.yaml`, `.yml` or `.json`";
                return (None, vec![Finding::error(message).at(Place::file(file)).hint(hint)]);
            }
        };
        let mut value = match edit::read(format, text) {
            Ok(value) => value,
            Err(error) => {
                let place = Place { file, spot: error.spot().cloned() };
                return (None, vec![Finding::error(error.to_string()).at(place)]);
            }
        };
        // What a plan says is kept in a journal, with something around it.
        if !nested::fits(&value) {
            let most = nested::MAX_DEPTH;
            let message = format!("there are more than {most} lists or tables within each other");
            return (None, vec![Finding::error(message).at(Place::file(file))]);
        }
        let mut read = Self {
            spots: Spots::of(format, text),
            text: text.to_owned(),
            plan: Plan::default(),
            entries: Vec::new(),
            file,
        };
        let mut findings = Vec::new();
        let tasks = match value.get_mut("tasks").map(Value::take) {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(tasks)) => tasks,
            Some(_) => {
                let finding = Finding::error("`tasks` must be a list");
                findings.push(read.at_key(&Path::top().then("tasks"), finding));
                Vec::new()
            }
        };
        if let Value::Object(entries) = &mut value {
            entries.shift_remove("tasks");
        }
        let Some(mut plan) = read.mend::<Plan>(&Path::top(), value, &mut findings) else {
            return (None, findings);
        };
        if tasks.len() > MAX_TASKS {
            let finding = Finding::error(format!("a plan has at most {MAX_TASKS} tasks"));
            findings.push(read.at_key(&Path::top().then("tasks"), finding));
        }
        for (at, task) in tasks.into_iter().take(MAX_TASKS).enumerate() {
            let path = Path::top().then("tasks").then(at);
            if let Some(task) = read.mend::<Task>(&path, task, &mut findings) {
                plan.tasks.push(task);
                read.entries.push(Entry(at));
            }
        }
        read.plan = plan;
        (Some(read), findings)
    }

    /// Reads a value, leaving out what does not fit after saying so; nothing if something that must be there is not.
    fn mend<T: DeserializeOwned>(
        &self,
        base: &Path,
        mut value: Value,
        findings: &mut Vec<Finding>,
    ) -> Option<T> {
        let mut removed: Vec<String> = Vec::new();
        while findings.len() < MAX_FINDINGS {
            let error = match serde_path_to_error::deserialize::<_, T>(value.clone()) {
                Ok(read) => return Some(read),
                Err(error) => error,
            };
            let mut path = base.clone();
            let mut pointer = String::new();
            for segment in error.path() {
                let step = match segment {
                    Segment::Seq { index } => index.to_string(),
                    Segment::Map { key } => key.clone(),
                    Segment::Enum { variant } => variant.clone(),
                    Segment::Unknown => continue,
                };
                path = path.then(&step);
                pointer.push('/');
                pointer.push_str(&step.replace('~', "~0").replace('/', "~1"));
            }
            let message = error.into_inner().to_string();
            if let Some(unknown) = quoted_after(&message, "unknown field ") {
                // The path may or may not end with the key itself.
                if !pointer.ends_with(&format!("/{unknown}")) {
                    path = path.then(&unknown);
                    pointer = format!("{pointer}/{unknown}");
                }
                let mut finding = Finding::error(format!("unknown key `{unknown}`"));
                let known = all_quoted(message.split_once("expected").map_or("", |it| it.1));
                let near = nearest(&unknown, known.iter().map(String::as_str));
                if near.is_empty() {
                    finding = finding.hint(format!("allowed here: {}", quoted_list(&known, "and")));
                } else {
                    finding = finding.label(format!("did you mean {}?", quoted_list(&near, "or")));
                }
                findings.push(self.at_key(&path, finding));
            } else if let Some(missing) = quoted_after(&message, "missing field ") {
                // If we left it out ourselves, that has been told.
                if !removed.contains(&format!("{pointer}/{missing}")) {
                    let finding = Finding::error(format!("`{missing}` is missing"));
                    findings.push(self.at_value(&path, finding));
                }
                if path == *base {
                    return None;
                }
            } else {
                findings.push(self.at_value(&path, Finding::error(message)));
            }
            if !remove(&mut value, &pointer) {
                return None;
            }
            removed.push(pointer);
        }
        None
    }

    /// Where the entry of a task is.
    pub(crate) fn path_of(&self, task: usize) -> Path {
        let entry = self.entries.get(task).map_or(task, |it| it.0);
        Path::top().then("tasks").then(entry)
    }

    fn place(&self, span: Option<Range<usize>>) -> Place {
        match span {
            Some(span) => Place::span(self.file.clone(), &self.text, span),
            None => Place::file(self.file.clone()),
        }
    }

    /// A finding about a value; about what it stands in, if it is not there.
    pub(crate) fn at_value(&self, path: &Path, finding: Finding) -> Finding {
        finding.at(self.place(self.nearest_spot(path, Spots::value)))
    }

    /// A finding about a key.
    pub(crate) fn at_key(&self, path: &Path, finding: Finding) -> Finding {
        finding.at(self.place(self.nearest_spot(path, Spots::key)))
    }

    /// A finding about a part of a text.
    pub(crate) fn at_part(&self, path: &Path, part: &str, finding: Finding) -> Finding {
        let Some(span) = self.spots.value(path) else { return self.at_value(path, finding) };
        // Where the text is written as it is meant, which is nearly always, the part itself can be shown.
        let written = self.text.get(span.clone()).unwrap_or_default();
        let goes_on = |at: usize| {
            let rest = written[at + part.len()..].chars().next();
            part.ends_with(|c: char| c.is_alphanumeric())
                && rest.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '['))
        };
        let mut found = written.match_indices(part).map(|(at, _)| at);
        let part = match found.find(|at| !part.is_empty() && !goes_on(*at)) {
            Some(at) => span.start + at..span.start + at + part.len(),
            None => span,
        };
        finding.at(self.place(Some(part)))
    }

    fn nearest_spot(
        &self,
        path: &Path,
        spot: impl Fn(&Spots, &Path) -> Option<Range<usize>>,
    ) -> Option<Range<usize>> {
        let mut path = Some(path.clone());
        while let Some(here) = path {
            if let Some(span) = spot(&self.spots, &here) {
                return Some(span);
            }
            path = here.parent();
        }
        None
    }

    /// The directory that paths of other plans start from.
    pub(crate) fn dir(&self) -> &Utf8Path {
        self.file.parent().unwrap_or(Utf8Path::new(""))
    }
}

fn quoted_after(message: &str, before: &str) -> Option<String> {
    all_quoted(message.strip_prefix(before)?).into_iter().next()
}

fn all_quoted(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn remove(value: &mut Value, pointer: &str) -> bool {
    let Some((parent, last)) = pointer.rsplit_once('/') else { return false };
    let last = last.replace("~1", "/").replace("~0", "~");
    match value.pointer_mut(parent) {
        Some(Value::Object(entries)) => entries.shift_remove(&last).is_some(),
        Some(Value::Array(items)) => {
            let at = last.parse().ok().filter(|at: &usize| *at < items.len());
            at.map(|at| items.remove(at)).is_some()
        }
        _ => false,
    }
}

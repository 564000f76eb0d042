//! The text of a file, taken apart: a table of entries, the text below it, and where everything stands.

use std::ops::Range;

use agents_system::{
    edit::{self, Format, KeyPath},
    finding::{Finding, Place},
    frontmatter::{Fences, Unfenced, parse_lines, parse_yaml, split},
    nested,
};
use camino::Utf8Path;
use serde_json::{Map, Value};

use super::{Input, Strictness};
use crate::dialect::Syntax;

/// How deep entries may be: every dialect must be able to say them, some a level or two deeper, and readers of YAML have a limit.
const MAX_DEPTH: usize = 28;

/// The list that an entry may be does not count: what is `mcp_servers.docs` to one dialect is an item of a list to another.
fn fits(entry: &Value) -> bool {
    let within = |it: &Value| nested::is_within(it, MAX_DEPTH);
    entry.as_array().map_or_else(|| within(entry), |items| items.iter().all(within))
}

/// A file that can be read.
#[derive(Debug)]
pub(crate) struct Document<'t> {
    file: &'t Utf8Path,
    text: &'t str,
    pub(crate) format: Format,
    /// Where the entries stand.
    pub(crate) header: Range<usize>,
    /// What stands below them; `None` where all is entries.
    pub(crate) body: Option<Range<usize>>,
    pub(crate) entries: Map<String, Value>,
}

impl<'t> Document<'t> {
    pub(crate) fn read(input: &Input<'t>) -> (Option<Self>, Vec<Finding>) {
        let (document, mut findings) = match input.dialect.syntax(input.file) {
            Syntax::Markdown => Self::read_markdown(input),
            Syntax::Toml => Self::read_whole(input, Format::Toml),
            Syntax::Json => Self::read_whole(input, Format::Json),
        };
        let document = document.filter(|document| {
            let fits = document.entries.values().all(fits);
            if !fits {
                let message =
                    format!("there are more than {MAX_DEPTH} lists or tables within each other");
                findings.push(Finding::error(message).at(document.start()));
            }
            fits
        });
        (document, findings)
    }

    fn read_whole(input: &Input<'t>, format: Format) -> (Option<Self>, Vec<Finding>) {
        let start = if input.text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        let mut document = Self::new(input, format, start..input.text.len(), None);
        if input.text[start..].trim().is_empty() {
            return (None, vec![Finding::error("the file is empty").at(document.start())]);
        }
        match document.read_entries() {
            Ok(entries) => document.entries = entries,
            Err(finding) => return (None, vec![*finding]),
        }
        (Some(document), Vec::new())
    }

    fn read_markdown(input: &Input<'t>) -> (Option<Self>, Vec<Finding>) {
        let parts = match split(input.text) {
            Ok(parts) => parts,
            Err(error) => {
                let hint = match error {
                    Unfenced::NotOpened => {
                        "put `---`, `name: …`, `description: …` and `---` at the top of the file"
                    }
                    Unfenced::NotClosed { .. } => "a fence has a line of its own",
                };
                let first = input.text.lines().next().map_or(0, str::len);
                let place = Place::span(input.file, input.text, 0..first);
                return (None, vec![Finding::error(error.to_string()).hint(hint).at(place)]);
            }
        };
        let mut document = Self::new(input, parts.format, parts.header, Some(parts.body));
        let mut findings = Vec::new();
        let fence = Place::span(input.file, input.text, 0..input.text.find('\n').unwrap_or(0));
        if parts.fences == Fences::Loose {
            let severity = doubt(input.strictness);
            findings.push(
                Finding::new(severity, "not every reader sees the header of this file")
                    .at(fence.clone())
                    .hint("the first line and the one below the header are `---` and nothing else"),
            );
        }
        if parts.format == Format::Toml {
            findings.push(
                Finding::warning("headers between `+++` are deprecated")
                    .at(fence)
                    .hint("write it as YAML between `---` lines"),
            );
            match document.read_entries() {
                Ok(entries) => document.entries = entries,
                Err(finding) => findings.push(*finding),
            }
        } else {
            document.read_yaml(&mut findings);
        }
        (Some(document), findings)
    }

    fn new(
        input: &Input<'t>,
        format: Format,
        header: Range<usize>,
        body: Option<Range<usize>>,
    ) -> Self {
        let (file, text) = (input.file, input.text);
        Self { file, text, format, header, body, entries: Map::new() }
    }

    fn read_entries(&self) -> Result<Map<String, Value>, Box<Finding>> {
        // Lone carriage returns are no line ends in any of the formats.
        match edit::read(self.format, &self.text[self.header.clone()]) {
            Ok(Value::Object(entries)) => Ok(entries),
            Ok(_) => {
                let finding = Finding::error("there must be `key = value` lines");
                Err(Box::new(finding.at(self.start())))
            }
            Err(error) => {
                let message = match &error {
                    edit::EditError::Unparsable { format, message, .. } => {
                        format!("not valid {format}: {message}")
                    }
                    edit::EditError::DuplicateKey { key, .. } => {
                        format!("the key `{key}` appears twice")
                    }
                    other => other.to_string(),
                };
                let place = error.spot().map_or_else(|| self.start(), |spot| self.line(spot.line));
                Err(Box::new(Finding::error(message).at(place)))
            }
        }
    }

    fn read_yaml(&mut self, findings: &mut Vec<Finding>) {
        let header = &self.text[self.header.clone()];
        let error = match parse_yaml(header) {
            Ok(read) => {
                if let Some(line) = read.mended {
                    findings.push(self.mended(line));
                }
                self.entries = read.entries;
                return;
            }
            Err(error) => error,
        };
        let line = error.line().and_then(|line| u32::try_from(line).ok());
        let place = line.map_or_else(|| self.start(), |line| self.line(line));
        let said = Finding::error(error.to_string()).at(place);
        // With a key twice, taking one of the two would be a guess.
        let (entries, unreadable) = match error {
            agents_system::frontmatter::HeaderError::Invalid { .. } => parse_lines(header),
            _ => (Map::new(), Vec::new()),
        };
        if entries.is_empty() || !unreadable.is_empty() {
            findings.push(said);
            let lost = unreadable.iter().map(|it| {
                let message = format!("`{}` cannot be read", it.key);
                Finding::error(message).at(self.line(u32::try_from(it.line).unwrap_or(1)))
            });
            findings.extend(lost);
            return;
        }
        findings.push(self.mended(error.line().unwrap_or(1)));
        self.entries = entries;
    }

    fn mended(&self, line: usize) -> Finding {
        Finding::warning("the header is not valid YAML and was read line by line")
            .at(self.line(u32::try_from(line).unwrap_or(1)))
            .hint("put the value that holds a `:` or `#` between quotes")
    }

    /// What stands below the entries.
    pub(super) fn body(&self) -> Option<&'t str> {
        self.body.clone().map(|body| &self.text[body])
    }

    /// Where an entry stands.
    pub(super) fn place(&self, path: &[String]) -> Place {
        let header = &self.text[self.header.clone()];
        let span = edit::locate(self.format, header, KeyPath::new(path.iter()).keys());
        if let Some(span) = span {
            let span = self.header.start + span.start..self.header.start + span.end;
            return Place::span(self.file, self.text, span);
        }
        // In what is no YAML, the line that begins with the key.
        let key = path.first().map_or("", String::as_str);
        let is_key = |line: &str| {
            line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with([':', '=']))
        };
        match header.lines().position(is_key).and_then(|at| u32::try_from(at + 1).ok()) {
            Some(line) => self.line(line),
            None => self.start(),
        }
    }

    /// The file as a whole.
    pub(super) fn start(&self) -> Place {
        Place::file(self.file)
    }

    /// A line of the entries, counted from 1.
    fn line(&self, line: u32) -> Place {
        let mut start = self.header.start;
        let header = &self.text[self.header.clone()];
        for (text, index) in header.split_inclusive('\n').zip(1..) {
            if index == line {
                return Place::span(self.file, self.text, start..start + text.trim_end().len());
            }
            start += text.len();
        }
        self.start()
    }
}

/// How much something unknown matters.
pub(super) fn doubt(strictness: Strictness) -> agents_system::finding::Severity {
    match strictness {
        Strictness::Lenient => agents_system::finding::Severity::Warning,
        Strictness::Strict => agents_system::finding::Severity::Error,
    }
}

//! Strict TOML with errors that point at the place, say what is allowed and suggest the nearest key.
//!
//! A [`Document`] collects findings while its [`Table`]s are asked for keys; a key that nobody asked for is
//! unknown. So what a table may hold is written exactly once, in the code that reads it, and one pass
//! reports everything that is wrong.
//!
//! ```
//! use agents_system::decode::Document;
//! let document = Document::parse("p.toml".into(), "nmae = \"x\"").unwrap();
//! let root = document.root();
//! assert!(root.required_string("name").is_none());
//! root.deny_unknown();
//! let messages: Vec<_> = document.into_findings().into_iter().map(|f| f.message).collect();
//! assert_eq!(messages, ["`name` is missing", "unknown key `nmae`"]);
//! ```

pub mod remote;

use std::{
    cell::RefCell,
    collections::BTreeSet,
    fmt,
    ops::{Deref, Range},
};

use camino::{Utf8Path, Utf8PathBuf};
use toml::{
    Spanned,
    de::{DeArray, DeTable, DeValue},
};

use crate::{
    finding::{Finding, Place, Severity},
    nearest::{nearest, quoted_list},
};

/// How many findings one document can have.
const MAX_FINDINGS: usize = 100;
const LAST: usize = MAX_FINDINGS - 1;

/// A parsed TOML file.
#[derive(Debug)]
pub struct Document<'t> {
    file: Utf8PathBuf,
    text: &'t str,
    root: Spanned<DeTable<'t>>,
    findings: RefCell<Vec<Finding>>,
}

/// A table of a document.
#[derive(Debug)]
pub struct Table<'d> {
    document: &'d Document<'d>,
    label: String,
    span: Range<usize>,
    entries: &'d DeTable<'d>,
    asked: RefCell<BTreeSet<&'static str>>,
}

/// A value with its place.
#[derive(Debug, Clone, Copy)]
pub struct Value<'d> {
    document: &'d Document<'d>,
    spanned: &'d Spanned<DeValue<'d>>,
}

/// A string with its place.
#[derive(Debug, Clone, Copy)]
pub struct Text<'d> {
    document: &'d Document<'d>,
    span: (usize, usize),
    text: &'d str,
}

impl<'t> Document<'t> {
    /// Parses `text`, which was read from `file`.
    pub fn parse(file: Utf8PathBuf, text: &'t str) -> Result<Self, Box<Finding>> {
        match DeTable::parse(text) {
            Ok(root) => Ok(Self { file, text, root, findings: RefCell::default() }),
            Err(error) => {
                let span = error.span().unwrap_or(0..0);
                let message = error.message().trim().replace('\n', ", ");
                Err(Box::new(Finding::error(message).at(Place::span(file, text, span))))
            }
        }
    }

    /// The top of the file.
    #[must_use]
    pub fn root(&self) -> Table<'_> {
        Table {
            document: self,
            label: String::new(),
            span: 0..0,
            entries: self.root.get_ref(),
            asked: RefCell::default(),
        }
    }

    /// Everything that was found wrong so far.
    #[must_use]
    pub fn into_findings(self) -> Vec<Finding> {
        self.findings.into_inner()
    }

    /// Whether nothing is an error so far.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.findings.borrow().iter().all(|finding| finding.severity != Severity::Error)
    }

    /// Where the file is.
    #[must_use]
    pub fn file(&self) -> &Utf8Path {
        &self.file
    }

    fn line(&self, at: usize) -> u32 {
        let before = self.text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count();
        u32::try_from(before + 1).unwrap_or(u32::MAX)
    }

    fn report(&self, span: Range<usize>, finding: Finding) {
        // Nobody reads more than that, and a hostile file must not fill the memory.
        let finding = match self.findings.borrow().len() {
            MAX_FINDINGS.. => return,
            LAST => Finding::error("there is more that is wrong, which is left out"),
            _ => finding,
        };
        let place = if span == (0..0) {
            Place::file(self.file.clone())
        } else {
            Place::span(self.file.clone(), self.text, span)
        };
        self.findings.borrow_mut().push(finding.at(place));
    }
}

impl<'d> Table<'d> {
    /// The document it stands in.
    #[must_use]
    pub fn document(&self) -> &'d Document<'d> {
        self.document
    }

    /// Under this name in messages.
    #[must_use]
    pub fn labelled(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// Its name in messages, as `[[installations]]`; empty for the top.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Whether the key is there.
    #[must_use]
    pub fn has(&self, key: &'static str) -> bool {
        self.get(key).is_some()
    }

    /// The keys, in alphabetical order, with their values. All of them count as asked for.
    pub fn entries(&self) -> impl Iterator<Item = (Text<'d>, Value<'d>)> + use<'d> {
        let document = self.document;
        self.entries.iter().map(move |(key, value)| {
            let span = key.span();
            let key = Text { document, span: (span.start, span.end), text: key.get_ref().as_ref() };
            (key, Value { document, spanned: value })
        })
    }

    /// The value of a key.
    pub fn get(&self, key: &'static str) -> Option<Value<'d>> {
        self.asked.borrow_mut().insert(key);
        let spanned = self.entries.get(key)?;
        Some(Value { document: self.document, spanned })
    }

    /// A string.
    pub fn string(&self, key: &'static str) -> Option<Text<'d>> {
        self.get(key)?.string(key)
    }

    /// A string that must be there.
    pub fn required_string(&self, key: &'static str) -> Option<Text<'d>> {
        if !self.has(key) {
            self.missing(key);
        }
        self.string(key)
    }

    /// A string out of a fixed set; something else is an error that lists the set.
    pub fn choice<T: Copy>(&self, key: &'static str, choices: &[(&str, T)]) -> Option<T> {
        let text = self.string(key)?;
        if let Some((_, value)) = choices.iter().find(|(word, _)| *word == text.text) {
            return Some(*value);
        }
        let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
        let message = format!("`{key}` cannot be `{}`{}", text.text, self.inside());
        let hint = format!("allowed: {}", quoted_list(&words, "or"));
        let label = did_you_mean(text.text, words.iter().copied());
        text.report(Finding { label, ..Finding::error(message).hint(hint) });
        None
    }

    /// A truth value.
    pub fn boolean(&self, key: &'static str) -> Option<bool> {
        let value = self.get(key)?;
        match value.spanned.get_ref() {
            DeValue::Boolean(boolean) => Some(*boolean),
            _ => {
                value.wrong_type(key, "`true` or `false`");
                None
            }
        }
    }

    /// A whole number that is not negative.
    pub fn count(&self, key: &'static str) -> Option<u64> {
        let value = self.get(key)?;
        let DeValue::Integer(integer) = value.spanned.get_ref() else {
            value.wrong_type(key, "a whole number");
            return None;
        };
        let count = u64::from_str_radix(integer.as_str(), integer.radix()).ok();
        if count.is_none() {
            let message = format!("`{key}` must be a whole number that is not negative");
            value.report(Finding::error(message));
        }
        count
    }

    /// A list of strings; a missing key is an empty list.
    pub fn strings(&self, key: &'static str) -> Vec<Text<'d>> {
        self.get(key).map(|value| value.strings(key)).unwrap_or_default()
    }

    /// A string or a list of strings; a missing key is an empty list.
    pub fn string_or_strings(&self, key: &'static str) -> Vec<Text<'d>> {
        match self.get(key) {
            None => Vec::new(),
            Some(value) if value.is_string() => value.string(key).into_iter().collect(),
            Some(value) if value.is_array() => value.strings(key),
            Some(value) => {
                value.wrong_type(key, "a string or a list of strings");
                Vec::new()
            }
        }
    }

    /// A table.
    pub fn table(&self, key: &'static str) -> Option<Table<'d>> {
        let value = self.get(key)?;
        let table = value.table(format!("[{}]", self.path_to(key)));
        if table.is_none() {
            value.wrong_type(key, "a table");
        }
        table
    }

    /// A list of tables (`[[key]]`); a missing key is an empty list.
    pub fn tables(&self, key: &'static str) -> Vec<Table<'d>> {
        let Some(value) = self.get(key) else { return Vec::new() };
        let label = format!("[[{}]]", self.path_to(key));
        let Some(array) = value.array() else {
            value.wrong_type(key, &format!("a list of tables, written as `{label}`"));
            return Vec::new();
        };
        let items = array.iter().map(|spanned| Value { document: self.document, spanned });
        let tables = items.filter_map(|item| {
            let table = item.table(label.clone());
            if table.is_none() {
                item.wrong_type(key, &format!("a list of tables, written as `{label}`"));
            }
            table
        });
        tables.collect()
    }

    /// Where it begins, counted from 1.
    #[must_use]
    pub fn line(&self) -> u32 {
        self.document.line(self.span.start)
    }

    /// Reports that a key is not there.
    pub fn missing(&self, key: &str) {
        let finding = Finding::error(format!("`{key}` is missing{}", self.inside()));
        self.document.report(self.span.clone(), finding);
    }

    /// Reports something about the table as a whole.
    pub fn report(&self, finding: Finding) {
        self.document.report(self.span.clone(), finding);
    }

    /// Reports every key that was not asked for as an error.
    pub fn deny_unknown(&self) {
        self.report_unknown(Severity::Error);
    }

    /// Reports every key that was not asked for as a warning, for files where a key of a newer version
    /// must not stop an older one.
    pub fn warn_unknown(&self) {
        self.report_unknown(Severity::Warning);
    }

    fn report_unknown(&self, severity: Severity) {
        let asked = self.asked.borrow();
        for (key, _) in self.entries().filter(|(key, _)| !asked.contains(key.text)) {
            let message = format!("unknown key `{}`{}", key.text, self.inside());
            let finding = match did_you_mean(key.text, asked.iter().copied()) {
                Some(label) => Finding::new(severity, message).label(label),
                None => {
                    let allowed: Vec<&str> = asked.iter().copied().collect();
                    Finding::new(severity, message).hint(match allowed.as_slice() {
                        [] => "no keys are allowed here".to_owned(),
                        keys => format!("allowed here: {}", quoted_list(keys, "and")),
                    })
                }
            };
            key.report(finding);
        }
    }

    fn inside(&self) -> String {
        if self.label.is_empty() { String::new() } else { format!(" in {}", self.label) }
    }

    fn path_to(&self, key: &str) -> String {
        let outer = self.label.trim_matches(['[', ']']);
        if outer.is_empty() { key.to_owned() } else { format!("{outer}.{key}") }
    }
}

impl<'d> Value<'d> {
    /// Whether it is a string.
    #[must_use]
    pub fn is_string(&self) -> bool {
        self.spanned.get_ref().is_str()
    }

    /// Whether it is a list.
    #[must_use]
    pub fn is_array(&self) -> bool {
        self.spanned.get_ref().is_array()
    }

    /// Itself as a string; `key` is its name in the message if it is none.
    #[must_use]
    pub fn string(self, key: &str) -> Option<Text<'d>> {
        match self.spanned.get_ref() {
            DeValue::String(text) => {
                let span = self.spanned.span();
                let span = (span.start, span.end);
                Some(Text { document: self.document, span, text: text.as_ref() })
            }
            _ => {
                self.wrong_type(key, "a string");
                None
            }
        }
    }

    /// Itself as a list of strings.
    #[must_use]
    pub fn strings(self, key: &str) -> Vec<Text<'d>> {
        let Some(items) = self.items() else {
            self.wrong_type(key, "a list of strings");
            return Vec::new();
        };
        let strings = items.filter_map(|item| {
            if !item.is_string() {
                item.wrong_type(key, "a list of strings");
                return None;
            }
            item.string(key)
        });
        strings.collect()
    }

    /// The elements, if it is a list.
    pub fn items(self) -> Option<impl Iterator<Item = Value<'d>>> {
        let document = self.document;
        Some(self.array()?.iter().map(move |spanned| Value { document, spanned }))
    }

    /// Itself as a table with this name in messages, if it is one.
    #[must_use]
    pub fn table(self, label: impl Into<String>) -> Option<Table<'d>> {
        let DeValue::Table(entries) = self.spanned.get_ref() else { return None };
        Some(Table {
            document: self.document,
            label: label.into(),
            span: self.spanned.span(),
            entries,
            asked: RefCell::default(),
        })
    }

    /// Reports that it has the wrong type.
    pub fn wrong_type(self, key: &str, expected: &str) {
        let found = self.spanned.get_ref().type_str();
        let article = if found.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
        let message = format!("`{key}` must be {expected}, not {article} {found}");
        self.report(Finding::error(message));
    }

    /// Reports something at its place.
    pub fn report(self, finding: Finding) {
        self.document.report(self.spanned.span(), finding);
    }

    /// Where it begins, counted from 1.
    #[must_use]
    pub fn line(self) -> u32 {
        self.document.line(self.spanned.span().start)
    }

    fn array(self) -> Option<&'d DeArray<'d>> {
        self.spanned.get_ref().as_array()
    }
}

impl<'d> Text<'d> {
    /// The string, for as long as the document lives.
    #[must_use]
    pub fn as_str(&self) -> &'d str {
        self.text
    }

    /// Reports something at its place.
    pub fn report(&self, finding: Finding) {
        self.document.report(self.span.0..self.span.1, finding);
    }

    /// Reports a plain error at its place.
    pub fn error(&self, message: impl Into<String>) {
        self.report(Finding::error(message));
    }
}

impl Deref for Text<'_> {
    type Target = str;
    fn deref(&self) -> &str {
        self.text
    }
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.text)
    }
}

fn did_you_mean<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let near = nearest(typed, known);
    (!near.is_empty()).then(|| format!("did you mean {}?", quoted_list(&near, "or")))
}

#[cfg(test)]
mod tests;

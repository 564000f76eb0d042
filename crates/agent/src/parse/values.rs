//! What the entries of a file hold.

use std::time::Duration;

use agents_system::{
    finding::Finding,
    nearest::{nearest, quoted_list},
    span,
};
use serde_json::Value;

use super::{
    Strictness,
    document::{Document, doubt},
};
use crate::dialect::grammar::{Grammar, fold};

/// One entry whose meaning is known.
#[derive(Debug, Clone)]
pub(super) struct Entry<'d> {
    pub(super) path: Vec<String>,
    pub(super) value: &'d Value,
}

impl Entry<'_> {
    pub(super) fn spelled(&self) -> String {
        self.path.join(".")
    }
}

/// Reads values and collects what is wrong with them.
#[derive(Debug)]
pub(super) struct Reader<'r, 't> {
    pub(super) document: &'r Document<'t>,
    pub(super) grammar: &'static Grammar,
    pub(super) strictness: Strictness,
    pub(super) findings: &'r mut Vec<Finding>,
}

impl Reader<'_, '_> {
    pub(super) fn error(&mut self, entry: &Entry<'_>, message: impl Into<String>) {
        self.report(entry, Finding::error(message));
    }

    /// Something unknown.
    pub(super) fn doubt(
        &mut self,
        entry: &Entry<'_>,
        message: impl Into<String>,
        hint: Option<String>,
    ) {
        let finding = Finding::new(doubt(self.strictness), message);
        self.report(entry, Finding { hint, ..finding });
    }

    pub(super) fn warn(&mut self, entry: &Entry<'_>, message: impl Into<String>) {
        self.report(entry, Finding::warning(message));
    }

    fn report(&mut self, entry: &Entry<'_>, finding: Finding) {
        self.findings.push(finding.at(self.document.place(&entry.path)));
    }

    fn wrong(&mut self, entry: &Entry<'_>, expected: &str) {
        self.error(entry, format!("`{}` must be {expected}", entry.spelled()));
    }

    pub(super) fn text(&mut self, entry: &Entry<'_>) -> Option<String> {
        match entry.value {
            Value::String(text) => Some(text.trim().to_owned()),
            _ => {
                self.wrong(entry, "a string");
                None
            }
        }
    }

    /// A comma list or a list of strings.
    pub(super) fn list(&mut self, entry: &Entry<'_>) -> Vec<String> {
        match entry.value {
            Value::Null => Vec::new(),
            Value::String(text) => split_commas(text),
            Value::Array(items) => {
                let texts =
                    items.iter().map(|item| item.as_str().map(|text| text.trim().to_owned()));
                let Some(texts) = texts.collect::<Option<Vec<_>>>() else {
                    self.wrong(entry, "a comma list or a list of strings");
                    return Vec::new();
                };
                texts.into_iter().filter(|text| !text.is_empty()).collect()
            }
            _ => {
                self.wrong(entry, "a comma list or a list of strings");
                Vec::new()
            }
        }
    }

    pub(super) fn boolean(&mut self, entry: &Entry<'_>) -> Option<bool> {
        match entry.value {
            Value::Bool(value) => Some(*value),
            Value::String(text) if text.eq_ignore_ascii_case("true") => Some(true),
            Value::String(text) if text.eq_ignore_ascii_case("false") => Some(false),
            _ => {
                self.wrong(entry, "`true` or `false`");
                None
            }
        }
    }

    pub(super) fn number<T: TryFrom<u64>>(&mut self, entry: &Entry<'_>) -> Option<T> {
        let number = match entry.value {
            Value::Number(number) => number.as_u64(),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        let number = number.and_then(|number| T::try_from(number).ok());
        if number.is_none() {
            self.wrong(entry, "a whole number that is not negative");
        }
        number
    }

    pub(super) fn amount(&mut self, entry: &Entry<'_>) -> Option<f64> {
        let amount = entry.value.as_f64().filter(|it| it.is_finite() && *it >= 0.0);
        if amount.is_none() {
            self.wrong(entry, "a number that is not negative");
        }
        amount
    }

    /// So many of these seconds, minutes, ...
    pub(super) fn time(&mut self, entry: &Entry<'_>, unit: Duration) -> Option<Duration> {
        let time = match entry.value {
            Value::Number(number) => number.as_f64().and_then(|it| {
                Duration::try_from_secs_f64(it * unit.as_secs_f64()).ok().map(to_millis)
            }),
            Value::String(text) => span::parse(text.trim(), unit),
            _ => None,
        };
        if time.is_none() {
            self.wrong(entry, "a time, such as `90s` or `10m`");
        }
        time
    }

    /// One of several words. Words of other dialects are understood, too.
    pub(super) fn word<T: Copy + PartialEq>(
        &mut self,
        entry: &Entry<'_>,
        what: &str,
        own: &[(&'static str, T)],
        others: &[(&'static str, T)],
    ) -> Option<T> {
        let text = self.text(entry)?;
        if let Some((_, value)) = own.iter().find(|(word, _)| *word == text) {
            return Some(*value);
        }
        let title = self.grammar.dialect.title();
        let folded = fold(&text);
        let found = own.iter().chain(others).find(|(word, _)| fold(word) == folded);
        let Some((_, value)) = found.copied() else {
            let words: Vec<&str> = own.iter().map(|(word, _)| *word).collect();
            let hint =
                (!words.is_empty()).then(|| format!("it is one of {}", quoted_list(&words, "and")));
            self.doubt(entry, format!("`{text}` is not {what} that is known"), hint);
            return None;
        };
        if self.grammar.dialect != crate::definition::Dialect::Ours {
            let word = own.iter().find(|(_, it)| *it == value).map(|(word, _)| *word);
            let hint = word.map(|word| format!("it is written `{word}` there"));
            self.doubt(entry, format!("`{text}` is not {what} of {title}"), hint);
        }
        Some(value)
    }
}

/// Names that were probably meant.
pub(super) fn did_you_mean<'a>(
    typed: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    let near = nearest(typed, known);
    (!near.is_empty()).then(|| format!("did you mean {}?", quoted_list(&near, "or")))
}

/// Splits at commas that are not between parentheses.
pub(crate) fn split_commas(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut depth = 0_usize;
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        match parts.last_mut() {
            Some(part) if c != ',' || depth > 0 => part.push(c),
            _ => parts.push(String::new()),
        }
    }
    let parts = parts.into_iter().map(|part| part.trim().to_owned());
    parts.filter(|part| !part.is_empty()).collect()
}

fn to_millis(time: Duration) -> Duration {
    Duration::from_millis(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}

//! What a plan says about things that are not known when it is written: `${{ tasks.survey.output.crates }}`.
//!
//! A [`Template`] is text with references in it, a [`Condition`] is an expression over them. Both are parsed once, with the spot
//! of whatever is wrong. Parameters and items are put in when a plan is expanded ([`Template::bind`]); what is left refers to
//! results of tasks, and is put in when a task starts ([`Template::render`]).
//!
//! ```
//! use agents_plan::reference::{Lookup, Reference, Template};
//! use serde_json::{Value, json};
//!
//! struct Facts;
//! impl Lookup for Facts {
//!     fn look_up(&self, reference: &Reference) -> Option<Value> {
//!         (reference.to_string() == "params.crate").then(|| json!("serde"))
//!     }
//! }
//! let prompt = Template::parse("upgrade ${{ params.crate }}").unwrap();
//! assert_eq!(prompt.render(&Facts), "upgrade serde");
//! let error = Template::parse("upgrade ${{ parms.crate }}").unwrap_err();
//! assert_eq!((error.to_string().as_str(), error.span), ("`parms` is nothing that can be referred to", 12..17));
//! ```

mod condition;
mod scan;

use std::{fmt, ops::Range};

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use condition::{Condition, Operator};
use scan::Scanner;

/// The most of one value that goes into a text: what a model is shown is bounded.
pub const MAX_VALUE: usize = 16 * 1024;

/// Something that is known later.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Reference {
    /// Whose.
    pub root: Root,
    /// What of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<Step>,
}

/// Where a reference begins.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Root {
    /// A task, and which side of it.
    Task(String, Side),
    /// A parameter of the plan.
    Param(String),
    /// The item of a `for-each`.
    Item,
}

/// What of a task is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// What it handed in; for a `for-each` the list of it.
    Output,
    /// The last that its agent said.
    Text,
    /// How it ended, in a word.
    Ending,
    /// For a `for-each`: a list of `item`, `ending`, `output` and `text`.
    Items,
}

impl Side {
    const ALL: [(&'static str, Self); 4] = [
        ("output", Self::Output),
        ("text", Self::Text),
        ("ending", Self::Ending),
        ("items", Self::Items),
    ];

    fn word(self) -> &'static str {
        Self::ALL.iter().find(|(_, side)| *side == self).map_or("output", |(word, _)| word)
    }
}

/// One step into a value.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Step {
    /// Into an entry of a list.
    At(usize),
    /// Into an entry of an object.
    Key(String),
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.root {
            Root::Task(id, side) => write!(f, "tasks.{id}.{}", side.word())?,
            Root::Param(name) => write!(f, "params.{name}")?,
            Root::Item => f.write_str("item")?,
        }
        for step in &self.path {
            match step {
                Step::Key(key) => write!(f, ".{key}")?,
                Step::At(at) => write!(f, "[{at}]")?,
            }
        }
        Ok(())
    }
}

/// What is wrong with a text, and where in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct ReferenceError {
    /// What.
    pub what: String,
    /// Where, in bytes.
    pub span: Range<usize>,
}

/// Somebody who knows what references mean.
pub trait Lookup {
    /// The value; `None` where it is not known (yet).
    fn look_up(&self, reference: &Reference) -> Option<Value>;
}

/// The part of a value that steps lead to.
#[must_use]
pub fn walk<'v>(value: &'v Value, path: &[Step]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, step| match step {
        Step::Key(key) => value.get(key),
        Step::At(at) => value.get(at),
    })
}

/// A text with references in it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Template {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Part {
    Text(String),
    Value(Value),
    Reference(Reference, Range<usize>),
}

impl Template {
    /// Reads one. `$${{` is `${{` itself.
    ///
    /// # Errors
    /// What stands between the braces is no reference.
    pub fn parse(text: &str) -> Result<Self, ReferenceError> {
        let mut parts = Vec::new();
        let (mut plain, mut at) = (String::new(), 0);
        while let Some(found) = text[at..].find("${{") {
            let start = at + found;
            if text[..start].ends_with('$') {
                plain.push_str(&text[at..start - 1]);
                plain.push_str("${{");
                at = start + 3;
                continue;
            }
            plain.push_str(&text[at..start]);
            let Some(length) = text[start..].find("}}") else {
                let what = "`${{` without `}}`; write `$${{` if it is meant as it stands";
                return Err(ReferenceError { what: what.to_owned(), span: start..start + 3 });
            };
            let end = start + length;
            let mut scanner = Scanner::new(text, start + 3..end);
            let (reference, span) = scanner.reference()?;
            scanner.end()?;
            if !plain.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut plain)));
            }
            parts.push(Part::Reference(reference, span));
            at = end + 2;
        }
        plain.push_str(&text[at..]);
        if !plain.is_empty() {
            parts.push(Part::Text(plain));
        }
        Ok(Self { parts })
    }

    /// A text without references.
    #[must_use]
    pub fn plain(text: impl Into<String>) -> Self {
        Self { parts: vec![Part::Text(text.into())] }
    }

    /// The same with more text.
    #[must_use]
    pub fn and_text(mut self, text: impl Into<String>) -> Self {
        self.parts.push(Part::Text(text.into()));
        self
    }

    /// The same with one more reference.
    #[must_use]
    pub fn and_reference(mut self, reference: Reference) -> Self {
        self.parts.push(Part::Reference(reference, 0..0));
        self
    }

    /// What it refers to, with where in the text it was parsed from.
    pub fn references(&self) -> impl Iterator<Item = (&Reference, Range<usize>)> {
        self.parts.iter().filter_map(|part| match part {
            Part::Reference(reference, span) => Some((reference, span.clone())),
            Part::Text(_) | Part::Value(_) => None,
        })
    }

    /// The same with what is known put in, and the rest renamed.
    #[must_use]
    pub fn bind(&self, known: &dyn Lookup, rename: &dyn Fn(&str) -> String) -> Self {
        let parts = self.parts.iter().map(|part| match part {
            Part::Reference(reference, span) => match known.look_up(reference) {
                Some(value) => Part::Value(value),
                None => Part::Reference(reference.renamed(rename), span.clone()),
            },
            other => other.clone(),
        });
        Self { parts: parts.collect() }
    }

    /// The text. What is not known is left out; what is too long is cut, and says so.
    #[must_use]
    pub fn render(&self, known: &dyn Lookup) -> String {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Text(plain) => text.push_str(plain),
                Part::Value(value) => text.push_str(&shown(value)),
                Part::Reference(reference, _) => {
                    text.push_str(&shown(&known.look_up(reference).unwrap_or_default()));
                }
            }
        }
        text
    }

    /// The value, if it is nothing but one reference or value; else its text.
    #[must_use]
    pub fn value(&self, known: &dyn Lookup) -> Value {
        match self.parts.as_slice() {
            [Part::Value(value)] => value.clone(),
            [Part::Reference(reference, _)] => known.look_up(reference).unwrap_or_default(),
            _ => Value::String(self.render(known)),
        }
    }

    /// The reference, if it is nothing else.
    #[must_use]
    pub fn only_reference(&self) -> Option<&Reference> {
        match self.parts.as_slice() {
            [Part::Reference(reference, _)] => Some(reference),
            _ => None,
        }
    }
}

impl Reference {
    /// The same, of a task with another name.
    #[must_use]
    pub fn renamed(&self, rename: &dyn Fn(&str) -> String) -> Self {
        let root = match &self.root {
            Root::Task(id, side) => Root::Task(rename(id), *side),
            other => other.clone(),
        };
        Self { root, path: self.path.clone() }
    }

    /// The task, if it is about one.
    #[must_use]
    pub fn task(&self) -> Option<&str> {
        match &self.root {
            Root::Task(id, _) => Some(id),
            Root::Param(_) | Root::Item => None,
        }
    }
}

/// A value inside a text: texts as they are, nothing as nothing, everything else as JSON.
fn shown(value: &Value) -> String {
    let text = match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(_) | Value::Object(_) => {
            serde_json::to_string_pretty(value).unwrap_or_default()
        }
        other => other.to_string(),
    };
    cut(text, MAX_VALUE)
}

/// At most so many bytes, with a note where something is missing.
pub(crate) fn cut(mut text: String, most: usize) -> String {
    if text.len() > most {
        let left_out = text.len() - text.floor_char_boundary(most);
        text.truncate(text.floor_char_boundary(most));
        text.push_str(&format!("\n[{left_out} more bytes are left out]"));
    }
    text
}

#[cfg(test)]
mod tests;

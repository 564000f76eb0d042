//! Changing one entry of a text that belongs to somebody else, and no other byte of it.
//!
//! Functions from text to text, without any I/O ([`crate::foreign`] has that). JSON (with comments and trailing
//! commas), TOML, YAML and the managed blocks of [`markdown`] files. What holds for each of them:
//!
//! - Everything outside the touched entry stays byte for byte: comments, order, indentation, line endings,
//!   a byte order mark, a present or missing final newline.
//! - What is already so is not written again: the second run changes nothing.
//! - [`Edit::Remove`] takes back what [`Edit::Set`] did, to the byte; with [`Edit::RemoveIfEmpty`] also
//!   the tables that were created on the way.
//! - The result is parsed again and compared with what was meant. A text that does not parse, has a key
//!   twice or an unexpected shape is an [`EditError`], never a rewrite.
//!
//! Comments inside a removed entry go with it; those above, beside and below it stay.
//!
//! What cannot be taken back to the byte: a header `[a]` that had to be written because TOML had only `[a.b]`, and
//! `a:` of YAML, which becomes `a: {}`. What is refused in YAML: `? explicit` keys, what an anchor or
//! a merge key shares with another place, an entry below a block scalar that keeps its last blank lines,
//! lines that end with a carriage return alone, and several documents in one file.
//!
//! ```
//! use agents_system::edit::{Edit, Format, apply};
//! use serde_json::json;
//! let text = "{\n  // mine\n  \"model\": \"x\",\n}\n";
//! let at = ["mcpServers", "demo"];
//! let set = Edit::Set { at: at.into(), value: json!({ "command": "demo" }) };
//! let edited = apply(Format::Json, text, &[set.clone()])?;
//! assert_eq!(
//!     edited,
//!     r#"{
//!   // mine
//!   "model": "x",
//!   "mcpServers": {
//!     "demo": {
//!       "command": "demo"
//!     }
//!   },
//! }
//! "#
//! );
//! assert_eq!(apply(Format::Json, &edited, &[set])?, edited);
//! let undo = [Edit::Remove { at: at.into() }, Edit::RemoveIfEmpty { at: ["mcpServers"].into() }];
//! assert_eq!(apply(Format::Json, &edited, &undo)?, text);
//! # Ok::<(), agents_system::edit::EditError>(())
//! ```

use std::{fmt, ops::Range};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

mod delimited;
mod error;
mod intent;
mod json;
mod lines;
pub mod markdown;
mod quoted;
mod toml;
mod yaml;

pub use error::EditError;
use intent::Step;

use crate::nested;

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// JSON; comments and trailing commas are accepted and kept.
    Json,
    /// TOML.
    Toml,
    /// YAML, one document. Block style is edited by lines, flow style in place.
    Yaml,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Json => "JSON",
            Self::Toml => "TOML",
            Self::Yaml => "YAML",
        })
    }
}

/// The keys that lead to an entry, from the top of the file. The empty path is the top itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct KeyPath(Vec<String>);

impl KeyPath {
    /// These keys.
    #[must_use]
    pub fn new<K: Into<String>>(keys: impl IntoIterator<Item = K>) -> Self {
        Self(keys.into_iter().map(Into::into).collect())
    }

    /// The keys.
    #[must_use]
    pub fn keys(&self) -> &[String] {
        &self.0
    }

    /// One level deeper.
    #[must_use]
    pub fn join(&self, key: impl Into<String>) -> Self {
        let mut keys = self.0.clone();
        keys.push(key.into());
        Self(keys)
    }

    /// One level up; `None` at the top.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        self.0.split_last().map(|(_, keys)| Self(keys.to_vec()))
    }

    /// Its first `count` keys.
    fn first(&self, count: usize) -> Self {
        Self(self.0.iter().take(count).cloned().collect())
    }

    fn described(&self) -> String {
        if self.0.is_empty() { "the top of the file".to_owned() } else { format!("`{self}`") }
    }
}

impl<const N: usize> From<[&str; N]> for KeyPath {
    fn from(keys: [&str; N]) -> Self {
        Self::new(keys)
    }
}

impl From<Vec<String>> for KeyPath {
    fn from(keys: Vec<String>) -> Self {
        Self(keys)
    }
}

/// Dotted; a key with other characters than letters, digits, `-` and `_` is quoted.
impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, key) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(".")?;
            }
            if is_bare(key) { f.write_str(key)? } else { write!(f, "{key:?}")? }
        }
        Ok(())
    }
}

fn is_bare(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}

/// One change.
#[derive(Debug, Clone, PartialEq)]
pub enum Edit {
    /// The entry has this value. Missing tables on the way are created; something on the way that is not a
    /// table is an error. A table that is there already is changed key by key, so that comments in it stay.
    Set {
        /// Which entry.
        at: KeyPath,
        /// Its value.
        value: Value,
    },
    /// There is no such entry.
    Remove {
        /// Which entry.
        at: KeyPath,
    },
    /// The list, which is created if it is missing, holds an item equal to this one.
    Append {
        /// Which list.
        at: KeyPath,
        /// The item.
        value: Value,
    },
    /// The list holds no item equal to this one.
    RemoveItem {
        /// Which list.
        at: KeyPath,
        /// The item.
        value: Value,
    },
    /// The entry, if it is an empty table or list without comments in it, is gone. For the empty path: a
    /// file that holds nothing but an empty object becomes a blank one.
    RemoveIfEmpty {
        /// Which entry.
        at: KeyPath,
    },
}

impl Edit {
    /// The entry that it is about.
    #[must_use]
    pub fn at(&self) -> &KeyPath {
        match self {
            Self::Set { at, .. }
            | Self::Remove { at }
            | Self::Append { at, .. }
            | Self::RemoveItem { at, .. }
            | Self::RemoveIfEmpty { at } => at,
        }
    }
}

/// The value of a text; a blank one is an empty object. Dates of TOML become strings.
pub fn read(format: Format, text: &str) -> Result<Value, EditError> {
    parse(format, split_bom(text).1)
}

/// A new text that says this, in block style.
pub fn write(format: Format, entries: &Map<String, Value>) -> Result<String, EditError> {
    let text = match format {
        Format::Json => json::write(entries),
        Format::Toml => toml::write(entries)?,
        Format::Yaml => yaml::write(entries),
    };
    let said = parse(format, &text)?;
    if intent::is_same(format, &said, &Value::Object(entries.clone())) {
        Ok(text)
    } else {
        Err(EditError::Mismatch { format })
    }
}

/// The text with the edits made, one after the other. Equal to `text` if everything is so already.
pub fn apply(format: Format, text: &str, edits: &[Edit]) -> Result<String, EditError> {
    let (bom, body) = split_bom(text);
    let mut value = parse(format, body)?;
    let mut edited = body.to_owned();
    let mut touched = false;
    for edit in edits {
        let steps = intent::steps(format, &value, edit, &edited)?;
        for step in &steps {
            // The text could be read before, so this is about what the steps made of it.
            edited = splice(format, &edited, step).map_err(|error| match error {
                EditError::Unparsable { .. } | EditError::DuplicateKey { .. } => {
                    lost(format, edits)
                }
                refused => refused,
            })?;
        }
        if !steps.is_empty() {
            touched = true;
            intent::perform(&mut value, edit);
        }
    }
    if touched {
        let meant = parse(format, &edited).is_ok_and(|is| intent::is_same(format, &is, &value));
        if !meant {
            return Err(lost(format, edits));
        }
    }
    Ok(format!("{bom}{edited}"))
}

/// Why a text does not say what was meant, which is no mistake of ours if no reader would take as much as that.
fn lost(format: Format, edits: &[Edit]) -> EditError {
    let deep = edits.iter().find(|edit| match edit {
        Edit::Set { at, value } | Edit::Append { at, value } => {
            !nested::is_within(value, nested::MAX_DEPTH.saturating_sub(at.keys().len()))
        }
        _ => false,
    });
    deep.map_or(EditError::Mismatch { format }, |edit| EditError::Unrepresentable {
        format,
        at: edit.at().clone(),
        what: "so many lists and tables within each other",
    })
}

fn split_bom(text: &str) -> (&str, &str) {
    match text.strip_prefix('\u{feff}') {
        Some(body) => (&text[..text.len() - body.len()], body),
        None => ("", text),
    }
}

fn parse(format: Format, text: &str) -> Result<Value, EditError> {
    let value = match format {
        Format::Json => json::parse(text)?,
        Format::Toml => toml::parse(text)?,
        Format::Yaml => yaml::parse(text)?,
    };
    if value.is_object() {
        return Ok(value);
    }
    let start = locate(format, text, &[]).unwrap_or(0..0);
    let found = intent::kind(&value);
    Err(EditError::NotATable { at: KeyPath::default(), found, spot: error::spot(text, start) })
}

fn splice(format: Format, text: &str, step: &Step) -> Result<String, EditError> {
    match format {
        Format::Json => json::splice(text, step),
        Format::Toml => toml::splice(text, step),
        Format::Yaml => yaml::splice(text, step),
    }
}

/// Where the entry stands in a text that parses, for messages. A byte order mark must be gone.
#[must_use]
pub fn locate(format: Format, text: &str, keys: &[String]) -> Option<Range<usize>> {
    match format {
        Format::Json => json::locate(text, keys),
        Format::Toml => toml::locate(text, keys),
        Format::Yaml => yaml::locate(text, keys),
    }
}

#[cfg(test)]
mod tests;

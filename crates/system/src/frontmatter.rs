//! The header of a Markdown file: what stands between two lines of `---` (YAML) or `+++` (TOML).
//!
//! ```
//! use agents_system::frontmatter::{parse_yaml, split};
//! let text = "---\nname: x\n---\n\nBody, with\n---\nin it.\n";
//! let parts = split(text)?;
//! assert_eq!(&text[parts.body.clone()], "\nBody, with\n---\nin it.\n");
//! assert_eq!(parse_yaml(&text[parts.header])?.entries["name"], "x");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::ops::Range;

use serde_json::{Map, Value};

use crate::edit::Format;

mod lines;

pub use lines::{Unreadable, parse_lines};

/// Where the parts of a file with a header stand. The rest is fences and what is before the first of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts {
    /// How the header is written: YAML between `---`, TOML between `+++`.
    pub format: Format,
    /// The header, with its last line ending.
    pub header: Range<usize>,
    /// Everything after the line of the second fence.
    pub body: Range<usize>,
    /// Whether everybody sees the fences.
    pub fences: Fences,
}

/// Whether everybody sees the fences of a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fences {
    /// The first line and a later one are a fence and nothing else.
    Exact,
    /// There are blank lines before, or blanks beside a fence. Some readers take that for a file without a header.
    Loose,
}

/// Why a file has no header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unfenced {
    /// It does not start with a fence.
    #[error("the file does not start with a `---` line")]
    NotOpened,
    /// The first fence has no second one.
    #[error("the header that starts with `{fence}` does not end with another `{fence}` line")]
    NotClosed {
        /// The fence.
        fence: &'static str,
    },
}

/// Finds the header. A byte order mark before it does not count; a line that only begins with a fence is none.
pub fn split(text: &str) -> Result<Parts, Unfenced> {
    let rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    let trimmed = rest.trim_start();
    let first = trimmed.split('\n').next().unwrap_or_default();
    let (fence, format) = match first.trim_end() {
        "---" => ("---", Format::Yaml),
        "+++" => ("+++", Format::Toml),
        _ => return Err(Unfenced::NotOpened),
    };
    let exact = |line: &str| line.strip_suffix('\r').unwrap_or(line) == fence;
    let mut fences =
        if exact(first) && trimmed.len() == rest.len() { Fences::Exact } else { Fences::Loose };
    let start = text.len() - trimmed.len() + first.len() + 1;
    let mut end = start;
    for line in text.get(start..).unwrap_or_default().split_inclusive('\n') {
        if line.trim_end() == fence {
            if !exact(line.strip_suffix('\n').unwrap_or(line)) {
                fences = Fences::Loose;
            }
            let body = end + line.len()..text.len();
            return Ok(Parts { format, header: start..end, body, fences });
        }
        end += line.len();
    }
    Err(Unfenced::NotClosed { fence })
}

/// A header of YAML.
#[derive(Debug, Clone, PartialEq)]
pub struct Header {
    /// What it says.
    pub entries: Map<String, Value>,
    /// The line, counted from 1, at which it is not YAML but could be read all the same.
    pub mended: Option<usize>,
}

/// Why a header cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// It does not parse.
    #[error("the header is not valid YAML: {message}")]
    Invalid {
        /// What the parser says.
        message: String,
        /// Where, counted from 1.
        line: Option<usize>,
    },
    /// The same key twice: readers disagree about which one counts.
    #[error("the key `{key}` appears twice")]
    Duplicate {
        /// The key.
        key: String,
        /// Where the second one is, counted from 1.
        line: Option<usize>,
    },
    /// It is a list or just words.
    #[error("the header must be `key: value` lines")]
    NoTable,
}

impl HeaderError {
    /// The line of the header, counted from 1.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        match self {
            Self::Invalid { line, .. } | Self::Duplicate { line, .. } => *line,
            Self::NoTable => None,
        }
    }
}

/// Real YAML first; many headers in the wild are not, mostly for a colon in an unquoted description, and
/// their authors never noticed. Those are read as if the value were quoted.
pub fn parse_yaml(header: &str) -> Result<Header, HeaderError> {
    let error = match parse_value(header) {
        Ok(Value::Object(entries)) => return Ok(Header { entries, mended: None }),
        Ok(Value::Null) => return Ok(Header { entries: Map::new(), mended: None }),
        Ok(_) => return Err(HeaderError::NoTable),
        Err(error) => error,
    };
    let line = error.location().and_then(|location| usize::try_from(location.line()).ok());
    let error = error.without_snippet();
    if let serde_saphyr::Error::DuplicateMappingKey { key, .. } = error {
        return Err(HeaderError::Duplicate { key: key.clone().unwrap_or_default(), line });
    }
    if let Ok(Value::Object(entries)) = parse_value(&requoted(header)) {
        return Ok(Header { entries, mended: Some(line.unwrap_or(1)) });
    }
    Err(HeaderError::Invalid { message: error.to_string().replace('\n', ", "), line })
}

fn parse_value(yaml: &str) -> Result<Value, serde_saphyr::Error> {
    // A header is small; what grows when it is read is not one.
    let budget = serde_saphyr::budget! {
        max_events: 50_000, max_nodes: 20_000, max_depth: 32, max_documents: 1,
        max_aliases: 64, max_anchors: 64, max_merge_keys: 64,
    };
    // `no`, `on` and `y` are words.
    let options = serde_saphyr::options! { strict_booleans: true, budget: budget };
    serde_saphyr::from_str_with_options(yaml, options)
}

/// The same header with quotes around the values that only a person can read.
fn requoted(header: &str) -> String {
    let mut lines = header.lines().peekable();
    let mut whole_header = String::new();
    while let Some(line) = lines.next() {
        let mut whole = line.to_owned();
        let entry = line.split_once(':').filter(|_| !line.starts_with([' ', '\t', '#', '-']));
        let plain = |value: &str| !value.is_empty() && !value.starts_with(['|', '>']);
        if let Some((key, first)) = entry.filter(|(_, first)| plain(first.trim())) {
            let mut value = first.trim().to_owned();
            while let Some(more) = lines.next_if(|line| line.starts_with([' ', '\t'])) {
                whole.extend(["\n", more]);
                value.extend([" ", more.trim()]);
            }
            if !is_readable(&value) {
                whole = format!("{key}: {}", Value::String(value));
            }
        }
        whole_header.push_str(&whole);
        whole_header.push('\n');
    }
    whole_header
}

/// Whether YAML takes a value for what it looks like.
fn is_readable(value: &str) -> bool {
    match parse_value(value) {
        Ok(Value::Object(_)) => value.starts_with('{'),
        Ok(_) => true,
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests;

//! A managed block in a Markdown file such as `AGENTS.md`, between two marker lines.
//!
//! ```
//! use agents_system::edit::markdown::{block, remove_block, set_block};
//! let text = "# Mine\n";
//! let edited = set_block(text, "rust", "Use `cargo agents`.")?;
//! assert_eq!(
//!     edited,
//!     "# Mine\n\n<!-- cargo-agents:rust:start -->\nUse `cargo agents`.\n<!-- cargo-agents:rust:end -->\n"
//! );
//! assert_eq!(block(&edited, "rust")?.as_deref(), Some("Use `cargo agents`."));
//! assert_eq!(remove_block(&edited, "rust")?, text);
//! # Ok::<(), agents_system::edit::EditError>(())
//! ```

use std::ops::Range;

use super::{
    EditError,
    error::spot,
    lines::{Splices, before_newline, letter, line_start, newline, newline_at, past_newline},
    split_bom,
};

/// The text of the block, without its marker lines and with `\n` as line ending; `None` if there is none.
pub fn block(text: &str, name: &str) -> Result<Option<String>, EditError> {
    let found = find(text, name)?;
    Ok(found.map(|found| text[found.inner].replace("\r\n", "\n")))
}

/// The text with the block set to `body`, whose lines may end in any way: replaced in place, or added at the end after a
/// blank line.
pub fn set_block(text: &str, name: &str, body: &str) -> Result<String, EditError> {
    let nl = newline(text);
    let body = body.replace("\r\n", "\n").replace('\r', "\n");
    let lines = body.trim_end_matches('\n').replace('\n', nl);
    let (start, end) = markers(name);
    if [&start, &end].iter().any(|marker| body.lines().any(|line| line.trim() == **marker)) {
        let at =
            spot(&body, body.find(&start).or(body.find(&end)).map_or(0..0, |at| letter(&body, at)));
        return Err(EditError::Markers { name: name.to_owned(), spot: at });
    }
    let mut splices = Splices::default();
    if let Some(found) = find(text, name)? {
        if text[found.inner.clone()].replace("\r\n", "\n") == body.trim_end_matches('\n') {
            return Ok(text.to_owned());
        }
        splices.replace(found.between, format!("{nl}{lines}{nl}"));
        return Ok(splices.apply(text));
    }
    let block = format!("{start}{nl}{lines}{nl}{end}");
    if split_bom(text).1.is_empty() {
        splices.insert(text.len(), format!("{block}{nl}"));
    } else {
        // Before the last line ending, if there is one.
        let at = before_newline(text, text.len());
        splices.insert(at, format!("{}{nl}{block}", newline_at(text, at)));
    }
    Ok(splices.apply(text))
}

/// The text without the block, its marker lines and the blank line before it.
pub fn remove_block(text: &str, name: &str) -> Result<String, EditError> {
    let Some(found) = find(text, name)? else { return Ok(text.to_owned()) };
    let first = text.len() - split_bom(text).1.len();
    let mut splices = Splices::default();
    if found.whole.start == first {
        splices.delete(first..past_newline(text, found.whole.end));
    } else {
        let line = before_newline(text, found.whole.start);
        splices.delete(before_newline(text, line).max(first)..found.whole.end);
    }
    Ok(splices.apply(text))
}

/// A block in a text.
struct Found {
    /// With the marker lines, without the last line ending.
    whole: Range<usize>,
    /// Between the marker lines, with the line endings around it.
    between: Range<usize>,
    /// Between the marker lines.
    inner: Range<usize>,
}

fn markers(name: &str) -> (String, String) {
    (format!("<!-- cargo-agents:{name}:start -->"), format!("<!-- cargo-agents:{name}:end -->"))
}

fn find(text: &str, name: &str) -> Result<Option<Found>, EditError> {
    let (start, end) = markers(name);
    let mut starts = Vec::new();
    let mut ends = Vec::new();
    let mut at = text.len() - split_bom(text).1.len();
    for line in text[at..].split_inclusive('\n') {
        let bare = line.trim();
        let place = at..at + line.trim_end().len();
        if bare == start {
            starts.push(place);
        } else if bare == end {
            ends.push(place);
        }
        at += line.len();
    }
    match (starts.as_slice(), ends.as_slice()) {
        ([], []) => Ok(None),
        ([start], [end]) if start.end < end.start => {
            let inner_start = past_newline(text, start.end);
            let inner_end = before_newline(text, line_start(text, end.start)).max(inner_start);
            Ok(Some(Found {
                whole: start.start..end.end,
                between: start.end..end.start,
                inner: inner_start..inner_end,
            }))
        }
        _ => {
            let odd = starts.get(1).or(ends.get(1)).or(starts.first()).or(ends.first());
            let odd = odd.cloned().unwrap_or(0..0);
            Err(EditError::Markers { name: name.to_owned(), spot: spot(text, odd) })
        }
    }
}

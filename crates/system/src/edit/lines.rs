//! Small helpers over text: line ends, indentation, replacing several parts at once.

use std::ops::Range;

/// The line ending of a text: that of its first line, or `\n`.
pub(super) fn newline(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

/// The line ending to write at `at`: what stands before it must not become a part of it.
pub(super) fn newline_at(text: &str, at: usize) -> &'static str {
    if text[..at].ends_with('\r') { "\r\n" } else { newline(text) }
}

/// The first carriage return that is no part of a line ending.
pub(super) fn lone_return(text: &str) -> Option<Range<usize>> {
    let mut returns = text.match_indices('\r').map(|(at, _)| at);
    returns.find(|at| !text[at + 1..].starts_with('\n')).map(|at| at..at + 1)
}

/// The letter at `at`, all of its bytes; nothing at the end.
pub(super) fn letter(text: &str, at: usize) -> Range<usize> {
    let length = text.get(at..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
    at..at + length
}

/// Where the line of `at` starts.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |at| at + 1)
}

/// Where the line of `at` ends, before its line ending.
pub(super) fn line_end(text: &str, at: usize) -> usize {
    match text[at..].find('\n') {
        Some(length) if text[at..at + length].ends_with('\r') => at + length - 1,
        Some(length) => at + length,
        None => text.len(),
    }
}

/// Past the line ending that stands at `at`, if one does.
pub(super) fn past_newline(text: &str, at: usize) -> usize {
    let rest = &text[at..];
    let length = if rest.starts_with("\r\n") { 2 } else { usize::from(rest.starts_with('\n')) };
    at + length
}

/// Before the line ending that ends at `at`, if one does.
pub(super) fn before_newline(text: &str, at: usize) -> usize {
    let before = &text[..at];
    let before = before.strip_suffix('\n').map_or(before, |b| b.strip_suffix('\r').unwrap_or(b));
    before.len()
}

/// The white space that the line of `at` starts with.
pub(super) fn indent(text: &str, at: usize) -> &str {
    let line = &text[line_start(text, at)..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// Whether nothing but white space stands before `at` on its line.
pub(super) fn starts_line(text: &str, at: usize) -> bool {
    line_start(text, at) + indent(text, at).len() >= at
}

/// Past spaces and tabs.
pub(super) fn past_blanks(text: &str, at: usize) -> usize {
    text.len() - text[at..].trim_start_matches([' ', '\t']).len()
}

/// Whether a line ends at `at`.
pub(super) fn ends_line(text: &str, at: usize) -> bool {
    at == text.len() || past_newline(text, at) > at
}

/// Several replacements in one text.
#[derive(Debug, Default)]
pub(super) struct Splices(Vec<(Range<usize>, String)>);

impl Splices {
    pub(super) fn insert(&mut self, at: usize, new: impl Into<String>) {
        self.0.push((at..at, new.into()));
    }

    pub(super) fn delete(&mut self, part: Range<usize>) {
        self.0.push((part, String::new()));
    }

    pub(super) fn replace(&mut self, part: Range<usize>, new: impl Into<String>) {
        self.0.push((part, new.into()));
    }

    /// The text with all of it done; parts that overlap are deleted once.
    pub(super) fn apply(mut self, text: &str) -> String {
        self.0.sort_by_key(|(part, _)| (part.start, part.end));
        let mut out = String::with_capacity(text.len() + 64);
        let mut done = 0;
        for (part, new) in self.0 {
            out.push_str(text.get(done..part.start).unwrap_or_default());
            out.push_str(&new);
            done = done.max(part.end);
        }
        out.push_str(&text[done..]);
        out
    }
}

/// Removes whole lines: the line ending before them goes too, or after them at the start of the text.
pub(super) fn remove_lines(text: &str, part: Range<usize>) -> Range<usize> {
    let (start, end) = (line_start(text, part.start), line_end(text, part.end));
    match before_newline(text, start) {
        before if before < start => before..end,
        _ => start..past_newline(text, end),
    }
}

/// Where a new last line goes, and what must stand before it and after it.
pub(super) fn new_last_line(text: &str) -> (usize, &'static str, &'static str) {
    if text.is_empty() {
        (0, "", "\n")
    } else if text.ends_with('\n') {
        (before_newline(text, text.len()), newline(text), "")
    } else {
        (text.len(), newline(text), "")
    }
}

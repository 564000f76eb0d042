//! Where sections and lines of a TOML text go. Each removal takes back exactly what an addition wrote.

use std::ops::Range;

use super::syntax::{Entry, Kind, Section};
use crate::edit::lines::{
    Splices, before_newline, indent, line_end, line_start, new_last_line, newline, past_blanks,
    past_newline, remove_lines,
};

/// The last entry of the table `keys`, which is no value, that is written with dots.
pub(super) fn last_dotted<'s>(
    sections: &'s [Section],
    keys: &[String],
) -> Option<(&'s Section, &'s Entry)> {
    let outside = sections.iter().filter(|section| section.kind != Kind::Item);
    outside.filter(|section| section.path.len() < keys.len()).find_map(|section| {
        let rest = keys.strip_prefix(section.path.as_slice())?;
        Some((section, section.entries.iter().rfind(|entry| entry.path.starts_with(rest))?))
    })
}

/// Adds a line after the one that `part` ends on.
pub(super) fn add_line_after(text: &str, part: Range<usize>, line: &str) -> String {
    let mut splices = Splices::default();
    let indent = indent(text, part.start);
    splices.insert(line_end(text, part.end), format!("{}{indent}{line}", newline(text)));
    splices.apply(text)
}

/// Adds a line to the entries above the first header.
pub(super) fn add_top_line(text: &str, sections: &[Section], line: &str) -> String {
    let nl = newline(text);
    let mut splices = Splices::default();
    if let Some(last) = sections.first().and_then(|top| top.entries.last()) {
        return add_line_after(text, last.span.clone(), line);
    }
    if let Some(first) = sections.get(1) {
        // Above the comments that belong to the first header.
        let mut at = line_start(text, first.header.start);
        loop {
            let above = line_start(text, before_newline(text, at));
            if !text[above..at].trim_start().starts_with('#') {
                break;
            }
            at = above;
        }
        splices.insert(at, format!("{line}{nl}{nl}"));
    } else {
        let (at, before, after) = new_last_line(text);
        splices.insert(at, format!("{before}{line}{after}"));
    }
    splices.apply(text)
}

/// Removes an entry with its line. `alone`: it is the only one above the first header.
pub(super) fn remove_entry(text: &str, entry: Range<usize>, alone: bool) -> String {
    let mut splices = Splices::default();
    let start = line_start(text, entry.start);
    let beside = past_blanks(text, entry.end);
    let end = line_end(text, entry.end);
    if text[beside..].starts_with('#') {
        splices.delete(entry.start..beside);
        return splices.apply(text);
    }
    let above = line_start(text, before_newline(text, start));
    if alone && text[above..start].trim().is_empty() {
        splices.delete(start..past_newline(text, past_newline(text, end)));
    } else {
        splices.delete(remove_lines(text, entry));
    }
    splices.apply(text)
}

/// Adds a section after its relatives, or at the end, with a blank line before it.
pub(super) fn add_section(
    text: &str,
    sections: &[Section],
    keys: &[String],
    block: &str,
) -> String {
    let nl = newline(text);
    let mut splices = Splices::default();
    let relative = (1..=keys.len()).rev().find_map(|depth| {
        let is_relative = |section: &Section| {
            section.kind != Kind::Top && section.path.starts_with(&keys[..depth])
        };
        sections.iter().rposition(is_relative)
    });
    match relative.and_then(|index| sections.get(index)) {
        Some(section) if relative != sections.len().checked_sub(1) => {
            splices.insert(end_of(text, section), format!("{nl}{nl}{block}"));
        }
        _ if text.is_empty() => splices.insert(0, format!("{block}{nl}")),
        _ => splices.insert(before_newline(text, text.len()), format!("{nl}{nl}{block}")),
    }
    splices.apply(text)
}

/// Removes a section and the blank line before it; comments below its last entry stay.
pub(super) fn remove_section(text: &str, section: &Section) -> String {
    let mut splices = Splices::default();
    let start = line_start(text, section.header.start);
    let end = last_line_end(text, section);
    let line = before_newline(text, start);
    if line == start {
        let next = past_newline(text, end);
        splices.delete(start..past_newline(text, next));
    } else {
        splices.delete(before_newline(text, line)..end);
    }
    splices.apply(text)
}

fn last_line_end(text: &str, section: &Section) -> usize {
    line_end(text, section.entries.last().map_or(section.header.end, |entry| entry.span.end))
}

/// After the last entry, and after comment lines right below it that do not belong to the next header.
fn end_of(text: &str, section: &Section) -> usize {
    let end = last_line_end(text, section);
    let mut after = end;
    loop {
        let next = past_newline(text, after);
        let line = &text[next..line_end(text, next)];
        if next == after || line.trim().is_empty() {
            return after;
        }
        if !line.trim_start().starts_with('#') {
            return end;
        }
        after = line_end(text, next);
    }
}

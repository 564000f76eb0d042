//! Items between brackets with commas: objects and lists of JSON, inline tables and arrays of TOML, flow
//! collections of YAML.
//!
//! Adding writes after the last item; removing takes back exactly that. So what decides between the two
//! possible readings of a text (was the comma there before?) is always the same rule.

use std::ops::Range;

use super::lines::{
    Splices, before_newline, ends_line, indent, line_start, newline, past_blanks, starts_line,
};

/// Which comments there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comments {
    /// `//` and `/* */`.
    Slashes,
    /// `#`.
    Hash,
}

/// The items between two brackets.
#[derive(Debug)]
pub(super) struct Delimited<'t> {
    pub(super) text: &'t str,
    /// With its brackets.
    pub(super) span: Range<usize>,
    /// What stands between the commas.
    pub(super) items: Vec<Range<usize>>,
    pub(super) comments: Comments,
}

/// Where a new item will stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Layout {
    /// On its own line, indented by this.
    Line(String),
    /// Beside the others.
    Inline,
}

/// How an empty pair of brackets is filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WhenEmpty<'t> {
    /// With a line of its own, indented by one more unit than the line of the opening bracket.
    Break(&'t str),
    /// Between the brackets.
    Inline,
}

/// What stands between two commas.
enum Next {
    Comma(usize),
    End,
}

impl Delimited<'_> {
    /// How a new item will stand.
    pub(super) fn layout(&self, empty: WhenEmpty<'_>) -> Layout {
        match self.items.last() {
            Some(last) if starts_line(self.text, last.start) => {
                Layout::Line(indent(self.text, last.start).to_owned())
            }
            Some(_) => Layout::Inline,
            None => match (empty, self.last_comment()) {
                (WhenEmpty::Inline, None) if self.text[self.span.clone()].contains('\n') => {
                    Layout::Line(indent(self.text, self.close()).to_owned())
                }
                (WhenEmpty::Inline, None) => Layout::Inline,
                (_, Some(comment)) if !self.line_ends_after(comment.end) => Layout::Inline,
                (WhenEmpty::Break(unit), _) => {
                    Layout::Line(format!("{}{unit}", indent(self.text, self.span.start)))
                }
                (WhenEmpty::Inline, Some(comment)) => {
                    Layout::Line(indent(self.text, comment.start).to_owned())
                }
            },
        }
    }

    /// The text with a new last item; `gap` stands between a comma and an item on the same line.
    pub(super) fn push(&self, layout: &Layout, gap: &str, item: &str) -> String {
        let nl = newline(self.text);
        let mut splices = Splices::default();
        let Some(last) = self.items.last() else {
            let close = self.close();
            match (layout, self.last_comment()) {
                (Layout::Line(inner), None) => {
                    let outer = indent(self.text, self.span.start);
                    splices.insert(close, format!("{nl}{inner}{item}{nl}{outer}"));
                }
                (Layout::Inline, None) => {
                    let white = &self.text[self.span.start + 1..close];
                    splices.insert(close, format!("{item}{white}"));
                }
                (Layout::Line(inner), Some(comment)) => {
                    let at = past_blanks(self.text, comment.end);
                    splices.insert(at, format!("{nl}{inner}{item}"));
                }
                (Layout::Inline, Some(comment)) => {
                    splices.insert(comment.end, format!(" {item}"));
                }
            }
            return splices.apply(self.text);
        };
        let (tail, trailing) = match self.next(last.end) {
            Next::Comma(at) => (at + 1, ","),
            Next::End => (last.end, ""),
        };
        match layout {
            Layout::Line(inner) => {
                if trailing.is_empty() {
                    splices.insert(last.end, ",");
                }
                let at = self.past_comments_of_line(tail);
                splices.insert(at, format!("{nl}{inner}{item}{trailing}"));
            }
            Layout::Inline if trailing.is_empty() => {
                splices.insert(tail, format!(",{gap}{item}"));
            }
            Layout::Inline => splices.insert(tail, format!("{gap}{item},")),
        }
        splices.apply(self.text)
    }

    /// The text without the item.
    pub(super) fn remove(&self, index: usize) -> String {
        let mut splices = Splices::default();
        let Some(item) = self.items.get(index).cloned() else { return self.text.to_owned() };
        let is_last = index + 1 == self.items.len();
        let mut end = item.end;
        splices.delete(item.clone());
        match self.next(item.end) {
            Next::Comma(at) if self.text[item.end..at].trim().is_empty() => {
                splices.delete(item.end..at + 1);
                end = at + 1;
            }
            Next::Comma(at) => splices.delete(at..at + 1),
            Next::End => {
                let before = index.checked_sub(1).and_then(|before| self.items.get(before));
                if let Some(Next::Comma(at)) = before.map(|before| self.next(before.end)) {
                    splices.delete(at..at + 1);
                }
            }
        }
        let blanks = past_blanks(self.text, end);
        let comment = self.last_comment_before(item.start);
        // White space at the end of a comment's line belongs to the comment.
        let before = self.white_before(item.start).max(comment.as_ref().map_or(0, |it| it.end));
        let after_comment = comment.is_some();
        let after_line_comment = comment.is_some_and(|it| !self.text[it].starts_with("/*"));
        if starts_line(self.text, item.start) {
            let line = before_newline(self.text, line_start(self.text, item.start));
            let bare = self.items.len() == 1 && self.text[end..self.close()].trim().is_empty();
            if bare && self.last_comment_before(item.start).is_none() {
                splices.delete(line..self.close());
            } else if ends_line(self.text, blanks) {
                splices.delete(line..blanks);
            } else if is_last && blanks == self.close() && !after_line_comment {
                splices.delete(line..end);
            } else {
                splices.delete(end..blanks);
            }
        } else if is_last && (index > 0 || after_comment) {
            splices.delete(before..end);
        } else if is_last && self.text[end..self.close()].trim().is_empty() {
            splices.delete(end..self.close());
        } else if ends_line(self.text, blanks) {
            // With nothing after it on its line, what kept it apart from what stands before it goes as well.
            splices.delete(before..blanks);
        } else {
            splices.delete(end..blanks);
        }
        splices.apply(self.text)
    }

    fn close(&self) -> usize {
        self.span.end - 1
    }

    /// What follows an item that ends at `at`.
    fn next(&self, at: usize) -> Next {
        let at = self.past_trivia(at);
        if self.text[at..].starts_with(',') { Next::Comma(at) } else { Next::End }
    }

    /// Past white space and comments.
    fn past_trivia(&self, mut at: usize) -> usize {
        loop {
            at = self.text.len() - self.text[at..].trim_start().len();
            match self.comment_at(at) {
                Some(comment) => at = comment.end,
                None => return at,
            }
        }
    }

    /// Past the comments that start on the line of `at`, and to the end of the line if nothing else follows.
    fn past_comments_of_line(&self, mut past: usize) -> usize {
        loop {
            let at = past_blanks(self.text, past);
            if ends_line(self.text, at) {
                return at;
            }
            match self.comment_at(at) {
                Some(comment) => past = comment.end,
                None => return past,
            }
        }
    }

    fn line_ends_after(&self, at: usize) -> bool {
        ends_line(self.text, past_blanks(self.text, at))
    }

    fn comment_at(&self, at: usize) -> Option<Range<usize>> {
        let rest = &self.text[at..];
        let to_line_end = || at..super::lines::line_end(self.text, at);
        match self.comments {
            Comments::Hash => rest.starts_with('#').then(to_line_end),
            Comments::Slashes if rest.starts_with("//") => Some(to_line_end()),
            Comments::Slashes => {
                let length = rest.strip_prefix("/*")?.find("*/")?;
                Some(at..at + length + 4)
            }
        }
    }

    /// The last comment between empty brackets.
    fn last_comment(&self) -> Option<Range<usize>> {
        self.comments_from(self.span.start + 1).last()
    }

    /// The last comment between the item that starts at `at` and what stands before it.
    fn last_comment_before(&self, at: usize) -> Option<Range<usize>> {
        let before = self.items.iter().rfind(|item| item.end <= at);
        let start = before.map_or(self.span.start + 1, |item| match self.next(item.end) {
            Next::Comma(comma) => comma + 1,
            Next::End => item.end,
        });
        self.comments_from(start).take_while(|comment| comment.end <= at).last()
    }

    fn comments_from(&self, mut at: usize) -> impl Iterator<Item = Range<usize>> + '_ {
        std::iter::from_fn(move || {
            at = self.text.len() - self.text[at..].trim_start().len();
            let comment = self.comment_at(at)?;
            at = comment.end;
            Some(comment)
        })
    }

    /// Where the white space before `at` starts.
    fn white_before(&self, at: usize) -> usize {
        self.text[..at].trim_end().len()
    }
}

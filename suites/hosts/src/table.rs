//! What a suite saw, as a table: a row for each subject, a column for each thing that is looked at.

use std::{fmt, io::Write as _, process::ExitCode};

use agents_probe::seen::Seen;
use camino::Utf8Path;

use crate::say;

/// What is looked at.
pub trait Column: Copy + Eq + fmt::Debug + 'static {
    /// What the columns before these say about the subject, e.g. its name and version.
    const SUBJECT: &'static [&'static str];
    /// All of them in order, with what stands at the head of the table.
    const ALL: &'static [(Self, &'static str)];
}

/// What was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// As it should be.
    Yes,
    /// Nothing is said about it, which is allowed.
    NotTold,
    /// Something else.
    No(String),
}

impl Verdict {
    /// As it should be, if this is so.
    pub fn from(good: bool, otherwise: impl FnOnce() -> String) -> Self {
        if good { Self::Yes } else { Self::No(otherwise()) }
    }

    fn word(&self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::NotTold => "no",
            Self::No(_) => "NO",
        }
    }
}

impl From<Seen> for Verdict {
    fn from(seen: Seen) -> Self {
        match seen {
            Seen::Yes => Self::Yes,
            Seen::No(why) => Self::No(why),
        }
    }
}

/// One subject.
#[derive(Debug)]
pub struct Row<C> {
    subject: Vec<String>,
    seen: Vec<(C, Verdict)>,
    failed: Option<String>,
    notes: Vec<String>,
}

impl<C: Column> Row<C> {
    /// For a subject; one cell for each of [`Column::SUBJECT`].
    #[must_use]
    pub fn new<const N: usize>(subject: [&str; N]) -> Self {
        let subject = subject.map(str::to_owned).to_vec();
        Self { subject, seen: Vec::new(), failed: None, notes: Vec::new() }
    }

    /// Says what was seen.
    pub fn set(&mut self, column: C, verdict: Verdict) {
        self.seen.push((column, verdict));
    }

    /// Says why no more can be seen.
    pub fn fail(&mut self, why: String) {
        self.failed = Some(why);
    }

    /// Says something that is not for the table, but for whoever waits.
    pub fn note(&mut self, line: String) {
        self.notes.push(line);
    }

    /// Whether everything is as it should be.
    #[must_use]
    pub fn is_good(&self) -> bool {
        let is_bad = |(_, verdict): &(C, Verdict)| matches!(verdict, Verdict::No(_));
        self.failed.is_none() && !self.seen.iter().any(is_bad)
    }

    /// Tells what it came to, as soon as that is known.
    pub fn tell(&self) {
        let word = if self.is_good() { "good" } else { "NOT GOOD" };
        say(&format!("{}: {word}", self.subject.join(" ")));
        for (column, verdict) in &self.seen {
            if let Verdict::No(why) = verdict {
                say(&format!("  {column:?}: {why}"));
            }
        }
        self.failed.iter().for_each(|why| say(&format!("  it came to an end: {why}")));
        self.notes.iter().for_each(|line| say(line));
    }

    fn cells(&self) -> Vec<String> {
        // What was not looked at because the row came to an end is no better than what was not good.
        let unseen = if self.failed.is_some() { "NO" } else { "-" };
        let words = C::ALL.iter().map(|(column, _)| {
            let seen = self.seen.iter().find(|(it, _)| it == column);
            seen.map_or(unseen, |(_, verdict)| verdict.word()).to_owned()
        });
        self.subject.iter().cloned().chain(words).collect()
    }
}

/// The rows under the names of their columns, as Markdown.
fn table<C: Column>(rows: &[Row<C>]) -> String {
    let names = C::ALL.iter().map(|(_, name)| name);
    let head: Vec<&str> = C::SUBJECT.iter().chain(names).copied().collect();
    render(&head, rows.iter().map(Row::cells))
}

/// Lines of cells under the names of their columns, as Markdown.
pub fn render(head: &[&str], lines: impl IntoIterator<Item = Vec<String>>) -> String {
    let rule = head.iter().map(|name| "-".repeat(name.len())).collect();
    let head = head.iter().map(|name| (*name).to_owned()).collect();
    let lines = [head, rule].into_iter().chain(lines);
    lines.map(|cells| format!("| {} |\n", cells.join(" | "))).collect()
}

/// A page of the documentation that a suite writes.
#[derive(Debug)]
pub struct Page<'a> {
    /// Its name below `docs`.
    pub name: &'a str,
    /// What stands before the table.
    pub before: &'a str,
    /// What its columns mean.
    pub after: &'a str,
}

impl Page<'_> {
    /// Writes it anew, with what was seen.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, seen: &str) -> std::io::Result<()> {
        let Self { name, before, after } = self;
        fs_err::write(docs().join(name), format!("{before}\n{seen}\n{after}"))
    }
}

/// Where the pages are.
#[must_use]
pub fn docs() -> &'static Utf8Path {
    Utf8Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs"))
}

/// Ends a suite: the table on standard output and, if asked for, on its page; 1 where something is not as it should be.
///
/// # Errors
/// The table or the page cannot be written.
pub fn conclude<C: Column>(rows: &[Row<C>], page: Option<&Page<'_>>) -> anyhow::Result<ExitCode> {
    let table = table(rows);
    write!(std::io::stdout(), "{table}")?;
    if let Some(page) = page {
        page.write(&table)?;
    }
    let all_good = rows.iter().all(Row::is_good);
    Ok(if all_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Look {
        First,
        Second,
    }

    impl Column for Look {
        const SUBJECT: &'static [&'static str] = &["who"];
        const ALL: &'static [(Self, &'static str)] =
            &[(Self::First, "first"), (Self::Second, "second")];
    }

    #[test]
    fn a_row_that_came_to_an_end_is_not_good_and_in_the_table_all_the_same() {
        let mut row = Row::new(["codex"]);
        row.set(Look::First, Verdict::Yes);
        assert!(row.is_good());
        assert_eq!(row.cells(), ["codex", "yes", "-"]);
        row.fail("it cannot be started".to_owned());
        assert!(!row.is_good());
        assert_eq!(row.cells(), ["codex", "yes", "NO"]);
        assert!(table(&[row]).ends_with("| codex | yes | NO |\n"));
    }
}

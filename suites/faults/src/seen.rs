//! What was seen in a round.

use std::{collections::BTreeSet, process::Output};

use camino::Utf8PathBuf;

use crate::{area::Area, fault::Fault};

/// What was seen in a round.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) area: Area,
    pub(crate) fault: Fault,
    /// Whether there was anything to break.
    pub(crate) hit: bool,
    /// How many runs of the program were at stake.
    pub(crate) runs: usize,
    /// How many things were looked at.
    pub(crate) checked: usize,
    /// What is wrong.
    pub(crate) problems: Vec<String>,
    /// What happened, in a few words.
    pub(crate) happened: String,
    /// Where everything lies for whoever wants to know why.
    pub(crate) kept: Option<Utf8PathBuf>,
}

impl Seen {
    pub(crate) fn told(&self, number: usize) -> String {
        let missed = if self.hit { "" } else { " (nothing to break)" };
        let mut told = format!(
            "{number:4} {:7} {:10}{missed} {}; {} looked at",
            self.area.word(),
            self.fault.word(),
            self.happened,
            self.checked
        );
        for problem in &self.problems {
            told.push_str(&format!("\n     WRONG: {problem}"));
        }
        if let Some(kept) = &self.kept {
            told.push_str(&format!("\n     kept in {kept}"));
        }
        told
    }
}

/// What came of breaking something.
#[derive(Debug)]
pub(crate) struct Came {
    /// See [`Seen::runs`].
    pub(crate) runs: usize,
    /// See [`Seen::hit`].
    pub(crate) hit: bool,
    /// See [`Seen::happened`].
    pub(crate) happened: String,
}

impl Came {
    /// Of one command.
    pub(crate) fn of_one(hit: bool, happened: String) -> Self {
        Self { runs: 1, hit, happened }
    }

    /// Of several at once, so many of which were killed.
    pub(crate) fn of_crowd(fault: Fault, runs: usize, killed: usize, what: &str) -> Self {
        let hit = fault == Fault::AtOnce || killed > 0;
        Self { runs, hit, happened: format!("{runs} {what}, {killed} killed") }
    }

    /// The end of a round. If something is wrong, everything is kept.
    pub(crate) fn seen(
        self,
        (area, fault): (Area, Fault),
        checks: Checks,
        keep: impl FnOnce() -> anyhow::Result<Utf8PathBuf>,
    ) -> anyhow::Result<Seen> {
        let Self { runs, hit, happened } = self;
        let Checks { checked, problems } = checks;
        let kept = if problems.is_empty() { None } else { Some(keep()?) };
        let problems = problems.into_iter().collect();
        Ok(Seen { area, fault, hit, runs, checked, problems, happened, kept })
    }
}

/// Counts what is looked at, and remembers what is wrong.
#[derive(Debug, Default)]
pub(crate) struct Checks {
    checked: usize,
    problems: BTreeSet<String>,
}

impl Checks {
    /// One more thing that must be so.
    pub(crate) fn must(&mut self, good: bool, otherwise: impl FnOnce() -> String) {
        self.checked += 1;
        if !good {
            self.problems.insert(otherwise());
        }
    }

    pub(crate) fn wrong(&mut self, what: String) {
        self.must(false, || what);
    }

    /// Things that were looked at without anything being wrong with them.
    pub(crate) fn good(&mut self, count: usize) {
        self.checked += count;
    }

    /// A command that must have worked.
    pub(crate) fn worked(&mut self, what: &str, output: &Output) {
        self.must(output.status.success(), || format!("`{what}` did not work: {}", said(output)));
    }

    /// A command that may have failed, but not in any way: it says why, and it is no bug.
    pub(crate) fn at_worst_failed(&mut self, what: &str, output: &Output) {
        let code = output.status.code();
        self.must(code != Some(101), || format!("`{what}` broke down: {}", said(output)));
        let silent = output.stdout.is_empty() && output.stderr.is_empty();
        let failed = code.is_some_and(|it| it != 0);
        self.must(!(failed && silent), || format!("`{what}` does not say why: {}", said(output)));
    }
}

/// What a command said, in a line.
pub(crate) fn said(output: &Output) -> String {
    let text = format!(
        "{} {}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

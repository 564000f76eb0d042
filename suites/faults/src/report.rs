//! The table: what was tried, and what was lost.

use std::{io::Write as _, time::Duration};

use crate::{fault::Fault, round::Seen};

/// Everything that was seen.
pub(crate) struct Report {
    seed: u64,
    seen: Vec<Seen>,
    not_tried: Vec<(Fault, String)>,
}

impl Report {
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed, seen: Vec::new(), not_tried: Vec::new() }
    }

    pub(crate) fn not_tried(&mut self, fault: Fault, why: &str) {
        self.not_tried.push((fault, why.to_owned()));
    }

    pub(crate) fn add(&mut self, seen: Seen) {
        self.seen.push(seen);
    }

    pub(crate) fn runs(&self) -> usize {
        self.seen.iter().map(|it| it.runs).sum()
    }

    pub(crate) fn is_good(&self) -> bool {
        self.seen.iter().all(|it| it.problems.is_empty())
    }

    pub(crate) fn print(&self, took: Duration) -> anyhow::Result<()> {
        let mut out = std::io::stdout().lock();
        let head = "| fault | rounds | of them hit | runs | completed | interrupted | failed | other | turns seen | resumed | wrong |";
        writeln!(out, "{head}\n|{}", "---|".repeat(11))?;
        for fault in Fault::ALL {
            let seen: Vec<&Seen> = self.seen.iter().filter(|it| it.fault == fault).collect();
            if !seen.is_empty() {
                writeln!(out, "| {} {}", fault.word(), row(&seen))?;
            }
        }
        let all: Vec<&Seen> = self.seen.iter().collect();
        writeln!(out, "| all {}", row(&all))?;
        for (fault, why) in &self.not_tried {
            writeln!(out, "not tried: {}: {why}", fault.word())?;
        }
        writeln!(out, "seed {}, {} s", self.seed, took.as_secs())?;
        Ok(())
    }
}

fn row(seen: &[&Seen]) -> String {
    let sum = |count: &dyn Fn(&Seen) -> usize| seen.iter().map(|it| count(it)).sum::<usize>();
    let state = |name: &str| sum(&|it| it.states.get(name).copied().unwrap_or_default());
    let known = [state("completed"), state("interrupted"), state("failed")];
    let other = sum(&|it| it.states.values().sum()) - known.iter().sum::<usize>();
    let cells = [
        seen.len(),
        sum(&|it| usize::from(it.struck)),
        sum(&|it| it.runs),
        known[0],
        known[1],
        known[2],
        other,
        sum(&|it| it.acknowledged),
        sum(&|it| it.resumed),
        sum(&|it| it.problems.len()),
    ];
    cells.iter().map(|it| format!("| {it} ")).collect::<String>() + "|"
}

//! The table: what was tried, and what was lost.

use std::{io::Write as _, process::ExitCode, time::Duration};

use hosts_suite::table::{self, Page, Verdict};

use crate::{area::Area, fault::Fault, seen::Seen};

/// Everything that was seen.
#[derive(Debug)]
pub(crate) struct Report {
    seed: u64,
    /// What was to be tried.
    kinds: Vec<(Area, Fault)>,
    seen: Vec<Seen>,
    cannot: Vec<(Fault, &'static str)>,
    /// Tests that did not come to their end.
    unfinished: Vec<&'static str>,
}

/// Not everything could be tried.
const OPEN: u8 = 4;

/// Whether the page is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Docs {
    Update,
    Leave,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    NothingLost,
}

impl table::Column for Column {
    const SUBJECT: &'static [&'static str] =
        &["area", "fault", "rounds", "of them hit", "runs", "looked at"];
    const ALL: &'static [(Self, &'static str)] = &[(Self::NothingLost, "nothing lost")];
}

impl Report {
    pub(crate) fn new(seed: u64, kinds: &[(Area, Fault)]) -> Self {
        let (seen, cannot, unfinished) = (Vec::new(), Vec::new(), Vec::new());
        Self { seed, kinds: kinds.to_vec(), seen, cannot, unfinished }
    }

    /// Says that something cannot happen on this machine.
    pub(crate) fn cannot(&mut self, fault: Fault, why: &'static str) {
        self.cannot.push((fault, why));
    }

    /// Says that a test did not come to its end in time.
    pub(crate) fn unfinished(&mut self, name: &'static str) {
        self.unfinished.push(name);
    }

    pub(crate) fn add(&mut self, seen: Seen) {
        self.seen.push(seen);
    }

    pub(crate) fn runs(&self) -> usize {
        self.seen.iter().map(|it| it.runs).sum()
    }

    /// Ends the suite: the table, the page if it is wanted, and 1 if something was lost, or 4 if nothing was and not everything was tried.
    pub(crate) fn conclude(&self, took: Duration, docs: Docs) -> anyhow::Result<ExitCode> {
        let mut rows = Vec::new();
        for area in Area::ALL {
            for fault in Fault::ALL {
                let of = |it: &&Seen| it.area == area && it.fault == fault;
                let seen: Vec<&Seen> = self.seen.iter().filter(of).collect();
                if !seen.is_empty() {
                    rows.push(row([area.word(), fault.word()], &seen));
                }
            }
        }
        rows.push(row(["all", ""], &self.seen.iter().collect::<Vec<_>>()));
        let not_tried = self.not_tried();
        not_tried.iter().for_each(|line| hosts_suite::say(&format!("not tried: {line}")));
        let before = self.before(took);
        let page = Page { name: "real-faults.md", before: &before, after: &after(&not_tried) };
        let code = table::conclude(&rows, (docs == Docs::Update).then_some(&page))?;
        writeln!(std::io::stdout(), "seed {}, {} s", self.seed, took.as_secs())?;
        let open = code == ExitCode::SUCCESS && !not_tried.is_empty();
        Ok(if open { ExitCode::from(OPEN) } else { code })
    }

    /// What was to be tried and was not, and why. A table that leaves it out would look as if there were nothing else.
    fn not_tried(&self) -> Vec<String> {
        let line = |(area, fault): &(Area, Fault)| {
            let of = |it: &&Seen| it.area == *area && it.fault == *fault;
            let rounds = self.seen.iter().filter(of).count();
            let known = self.cannot.iter().find(|it| it.0 == *fault);
            let why = match (rounds, known) {
                (0, Some((_, why))) => (*why).to_owned(),
                // Each test for itself, below.
                (0, None) if *area == Area::Exhaustive => return None,
                (0, None) => "the time or the runs were over before".to_owned(),
                _ if self.seen.iter().filter(of).any(|it| it.hit) => return None,
                (1, _) => "the one round never came to it".to_owned(),
                (rounds, _) => format!("in {rounds} rounds it never came to it"),
            };
            Some(format!("{} {fault}: {why}", area.word()))
        };
        let name = |it: &&str| {
            format!("{} {it}: the time was over before its end", Area::Exhaustive.word())
        };
        self.kinds.iter().filter_map(line).chain(self.unfinished.iter().map(name)).collect()
    }

    fn before(&self, took: Duration) -> String {
        format!(
            "# Under faults\n\n\
             Written by `cargo run -p faults-suite -- --minutes {} --update-docs` with the seed {}. Each round makes a home and workspaces, breaks something at a random\n\
             point, and looks at what is left; then the same commands must work as if nothing had happened.\n",
            took.as_secs().div_ceil(60),
            self.seed
        )
    }
}

fn row(name: [&str; 2], seen: &[&Seen]) -> table::Row<Column> {
    let sum =
        |count: fn(&Seen) -> usize| seen.iter().map(|it| count(it)).sum::<usize>().to_string();
    let (rounds, hit) = (seen.len().to_string(), sum(|it| usize::from(it.hit)));
    let (runs, checked) = (sum(|it| it.runs), sum(|it| it.checked));
    let mut row = table::Row::new([name[0], name[1], &rounds, &hit, &runs, &checked]);
    let problems: usize = seen.iter().map(|it| it.problems.len()).sum();
    let verdict = Verdict::from(problems == 0, || format!("{problems} things are wrong"));
    row.set(Column::NothingLost, verdict);
    row
}

/// What the words of the table mean, and what is not in it.
fn after(not_tried: &[String]) -> String {
    let mut text = "\
        - **of them hit**: the fault really happened: the program was killed before it ended; it read a clock that was wrong; it, or a program that it started, got an error from the C library \
          because there was no space or no permission to write.\n\
        - **runs**: runs of the program that it happened to, or that were in progress. **looked at**: single facts that had to hold.\n\
        - **nothing lost**: all of them did.\n\n"
        .to_owned();
    if not_tried.is_empty() {
        text.push_str("Everything that can go wrong in an area was tried.\n\n");
    } else {
        text.push_str(&format!("**Not tried:** {}.\n\n", not_tried.join("; ")));
    }
    for area in Area::ALL {
        text.push_str(&format!("**{}**: {}.\n\n", area.word(), area.promise()));
    }
    text.push_str(
        "`kill` ends the program with `SIGKILL` before one of its writes below the home and the workspace, in the middle of one, or at any moment. `full-disk` is a disk of its own\n\
         with nothing or little left or, but for tasks, a program that is told so from one of its writes on; `read-only` a directory in which nothing can be made, `clock` a clock that is wrong by up to\n\
         ten years, from the beginning or from one of the writes on, `at-once` several programs that do the same, `massacre` the same with some of them killed.\n",
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(area: Area, fault: Fault, hit: bool) -> Seen {
        let (problems, happened) = (Vec::new(), String::new());
        Seen { area, fault, hit, runs: 1, checked: 1, problems, happened, kept: None }
    }

    #[test]
    fn what_was_not_tried_is_on_the_page() {
        let kinds = [
            (Area::Sync, Fault::FullDisk),
            (Area::Plan, Fault::Kill),
            (Area::Hooks, Fault::ReadOnly),
            (Area::Agent, Fault::Kill),
            (Area::Exhaustive, Fault::Kill),
        ];
        let mut report = Report::new(1, &kinds);
        report.cannot(Fault::FullDisk, "nothing can be mounted");
        report.add(seen(Area::Hooks, Fault::ReadOnly, false));
        report.add(seen(Area::Hooks, Fault::ReadOnly, false));
        report.add(seen(Area::Agent, Fault::Kill, false));
        report.add(seen(Area::Agent, Fault::Kill, true));
        report.unfinished("killed_at_every_write");
        let not_tried = report.not_tried();
        assert_eq!(
            not_tried,
            [
                "sync full-disk: nothing can be mounted",
                "plan kill: the time or the runs were over before",
                "hooks read-only: in 2 rounds it never came to it",
                "exhaustive killed_at_every_write: the time was over before its end"
            ]
        );
        assert!(after(&not_tried).contains("**Not tried:** sync full-disk"));
        assert!(!after(&[]).contains("**Not tried"));
    }

    #[test]
    fn a_table_that_is_not_of_everything_is_no_success() {
        let code = |tried: bool, wrong: bool| {
            let mut report = Report::new(1, &[(Area::Sync, Fault::Kill)]);
            if tried {
                let problems = wrong.then(|| "LOST".to_owned()).into_iter().collect();
                report.add(Seen { problems, ..seen(Area::Sync, Fault::Kill, true) });
            }
            report.conclude(Duration::ZERO, Docs::Leave).unwrap()
        };
        assert_eq!(code(true, false), ExitCode::SUCCESS);
        assert_eq!(code(true, true), ExitCode::FAILURE);
        assert_eq!(code(false, false), ExitCode::from(OPEN));
    }
}

//! The tables: what both take, and what both do.

use std::{io::Write as _, process::ExitCode};

use hosts_suite::{
    say,
    table::{Page, render},
};

use crate::{
    measure::Measured,
    once::Sample,
    program::Who,
    scenes::{Scene, Seen, Verdict},
    trace::ports,
};

/// Everything that was seen.
#[derive(Default)]
pub(crate) struct Report {
    pub(crate) measured: Vec<Measured>,
    /// In the order of [`Who::BOTH`].
    pub(crate) scenes: Vec<(&'static Scene, [Seen; 2])>,
}

impl Report {
    /// Both tables on standard output and, if asked for, on the page; 1 where we did not do what must be done, or
    /// what we claim of our speed is not so.
    pub(crate) fn conclude(&self, update_docs: bool) -> anyhow::Result<ExitCode> {
        let (costs, behaviour) = (self.costs(), self.behaviour());
        writeln!(std::io::stdout(), "{costs}\n{behaviour}")?;
        if update_docs {
            let rounds = self.measured.first().map_or(0, |it| it.rounds.len());
            let before = format!("{COSTS}{rounds} rounds, in turns.\n");
            let score = self.score();
            PAGE.write(&format!(
                "{before}\n{costs}\n{COSTS_AFTER}\n{BEHAVIOUR}\n{score}\n{behaviour}"
            ))?;
        }
        let bad = |seen: &[Seen; 2]| seen[0].verdict == Verdict::Bad;
        let slower: Vec<String> = self.measured.iter().flat_map(short).collect();
        slower.iter().for_each(|it| say(it));
        let all_good = slower.is_empty() && !self.scenes.iter().any(|(_, seen)| bad(seen));
        Ok(if all_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    fn costs(&self) -> String {
        let head = [
            "",
            "wall time, times ours",
            "ours, ms",
            "Symposium, ms",
            "CPU time, times ours",
            "memory, times ours",
            "ours, MB",
            "Symposium, MB",
            "system calls, times ours",
            "ours",
            "Symposium",
            "network attempts, ours",
            "Symposium",
        ];
        render(&head, self.measured.iter().map(row))
    }

    fn behaviour(&self) -> String {
        let head = ["given", "must come of it", Who::Ours.name(), Who::Peer.name()];
        let cell = |seen: &Seen| match seen.verdict {
            Verdict::Good => format!("yes: {}", seen.told),
            Verdict::Bad => format!("NO: {}", seen.told),
        };
        let lines = self.scenes.iter().map(|(scene, seen)| {
            let [ours, peer] = seen.each_ref().map(cell);
            vec![scene.given.to_owned(), scene.wanted.to_owned(), ours, peer]
        });
        render(&head, lines)
    }

    /// How many of them came out as they must.
    fn score(&self) -> String {
        let [ours, peer] = [0, 1].map(|at| {
            self.scenes.iter().filter(|(_, seen)| seen[at].verdict == Verdict::Good).count()
        });
        let tried = self.scenes.len();
        format!(
            "As it must be: {ours} of {tried} with `cargo agents`, {peer} of {tried} with Symposium.\n"
        )
    }
}

fn wall(sample: &Sample) -> f64 {
    sample.wall.as_secs_f64() * 1000.0
}

fn cpu(sample: &Sample) -> f64 {
    sample.cpu.as_secs_f64() * 1000.0
}

/// Theirs by ours, of every round.
fn ratio(measured: &Measured, of: fn(&Sample) -> f64) -> Spread {
    Spread::of(measured.rounds.iter().map(|[ours, peer]| of(peer) / of(ours)))
}

/// Where we are not better: slower, or asking somebody.
fn short(measured: &Measured) -> Vec<String> {
    let name = measured.case.name;
    let times = [("wall", ratio(measured, wall)), ("CPU", ratio(measured, cpu))];
    // What was not measured is no better than what is slow.
    let slow = times.into_iter().filter(|(_, it)| it.median.is_nan() || it.median < 1.0);
    let mut all: Vec<String> =
        slow.map(|(what, it)| format!("{name}: NOT GOOD: {what} time, {}", it.told())).collect();
    let asked = &measured.traced[0].asked;
    if !asked.is_empty() {
        all.push(format!("{name}: NOT GOOD: ours asks ports {}", ports(asked)));
    }
    all
}

fn row(measured: &Measured) -> Vec<String> {
    let ratio = |of| ratio(measured, of).told();
    let median = |at: usize, of: fn(&Sample) -> f64| {
        Spread::of(measured.rounds.iter().map(|pair| of(&pair[at]))).median
    };
    // Below 2^53 there is nothing to lose, and no program is that large.
    let memory = |sample: &Sample| sample.memory as f64 / 1024.0;
    let [ours, peer] = &measured.traced;
    // No program makes so many calls that this would lose one.
    let calls = peer.calls as f64 / ours.calls as f64;
    vec![
        measured.case.told.to_owned(),
        ratio(wall),
        format!("{:.1}", median(0, wall)),
        format!("{:.1}", median(1, wall)),
        ratio(cpu),
        ratio(memory),
        format!("{:.1}", median(0, memory)),
        format!("{:.1}", median(1, memory)),
        format!("**{calls:.1}**"),
        ours.calls.to_string(),
        peer.calls.to_string(),
        ours.asked.len().to_string(),
        peer.asked.len().to_string(),
    ]
}

/// What many numbers come to.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Spread {
    least: f64,
    lower: f64,
    median: f64,
    upper: f64,
    most: f64,
}

impl Spread {
    fn of(numbers: impl Iterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = numbers.collect();
        sorted.sort_by(f64::total_cmp);
        let at = |part: usize| {
            let last = sorted.len().saturating_sub(1);
            sorted.get(last * part / 4).copied().unwrap_or(f64::NAN)
        };
        Self { least: at(0), lower: at(1), median: at(2), upper: at(3), most: at(4) }
    }

    fn told(self) -> String {
        let Self { least, lower, median, upper, most } = self;
        format!("**{median:.1}** ({lower:.1}-{upper:.1}; {least:.1}-{most:.1})")
    }
}

const PAGE: Page<'static> = Page {
    name: "real-peers.md",
    before: "# Compared with Symposium\n\n\
    Written by `cargo run -p peers-suite -- --update-docs`. Both programs in the `release` profile: Symposium 0.5.1 as `cargo install --locked symposium` builds it, ours as\n\
    `cargo build --release` does. Both are given the same files: workspace, registry of plugins, configuration (`SYMPOSIUM_HOME`, which we read too) and hosts' files. Nothing can be\n\
    reached over the network, and cargo is called without rustup's proxy in between, which favours whoever calls cargo.\n",
    after: "",
};

const COSTS: &str = "## What it costs\n\n\
    A workspace of 20 members with 40 direct and 90 indirect dependencies, 101 plugins in a directory of which 6 apply, three hosts (Claude Code, Codex, Kiro). All caches are warm, but for\n\
    the first `sync`, before which everything that was written is removed. No registry of git, no updates.\n";

const COSTS_AFTER: &str = "\
    - **times ours**: Symposium's figure divided by ours, for the two runs of one round: the median, then the quartiles and the extremes. Which of the two runs first alternates from round to round.\n\
    - **CPU time** is that of all processes of a run; **MB** is the peak resident memory of the largest of them (medians), cargo included where it is called.\n\
    - **System calls** of the whole process tree in one more run, and **network attempts** among them: `connect` or `sendto` with an internet address, counted by strace.\n\
    - Less than 4 MB cannot be measured: that is what the measuring process itself uses before it becomes the other program.\n\
    - Our first `sync` flushes each file of a host to disk before renaming it into place, so that a power cut leaves either the old file or the new one. Symposium does not.\n";

const BEHAVIOUR: &str = "## How they behave\n\n\
    Each line is one check that both programs go through; it looks at the disk, the output and the processes. What follows `yes` or `NO` is what it saw.\n";

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::measure::CASES;

    #[test]
    fn whoever_is_slower_or_asks_somebody_is_not_good() {
        let sample = |wall, cpu| {
            let [wall, cpu] = [wall, cpu].map(Duration::from_millis);
            Sample { wall, cpu, memory: 1 }
        };
        let told = |[wall, cpu]: [u64; 2], asked: &[u16]| {
            let pair = [sample(10, 10), sample(wall, cpu)];
            let mut it =
                Measured { case: &CASES[0], rounds: vec![pair; 3], traced: Default::default() };
            it.traced[0].asked = asked.to_vec();
            short(&it)
        };
        assert!(told([10, 10], &[]).is_empty());
        assert!(told([9, 20], &[])[0].contains("wall time, **0.9**"));
        assert!(told([20, 9], &[])[0].contains("CPU time"));
        assert_eq!(told([20, 20], &[443]), ["help: NOT GOOD: ours asks ports 443"]);
        let none = Measured { case: &CASES[0], rounds: Vec::new(), traced: Default::default() };
        assert_eq!(short(&none).len(), 2);
    }

    #[test]
    fn a_spread_is_told_by_its_quartiles() {
        let spread = Spread::of([5.0, 1.0, 3.0, 2.0, 4.0].into_iter());
        assert_eq!(spread.told(), "**3.0** (2.0-4.0; 1.0-5.0)");
        assert_eq!(Spread::of([7.0].into_iter()).told(), "**7.0** (7.0-7.0; 7.0-7.0)");
    }
}

//! The table.

use std::time::Duration;

use crate::measure::{Case, Sample};

/// How many times its base a case may take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Goal {
    /// Nobody has said.
    None,
    /// So many times, by the median.
    AtMost(f64),
}

/// How a case is judged.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    /// The case that it is compared with, by its number.
    pub(crate) base: usize,
    pub(crate) goal: Goal,
}

/// What many samples come to, in milliseconds.
pub(crate) struct Summary {
    pub(crate) median: f64,
    least: f64,
    tenth: f64,
    pub(crate) ninetieth: f64,
    cpu: f64,
    faults: i64,
}

impl Summary {
    pub(crate) fn of(samples: &[Sample]) -> Self {
        let mut wall: Vec<Duration> = samples.iter().map(|sample| sample.wall).collect();
        let mut cpu: Vec<Duration> = samples.iter().map(|sample| sample.cpu).collect();
        let mut faults: Vec<i64> = samples.iter().map(|sample| sample.faults).collect();
        wall.sort_unstable();
        cpu.sort_unstable();
        faults.sort_unstable();
        let last = samples.len() - 1;
        let millis = |duration: Duration| duration.as_secs_f64() * 1000.0;
        Self {
            median: millis(wall[last / 2]),
            least: millis(wall[0]),
            tenth: millis(wall[last / 10]),
            ninetieth: millis(wall[last * 9 / 10]),
            cpu: millis(cpu[last / 2]),
            faults: faults[last / 2],
        }
    }
}

/// Prints the table.
pub(crate) fn print(cases: &[Case], rows: &[Row], samples: &[Vec<Sample>]) {
    let all: Vec<Summary> = samples.iter().map(|samples| Summary::of(samples)).collect();
    let width = cases.iter().map(|case| case.name.len()).max().unwrap_or(0);
    println!(
        "{:width$}  {:>7}  {:>9}  {:>13}  {:>13}  {:>6}  {:>6}  {:>6}  {:>6}  goal",
        "",
        "plugins",
        "median ms",
        "p10-p90 ms",
        "compared with",
        "median",
        "least",
        "CPU",
        "faults"
    );
    for ((case, row), it) in cases.iter().zip(rows).zip(&all) {
        let (word, base) = (&cases[row.base].name, &all[row.base]);
        let ratio = it.median / base.median;
        let goal = match row.goal {
            Goal::None => String::new(),
            Goal::AtMost(times) if ratio <= times => format!("{times}x met"),
            Goal::AtMost(times) => format!("{times}x MISSED"),
        };
        println!(
            "{:width$}  {:>7}  {:>9.2}  {:>13}  {word:>13}  {ratio:>5.2}x  {:>5.2}x  {:>5.2}x  {:>6}  {goal}",
            case.name,
            case.plugins.map_or(String::new(), |plugins| plugins.to_string()),
            it.median,
            format!("{:.2}-{:.2}", it.tenth, it.ninetieth),
            it.least / base.least,
            it.cpu / base.cpu,
            it.faults,
        );
    }
}

//! Everything that writes, killed, starved, locked out and run at once at random points, and what is left of it afterwards.
//!
//! ```console
//! cargo run -p faults-suite                                     # 120 runs, a seed of its own
//! cargo run -p faults-suite -- --minutes 60                     # as many as there is time for
//! cargo run -p faults-suite -- --seed 7 sync kill full-disk     # the same ones again, of one area and some kinds
//! cargo run -p faults-suite -- exhaustive                       # the tests of single rooms that take minutes
//! cargo run -p faults-suite -- --minutes 10 --update-docs       # write docs/real-faults.md anew
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`area`] | what is broken, by what, and what must be true afterwards |
//! | [`fault`] | what goes wrong |
//! | [`ground`] | a user with a home, workspaces and a plugin, and commands to which something happens there |
//! | [`crowd`] | commands at once, some of which are killed |
//! | [`disk`] | a small disk, and what fills it |
//! | [`sync`], [`install`], [`hooks`], [`trust`], [`agent`], [`task`], [`plan`], [`records`], [`upkeep`] | a round of each area |
//! | [`exhaustive`] | the tests of single rooms that break things at every point |
//! | [`seen`], [`report`] | what was seen in a round, and in all of them |
//!
//! The program is used as everybody uses it: by its commands. What it tells nobody is seen from outside: which bytes are where, what the model
//! was asked, what tools left in files, which processes there are.

#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![allow(
    clippy::disallowed_methods,
    reason = "programs are started and killed as a stranger would"
)]

mod agent;
mod area;
mod crowd;
mod disk;
mod exhaustive;
mod fault;
mod ground;
mod hooks;
mod install;
mod plan;
mod records;
mod report;
mod seen;
mod sync;
mod task;
mod trust;
mod upkeep;

use agents_testkit::chance::Chance;
use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

use agents_system::process::{Call, find_program};
use anyhow::{Context as _, bail};
use camino::Utf8PathBuf;
use clap::Parser;
use hosts_suite::{install as programs, say};

use crate::{
    area::Area,
    fault::Fault,
    report::{Docs, Report},
};

/// How many runs are enough where nobody says anything.
const RUNS: usize = 120;

/// How long a test of a single room may take where nobody says anything.
const LONGEST: Duration = Duration::from_secs(3600);

/// Break everything that writes at random points, and look at what is left
#[derive(Debug, Parser)]
struct Args {
    /// Which areas and which faults; all, if none is named
    names: Vec<String>,
    /// How many runs of the program: 120, or with `--minutes` as many as there is time for
    #[arg(long)]
    runs: Option<usize>,
    /// No round begins after so many minutes; half of them are for the tests of `exhaustive`, if they are among what is run
    #[arg(long)]
    minutes: Option<u64>,
    /// The same seed breaks the same runs in the same ways, as far as the system lets it
    #[arg(long)]
    seed: Option<u64>,
    /// Where our program was built; it is built if this is not said
    #[arg(long, value_name = "DIR")]
    built: Option<Utf8PathBuf>,
    /// Write the table to `docs/real-faults.md`
    #[arg(long)]
    update_docs: bool,
    /// Set when the suite has started itself again, where it may mount
    #[arg(long, hide = true)]
    own_mounts: bool,
}

impl Args {
    /// After how many runs it is enough.
    fn runs(&self) -> usize {
        let usual = if self.minutes.is_some() { usize::MAX } else { RUNS };
        self.runs.unwrap_or(usual)
    }
}

fn main() -> anyhow::Result<ExitCode> {
    let args = Args::parse();
    let mut kinds = kinds(&args.names)?;
    let built = match &args.built {
        Some(built) => built.clone(),
        None => programs::build(&[("cargo-agents", "cargo-agents")])?,
    };
    let all_points = kinds.iter().any(|it| it.0 == Area::Exhaustive);
    if all_points && !args.own_mounts {
        say("building the tests of single rooms");
        exhaustive::build()?;
    }
    let seed = args.seed.unwrap_or_else(agents_testkit::chance::any);
    if !args.own_mounts && find_program("unshare").is_some() && may_mount()? {
        return Err(start_again(&built, seed)?);
    }
    let mut report = Report::new(seed, &kinds);
    if !args.own_mounts {
        report.cannot(Fault::FullDisk, "nothing can be mounted here (`unshare --mount`)");
        kinds.retain(|(_, fault)| !fault.needs_mounts());
    }
    kinds.retain(|(area, _)| *area != Area::Exhaustive);
    let (runs, since) = (args.runs(), Instant::now());
    let budget = args.minutes.map(|it| Duration::from_secs(60 * it));
    // Where there are both, each has half of the time.
    let half = budget.map(|it| if all_points { it / 2 } else { it });
    let mut chance = Chance::new(seed);
    let program = built.join("cargo-agents");
    let mut number = 0;
    let over = |time: Option<Duration>| time.is_some_and(|time| since.elapsed() > time);
    while report.runs() < runs && !over(half) && !kinds.is_empty() {
        let (area, fault) = kinds[number % kinds.len()];
        number += 1;
        let seen = area.round(fault, &mut chance.fork(), &program)?;
        say(&seen.told(number));
        report.add(seen);
    }
    for test in exhaustive::TESTS.into_iter().filter(|_| all_points) {
        let left = budget.map_or(LONGEST, |it| it.saturating_sub(since.elapsed()));
        number += 1;
        match test.run(left)? {
            Some(seen) => {
                say(&seen.told(number));
                report.add(seen);
            }
            None => report.unfinished(test.name),
        }
    }
    report.conclude(since.elapsed(), if args.update_docs { Docs::Update } else { Docs::Leave })
}

/// What can happen where, of what was named: areas, faults or both. The areas take turns, so that each comes up early however little time
/// there is.
fn kinds(names: &[String]) -> anyhow::Result<Vec<(Area, Fault)>> {
    let areas = Area::ALL.map(Area::word);
    let faults = Fault::ALL.map(Fault::word);
    let is_known = |name: &str| areas.contains(&name) || faults.contains(&name);
    if let Some(name) = names.iter().find(|name| !is_known(name)) {
        let (areas, faults) = (areas.join(", "), faults.join(", "));
        bail!("there is no `{name}` in this suite; areas are {areas}, faults are {faults}");
    }
    let wanted = |known: &[&str], word: &str| {
        let mut named = names.iter().filter(|name| known.contains(&name.as_str())).peekable();
        named.peek().is_none() || named.any(|name| name == word)
    };
    let mut kinds = Vec::new();
    for area in Area::ALL.into_iter().filter(|it| wanted(&areas, it.word())) {
        let of_area = area.faults().iter().filter(|it| wanted(&faults, it.word()));
        kinds.extend(of_area.enumerate().map(|(turn, fault)| (turn, (area, *fault))));
    }
    // Areas of the same turn stay in their order.
    kinds.sort_by_key(|(turn, _)| *turn);
    Ok(kinds.into_iter().map(|(_, kind)| kind).collect())
}

/// Whoever is root already stays the same user; the others become root in there only.
fn unshare() -> anyhow::Result<Call> {
    let root = Call::new("id").arg("-u").capture()?.stdout_text().trim() == "0";
    let own = if root { &[][..] } else { &["--map-root-user"][..] };
    Ok(Call::new("unshare").arg("--mount").args(own.iter().copied()))
}

fn may_mount() -> anyhow::Result<bool> {
    let tried = unshare()?.args(["--", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]).capture();
    Ok(tried.is_ok_and(|it| it.status.success()))
}

/// Becomes the same command where only it sees what it mounts. Returns only if that is not possible.
fn start_again(built: &Utf8PathBuf, seed: u64) -> anyhow::Result<anyhow::Error> {
    let me = std::env::current_exe().context("cannot tell where this program is")?;
    let (seed, said) = (seed.to_string(), std::env::args_os().skip(1));
    let mut call = unshare()?.arg("--").arg(me).arg("--own-mounts");
    let (has_seed, has_built) = {
        let words: Vec<String> =
            std::env::args_os().map(|it| it.to_string_lossy().into_owned()).collect();
        let has =
            |flag: &str| words.iter().any(|it| it == flag || it.starts_with(&format!("{flag}=")));
        (has("--seed"), has("--built"))
    };
    if !has_seed {
        call = call.args(["--seed", &seed]);
    }
    if !has_built {
        call = call.args(["--built", built.as_str()]);
    }
    Ok(call.args(said).replace().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(names: &[&str]) -> Vec<(Area, Fault)> {
        kinds(&names.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn every_fault_of_every_area_comes_up_once_in_a_pass() {
        let all = named(&[]);
        for area in Area::ALL {
            for fault in area.faults() {
                let often = all.iter().filter(|it| **it == (area, *fault)).count();
                assert_eq!(often, 1, "{} {fault}", area.word());
            }
        }
        for fault in Fault::ALL {
            assert!(all.iter().any(|it| it.1 == fault), "{fault} is nowhere");
        }
        assert_eq!(all.len(), Area::ALL.iter().map(|it| it.faults().len()).sum::<usize>());
    }

    #[test]
    fn areas_take_turns() {
        let first: Vec<Area> =
            named(&[]).into_iter().map(|it| it.0).take(Area::ALL.len()).collect();
        assert_eq!(first, Area::ALL);
    }

    #[test]
    fn names_choose_areas_and_faults() {
        assert_eq!(
            named(&["plan", "sync", "kill", "clock"]),
            [
                (Area::Sync, Fault::Kill),
                (Area::Plan, Fault::Kill),
                (Area::Sync, Fault::Clock),
                (Area::Plan, Fault::Clock)
            ]
        );
        assert!(kinds(&["moon".to_owned()]).is_err());
    }

    #[test]
    fn minutes_alone_set_no_limit_to_runs() {
        let runs =
            |args: &[&str]| Args::parse_from(["faults-suite"].iter().chain(args).copied()).runs();
        assert_eq!(runs(&[]), RUNS);
        assert_eq!(runs(&["--minutes", "3"]), usize::MAX);
        assert_eq!(runs(&["--runs", "7", "--minutes", "3"]), 7);
    }
}

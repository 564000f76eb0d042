//! Tasks that are killed, starved and locked out at random points, and what is left of them afterwards.
//!
//! ```console
//! cargo run -p faults-suite                                     # 60 runs, a seed of its own
//! cargo run -p faults-suite -- --runs 500 --minutes 60          # as many as there is time for
//! cargo run -p faults-suite -- --seed 7 supervisor full-disk    # the same ones again, of some kinds
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`chance`] | what is random, from a seed |
//! | [`fault`] | what goes wrong |
//! | [`world`] | a home, a place to work and a scripted model for a few runs |
//! | [`processes`] | who is there |
//! | [`round`] | a few runs, one fault, and going on afterwards |
//! | [`judge`] | what must be true then |
//! | [`report`] | the table |
//!
//! The program is used as everybody uses it: by its commands. What it tells nobody is seen from outside: what the model was asked, what the
//! tools left in files, which processes there are, what stands in transcripts.

#![cfg(target_os = "linux")]
#![allow(
    clippy::disallowed_methods,
    reason = "programs are started and killed as a stranger would"
)]

mod chance;
mod fault;
mod judge;
mod processes;
mod report;
mod round;
mod world;

use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

use agents_system::process::{Call, find_program};
use anyhow::{Context as _, bail};
use camino::Utf8PathBuf;
use clap::Parser;
use hosts_suite::{install, say};

use crate::{chance::Chance, fault::Fault, report::Report};

/// Break tasks at random points, and look at what is left
#[derive(Debug, Parser)]
struct Args {
    /// Which faults; all, if none is named
    faults: Vec<String>,
    /// How many runs
    #[arg(long, default_value_t = 60)]
    runs: usize,
    /// No round begins after so many minutes
    #[arg(long)]
    minutes: Option<u64>,
    /// The same seed breaks the same runs in the same ways, as far as the system lets it
    #[arg(long)]
    seed: Option<u64>,
    /// Where our program was built; it is built if this is not said
    #[arg(long, value_name = "DIR")]
    built: Option<Utf8PathBuf>,
    /// Set when the suite has started itself again, where it may mount
    #[arg(long, hide = true)]
    own_mounts: bool,
}

fn main() -> anyhow::Result<ExitCode> {
    let args = Args::parse();
    let mut faults = Fault::ALL.to_vec();
    if !args.faults.is_empty() {
        let known: Vec<&str> = faults.iter().map(|it| it.word()).collect();
        if let Some(name) = args.faults.iter().find(|name| !known.contains(&name.as_str())) {
            bail!("there is no fault `{name}` in this suite; there are {}", known.join(", "));
        }
        faults.retain(|it| args.faults.iter().any(|name| name == it.word()));
    }
    let built = match &args.built {
        Some(built) => built.clone(),
        None => install::build(&[("cargo-agents", "cargo-agents")])?,
    };
    let seed = args.seed.unwrap_or_else(chance::any);
    if !args.own_mounts && find_program("unshare").is_some() && may_mount()? {
        return Err(start_again(&built, seed)?);
    }
    let mut report = Report::new(seed);
    if !args.own_mounts {
        faults.retain(|it| {
            let needs = it.needs_mounts();
            if needs {
                report.not_tried(*it, "nothing can be mounted here (`unshare --mount`)");
            }
            !needs
        });
    }
    let since = Instant::now();
    let over = |it: u64| since.elapsed() > Duration::from_secs(60 * it);
    let mut chance = Chance::new(seed);
    let mut number = 0;
    while report.runs() < args.runs && !args.minutes.is_some_and(over) && !faults.is_empty() {
        let fault = faults[number % faults.len()];
        number += 1;
        let seen = round::round(number, fault, &mut chance.fork(), &built)?;
        say(&seen.told());
        report.add(seen);
    }
    report.print(since.elapsed())?;
    Ok(if report.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
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

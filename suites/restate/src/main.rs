//! A real Restate server, real workers, and everything that can happen to them.
//!
//! ```console
//! cargo run -p restate-suite                              # the guide of the book, and every fault, three rounds each
//! cargo run -p restate-suite -- --guide                   # the guide alone: every command of docs/guides/cluster.md
//! cargo run -p restate-suite -- worker-killed cut-off     # some
//! cargo run -p restate-suite -- --rounds 20 --seed 7      # more of the same, with other moments
//! cargo run -p restate-suite -- --update-docs             # write docs/real-engine.md anew
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`guide`] | the guide of the book, typed as it stands there |
//! | [`stage`] | the server, two workers, and a way to one of them that can be cut |
//! | [`round`] | a plan that runs on them while something happens, and what must hold afterwards |
//! | [`report`] | the table |
//!
//! The server comes from npm. The model is scripted; whatever a task is paid for is a request that it has seen, with its time. When
//! Restate has acknowledged a task is in the server's own tables: after that, no request for it may come.

mod guide;
mod report;
mod round;
mod stage;

use agents_testkit::chance::Chance;
use std::process::ExitCode;

use anyhow::Context as _;
use camino::{Utf8Path, Utf8PathBuf};
use clap::Parser;
use hosts_suite::{
    confine,
    install::{self, Package, Prefix},
    say, table,
};

use crate::{report::Row, round::Fault};

/// The server. npm also installs its package for this system, which has the program itself in it.
const SERVER: Package = Package {
    name: "@restatedev/restate-server",
    program: "node_modules/@restatedev/restate-server-linux-x64/bin/restate-server",
};

/// Run plans on a real Restate server while things break
#[derive(Debug, Parser)]
struct Args {
    /// What happens; everything, if nothing is named
    #[arg(value_enum)]
    faults: Vec<Fault>,
    /// Only type what the guide of the book says
    #[arg(long, conflicts_with = "faults")]
    guide: bool,
    /// How often, each time at other moments
    #[arg(long, value_name = "N", default_value_t = 3)]
    rounds: u32,
    /// Which moments
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Where the server is installed; `cargo-agents-suites` in your cache directory by default
    #[arg(long, value_name = "DIR")]
    prefix: Option<Utf8PathBuf>,
    /// Write the table to `docs/real-engine.md`
    #[arg(long, conflicts_with_all = ["faults", "guide"])]
    update_docs: bool,
    /// Let the programs have the network
    #[arg(long)]
    unconfined: bool,
    /// Where our program was built; set when the suite starts itself again
    #[arg(long, value_name = "DIR", hide = true)]
    built: Option<Utf8PathBuf>,
}

fn main() -> anyhow::Result<ExitCode> {
    let args = Args::parse();
    let prefix = Prefix::or_usual(args.prefix.as_deref())?;
    if let Some(built) = &args.built {
        confine::settle(&prefix)?;
        return run(&args, &prefix, built);
    }
    prefix.install(SERVER, false)?;
    let built = install::build_with(&[("cargo-agents", "cargo-agents")], &["restate"])?;
    if args.unconfined {
        return run(&args, &prefix, &built);
    }
    Err(confine::start_again(&built)?)
}

fn run(args: &Args, prefix: &Prefix, built: &Utf8Path) -> anyhow::Result<ExitCode> {
    use clap::ValueEnum as _;
    let faults = if args.faults.is_empty() { Fault::value_variants() } else { &args.faults };
    let (server, version) = (prefix.program(SERVER), prefix.version(SERVER)?);
    if args.faults.is_empty() {
        let packages = prefix.file(SERVER, "node_modules").context("the server is not there")?;
        let different = guide::follow(&packages, built);
        anyhow::ensure!(different.is_empty(), "not as the guide says:\n{}", different.join("\n\n"));
        say("every command of the guide printed what it says");
    }
    if args.guide {
        return Ok(ExitCode::SUCCESS);
    }
    let mut rows = Vec::new();
    for fault in faults {
        let (rounds, seed) = (args.rounds.to_string(), args.seed.to_string());
        let mut row = Row::new([fault.told(), &version, &rounds, &seed]);
        let mut chance = Chance::new(args.seed);
        let seen = round::rounds(*fault, args.rounds, &mut chance, &server, built)?;
        seen.fill(&mut row);
        row.tell();
        rows.push(row);
    }
    table::conclude(&rows, args.update_docs.then_some(&report::PAGE))
}

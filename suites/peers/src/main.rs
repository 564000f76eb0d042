//! Symposium's published program and ours, side by side: what they take, and what they do.
//!
//! ```console
//! cargo run -p peers-suite                              # everything
//! cargo run -p peers-suite -- killed hook-none          # some of it
//! cargo run -p peers-suite -- --rounds 100              # what depends on the moment, more often
//! cargo run -p peers-suite -- --update-docs             # write docs/real-peers.md anew
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`program`] | the two programs, and the few things that have to be said to them differently |
//! | [`ground`] | a user with a workspace, a registry of plugins and a configuration |
//! | [`mod@run`] | a command that is run to its end, or to the end of our patience |
//! | [`measure`], [`once`] | what both take for the same work, in turns |
//! | [`trace`] | system calls, and among them those that ask somebody over a network |
//! | [`scenes`], [`wire`] | what both are given, what must come of it, and what does |
//! | [`report`] | the tables |
//!
//! The peer comes from crates.io, and is built once. What is wrong with it is for the page; what is wrong with ours is a failure.

#![cfg(target_os = "linux")]
#![allow(
    clippy::disallowed_methods,
    reason = "programs are started, measured and killed as a stranger would"
)]

mod ground;
mod measure;
mod once;
mod program;
mod report;
mod run;
mod scenes;
mod trace;
mod wire;

use std::process::ExitCode;

use anyhow::bail;
use camino::Utf8PathBuf;
use clap::Parser;
use hosts_suite::{
    confine,
    install::{self, Prefix},
    say,
};

use crate::{
    ground::Afterwards,
    measure::{CASES, Case},
    program::{Programs, Who},
    report::Report,
    scenes::{Scene, Seen, Stage, Verdict},
};

/// Compare with Symposium's published program
#[derive(Debug, Parser)]
struct Args {
    /// What is measured or tried; everything, if nothing is named
    names: Vec<String>,
    /// How often everything is measured, and what depends on the moment is tried
    #[arg(long, value_name = "N", default_value_t = 30)]
    rounds: u32,
    /// Where Symposium is installed; `cargo-agents-suites` in your cache directory by default
    #[arg(long, value_name = "DIR")]
    prefix: Option<Utf8PathBuf>,
    /// Where our program is; it is built in the `release` profile if this is not said
    #[arg(long, value_name = "DIR")]
    ours: Option<Utf8PathBuf>,
    /// Write the tables to `docs/real-peers.md`
    #[arg(long, conflicts_with = "names")]
    update_docs: bool,
    /// Leave the files of every user where they are
    #[arg(long)]
    keep: bool,
    /// Let the programs have the network
    #[arg(long)]
    unconfined: bool,
    /// Where our program is; set when the suite starts itself again
    #[arg(long, value_name = "DIR", hide = true)]
    built: Option<Utf8PathBuf>,
}

fn main() -> anyhow::Result<ExitCode> {
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|word| word == once::WORD) {
        return once::main(words);
    }
    let args = Args::parse();
    let (cases, scenes) = chosen(&args.names)?;
    trace::check()?;
    let prefix = Prefix::or_usual(args.prefix.as_deref())?;
    fs_err::create_dir_all(prefix.root())?;
    let built = match args.built.as_ref().or(args.ours.as_ref()) {
        Some(built) => built.clone(),
        None => install::build_release(&[("cargo-agents", "cargo-agents")])?,
    };
    let programs = Programs::new(&built, &prefix)?;
    if !args.unconfined && args.built.is_none() {
        return Err(confine::start_again(&built)?);
    }
    if !args.unconfined {
        confine::settle(&prefix)?;
    }
    run(&args, &cases, &scenes, &programs)
}

/// What is named, or everything.
fn chosen(names: &[String]) -> anyhow::Result<(Vec<&'static Case>, Vec<&'static Scene>)> {
    let (mut cases, mut scenes): (Vec<_>, Vec<_>) =
        (CASES.iter().collect(), scenes::all().collect());
    if names.is_empty() {
        return Ok((cases, scenes));
    }
    let known: Vec<&str> =
        cases.iter().map(|it| it.name).chain(scenes.iter().map(|it| it.name)).collect();
    if let Some(name) = names.iter().find(|name| !known.contains(&name.as_str())) {
        bail!("there is no `{name}` in this suite; there are {}", known.join(", "));
    }
    cases.retain(|it| names.iter().any(|name| name == it.name));
    scenes.retain(|it| names.iter().any(|name| name == it.name));
    Ok((cases, scenes))
}

fn run(
    args: &Args,
    cases: &[&'static Case],
    scenes: &[&'static Scene],
    programs: &Programs,
) -> anyhow::Result<ExitCode> {
    let mut report = Report::default();
    if !cases.is_empty() {
        report.measured = measure::measure(programs, cases, args.rounds)?;
    }
    let afterwards = if args.keep { Afterwards::Kept } else { Afterwards::Gone };
    for scene in scenes {
        let [ours, peer] = Who::BOTH.map(|who| {
            let stage = Stage { programs, who, rounds: args.rounds, afterwards };
            scene.play(&stage)
        });
        let seen = [ours?, peer?];
        for (who, Seen { verdict, told }) in Who::BOTH.iter().zip(&seen) {
            let word = match verdict {
                Verdict::Good => "good",
                Verdict::Bad => "NOT GOOD",
            };
            say(&format!("{}: {}: {word}: {told}", scene.name, who.name()));
        }
        report.scenes.push((scene, seen));
    }
    report.conclude(args.update_docs)
}

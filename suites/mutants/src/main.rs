//! Whether a test notices when the code that decides, schedules, merges and edits is wrong.
//!
//! ```console
//! cargo run -p mutants-suite                            # all rooms of `.cargo/mutants.toml`
//! cargo run -p mutants-suite -- sync tool               # some of them
//! cargo run -p mutants-suite -- sync --only parts.rs    # changes with this in their name
//! cargo run -p mutants-suite -- --again --update-docs   # from the beginning, with the table of docs/real-coverage.md
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`room`], [`change`] | what is changed where, as `cargo mutants` lists it |
//! | [`mod@switch`] | all changes of a file in one text, each behind a switch |
//! | [`copy`], [`compile`], [`weed`] | a copy of the tree with the switches, built without those changes that do not compile |
//! | [`trial`], [`attempt`], [`at_once`] | each change, with the tests that reach it |
//! | [`kept`] | what is known from earlier runs |
//! | [`page`] | the figures, and the changes that nobody could notice |
//!
//! One build for a room instead of one for each change: two thousand builds take a day. Only what has no place for a switch, a constant for
//! example, is built alone. A test is run in a process of its own, once without a change
//! to see which switches it asks, and then for each of those, the quickest tests first, until one fails. An interrupted run goes on where it was.

#![cfg(target_os = "linux")]

mod at_once;
mod attempt;
mod change;
mod compile;
mod copy;
mod kept;
mod page;
mod room;
mod switch;
mod trial;
mod weed;

use std::{io::Write as _, num::NonZero, process::ExitCode};

use agents_system::process::Call;
use anyhow::Context as _;
use camino::{Utf8Path, Utf8PathBuf};
use clap::Parser;
use hosts_suite::{install::Prefix, say};

use crate::{
    attempt::{Before, Ground},
    page::{Explained, PAGE},
};

/// The version of `cargo mutants` that is installed if there is none.
const MUTANTS: &str = "27.1.0";

/// Change one thing at a time, and look whether a test notices
#[derive(Debug, Parser)]
struct Args {
    /// Which rooms; all, if none is named
    rooms: Vec<String>,
    /// Only changes that have this in their name
    #[arg(long, value_name = "TEXT", conflicts_with = "update_docs")]
    only: Option<String>,
    /// How many tests are run at once; as many as there are processors by default
    #[arg(long, value_name = "N")]
    jobs: Option<NonZero<usize>>,
    /// Where `cargo mutants` is installed unless it is in `PATH`; `cargo-agents-suites` in your cache directory by default
    #[arg(long, value_name = "DIR")]
    prefix: Option<Utf8PathBuf>,
    /// Forget what is known from earlier runs
    #[arg(long)]
    again: bool,
    /// Write the figures to `docs/real-coverage.md`
    #[arg(long)]
    update_docs: bool,
}

fn main() -> anyhow::Result<ExitCode> {
    let args = Args::parse();
    let rooms = room::chosen(&args.rooms)?;
    let root = Utf8Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).canonicalize_utf8()?;
    room::check_listed(&root)?;
    let jobs = match args.jobs {
        Some(jobs) => jobs,
        None => std::thread::available_parallelism()?,
    };
    let prefix = Prefix::or_usual(args.prefix.as_deref())?;
    let tools = prefix.find_crate("cargo-mutants", MUTANTS)?;
    let before = if args.again { Before::Forgotten } else { Before::Kept };
    let ground = Ground { scratch: scratch()?, root, tools, jobs, before, only: args.only };
    let mut page = fs_err::read_to_string(ground.root.join(PAGE))?;
    let mut explained = Explained::parse(&page);
    let when = when(&ground.root)?;
    let (mut rows, mut wrong) = (Vec::new(), 0);
    for room in rooms.iter().copied() {
        let tally = attempt::attempt(room, &ground)?;
        let unexplained = explained.unexplained(&tally.not_noticed);
        rows.push(page::row(room, &tally, unexplained.len(), &when));
        let mut out = std::io::stdout().lock();
        for change in &unexplained {
            writeln!(out, "{}", change.name())?;
        }
        wrong += unexplained.len() + tally.failing.len();
    }
    let stale = if ground.only.is_none() { explained.stale(&rooms) } else { Vec::new() };
    for explanation in &stale {
        say(&format!("explained, and noticed or no longer there: {explanation}"));
    }
    if args.update_docs {
        page = page::update(&page, &rows)
            .with_context(|| format!("`{PAGE}` has no table of rooms"))?;
        fs_err::write(ground.root.join(PAGE), page)?;
    }
    write!(std::io::stdout(), "{}", page::table(rows))?;
    if wrong > 0 {
        say(&format!(
            "{wrong} changes that no test notices and `{PAGE}` does not explain, or tests that fail without any"
        ));
    }
    if !stale.is_empty() {
        say(&format!("{} explanations of `{PAGE}` that explain nothing", stale.len()));
    }
    Ok(if wrong + stale.len() == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Today, and the commit whose code is changed.
fn when(root: &Utf8Path) -> anyhow::Result<String> {
    let said = |program: &str, args: &[&str]| -> anyhow::Result<String> {
        let came = Call::new(program).args(args.iter().copied()).cwd(root).capture()?;
        anyhow::ensure!(came.status.success(), "`{program} {}` failed", args.join(" "));
        Ok(came.stdout_text().trim().to_owned())
    };
    let commit = said("git", &["rev-parse", "--short", "HEAD"])?;
    let changed = said("git", &["status", "--porcelain", "--", "crates"])?;
    let manner = if changed.is_empty() { "" } else { " with changes" };
    Ok(format!("{}, {commit}{manner}", said("date", &["-u", "+%F"])?))
}

/// Beside where this program was built.
fn scratch() -> anyhow::Result<Utf8PathBuf> {
    let me = Utf8PathBuf::try_from(std::env::current_exe()?)?;
    let target = me.parent().and_then(Utf8Path::parent);
    Ok(target.context("this program is in no directory")?.join("mutants"))
}

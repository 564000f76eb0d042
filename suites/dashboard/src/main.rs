//! A real browser at the page of `cargo agents dashboard`.
//!
//! ```console
//! cargo run -p dashboard-suite                          # everything; screenshots in target/dashboard
//! cargo run -p dashboard-suite -- hostile keyboard      # some
//! cargo run -p dashboard-suite -- --update-docs         # write docs/real-dashboard.md and the pictures anew
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`browser`] | Chromium, and what it is told and tells through two pipes |
//! | [`tab`] | a page in it: what is clicked, typed, seen and sent |
//! | [`stage`] | a user with a workspace, a scripted model and tasks to look at |
//! | [`scenes`] | what is done at the page, and what must come of it |
//! | [`report`] | the table |
//!
//! The browser comes from Debian's packages where there is none. It runs in a network with nobody in it.

mod browser;
mod report;
mod scenes;
mod stage;
mod tab;

use std::process::ExitCode;

use camino::{Utf8Path, Utf8PathBuf};
use clap::Parser;
use hosts_suite::{
    confine,
    install::{self, Prefix},
    say, table,
    table::Verdict,
};

use crate::{
    browser::Browser,
    report::{Column, Row},
    scenes::Scene,
    stage::Stage,
    tab::Tab,
};

/// Use the page in a real browser
#[derive(Debug, Parser)]
struct Args {
    /// What is done; everything, if nothing is named
    #[arg(value_enum)]
    scenes: Vec<Scene>,
    /// Where screenshots go
    #[arg(long, value_name = "DIR", default_value = "target/dashboard")]
    screenshots: Utf8PathBuf,
    /// Where what suites install is kept; `cargo-agents-suites` in your cache directory by default
    #[arg(long, value_name = "DIR")]
    prefix: Option<Utf8PathBuf>,
    /// Write the table to `docs/real-dashboard.md`, and the pictures of the pages beside it
    #[arg(long, conflicts_with = "scenes")]
    update_docs: bool,
    /// Let the browser have the network
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
        return run(&args, built);
    }
    fs_err::create_dir_all(prefix.root())?;
    browser::install()?;
    let built = install::build(&[("cargo-agents", "cargo-agents")])?;
    if args.unconfined {
        return run(&args, &built);
    }
    Err(confine::start_again(&built)?)
}

fn run(args: &Args, built: &Utf8Path) -> anyhow::Result<ExitCode> {
    use clap::ValueEnum as _;
    let scenes = if args.scenes.is_empty() { Scene::value_variants() } else { &args.scenes };
    fs_err::create_dir_all(&args.screenshots)?;
    let mut rows = Vec::new();
    for scene in scenes {
        // Each with a browser and a home of its own: nothing of one is seen in another.
        let stage = Stage::set(built)?;
        let browser = Browser::start(stage.scratch())?;
        let version = browser.version()?;
        let mut row = Row::new([scene.told(), &version]);
        let mut page = stage.page(&[])?;
        let mut tab = Tab::open(browser, &args.screenshots)?;
        let played = scene.play(&stage, &mut page, &mut tab);
        if played.is_err() {
            // Whoever looks for the reason wants to see it.
            let _ = tab.screenshot(&format!("{}-failed", scene.word()));
        }
        row.set(Column::Done, Verdict::from(played.is_ok(), || told(&played)));
        let complaints = tab.complaints();
        row.set(Column::Quiet, Verdict::from(complaints.is_empty(), || complaints.join("; ")));
        let elsewhere = tab.requests_elsewhere();
        row.set(Column::Alone, Verdict::from(elsewhere.is_empty(), || elsewhere.join("; ")));
        let ran = tab.ran();
        row.set(Column::Text, Verdict::from(ran.is_empty(), || ran.join("; ")));
        row.tell();
        rows.push(row);
    }
    say(&format!("screenshots: {}", args.screenshots));
    let code = table::conclude(&rows, args.update_docs.then_some(&report::PAGE))?;
    // Pictures of what did not work, or of another day, are of no use.
    if args.update_docs && code == ExitCode::SUCCESS {
        for (screenshot, picture) in report::PICTURES {
            fs_err::copy(args.screenshots.join(screenshot), table::docs().join(picture))?;
        }
    }
    Ok(code)
}

fn told(played: &anyhow::Result<()>) -> String {
    played.as_ref().err().map(|error| format!("{error:#}")).unwrap_or_default()
}

//! Real programs and a real small model, asked through `cargo agents model test`.
//!
//! ```console
//! cargo run -p models-suite                        # all of them
//! cargo run -p models-suite -- claude llama        # some
//! cargo run -p models-suite -- --prefix DIR        # where clients are installed, and stay
//! cargo run -p models-suite -- --update-docs       # write docs/real-models.md anew
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`subject`] | who is asked: hosts, ACP agents, a server with a model |
//! | [`install`] | what they need, from npm and PyPI, into a prefix that is kept |
//! | [`check`] | what is looked at |
//! | [`report`] | the table |
//!
//! Programs get a scripted model that first wants to run a command; they may only read, so that the command must not run.
//! The server gets no script: there a model really answers.

mod check;
#[path = "../../hosts/src/install.rs"]
#[allow(dead_code, reason = "the machinery of the other suite, of which less is needed here")]
mod install;
mod report;
mod server;
mod subject;

use std::{process::ExitCode, time::Duration};

use agents_system::{env, process::Call};
use anyhow::{Context as _, bail};
use camino::{Utf8Path, Utf8PathBuf};
use clap::Parser;
use serde_json::Value;

use crate::install::Prefix;

/// Ask real programs and a real small model
#[derive(Debug, Parser)]
struct Args {
    /// Which ones; all, if none is named
    subjects: Vec<String>,
    /// Where clients are installed; `cargo-agents-suites` in your cache directory by default
    #[arg(long, value_name = "DIR")]
    prefix: Option<Utf8PathBuf>,
    /// Write the table, with all of them, to `docs/real-models.md`
    #[arg(long, conflicts_with = "subjects")]
    update_docs: bool,
}

fn main() -> anyhow::Result<ExitCode> {
    let args = Args::parse();
    let mut subjects = subject::all();
    let known: Vec<&str> = subjects.iter().map(|it| it.name).collect();
    if let Some(name) = args.subjects.iter().find(|name| !known.contains(&name.as_str())) {
        bail!("there is no `{name}` in this suite; there are {}", known.join(", "));
    }
    if !args.subjects.is_empty() {
        subjects.retain(|it| args.subjects.iter().any(|name| name == it.name));
    }
    let prefix = Prefix::new(match &args.prefix {
        Some(dir) => camino::absolute_utf8(dir)?,
        None => cache()?.join("cargo-agents-suites"),
    });
    prefix.install_node()?;
    for subject in &subjects {
        match subject.package() {
            Some(package) => prefix.install(package, false)?,
            None => server::install(prefix.root())?,
        }
    }
    let program = build()?;
    let mut rows = Vec::new();
    for subject in &subjects {
        let row = check::check(subject, &prefix, &program)?;
        report::progress(&row);
        rows.push(row);
    }
    report::print(&rows)?;
    if args.update_docs {
        report::write_page(&rows)?;
    }
    let all_good = rows.iter().all(report::Row::is_good);
    Ok(if all_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Our own program, as cargo builds it.
fn build() -> anyhow::Result<Utf8PathBuf> {
    report::say("building cargo-agents");
    let call = Call::new(env::CARGO.get().unwrap_or_else(|| "cargo".into()))
        .args(["build", "--locked", "-p", "cargo-agents", "--bin", "cargo-agents"])
        .arg("--message-format=json-render-diagnostics")
        .cwd(env!("CARGO_MANIFEST_DIR"))
        .deadline(Duration::from_secs(3600));
    let done = call.capture()?;
    if !done.status.success() {
        bail!("`{}` failed\n{}", call.display(), String::from_utf8_lossy(&done.stderr));
    }
    let built = done.stdout_text();
    let messages = built.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut paths = messages.filter_map(|it| it["executable"].as_str().map(Utf8PathBuf::from));
    paths.next_back().context("cargo does not say what it built")
}

fn cache() -> anyhow::Result<Utf8PathBuf> {
    let home = env::HOME.absolute_path().map(|home| home.join(".cache"));
    env::XDG_CACHE_HOME.absolute_path().or(home).context("cannot tell where your home directory is")
}

/// The name of a file without its directory.
fn file_name(path: &Utf8Path) -> &str {
    path.file_name().unwrap_or_default()
}

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
//! | [`server`] | the server with a model, from PyPI |
//! | [`check`] | what is looked at |
//! | [`wish`] | what became of the command that the model wanted to have run |
//! | [`real`] | the model that really answers, asked through our provider |
//! | [`report`] | the table |
//!
//! Programs get a scripted model that first wants to run a command; they may only read, so that the command must not run.
//! The server gets no script: there a model really answers. Who the programs are, how they are installed and that they cannot
//! call home is the other suite's, [`hosts_suite`].

mod check;
mod real;
mod report;
mod server;
mod subject;
mod wish;

use std::process::ExitCode;

use anyhow::bail;
use camino::{Utf8Path, Utf8PathBuf};
use clap::Parser;
use hosts_suite::{
    client, confine,
    install::{self, Prefix},
    table,
};

use crate::subject::Subject;

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
    /// Let the programs have the network
    #[arg(long)]
    unconfined: bool,
    /// Where our program was built; set when the suite starts itself again
    #[arg(long, value_name = "DIR", hide = true)]
    built: Option<Utf8PathBuf>,
}

fn main() -> anyhow::Result<ExitCode> {
    let args = Args::parse();
    let mut subjects = subject::all();
    let known: Vec<&str> = subjects.iter().map(|it| it.name.as_str()).collect();
    if let Some(name) = args.subjects.iter().find(|name| !known.contains(&name.as_str())) {
        bail!("there is no `{name}` in this suite; there are {}", known.join(", "));
    }
    if !args.subjects.is_empty() {
        subjects.retain(|it| args.subjects.contains(&it.name));
    }
    let prefix = Prefix::or_usual(args.prefix.as_deref())?;
    if let Some(built) = &args.built {
        confine::settle(&prefix)?;
        return run(&args, &subjects, &prefix, built);
    }
    prefix.install_node()?;
    for subject in &subjects {
        match subject.client() {
            Some(client) => prefix.install(client::package(client), false)?,
            None => server::install(prefix.root())?,
        }
    }
    let built = install::build(&[("cargo-agents", "cargo-agents")])?;
    if args.unconfined {
        return run(&args, &subjects, &prefix, &built);
    }
    Err(confine::start_again(&built)?)
}

fn run(
    args: &Args,
    subjects: &[Subject],
    prefix: &Prefix,
    built: &Utf8Path,
) -> anyhow::Result<ExitCode> {
    let mut rows = Vec::new();
    for subject in subjects {
        let row = check::check(subject, prefix, built);
        row.tell();
        rows.push(row);
    }
    table::conclude(&rows, args.update_docs.then_some(&report::PAGE))
}

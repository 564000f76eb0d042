//! Real coding agents, started against a scripted model after `cargo agents sync`.
//!
//! ```console
//! cargo run -p hosts-suite                       # all of them
//! cargo run -p hosts-suite -- codex claude       # some
//! cargo run -p hosts-suite -- --keep codex       # leave home and workspace for a look
//! cargo run -p hosts-suite -- --update-docs      # write docs/real-hosts.md anew
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`hosts_suite`] | the clients, how they are installed, and a network without anybody in it |
//! | [`ground`] | a home, a workspace and a registry; our own commands |
//! | [`check`] | what is looked at, client by client |
//! | [`occasion`] | sessions of their own for events that an ordinary one does not bring about |
//! | [`seat`] | such a session, without a terminal or at one |
//! | [`beside`] | another host in the same workspace, and how often something happened |
//! | [`events`] | which events a client fires |
//! | [`probed`] | whether `doctor --probe` sees the same |
//! | [`report`] | the table |
//!
//! A run has two halves. The first has the network: it installs and builds. Then the suite starts itself
//! again in a network namespace with nothing but loopback in it, where the model and the clients meet.

mod beside;
mod check;
mod events;
mod ground;
mod occasion;
mod probed;
mod report;
mod seat;

use std::process::ExitCode;

use agents_probe::sample::Servers;
use anyhow::bail;
use camino::Utf8PathBuf;
use clap::Parser;
use hosts_suite::{
    client::{self, Client, Scope},
    confine,
    install::{self, Prefix},
    table,
};

use self::{
    check::{Afterwards, Manner, Tools},
    probed::Wanted,
};

/// Start real coding agents after a sync and see what reached them
#[derive(Debug, Parser)]
struct Args {
    /// Which ones; all, if none is named
    hosts: Vec<String>,
    /// Leave homes and workspaces where they are
    #[arg(long)]
    keep: bool,
    /// Where clients are installed; `cargo-agents-suites` in your cache directory by default
    #[arg(long, value_name = "DIR")]
    prefix: Option<Utf8PathBuf>,
    /// Install the newest versions, also of what is there
    #[arg(long)]
    update: bool,
    /// Run without a network namespace
    #[arg(long)]
    unconfined: bool,
    /// Write the table, with all of them, to `docs/real-hosts.md`
    #[arg(long, conflicts_with = "hosts")]
    update_docs: bool,
    /// Where our programs were built; set when the suite starts itself again
    #[arg(long, value_name = "DIR", hide = true)]
    built: Option<Utf8PathBuf>,
}

fn main() -> anyhow::Result<ExitCode> {
    let args = Args::parse();
    let clients = chosen(&args.hosts)?;
    let prefix = Prefix::or_usual(args.prefix.as_deref())?;
    if let Some(built) = &args.built {
        confine::settle(&prefix)?;
        return run(&args, &clients, &prefix, built);
    }
    prefix.install_node()?;
    for client in &clients {
        prefix.install(client::package(client.as_ref()), args.update)?;
        for package in client::needed(client.as_ref()) {
            prefix.install(*package, false)?;
        }
    }
    let built =
        install::build(&[("cargo-agents", "cargo-agents"), ("hosts-suite", "notes-server")])?;
    if args.unconfined {
        return run(&args, &clients, &prefix, &built);
    }
    Err(confine::start_again(&built)?)
}

fn run(
    args: &Args,
    clients: &[Box<dyn Client>],
    prefix: &Prefix,
    built: &Utf8PathBuf,
) -> anyhow::Result<ExitCode> {
    let tools = Tools {
        prefix,
        built,
        network: if args.unconfined { Wanted::Any } else { Wanted::Own },
        afterwards: if args.keep { Afterwards::Kept } else { Afterwards::Gone },
    };
    let mut rows = Vec::new();
    for client in clients {
        let host = client.host();
        let pairs = beside::PAIRS.into_iter().filter(|(it, _)| *it == host);
        let alone = both(client.scopes(), &[Servers::One, Servers::Each]).into_iter();
        let alone = alone.map(|(scope, servers)| Manner { scope, servers, beside: None });
        let together = pairs.map(|(_, other)| Manner {
            scope: Scope::Project,
            servers: Servers::One,
            beside: Some(other),
        });
        for manner in alone.chain(together) {
            let row = check::check(client.as_ref(), manner, tools);
            row.tell();
            rows.push(row);
        }
    }
    if args.update_docs && rows.iter().all(table::Row::is_good) {
        report::write_proven(clients, prefix)?;
    }
    table::conclude(&rows, args.update_docs.then_some(&report::PAGE))
}

/// Each of one kind with each of the other.
fn both<A: Copy, B: Copy>(one: &[A], other: &[B]) -> Vec<(A, B)> {
    one.iter().flat_map(|a| other.iter().map(|b| (*a, *b))).collect()
}

fn chosen(names: &[String]) -> anyhow::Result<Vec<Box<dyn Client>>> {
    let mut all = client::all();
    let known: Vec<&str> = all.iter().map(|client| client.host()).collect();
    if let Some(name) = names.iter().find(|name| !known.contains(&name.as_str())) {
        bail!("there is no client `{name}` in this suite; there are {}", known.join(", "));
    }
    if !names.is_empty() {
        all.retain(|client| names.iter().any(|name| name == client.host()));
    }
    Ok(all)
}

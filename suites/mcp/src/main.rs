//! Real MCP clients that call every tool of `cargo agents mcp`: the official inspector, and the official client for Python.
//!
//! ```console
//! cargo run -p mcp-suite                       # both, with what they need from npm and PyPI
//! cargo run -p mcp-suite -- --prefix DIR       # where they are installed, and stay
//! cargo run -p mcp-suite -- --update-docs      # write docs/real-mcp.md anew
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`calls`] | what is called, and what must come of it |
//! | [`clients`] | who calls |
//! | [`report`] | the table |
//!
//! Behind the server stands another one of ours, so that the tools which reach further have something to reach.

mod calls;
mod clients;
mod report;

use std::process::ExitCode;

use agents_testkit::{sample::Sample, scratch};
use camino::Utf8PathBuf;
use clap::Parser;
use hosts_suite::{
    install::{self, Prefix},
    table::{self, Page, Verdict},
};

use crate::{clients::Place, report::Row};

/// Have real MCP clients call every tool
#[derive(Debug, Parser)]
struct Args {
    /// Where clients are installed; `cargo-agents-suites` in your cache directory by default
    #[arg(long, value_name = "DIR")]
    prefix: Option<Utf8PathBuf>,
    /// Where our program was built; it is built if this is not said
    #[arg(long, value_name = "DIR")]
    built: Option<Utf8PathBuf>,
    /// Write the table to `docs/real-mcp.md`
    #[arg(long)]
    update_docs: bool,
}

fn main() -> anyhow::Result<ExitCode> {
    let args = Args::parse();
    let prefix = Prefix::or_usual(args.prefix.as_deref())?;
    clients::install(&prefix)?;
    let built = match args.built {
        Some(built) => camino::absolute_utf8(built)?,
        None => install::build(&[("cargo-agents", "cargo-agents")])?,
    };
    let sample = Sample::new();
    sample.vendor().library("tiny-sql", "0.3.1", "");
    sample.package(".", "app", "0.1.0", "[dependencies]\ntiny-sql = \"0.3\"\n");
    sample.lock();
    let place = Place { sample, program: built.join("cargo-agents") };
    furnish(&place);
    let calls = calls::all();
    let mut rows: Vec<Row> =
        calls.iter().map(|it| Row::new([&it.named(), &it.given(), &it.outcome()])).collect();
    for (client, call) in clients::ALL {
        let answers = call(&prefix, &place, &calls)?;
        anyhow::ensure!(answers.len() == calls.len(), "{client:?} did not tell of all calls");
        for ((asked, answer), row) in calls.iter().zip(&answers).zip(&mut rows) {
            row.set(client, asked.wrong(answer).map_or(Verdict::Yes, Verdict::No));
        }
    }
    rows.iter().for_each(Row::tell);
    let before = report::before(&clients::versions(&prefix)?);
    let page = Page { name: "real-mcp.md", before: &before, after: report::AFTER };
    table::conclude(&rows, args.update_docs.then_some(&page))
}

/// A model, an agent, a skill and a server behind ours.
fn furnish(place: &Place) {
    let (home, program) = (place.home(), &place.program);
    let script = home.join("script.toml");
    scratch::write(&script, "[[replies]]\nwhen = { system = \"help\" }\ntext = \"Done.\"\n");
    let config = format!(
        "[defaults]\nsymposium-recommendations = false\n[providers.demo]\nkind = \"script\"\nscript = \"{script}\"\n\
         [mcp-servers.again]\ncommand = \"{program}\"\nargs = [\"mcp\"]\n"
    );
    scratch::write(&home.join(".config/cargo-agents/config.toml"), config);
    let agent = "---\nname: helper\ndescription: helps\n---\nYou help.\n";
    scratch::write(&home.join(".agents/agents/helper.md"), agent);
    let plugins = home.join(".config/cargo-agents/plugins/tiny");
    let plugin = "name = \"tiny\"\ncrates = [\"tiny-sql\"]\n[[skills]]\nsource.path = \"skills\"\n";
    scratch::write(&plugins.join("SYMPOSIUM.toml"), plugin);
    let skill = "---\nname: queries\ndescription: how to write SQL\n---\nBind values.\n";
    scratch::write(&plugins.join("skills/queries/SKILL.md"), skill);
}

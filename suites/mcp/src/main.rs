//! Real MCP clients that call every tool of `cargo agents mcp`: the official inspector, and the official client for Python.
//!
//! ```console
//! cargo run -p mcp-suite                       # both, with what they need from npm and PyPI
//! cargo run -p mcp-suite -- --prefix DIR       # where they are installed, and stay
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`calls`] | what is called, and what must come of it |
//! | [`clients`] | who calls |
//!
//! Behind the server stands another one of ours, so that the tools which reach further have something to reach.

mod calls;
mod clients;

use std::process::ExitCode;

use agents_testkit::{sample::Sample, scratch};
use camino::Utf8PathBuf;
use clap::Parser;
use hosts_suite::{
    install::{self, Prefix},
    say,
};

use crate::clients::Place;

/// Have real MCP clients call every tool
#[derive(Debug, Parser)]
struct Args {
    /// Where clients are installed; `cargo-agents-suites` in your cache directory by default
    #[arg(long, value_name = "DIR")]
    prefix: Option<Utf8PathBuf>,
}

fn main() -> anyhow::Result<ExitCode> {
    let prefix = Prefix::or_usual(Args::parse().prefix.as_deref())?;
    clients::install(&prefix)?;
    let built = install::build(&[("cargo-agents", "cargo-agents")])?;
    let sample = Sample::new();
    sample.vendor().library("tiny-sql", "0.3.1", "");
    sample.package(".", "app", "0.1.0", "[dependencies]\ntiny-sql = \"0.3\"\n");
    sample.lock();
    let place = Place { sample, program: built.join("cargo-agents") };
    furnish(&place);
    let mut failed = 0;
    for (client, call) in clients::ALL {
        let results = call(&prefix, &place, &calls::all())?;
        for (asked, answer) in calls::all().iter().zip(&results) {
            let wrong = asked.wrong(answer);
            failed += usize::from(wrong.is_some());
            let told = wrong.map_or_else(|| "ok".to_owned(), |why| format!("FAILED: {why}"));
            say(&format!("{client:10}  {:12}  {told}", asked.tool));
        }
    }
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
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

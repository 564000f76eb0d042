//! `cargo agents completions <shell>`

use std::process::ExitCode;

use clap::CommandFactory as _;

use crate::{args::Args, failure::Failure, output::Output};

pub(crate) fn run(output: &Output, shell: clap_complete::Shell) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    // People type the name of the first-party plugin, not that of its program.
    let mut grammar = Args::command()
        .mut_subcommand("__crate-info", |command| command.name("crate-info").hide(false));
    // Shells complete what is typed, and cargo starts `cargo-agents` for `cargo agents`.
    clap_complete::generate(shell, &mut grammar, "cargo-agents", &mut script);
    // For bash, clap_complete spells the hyphen in our name in two ways, and nothing is found below the first word.
    let script = String::from_utf8_lossy(&script).replace("cargo__subcmd__agents", "cargo__agents");
    output.text(script)?;
    Ok(ExitCode::SUCCESS)
}

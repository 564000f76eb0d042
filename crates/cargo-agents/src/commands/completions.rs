//! `cargo agents completions <shell>`
//!
//! The scripts of clap know the program by the name of its file, `cargo-agents`; what is typed is `cargo agents`. For bash and fish
//! something of ours comes after them that leads from there to here. For zsh, cargo's own completion does that.

use std::process::ExitCode;

use clap_complete::Shell;

use crate::{args, failure::Failure, output::Output};

pub(crate) fn run(output: &Output, shell: Shell) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    let mut grammar = args::as_typed();
    clap_complete::generate(shell, &mut grammar, "cargo-agents", &mut script);
    // For bash, clap_complete spells the hyphen in our name in two ways, and nothing is found below the first word.
    let script = String::from_utf8_lossy(&script).replace("cargo__subcmd__agents", "cargo__agents");
    output.text(script)?;
    output.text(after_cargo(shell))?;
    Ok(ExitCode::SUCCESS)
}

/// What has a shell complete `cargo agents` as well, and everything else after `cargo` as before.
fn after_cargo(shell: Shell) -> &'static str {
    match shell {
        Shell::Bash => include_str!("completions/cargo.bash"),
        Shell::Fish => include_str!("completions/cargo.fish"),
        _ => "",
    }
}

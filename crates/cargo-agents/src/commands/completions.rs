//! `cargo agents completions <shell>`

use std::process::ExitCode;

use crate::{args, failure::Failure, output::Output};

pub(crate) fn run(output: &Output, shell: clap_complete::Shell) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    let mut grammar = args::as_typed();
    // Shells complete what is typed, and cargo starts `cargo-agents` for `cargo agents`.
    clap_complete::generate(shell, &mut grammar, "cargo-agents", &mut script);
    // For bash, clap_complete spells the hyphen in our name in two ways, and nothing is found below the first word.
    let script = String::from_utf8_lossy(&script).replace("cargo__subcmd__agents", "cargo__agents");
    output.text(script)?;
    Ok(ExitCode::SUCCESS)
}

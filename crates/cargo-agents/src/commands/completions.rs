//! `cargo agents completions <shell>`

use std::process::ExitCode;

use crate::{args::grammar, failure::Failure, output::Output};

pub(crate) fn run(output: &Output, shell: clap_complete::Shell) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    // Shells complete what is typed, and cargo starts `cargo-agents` for `cargo agents`.
    clap_complete::generate(shell, &mut grammar(), "cargo-agents", &mut script);
    output.text(String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}

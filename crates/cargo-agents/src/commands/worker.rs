//! `cargo agents worker`

#[cfg(feature = "restate")]
mod bench;
#[cfg(feature = "restate")]
mod serve;

use std::process::ExitCode;

use crate::{args::WorkerArgs, failure::Failure, output::Output, settings::Settings};

#[cfg(feature = "restate")]
pub(crate) fn run(
    settings: &Settings,
    output: &Output,
    args: &WorkerArgs,
) -> Result<ExitCode, Failure> {
    serve::run(settings, output, args)
}

#[cfg(not(feature = "restate"))]
pub(crate) fn run(_: &Settings, _: &Output, args: &WorkerArgs) -> Result<ExitCode, Failure> {
    // What was typed is checked by clap; there is nothing here to give it to.
    let WorkerArgs {
        listen: _,
        advertise: _,
        name: _,
        slots: _,
        mode: _,
        ingress: _,
        admin: _,
        identity_key: _,
        patience: _,
    } = args;
    Err(super::plan::team::absent())
}

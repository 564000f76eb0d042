//! `cargo agents plugin …`

use std::process::ExitCode;

use super::{cache, explain, list, show, sync, validate};
use crate::{args::PluginCommand, failure::Failure, output::Output, settings::Settings};

pub(crate) fn run(
    settings: &Settings,
    output: &Output,
    command: PluginCommand,
) -> Result<ExitCode, Failure> {
    match command {
        PluginCommand::List => list::run(settings, output),
        PluginCommand::Show { plugin } => show::run(settings, output, &plugin),
        PluginCommand::Explain { plugin } => explain::run(settings, output, &plugin),
        PluginCommand::Validate { path, check_crates, no_check_crates: _ } => {
            let crates = if check_crates { validate::Crates::Ask } else { validate::Crates::Trust };
            validate::run(settings, output, &path, crates)
        }
        PluginCommand::Sync { registry } => sync::run(settings, output, registry.as_deref()),
        PluginCommand::Cache { command } => cache::run(settings, output, &command),
    }
}

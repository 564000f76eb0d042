//! The program: arguments in, exit code out.
//!
//! | module | holds |
//! |---|---|
//! | [`args`] | what can be typed |
//! | [`settings`] | what it means, after flags and environment |
//! | [`help`] | help that adapts to where you stand |
//! | [`dispatch`] | `cargo agents <name>` for the names that plugins bring |
//! | [`commands`] | the built-in commands |
//! | [`here`] | the workspace and its plugins, opened when a command needs them |
//! | [`output`], [`failure`] | what is printed, and how errors look |

mod args;
mod commands;
mod dispatch;
mod failure;
mod help;
mod here;
mod output;
#[cfg(test)]
mod schemas;
mod settings;

use std::{ffi::OsString, process::ExitCode};

use clap::Parser as _;

use agents_sync::Edited;

use crate::{
    args::{Args, Command},
    commands::{doctor::Treatment, sync_hosts::Mode},
    failure::Failure,
    output::Output,
    settings::Settings,
};

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(failure::our_mistake));
    let argv = args::without_cargo(std::env::args_os().collect());
    // Hosts wait for this one before every tool call.
    if let Some((wire, event)) = commands::hook::called(&argv) {
        return commands::hook::answer(wire, event);
    }
    start(&argv)
}

/// One run of the program with these arguments, the first of which is its name.
fn start(argv: &[OsString]) -> ExitCode {
    let parsed = Args::try_parse_from(argv);
    let flags = match &parsed {
        Ok(args) => args.flags.clone(),
        // `--json` and `--color` count even when the rest cannot be understood.
        Err(_) => args::flags_of(argv),
    };
    let output = Output::new(&flags);
    let result = run(parsed, argv, &output);
    let result = result.and_then(|code| output.flush().map(|()| code));
    match result {
        Ok(code) => code,
        Err(failure) => failure.report(&output),
    }
}

fn run(
    parsed: Result<Args, clap::Error>,
    argv: &[OsString],
    output: &Output,
) -> Result<ExitCode, Failure> {
    if let Some(help) = help::wanted(&parsed, argv) {
        return help::show(&help, &parsed, output);
    }
    let args = match parsed {
        Ok(args) => args,
        Err(error) => return failure::usage(&error, output),
    };
    let settings = Settings::new(&args.flags)?;
    match args.command {
        Some(Command::Init(args)) => commands::init::run(&settings, output, &args),
        Some(Command::Sync { dry_run, check, overwrite }) => {
            let mode = match (dry_run, check) {
                (true, _) => Mode::DryRun,
                (false, true) => Mode::Check,
                (false, false) => Mode::Apply,
            };
            commands::sync_hosts::run(&settings, output, mode, edited(overwrite))
        }
        Some(Command::Diff) => {
            commands::sync_hosts::run(&settings, output, Mode::Diff, edited(false))
        }
        Some(Command::Uninstall { overwrite }) => {
            commands::sync_hosts::remove_all(&settings, output, edited(overwrite))
        }
        Some(Command::Doctor { fix }) => {
            let treatment = if fix { Treatment::Fix } else { Treatment::Report };
            commands::doctor::run(&settings, output, treatment)
        }
        Some(Command::Host { command }) => commands::host::run(&settings, output, &command),
        Some(Command::Config { command }) => commands::config::run(&settings, output, &command),
        Some(Command::Plugin { command }) => commands::plugin::run(&settings, output, command),
        Some(Command::Hook { words }) => commands::hook::refuse(&words),
        Some(Command::Completions { shell }) => commands::completions::run(output, shell),
        Some(Command::Tour { keep }) => commands::tour::run(&settings, output, keep),
        Some(Command::CrateInfo(wanted)) => commands::crate_info::run(&settings, output, &wanted),
        Some(Command::External(argv)) => dispatch::run(&settings, output, &argv),
        // `help::wanted` has answered this one.
        None => Ok(ExitCode::SUCCESS),
    }
}

fn edited(overwrite: bool) -> Edited {
    if overwrite { Edited::Overwrite } else { Edited::Keep }
}

//! The program: arguments in, exit code out.
//!
//! | module | holds |
//! |---|---|
//! | [`args`] | what can be typed |
//! | [`settings`] | what it means, after flags and environment |
//! | [`help`] | help that adapts to where you stand |
//! | [`dispatch`] | `cargo agents <name>` for the names that plugins bring |
//! | [`commands`] | the built-in commands |
//! | [`hands`] | from there to the tools that an agent gets |
//! | [`here`] | the workspace and its plugins, opened when a command needs them |
//! | [`output`], [`failure`] | what is printed, and how errors look |
//! | [`reader`] | who is told what happens while it happens |

mod args;
mod commands;
mod dispatch;
mod failure;
mod given;
mod hands;
mod help;
mod here;
mod output;
mod reader;
#[cfg(test)]
mod reference;
#[cfg(test)]
mod schemas;
mod settings;

use std::{ffi::OsString, process::ExitCode};

use agents_sync::Edited;

use crate::{
    args::{Args, Command},
    commands::{
        agreed::{Audited, Terms},
        doctor::Treatment,
        purge::Consent,
        sync_hosts::Mode,
        update,
        use_plugin::{Manner, Place},
    },
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
    if let Some(args) = commands::sandboxed::called(&argv) {
        return commands::sandboxed::become_program(args);
    }
    if commands::hook::prewarm::called(&argv) {
        return commands::hook::prewarm::run();
    }
    #[cfg(target_os = "linux")]
    if commands::keeper::called(&argv) {
        return agents_system::process::keeper::keep();
    }
    #[cfg(all(unix, feature = "script"))]
    if commands::door::interpreter::called(&argv) {
        return agents_tool::script::interpret(std::io::stdin().lock(), std::io::stdout());
    }
    if let Some(code) = commands::doctor::notes::called(&argv) {
        return code;
    }
    #[cfg(unix)]
    if let Some(code) = commands::task::background::called(&argv) {
        return code;
    }
    start(&argv)
}

/// One run of the program with these arguments, the first of which is its name.
fn start(argv: &[OsString]) -> ExitCode {
    let parsed = args::parse(argv);
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
    let talks = args.command.as_ref().is_some_and(commands::self_update::comes_after);
    let code = obey(args.command, &settings, output)?;
    if talks {
        output.flush()?;
        commands::self_update::look(&settings, output);
    }
    Ok(code)
}

fn obey(
    command: Option<Command>,
    settings: &Settings,
    output: &Output,
) -> Result<ExitCode, Failure> {
    match command {
        Some(Command::Init(args)) => commands::init::run(settings, output, &args),
        Some(Command::Sync { dry_run, check, overwrite, require_audit }) => {
            let mode = match (dry_run, check) {
                (true, _) => Mode::DryRun,
                (false, true) => Mode::Check,
                (false, false) => Mode::Apply,
            };
            let audited = if require_audit { Audited::Required } else { Audited::Optional };
            let terms = Terms { audited, ..Terms::default() };
            commands::sync_hosts::run(settings, output, mode, edited(overwrite), &terms, None)
        }
        Some(Command::Diff { name }) => {
            let (mode, terms, edited) = (Mode::Diff, Terms::default(), edited(false));
            commands::sync_hosts::run(settings, output, mode, edited, &terms, name.as_deref())
        }
        Some(Command::Update { name, dry_run, yes }) => {
            let manner = match (dry_run, yes) {
                (true, _) => update::Manner::OnlyShow,
                (false, true) => update::Manner::Accept,
                (false, false) => update::Manner::Ask,
            };
            commands::update::run(settings, output, name.as_deref(), manner)
        }
        Some(Command::Audit { sbom, command }) => {
            commands::audit::run(settings, output, sbom, command.map(|it| it.0))
        }
        Some(Command::Status) => commands::status::run(settings, output),
        Some(Command::Use { name, global, remove }) => {
            let place = if global { Place::Everywhere } else { Place::Here };
            commands::use_plugin::run_use(settings, output, &name, place, manner(remove))
        }
        Some(Command::Disable { name, remove }) => {
            commands::use_plugin::run_disable(settings, output, &name, manner(remove))
        }
        Some(Command::Search { query }) => commands::search::run(settings, output, &query),
        Some(Command::SelfUpdate) => commands::self_update::run(settings, output),
        Some(Command::Uninstall { overwrite, purge, yes, dry_run }) => {
            let mode = if dry_run { Mode::DryRun } else { Mode::Apply };
            let consent = if yes { Consent::Given } else { Consent::Ask };
            match purge {
                true => commands::purge::run(settings, output, edited(overwrite), mode, consent),
                false => {
                    commands::sync_hosts::remove_all(settings, output, edited(overwrite), mode)
                }
            }
        }
        Some(Command::Doctor(args)) if args.probe => {
            commands::doctor::probe::run(settings, output, &args)
        }
        Some(Command::Doctor(args)) => {
            let treatment = if args.fix { Treatment::Fix } else { Treatment::Report };
            commands::doctor::run(settings, output, treatment)
        }
        Some(Command::Host { command }) => commands::host::run(settings, output, &command.0),
        Some(Command::Config { command }) => commands::config::run(settings, output, &command.0),
        Some(Command::Plugin { command }) => commands::plugin::run(settings, output, command.0),
        Some(Command::Hook { command }) => {
            commands::hook::run(settings, output, command.map(|it| it.0))
        }
        Some(Command::Agent { command }) => commands::agent::run(settings, output, &command.0),
        Some(Command::Model { command }) => commands::model::run(settings, output, &command.0),
        Some(Command::Secret { command }) => commands::secret::run(settings, output, &command.0),
        Some(Command::Task { command }) => commands::task::run(settings, output, &command.0),
        Some(Command::Plan { command }) => commands::plan::run(settings, output, &command.0),
        #[cfg(feature = "http")]
        Some(Command::Dashboard(args)) => commands::dashboard::run(settings, output, &args),
        Some(Command::Mcp(args)) => commands::mcp::run(settings, output, args),
        Some(Command::Acp(args)) => commands::acp::run(settings, output, args),
        Some(Command::Worker(args)) => commands::worker::run(settings, output, &args),
        Some(Command::Workflow { command }) => {
            commands::workflow::run(settings, output, &command.0)
        }
        Some(Command::Explain { code }) => commands::errors::run(output, code.as_deref()),
        Some(Command::Man { dir, command }) => {
            commands::man::run(settings, output, dir.as_deref(), &command)
        }
        Some(Command::Completions { shell }) => commands::completions::run(output, shell),
        Some(Command::Tour { keep }) => commands::tour::run(settings, output, keep),
        Some(Command::CrateInfo(wanted)) => commands::crate_info::run(settings, output, &wanted),
        Some(Command::External(argv)) => dispatch::run(settings, output, &argv),
        // `help::wanted` has answered this one.
        None => Ok(ExitCode::SUCCESS),
    }
}

fn manner(remove: bool) -> Manner {
    if remove { Manner::TakeBack } else { Manner::Say }
}

fn edited(overwrite: bool) -> Edited {
    if overwrite { Edited::Overwrite } else { Edited::Keep }
}

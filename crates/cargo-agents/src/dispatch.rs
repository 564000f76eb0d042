//! `cargo agents <name>` for the names that plugins bring.

use std::{ffi::OsString, process::ExitCode};

use agents_install::Update;
use agents_plugin::{
    active::{Offered, Reason, State, here_for},
    confine::{ConfineError, Confinement, Owner},
    manifest::{Manner, RESERVED, SubcommandName, parse::parse_manifest},
    predicate::{Gate, Predicate, Surroundings, evaluate::Asker},
    probes::Acquire,
};
use agents_system::{
    explain::{Code, ErrorKind},
    nearest::{nearest, quoted_list},
    process::{Call, ProcessError},
};

use crate::{
    args::{ColorWhen, Flags, grammar},
    commands::agreed,
    failure::Failure,
    here::{BUILT_IN, BrokenWorkspace, Here, visit},
    output::Output,
    settings::Settings,
};

const SEE_HELP: &str = "`cargo agents --help` lists the commands that apply here";

/// Runs a plugin's command. On success this does not return: we become the child.
pub(crate) fn run(
    settings: &Settings,
    output: &Output,
    argv: &[OsString],
) -> Result<ExitCode, Failure> {
    let [name, rest @ ..] = argv else { return Ok(ExitCode::SUCCESS) };
    let Some(name) = name.to_str() else {
        let shown = name.to_string_lossy();
        return Err(Failure::new(ErrorKind::Usage, format!("no command is named `{shown}`"))
            .code(Code::UnknownCommand)
            .hint(SEE_HELP));
    };
    if let Some(own) = first_party(name) {
        let ours = own.into_iter().map(OsString::from);
        let flags = flags_again(&settings.flags).into_iter().map(OsString::from);
        let program = std::iter::once(OsString::from("cargo-agents"));
        let argv: Vec<_> = program.chain(ours).chain(flags).chain(rest.iter().cloned()).collect();
        return Ok(crate::start(&argv));
    }
    let attempt = |acquire| {
        visit(settings, acquire, BrokenWorkspace::Fails, |here, _| {
            let mut found = here.set.subcommands().filter(|it| it.subcommand.name.as_str() == name);
            match (found.next(), found.next()) {
                (Some(only), None) => resolve(here, &only, output).map(Lookup::Found),
                (Some(_), Some(_)) => Err(conflict(here, name)),
                (None, _) if acquire == Acquire::Never && may_be_hidden(here, name) => {
                    Ok(Lookup::NeedsPrograms)
                }
                (None, _) => Err(unknown(here, name)),
            }
        })
    };
    let call = match attempt(Acquire::Never)? {
        Lookup::Found(call) => call,
        Lookup::NeedsPrograms => match attempt(Acquire::IfMissing)? {
            Lookup::Found(call) => call,
            Lookup::NeedsPrograms => return Ok(ExitCode::FAILURE),
        },
    };
    settings.progress.end();
    output.flush()?;
    Failure::if_interrupted()?;
    Err(cannot_start(name, &call.args(rest.iter().cloned()).replace()))
}

enum Lookup {
    Found(Call),
    /// A custom predicate decides, and its program is not installed yet.
    NeedsPrograms,
}

fn resolve(here: &Here<'_>, offered: &Offered<'_>, output: &Output) -> Result<Call, Failure> {
    let plugin = offered.plugin;
    let manifest = plugin.manifest().map_err(|finding| {
        Failure::new(ErrorKind::Failure, finding.message).code(Code::ManifestInvalid)
    })?;
    let Some(subcommand) = manifest.subcommands.get(&offered.subcommand.name) else {
        return Err(Failure::new(ErrorKind::Bug, "the index and the manifest disagree"));
    };
    agreed::refuse_unaccepted(here, plugin)?;
    let (all, command) = (&manifest.installations, &subcommand.command);
    let runnable = here.registries.installer.resolve(all, command, plugin.dir())?;
    agreed::refuse_other_program(here, plugin, all, command)?;
    // About what was to be brought up to date; nothing else is said between a user and their command.
    if here.settings.update != Update::None {
        output.findings(&here.findings);
    }
    output.findings(&runnable.findings);
    let config = here.registries.config;
    if Confinement::of(config, &plugin.name, &plugin.origin) == Confinement::None {
        return Ok(runnable.call());
    }
    let root = here.workspace.as_ref().map(|it| it.root.as_path());
    let owner = Owner::new(plugin, &manifest.sandbox, root);
    let prepared = owner.confine_typed(&runnable, &here.settings.dirs, &here.settings.cwd);
    let prepared = prepared.map_err(|error| unconfined(offered, &error))?;
    Ok(prepared.call)
}

/// Who says that it must be.
pub(crate) const IS_CONFINED: &str = "`[sandbox] plugins` in config.toml says that it is confined";

/// What should be confined never runs otherwise.
fn unconfined(offered: &Offered<'_>, error: &ConfineError) -> Failure {
    let said = not_confined(&offered.subcommand.name, &offered.plugin.name, error);
    Failure::new(ErrorKind::Refused, said).code(Code::NoSandbox).hint(IS_CONFINED)
}

/// That a command of a plugin did not run.
pub(crate) fn not_confined(
    command: impl std::fmt::Display,
    plugin: impl std::fmt::Display,
    error: &ConfineError,
) -> String {
    format!("`{command}` of `{plugin}` did not run: {error}")
}

/// What makes this program do the work of a first-party plugin's command. Such a command applies everywhere and its
/// name is reserved, so neither the workspace nor any other plugin has to be looked at.
fn first_party(name: &str) -> Option<Vec<String>> {
    let manifests = BUILT_IN.iter().filter_map(|built_in| {
        parse_manifest(built_in.name.into(), built_in.manifest, Manner::FirstParty, None).manifest
    });
    let mut installations = manifests.filter_map(|mut manifest| {
        let subcommand = manifest.subcommands.get(&SubcommandName::new(name)?)?;
        manifest.installations.remove(&subcommand.command)
    });
    installations.next().map(|installation| installation.args)
}

fn flags_again(flags: &Flags) -> Vec<&'static str> {
    let Flags { json, quiet, verbose, offline, locked, frozen, color, update: _, help: _ } = flags;
    let switches = [
        (*json, "--json"),
        (*quiet, "--quiet"),
        (*verbose, "--verbose"),
        (*offline, "--offline"),
        (*locked, "--locked"),
        (*frozen, "--frozen"),
        (*color == ColorWhen::Always, "--color=always"),
        (*color == ColorWhen::Never, "--color=never"),
    ];
    switches.into_iter().filter(|(on, _)| *on).map(|(_, flag)| flag).collect()
}

/// Whether some plugin has such a command and only a custom predicate may stand in the way.
fn may_be_hidden(here: &Here<'_>, name: &str) -> bool {
    let asks = |gate: &Gate| gate.iter().any(has_custom);
    let mut named = here
        .set
        .inapplicable_subcommands()
        .filter(|offered| offered.subcommand.name.as_str() == name);
    here.set.lacks_programs()
        && named.any(|offered| asks(&offered.plugin.gate) || asks(&offered.subcommand.gate))
}

fn has_custom(predicate: &Predicate) -> bool {
    match predicate {
        Predicate::Custom { .. } => true,
        Predicate::Not(inner) => has_custom(inner),
        Predicate::Any(inner) | Predicate::All(inner) => inner.iter().any(has_custom),
        _ => false,
    }
}

fn conflict(here: &Here<'_>, name: &str) -> Failure {
    let who = here.set.subcommands().filter(|it| it.subcommand.name.as_str() == name);
    let lines: Vec<String> = who
        .map(|it| format!("{}  ({}, {})", it.plugin.name, it.plugin.origin, it.plugin.file))
        .collect();
    Failure::new(
        ErrorKind::Usage,
        format!("{} plugins bring a command named `{name}`", lines.len()),
    )
    .code(Code::CommandTwice)
    .details(lines.join("\n"))
    .hint("tighten the gate of one of them, or turn it off with `[plugins] disable` in config.toml")
}

fn unknown(here: &Here<'_>, name: &str) -> Failure {
    let elsewhere: Vec<Offered<'_>> = here
        .set
        .inapplicable_subcommands()
        .filter(|offered| offered.subcommand.name.as_str() == name)
        .collect();
    if !elsewhere.is_empty() {
        return inapplicable(here, name, &elsewhere);
    }
    let failure = Failure::new(ErrorKind::Usage, format!("no command is named `{name}`"))
        .code(Code::UnknownCommand);
    if RESERVED.contains(&name) {
        return failure
            .details("the name is reserved for a later version of cargo agents")
            .hint(SEE_HELP);
    }
    let grammar = grammar();
    let built_in =
        grammar.get_subcommands().filter(|it| !it.is_hide_set()).map(clap::Command::get_name);
    let offered: Vec<&str> = here.set.subcommands().map(|it| it.subcommand.name.as_str()).collect();
    let near = nearest(name, built_in.chain(offered));
    failure.hint(if near.is_empty() {
        SEE_HELP.to_owned()
    } else {
        format!("did you mean {}? {SEE_HELP}", quoted_list(&near, "or"))
    })
}

/// The command exists, but not here: say what it would take.
fn inapplicable(here: &Here<'_>, name: &str, elsewhere: &[Offered<'_>]) -> Failure {
    let (probes, _) = here.probes();
    let surroundings =
        Surroundings { workspace: here.workspace.as_ref(), probes: &probes, asker: Asker::Other };
    let mut details = Vec::new();
    let mut needs: Vec<String> = Vec::new();
    for offered in elsewhere {
        let plugin = offered.plugin;
        details.push(format!("{}  ({}, {})", plugin.name, plugin.origin, plugin.file));
        if let State::Inactive(reason) = offered.state
            && let Some(words) = in_words(reason)
        {
            details.push(format!("  {words}"));
            continue;
        }
        let surroundings = here_for(surroundings, plugin);
        for gate in [&plugin.gate, &offered.subcommand.gate] {
            let evaluation = gate.explain(surroundings);
            if evaluation.holds {
                continue;
            }
            details.extend(evaluation.steps.iter().map(|step| {
                let verdict = if step.holds { "yes" } else { "no" };
                let indent = "  ".repeat(step.depth + 1);
                format!("{indent}{}   {verdict}   {}", step.condition, step.because)
            }));
            needs.extend(gate.lacking(surroundings).iter().map(|atom| format!("`{atom}`")));
        }
    }
    needs.sort();
    needs.dedup();
    let needs = needs.join(" or ");
    let message = match (needs.is_empty(), here.workspace.is_some()) {
        (true, _) => format!("`{name}` does not apply here"),
        (false, true) => format!("`{name}` needs {needs}, which this workspace does not depend on"),
        (false, false) => format!("`{name}` needs a Rust workspace that depends on {needs}"),
    };
    Failure::new(ErrorKind::Usage, message)
        .code(Code::CommandElsewhere)
        .details(details.join("\n"))
        .hint(SEE_HELP)
}

fn in_words(reason: &Reason) -> Option<String> {
    match reason {
        Reason::Gate => None,
        Reason::Disabled => Some("turned off by `[plugins] disable`".to_owned()),
        Reason::Sleeping => {
            Some("names no crate and sleeps until `[plugins] use` names it".to_owned())
        }
        Reason::WouldRun => Some(
            "comes with this workspace and its conditions run programs; it needs `[plugins] use`"
                .to_owned(),
        ),
        Reason::NoConsent => {
            Some("comes from a dependency and needs `[plugins] use` or `auto-enable`".to_owned())
        }
        Reason::Superseded(origin) => {
            Some(format!("superseded by the plugin of that name in {origin}"))
        }
    }
}

fn cannot_start(name: &str, error: &ProcessError) -> Failure {
    let mut message = format!("cannot start `{name}`: {error}");
    if let Some(source) = std::error::Error::source(error) {
        message = format!("{message}: {source}");
    }
    Failure::new(ErrorKind::Failure, message).code(Code::NothingToRun)
}

#[cfg(test)]
mod tests {
    use super::*;
    use agents_install::Entry;

    #[test]
    fn first_party_commands_apply_everywhere_and_are_this_program() {
        for built_in in BUILT_IN {
            let file = built_in.name.into();
            let parsed = parse_manifest(file, built_in.manifest, Manner::FirstParty, None);
            let manifest = parsed.manifest.unwrap();
            assert_eq!(manifest.gate.to_string(), "depends-on(*)");
            for (name, subcommand) in &manifest.subcommands {
                assert!(RESERVED.contains(&name.as_str()));
                assert_eq!(subcommand.gate, Gate::open());
                let entry = &manifest.installations[&subcommand.command].entry;
                assert_eq!(*entry, Some(Entry::Executable("cargo-agents".to_owned())));
                assert!(first_party(name.as_str()).is_some());
            }
        }
        assert_eq!(first_party("nonsense"), None);
    }
}

//! From what was typed to [`Args`].
//!
//! Clap copies the nine flags that count everywhere into every command that it knows, which took half of a short start. It is told
//! about the one command that was typed; only what it does not understand that way is looked at with the whole grammar.

use std::ffi::OsString;

use clap::{CommandFactory as _, FromArgMatches as _, Subcommand, error::ErrorKind};

use super::{Args, Command, Typed, is_built_in};

/// No command of ours.
#[derive(Debug, Subcommand)]
enum Others {
    #[command(external_subcommand)]
    External(#[expect(dead_code, reason = "only the grammar of it is used")] Vec<OsString>),
}

/// What was typed.
pub(crate) fn parse(argv: &[OsString]) -> Result<Args, clap::Error> {
    let mut words = argv.iter().skip(1).filter_map(|word| word.to_str());
    let typed = words.find(|word| is_built_in(word));
    let parsed = parse_with(with(typed), argv);
    match parsed {
        // What could have been meant is said by the whole.
        Err(error) if error.kind() != ErrorKind::DisplayVersion => {
            parse_with(Args::command(), argv)
        }
        parsed => parsed,
    }
}

fn parse_with(mut grammar: clap::Command, argv: &[OsString]) -> Result<Args, clap::Error> {
    let matches = grammar.try_get_matches_from_mut(argv)?;
    Args::from_arg_matches(&matches).map_err(|error| error.format(&mut grammar))
}

/// The grammar with one command, or without any.
fn with(name: Option<&str>) -> clap::Command {
    let bare = Typed::<Others>::command();
    match name.and_then(|name| commands().find_subcommand(name).cloned()) {
        Some(command) => bare.subcommand(command),
        None => bare,
    }
}

/// All built-in commands as they are before anything is copied into them.
fn commands() -> clap::Command {
    Command::augment_subcommands(clap::Command::new("commands"))
}

/// The built-in commands, and the grammar to render what stands around them: one command stands for all.
pub(crate) fn overview() -> (clap::Command, clap::Command) {
    let commands = commands();
    let first = commands.get_subcommands().next().cloned();
    (commands, Typed::<Others>::command().subcommands(first))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever is typed means the same to both grammars, and what neither understands is explained by the whole one.
    #[test]
    fn it_is_understood_as_the_whole_grammar_understands_it() {
        for line in [
            "",
            "--version",
            "--help",
            "-q --help",
            "--json plugin list",
            "plugin --json list",
            "plugin list --json --color never",
            "--color never sync --check",
            "--color sync",
            "--update check demo --json sync",
            "demo sync plugin",
            "-- sync",
            "sync --check --dry-run",
            "sync extra",
            "synk",
            "plugin lst",
            "--nonsense sync",
            "sync --nonsense",
            "hook claude pre-tool-use",
            "__crate-info serde --version 1",
            "command show fix these words",
            "task run worker do it",
            "use",
        ] {
            let argv: Vec<OsString> = std::iter::once("cargo-agents")
                .chain(line.split_whitespace())
                .map(OsString::from)
                .collect();
            let shown = |parsed: Result<Args, clap::Error>| match parsed {
                Ok(args) => format!("{args:?}"),
                Err(error) => error.to_string(),
            };
            let whole = shown(parse_with(Args::command(), &argv));
            assert_eq!(shown(parse(&argv)), whole, "{line}");
        }
    }

    #[test]
    fn what_stands_around_commands_is_the_same_for_one_and_for_all() {
        let (commands, mut around) = overview();
        let mut whole = Args::command();
        let names = |of: &clap::Command| -> Vec<String> {
            of.get_subcommands().map(|it| it.get_name().to_owned()).collect()
        };
        assert_eq!(names(&commands), names(&whole));
        let template = "{about} {usage} {options}";
        around = around.help_template(template);
        whole = whole.help_template(template);
        assert_eq!(around.render_help().to_string(), whole.render_help().to_string());
    }
}

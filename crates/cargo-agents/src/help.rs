//! Help that adapts to where you stand.
//!
//! Whether help is wanted is decided after clap has parsed, so the order of arguments does not matter
//! and there is no second parser to keep in step. Top-level help is clap's header and options with our two sections of
//! commands between them; help of a built-in command is clap's own; help of a plugin's command belongs to its program.

use std::{ffi::OsString, process::ExitCode};

use agents_plugin::{
    active::Offered,
    manifest::Audience,
    plugin::Origin,
    predicate::{Surroundings, evaluate::Asker},
    probes::Acquire,
};
use serde::Serialize;

use crate::{
    args::{self, Args, Command, builtin_audience, flags_of},
    failure::Failure,
    here::{BrokenWorkspace, Here, visit},
    output::Output,
    settings::Settings,
};

/// The headings of the two sections, which hints for agents refer to.
pub(crate) const HUMANS: &str = "Commands for humans";
/// See [`HUMANS`].
pub(crate) const AGENTS: &str = "Commands for agents";

/// The last line of the overview, for those who are new.
const CLOSING: &str = "\nSee what it does in a sample workspace: `cargo agents tour`";

/// Which help is wanted.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Everything there is.
    Overview,
    /// That of a built-in command, by its path.
    BuiltIn(Vec<String>),
}

/// Whether help is wanted, and which.
pub(crate) fn wanted(parsed: &Result<Args, clap::Error>, argv: &[OsString]) -> Option<Wanted> {
    match parsed {
        Ok(args) => match &args.command {
            None => Some(Wanted::Overview),
            Some(Command::External(typed)) if typed[0] == "help" => {
                Some(built_in_path(&typed[1..]).map_or(Wanted::Overview, Wanted::BuiltIn))
            }
            // `cargo agents --help <name>`: the flag was meant for us.
            Some(Command::External(typed)) if args.flags.help => {
                Some(built_in_path(typed).map_or(Wanted::Overview, Wanted::BuiltIn))
            }
            Some(Command::External(_)) => None,
            Some(_) if args.flags.help => {
                Some(built_in_path(&argv[1..]).map_or(Wanted::Overview, Wanted::BuiltIn))
            }
            Some(_) => None,
        },
        Err(_) => {
            let asked = argv.iter().skip(1).any(|arg| arg == "-h" || arg == "--help");
            asked.then(|| built_in_path(&argv[1..]).map(Wanted::BuiltIn)).flatten()
        }
    }
}

/// The deepest built-in command that the words name, as people type it.
fn built_in_path(words: &[OsString]) -> Option<Vec<String>> {
    let grammar = typed_grammar();
    let (mut command, mut path) = (&grammar, Vec::new());
    let mut words = words.iter().filter_map(|word| word.to_str());
    while let Some(word) = words.next() {
        if word == "--update" || word == "--color" {
            words.next();
        } else if !word.starts_with('-') {
            let Some(inner) = command.find_subcommand(args::typed_name(word)) else { break };
            command = inner;
            path.push(inner.get_name().to_owned());
        }
    }
    (!path.is_empty()).then_some(path)
}

/// The whole grammar with the names that people type, ready to render help.
fn typed_grammar() -> clap::Command {
    let mut grammar = args::as_typed();
    grammar.build();
    grammar
}

/// Prints it.
pub(crate) fn show(
    wanted: &Wanted,
    parsed: &Result<Args, clap::Error>,
    output: &Output,
) -> Result<ExitCode, Failure> {
    match wanted {
        Wanted::BuiltIn(path) => {
            let grammar = typed_grammar();
            // `path` was made by walking the same grammar.
            let command =
                path.iter().try_fold(&grammar, |command, name| command.find_subcommand(name));
            let exemplified = |it: &clap::Command| args::with_examples(it.clone(), &path.join(" "));
            let help = command.map(|it| exemplified(it).render_help()).unwrap_or_default();
            output.text(styled(&help, output))?;
        }
        Wanted::Overview => {
            let flags = match parsed {
                Ok(args) => args.flags.clone(),
                Err(_) => flags_of(&[]),
            };
            let settings = Settings::new(&flags)?;
            visit(&settings, Acquire::Never, BrokenWorkspace::IsReported, |here, error| {
                overview(here, output)?;
                if let Some(error) = error {
                    let failure = Failure::from(error);
                    output.flush()?;
                    output.talk(&failure.render(output));
                }
                Ok(())
            })?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// One row of the overview.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Row {
    name: String,
    description: String,
    /// `humans` or `agents`
    audience: &'static str,
    /// The plugin that brings it; absent for what comes with the program
    #[serde(skip_serializing_if = "Option::is_none")]
    plugin: Option<String>,
    /// The packages that make it apply here, as `name version`
    because: Vec<String>,
}

/// `cargo agents --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct HelpDocument {
    commands: Vec<Row>,
}

fn overview(here: &Here<'_>, output: &Output) -> Result<(), Failure> {
    // Building the whole tree, as `grammar` does, would cost more than all the rest.
    let (commands, around) = args::overview();
    let mut around = around.help_template("{about}\n\n{usage-heading} {usage}\n␞{options}");
    let rows = rows(here, &commands);
    if output.is_json() {
        return output.document(&HelpDocument { commands: rows });
    }
    let rendered = styled(&around.render_help(), output);
    let (header, options) = rendered.split_once('␞').unwrap_or((&rendered, ""));
    output.text(header)?;
    let width = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
    for (heading, audience) in [(HUMANS, Audience::Humans), (AGENTS, Audience::Agents)] {
        output.text(heading_line(heading, output))?;
        for row in rows.iter().filter(|row| row.audience == audience.word()) {
            output.line(render_row(row, width))?;
        }
    }
    output.text(heading_line("Options", output))?;
    output.line(options.trim_matches('\n'))?;
    output.line(CLOSING)?;
    mention_problems(here, output);
    Ok(())
}

fn heading_line(heading: &str, output: &Output) -> String {
    let style = anstyle::Style::new().bold().underline();
    if output.colors_results() {
        format!("\n{style}{heading}:{style:#}\n")
    } else {
        format!("\n{heading}:\n")
    }
}

fn render_row(row: &Row, width: usize) -> String {
    let description = row.description.lines().next().unwrap_or_default();
    let line = format!("  {:width$}  {description}", row.name);
    match (&row.plugin, row.because.as_slice()) {
        (None, _) => line,
        (Some(plugin), []) => format!("{line}   (from {plugin})"),
        (Some(plugin), because) => {
            format!("{line}   (from {plugin}, because {})", because.join(", "))
        }
    }
}

/// Built-ins by name, then plugins' by name and description.
fn rows(here: &Here<'_>, commands: &clap::Command) -> Vec<Row> {
    let mut rows: Vec<Row> = commands
        .get_subcommands()
        .filter_map(|command| {
            let audience = builtin_audience(command.get_name())?;
            Some(Row {
                name: command.get_name().to_owned(),
                description: command.get_about().map(ToString::to_string).unwrap_or_default(),
                audience: audience.word(),
                plugin: None,
                because: Vec::new(),
            })
        })
        .collect();
    let (probes, _) = here.probes();
    let surroundings =
        Surroundings { workspace: here.workspace.as_ref(), probes: &probes, asker: Asker::Other };
    rows.extend(here.set.subcommands().map(|offered| plugin_row(&offered, surroundings)));
    rows.sort_by(|a, b| {
        let key = |row: &Row| (row.plugin.is_some(), row.name.clone(), row.description.clone());
        key(a).cmp(&key(b))
    });
    rows
}

fn plugin_row(offered: &Offered<'_>, here: Surroundings<'_>) -> Row {
    let first_party = offered.plugin.origin == Origin::BuiltIn;
    let because = offered.because(here);
    Row {
        name: offered.subcommand.name.to_string(),
        description: offered.subcommand.description.clone(),
        audience: offered.subcommand.audience.word(),
        plugin: (!first_party).then(|| offered.plugin.name.to_string()),
        because: because.iter().map(|(name, version)| format!("{name} {version}")).collect(),
    }
}

/// What keeps commands out of the list is worth one line, not a page.
fn mention_problems(here: &Here<'_>, output: &Output) {
    output.findings(here.findings.iter().chain(&here.set.findings));
    output.findings(&here.left_out());
}

fn styled(text: &clap::builder::StyledStr, output: &Output) -> String {
    if output.colors_results() { text.ansi().to_string() } else { text.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser as _;

    fn check(line: &str, expected: impl Into<Option<Wanted>>) {
        let argv: Vec<OsString> = std::iter::once("cargo-agents")
            .chain(line.split_whitespace())
            .map(Into::into)
            .collect();
        let parsed = Args::try_parse_from(&argv);
        assert_eq!(wanted(&parsed, &argv), expected.into(), "{line}");
    }

    fn built_in(path: &[&str]) -> Option<Wanted> {
        Some(Wanted::BuiltIn(path.iter().map(ToString::to_string).collect()))
    }

    #[test]
    fn the_decision_table() {
        for line in ["", "--help", "-h", "help", "--help --quiet", "--quiet --help", "-q help"] {
            check(line, Some(Wanted::Overview));
        }
        check("plugin --help", built_in(&["plugin"]));
        check("--help plugin", built_in(&["plugin"]));
        check("plugin list -h", built_in(&["plugin", "list"]));
        check("plugin show --help", built_in(&["plugin", "show"]));
        check("--update none plugin list --help", built_in(&["plugin", "list"]));
        check("help plugin list", built_in(&["plugin", "list"]));
        check("plugin cache prune --help", built_in(&["plugin", "cache", "prune"]));
        // People do not know it by the name of its program.
        for line in ["help crate-info", "--help crate-info", "__crate-info --help"] {
            check(line, built_in(&["crate-info"]));
        }
        check("plugin list", None);
        // A plugin's command owns its help; the flag before the name is ours.
        check("demo --help", None);
        check("demo -h x", None);
        check("--help demo", Some(Wanted::Overview));
        // Nonsense is an error, with or without a cry for help.
        check("--nonsense", None);
        check("--nonsense --help", None);
        check("plugin --nonsense --help", built_in(&["plugin"]));
    }
}

//! Reference pages that are made from what the program says itself: its commands, and what it tells while it works.
//!
//! `UPDATE_DOCS=1 cargo test -p cargo-agents reference` writes them anew.

use agents_system::explain::ErrorKind;
use agents_testkit::pages::check_generated;
use serde_json::Value;

use crate::{
    args,
    schemas::{EVERY, OVERVIEW, PUBLISHED, Role, split},
};

mod keys;
mod plan_file;

const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");

/// The words that stand before a command, and the command, without options that count everywhere.
pub(crate) fn commands(
    command: &clap::Command,
    path: &str,
    found: &mut Vec<(String, clap::Command)>,
) {
    for inner in command.get_subcommands().filter(|it| !it.is_hide_set()) {
        let path = format!("{path} {}", inner.get_name());
        let own = inner.clone().term_width(100).mut_args(|arg| {
            let is_everywhere = arg.is_global_set();
            arg.hide(is_everywhere)
        });
        found.push((path.clone(), own));
        commands(inner, &path, found);
    }
}

/// `[doctor](json/doctor.schema.json)`
fn link(schema: &str) -> String {
    format!("[{schema}](json/{schema}.schema.json)")
}

/// The link to what is printed by no command alone.
fn link_of_all(stands_for: &str) -> String {
    link(PUBLISHED.iter().find(|it| it.commands.contains(&stands_for)).unwrap().name)
}

/// The links to the schemas of a command, each with the arguments that it is for.
fn links(path: &str, role: Role) -> Vec<(&'static str, String)> {
    let of_role = PUBLISHED.iter().filter(|it| it.role == role);
    let typed = of_role.flat_map(|it| it.commands.iter().map(|typed| (split(typed), it.name)));
    let of_command = typed.filter(|((command, _), _)| *command == path);
    of_command.map(|((_, rest), name)| (rest, link(name))).collect()
}

/// What a command prints and reads, in sentences; nothing if there is no schema.
fn formats(path: &str) -> String {
    let mut all: Vec<(&str, String)> = Vec::new();
    for (rest, link) in links(path, Role::Printed) {
        match all.iter_mut().find(|(same, _)| *same == rest) {
            Some((_, other)) => other.push_str(&format!(" or {link}")),
            None => all.push((rest, link)),
        }
    }
    let printed = all.into_iter().enumerate().map(|(at, (rest, link))| {
        let (arguments, verb) = (format!("{rest} --json"), if at == 0 { " it prints" } else { "" });
        format!("`{}`{verb} {link}", arguments.trim_start())
    });
    let printed = printed.collect::<Vec<String>>().join(", with ");
    let named = |role: Role| {
        let links = links(path, role).into_iter().map(|(_, link)| link);
        links.collect::<Vec<String>>().join(" and ")
    };
    let sentences = [
        ("With ", printed),
        ("The file that it reads is ", named(Role::Read)),
        ("What hooks are given and what they answer: ", named(Role::Exchanged)),
    ];
    let said = sentences.iter().filter(|(_, links)| !links.is_empty());
    let said: Vec<String> = said.map(|(what, links)| format!("{what}{links}.")).collect();
    if said.is_empty() { String::new() } else { format!("\n{}\n", said.join(" ")) }
}

#[test]
fn the_page_of_commands_holds_all_of_them() {
    let grammar = args::manual();
    let mut found = Vec::new();
    commands(&grammar, "cargo agents", &mut found);
    assert!(found.len() > 70, "{}", found.len());
    let mut everywhere = grammar
        .clone()
        .term_width(100)
        .mut_subcommands(|inner| inner.hide(true))
        .help_template("{options}");
    let exit = |kind: ErrorKind, what: &str| {
        format!("| {} | `{}` | {what} |\n", kind.exit_code(), kind.word())
    };
    let mut page = format!(
        "# Commands\n\nGenerated from the program's own definitions; a test keeps it true. `--help` after a command prints the same, \
         `cargo agents man COMMAND` as a manual page. Plugins add more commands: `cargo agents --help` lists those available \
         in the current directory.\n\n\
         ## Options that every command has\n\n```text\n{}\n```\n\n\
         Each command names the schemas of what it prints with `--json`; one that names none prints the same with it, and so does `--version`. \
         Errors of all commands: {}. The overview, `cargo agents --json`: {}.\n\n\
         ## Exit codes\n\n| code | `kind` in `--json` | when |\n|---|---|---|\n| 0 | | done |\n{}{}{}{}{}{}\n\
         A plugin's command exits with its program's code. A closed pipe (`| head`) is not a failure, and hides none.\n",
        everywhere.render_help().to_string().trim_end(),
        link_of_all(EVERY),
        link_of_all(OVERVIEW),
        exit(
            ErrorKind::Failure,
            "it ran, and something failed; `sync --check` or `doctor` found something"
        ),
        exit(ErrorKind::Usage, "the command line, a configuration file or a manifest is wrong"),
        exit(ErrorKind::Refused, "a rule forbids it"),
        exit(ErrorKind::Network, "the network or a remote service failed"),
        exit(ErrorKind::Bug, "a bug in cargo agents; the message says what to report"),
        exit(ErrorKind::Cancelled, "you stopped it"),
    );
    for (path, mut command) in found {
        let level = "#".repeat(path.split(' ').count() - 1);
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        let help = command.render_help().to_string();
        // The first lines of it are the heading here.
        let help = help.split_once("Usage: ").map_or(help.as_str(), |(_, usage)| usage).trim_end();
        page.push_str(&format!("\n{level} `{path}`\n\n{about}.\n\n```text\n{help}\n```\n"));
        page.push_str(&formats(path.trim_start_matches("cargo agents ")));
    }
    check_generated(&format!("{DOCS}/commands.md"), &page);
}

/// The first column of the table below this heading.
fn first_column(page: &str, heading: &str) -> Vec<String> {
    let (_, rest) = page.split_once(&format!("## {heading}\n")).unwrap();
    let rows = rest.lines().skip_while(|line| !line.starts_with('|'));
    let rows = rows.take_while(|line| line.starts_with('|')).skip(2);
    rows.map(|row| row.split('|').nth(1).unwrap_or_default().trim().to_owned()).collect()
}

#[test]
fn the_readme_has_every_exit_code() {
    let read = |page: &str| fs_err::read_to_string(format!("{DOCS}/{page}")).unwrap();
    let codes = first_column(&read("commands.md"), "Exit codes");
    assert!(codes.contains(&"130".to_owned()), "{codes:?}");
    assert_eq!(first_column(&read("../README.md"), "Exit codes"), codes);
}

/// A table of what can be in each variant: the value of its tag, what it means, and its fields.
fn variants(of: &Value, tag: &str) -> String {
    let line = |text: &Value| {
        let text = text["description"].as_str().unwrap_or_default().replace('\n', " ");
        text.trim_end_matches('.').replace('|', "\\|")
    };
    let row = |variant: &Value| {
        let name = variant["properties"][tag]["const"].as_str().unwrap().to_owned();
        let fields = variant["properties"].as_object().unwrap().iter();
        let fields: Vec<String> = fields
            .filter(|(field, _)| *field != tag)
            .map(|(field, about)| format!("`{field}`: {}", line(about)))
            .collect();
        format!("| `{name}` | {} | {} |\n", line(variant), fields.join("<br>"))
    };
    of["oneOf"].as_array().unwrap().iter().map(row).collect()
}

#[test]
fn the_page_of_events_holds_all_of_them() {
    // The schemas are compared with the types where those are.
    let schema = |name: &str| -> Value {
        let text = fs_err::read_to_string(format!("{DOCS}/json/{name}.schema.json")).unwrap();
        serde_json::from_str(&text).unwrap()
    };
    let (task, plan) = (schema("task-event"), schema("plan-run"));
    let head = |tag: &str| format!("| `{tag}` | what | besides |\n|---|---|---|\n");
    let page = format!(
        "# Events\n\nGenerated from the published schemas; a test keeps it true.\n\n\
         Events are reported as they happen, one JSON object per line, by `cargo agents task run --json`, `task batch --json`, \
         `task attach --json` and `plan run --json`. Names and meanings are stable; fields and events may be added, so ignore those that you do not know. \
         The transcript of a task (`task logs`) has the messages themselves; see [tasks](tasks.md).\n\n\
         ## Of a task\n\nEvery line has `task` (its id) and `path` (its position below the tasks that started it). \
         The first is `started`, the last is `ended`, and there is exactly one of each. [Schema](json/task-event.schema.json).\n\n{}{}\n\
         ### How a task ends\n\n`outcome.ending` of the last line, by `state`; what failed has a `why`:\n\n{}{}\n{}{}\n\
         ## Of a run of a plan\n\n[Schema](json/plan-run.schema.json).\n\n{}{}\n\
         An `event` has {}. What is in the journal is told after it is written: [plans](plans.md).\n",
        head("event"),
        variants(&task, "event"),
        head("state"),
        variants(&task["$defs"]["Ending"], "state"),
        head("why"),
        variants(failures(&task["$defs"]["Ending"]), "why"),
        head("line"),
        variants(&plan, "line"),
        plan["$defs"]["EventView"]["properties"]["event"]["description"]
            .as_str()
            .unwrap()
            .replace('\n', " "),
    );
    check_generated(&format!("{DOCS}/events.md"), &page);
}

/// The endings that say why.
fn failures(ending: &Value) -> &Value {
    let all = ending["oneOf"].as_array().unwrap();
    all.iter().find(|it| it["properties"]["state"]["const"] == "failed").unwrap()
}

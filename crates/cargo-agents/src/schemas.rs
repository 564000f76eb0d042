//! The published schemas of `--json`, checked against the types that are printed.
//!
//! `UPDATE_DOCS=1 cargo test -p cargo-agents schemas` writes them anew.

mod published;

use std::collections::BTreeSet;

pub(crate) use self::published::{EVERY, OVERVIEW, PUBLISHED, Published, Role, split};
use crate::{args, reference::commands};

const DIR: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json");

/// Commands that print the same with `--json`, and therefore have no schema.
const WITHOUT: &[&str] = &[
    // Their output is a script, a transcript that is JSON anyway, or the protocol of whoever started them.
    "completions",
    "task logs",
    "mcp",
    "acp",
    "worker",
];

#[test]
fn the_published_schemas_are_those_of_the_printed_documents() {
    for Published { name, schema, .. } in PUBLISHED {
        let Some(schema) = schema else { continue };
        let text = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
        agents_testkit::pages::check_generated(&format!("{DIR}/{name}.schema.json"), &text);
    }
}

#[test]
fn every_schema_belongs_to_a_command() {
    let files = fs_err::read_dir(DIR).unwrap().map(|it| it.unwrap().file_name());
    let files: BTreeSet<String> = files.map(|it| it.into_string().unwrap()).collect();
    let known: BTreeSet<String> =
        PUBLISHED.iter().map(|it| format!("{}.schema.json", it.name)).collect();
    assert_eq!(known.len(), PUBLISHED.len(), "one is listed twice");
    let is_built = |file: &&String| cfg!(feature = "http") || *file != "dashboard.schema.json";
    let strays: Vec<&String> = files.symmetric_difference(&known).filter(is_built).collect();
    assert!(strays.is_empty(), "no command, or no file: {strays:?}");
    let grammar = args::manual();
    for Published { name, commands, .. } in PUBLISHED {
        assert!(!commands.is_empty(), "{name} belongs to no command");
        for typed in commands.iter().filter(|it| ![OVERVIEW, EVERY].contains(it)) {
            let (path, rest) = split(typed);
            let command = path.split(' ').try_fold(&grammar, |it, word| it.find_subcommand(word));
            let command = command.unwrap_or_else(|| panic!("{name}: there is no `{path}`"));
            for option in rest.split(' ').filter_map(|word| word.strip_prefix("--")) {
                let is_there = command.get_arguments().any(|arg| arg.get_long() == Some(option));
                assert!(is_there, "{name}: `{path}` has no `--{option}`");
            }
        }
    }
}

#[test]
fn every_command_has_a_schema_or_is_known_to_have_none() {
    let mut all = Vec::new();
    commands(&args::manual(), "", &mut all);
    let printed = PUBLISHED.iter().filter(|it| it.role == Role::Printed);
    let with: BTreeSet<&str> =
        printed.flat_map(|it| it.commands).map(|typed| split(typed).0).collect();
    let ends = all.iter().filter(|(_, command)| !command.has_subcommands());
    let without = ends.map(|(path, _)| path.trim_start()).filter(|path| !with.contains(path));
    assert_eq!(without.collect::<BTreeSet<_>>(), WITHOUT.iter().copied().collect());
}

#[test]
fn the_page_of_environment_variables_lists_all_of_them() {
    let rows: String = agents_system::env::ALL
        .iter()
        .map(|variable| format!("| `{}` | {} |\n", variable.name, variable.meaning.trim()))
        .collect();
    let page = format!(
        "# Environment variables\n\nGenerated from `crates/system/src/env.rs`; a test keeps it true.\n\n\
         | variable | meaning |\n|---|---|\n{rows}\n\
         Children that we start for plugins get `SYMPOSIUM_<NAME>` (what to run) and `SYMPOSIUM_DIR_<NAME>` (its directory) for \
         each installation involved, and `PATH` with their directories in front.\n"
    );
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/environment.md");
    agents_testkit::pages::check_generated(file, &page);
}

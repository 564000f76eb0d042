//! Thirty broken manifests, thirty different errors.

use std::collections::BTreeSet;

use super::*;

/// What is wrong, and the manifest below `name = "demo"`.
const BROKEN: [(&str, &str); 30] = [
    ("not TOML", "crates = [\"serde\"\n"),
    ("the same key twice", "crates = []\ncrates = []\n"),
    ("misspelt key at the top", "crats = [\"serde\"]\n"),
    ("key of nobody", "colour = \"red\"\n"),
    ("wrong type", "crates = 5\n"),
    ("wrong type in a list", "crates = [\"serde\", 5]\n"),
    ("two vocabularies", "crates = \"a\"\ndepends-on = \"b\"\n"),
    ("not a crate name", "crates = [\"serde/derive\"]\n"),
    ("not a requirement", "crates = [\"serde>=one\"]\n"),
    ("version after a blank", "crates = [\"serde 1.0\"]\n"),
    ("predicate among crates", "crates = [\"env(CI)\"]\n"),
    ("crate among predicates", "predicates = [\"serde\"]\n"),
    ("misspelt predicate", "predicates = [\"path-exists(x)\"]\n"),
    ("parenthesis missing", "predicates = [\"not(env(CI)\"]\n"),
    ("one bracket too few", "[hooks]\nname = \"h\"\n"),
    (
        "misspelt event",
        "[[hooks]]\nname = \"h\"\nevent = \"PreToolUze\"\ncommand = { executable = \"x\" }\n",
    ),
    ("hook without command", "[[hooks]]\nname = \"h\"\nevent = \"Stop\"\n"),
    (
        "hook without program",
        "[[hooks]]\nname = \"h\"\nevent = \"Stop\"\ncommand = { args = [\"x\"] }\n",
    ),
    (
        "misspelt reference",
        "[[hooks]]\nname = \"h\"\nevent = \"Stop\"\ncommand = \"tol\"\n[[installations]]\nname = \"tool\"\nexecutable = \"x\"\n",
    ),
    ("misspelt key in a list", "[[installations]]\nname = \"i\"\nexectuable = \"fmt-tool\"\n"),
    ("unknown kind of source", "[[installations]]\nname = \"i\"\nsource = \"npm\"\n"),
    ("source without kind", "[[installations]]\nname = \"i\"\ncrate = \"tool\"\n"),
    (
        "vague version",
        "[[installations]]\nname = \"i\"\nsource = \"cargo\"\ncrate = \"t\"\nversion = \"1\"\n",
    ),
    (
        "binary unknown",
        "[[installations]]\nname = \"i\"\nsource = \"cargo\"\ncrate = \"t\"\ngit = \"https://x\"\n",
    ),
    ("two things to run", "[[installations]]\nname = \"i\"\nexecutable = \"a\"\nscript = \"b\"\n"),
    ("reserved name", "[subcommand.sync]\ndescription = \"d\"\ncommand = { executable = \"x\" }\n"),
    ("two skill sources", "[[skills]]\nsource = { path = \"a\", git = \"b\" }\n"),
    ("unknown shorthand", "[[skills]]\nsource = \"crates.io\"\n"),
    ("no crate to fetch", "crates = \"*\"\n[[skills]]\nsource = \"crate\"\n"),
    ("dependency table", "[[plugins]]\nsource.cargo = { widget = \"1\" }\n"),
];

/// Errors for which there is nothing to add: the message says it all.
const SPEAK_FOR_THEMSELVES: [&str; 8] = [
    "not TOML",
    "the same key twice",
    "wrong type",
    "wrong type in a list",
    "not a crate name",
    "parenthesis missing",
    "one bracket too few",
    "hook without command",
];

fn findings(text: &str) -> Vec<Finding> {
    parse_as(Manner::Registry, &format!("name = \"demo\"\n{text}")).findings
}

#[test]
fn thirty_broken_manifests_have_thirty_useful_errors() {
    let rendered: Vec<String> = BROKEN
        .iter()
        .map(|(name, text)| {
            let findings: Vec<String> = findings(text).iter().map(render).collect();
            format!("{name}\n    {}", findings.join("\n    "))
        })
        .collect();
    insta::assert_snapshot!(rendered.join("\n"), @r#"
    not TOML
        unclosed array, expected `]` | 2:18 | - | -
    the same key twice
        duplicate key | 3:1 | - | -
    misspelt key at the top
        unknown key `crats` | 2:1 | did you mean `crates`? | -
    key of nobody
        unknown key `colour` | 2:1 | - | allowed here: `agents`, `crates`, `defaults`, `depends-on`, `hooks`, `installations`, `mcp_servers`, `name`, `plugins`, `predicate`, `predicates`, `sandbox`, `skills` and `subcommand`
    wrong type
        `crates` must be a string or a list of strings, not an integer | 2:10 | - | -
    wrong type in a list
        `crates` must be a list of strings, not an integer | 2:20 | - | -
    two vocabularies
        `crates` and `depends-on` mean the same and both are set | 3:14 | - | keep one of them
    not a crate name
        `serde/derive` is not a crate name: only letters, digits, `-` and `_` | 2:11 | - | -
    not a requirement
        `>=one` is not a version requirement: unexpected character 'o' while parsing major version number | 2:11 | - | write for example `serde>=1.0` or `serde>=1.0,<2`
    version after a blank
        `1.0` after `serde` is not a version requirement | 2:11 | - | write for example `serde>=1.0` or `serde>=1.0,<2`
    predicate among crates
        `env(CI)` is a predicate, not a crate | 2:11 | - | move it to `predicates`
    crate among predicates
        `serde` is not a predicate: expected `name(argument)` | 2:15 | - | write `depends-on(serde)`, or move it to `crates` (or `depends-on`)
    misspelt predicate
        `path-exists` is not the name of a predicate | 2:15 | - | did you mean `path_exists`?
    parenthesis missing
        the parentheses in `env(CI` do not match | 2:15 | - | -
    one bracket too few
        `hooks` must be a list of tables, written as `[[hooks]]`, not a table | 2:1 | - | -
    misspelt event
        `event` cannot be `PreToolUze` in [[hooks]] | 4:9 | did you mean `PreToolUse`? | allowed: `PreToolUse`, `PostToolUse`, `PostToolUseFailure`, `UserPromptSubmit`, `SessionStart`, `SessionEnd`, `Stop`, `SubagentStart`, `SubagentStop`, `PermissionRequest`, `PreCompact` or `Notification`
    hook without command
        `command` is missing in [[hooks]] | 2:1 | - | -
    hook without program
        hook `h` has nothing to run | 2:1 | - | set `executable` or `script` on the hook or on its installation
    misspelt reference
        hook `h` references unknown installation `tol` | 5:11 | did you mean `tool`? | -
    misspelt key in a list
        unknown key `exectuable` in [[installations]] | 4:1 | did you mean `executable`? | -
    unknown kind of source
        `source` cannot be `npm` in [[installations]] | 4:10 | - | allowed: `cargo`, `github` or `git`
    source without kind
        `crate` means nothing without a `source` | 4:9 | - | add `source = "cargo"` or `source = "github"`
    vague version
        `1` is not an exact version | 6:11 | - | write all three numbers, as `1.2.3`; leave it out for the newest
    binary unknown
        a cargo installation with `git` needs `executable` | 2:1 | - | name the binary that cargo installs
    two things to run
        `executable` and `script` exclude each other | 5:10 | - | keep one
    reserved name
        the subcommand name `sync` is reserved | 2:13 | - | a plugin cannot take the name of a built-in command; choose another
    two skill sources
        `path`, `git` and `crate_path` of a skill source are mutually exclusive | 3:10 | - | keep one, or write one `[[skills]]` group for each
    unknown shorthand
        unknown source shorthand `crates.io` | 3:10 | - | write `source = "crate"`, `source.path = "…"` or `source.git = "…"`
    no crate to fetch
        skills group 0 takes its skills from crates, but no gate names a concrete crate | 3:1 | - | add `crates = ["…"]` to the plugin or to the group
    dependency table
        a chained plugin needs the `name` of its crate | 3:16 | - | write `source.cargo = { name = "widget", version = "1" }`
    "#);
}

#[test]
fn every_error_is_its_own_and_points_somewhere() {
    let mut messages = BTreeSet::new();
    for (name, text) in BROKEN {
        let findings = findings(text);
        let [finding] = findings.as_slice() else { panic!("{name}: {findings:#?}") };
        assert_eq!(finding.severity, Severity::Error, "{name}");
        assert!(messages.insert(finding.message.clone()), "{name}: {}", finding.message);
        let spot = finding.place.as_ref().and_then(|place| place.spot.as_ref());
        let spot = spot.unwrap_or_else(|| panic!("{name} has no spot"));
        assert!(spot.line >= 2, "{name} points above itself");
        let helped = finding.label.is_some() || finding.hint.is_some();
        assert_eq!(helped, !SPEAK_FOR_THEMSELVES.contains(&name), "{name}: {finding:#?}");
    }
    assert_eq!(messages.len(), 30);
}

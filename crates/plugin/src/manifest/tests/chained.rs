//! `[[plugins]]` and `[[predicate]]`.

use super::*;

#[test]
fn a_chained_plugin_names_a_crate() {
    for (source, name, requirement) in [
        ("\"widget\"", "widget", None),
        ("\"widget>=1.2\"", "widget", Some(">=1.2")),
        ("{ name = \"widget\" }", "widget", None),
        ("{ name = \"widget\", version = \"1.2\" }", "widget", Some("^1.2")),
    ] {
        let chained = demo(&format!("[[plugins]]\nsource.cargo = {source}")).chained.remove(0);
        assert_eq!(chained.name.as_str(), name);
        let shown = chained.requirement.map(|requirement| requirement.to_string());
        assert_eq!(shown.as_deref(), requirement, "{source}");
    }
}

#[test]
fn a_chained_plugin_names_exactly_one_crate() {
    let error =
        |source: &str, message: &str| check_error(&format!("[[plugins]]\n{source}"), message);
    error("", "`source` is missing in [[plugins]]");
    error("source = {}", "`cargo` is missing in [plugins.source]");
    error("source = \"widget\"", "`source` must be a table, not a string");
    error("source.cargo = \"*\"", "a chained plugin must name one crate, not `*`");
    error("source.cargo = { name = \"*\" }", "a chained plugin must name one crate, not `*`");
    let bad = "`a/b` is not a crate name: only letters, digits, `-` and `_`";
    error("source.cargo = { name = \"a/b\" }", bad);
    error("source.cargo = { widget = \"1\" }", "a chained plugin needs the `name` of its crate");
    error(
        "source.cargo = 1",
        "`cargo` must be a crate name or a table with `name` and `version`, not an integer",
    );
    error("source.git = \"https://x\"", "a chained plugin cannot come from `git` yet");
    error("source.path = \"../x\"", "a chained plugin cannot come from `path` yet");
    let message = "`one` is not a version requirement: unexpected character 'o' while parsing major version number";
    error("source.cargo = { name = \"widget\", version = \"one\" }", message);
}

#[test]
fn a_predicate_has_a_name_a_command_and_arguments() {
    let manifest = demo(
        "[[predicate]]\nname = \"has_db\"\ncommand = { executable = \"x\" }\nargs = [\"--check\"]",
    );
    let defined = &manifest.predicates[0];
    assert_eq!(defined.name.as_str(), "has_db");
    assert_eq!(defined.command.as_str(), "__pred_has_db");
    assert_eq!(defined.args, ["--check"]);
}

#[test]
fn a_predicate_cannot_take_every_name() {
    let predicate = |name: &str| {
        format!("[[predicate]]\nname = \"{name}\"\ncommand = {{ executable = \"x\" }}\n")
    };
    for name in ["shell", "workspace-member", "has-db", "2x", ""] {
        check_error(&predicate(name), &format!("`{name}` cannot be the name of a predicate"));
    }
    let twice = "[[installations]]\nname = \"x\"\nexecutable = \"x\"\n".to_owned()
        + &"[[predicate]]\nname = \"p\"\ncommand = \"x\"\n".repeat(2);
    check_error(&twice, "the predicate `p` is defined twice");
}

#[test]
fn a_predicate_must_have_something_to_run() {
    check_error(
        "[[predicate]]\nname = \"p\"\ncommand = { install_commands = [\"make\"] }",
        "predicate `p` has nothing to run",
    );
    check_error("[[predicate]]\nname = \"p\"", "`command` is missing in [[predicate]]");
    check_error(
        "[[predicate]]\nname = \"p\"\ncommand = \"nowhere\"",
        "predicate `p` references unknown installation `nowhere`",
    );
}

//! Installations that are written where they are needed.

use agents_install::{Entry, Source};

use super::*;

fn keys(manifest: &Manifest) -> Vec<&str> {
    manifest.installations.keys().map(InstallationName::as_str).collect()
}

fn hook(command: &str) -> String {
    format!("[[hooks]]\nname = \"h\"\nevent = \"Stop\"\ncommand = {command}\n")
}

#[test]
fn the_inline_command_of_a_hook_is_called_like_the_hook() {
    let manifest = demo(&hook("{ source = \"cargo\", crate = \"tool\", args = [\"x\"] }"));
    assert_eq!(manifest.hooks[0].command.as_str(), "h");
    let promoted = &manifest.installations[&InstallationName::new("h")];
    assert!(matches!(&promoted.source, Some(Source::Cargo { name, .. }) if name == "tool"));
    assert_eq!(promoted.args, ["x"]);
}

#[test]
fn an_inline_command_needs_no_source() {
    let manifest = demo(&hook("{ executable = \"/bin/true\" }"));
    let promoted = &manifest.installations[&InstallationName::new("h")];
    assert_eq!(promoted.source, None);
    assert_eq!(promoted.entry, Some(Entry::Executable("/bin/true".to_owned())));
}

#[test]
fn inline_requirements_are_numbered() {
    let text = hook("\"tool\"")
        + "requirements = [\"tool\", { executable = \"a\" }, { executable = \"b\" }]\n\
           [[installations]]\nname = \"tool\"\nexecutable = \"t\"\nrequirements = [{ executable = \"c\" }]";
    let manifest = demo(&text);
    assert_eq!(keys(&manifest), ["h__req_1", "h__req_2", "tool", "tool__req_0"]);
    assert_eq!(
        names(&manifest.hooks[0].requirements),
        ["tool__req_0", "tool", "h__req_1", "h__req_2"]
    );
}

#[test]
fn inline_installations_nest() {
    let text =
        hook("{ script = \"s\", requirements = [{ requirements = [{ executable = \"x\" }] }] }");
    let manifest = demo(&text);
    assert_eq!(keys(&manifest), ["h", "h__req_0", "h__req_0__req_0"]);
}

#[test]
fn install_commands_are_carried_through() {
    let text = hook("{ executable = \"x\", install_commands = [\"make\"] }")
        + "requirements = [{ install_commands = [\"true\"] }]";
    let manifest = demo(&text);
    let commands = |name| &manifest.installations[&InstallationName::new(name)].install_commands;
    assert_eq!(commands("h"), &["make"]);
    assert_eq!(commands("h__req_0"), &["true"]);
}

#[test]
fn a_name_that_is_taken_conflicts() {
    check_error(
        &(hook("{ executable = \"x\" }") + "[[installations]]\nname = \"h\"\nexecutable = \"y\""),
        "the inline installation of hook `h` conflicts with the installation `h`",
    );
    check_error(
        &(hook("{ executable = \"x\" }")
            + "[subcommand.h]\ndescription = \"d\"\ncommand = { executable = \"y\" }"),
        "the inline installation of subcommand `h` conflicts with the installation `h`",
    );
}

#[test]
fn an_inline_installation_is_as_strict_as_a_named_one() {
    check_error(
        &hook("{ executable = \"x\", name = \"y\" }"),
        "unknown key `name` in the inline installation of hook `h`",
    );
    check_error(
        &hook("{ source = \"binary\" , executable = \"x\" }"),
        "`source` cannot be `binary` in the inline installation of hook `h`",
    );
    check_error(
        &hook("{ executable = \"x\", requirements = [\"y\"] }"),
        "installation `h` references unknown installation `y`",
    );
    check_error(
        &hook("3"),
        "`command` must be the name of an installation or a table, not an integer",
    );
}

#[test]
fn inline_requirements_of_a_hook_and_of_its_inline_command_do_not_clash() {
    let text = "name = \"p\"\ncrates = [\"*\"]\n[[hooks]]\nname = \"h\"\nevent = \"Stop\"\nrequirements = [{ executable = \"a\" }]\ncommand = { executable = \"b\", requirements = [{ executable = \"c\" }] }\n";
    let parsed = parse_manifest("SYMPOSIUM.toml".into(), text, Manner::Registry, None);
    assert_eq!(parsed.findings, []);
    let names: Vec<String> =
        parsed.manifest.unwrap().installations.keys().map(ToString::to_string).collect();
    assert_eq!(names, ["h", "h__req_0", "h__req_0_2"]);
}

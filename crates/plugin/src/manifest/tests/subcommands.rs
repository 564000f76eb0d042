use super::*;

fn subcommand(name: &str, rest: &str) -> String {
    format!("[subcommand.{name}]\ndescription = \"d\"\ncommand = {{ executable = \"x\" }}\n{rest}")
}

fn find<'m>(manifest: &'m Manifest, name: &str) -> &'m Subcommand {
    &manifest.subcommands[&SubcommandName::new(name).unwrap()]
}

#[test]
fn a_subcommand_names_its_command() {
    let manifest = demo(
        "[subcommand.fmt]\ndescription = \"Formats\"\ncommand = \"tool\"\n\
         [[installations]]\nname = \"tool\"\nsource = \"cargo\"\ncrate = \"tool\"",
    );
    let found = find(&manifest, "fmt");
    assert_eq!(found.description, "Formats");
    assert_eq!(found.audience, Audience::Agents);
    assert_eq!(found.command.as_str(), "tool");
    assert_eq!(found.gate, Gate::open());
}

#[test]
fn the_audience_is_humans_or_agents() {
    let manifest = demo(&subcommand("fmt", "audience = \"humans\""));
    assert_eq!(find(&manifest, "fmt").audience, Audience::Humans);
    check_error(
        &subcommand("fmt", "audience = \"people\""),
        "`audience` cannot be `people` in [subcommand.fmt]",
    );
}

#[test]
fn an_inline_command_is_called_like_the_subcommand() {
    let manifest = demo(&subcommand("fmt", ""));
    assert_eq!(find(&manifest, "fmt").command.as_str(), "fmt");
    let promoted = &manifest.installations[&InstallationName::new("fmt")];
    assert_eq!(promoted.entry, Some(agents_install::Entry::Executable("x".to_owned())));
}

#[test]
fn subcommands_are_in_the_order_of_their_names() {
    let manifest = demo(&(subcommand("b", "") + &subcommand("a_1", "") + &subcommand("C", "")));
    let names: Vec<&str> = manifest.subcommands.keys().map(SubcommandName::as_str).collect();
    assert_eq!(names, ["C", "a_1", "b"]);
}

#[test]
fn names_of_built_in_commands_are_reserved() {
    for name in ["init", "sync", "hook", "plugin", "crate-info", "self-update", "help"] {
        assert!(RESERVED.contains(&name));
    }
    for name in RESERVED {
        let message = format!("the subcommand name `{name}` is reserved");
        check_error(&subcommand(name, ""), &message);
        let text = format!("name = \"demo\"\n{}", subcommand(name, ""));
        assert!(parse_as(Manner::FirstParty, &text).manifest.is_some(), "{name}");
    }
}

#[test]
fn a_name_is_letters_digits_hyphens_and_underscores() {
    for name in ["a b", "a/b", "größe", "-x", ""] {
        let message = format!("`{name}` cannot be the name of a subcommand");
        check_error(&subcommand(&format!("\"{name}\""), ""), &message);
    }
}

#[test]
fn a_description_has_at_most_1024_characters() {
    let described = |text: &str| {
        format!("[subcommand.s]\ndescription = \"{text}\"\ncommand = {{ executable = \"x\" }}")
    };
    let longest = "é".repeat(MAX_DESCRIPTION);
    assert_eq!(find(&demo(&described(&longest)), "s").description, longest);
    check_error(
        &described(&"é".repeat(MAX_DESCRIPTION + 1)),
        "the description of a subcommand has 1025 characters and exceeds 1024",
    );
    check_error(&described("  "), "the description of a subcommand cannot be empty");
}

#[test]
fn a_subcommand_is_a_table_with_known_keys() {
    check_error(&subcommand("s", "descr = \"x\""), "unknown key `descr` in [subcommand.s]");
    check_error("[subcommand]\ns = \"x\"", "`subcommand.s` must be a table");
    check_error(
        "[[subcommand]]\ndescription = \"x\"",
        "`subcommand` must be a table, not an array",
    );
    check_error(
        "[subcommand.s]\ncommand = { executable = \"x\" }",
        "`description` is missing in [subcommand.s]",
    );
    check_error("[subcommand.s]\ndescription = \"d\"", "`command` is missing in [subcommand.s]");
}

#[test]
fn its_command_must_exist_and_run_something() {
    check_error(
        "[subcommand.s]\ndescription = \"d\"\ncommand = \"nowhere\"",
        "subcommand `s` references unknown installation `nowhere`",
    );
    check_error(
        "[subcommand.s]\ndescription = \"d\"\ncommand = { source = \"github\", url = \"https://x\" }",
        "subcommand `s` has nothing to run",
    );
}

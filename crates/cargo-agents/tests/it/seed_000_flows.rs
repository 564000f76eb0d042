//! The promises of `seeds/000…`: help rendering and subcommand dispatch. (Crate-sourced skills: the pieces that exist are
//! tested in the rooms `workspace` and `plugin`.)

use crate::world::{World, lists, section, subcommand};

fn world() -> World {
    let world = World::new();
    world.plugin(
        "echo",
        &subcommand(
            "echo-tools",
            "crates = [\"serde\"]",
            "say",
            "{ executable = \"echo\", args = [\"said\"] }",
        ),
    );
    world
}

#[test]
fn help_flag_short_flag_bare_keyword_and_no_subcommand_show_the_same_grouped_help() {
    let world = world();
    let expected = world.ok(&[]);
    for args in [&["--help"][..], &["-h"], &["help"]] {
        assert_eq!(world.ok(args), expected, "{args:?}");
    }
    assert!(lists(&expected, "Commands for agents", "say"), "{expected}");
}

#[test]
fn argument_order_does_not_matter_for_help() {
    let world = world();
    let expected = world.ok(&["--help"]);
    assert_eq!(world.ok(&["--help", "--quiet"]), expected);
    assert_eq!(world.ok(&["--quiet", "--help"]), expected);
}

#[test]
fn grouped_help_is_claps_header_then_humans_then_agents_then_claps_options() {
    let help = world().ok(&["--help"]);
    let at = |text: &str| help.find(text).unwrap_or_else(|| panic!("no {text:?} in {help}"));
    let order = [
        at("Usage: cargo agents [OPTIONS] [COMMAND]"),
        at("\nCommands for humans:\n"),
        at("\nCommands for agents:\n"),
        at("\nOptions:\n"),
        at("--json"),
    ];
    assert!(order.is_sorted(), "{help}");
}

#[test]
fn sections_mix_built_ins_with_workspace_filtered_plugin_subcommands() {
    let world = world();
    world.plugin("people", "name = \"people\"\ncrates = [\"serde\"]\n[subcommand.greet]\ndescription = \"Greet\"\naudience = \"humans\"\ncommand = { executable = \"echo\" }\n");
    world.plugin(
        "other",
        &subcommand("other", "crates = [\"not-here\"]", "absent", "{ executable = \"echo\" }"),
    );
    let help = world.ok(&["--help"]);
    assert!(lists(&help, "Commands for humans", "plugin"));
    assert!(lists(&help, "Commands for humans", "greet"));
    assert!(lists(&help, "Commands for agents", "crate-info"));
    assert!(!help.contains("absent"), "{help}");
    let humans = section(&help, "Commands for humans");
    let greet = humans.iter().position(|row| row.starts_with("greet")).unwrap();
    assert_eq!(greet, humans.len() - 1, "built-ins come first: {humans:?}");
}

#[test]
fn built_in_help_comes_from_clap_even_with_required_arguments_missing() {
    let world = world();
    for (args, usage) in [
        (&["plugin", "--help"][..], "Usage: cargo agents plugin [OPTIONS] <COMMAND>"),
        (&["plugin", "list", "--help"], "Usage: cargo agents plugin list"),
        (&["plugin", "show", "-h"], "Usage: cargo agents plugin show [OPTIONS] <PLUGIN>"),
        (&["plugin", "cache", "--help"], "Usage: cargo agents plugin cache"),
        (&["completions", "--help"], "Usage: cargo agents completions [OPTIONS] <SHELL>"),
    ] {
        let help = world.ok(args);
        assert!(help.contains(usage), "{args:?}: {help}");
        assert!(!help.contains("Commands for humans"), "{args:?}: {help}");
    }
}

#[test]
fn crate_info_help_works_although_its_argument_is_missing() {
    let help = world().ok(&["crate-info", "--help"]);
    assert!(help.contains("Usage: cargo agents crate-info [OPTIONS] <NAME>"), "{help}");
}

#[test]
fn help_of_a_plugins_command_is_forwarded_to_its_program() {
    assert_eq!(world().ok(&["say", "--help"]), "said --help\n");
}

#[test]
fn an_unknown_name_is_routed_to_the_plugins() {
    assert_eq!(world().ok(&["say", "a"]), "said a\n");
}

#[test]
fn the_plugins_gate_and_the_subcommands_own_gate_must_both_hold() {
    let world = world();
    let both = |plugin: &str, own: &str| {
        format!(
            "name = \"both\"\ncrates = [\"{plugin}\"]\n[subcommand.both]\ndescription = \"x\"\ncrates = \"{own}\"\ncommand = {{ executable = \"echo\" }}\n"
        )
    };
    world.plugin("both", &both("serde", "tiny-sql"));
    assert_eq!(world.agents(&["both"]).code, Some(0));
    world.plugin("both", &both("serde", "absent"));
    assert_eq!(world.agents(&["both"]).code, Some(2));
    world.plugin("both", &both("absent", "serde"));
    assert_eq!(world.agents(&["both"]).code, Some(2));
}

#[test]
fn two_matches_are_an_error() {
    let world = world();
    world.plugin(
        "again",
        &subcommand("again", "crates = [\"*\"]", "say", "{ executable = \"echo\" }"),
    );
    let run = world.agents(&["say"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{run:?}");
}

#[test]
fn command_names_an_installation_of_the_same_plugin_that_is_acquired_and_set_up_first() {
    let world = world();
    let script = world.plugin_script("named", "run.sh", "cat \"$(dirname \"$0\")/prepared\"");
    let dir = script.parent().unwrap();
    world.plugin("named", &format!("name = \"named\"\ncrates = [\"*\"]\n[[installations]]\nname = \"tool\"\nscript = \"run.sh\"\ninstall_commands = [\"echo prepared > {dir}/prepared\"]\n[subcommand.named]\ndescription = \"x\"\ncommand = \"tool\"\n"));
    assert_eq!(world.ok(&["named"]), "prepared\n");
}

#[test]
fn both_kinds_of_runnable_work() {
    let world = world();
    // Not executable: only `sh <path>` can run it.
    agents_testkit::scratch::write(
        &world.home().join("plugins/kinds/s.sh"),
        "echo script \"$@\"\n",
    );
    world.plugin_script("kinds", "e", "echo executable \"$@\"");
    world.plugin("kinds", "name = \"kinds\"\ncrates = [\"*\"]\n[subcommand.by-script]\ndescription = \"x\"\ncommand = { script = \"s.sh\", args = [\"1\"] }\n[subcommand.by-executable]\ndescription = \"x\"\ncommand = { executable = \"./e\", args = [\"1\"] }\n");
    assert_eq!(world.ok(&["by-script", "2"]), "script 1 2\n");
    assert_eq!(world.ok(&["by-executable", "2"]), "executable 1 2\n");
}

#[test]
fn the_childs_exit_code_is_ours() {
    let world = world();
    world.plugin_script("exit", "e", "exit $1");
    world.plugin(
        "exit",
        &subcommand("exit", "crates = [\"*\"]", "leave", "{ executable = \"./e\" }"),
    );
    for code in ["0", "1", "3", "101", "255"] {
        assert_eq!(world.agents(&["leave", code]).code, code.parse().ok(), "{code}");
    }
}

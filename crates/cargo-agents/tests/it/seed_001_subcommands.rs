//! The promises of `seeds/001…`: what a subcommand is, and who owns what about it.

use std::{
    ffi::OsString,
    io::{BufRead as _, BufReader},
    os::unix::{ffi::OsStringExt as _, process::CommandExt as _},
    process::Stdio,
    time::Duration,
};

use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};

use crate::world::{World, lists, subcommand};

/// A plugin `tool` for `serde` whose command `tool` runs a script with this body.
fn with_script(body: &str) -> World {
    let world = World::new();
    world.plugin_script("tool", "tool", body);
    world.plugin(
        "tool",
        &subcommand(
            "tool",
            "crates = [\"serde\"]",
            "tool",
            "{ executable = \"./tool\", args = [\"base\"] }",
        ),
    );
    world
}

#[test]
fn the_schema_example_of_the_seed_loads_as_written() {
    let world = World::new();
    world.sample.vendor().program(
        "example-tool",
        "1.0.0",
        "println!(\"{:?}\", std::env::args().skip(1).collect::<Vec<_>>());",
    );
    world.plugin("demo", "name = \"demo-plugin\"\ncrates = [\"serde\"]\n[[installations]]\nname = \"example-tool\"\nsource = \"cargo\"\ncrate = \"example-tool\"\nexecutable = \"example-tool\"\nargs = [\"serve\"]\n[subcommand.demo]\ndescription = \"Run the demo tool\"\naudience = \"agents\"\ncommand = \"example-tool\"\n");
    assert!(lists(&world.ok(&[]), "Commands for agents", "demo"));
    assert_eq!(world.ok(&["demo", "--port", "1"]), "[\"serve\", \"--port\", \"1\"]\n");
}

#[test]
fn the_inline_form_resolves_through_the_same_pipeline() {
    let world = World::new();
    world.sample.vendor().program("example-tool", "1.0.0", "println!(\"inline\");");
    world.plugin(
        "demo",
        &subcommand(
            "demo",
            "crates = [\"*\"]",
            "demo",
            "{ source = \"cargo\", crate = \"example-tool\", executable = \"example-tool\" }",
        ),
    );
    assert_eq!(world.ok(&["demo"]), "inline\n");
}

#[test]
fn audience_defaults_to_agents() {
    assert!(lists(&with_script("").ok(&[]), "Commands for agents", "tool"));
}

#[test]
fn audience_is_metadata_and_gates_nothing() {
    let world = with_script("echo ran");
    assert_eq!(world.ok(&["tool"]), "ran\n");
}

#[test]
fn crates_may_be_a_string_or_a_list() {
    for gate in ["crates = \"serde\"", "crates = [\"absent\", \"serde\"]", "depends-on = \"serde\""]
    {
        let world = World::new();
        world.plugin("p", &subcommand("p", gate, "cmd", "{ executable = \"true\" }"));
        assert!(lists(&world.ok(&[]), "Commands for agents", "cmd"), "{gate}");
    }
}

#[test]
fn reserved_names_are_refused_at_validation() {
    let names = [
        "init",
        "sync",
        "hook",
        "plugin",
        "crate-info",
        "help",
        "self-update",
        "status",
        "use",
        "search",
        "agent",
        "task",
        "plan",
        "command",
        "mcp",
        "acp",
        "dashboard",
        "doctor",
        "tour",
        "completions",
    ];
    let world = World::new();
    for name in names {
        let file = world
            .plugin("p", &subcommand("p", "crates = [\"*\"]", name, "{ executable = \"true\" }"));
        let run = world.agents(&["plugin", "validate", file.as_str()]);
        assert_eq!(run.code, Some(1), "{name}");
        assert!(
            run.stdout.contains(&format!("the subcommand name `{name}` is reserved")),
            "{run:?}"
        );
    }
}

#[test]
fn a_description_may_have_1024_characters_and_not_one_more() {
    let world = World::new();
    let with = |length: usize| {
        let description = "é".repeat(length);
        let text = format!(
            "name = \"p\"\ncrates = [\"*\"]\n[subcommand.c]\ndescription = \"{description}\"\ncommand = {{ executable = \"true\" }}\n"
        );
        world.agents(&["plugin", "validate", world.plugin("p", &text).as_str()])
    };
    assert_eq!(with(1024).code, Some(0));
    let refused = with(1025);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stdout.contains("has 1025 characters and exceeds 1024"), "{refused:?}");
}

#[test]
fn user_arguments_follow_the_installations_and_are_never_tokenized_again() {
    let world = with_script("for a in \"$@\"; do echo \"<$a>\"; done");
    let tricky =
        ["a b", "$HOME", "`id`", "x;y", "'q'", "\"dq\"", "*", "", "--", "-v", "--json", "a\nb"];
    let mut args = vec!["tool"];
    args.extend(tricky);
    let expected: String =
        std::iter::once("base").chain(tricky).map(|arg| format!("<{arg}>\n")).collect();
    assert_eq!(world.ok(&args), expected);
}

#[test]
fn arguments_that_are_not_utf_8_arrive_as_they_are() {
    let world = with_script("printf %s \"$2\" | od -An -tx1");
    let mut command = world.command(&["tool"]);
    command.arg(OsString::from_vec(vec![b'a', 0xff, 0xfe, b'z']));
    let output = command.output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "61 ff fe 7a", "{output:?}");
}

#[test]
fn a_name_that_is_not_utf_8_is_an_error_and_not_a_panic() {
    let world = World::new();
    let output = world.command(&[]).arg(OsString::from_vec(vec![0xff, b'x'])).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

#[test]
fn output_arrives_while_the_child_still_runs() {
    let world = with_script("echo first; while [ ! -e go ]; do sleep 0.02; done; echo last");
    let mut child = world.command(&["tool"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "first");
    // Only now may it end: had the output been kept back, we would wait for ever.
    world.sample.write("go", "");
    assert_eq!(lines.next().unwrap().unwrap(), "last");
    assert!(child.wait().unwrap().success());
}

#[test]
fn standard_input_reaches_the_child() {
    use std::io::Write as _;
    let world = with_script("cat");
    let mut child =
        world.command(&["tool"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"typed\n").unwrap();
    assert_eq!(child.wait_with_output().unwrap().stdout, b"typed\n");
}

#[test]
fn a_terminal_stays_a_terminal() {
    let world = with_script("test -t 0 && test -t 1 && test -t 2 && exit 7");
    let terminal = nix::pty::openpty(None, None).unwrap();
    let mut command = world.command(&["tool"]);
    command
        .stdin(terminal.slave.try_clone().unwrap())
        .stdout(terminal.slave.try_clone().unwrap())
        .stderr(terminal.slave);
    assert_eq!(command.status().unwrap().code(), Some(7));
}

#[test]
fn a_child_killed_by_a_signal_is_a_failure() {
    let world = with_script("kill -9 $$");
    assert!(!world.command(&["tool"]).status().unwrap().success());
}

#[test]
fn ctrl_c_reaches_the_child_exactly_once() {
    let world = with_script(
        "trap 'echo int >> signals' INT; echo ready; while [ ! -e go ]; do sleep 0.02; done; exit 5",
    );
    let mut child =
        world.command(&["tool"]).stdout(Stdio::piped()).process_group(0).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "ready");
    // What a terminal does on Ctrl-C.
    killpg(Pid::from_raw(i32::try_from(child.id()).unwrap()), Signal::SIGINT).unwrap();
    let signals = world.sample.path("signals");
    for _ in 0..1000 {
        if signals.exists() {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(signals.exists(), "the signal never arrived");
    std::thread::sleep(Duration::from_millis(200));
    world.sample.write("go", "");
    assert_eq!(child.wait().unwrap().code(), Some(5));
    assert_eq!(std::fs::read_to_string(signals).unwrap(), "int\n");
}

#[test]
fn an_unknown_name_gives_a_clear_error_with_the_nearest_names_and_points_to_help() {
    let run = with_script("").agents(&["toool"]);
    assert_eq!(run.code, Some(2));
    assert_eq!(
        run.stderr,
        "error[E0043]: no command is named `toool`\nhint: did you mean `tool`? `cargo agents --help` lists the commands that apply here\nexplained by `cargo agents explain E0043`\n"
    );
}

#[test]
fn a_failed_installation_is_reported_as_what_it_is() {
    let world = World::new();
    world.plugin(
        "p",
        &subcommand(
            "p",
            "crates = [\"*\"]",
            "broken",
            "{ source = \"cargo\", crate = \"no-such-crate-anywhere\", executable = \"x\" }",
        ),
    );
    let run = world.agents(&["broken"]);
    assert_ne!(run.code, Some(0));
    assert!(run.stderr.contains("cannot install `broken`"), "{run:?}");
    assert!(run.stderr.contains("no-such-crate-anywhere"), "cargo's own words are shown: {run:?}");
}

#[test]
fn outside_a_workspace_only_built_ins_and_star_plugins_appear() {
    let world = with_script("");
    world.plugin(
        "star",
        &subcommand("star", "crates = [\"*\"]", "anywhere", "{ executable = \"true\" }"),
    );
    let help = world.agents_in(&world.outside(), &["--help"]).stdout;
    assert!(lists(&help, "Commands for agents", "anywhere"), "{help}");
    assert!(lists(&help, "Commands for humans", "plugin"), "{help}");
    assert!(!lists(&help, "Commands for agents", "tool"), "{help}");
}

#[test]
fn outside_a_workspace_the_error_names_the_crate_that_is_needed() {
    let world = with_script("");
    let run = world.agents_in(&world.outside(), &["tool"]);
    assert_eq!(run.code, Some(2));
    assert!(
        run.stderr
            .starts_with("error[E0044]: `tool` needs a Rust workspace that depends on `serde`\n"),
        "{run:?}"
    );
}

#[test]
fn humans_and_agents_have_their_sections_and_hook_and_help_are_in_none() {
    let help = World::new().ok(&["--help"]);
    for name in ["plugin", "tour", "completions"] {
        assert!(lists(&help, "Commands for humans", name), "{name}: {help}");
    }
    assert!(lists(&help, "Commands for agents", "crate-info"), "{help}");
    for heading in ["Commands for humans", "Commands for agents"] {
        assert!(!lists(&help, heading, "hook") && !lists(&help, heading, "help"), "{help}");
    }
}

#[test]
fn a_conflict_lists_every_plugin_that_defines_the_name_with_its_file() {
    let world = World::new();
    let files: Vec<_> = ["one", "two", "three"]
        .iter()
        .map(|name| {
            world.plugin(
                name,
                &subcommand(name, "crates = [\"*\"]", "same", "{ executable = \"true\" }"),
            )
        })
        .collect();
    let run = world.agents(&["same"]);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("3 plugins bring a command named `same`"), "{run:?}");
    for (name, file) in ["one", "two", "three"].iter().zip(&files) {
        assert!(run.stderr.contains(name) && run.stderr.contains(file.as_str()), "{name}: {run:?}");
    }
}

#[test]
fn a_conflict_is_resolved_by_tightening_one_gate() {
    let world = World::new();
    world.plugin(
        "one",
        &subcommand(
            "one",
            "crates = [\"*\"]",
            "same",
            "{ executable = \"echo\", args = [\"one\"] }",
        ),
    );
    world.plugin(
        "two",
        &subcommand(
            "two",
            "crates = [\"absent\"]",
            "same",
            "{ executable = \"echo\", args = [\"two\"] }",
        ),
    );
    assert_eq!(world.ok(&["same"]), "one\n");
}

//! Flags, exit codes, streams.

use std::process::{Command, Stdio};

use crate::world::{Run, World, subcommand};

#[test]
fn cargo_finds_the_program_as_its_subcommand() {
    let world = World::new();
    let bin = camino::Utf8Path::new(env!("CARGO_BIN_EXE_cargo-agents")).parent().unwrap();
    let path = format!("{bin}:{}", std::env::var("PATH").unwrap());
    let mut command = Command::new("cargo");
    command.args(["agents", "--version"]).current_dir(world.sample.root()).env("PATH", path);
    let run = Run::from(command.env("CARGO_AGENTS_HOME", world.home()).output().unwrap());
    assert_eq!(run.stdout, format!("cargo-agents {}\n", env!("CARGO_PKG_VERSION")), "{run:?}");
}

#[test]
fn ctrl_c_while_a_condition_is_asked_ends_everything() {
    let world = World::new();
    let say = "{ executable = \"echo\", args = [\"ran\"] }";
    world.plugin("p", &subcommand("p", "crates = [\"*\"]", "say", say));
    let slow = "crates = [\"*\"]\npredicates = [\"shell(touch begun; exec sleep 60)\"]";
    world.plugin("q", &subcommand("q", slow, "other", say));
    let begun = world.sample.path("begun");
    let commands = [&["say"][..], &[], &["plugin", "list"], &["--json", "plugin", "list"]];
    for args in commands.into_iter().chain([&["plugin", "explain", "q"][..]]) {
        let mut command = world.command(args);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        for _ in 0..3000 {
            if begun.exists() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        assert!(agents_testkit::signal::interrupt(child.id()));
        let run = Run::from(child.wait_with_output().unwrap());
        assert_eq!(run.code, Some(130), "{args:?}: {run:?}");
        if args.contains(&"--json") {
            let document: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
            assert_eq!(document["error"]["kind"], "cancelled");
        } else {
            assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("", "error: interrupted\n"));
        }
        std::fs::remove_file(&begun).unwrap();
    }
}

#[test]
fn the_word_that_cargo_adds_is_dropped_once() {
    let world = World::new();
    world.plugin("p", &subcommand("p", "crates = [\"*\"]", "say", "{ executable = \"echo\" }"));
    assert_eq!(world.ok(&["agents", "say", "agents"]), "agents\n");
}

#[test]
fn the_help_of_an_empty_home_reads_like_this() {
    insta::assert_snapshot!(World::new().ok(&["--help"]), @r"
    Skills, hooks, tools and sub-agents from the crates in your workspace

    Usage: cargo agents [OPTIONS] [COMMAND]

    Commands for humans:
      acp          Be a coding agent in an editor that speaks the Agent Client Protocol
      agent        See, check, write and unpack agents, wherever they come from
      audit        See everything that is active here: who it is from, what it may do, and who has reviewed it
      command      See the workflow commands of your coding agents
      completions  Print a completion script for a shell
      config       See the effective settings, and where they come from
      dashboard    See tasks, plans, questions and plugins in your browser, and answer questions there
      diff         Show what `sync` would change, line by line
      disable      Turn a plugin off, whatever turns it on
      doctor       Find out what is wrong on this machine, and what to do about it
      explain      See what an error means and how to fix it, by its code
      host         See which coding agents are known, and where their files are
      init         Choose the coding agents that you use
      man          Read or install the manual pages
      mcp          Offer sub-agents, skills and the MCP servers of plugins to coding agents, as one MCP server
      model        See which models there are, test them, and find out which one an agent runs on
      plan         Run a graph of sub-agents that survives crashes, and see what became of it
      plugin       See, check and fetch plugins
      search       Find plugins in your registries, in the crates of this workspace and on crates.io
      secret       See which secrets agents may be given, and where they come from
      self-update  Install the newest version of this program
      status       What is active here and why, and whether your coding agents have it
      sync         Bring your coding agents what this workspace's crates offer
      task         Run a sub-agent, or many of them
      tour         See what this program does, in a throw-away sample workspace
      uninstall    Take back everything that `sync` ever wrote
      update       Show what changed in the crates whose plugins you use, and accept it
      use          Turn a plugin on, here or everywhere
      worker       Run tasks of plans for a Restate cluster, until Ctrl-C (needs the feature `restate`)

    Commands for agents:
      crate-info   Find a crate's sources, at the version this workspace uses

    Options:
          --json            Print JSON: one document, or one event a line from commands that run tasks
      -q, --quiet           Print results and errors only
      -v, --verbose         Also print what is merely worth knowing
          --offline         Never use the network
          --locked          Fail where `agents.lock` would change
          --frozen          The same, and never use the network
          --update <LEVEL>  How fresh git registries and installed tools must be [default: none]
                            [possible values: none, check, fetch]
          --color <WHEN>    When to use colours [default: auto] [possible values: auto, always, never]
      -h, --help            Print help
      -V, --version         Print version

    See what it does in a sample workspace: `cargo agents tour`
    ");
}

#[test]
fn a_row_says_which_plugin_it_is_from_and_because_of_which_package() {
    let world = World::new();
    world.plugin(
        "p",
        &subcommand("sql-tools", "crates = [\"tiny_sql\"]", "schema", "{ executable = \"true\" }"),
    );
    let help = world.ok(&[]);
    assert!(
        help.contains("  schema       Run schema   (from sql-tools, because tiny-sql 0.3.1)\n"),
        "{help}"
    );
}

#[test]
fn help_as_a_document_names_commands_plugins_and_reasons() {
    let world = World::new();
    world.plugin(
        "p",
        &subcommand("sql-tools", "crates = [\"tiny-sql\"]", "schema", "{ executable = \"true\" }"),
    );
    let help = world.json(&[]);
    let row =
        help["commands"].as_array().unwrap().iter().find(|row| row["name"] == "schema").unwrap();
    assert_eq!(row["plugin"], "sql-tools");
    assert_eq!(row["audience"], "agents");
    assert_eq!(row["because"][0], "tiny-sql 0.3.1");
}

#[test]
fn json_is_a_document_also_when_something_fails() {
    let world = World::new();
    for (args, kind, code) in [
        (&["nonsense"][..], "usage", 2),
        (&["plugin"], "usage", 2),
        (&["plugin", "show", "x"], "usage", 2),
        (&["plugin", "--wrong-flag"], "usage", 2),
        (&["--update", "sometimes", "plugin", "list"], "usage", 2),
        (&["plugin", "validate", "/nowhere"], "usage", 2),
    ] {
        let mut all = vec!["--json"];
        all.extend(args);
        let run = world.agents(&all);
        let document: serde_json::Value = serde_json::from_str(&run.stdout)
            .unwrap_or_else(|error| panic!("{args:?} {error}: {run:?}"));
        assert_eq!(document["error"]["kind"], kind, "{run:?}");
        assert_eq!(document["error"]["exit_code"], code, "{run:?}");
        assert_eq!(run.code, Some(code), "{run:?}");
        assert_eq!(run.stderr, "", "{run:?}");
    }
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let world = World::new();
    for number in 0..3000 {
        let name = format!("plugin-with-quite-a-long-name-{number}");
        world.plugin(&name, &format!("name = \"{name}\"\ncrates = [\"absent\"]\n"));
    }
    for args in [&["plugin", "list"][..], &["--json", "plugin", "list"]] {
        let mut child =
            world.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // Far more than a pipe holds is on its way; nobody reads it.
        drop(child.stdout.take());
        let run = Run::from(child.wait_with_output().unwrap());
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{args:?}");
    }
}

/// `sync --check | tail -1` in CI must fail if the check does.
#[test]
fn a_reader_that_leaves_early_hides_no_failed_check() {
    let synced = crate::sync::Synced::new();
    let agents = synced.root().join(".claude/agents");
    agents_testkit::scratch::write(&agents.join("bad.md"), "---\nname: bad\nnonsense\n---\n");
    let bad = agents.join("bad.md");
    let checks: [&[&str]; 4] =
        [&["sync", "--check"], &["sync", "--check", "--json"], &["doctor"], &["agent", "validate"]];
    for args in checks {
        let mut all = args.to_vec();
        all.extend(args.contains(&"validate").then_some(bad.as_str()));
        assert_eq!(synced.run(&all).code, Some(1), "{args:?}");
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let run = Run::from(synced.world.command(&all).stdout(writer).output().unwrap());
        assert_eq!(run.code, Some(1), "{args:?}: {run:?}");
        assert!(!run.stderr.contains("standard output"), "{args:?}: {run:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_result_that_cannot_be_written_is_told_on_standard_error() {
    let world = World::new();
    for args in [&["status"][..], &["status", "--json"]] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let run = Run::from(world.command(args).stdout(full).output().unwrap());
        assert_eq!(run.code, Some(1), "{args:?}: {run:?}");
        let said = "error: cannot write to standard output: No space left on device";
        assert!(run.stderr.contains(said), "{args:?}: {run:?}");
    }
}

#[test]
fn colours_are_on_request_only() {
    let world = World::new();
    assert!(!world.ok(&["--help"]).contains('\u{1b}'));
    assert!(world.ok(&["--help", "--color", "always"]).contains('\u{1b}'));
    assert!(world.agents(&["nonsense", "x"]).stderr.starts_with("error[E0043]: "));
    let run = world.agents(&["--color=always", "nonsense"]);
    assert!(run.stderr.starts_with("\u{1b}["), "{run:?}");
}

#[test]
fn quiet_keeps_errors_and_drops_warnings() {
    let world = World::new();
    world.plugin("bad", "name = \"bad\"\nnonsense = 1\n");
    assert!(world.agents(&["--help"]).stderr.contains("could not be loaded"));
    assert_eq!(world.agents(&["--help", "-q"]).stderr, "");
    assert!(world.agents(&["-q", "nonsense"]).stderr.contains("no command is named"));
}

#[test]
fn a_broken_configuration_is_an_error_with_its_place_and_never_defaults() {
    let world = World::new();
    world.config("[defaults]\nuser-plugins = tru\n");
    for args in [&["--help"][..], &["plugin", "list"], &["anything"]] {
        let run = world.agents(args);
        assert_eq!(run.code, Some(2), "{args:?}: {run:?}");
        assert!(run.stderr.contains("config.toml:2:16"), "{args:?}: {run:?}");
    }
}

#[test]
fn a_file_for_the_result_is_refused_with_json_and_not_ignored() {
    let world = World::new();
    for what in ["task", "plan"] {
        let run = world.agents(&[what, "show", "last", "-o", "page.html", "--json"]);
        assert_eq!(run.code, Some(2), "{run:?}");
        assert!(run.stdout.contains("`-o page.html` writes what people read"), "{run:?}");
        assert!(run.stdout.contains("leave out `-o`"), "{run:?}");
    }
}

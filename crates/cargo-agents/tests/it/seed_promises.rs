//! What the seeds promise and the reference never kept (spec 0.2), line by line.

use agents_testkit::repo::Repo;

use crate::world::{World, lists, subcommand};

#[test]
fn promise_01_stdio_is_inherited() {
    // Streaming, standard input and the terminal have tests of their own in `seed_001_subcommands`; here, that
    // the two streams stay apart.
    let world = World::new();
    world.plugin_script("p", "e", "echo out; echo err >&2");
    world.plugin("p", &subcommand("p", "crates = [\"*\"]", "both", "{ executable = \"./e\" }"));
    let run = world.agents(&["both"]);
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("out\n", "err\n"));
}

#[test]
fn promise_02_requirements_are_processed_for_subcommands() {
    let world = World::new();
    world.plugin_script("p", "helper", "echo helped");
    world.plugin_script("p", "main", "helper && echo \"$SYMPOSIUM_helper\"");
    let helper = world.home().join("plugins/p/helper");
    world.plugin("p", "name = \"p\"\ncrates = [\"*\"]\n[[installations]]\nname = \"helper\"\nexecutable = \"./helper\"\n[subcommand.needs]\ndescription = \"x\"\ncommand = { executable = \"./main\", requirements = [\"helper\"] }\n");
    assert_eq!(world.ok(&["needs"]), format!("helped\n{helper}\n"));
}

#[test]
fn promise_03_an_unknown_name_points_to_help() {
    let run = World::new().agents(&["nonsense"]);
    assert!(run.stderr.contains("`cargo agents --help`"), "{run:?}");
}

#[test]
fn promise_04_outside_a_workspace_the_needed_crate_is_named() {
    let world = World::new();
    world.plugin(
        "p",
        &subcommand("p", "crates = [\"sqlx\"]", "schema", "{ executable = \"true\" }"),
    );
    let run = world.agents_in(&world.outside(), &["schema"]);
    assert!(run.stderr.contains("depends on `sqlx`"), "{run:?}");
    let run = world.agents(&["schema"]);
    assert!(
        run.stderr.contains("`schema` needs `sqlx`, which this workspace does not depend on"),
        "{run:?}"
    );
}

#[test]
fn promise_04_a_crate_is_not_blamed_for_what_another_condition_refuses() {
    let world = World::new();
    let command = "{ executable = \"true\" }";
    let gate = "crates = [\"serde\"]\npredicates = [\"env(NOT_SET_ANYWHERE)\"]";
    world.plugin("p", &subcommand("p", gate, "one", command));
    let gate = "crates = [\"*\"]\npredicates = [\"not(crate(serde))\"]";
    world.plugin("q", &subcommand("q", gate, "two", command));
    world.plugin("r", &subcommand("r", "crates = [\"serde>=2\"]", "three", command));
    let list = world.ok(&["plugin", "list"]);
    for name in ["one", "two"] {
        let run = world.agents(&[name]);
        let message = format!("error[E0044]: `{name}` does not apply here\n");
        assert!(run.stderr.starts_with(&message), "{run:?}");
    }
    let run = world.agents(&["three"]);
    assert!(run.stderr.contains("needs `serde>=2`, which this workspace does not"), "{run:?}");
    for row in [
        "p           not active: its conditions do not hold",
        "q           not active: its conditions do not hold",
        "r           not active: needs serde>=2",
    ] {
        assert!(list.contains(row), "{list}");
    }
}

#[test]
fn promise_05_crate_info_is_a_first_party_plugin_listed_for_agents() {
    let world = World::new();
    let list = world.json(&["plugin", "list"]);
    let plugins = list["plugins"].as_array().unwrap();
    let own = plugins.iter().find(|plugin| plugin["name"] == "crate-info").unwrap();
    assert_eq!((own["origin"].as_str(), own["active"].as_bool()), (Some("built-in"), Some(true)));
    assert_eq!(own["subcommands"][0], "crate-info");
    assert!(lists(&world.ok(&[]), "Commands for agents", "crate-info"));
}

#[test]
fn promise_06_every_built_in_name_is_reserved() {
    // The list of names is in `seed_001_subcommands`; here, that such a plugin does not even load.
    let world = World::new();
    world.plugin("p", &subcommand("p", "crates = [\"*\"]", "plugin", "{ executable = \"true\" }"));
    let list = world.json(&["plugin", "list"]);
    assert_eq!(list["invalid"].as_array().unwrap().len(), 1);
}

#[test]
fn promise_07_help_lists_the_operational_commands_for_humans() {
    let help = World::new().ok(&[]);
    for name in ["init", "plugin", "sync"] {
        assert!(lists(&help, "Commands for humans", name), "{name}: {help}");
    }
}

#[test]
fn promise_08_sources_come_from_the_path_then_from_disk_then_from_cargo() {
    let world = World::new();
    world.sample.package("../local", "local", "0.2.0", "");
    world.sample.package(
        ".",
        "app",
        "0.1.0",
        "[dependencies]\nserde = \"1\"\nlocal = { path = \"../local\" }\n",
    );
    let source =
        |name: &str| world.json(&["crate-info", name])["source"].as_str().unwrap().to_owned();
    assert_eq!(source("local"), world.sample.tree().join("local"), "path override");
    assert!(source("serde").contains("serde"), "what cargo has");
    world.sample.vendor().library("elsewhere", "2.0.0", "");
    let found = world.json(&["crate-info", "elsewhere"]);
    assert_eq!(found["version"], "2.0.0", "not a dependency: through cargo");
}

#[test]
fn promise_09_the_description_limit_counts_characters() {
    // 1024 two-byte characters are 2048 bytes, and fine: `a_description_may_have_1024_characters…` has the border.
    let world = World::new();
    let text = format!(
        "name = \"p\"\ncrates = [\"*\"]\n[subcommand.c]\ndescription = \"{}\"\ncommand = {{ executable = \"true\" }}\n",
        "ß".repeat(1024)
    );
    assert_eq!(
        world.agents(&["plugin", "validate", world.plugin("p", &text).as_str()]).code,
        Some(0)
    );
}

#[test]
fn promise_10_sources_are_cargo_a_git_clone_and_a_path_on_disk() {
    let world = World::new();
    world.sample.vendor().program("from-cargo", "1.0.0", "println!(\"cargo\");");
    let repo = Repo::init(world.sample.scratch().path("tools"));
    repo.write("bin/tool.sh", "echo clone\n");
    repo.commit("tool");
    world.plugin_script("p", "here", "echo path");
    let command = |inline: &str, name: &str| {
        format!("[subcommand.{name}]\ndescription = \"x\"\ncommand = {inline}\n")
    };
    world.plugin(
        "p",
        &format!(
            "name = \"p\"\ncrates = [\"*\"]\n{}{}{}",
            command("{ source = \"cargo\", crate = \"from-cargo\" }", "by-cargo"),
            command(
                &format!(
                    "{{ source = \"github\", url = \"{}\", script = \"bin/tool.sh\" }}",
                    repo.url()
                ),
                "by-clone"
            ),
            command("{ executable = \"./here\" }", "by-path"),
        ),
    );
    assert_eq!(world.ok(&["by-cargo"]), "cargo\n");
    assert_eq!(world.ok(&["by-clone"]), "clone\n");
    assert_eq!(world.ok(&["by-path"]), "path\n");
}

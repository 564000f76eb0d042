//! Installations as the program uses them: at once, killed half-way, again.

use std::{process::Stdio, time::Duration};

use crate::world::{Run, World};

/// A plugin whose command is a vendored program with this install command; `@LOG@` in it is a file outside.
fn world_with_tool(install_command: &str) -> World {
    let world = World::new();
    let log = world.sample.scratch().path("installs");
    let install_command = install_command.replace("@LOG@", log.as_str());
    world.sample.vendor().program("tool", "1.0.0", "println!(\"tool runs\");");
    world.plugin("p", &format!("name = \"p\"\ncrates = [\"*\"]\n[subcommand.tool]\ndescription = \"x\"\ncommand = {{ source = \"cargo\", crate = \"tool\", install_commands = ['{install_command}'] }}\n"));
    world
}

fn installs(world: &World) -> usize {
    std::fs::read_to_string(world.sample.scratch().path("installs"))
        .unwrap_or_default()
        .lines()
        .count()
}

/// Writes down that it ran.
const COUNTING: &str = "echo x >> @LOG@";

#[test]
fn processes_that_need_the_same_tool_at_once_install_it_once_and_all_run() {
    let world = world_with_tool(COUNTING);
    let running: Vec<_> = (0..4)
        .map(|_| {
            world.command(&["tool"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for child in running {
        let run = Run::from(child.wait_with_output().unwrap());
        assert_eq!((run.code, run.stdout.as_str()), (Some(0), "tool runs\n"), "{run:?}");
    }
    assert_eq!(installs(&world), 1);
}

#[test]
fn a_warm_tool_is_neither_installed_nor_set_up_again() {
    let world = world_with_tool(COUNTING);
    for _ in 0..3 {
        assert_eq!(world.ok(&["tool"]), "tool runs\n");
    }
    assert_eq!(installs(&world), 1);
}

#[test]
fn after_kill_9_in_the_middle_of_an_install_the_next_run_works() {
    let world = world_with_tool("touch ../begun; [ -e ../../../../again ] || sleep 20");
    let mut child =
        world.command(&["tool"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let installations = world.home().join("cache/installations");
    let begun = || {
        let slots = installations.read_dir_utf8().into_iter().flatten().flatten();
        slots.into_iter().any(|slot| slot.path().join("begun").exists())
    };
    for _ in 0..3000 {
        if begun() {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(begun(), "the install command never ran");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!begun_receipt(&installations), "nothing may look usable");
    agents_testkit::scratch::write(&world.home().join("again"), "");
    assert_eq!(world.ok(&["tool"]), "tool runs\n");
}

fn begun_receipt(installations: &camino::Utf8Path) -> bool {
    let slots = installations.read_dir_utf8().unwrap().flatten();
    slots.into_iter().any(|slot| slot.path().join("current.json").exists())
}

#[test]
fn a_failing_install_command_says_which_step_and_shows_its_output() {
    let world = world_with_tool("echo the disk is on fire >&2; exit 9");
    let run = world.agents(&["tool"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    for part in ["cannot install `tool`", "install command", "exit code 9", "the disk is on fire"] {
        assert!(run.stderr.contains(part), "no {part:?} in {run:?}");
    }
}

#[test]
fn different_pinned_versions_live_side_by_side() {
    let world = World::new();
    for version in ["1.0.0", "2.0.0"] {
        world.sample.vendor().program("tool", version, &format!("println!(\"{version}\");"));
    }
    let pinned = |version: &str, name: &str| {
        format!(
            "[subcommand.{name}]\ndescription = \"x\"\ncommand = {{ source = \"cargo\", crate = \"tool\", version = \"{version}\" }}\n"
        )
    };
    world.plugin(
        "p",
        &format!(
            "name = \"p\"\ncrates = [\"*\"]\n{}{}",
            pinned("1.0.0", "one"),
            pinned("2.0.0", "two")
        ),
    );
    for _ in 0..2 {
        assert_eq!(world.ok(&["one"]), "1.0.0\n");
        assert_eq!(world.ok(&["two"]), "2.0.0\n");
    }
    let entries = world.json(&["plugin", "cache", "list"]);
    assert_eq!(entries["entries"].as_array().unwrap().len(), 2, "{entries}");
}

#[test]
fn offline_a_missing_tool_is_an_error_with_a_way_out_and_a_cached_one_runs() {
    let world = World::new();
    let repo = agents_testkit::repo::Repo::init(world.sample.scratch().path("repo"));
    repo.write("run.sh", "echo cloned\n");
    repo.commit("one");
    world.plugin("p", &format!("name = \"p\"\ncrates = [\"*\"]\n[subcommand.cloned]\ndescription = \"x\"\ncommand = {{ source = \"github\", url = \"{}\", script = \"run.sh\" }}\n", repo.url()));
    let run = world.agents(&["--offline", "cloned"]);
    assert_eq!(run.code, Some(4), "{run:?}");
    assert!(run.stderr.contains("--offline"), "{run:?}");
    assert_eq!(world.ok(&["cloned"]), "cloned\n");
    assert_eq!(world.ok(&["--offline", "cloned"]), "cloned\n");
}

#[test]
fn a_tool_that_was_tampered_with_is_shown_in_the_list() {
    let world = world_with_tool(COUNTING);
    world.ok(&["tool"]);
    let entry = || world.json(&["plugin", "cache", "list"])["entries"][0].clone();
    assert_eq!(entry()["changed"].as_array().unwrap().len(), 0, "{}", entry());
    let program = format!("{}/bin/tool", entry()["path"].as_str().unwrap());
    std::fs::remove_file(&program).unwrap();
    std::fs::write(&program, "#!/bin/sh\necho evil\n").unwrap();
    assert_eq!(entry()["changed"][0], program);
}

#[test]
fn what_is_in_use_survives_a_prune_of_the_unused() {
    let world = world_with_tool(COUNTING);
    world.ok(&["tool"]);
    let kept = world.json(&["plugin", "cache", "prune", "--unused-for", "30"]);
    assert_eq!(kept["entries"].as_array().unwrap().len(), 0, "{kept}");
    assert_eq!(world.ok(&["tool"]), "tool runs\n");
    assert_eq!(installs(&world), 1);
}

//! Where you stand: the workspace is seen as it is right now, and nothing is written into it.

use agents_testkit::scratch;
use camino::Utf8PathBuf;

use crate::world::{Run, World, lists, section, subcommand};

/// A world with a plugin `gate` whose command `cmd` applies if the workspace depends on `crates`.
fn gated_by(crates: &str) -> World {
    let world = World::new();
    world.plugin(
        "gate",
        &subcommand(
            "gate",
            &format!("crates = [\"{crates}\"]"),
            "cmd",
            "{ executable = \"echo\", args = [\"ran\"] }",
        ),
    );
    world
}

/// What `plugin explain` says about the first condition of `gate`.
fn reason(world: &World) -> String {
    let explained = world.json(&["plugin", "explain", "gate"]);
    explained["plugins"][0]["conditions"][0]["because"].as_str().unwrap().to_owned()
}

fn manifest(world: &World, dependencies: &str) -> Utf8PathBuf {
    world.sample.package(".", "app", "0.1.0", &format!("[dependencies]\n{dependencies}\n"))
}

// ---- a workspace that is broken

#[test]
fn a_broken_manifest_is_an_error_with_its_place() {
    let world = gated_by("serde");
    let file = world.sample.write("Cargo.toml", "[package]\nname = \"app\"\nversion = 0.1.0\n");
    for args in [
        &["plugin", "explain", "gate"][..],
        &["cmd"],
        &["crate-info", "serde"],
        &["plugin", "list"],
    ] {
        let run = world.agents(args);
        assert_eq!(run.code, Some(2), "{args:?}: {run:?}");
        assert!(run.stderr.contains(&format!("{file}:3:")), "{args:?}: {run:?}");
        assert!(!run.stderr.contains("needs a Rust workspace"), "{run:?}");
    }
}

#[test]
fn help_survives_a_broken_manifest_and_says_what_is_wrong() {
    let world = gated_by("*");
    let file = world.sample.write("Cargo.toml", "[package\n");
    let run = world.agents(&["--help"]);
    assert_eq!(run.code, Some(0));
    assert!(lists(&run.stdout, "Commands for humans", "plugin"), "{run:?}");
    assert!(lists(&run.stdout, "Commands for agents", "cmd"), "{run:?}");
    assert!(run.stderr.contains(&format!("{file}:1:")), "{run:?}");
}

#[test]
fn json_stays_one_document_in_a_broken_workspace() {
    let world = gated_by("serde");
    world.sample.write("Cargo.toml", "[package\n");
    let list = world.json(&["plugin", "list"]);
    assert_eq!(list["error"]["findings"][0]["line"], 1, "{list}");
    world.json(&[]);
}

#[test]
fn what_cargo_refuses_is_shown_in_cargos_words() {
    let world = gated_by("serde");
    manifest(&world, "no-such-crate-anywhere = \"1\"");
    let run = world.agents(&["cmd"]);
    assert_ne!(run.code, Some(0));
    assert!(run.stderr.contains("no-such-crate-anywhere"), "{run:?}");
    assert!(!run.stderr.contains("needs a Rust workspace"), "{run:?}");
}

#[test]
fn show_and_sync_tell_that_the_workspace_is_broken() {
    let world = gated_by("serde");
    world.sample.write("Cargo.toml", "[package\n");
    let run = world.agents(&["plugin", "show", "app"]);
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.stderr.contains("is not valid TOML"), "a member may have had it: {run:?}");
    let run = world.agents(&["plugin", "sync"]);
    assert!(run.stderr.contains("is not valid TOML"), "{run:?}");
}

// ---- a workspace that changes

#[test]
fn a_dependency_added_by_hand_is_seen_at_once_and_nothing_is_written() {
    let world = gated_by("fresh");
    world.sample.vendor().library("fresh", "2.1.0", "");
    assert_eq!(world.agents(&["cmd"]).code, Some(2));
    manifest(&world, "serde = \"1\"\nfresh = \"2\"");
    let before = world.sample.snapshot();
    assert_eq!(world.ok(&["cmd"]), "ran\n");
    assert_eq!(reason(&world), "workspace has fresh 2.1.0");
    assert_eq!(world.sample.snapshot(), before);
    // And away again.
    manifest(&world, "serde = \"1\"");
    assert_eq!(world.agents(&["cmd"]).code, Some(2));
}

#[test]
fn cargo_add_is_seen_at_once() {
    let world = gated_by("fresh");
    world.sample.vendor().library("fresh", "2.1.0", "");
    assert_eq!(world.agents(&["cmd"]).code, Some(2));
    world.sample.cargo(&["add", "--quiet", "--offline", "fresh@2"]);
    assert_eq!(world.ok(&["cmd"]), "ran\n");
}

#[test]
fn a_tree_without_a_lock_file_stays_without_one() {
    let world = gated_by("serde");
    std::fs::remove_file(world.sample.path("Cargo.lock")).unwrap();
    let before = world.sample.snapshot();
    for args in [
        &[][..],
        &["cmd"],
        &["plugin", "list"],
        &["plugin", "explain", "gate"],
        &["crate-info", "serde"],
    ] {
        world.ok(args);
    }
    assert_eq!(world.sample.snapshot(), before);
}

#[test]
fn an_edit_that_keeps_size_and_time_is_seen() {
    let world = gated_by("serde");
    assert_eq!(world.ok(&["cmd"]), "ran\n");
    let file = world.sample.path("Cargo.toml");
    let before = std::fs::metadata(&file).unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    // `serde` becomes a comment of the same length.
    std::fs::write(&file, text.replace("serde = \"1\"", "#erde = \"1\"")).unwrap();
    let handle = std::fs::File::options().append(true).open(&file).unwrap();
    handle.set_modified(before.modified().unwrap()).unwrap();
    assert_eq!(std::fs::metadata(&file).unwrap().len(), before.len());
    assert_eq!(world.agents(&["cmd"]).code, Some(2));
}

#[test]
fn a_workspace_that_comes_into_being_is_seen() {
    let world = gated_by("serde");
    let dir = world.outside();
    assert_eq!(world.agents_in(&dir, &["cmd"]).code, Some(2));
    scratch::write(&dir.join("src/lib.rs"), "");
    scratch::write(
        &dir.join("Cargo.toml"),
        "[package]\nname = \"new\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[dependencies]\nserde = \"1\"\n",
    );
    assert_eq!(world.agents_in(&dir, &["cmd"]).stdout, "ran\n");
}

// ---- how cargo is used

fn with_recording_cargo(world: &World, args: &[&str]) -> (Run, String) {
    let (cargo, log) = world.sample.recording_cargo();
    let mut command = world.command(args);
    let run = Run::from(command.env("CARGO_AGENTS_CARGO", cargo).output().unwrap());
    (run, std::fs::read_to_string(log).unwrap_or_default())
}

#[test]
fn a_warm_run_starts_no_cargo() {
    let world = gated_by("serde");
    std::fs::remove_file(world.sample.path("Cargo.lock")).unwrap();
    let (_, cold) = with_recording_cargo(&world, &["cmd"]);
    assert_ne!(cold, "", "without a lock file only cargo knows the versions");
    for args in [&[][..], &["cmd"], &["plugin", "list"], &["plugin", "explain", "gate"]] {
        let (run, calls) = with_recording_cargo(&world, args);
        assert_eq!((run.code, calls.as_str()), (Some(0), cold.as_str()), "{args:?}");
    }
}

#[test]
fn a_complete_lock_file_is_enough_without_any_cargo() {
    let world = gated_by("serde");
    let (run, calls) = with_recording_cargo(&world, &["cmd"]);
    assert_eq!((run.stdout.as_str(), calls.as_str()), ("ran\n", ""));
}

#[test]
fn offline_is_enough_when_cargo_has_everything() {
    let world = gated_by("serde");
    std::fs::remove_file(world.sample.path("Cargo.lock")).unwrap();
    assert_eq!(world.ok(&["--offline", "cmd"]), "ran\n", "cold");
    assert_eq!(world.ok(&["--offline", "cmd"]), "ran\n", "warm");
}

#[test]
fn there_need_be_no_cargo_when_the_answer_is_known() {
    let world = gated_by("serde");
    world.ok(&["cmd"]);
    let mut command = world.command(&["cmd"]);
    let run = Run::from(command.env("CARGO_AGENTS_CARGO", "/no/such/cargo").output().unwrap());
    assert_eq!(run.stdout, "ran\n", "{run:?}");
}

#[test]
fn a_cargo_that_is_not_there_is_named_with_what_to_do() {
    let world = gated_by("serde");
    std::fs::remove_file(world.sample.path("Cargo.lock")).unwrap();
    let mut command = world.command(&["cmd"]);
    let run = Run::from(command.env("CARGO_AGENTS_CARGO", "/no/such/cargo").output().unwrap());
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.stderr.contains("/no/such/cargo"), "{run:?}");
    assert!(run.stderr.contains("CARGO_AGENTS_CARGO"), "{run:?}");
}

// ---- which packages count

#[test]
fn it_works_from_every_directory_of_a_member() {
    let world = gated_by("serde");
    world.sample.workspace("members = [\"a\", \"b\"]");
    world.sample.package("a", "a", "0.1.0", "");
    world.sample.package("b", "b", "0.1.0", "[dependencies]\nserde = \"1\"\n");
    world.sample.write("a/src/deep/er/file.rs", "");
    world.sample.lock();
    for dir in ["", "a", "a/src/deep/er", "b"] {
        let run = world.agents_in(&world.sample.path(dir), &["cmd"]);
        assert_eq!(run.stdout, "ran\n", "{dir}: the dependencies of all members count: {run:?}");
    }
}

#[test]
fn both_versions_of_a_crate_are_reasons() {
    let world = gated_by("serde");
    world.sample.vendor().library("serde", "0.9.15", "");
    world.sample.workspace("members = [\"a\", \"b\"]");
    world.sample.package("a", "a", "0.1.0", "[dependencies]\nserde = \"0.9\"\n");
    world.sample.package("b", "b", "0.1.0", "[dependencies]\nserde = \"1\"\n");
    world.sample.lock();
    assert_eq!(reason(&world), "workspace has serde 0.9.15, serde 1.0.200");
    let rows = section(&world.ok(&[]), "Commands for agents");
    let row = rows.iter().find(|row| row.starts_with("cmd")).unwrap();
    assert!(row.ends_with("(from gate, because serde 0.9.15, serde 1.0.200)"), "{row}");
    // A requirement needs only one of them.
    world.plugin(
        "gate",
        &subcommand("gate", "crates = [\"serde<1\"]", "cmd", "{ executable = \"echo\" }"),
    );
    assert_eq!(reason(&world), "workspace has serde 0.9.15");
}

#[test]
fn a_renamed_dependency_counts_by_its_real_name() {
    let world = gated_by("serde");
    manifest(&world, "renamed = { package = \"serde\", version = \"1\" }");
    assert_eq!(world.ok(&["cmd"]), "ran\n");
    let world = gated_by("renamed");
    manifest(&world, "renamed = { package = \"serde\", version = \"1\" }");
    assert_eq!(world.agents(&["cmd"]).code, Some(2));
}

#[test]
fn a_dependency_of_a_dependency_does_not_count() {
    let world = gated_by("below");
    world.sample.vendor().library("below", "1.0.0", "");
    world.sample.vendor().library("above", "1.0.0", "[dependencies]\nbelow = \"1\"\n");
    manifest(&world, "above = \"1\"");
    assert_eq!(world.agents(&["cmd"]).code, Some(2));
    manifest(&world, "above = \"1\"\nbelow = \"1\"");
    assert_eq!(world.ok(&["cmd"]), "ran\n");
}

#[test]
fn development_build_and_platform_dependencies_count() {
    for table in ["dev-dependencies", "build-dependencies", "target.'cfg(windows)'.dependencies"] {
        let world = gated_by("fresh");
        world.sample.vendor().library("fresh", "2.1.0", "");
        world.sample.package(".", "app", "0.1.0", &format!("[{table}]\nfresh = \"2\"\n"));
        if table.starts_with("build") {
            world.sample.write("build.rs", "fn main() {}");
        }
        assert_eq!(world.agents(&["cmd"]).stdout, "ran\n", "{table}");
    }
}

#[test]
fn gates_match_with_either_hyphen_or_underscore() {
    assert_eq!(gated_by("tiny_sql").ok(&["cmd"]), "ran\n");
}

// ---- crate-info

fn source(world: &World, args: &[&str]) -> (String, Utf8PathBuf) {
    let mut all = vec!["crate-info"];
    all.extend(args);
    let found = world.json(&all);
    let text = |key: &str| found[key].as_str().unwrap_or_else(|| panic!("{found}")).to_owned();
    (text("version"), text("source").into())
}

#[test]
fn crate_info_prints_three_lines_for_people() {
    let world = World::new();
    let dir = world.sample.vendor().dir().join("serde-1.0.200");
    assert_eq!(
        world.ok(&["crate-info", "serde"]),
        format!("Crate: serde\nVersion: 1.0.200\nSource: {dir}\n")
    );
}

#[test]
fn crate_info_of_a_path_dependency_and_of_the_package_itself() {
    let world = World::new();
    world.sample.package("../local", "local", "0.2.0", "");
    manifest(&world, "local = { path = \"../local\" }");
    assert_eq!(source(&world, &["local"]), ("0.2.0".to_owned(), world.sample.tree().join("local")));
    assert_eq!(source(&world, &["app"]), ("0.1.0".to_owned(), world.sample.root()));
}

#[test]
fn crate_info_of_a_patched_crate_is_the_patch() {
    let world = World::new();
    world.sample.package("../patched", "serde", "1.0.201", "");
    let rest =
        "[dependencies]\nserde = \"1\"\n[patch.crates-io]\nserde = { path = \"../patched\" }\n";
    world.sample.package(".", "app", "0.1.0", rest);
    world.sample.lock();
    let patched = world.sample.tree().join("patched");
    assert_eq!(source(&world, &["serde"]), ("1.0.201".to_owned(), patched));
}

#[test]
fn crate_info_takes_the_version_that_the_workspace_uses_and_not_the_newest() {
    let world = World::new();
    world.sample.vendor().library("serde", "1.0.300", "");
    assert_eq!(source(&world, &["serde"]).0, "1.0.200");
    assert_eq!(source(&world, &["serde", "--version", "=1.0.300"]).0, "1.0.300");
    assert_eq!(source(&world, &["serde", "--version", "1"]).0, "1.0.200", "it satisfies that");
}

#[test]
fn crate_info_of_a_dependency_of_a_dependency_is_the_locked_one() {
    let world = World::new();
    world.sample.vendor().library("below", "1.0.0", "");
    world.sample.vendor().library("above", "1.0.0", "[dependencies]\nbelow = \"1\"\n");
    manifest(&world, "above = \"1\"");
    world.sample.lock();
    world.sample.vendor().library("below", "1.9.0", "");
    assert_eq!(source(&world, &["below"]).0, "1.0.0");
}

#[test]
fn crate_info_outside_a_workspace_takes_the_newest() {
    let world = World::new();
    world.sample.vendor().library("serde", "1.0.300", "");
    let run = world.agents_in(&world.outside(), &["crate-info", "serde"]);
    assert!(run.stdout.contains("Version: 1.0.300\n"), "{run:?}");
    assert_eq!(std::fs::read_dir(world.outside()).unwrap().count(), 0, "nothing is written here");
}

#[test]
fn crate_info_of_an_unknown_crate_or_version_is_a_clear_error() {
    let world = World::new();
    for (args, message) in [
        (&["no-such-crate-anywhere"][..], "there is no crate `no-such-crate-anywhere`"),
        (&["serde", "--version", "7"], "no version of `serde` satisfies `^7`"),
        (&["serde", "--version", "seven"], "`seven` is not a version requirement"),
        (&["../x"], "`../x` is not the name of a crate"),
        (&[""], "`` is not the name of a crate"),
    ] {
        let mut all = vec!["crate-info"];
        all.extend(args);
        let run = world.agents(&all);
        assert_eq!(run.code, Some(2), "{run:?}");
        let (head, said) = run.stderr.split_once(": ").unwrap();
        assert!(head.starts_with("error") && said.starts_with(message), "{run:?}");
    }
}

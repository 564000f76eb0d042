//! `source = "cargo"`.

use agents_install::{CargoPlace, Installation, Source, Update};
use agents_workspace::Network;

use crate::world::{Also as _, World, from, krate, output, write_crate};

#[test]
fn a_crate_is_built_once_and_run_with_its_arguments_first() {
    let mut world = World::new();
    world.publish("tool", "1.0.0", &["tool"]);
    world.add("tool", krate("tool").args(&["a", "b c"]));
    assert_eq!(world.cached("tool"), None);
    let runnable = world.resolve("tool");
    assert_eq!(output(&runnable), "tool 1.0.0 a,b c");
    assert_eq!(runnable.version.as_deref(), Some("1.0.0"));
    assert_eq!(world.cached("tool"), Some(runnable.clone()));
    assert_eq!(world.resolve("tool"), runnable);
    assert_eq!(world.slot_names(), ["1.0.0", "current.json", "lock"]);
}

#[test]
fn pinned_versions_live_side_by_side() {
    let mut world = World::new();
    for version in ["1.0.0", "1.1.0", "2.0.0"] {
        world.publish("tool", version, &["tool"]);
    }
    world.add("old", krate("tool@1.0.0"));
    world.add("mid", krate("tool@1.1.0"));
    world.add("new", krate("tool"));
    assert_eq!(world.run("old"), "tool 1.0.0");
    assert_eq!(world.run("mid"), "tool 1.1.0");
    assert_eq!(world.run("new"), "tool 2.0.0");
    assert_eq!(world.run("old"), "tool 1.0.0");
}

#[test]
fn updates_are_taken_when_asked_for_and_only_then() {
    let mut world = World::new();
    world.publish("tool", "1.0.0", &["tool"]);
    let note = format!("echo $PWD >> {}", world.path("made"));
    world.add("tool", krate("tool").install_commands(&[&note]));
    assert_eq!(world.run("tool"), "tool 1.0.0");

    world.update("tool", Update::Check);
    assert_eq!(world.lines("made").len(), 1, "nothing newer, nothing done");

    world.publish("tool", "1.1.0", &["tool"]);
    assert_eq!(world.run("tool"), "tool 1.0.0");
    let newer = world.update("tool", Update::Check);
    assert_eq!(output(&newer), "tool 1.1.0");
    assert_eq!(world.cached("tool"), Some(newer));
    assert_eq!(world.lines("made").len(), 2);
    assert_eq!(world.slot_names(), ["1.0.0", "1.1.0", "current.json", "lock"]);

    let again = world.update("tool", Update::Fetch);
    assert_eq!(output(&again), "tool 1.1.0");
    assert_eq!(world.lines("made").len(), 3);
}

#[test]
fn one_installer_asks_once_for_each_thing() {
    let mut world = World::new();
    world.publish("tool", "1.0.0", &["tool"]);
    let note = format!("echo >> {}", world.path("made"));
    world.add("tool", krate("tool").install_commands(&[&note]));
    let name = agents_install::InstallationName::new("tool");
    world.with(Update::Fetch, |installer| {
        for _ in 0..3 {
            installer.acquire(&world.installations, &name, &world.path("plugin")).unwrap();
        }
    });
    assert_eq!(world.lines("made").len(), 1);
}

#[test]
fn a_failed_check_keeps_what_is_there_and_says_so() {
    let mut world = World::new();
    world.publish("tool", "1.0.0", &["tool"]);
    world.add("tool", krate("tool"));
    world.resolve("tool");
    fs_err::remove_dir_all(world.path("vendor/tool-1.0.0")).unwrap();
    let kept = world.update("tool", Update::Check);
    assert_eq!(output(&kept), "tool 1.0.0");
    assert_eq!(kept.findings.len(), 1);
    assert!(
        kept.findings[0].message.contains("`cargo generate-lockfile` ended with exit code 101")
    );
    assert!(world.try_resolve("tool", Update::Fetch).is_err());
    assert_eq!(world.run("tool"), "tool 1.0.0", "a failed fetch harms nothing");
}

#[test]
fn a_damaged_binary_is_replaced() {
    let mut world = World::new();
    world.publish("tool", "1.0.0", &["tool"]);
    world.add("tool", krate("tool"));
    let program = world.resolve("tool").program;
    fs_err::write(&program, "").unwrap();
    assert_eq!(world.cached("tool"), None);
    assert_eq!(world.run("tool"), "tool 1.0.0");
    fs_err::remove_file(&world.resolve("tool").program).unwrap();
    assert_eq!(world.cached("tool"), None);
    assert_eq!(world.run("tool"), "tool 1.0.0");
}

#[test]
fn a_choice_of_binaries() {
    let mut world = World::new();
    world.publish("many", "1.0.0", &["one", "two"]);
    world.add("any", krate("many"));
    world.add("one", krate("many").executable("one"));
    world.add("no", krate("many").executable("three"));
    insta::assert_snapshot!(world.error("any"), @r"
    Usage: cannot run `any`
    cause: crate `many` has several binaries: `one`, `two`
    hint: set `executable` to one of them
    ");
    assert_eq!(world.run("one"), "one 1.0.0");
    insta::assert_snapshot!(world.error("no"), @r"
    Usage: cannot run `no`
    cause: crate `many` has no binary `three`, only `one`, `two`
    hint: set `executable` to one of them
    ");
    assert_eq!(world.slot_names(), ["1.0.0", "current.json", "lock"], "built once for all three");
}

#[test]
fn a_crate_without_binaries() {
    let mut world = World::new();
    world.publish("lib", "1.0.0", &[]);
    fs_err::create_dir_all(world.path("vendor/lib-1.0.0/src")).unwrap();
    fs_err::write(world.path("vendor/lib-1.0.0/src/lib.rs"), "").unwrap();
    world.add("lib", krate("lib"));
    let error = world.error("lib");
    assert!(
        error.starts_with("Failure: cannot install `lib`\ncause: `cargo install` ended"),
        "{error}"
    );
    assert!(error.contains("there is nothing to install in"), "{error}");
}

#[test]
fn a_missing_version_is_told_by_cargo() {
    let mut world = World::new();
    world.publish("tool", "1.0.0", &["tool"]);
    world.add("tool", krate("tool@9.9.9"));
    let error = world.error("tool");
    assert!(error.starts_with("Failure: cannot install `tool`\ncause: `cargo install` ended with exit code 101\ndetails: "), "{error}");
    assert!(error.contains("9.9.9"), "{error}");
    assert_eq!(world.slot_names(), ["lock"]);
}

fn from_git(name: &str, url: String) -> Installation {
    let git = Some(url);
    from(Some(Source::Cargo { name: name.to_owned(), version: None, git, place: CargoPlace::Own }))
        .executable(name)
}

#[test]
fn a_crate_from_git_follows_its_commits() {
    let mut world = World::new();
    let repo = world.repo("tool", &[]);
    write_crate(repo.dir(), "tool", "0.1.0", &["tool"]);
    let first = repo.commit("tool");
    world.add("tool", from_git("tool", repo.url()));
    let runnable = world.resolve("tool");
    assert_eq!(output(&runnable), "tool 0.1.0");
    assert_eq!(runnable.commit.as_deref(), Some(first.as_str()));

    assert_eq!(world.update("tool", Update::Check), runnable);
    write_crate(repo.dir(), "tool", "0.2.0", &["tool"]);
    let second = repo.commit("newer");
    let newer = world.update("tool", Update::Check);
    assert_eq!(output(&newer), "tool 0.2.0");
    assert_eq!(newer.commit, Some(second));
}

#[test]
fn without_a_network_what_is_at_hand_still_works() {
    let mut world = World::new();
    world.publish("tool", "1.0.0", &["tool"]);
    world.add("tool", krate("tool"));
    world.add("missing", krate("missing"));
    world.network = Network::Offline;
    assert_eq!(world.run("tool"), "tool 1.0.0", "a vendored registry needs no network");
    world.publish("tool", "1.1.0", &["tool"]);
    assert_eq!(output(&world.update("tool", Update::Fetch)), "tool 1.0.0");
    let error = world.error("missing");
    assert!(
        error.starts_with(
            "Network: cannot install `missing`\ncause: crate `missing` is not in the cache and the \
             network is off\nhint: run it once without `--offline`\ndetails: "
        ),
        "{error}"
    );
}

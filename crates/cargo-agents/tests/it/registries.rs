//! Where plugins come from: directories, repositories, the workspace and its crates, and whose word decides.

use agents_testkit::{repo::Repo, scratch};
use camino::Utf8PathBuf;
use serde_json::Value;

use crate::world::{Run, World, lists, subcommand};

pub(crate) const NO_DEFAULTS: &str = "[defaults]\nsymposium-recommendations = false\n";

/// A plugin that is active everywhere and whose command `<name>-cmd` prints `text`.
pub(crate) fn everywhere(name: &str, text: &str) -> String {
    let command = format!("{{ executable = \"echo\", args = [\"{text}\"] }}");
    subcommand(name, "crates = [\"*\"]", &format!("{name}-cmd"), &command)
}

/// What is embedded in a crate, with a command `<name>-cmd`.
pub(crate) fn embedded(name: &str) -> String {
    format!(
        "[subcommand.{name}-cmd]\ndescription = \"From {name}\"\ncommand = {{ executable = \"echo\", args = [\"{name}\"] }}\n"
    )
}

/// A world whose configuration also has `[[registry]] name = "extra"` with this `place`.
pub(crate) fn with_registry(place: &str) -> World {
    let world = World::new();
    world.config(&format!("{NO_DEFAULTS}[[registry]]\nname = \"extra\"\n{place}\n"));
    world
}

/// A world with a repository of plugins as its registry `extra`, not fetched yet.
pub(crate) fn with_repository() -> (World, Repo) {
    let world = World::new();
    let repo = Repo::init(world.sample.scratch().path("repo"));
    repo.write("one/SYMPOSIUM.toml", everywhere("one", "first"));
    repo.commit("one");
    world.config(&format!(
        "{NO_DEFAULTS}[[registry]]\nname = \"extra\"\ngit = \"{}\"\n",
        repo.url()
    ));
    (world, repo)
}

pub(crate) fn registry_state(world: &World, name: &str) -> String {
    let list = world.json(&["plugin", "list"]);
    let all = list["registries"].as_array().unwrap();
    let found = all.iter().find(|registry| registry["name"] == name);
    found.unwrap_or_else(|| panic!("{list}"))["state"].as_str().unwrap().to_owned()
}

pub(crate) fn plugin(world: &World, name: &str) -> Option<Value> {
    let list = world.json(&["plugin", "list"]);
    list["plugins"].as_array().unwrap().iter().find(|plugin| plugin["name"] == name).cloned()
}

/// Why the plugin is active, or why not.
pub(crate) fn because(world: &World, name: &str) -> String {
    let plugin = plugin(world, name).unwrap_or_else(|| panic!("no plugin {name}"));
    plugin["because"].as_str().unwrap().to_owned()
}

/// A `PATH` in which git writes down that it was called, and the file it writes to.
pub(crate) fn recording_git(world: &World) -> (String, Utf8PathBuf) {
    let log = world.sample.scratch().path("git-calls");
    let path = std::env::var("PATH").unwrap();
    let body = format!("echo \"$@\" >> '{log}'\nPATH='{path}' exec git \"$@\"");
    let script = world.sample.scratch().script("git-bin/git", &body);
    (format!("{}:{path}", script.parent().unwrap()), log)
}

// ---- directories

#[test]
fn a_path_registry_may_be_absolute() {
    let place = World::new();
    let dir = place.sample.scratch().path("elsewhere");
    scratch::write(&dir.join("one/SYMPOSIUM.toml"), everywhere("one", "found"));
    place.config(&format!("{NO_DEFAULTS}[[registry]]\nname = \"extra\"\npath = \"{dir}\"\n"));
    assert_eq!(place.ok(&["one-cmd"]), "found\n");
    assert_eq!(plugin(&place, "one").unwrap()["registry"], "extra");
}

#[test]
fn a_relative_path_starts_from_the_configuration_and_not_from_here() {
    let world = with_registry("path = \"mine\"");
    scratch::write(&world.home().join("mine/one/SYMPOSIUM.toml"), everywhere("one", "right"));
    world.sample.write("mine/one/SYMPOSIUM.toml", &everywhere("one", "wrong"));
    assert_eq!(world.ok(&["one-cmd"]), "right\n");
}

#[test]
fn a_missing_directory_is_a_state_and_not_an_error() {
    let world = with_registry("path = \"nowhere\"");
    let run = world.agents(&["plugin", "list"]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    assert!(run.stdout.contains("(no such directory)"), "{run:?}");
    assert_eq!(registry_state(&world, "extra"), "missing");
    // It may come into being at any time.
    scratch::write(&world.home().join("nowhere/one/SYMPOSIUM.toml"), everywhere("one", "now"));
    assert_eq!(registry_state(&world, "extra"), "read");
    assert_eq!(world.ok(&["one-cmd"]), "now\n");
}

#[test]
fn the_older_spelling_plugin_source_works() {
    let world = World::new();
    world.config(&format!("{NO_DEFAULTS}[[plugin-source]]\nname = \"old\"\npath = \"mine\"\n"));
    scratch::write(&world.home().join("mine/one/SYMPOSIUM.toml"), everywhere("one", "old"));
    assert_eq!(world.ok(&["one-cmd"]), "old\n");
}

#[test]
fn the_users_own_directory_can_be_turned_off() {
    let world = World::new();
    world.plugin("one", &everywhere("one", "mine"));
    assert_eq!(world.ok(&["one-cmd"]), "mine\n");
    world.config(&format!("{NO_DEFAULTS}user-plugins = false\n"));
    assert_eq!(world.agents(&["one-cmd"]).code, Some(2));
    assert!(!world.ok(&["plugin", "list"]).contains("user-plugins"));
}

#[test]
fn an_edit_that_keeps_size_and_time_is_seen_by_the_next_command() {
    let world = World::new();
    let file = world.plugin("one", &everywhere("one", "aaaa"));
    assert_eq!(world.ok(&["one-cmd"]), "aaaa\n");
    let before = std::fs::metadata(&file).unwrap();
    std::fs::write(&file, everywhere("one", "bbbb")).unwrap();
    let handle = std::fs::File::options().append(true).open(&file).unwrap();
    handle.set_modified(before.modified().unwrap()).unwrap();
    assert_eq!(std::fs::metadata(&file).unwrap().len(), before.len());
    assert_eq!(world.ok(&["one-cmd"]), "bbbb\n");
}

#[test]
fn plugins_that_come_and_go_are_seen_by_the_next_command() {
    let world = World::new();
    world.plugin("one", &everywhere("one", "1"));
    assert!(plugin(&world, "one").is_some());
    let deep = world.plugin("deep/er/two", &everywhere("two", "2"));
    assert_eq!(world.ok(&["two-cmd"]), "2\n");
    std::fs::remove_dir_all(deep.parent().unwrap()).unwrap();
    assert!(plugin(&world, "two").is_none());
    assert!(plugin(&world, "one").is_some());
}

#[test]
fn one_bad_manifest_stops_no_other_and_is_shown_where_it_is_wrong() {
    let world = World::new();
    world.plugin("good", &everywhere("good", "fine"));
    let bad = world.plugin("bad", "name = \"bad\"\ncrates = [\"*\"]\nnonsense = 1\n");
    assert_eq!(world.ok(&["good-cmd"]), "fine\n");
    let list = world.agents(&["plugin", "list"]);
    assert_eq!(list.code, Some(0));
    assert!(list.stderr.contains(&format!("{bad}:3:1")), "{list:?}");
    assert!(list.stderr.contains("nonsense"), "{list:?}");
    let help = world.agents(&[]);
    assert_eq!(help.code, Some(0));
    assert!(lists(&help.stdout, "Commands for agents", "good-cmd"));
    assert_eq!(
        help.stderr,
        format!(
            "warning: 1 plugin could not be loaded: `{bad}`\nhint: `cargo agents plugin list` says why\n"
        )
    );
    let json = world.json(&["plugin", "list"]);
    let finding = &json["invalid"][0]["findings"][0];
    assert_eq!((&finding["line"], &finding["column"]), (&Value::from(3), &Value::from(1)));
}

#[test]
fn a_manifest_at_the_root_of_a_registry_is_an_error() {
    let world = with_registry("path = \"mine\"");
    let file =
        scratch::write(&world.home().join("mine/SYMPOSIUM.toml"), everywhere("root", "root"));
    world.plugin("good", &everywhere("good", "fine"));
    let run = world.agents(&["plugin", "list"]);
    assert!(run.stderr.contains("registry `extra` is itself a plugin"), "{run:?}");
    assert!(run.stderr.contains(file.as_str()), "{run:?}");
    assert!(plugin(&world, "root").is_none());
    assert_eq!(world.ok(&["good-cmd"]), "fine\n");
    // It keeps plugins out of the help, so the help says that something is amiss.
    assert!(world.agents(&[]).stderr.contains("registry `extra`"), "{:?}", world.agents(&[]));
}

#[test]
fn two_registries_of_one_name_are_an_error_of_the_configuration() {
    let world = World::new();
    let registry = "[[registry]]\nname = \"same\"\npath = \"a\"\n";
    world.config(&format!("{NO_DEFAULTS}{registry}{registry}"));
    let run = world.agents(&["plugin", "list"]);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("two registries have the name `same`"), "{run:?}");
}

// ---- repositories

#[test]
fn a_repository_that_was_never_fetched_says_so_and_starts_no_process() {
    let (world, _repo) = with_repository();
    let (path, git_calls) = recording_git(&world);
    // The workspace is resolved first, so that cargo has nothing left to do either.
    world.ok(&["plugin", "list"]);
    let (cargo, cargo_calls) = world.sample.recording_cargo();
    let mut command = world.command(&["plugin", "list"]);
    let run =
        Run::from(command.env("PATH", path).env("CARGO_AGENTS_CARGO", cargo).output().unwrap());
    assert_eq!(run.code, Some(0));
    assert!(run.stdout.contains("(not fetched yet: `cargo agents plugin sync`)"), "{run:?}");
    assert_eq!(registry_state(&world, "extra"), "not-fetched");
    assert!(!git_calls.exists() && !cargo_calls.exists());
}

#[test]
fn plugin_sync_fetches_and_afterwards_no_git_is_needed() {
    let (world, repo) = with_repository();
    let said = world.ok(&["plugin", "sync"]);
    assert_eq!(said, format!("Synced: extra {}\n", &repo.head()[..12]));
    let (path, git_calls) = recording_git(&world);
    let mut command = world.command(&["one-cmd"]);
    let run = Run::from(command.env("PATH", path).output().unwrap());
    assert_eq!(run.stdout, "first\n", "{run:?}");
    assert!(!git_calls.exists());
    assert_eq!(registry_state(&world, "extra"), "read");
}

#[test]
fn a_new_commit_is_invisible_until_it_is_asked_for() {
    let (world, repo) = with_repository();
    world.ok(&["plugin", "sync"]);
    repo.write("one/SYMPOSIUM.toml", everywhere("one", "second"));
    repo.commit("second");
    assert_eq!(world.ok(&["one-cmd"]), "first\n");
    assert_eq!(world.ok(&["--update", "check", "one-cmd"]), "second\n");
    assert_eq!(world.ok(&["one-cmd"]), "second\n", "and it stays");
    repo.write("one/SYMPOSIUM.toml", everywhere("one", "third"));
    repo.commit("third");
    world.ok(&["plugin", "sync"]);
    assert_eq!(world.ok(&["one-cmd"]), "third\n");
}

#[test]
fn auto_update_false_is_left_alone_until_it_is_named() {
    let (world, repo) = with_repository();
    world.config(&format!(
        "{NO_DEFAULTS}[[registry]]\nname = \"extra\"\ngit = \"{}\"\nauto-update = false\n",
        repo.url()
    ));
    assert_eq!(world.ok(&["plugin", "sync"]), "Nothing to fetch.\n");
    assert_eq!(registry_state(&world, "extra"), "not-fetched");
    world.ok(&["plugin", "sync", "extra"]);
    repo.write("one/SYMPOSIUM.toml", everywhere("one", "second"));
    repo.commit("second");
    assert_eq!(world.ok(&["--update", "fetch", "one-cmd"]), "first\n");
}

#[test]
fn an_unreachable_repository_keeps_the_old_copy_with_a_warning() {
    let (world, repo) = with_repository();
    world.ok(&["plugin", "sync"]);
    std::fs::rename(repo.dir(), world.sample.scratch().path("moved")).unwrap();
    let run = world.agents(&["plugin", "sync"]);
    assert!(run.stderr.contains("extra") || run.stderr.contains(&repo.url()), "{run:?}");
    let run = world.agents(&["--update", "check", "plugin", "list"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.stderr.starts_with("warning[E0024]:"), "{run:?}");
    let run = world.agents(&["--update", "check", "one-cmd"]);
    assert_eq!(run.stdout, "first\n", "{run:?}");
    assert!(run.stderr.starts_with("warning[E0024]:"), "who asked for the newest is told: {run:?}");
    let run = world.agents(&["one-cmd"]);
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("first\n", ""));
    assert_eq!(registry_state(&world, "extra"), "read");
}

#[test]
fn a_repository_that_never_was_is_a_failed_sync_and_nothing_else() {
    let world = with_registry("git = \"file:///no/such/repository\"");
    let run = world.agents(&["plugin", "sync"]);
    assert_ne!(run.code, Some(0));
    assert!(run.stderr.contains("registry `extra`"), "{run:?}");
    world.ok(&["plugin", "list"]);
    let run = world.agents(&["--update", "check", "plugin", "list"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.stderr.contains("registry `extra` was not refreshed"), "{run:?}");
}

#[test]
fn an_address_that_git_must_not_be_given_is_a_state() {
    let world = with_registry("git = \"ext::sh -c x\"");
    assert_eq!(registry_state(&world, "extra"), "bad-address");
    let run = world.agents(&["plugin", "sync"]);
    assert_ne!(run.code, Some(0));
    assert!(run.stderr.contains("is not an address that git can fetch from"), "{run:?}");
}

#[test]
fn a_password_in_an_address_is_not_shown() {
    let world = with_registry("git = \"https://me:hunter2@127.0.0.1:9/o/r\"");
    for args in [&["plugin", "list"][..], &["--json", "plugin", "list"], &["plugin", "sync"]] {
        let run = world.agents(args);
        assert!(!format!("{run:?}").contains("hunter2"), "{run:?}");
    }
}

#[test]
fn sync_of_one_registry_leaves_the_others_alone() {
    let (world, repo) = with_repository();
    let other = Repo::init(world.sample.scratch().path("other"));
    other.write("two/SYMPOSIUM.toml", everywhere("two", "2"));
    other.commit("two");
    world.config(&format!(
        "{NO_DEFAULTS}[[registry]]\nname = \"extra\"\ngit = \"{}\"\n[[registry]]\nname = \"other\"\ngit = \"{}\"\n",
        repo.url(),
        other.url()
    ));
    world.ok(&["plugin", "sync", "other"]);
    assert_eq!(registry_state(&world, "other"), "read");
    assert_eq!(registry_state(&world, "extra"), "not-fetched");
}

#[test]
fn sync_of_an_unknown_registry_names_the_known_ones() {
    let (world, _repo) = with_repository();
    let run = world.agents(&["plugin", "sync", "extr"]);
    assert_eq!(run.code, Some(2));
    assert_eq!(
        run.stderr,
        "error[E0042]: there is no registry `extr`\nhint: configured: user-plugins, extra\nexplained by `cargo agents explain E0042`\n"
    );
}

#[test]
fn sync_of_a_directory_is_refused() {
    let run = World::new().agents(&["plugin", "sync", "user-plugins"]);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("`user-plugins` is a directory"), "{run:?}");
}

#[test]
fn offline_sync_is_refused_and_keeps_what_is_there() {
    let (world, repo) = with_repository();
    let (path, git_calls) = recording_git(&world);
    let mut command = world.command(&["--offline", "plugin", "sync"]);
    let run = Run::from(command.env("PATH", &path).output().unwrap());
    assert_eq!(run.code, Some(4), "{run:?}");
    assert!(run.stderr.contains("the network is off"), "{run:?}");
    assert!(!git_calls.exists(), "offline means that git is not even asked");
    world.ok(&["plugin", "sync"]);
    repo.write("one/SYMPOSIUM.toml", everywhere("one", "second"));
    repo.commit("second");
    let mut command = world.command(&["--offline", "plugin", "sync"]);
    let run = Run::from(command.env("PATH", &path).output().unwrap());
    assert!(!git_calls.exists(), "{run:?}");
    assert_eq!(world.ok(&["one-cmd"]), "first\n");
}

#[test]
fn relative_commands_of_a_fetched_plugin_start_from_its_checkout() {
    let (world, repo) = with_repository();
    repo.write(
        "one/SYMPOSIUM.toml",
        subcommand("one", "crates = [\"*\"]", "one-cmd", "{ script = \"run.sh\" }"),
    );
    repo.write("one/run.sh", "echo from the checkout\n");
    repo.commit("script");
    world.ok(&["plugin", "sync"]);
    assert_eq!(world.ok(&["one-cmd"]), "from the checkout\n");
}

// ---- the workspace itself

#[test]
fn syncing_an_unchanged_registry_again_keeps_one_checkout() {
    let (world, _repo) = with_repository();
    for _ in 0..3 {
        world.ok(&["plugin", "sync"]);
    }
    let entries = world.json(&["plugin", "cache", "list"]);
    assert_eq!(entries["entries"].as_array().unwrap().len(), 1, "{entries}");
}

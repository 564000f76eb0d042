//! Where plugins come from: directories, repositories, the workspace and its crates, and whose word decides.

use agents_testkit::{repo::Repo, scratch};
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value;

use crate::world::{Run, World, lists, section, subcommand};

const NO_DEFAULTS: &str = "[defaults]\nsymposium-recommendations = false\n";

/// A plugin that is active everywhere and whose command `<name>-cmd` prints `text`.
fn everywhere(name: &str, text: &str) -> String {
    let command = format!("{{ executable = \"echo\", args = [\"{text}\"] }}");
    subcommand(name, "crates = [\"*\"]", &format!("{name}-cmd"), &command)
}

/// What is embedded in a crate, with a command `<name>-cmd`.
fn embedded(name: &str) -> String {
    format!(
        "[subcommand.{name}-cmd]\ndescription = \"From {name}\"\ncommand = {{ executable = \"echo\", args = [\"{name}\"] }}\n"
    )
}

/// A world whose configuration also has `[[registry]] name = "extra"` with this `place`.
fn with_registry(place: &str) -> World {
    let world = World::new();
    world.config(&format!("{NO_DEFAULTS}[[registry]]\nname = \"extra\"\n{place}\n"));
    world
}

/// A world with a repository of plugins as its registry `extra`, not fetched yet.
fn with_repository() -> (World, Repo) {
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

fn registry_state(world: &World, name: &str) -> String {
    let list = world.json(&["plugin", "list"]);
    let all = list["registries"].as_array().unwrap();
    let found = all.iter().find(|registry| registry["name"] == name);
    found.unwrap_or_else(|| panic!("{list}"))["state"].as_str().unwrap().to_owned()
}

fn plugin(world: &World, name: &str) -> Option<Value> {
    let list = world.json(&["plugin", "list"]);
    list["plugins"].as_array().unwrap().iter().find(|plugin| plugin["name"] == name).cloned()
}

/// Why the plugin is active, or why not.
fn because(world: &World, name: &str) -> String {
    let plugin = plugin(world, name).unwrap_or_else(|| panic!("no plugin {name}"));
    plugin["because"].as_str().unwrap().to_owned()
}

/// A `PATH` in which git writes down that it was called, and the file it writes to.
fn recording_git(world: &World) -> (String, Utf8PathBuf) {
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
        "warning: 1 plugin could not be loaded\nhint: `cargo agents plugin list` says why\n"
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
    assert!(run.stderr.starts_with("warning:"), "{run:?}");
    let run = world.agents(&["--update", "check", "one-cmd"]);
    assert_eq!(run.stdout, "first\n", "{run:?}");
    assert!(run.stderr.starts_with("warning:"), "who asked for the newest is told: {run:?}");
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
        "error: there is no registry `extr`\nhint: configured: user-plugins, extra\n"
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
fn a_member_brings_a_plugin_by_its_own_file_or_by_its_cargo_toml() {
    let world = World::new();
    world.sample.workspace("members = [\"filed\", \"tabled\"]");
    world.sample.package("filed", "filed", "0.1.0", "");
    world.sample.write("filed/SYMPOSIUM.toml", &embedded("filed"));
    let table = "[package.metadata.symposium.subcommand.tabled-cmd]\ndescription = \"x\"\ncommand = { executable = \"echo\", args = [\"tabled\"] }\n";
    world.sample.package("tabled", "tabled", "0.1.0", table);
    world.sample.lock();
    assert_eq!(world.ok(&["filed-cmd"]), "filed\n");
    assert_eq!(world.ok(&["tabled-cmd"]), "tabled\n");
    let filed = plugin(&world, "filed").unwrap();
    assert_eq!((&filed["origin"], &filed["active"]), (&"member".into(), &true.into()));
    assert!(
        section(&world.ok(&[]), "Commands for agents")
            .iter()
            .any(|row| row.starts_with("filed-cmd"))
    );
}

#[test]
fn a_virtual_root_is_a_place_for_the_plugin_of_the_whole_workspace() {
    let world = World::new();
    world.sample.workspace("members = [\"inner\"]");
    world.sample.package("inner", "inner", "0.1.0", "");
    world.sample.lock();
    assert_eq!(world.agents(&["root-cmd"]).code, Some(2));
    world.sample.write("SYMPOSIUM.toml", &embedded("root"));
    assert_eq!(world.ok(&["root-cmd"]), "root\n", "and it is seen at once");
    assert_eq!(world.agents_in(&world.sample.path("inner/src"), &["root-cmd"]).stdout, "root\n");
}

#[test]
fn a_members_bad_manifest_is_reported_and_stops_nothing() {
    let world = World::new();
    let file = world.sample.write("SYMPOSIUM.toml", "name = 7\n");
    world.plugin("good", &everywhere("good", "fine"));
    assert_eq!(world.ok(&["good-cmd"]), "fine\n");
    let run = world.agents(&["plugin", "list"]);
    assert!(run.stderr.contains(&format!("{file}:1:8")), "{run:?}");
}

// ---- crates of the workspace

/// The workspace depends on `helper`, a directory beside it that embeds a plugin.
fn with_helper() -> World {
    let world = World::new();
    world.sample.package("../helper", "helper", "0.2.0", "");
    world.sample.write("../helper/SYMPOSIUM.toml", &embedded("helper"));
    world.sample.package(
        ".",
        "app",
        "0.1.0",
        "[dependencies]\nserde = \"1\"\nhelper = { path = \"../helper\" }\n",
    );
    world.sample.lock();
    world
}

fn plugins_config(world: &World, plugins: &str) {
    world.config(&format!("{NO_DEFAULTS}[plugins]\n{plugins}\n"));
}

#[test]
fn a_dependencys_plugin_stays_off_until_the_user_agrees() {
    let world = with_helper();
    assert_eq!(
        because(&world, "helper"),
        "not active: a dependency brings it; `[plugins] use` or `auto-enable` turns it on"
    );
    let run = world.agents(&["helper-cmd"]);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("`[plugins] use` or `auto-enable`"), "{run:?}");
    plugins_config(&world, "auto-enable = [\"helper\"]");
    assert_eq!(world.ok(&["helper-cmd"]), "helper\n");
    assert_eq!(because(&world, "helper"), "active: `[plugins] auto-enable` names it");
}

#[test]
fn auto_enable_star_means_every_dependency() {
    let world = with_helper();
    plugins_config(&world, "auto-enable = [\"*\"]");
    assert_eq!(world.ok(&["helper-cmd"]), "helper\n");
}

#[test]
fn use_turns_a_dependencys_plugin_on_everywhere_or_in_one_workspace() {
    let world = with_helper();
    plugins_config(&world, "use = [\"helper\"]");
    assert_eq!(because(&world, "helper"), "active: `[plugins] use` names it");
    let entry =
        |root: &Utf8Path| format!("use = [{{ name = \"helper\", workspace = \"{root}\" }}]");
    plugins_config(&world, &entry(&world.sample.root()));
    assert_eq!(world.ok(&["helper-cmd"]), "helper\n");
    plugins_config(&world, &entry(&world.outside()));
    assert_eq!(world.agents(&["helper-cmd"]).code, Some(2));
}

#[test]
fn names_match_with_either_hyphen_or_underscore() {
    let world = World::new();
    world.sample.package("../help_er", "help_er", "0.2.0", "");
    world.sample.write("../help_er/SYMPOSIUM.toml", &embedded("helper"));
    world.sample.package(
        ".",
        "app",
        "0.1.0",
        "[dependencies]\nhelp_er = { path = \"../help_er\" }\n",
    );
    plugins_config(&world, "use = [\"help-er\"]");
    assert_eq!(world.ok(&["helper-cmd"]), "helper\n");
}

#[test]
fn disable_beats_use_and_auto_enable_and_gates() {
    let world = with_helper();
    world.plugin("one", &everywhere("one", "1"));
    plugins_config(
        &world,
        "use = [\"helper\", \"one\"]\nauto-enable = [\"*\"]\ndisable = [\"helper\", \"one\"]",
    );
    for name in ["helper", "one"] {
        assert_eq!(because(&world, name), "not active: `[plugins] disable` names it");
        let run = world.agents(&[&format!("{name}-cmd")]);
        assert_eq!(run.code, Some(2));
        assert!(run.stderr.contains("turned off by `[plugins] disable`"), "{run:?}");
    }
}

#[test]
fn disable_star_turns_everything_off_but_what_is_built_in() {
    let world = with_helper();
    world.plugin("one", &everywhere("one", "1"));
    plugins_config(&world, "disable = [\"*\"]");
    assert_eq!(world.agents(&["one-cmd"]).code, Some(2));
    assert!(world.ok(&["crate-info", "serde"]).contains("1.0.200"));
}

#[test]
fn disable_beats_a_chain() {
    let world = with_helper();
    world.plugin(
        "lead",
        "name = \"lead\"\ncrates = [\"*\"]\n[[plugins]]\nsource.cargo = \"helper\"\n",
    );
    assert_eq!(because(&world, "helper"), "active: brought along by `lead`");
    assert_eq!(world.ok(&["helper-cmd"]), "helper\n");
    plugins_config(&world, "disable = [\"helper\"]");
    assert_eq!(because(&world, "helper"), "not active: `[plugins] disable` names it");
    assert_eq!(world.agents(&["helper-cmd"]).code, Some(2));
    plugins_config(&world, "disable = [\"lead\"]");
    assert!(because(&world, "helper").starts_with("not active: a dependency brings it"));
}

#[test]
fn a_registry_plugin_of_the_same_name_supersedes_the_embedded_one() {
    let world = with_helper();
    world.plugin("helper", &everywhere("helper", "curated"));
    plugins_config(&world, "auto-enable = [\"*\"]");
    assert_eq!(world.ok(&["helper-cmd"]), "curated\n");
    let explained = world.ok(&["plugin", "explain", "helper"]);
    assert!(
        explained.contains("not active: registry `user-plugins` has a plugin of that name"),
        "{explained}"
    );
}

#[test]
fn a_registry_plugin_may_bring_along_the_crate_of_its_own_name() {
    let world = with_helper();
    world.plugin(
        "helper",
        "name = \"helper\"\ncrates = [\"helper\"]\n[[plugins]]\nsource.cargo = \"helper\"\n",
    );
    assert_eq!(world.ok(&["helper-cmd"]), "helper\n");
    // To agree to it twice must not turn it off.
    plugins_config(&world, "auto-enable = [\"*\"]");
    assert_eq!(world.ok(&["helper-cmd"]), "helper\n");
}

#[test]
fn a_chain_is_followed_from_crate_to_crate() {
    let world = with_helper();
    world.sample.package("../deeper", "deeper", "0.1.0", "");
    world.sample.write("../deeper/SYMPOSIUM.toml", &embedded("deeper"));
    world.sample.write(
        "../helper/SYMPOSIUM.toml",
        "[[plugins]]\nsource.cargo = \"deeper\"\n[[plugins]]\nsource.cargo = \"helper\"\n",
    );
    world.sample.package(
        ".",
        "app",
        "0.1.0",
        "[dependencies]\ndeeper = { path = \"../deeper\" }\nhelper = { path = \"../helper\" }\n",
    );
    world.plugin(
        "lead",
        "name = \"lead\"\ncrates = [\"*\"]\n[[plugins]]\nsource.cargo = \"helper\"\n",
    );
    assert_eq!(world.ok(&["deeper-cmd"]), "deeper\n");
    assert_eq!(because(&world, "deeper"), "active: brought along by `helper`");
}

#[test]
fn the_version_that_a_chain_asks_for_is_applied() {
    let world = with_helper();
    let chain = |version: &str| {
        let text = format!(
            "name = \"lead\"\ncrates = [\"*\"]\n[[plugins]]\nsource.cargo = {{ name = \"helper\", version = \"{version}\" }}\n"
        );
        world.plugin("lead", &text);
    };
    chain("0.2");
    assert_eq!(world.ok(&["helper-cmd"]), "helper\n");
    chain("0.3");
    assert_eq!(world.agents(&["helper-cmd"]).code, Some(2));
    let run = world.agents(&["plugin", "list"]);
    assert!(run.stderr.contains("the plugin of crate `helper`, wanted by `lead`"), "{run:?}");
}

#[test]
fn a_chained_crate_that_is_no_dependency_is_fetched_by_plugin_sync_only() {
    let world = World::new();
    world.sample.vendor().krate(
        "far",
        "1.4.0",
        "",
        &[("src/lib.rs", ""), ("SYMPOSIUM.toml", &embedded("far"))],
    );
    world.plugin(
        "lead",
        "name = \"lead\"\ncrates = [\"*\"]\n[[plugins]]\nsource.cargo = { name = \"far\", version = \"1\" }\n",
    );
    let run = world.agents(&["plugin", "list"]);
    assert!(
        run.stderr.contains("the plugin of crate `far`, wanted by `lead`, has not been fetched"),
        "{run:?}"
    );
    assert!(run.stderr.contains("`cargo agents plugin sync` fetches it"), "{run:?}");
    assert_eq!(world.agents(&["far-cmd"]).code, Some(2));
    assert_eq!(world.ok(&["plugin", "sync"]), "Synced: far 1.4.0\n");
    assert_eq!(world.ok(&["far-cmd"]), "far\n");
    let run = world.agents(&["plugin", "list"]);
    assert_eq!(run.stderr, "");
    assert_eq!(world.ok(&["plugin", "sync"]), "Nothing to fetch.\n");
}

#[test]
fn a_chain_to_a_version_that_does_not_exist_fails_the_sync_and_says_so() {
    let world = World::new();
    world.sample.vendor().krate("far", "1.4.0", "", &[("src/lib.rs", "")]);
    world.plugin(
        "lead",
        "name = \"lead\"\ncrates = [\"*\"]\n[[plugins]]\nsource.cargo = { name = \"far\", version = \"2\" }\n",
    );
    let run = world.agents(&["plugin", "sync"]);
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("no version of `far` satisfies `^2`"), "{run:?}");
}

#[test]
fn what_one_sync_brings_may_want_more_and_all_of_it_arrives() {
    let world = World::new();
    let vendor = world.sample.vendor();
    vendor.krate(
        "far",
        "1.0.0",
        "",
        &[("src/lib.rs", ""), ("SYMPOSIUM.toml", "[[plugins]]\nsource.cargo = \"farther\"\n")],
    );
    vendor.krate(
        "farther",
        "1.0.0",
        "",
        &[("src/lib.rs", ""), ("SYMPOSIUM.toml", &embedded("farther"))],
    );
    world
        .plugin("lead", "name = \"lead\"\ncrates = [\"*\"]\n[[plugins]]\nsource.cargo = \"far\"\n");
    world.ok(&["plugin", "sync"]);
    assert_eq!(world.ok(&["farther-cmd"]), "farther\n");
}

#[test]
fn use_of_a_crate_that_is_no_dependency_is_fetched_by_plugin_sync() {
    let world = World::new();
    world.sample.vendor().krate(
        "far",
        "1.0.0",
        "",
        &[("src/lib.rs", ""), ("SYMPOSIUM.toml", &embedded("far"))],
    );
    plugins_config(&world, "use = [\"far\"]");
    let run = world.agents(&[]);
    assert!(run.stderr.contains("wanted by `[plugins] use`, has not been fetched"), "{run:?}");
    world.ok(&["plugin", "sync"]);
    assert_eq!(world.ok(&["far-cmd"]), "far\n");
}

#[test]
fn a_vendored_dependency_that_embeds_a_plugin_is_found() {
    let world = World::new();
    world.sample.vendor().krate(
        "embeds",
        "1.0.0",
        "",
        &[("src/lib.rs", ""), ("SYMPOSIUM.toml", &embedded("embeds"))],
    );
    world.sample.package(".", "app", "0.1.0", "[dependencies]\nembeds = \"1\"\n");
    world.sample.lock();
    plugins_config(&world, "auto-enable = [\"*\"]");
    world.ok(&["plugin", "sync"]);
    assert_eq!(world.ok(&["embeds-cmd"]), "embeds\n");
}

#[test]
fn a_plugin_without_any_crate_sleeps_until_it_is_used() {
    let world = World::new();
    world.plugin("one", &subcommand("one", "", "one-cmd", "{ executable = \"echo\" }"));
    assert!(because(&world, "one").starts_with("not active: it names no crate"));
    plugins_config(&world, "use = [\"one\"]");
    assert_eq!(because(&world, "one"), "active: `[plugins] use` names it");
}

#[test]
fn a_chain_that_never_ends_stops_only_itself() {
    let world = World::new();
    for at in 0..13 {
        let next = format!("[[plugins]]\nsource.cargo = \"link{}\"\n", at + 1);
        let text = format!("{next}{}", embedded(&format!("link{at}")));
        let files = [("src/lib.rs", ""), ("SYMPOSIUM.toml", text.as_str())];
        world.sample.vendor().krate(&format!("link{at}"), "1.0.0", "", &files);
    }
    world.plugin(
        "lead",
        "name = \"lead\"\ncrates = [\"*\"]\n[[plugins]]\nsource.cargo = \"link0\"\n",
    );
    world.plugin("good", &everywhere("good", "fine"));
    world.agents(&["plugin", "sync"]);
    assert_eq!(world.ok(&["good-cmd"]), "fine\n");
    assert_eq!(world.ok(&["link0-cmd"]), "link0\n");
    assert_eq!(world.agents(&["link12-cmd"]).code, Some(2));
    let run = world.agents(&["plugin", "list"]);
    assert!(run.stderr.contains("more than 10 deep"), "{run:?}");
}

#[test]
fn a_crate_fetched_in_one_version_does_not_stand_for_another() {
    let world = World::new();
    let vendor = world.sample.vendor();
    vendor.krate("far", "1.0.0", "", &[("src/lib.rs", ""), ("SYMPOSIUM.toml", &embedded("far"))]);
    let chain = |name: &str, version: &str| {
        let text = format!(
            "name = \"{name}\"\ncrates = [\"*\"]\n[[plugins]]\nsource.cargo = {{ name = \"far\", version = \"{version}\" }}\n"
        );
        world.plugin(name, &text);
    };
    chain("one", "1");
    world.ok(&["plugin", "sync"]);
    chain("two", "2");
    let run = world.agents(&["plugin", "list"]);
    assert!(run.stderr.contains("`far`, wanted by `two`, has not been fetched"), "{run:?}");
}

#[test]
fn nothing_that_only_a_dependency_names_is_installed() {
    let world = with_helper();
    let text = "[[predicate]]\nname = \"sly\"\ncommand = { source = \"cargo\", crate = \"sly\" }\n";
    world.sample.write("../helper/SYMPOSIUM.toml", text);
    world.sample.vendor().program("sly", "1.0.0", "");
    assert_eq!(world.ok(&["plugin", "sync"]), "Nothing to fetch.\n");
    assert!(world.json(&["plugin", "cache", "list"])["entries"].as_array().unwrap().is_empty());
}

#[test]
fn syncing_an_unchanged_registry_again_keeps_one_checkout() {
    let (world, _repo) = with_repository();
    for _ in 0..3 {
        world.ok(&["plugin", "sync"]);
    }
    let entries = world.json(&["plugin", "cache", "list"]);
    assert_eq!(entries["entries"].as_array().unwrap().len(), 1, "{entries}");
}

#[test]
fn a_crate_fetched_for_a_chain_is_brought_up_to_date_by_the_next_sync() {
    let world = World::new();
    let embeds = |version: &str| {
        let manifest = subcommand(
            "beyond",
            "",
            "beyond",
            &format!("{{ executable = \"echo\", args = [\"{version}\"] }}"),
        );
        world.sample.vendor().krate(
            "beyond",
            version,
            "",
            &[("src/lib.rs", ""), ("SYMPOSIUM.toml", &manifest)],
        );
    };
    embeds("1.0.0");
    world.plugin("p", "name = \"p\"\ncrates = [\"*\"]\n[[plugins]]\nsource.cargo = \"beyond\"\n");
    world.ok(&["plugin", "sync"]);
    assert_eq!(world.ok(&["beyond"]), "1.0.0\n");
    embeds("1.1.0");
    assert_eq!(world.ok(&["beyond"]), "1.0.0\n");
    assert!(world.ok(&["plugin", "sync"]).contains("beyond 1.1.0"));
    assert_eq!(world.ok(&["beyond"]), "1.1.0\n");
}

#[test]
fn explaining_a_plugin_that_nobody_agreed_to_runs_none_of_its_conditions() {
    let world = World::new();
    let ran = world.sample.scratch().path("ran");
    world.sample.vendor().krate(
        "serde",
        "1.0.200",
        "",
        &[
            ("src/lib.rs", ""),
            ("SYMPOSIUM.toml", &format!("predicates = [\"shell(touch {ran})\"]\n[subcommand.x]\ndescription = \"x\"\ncommand = {{ executable = \"true\" }}\n")),
        ],
    );
    world.ok(&["plugin", "sync"]);
    let explained = world.ok(&["plugin", "explain", "serde"]);
    assert!(explained.contains("a dependency brings it"), "{explained}");
    assert!(!ran.exists(), "its condition was run");
}

#[test]
fn a_workspace_that_was_only_cloned_runs_no_program_of_its_own() {
    let world = World::new();
    let ran = world.sample.scratch().path("ran");
    let manifest = format!(
        "predicates = [\"shell(touch {ran})\", \"own()\"]\n[[predicate]]\nname = \"own\"\ncommand = {{ script = \"own.sh\" }}\n[subcommand.member-cmd]\ndescription = \"x\"\ncommand = {{ executable = \"echo\" }}\n"
    );
    world.sample.write("SYMPOSIUM.toml", &manifest);
    world.sample.write("own.sh", &format!("touch {ran}"));
    // A trusted plugin that uses the name of its predicate does not run it either.
    world.plugin(
        "p",
        &subcommand(
            "p",
            "crates = [\"*\"]\npredicates = [\"own()\"]",
            "trusted",
            "{ executable = \"echo\" }",
        ),
    );
    for args in [
        &["--help"][..],
        &["plugin", "list"],
        &["plugin", "explain", "app"],
        &["member-cmd"],
        &["trusted"],
        &["plugin", "sync"],
    ] {
        world.agents(args);
        assert!(!ran.exists(), "{args:?} ran a program of the workspace");
    }
    assert!(because(&world, "app").contains("its conditions run programs"));
    let root = world.sample.root();
    world.config(&format!("[defaults]\nsymposium-recommendations = false\n[plugins]\nuse = [{{ name = \"app\", workspace = \"{root}\" }}]\n"));
    assert_eq!(world.ok(&["member-cmd", "now"]), "now\n");
    assert!(ran.exists());
}

//! `cargo agents plugin …`: what its commands print, for people and for programs.

use std::fmt::Write as _;

use agents_testkit::{repo::Repo, scratch};
use insta::assert_snapshot;
use serde_json::Value;

use crate::world::{Run, World, subcommand};

/// Everything that a run said, with the scratch directory replaced.
fn shown(world: &World, args: &[&str]) -> String {
    let Run { stdout, stderr, code } = world.agents(args);
    let mut text = String::new();
    if code != Some(0) {
        writeln!(text, "exit {}", code.unwrap()).unwrap();
    }
    text.push_str(&stdout);
    if !stderr.is_empty() {
        write!(text, "----- stderr\n{stderr}").unwrap();
    }
    text.replace(world.sample.scratch().root().as_str(), "[scratch]")
}

/// The keys of an object.
fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

/// A plugin with one of everything, active because of serde, and others that are not.
fn full() -> World {
    let world = World::new();
    world.plugin(
        "full",
        r#"name = "full"
crates = ["serde>=1.0", "absent"]
predicates = ["not(env(SURELY_NOT_SET))"]

[subcommand.here]
description = "Applies here"
command = { executable = "true" }

[subcommand.elsewhere]
description = "Applies elsewhere"
command = { executable = "true" }
crates = ["tokio"]

[[skills]]
source.path = "skills"

[[hooks]]
name = "watch"
event = "PreToolUse"
command = { executable = "true" }

[[mcp_servers]]
name = "server"
command = "true"
args = []
env = []
"#,
    );
    world.plugin(
        "far",
        &subcommand("far", "crates = [\"tokio\"]", "far", "{ executable = \"true\" }"),
    );
    world.plugin("asleep", "name = \"asleep\"\n");
    world
}

// ---- list

#[test]
fn list_for_people() {
    let world = full();
    world.sample.write("SYMPOSIUM.toml", "");
    world.plugin("bad", "name = \"bad\"\ncrates = [\"*\"]\n[subcommand.plugin]\ndescription = \"x\"\ncommand = { executable = \"x\" }\n");
    assert_snapshot!(shown(&world, &["plugin", "list"]), @r#"
    registry user-plugins  [scratch]/agents-home/plugins
      asleep      not active: it names no crate, so it sleeps until `[plugins] use` names it
      far         not active: needs tokio
      full        active because of serde 1.0.200
    this workspace
      app         active
    built in
      crate-info  active
    ----- stderr
    error: the subcommand name `plugin` is reserved
     --> [scratch]/agents-home/plugins/bad/SYMPOSIUM.toml:3:13
      |
    3 | [subcommand.plugin]
      |             ^^^^^^
      |
      = hint: a plugin cannot take the name of a built-in command; choose another
    "#);
}

#[test]
fn list_outside_a_workspace_and_without_any_plugin() {
    let world = World::new();
    let run = world.agents_in(&world.outside(), &["plugin", "list"]);
    let text = run.stdout.replace(world.sample.scratch().root().as_str(), "[scratch]");
    assert_snapshot!(text, @r#"
    registry user-plugins  [scratch]/agents-home/plugins  (no such directory)
    built in
      crate-info  active
    "#);
}

#[test]
fn list_as_json() {
    let world = full();
    let list = world.json(&["plugin", "list"]);
    assert_eq!(keys(&list), ["registries", "plugins", "invalid", "findings"]);
    let plugin =
        list["plugins"].as_array().unwrap().iter().find(|it| it["name"] == "full").unwrap();
    assert_eq!(
        keys(plugin),
        ["name", "origin", "registry", "file", "active", "because", "subcommands"]
    );
    assert_eq!(plugin["subcommands"], serde_json::json!(["elsewhere", "here"]));
    assert_eq!(keys(&list["registries"][0]), ["name", "kind", "place", "state", "dir"]);
}

// ---- show

#[test]
fn show_prints_the_manifest_as_it_is_written() {
    let world = World::new();
    let text = "# A comment.\r\nname   =   \"odd\"\r\ncrates = [ '*' ]\r\n";
    let file = world.plugin("odd", text);
    assert_eq!(world.ok(&["plugin", "show", "odd"]), format!("# {file}\n\n{}\n", text.trim_end()));
    let json = world.json(&["plugin", "show", "odd"]);
    assert_eq!(json["plugins"][0]["text"], text);
    assert_eq!(keys(&json["plugins"][0]), ["name", "origin", "file", "text"]);
}

#[test]
fn show_of_a_built_in_plugin_prints_what_ships_with_the_program() {
    let text = World::new().ok(&["plugin", "show", "crate-info"]);
    assert!(text.contains("[subcommand.crate-info]"), "{text}");
}

#[test]
fn show_and_explain_of_an_unknown_name_suggest_the_nearest() {
    let world = full();
    for command in ["show", "explain"] {
        let run = world.agents(&["plugin", command, "ful"]);
        assert_eq!(run.code, Some(2));
        assert_eq!(
            run.stderr,
            "error[E0041]: there is no plugin `ful`\nhint: did you mean `full`?\nexplained by `cargo agents explain E0041`\n"
        );
        let run = world.agents(&["plugin", command, "something-quite-different"]);
        assert!(
            run.stderr.contains("\nhint: `cargo agents plugin list` lists all of them\n"),
            "{run:?}"
        );
    }
}

// ---- explain

#[test]
fn explain_of_an_active_plugin() {
    assert_snapshot!(shown(&full(), &["plugin", "explain", "full"]), @r#"
    full  (registry `user-plugins`, [scratch]/agents-home/plugins/full/SYMPOSIUM.toml)
      any of                   yes  1 of 2 hold
        depends-on serde>=1.0  yes  workspace has serde 1.0.200
        depends-on absent      no   workspace has no package `absent`
      not                      yes  it does not hold
        env(SURELY_NOT_SET)    no   it is not set
      active
      active here: 1 group of skills, 1 subcommand, 1 hook, 1 mcp server
        skills  in skills
        subcommand  here
        hook  watch (PreToolUse)
        mcp server  server
      not active here: 1 subcommand
        subcommand  elsewhere
          depends-on tokio  no   workspace has no package `tokio`
    "#);
}

#[test]
fn explain_of_an_inactive_plugin() {
    let world = full();
    assert_snapshot!(shown(&world, &["plugin", "explain", "far"]), @r#"
    far  (registry `user-plugins`, [scratch]/agents-home/plugins/far/SYMPOSIUM.toml)
      depends-on tokio  no   workspace has no package `tokio`
      not active: its conditions do not hold
      not active here: 1 subcommand
        subcommand  far
    "#);
    assert_snapshot!(shown(&world, &["plugin", "explain", "asleep"]), @r#"
    asleep  (registry `user-plugins`, [scratch]/agents-home/plugins/asleep/SYMPOSIUM.toml)
      not active: it names no crate, so it sleeps until `[plugins] use` names it
    "#);
}

#[test]
fn explain_outside_a_workspace() {
    let world = full();
    let run = world.agents_in(&world.outside(), &["plugin", "explain", "far"]);
    assert!(run.stdout.contains("depends-on tokio  no   not in a Rust workspace"), "{run:?}");
}

#[test]
fn explain_shows_each_part_of_a_nested_condition() {
    let world = World::new();
    let gate = "crates = [\"*\"]\npredicates = [\"any(all(env(HOME), not(shell(true))), path_exists(Cargo.toml), workspace-member())\"]";
    world.plugin("p", &subcommand("p", gate, "cmd", "{ executable = \"true\" }"));
    assert_snapshot!(shown(&world, &["plugin", "explain", "p"]), @r#"
    p  (registry `user-plugins`, [scratch]/agents-home/plugins/p/SYMPOSIUM.toml)
      depends-on *               yes  everywhere
      any of                     yes  1 of 3 hold
        all of                   no   1 of 2 hold
          env(HOME)              yes  it is set
          not                    no   the inner condition holds
            shell(true)          yes  the command succeeded
        path_exists(Cargo.toml)  yes  it exists
        workspace-member()       no   the plugin comes from elsewhere
      active
      active here: 1 subcommand
        subcommand  cmd
    "#);
}

#[test]
fn explain_of_a_version_that_does_not_fit_names_the_one_that_is_there() {
    let world = World::new();
    world.plugin(
        "p",
        &subcommand("p", "crates = [\"serde>=2\"]", "cmd", "{ executable = \"true\" }"),
    );
    let text = world.ok(&["plugin", "explain", "p"]);
    assert!(text.contains("workspace has only serde 1.0.200"), "{text}");
}

#[test]
fn explain_as_json() {
    let explained = full().json(&["plugin", "explain", "full"]);
    let plugin = &explained["plugins"][0];
    assert_eq!(
        keys(plugin),
        [
            "name",
            "origin",
            "file",
            "active",
            "because",
            "conditions",
            "contributions",
            "skills",
            "skipped"
        ]
    );
    assert_eq!(keys(&plugin["conditions"][0]), ["condition", "holds", "because", "depth"]);
    let contributions = plugin["contributions"].as_array().unwrap();
    let kinds: Vec<_> = contributions
        .iter()
        .map(|it| (it["kind"].as_str().unwrap(), it["active"].as_bool().unwrap()))
        .collect();
    assert_eq!(
        kinds,
        [
            ("skills", true),
            ("subcommand", false),
            ("subcommand", true),
            ("hook", true),
            ("mcp server", true)
        ]
    );
}

// ---- validate

#[test]
fn validate_of_a_good_file() {
    let world = World::new();
    let file = world.plugin("p", "name = \"p\"\ncrates = [\"*\"]\n");
    assert_snapshot!(shown(&world, &["plugin", "validate", file.as_str()]), @r#"
    ok     plugin  [scratch]/agents-home/plugins/p/SYMPOSIUM.toml
    1 checked, nothing wrong
    "#);
    let json = world.json(&["plugin", "validate", file.as_str()]);
    assert_eq!(keys(&json), ["valid", "checked"]);
    assert_eq!(keys(&json["checked"][0]), ["item", "kind", "valid", "findings"]);
}

#[test]
fn validate_of_a_bad_file_shows_every_mistake_in_its_place() {
    let world = World::new();
    let file = world.plugin(
        "p",
        "name = \"p\"\ncrates = [\"serde 1\"]\n\n[subcommand.\"a b\"]\ndescription = \"\"\naudiance = \"humans\"\ncommand = \"nowhere\"\n",
    );
    assert_snapshot!(shown(&world, &["plugin", "validate", file.as_str()]), @r#"
    exit 1
    wrong  plugin  [scratch]/agents-home/plugins/p/SYMPOSIUM.toml
    error: `1` after `serde` is not a version requirement
     --> [scratch]/agents-home/plugins/p/SYMPOSIUM.toml:2:11
      |
    2 | crates = ["serde 1"]
      |           ^^^^^^^^^
      |
      = hint: write for example `serde>=1.0` or `serde>=1.0,<2`
    error: `a b` cannot be the name of a subcommand
     --> [scratch]/agents-home/plugins/p/SYMPOSIUM.toml:4:13
      |
    4 | [subcommand."a b"]
      |             ^^^^^
      |
      = hint: at most 64 letters, digits, `-` and `_`, and no `-` at the start
    error: the description of a subcommand cannot be empty
     --> [scratch]/agents-home/plugins/p/SYMPOSIUM.toml:5:15
      |
    5 | description = ""
      |               ^^
    error: unknown key `audiance` in [subcommand.a b]
     --> [scratch]/agents-home/plugins/p/SYMPOSIUM.toml:6:1
      |
    6 | audiance = "humans"
      | ^^^^^^^^ did you mean `audience`?
    error: subcommand `a b` references unknown installation `nowhere`
     --> [scratch]/agents-home/plugins/p/SYMPOSIUM.toml:7:11
      |
    7 | command = "nowhere"
      |           ^^^^^^^^^
      |
      = hint: declare it with `[[installations]]`, or write a table on the spot
    1 checked, 1 wrong
    ----- stderr
    explained by `cargo agents explain E0040`
    "#);
    let json = world.json(&["plugin", "validate", file.as_str()]);
    assert_eq!(json["valid"], false);
    assert_eq!(json["checked"][0]["findings"][0]["line"], 2);
}

#[test]
fn validate_of_a_registry_checks_all_of_it_and_compares() {
    let world = World::new();
    let dir = world.home().join("plugins");
    world
        .plugin("one", &subcommand("one", "crates = [\"*\"]", "same", "{ executable = \"true\" }"));
    world
        .plugin("two", &subcommand("two", "crates = [\"*\"]", "same", "{ executable = \"true\" }"));
    world.plugin("bad", "name = \"bad\"\nnope = 1\n");
    scratch::write(
        &dir.join("skill/SKILL.md"),
        "---\nname: skill\ndescription: Use it.\ncrates: serde\n---\nBody.\n",
    );
    assert_snapshot!(shown(&world, &["plugin", "validate", dir.as_str()]), @r#"
    exit 1
    wrong  plugin  [scratch]/agents-home/plugins/bad/SYMPOSIUM.toml
    error: unknown key `nope`
     --> [scratch]/agents-home/plugins/bad/SYMPOSIUM.toml:2:1
      |
    2 | nope = 1
      | ^^^^
      |
      = hint: allowed here: `agents`, `crates`, `defaults`, `depends-on`, `hooks`, `installations`, `mcp_servers`, `name`, `plugins`, `predicate`, `predicates`, `sandbox`, `skills` and `subcommand`
    ok     plugin  [scratch]/agents-home/plugins/one/SYMPOSIUM.toml
    warning: the subcommand `same` is also defined in [scratch]/agents-home/plugins/two/SYMPOSIUM.toml
     --> [scratch]/agents-home/plugins/one/SYMPOSIUM.toml
    ok     skill   [scratch]/agents-home/plugins/skill/SKILL.md
    ok     plugin  [scratch]/agents-home/plugins/two/SYMPOSIUM.toml
    warning: the subcommand `same` is also defined in [scratch]/agents-home/plugins/one/SYMPOSIUM.toml
     --> [scratch]/agents-home/plugins/two/SYMPOSIUM.toml
    4 checked, 1 wrong
    ----- stderr
    explained by `cargo agents explain E0040`
    "#);
}

#[test]
fn validate_of_a_plugins_directory_checks_its_skills_too() {
    let world = World::new();
    let file =
        world.plugin("p", "name = \"p\"\ncrates = [\"*\"]\n[[skills]]\nsource.path = \"skills\"\n");
    let dir = file.parent().unwrap();
    let run = world.agents(&["plugin", "validate", dir.as_str()]);
    assert!(run.stdout.contains("there is no `SKILL.md` in `skills`"), "{run:?}");
    scratch::write(
        &dir.join("skills/a/SKILL.md"),
        "---\nname: a\ndescription: Use it.\n---\nBody.\n",
    );
    scratch::write(&dir.join("skills/b/SKILL.md"), "no frontmatter\n");
    let run = world.agents(&["plugin", "validate", dir.as_str()]);
    assert_eq!(run.code, Some(1));
    assert!(run.stdout.contains(&format!("ok     skill   {dir}/skills/a/SKILL.md")), "{run:?}");
    assert!(run.stdout.contains(&format!("wrong  skill   {dir}/skills/b/SKILL.md")), "{run:?}");
}

#[test]
fn validate_of_nothing_is_an_error() {
    let world = World::new();
    let dir = world.outside();
    assert_snapshot!(shown(&world, &["plugin", "validate", dir.as_str()]), @r#"
    exit 2
    ----- stderr
    error[E0040]: no plugins or skills found in `[scratch]/outside`
    hint: a plugin is a directory with a `SYMPOSIUM.toml`, or with a `SKILL.md`
    explained by `cargo agents explain E0040`
    "#);
    assert_snapshot!(shown(&world, &["plugin", "validate", dir.join("absent").as_str()]), @r#"
    exit 2
    ----- stderr
    error: failed to open file `[scratch]/outside/absent`: No such file or directory (os error 2)
    "#);
}

#[test]
fn validate_of_a_skill() {
    let world = World::new();
    let file = world.outside().join("s/SKILL.md");
    scratch::write(&file, "---\nname: s\ndescription: Use it.\ncrates: serde\n---\nBody.\n");
    assert_snapshot!(shown(&world, &["plugin", "validate", file.as_str()]), @r#"
    ok     skill   [scratch]/outside/s/SKILL.md
    1 checked, nothing wrong
    "#);
}

#[test]
fn validate_of_a_cargo_toml() {
    let world = World::new();
    let plain = world.sample.path("Cargo.toml");
    let run = world.agents(&["plugin", "validate", plain.as_str()]);
    assert_eq!(run.code, Some(2), "it embeds nothing: {run:?}");
    world.sample.package(".", "app", "0.1.0", "[package.metadata.symposium]\nnope = 1\n");
    let run = world.agents(&["plugin", "validate", plain.as_str()]);
    assert_eq!(run.code, Some(1));
    assert!(run.stdout.contains(&format!("{plain}:6:1")), "{run:?}");
    world.sample.package(
        ".",
        "app",
        "0.1.0",
        "[package.metadata.symposium]\ncrates = [\"serde\"]\n",
    );
    assert_eq!(world.agents(&["plugin", "validate", plain.as_str()]).code, Some(0));
}

#[test]
fn validate_asks_cargo_about_crates_only_when_told_to() {
    let world = World::new();
    let file = world.plugin("p", "name = \"p\"\ncrates = [\"serde\", \"no-such-crate\"]\n");
    assert_eq!(world.agents(&["plugin", "validate", file.as_str()]).code, Some(0));
    assert_snapshot!(
        shown(&world, &["plugin", "validate", "--check-crates", file.as_str()]),
        @r#"
        exit 1
        ok     plugin  [scratch]/agents-home/plugins/p/SYMPOSIUM.toml
        wrong  crate   no-such-crate
        error: there is no crate `no-such-crate`
        ok     crate   serde
        3 checked, 1 wrong
        ----- stderr
        explained by `cargo agents explain E0040`
        "#
    );
    world.plugin("p", "name = \"p\"\ncrates = [\"serde\", \"tiny_sql\", \"*\"]\n");
    world.ok(&["plugin", "validate", "--check-crates", file.as_str()]);
    let off = ["plugin", "validate", "--check-crates", "--no-check-crates", file.as_str()];
    assert!(!world.ok(&off).contains("crate "));
}

// ---- cache

/// A cache with one installed crate and a registry of which two commits were fetched.
fn with_cache() -> World {
    let world = World::new();
    world.sample.vendor().program("tool", "1.2.3", "println!(\"tool\");");
    world.plugin(
        "p",
        &subcommand("p", "crates = [\"*\"]", "tool", "{ source = \"cargo\", crate = \"tool\" }"),
    );
    assert_eq!(world.ok(&["tool"]), "tool\n");
    let repo = Repo::init(world.sample.scratch().path("repo"));
    repo.write("one/SYMPOSIUM.toml", "name = \"one\"\ncrates = [\"*\"]\n");
    repo.commit("one");
    world.config(&format!(
        "[defaults]\nsymposium-recommendations = false\n[[registry]]\nname = \"extra\"\ngit = \"{}\"\n",
        repo.url()
    ));
    world.ok(&["plugin", "sync"]);
    repo.write("two/SYMPOSIUM.toml", "name = \"two\"\ncrates = [\"*\"]\n");
    repo.commit("two");
    world.ok(&["plugin", "sync"]);
    world
}

fn standings(cache: &Value) -> Vec<(&str, &str)> {
    let entries = cache["entries"].as_array().unwrap().iter();
    entries.map(|it| (it["kind"].as_str().unwrap(), it["standing"].as_str().unwrap())).collect()
}

#[test]
fn an_empty_cache_says_so() {
    assert_eq!(
        World::new().ok(&["plugin", "cache", "list"]),
        "Nothing is installed for plugins.\n"
    );
}

#[test]
fn cache_list_says_what_is_there_and_how_it_stands() {
    let world = with_cache();
    let cache = world.json(&["plugin", "cache", "list"]);
    assert_eq!(keys(&cache), ["entries", "removed", "busy"]);
    assert_eq!(
        standings(&cache),
        [("installation", "current"), ("repository", "current"), ("repository", "superseded")]
    );
    assert_eq!(cache["entries"][0]["version"], "1.2.3");
    let text = world.ok(&["plugin", "cache", "list"]);
    assert!(text.lines().next().unwrap().starts_with("crate `tool`"), "{text}");
    assert!(text.lines().last().unwrap().starts_with("3 entries, "), "{text}");
}

#[test]
fn prune_removes_what_is_superseded_and_dry_run_nothing() {
    let world = with_cache();
    let dry = world.ok(&["plugin", "cache", "prune", "--dry-run"]);
    assert!(dry.lines().last().unwrap().starts_with("Would remove 1 "), "{dry}");
    assert_eq!(standings(&world.json(&["plugin", "cache", "list"])).len(), 3);
    let done = world.json(&["plugin", "cache", "prune"]);
    assert_eq!(
        (standings(&done), &done["removed"]),
        (vec![("repository", "superseded")], &true.into())
    );
    assert_eq!(standings(&world.json(&["plugin", "cache", "list"])).len(), 2);
    assert_eq!(world.ok(&["plugin", "cache", "prune"]).lines().count(), 1, "nothing is left to do");
    let list = world.json(&["plugin", "list"]);
    assert!(list["plugins"].as_array().unwrap().iter().any(|plugin| plugin["name"] == "two"));
}

#[test]
fn prune_all_removes_everything_and_it_can_all_be_had_again() {
    let world = with_cache();
    world.ok(&["plugin", "cache", "prune", "--all"]);
    assert_eq!(standings(&world.json(&["plugin", "cache", "list"])), []);
    let list = world.json(&["plugin", "list"]);
    assert_eq!(list["registries"][1]["state"], "not-fetched");
    assert_eq!(world.ok(&["tool"]), "tool\n");
    world.ok(&["plugin", "sync"]);
    assert_eq!(world.json(&["plugin", "list"])["registries"][1]["state"], "read");
}

#[test]
fn what_plugins_say_cannot_steer_the_terminal() {
    let world = World::new();
    let evil = r"\u001b]0;title\u0007\u001b[2J\r\u202e\u009b1m";
    let text = format!(
        "name = \"p\"\ncrates = [\"*\"]\n[subcommand.cmd]\ndescription = \"{evil}\"\ncommand = {{ executable = \"true\" }}\n[[mcp_servers]]\nname = \"{evil}\"\ncommand = \"true\"\nargs = []\nenv = []\n"
    );
    let file = world.plugin("p", &text);
    scratch::write(
        &world.home().join("plugins/s/SKILL.md"),
        "---\nname: s\ndescription: x\ncrates: \"*\"\n---\n\u{1b}[2J\n",
    );
    for args in [
        &[][..],
        &["plugin", "list"],
        &["plugin", "explain", "p"],
        &["plugin", "show", "s"],
        &["plugin", "validate", file.as_str()],
        &["plugin", "show", "\u{1b}[2J"],
        &["\u{1b}[2J"],
    ] {
        for color in ["never", "always"] {
            let mut all = vec!["--color", color];
            all.extend(args);
            let Run { stdout, stderr, .. } = world.agents(&all);
            for wild in ["\u{1b}]", "\u{1b}[2J", "\u{7}", "\r", "\u{202e}", "\u{9b}"] {
                assert!(!stdout.contains(wild) && !stderr.contains(wild), "{args:?} {wild:?}");
            }
        }
    }
    let help = world.ok(&[]);
    assert!(help.contains("cmd") && help.contains("␛]0;title␇␛[2J"), "{help}");
    let colored = world.ok(&["--color", "always"]);
    assert!(colored.contains("\u{1b}[1m"), "our own colours are still there: {colored:?}");
}

#[test]
fn plugin_without_a_command_says_that_one_is_missing() {
    let run = World::new().agents(&["plugin"]);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.starts_with("error: it takes one more word to say what to do\n"), "{run:?}");
    assert!(run.stderr.contains("validate"), "{run:?}");
}

#[test]
fn validate_of_a_crate_looks_at_both_layers_and_at_its_skills() {
    let world = World::new();
    let dir = world.sample.scratch().path("crate");
    let write = |name: &str, text: &str| agents_testkit::scratch::write(&dir.join(name), text);
    write(
        "Cargo.toml",
        "[package]\nname = \"c\"\nversion = \"1.0.0\"\n[package.metadata.symposium]\nnonsense = 1\n",
    );
    write(
        "SYMPOSIUM.toml",
        "[subcommand.c]\ndescription = \"x\"\ncommand = { executable = \"true\" }\n",
    );
    write("skills/s/SKILL.md", "---\nname: s\ndescription: d\n---\n");
    let run = world.agents(&["plugin", "validate", dir.as_str()]);
    assert_eq!(run.code, Some(1), "{run:?}");
    for line in
        ["wrong  plugin", "Cargo.toml:5:1", "ok     plugin", "ok     skill", "3 checked, 1 wrong"]
    {
        assert!(run.stdout.contains(line), "no {line:?} in {run:?}");
    }
    assert!(!run.stdout.contains("sleeps"), "a crate's plugin does not: {run:?}");
}

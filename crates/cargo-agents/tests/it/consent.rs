//! Plugins that come with the workspace or with its dependencies, and whose word it takes to turn them on.

use camino::Utf8Path;

use crate::{
    registries::{NO_DEFAULTS, because, embedded, everywhere, plugin},
    world::{World, section, subcommand},
};

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

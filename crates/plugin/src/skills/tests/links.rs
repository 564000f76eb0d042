//! Links: followed inside the tree, never out of it, never in circles, and never dropped without a word.

#![cfg(unix)]

use super::*;

fn world() -> World {
    let world = World::new("a = \"1\"");
    world.krate("a", "", &[("skills/one", "one")]);
    world.registry("p/SYMPOSIUM.toml", from_crates("p", "\"a\""));
    world
}

fn inside(world: &World, path: &str) -> Utf8PathBuf {
    world.path("vendor/a-1.0.0").join(path)
}

#[test]
fn skills_behind_links_inside_the_tree_are_found_once() {
    let world = world();
    write(&inside(&world, "real/two/SKILL.md"), skill("two"));
    link("../real/two", &inside(&world, "skills/linked"));
    link("one", &inside(&world, "skills/again"));
    link("../../real/two/SKILL.md", &inside(&world, "skills/file/SKILL.md"));
    let all = world.skills(Fetch::IfMissing);
    insta::assert_snapshot!(world.show(&all), @"
    one from crate a 1.0.0 by p
    two from crate a 1.0.0 by p
    warning: vendor/a-1.0.0/real/two: crate a 1.0.0 has two skills `two`; this one is left out
    ");
}

#[test]
fn a_group_may_be_a_link_inside_the_tree() {
    let world = World::new("a = \"1\"");
    world.krate("a", "", &[("docs/agents/one", "one")]);
    link("docs/agents", &inside(&world, "skills"));
    world.registry("p/SYMPOSIUM.toml", from_crates("p", "\"a\""));
    assert_eq!(world.shown(), "one from crate a 1.0.0 by p");
}

#[test]
fn links_that_lead_out_nowhere_or_back_are_refused_aloud() {
    let world = world();
    let secret = world.sample.scratch().write("secret/SKILL.md", skill("secret"));
    link(secret.parent().unwrap().as_str(), &inside(&world, "skills/out"));
    link("../../../secret", &inside(&world, "skills/relative"));
    link(secret.as_str(), &inside(&world, "skills/file/SKILL.md"));
    link("nowhere", &inside(&world, "skills/broken"));
    link("itself", &inside(&world, "skills/itself"));
    link("..", &inside(&world, "skills/loop"));
    link(".", &inside(&world, "skills/self"));
    // How the system calls a link to itself is its own business.
    let shown = world.shown();
    insta::assert_snapshot!(shown.replace(" (os error 40)", ""), @"
    one from crate a 1.0.0 by p
    warning: vendor/a-1.0.0/skills/broken: the link leads nowhere and is left out
    warning: vendor/a-1.0.0/skills/itself: the link cannot be followed and is left out: Too many levels of symbolic links
    warning: vendor/a-1.0.0/skills/loop: the link leads back to a directory that it stands in and is left out
    warning: vendor/a-1.0.0/skills/out: the link leads out of `vendor/a-1.0.0` and is left out
    warning: vendor/a-1.0.0/skills/relative: the link leads out of `vendor/a-1.0.0` and is left out
    warning: vendor/a-1.0.0/skills/self: the link leads back to a directory that it stands in and is left out
    warning: vendor/a-1.0.0/skills/file/SKILL.md: the link leads out of `vendor/a-1.0.0` and is left out
    ");
}

#[test]
fn a_crate_whose_skills_lie_elsewhere_is_refused() {
    let world = World::new("a = \"1\"");
    world.krate("a", "", &[]);
    world.sample.scratch().write("secret/one/SKILL.md", skill("secret"));
    link("../../secret", &inside(&world, "skills"));
    link("../../secret/one/SKILL.md", &inside(&world, "SYMPOSIUM.toml"));
    world.registry("p/SYMPOSIUM.toml", from_crates("p", "\"a\""));
    insta::assert_snapshot!(world.shown(), @"
    warning: vendor/a-1.0.0/SYMPOSIUM.toml: the link leads out of `vendor/a-1.0.0` and is left out
    warning: vendor/a-1.0.0/Cargo.toml: `skills` leads out of crate a 1.0.0; its skills are left out
    ");
}

#[test]
fn a_plugin_that_is_linked_into_the_users_registry_keeps_its_skills() {
    let world = World::new("");
    let own = world.sample.scratch();
    own.write(
        "mine/SYMPOSIUM.toml",
        "name = \"m\"\ncrates = \"*\"\n[[skills]]\nsource.path = \"s\"\n",
    );
    own.write("mine/s/one/SKILL.md", skill("one"));
    own.write("elsewhere/two/SKILL.md", skill("two"));
    link("../../elsewhere/two", &world.path("mine/s/two"));
    link("../mine", &world.path("registry/m"));
    insta::assert_snapshot!(world.shown(), @"
    one from `mine/s/one` of registry `r` by m
    warning: mine/s/two: the link leads out of `mine` and is left out
    ");
}

#[test]
fn special_files_are_left_alone() {
    let world = world();
    let _socket = std::os::unix::net::UnixListener::bind(inside(&world, "skills/one/x")).unwrap();
    let all = world.skills(Fetch::IfMissing);
    let (tree, findings) = all.skills[0].read();
    assert_eq!(tree.unwrap().entries.len(), 1);
    assert_eq!(findings[0].message, "it is neither a file nor a directory and is left out");
}

#[test]
fn build_output_and_installed_packages_are_not_searched() {
    let world = world();
    for dir in ["skills/target/x", "skills/node_modules/x", "skills/.git/x"] {
        write(&inside(&world, dir).join("SKILL.md"), skill("no"));
    }
    write(&inside(&world, "skills/target/CACHEDIR.TAG"), "");
    assert_eq!(world.shown(), "one from crate a 1.0.0 by p");
}

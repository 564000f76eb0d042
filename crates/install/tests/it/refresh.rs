//! Bringing what is there up to date without anybody waiting.

use std::time::Duration;

use agents_install::InstallationName;
use agents_workspace::Network;

use crate::world::{Also as _, World, krate, tree};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const NOW: Duration = Duration::ZERO;

impl World {
    #[track_caller]
    fn refresh(&self, name: &str, rest: Duration) {
        let (name, plugin) = (InstallationName::new(name), self.path("plugin"));
        let update = agents_install::Update::None;
        self.with(update, |it| it.refresh(&self.installations, &name, &plugin, rest)).unwrap();
    }

    fn is_due(&self, name: &str, rest: Duration) -> bool {
        let (name, plugin) = (InstallationName::new(name), self.path("plugin"));
        let update = agents_install::Update::None;
        let due =
            self.with(update, |it| it.is_refresh_due(&self.installations, &name, &plugin, rest));
        due.unwrap()
    }
}

#[test]
fn what_is_there_is_renewed_once_it_is_due_and_requirements_are_too() {
    let mut world = World::new();
    world.publish("tool", "1.0.0", &["tool"]);
    let repo = world.repo("rules", &[("rules", "")]);
    world.add("rules", tree(repo.url()));
    world.add("tool", krate("tool").requirements(&["rules"]));
    assert_eq!(world.run("tool"), "tool 1.0.0");
    world.publish("tool", "1.1.0", &["tool"]);
    repo.write("rules", "changed");
    let head = repo.commit("changed");
    assert!(!world.is_due("tool", DAY));
    world.refresh("tool", DAY);
    assert_eq!(world.run("tool"), "tool 1.0.0", "somebody has just looked");
    assert!(world.is_due("tool", NOW));
    world.refresh("tool", NOW);
    assert_eq!(world.run("tool"), "tool 1.1.0");
    let rules = world.cached("tool").unwrap().env;
    assert!(rules.iter().any(|(_, dir)| dir.ends_with(&head)), "{rules:?}");
}

#[test]
fn nothing_is_installed_that_is_not_there() {
    let mut world = World::new();
    world.publish("tool", "1.0.0", &["tool"]);
    world.publish("more", "1.0.0", &["more"]);
    world.add("more", krate("more"));
    world.add("tool", krate("tool"));
    assert!(!world.is_due("tool", NOW));
    world.refresh("tool", NOW);
    assert!(!world.cache().exists());
    // The same if a part of it is missing.
    world.resolve("tool");
    world.add("tool", krate("tool").requirements(&["more"]));
    world.publish("tool", "1.1.0", &["tool"]);
    assert!(!world.is_due("tool", NOW));
    world.refresh("tool", NOW);
    assert_eq!(world.slot_names(), ["1.0.0", "current.json", "lock"]);
}

#[test]
fn without_a_network_or_with_a_pinned_version_there_is_nothing_to_look_for() {
    let mut world = World::new();
    world.publish("tool", "1.0.0", &["tool"]);
    world.add("pinned", krate("tool@1.0.0"));
    world.add("tool", krate("tool"));
    world.resolve("pinned");
    assert!(!world.is_due("pinned", NOW));
    world.resolve("tool");
    world.publish("tool", "1.1.0", &["tool"]);
    world.network = Network::Offline;
    world.refresh("tool", NOW);
    assert_eq!(world.run("tool"), "tool 1.0.0");
}

#[test]
fn an_origin_that_cannot_be_reached_harms_nothing_and_is_left_alone_for_a_while() {
    let mut world = World::new();
    world.publish("tool", "1.0.0", &["tool"]);
    world.add("tool", krate("tool"));
    world.resolve("tool");
    let slot = fs_err::read_dir(world.cache().join("installations")).unwrap().next();
    let state = slot.unwrap().unwrap().path().join("current.json");
    let text = fs_err::read_to_string(&state).unwrap();
    let aged: serde_json::Value = serde_json::from_str(&text).unwrap();
    let long_ago = text.replace(&aged["checked"].to_string(), "1");
    fs_err::write(&state, long_ago).unwrap();
    assert!(world.is_due("tool", DAY));
    fs_err::remove_dir_all(world.path("vendor/tool-1.0.0")).unwrap();
    let (name, plugin) = (InstallationName::new("tool"), world.path("plugin"));
    let update = agents_install::Update::None;
    let failed = world.with(update, |it| it.refresh(&world.installations, &name, &plugin, DAY));
    assert!(failed.is_err());
    assert!(!world.is_due("tool", DAY));
    assert_eq!(world.run("tool"), "tool 1.0.0");
}

//! What the cache holds, and making it smaller.

use std::time::{Duration, SystemTime};

use agents_install::{
    Update,
    cache::{CacheEntry, Keep, Kind, Standing, changed_files, list, plan_prune},
};

use crate::world::{Also as _, World, krate, tree};

fn shown(entries: &[CacheEntry]) -> Vec<(String, Standing)> {
    let name = |entry: &CacheEntry| entry.version.clone().unwrap_or_else(|| entry.what.clone());
    entries.iter().map(|entry| (name(entry), entry.standing)).collect()
}

fn prune(world: &World, keep: Keep) -> usize {
    plan_prune(&list(&world.cache()), keep, SystemTime::now()).apply().unwrap().removed.len()
}

fn filled() -> World {
    let mut world = World::new();
    world.publish("tool", "1.0.0", &["tool"]);
    world.add("tool", krate("tool"));
    world.resolve("tool");
    world.publish("tool", "1.1.0", &["tool"]);
    world.update("tool", Update::Check);
    world
}

#[test]
fn superseded_and_half_finished_things_go() {
    let world = filled();
    let slot = world.resolve("tool").program.ancestors().nth(3).unwrap().to_owned();
    fs_err::create_dir(slot.join("tmp-killed")).unwrap();
    fs_err::write(slot.join("tmp-killed/half"), "12345").unwrap();
    let entries = list(&world.cache());
    assert_eq!(
        shown(&entries),
        [
            ("1.1.0".to_owned(), Standing::Current),
            ("1.0.0".to_owned(), Standing::Superseded),
            ("crate `tool`".to_owned(), Standing::Leftover),
        ]
    );
    assert!(entries[0].size > 10_000);
    assert_eq!((entries[2].size, entries[0].kind), (5, Kind::Installation));
    let plan = plan_prune(&entries, Keep::Current, SystemTime::now());
    assert_eq!(plan.remove.iter().map(|entry| entry.size).sum::<u64>(), entries[1].size + 5);
    assert_eq!(plan.apply().unwrap().removed.len(), 2);
    assert_eq!(shown(&list(&world.cache())), [("1.1.0".to_owned(), Standing::Current)]);
    assert_eq!(world.run("tool"), "tool 1.1.0");
    assert_eq!(prune(&world, Keep::Current), 0);
}

#[test]
fn everything_or_only_what_is_not_used_can_go() {
    let world = filled();
    let day = Duration::from_secs(24 * 60 * 60);
    assert_eq!(prune(&world, Keep::UsedWithin(day)), 1);
    let entries = list(&world.cache());
    let later = SystemTime::now() + 2 * day;
    assert_eq!(plan_prune(&entries, Keep::UsedWithin(day), later).remove, entries);
    assert_eq!(prune(&world, Keep::Nothing), 1);
    assert_eq!(list(&world.cache()), []);
    assert_eq!(world.cached("tool"), None);
    assert_eq!(world.run("tool"), "tool 1.1.0");
}

#[test]
fn use_is_remembered_to_the_day() {
    let world = filled();
    let state = world.resolve("tool").program.ancestors().nth(3).unwrap().join("current.json");
    let long_ago = SystemTime::now() - Duration::from_secs(40 * 24 * 60 * 60);
    let file = std::fs::File::options().append(true).open(&state).unwrap();
    file.set_modified(long_ago).unwrap();
    assert_eq!(list(&world.cache())[0].last_used, Some(long_ago));
    world.cached("tool").unwrap();
    assert!(list(&world.cache())[0].last_used.unwrap() > long_ago);
}

#[test]
fn changed_binaries_are_seen() {
    let world = filled();
    let entry = list(&world.cache()).remove(0);
    assert_eq!(changed_files(&entry), Vec::<camino::Utf8PathBuf>::new());
    let program = world.resolve("tool").program;
    let mut bytes = fs_err::read(&program).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs_err::write(&program, bytes).unwrap();
    assert_eq!(changed_files(&entry), [program]);
}

#[test]
fn a_slot_that_is_being_worked_on_is_left_alone() {
    let mut world = World::new();
    let repo = world.repo("r", &[("x", "#!/bin/sh\n")]);
    world.add("x", tree(repo.url()).executable("x"));
    let slot = world.resolve("x").program.ancestors().nth(2).unwrap().to_owned();
    fs_err::create_dir(slot.join("tmp-now")).unwrap();
    let before = list(&world.cache());
    let held = std::fs::File::open(slot.join("lock")).unwrap();
    held.lock().unwrap();
    let during = list(&world.cache());
    assert_eq!(during[1].standing, Standing::BeingAcquired);
    assert_eq!(plan_prune(&during, Keep::Nothing, SystemTime::now()).remove, [during[0].clone()]);
    let pruned = plan_prune(&before, Keep::Nothing, SystemTime::now()).apply().unwrap();
    assert_eq!((pruned.removed.len(), pruned.busy.len()), (0, 2));
    assert!(world.cached("x").is_some());
}

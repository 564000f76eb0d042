//! What only shows on a real disk.

use agents_sync::Desired;
use agents_testkit::scratch::Scratch;
use serde_json::json;

use crate::world::{World, server, shown, skill, tree};

fn guide(world: &World, dirs: &[&str]) -> Desired {
    let guide =
        |dir: &&str| skill(&world.path(dir), "guide", "one", tree(&[("SKILL.md", "guide")]));
    Desired { skills: dirs.iter().map(guide).collect(), ..Desired::default() }
}

#[test]
fn uninstall_ends_when_a_file_cannot_be_understood_and_finishes_when_it_was_mended() {
    let scratch = Scratch::new();
    let world = World::at(scratch.root());
    let mut desired = guide(&world, &["skills"]);
    desired.parts.push(server(&world.path("a.json"), &["servers", "demo"], json!(1)));
    world.sync(&desired);
    let whole = world.read("a.json").unwrap();
    world.write("a.json", "{ \"servers\": ");
    let done = world.uninstall();
    assert_eq!(done.len(), 1);
    assert!(done[0].plan.findings[0].message.contains("left alone"), "{done:?}");
    assert_eq!(shown(&world.files()).len(), 1, "the skill is gone, the file is not");
    world.write("a.json", whole);
    world.uninstall();
    assert!(world.files().is_empty() && world.ledger().entries.is_empty());
}

#[test]
fn a_file_that_only_we_wrote_gets_its_very_bytes_back() {
    for (file, at, original) in [
        ("a.json", ["servers", "demo"], ""),
        ("a.json", ["servers", "demo"], " \n\n"),
        ("a.json", ["servers", "demo"], "\u{feff}"),
        ("a.json", ["servers", "demo"], "// nothing yet\n"),
        ("a.yaml", ["extensions", "demo"], "extensions:   # none yet\n"),
        ("a.yaml", ["extensions", "demo"], "extensions: ~\n"),
    ] {
        let scratch = Scratch::new();
        let world = World::at(scratch.root());
        world.write(file, original);
        let mut desired = Desired::default();
        // Twice: what is given back may be taken again, and is another original then.
        for change in ["", "\n"] {
            let original = format!("{original}{change}");
            world.write(file, &original);
            desired.parts = vec![server(&world.path(file), &at, json!({ "command": "one" }))];
            world.sync(&desired);
            desired.parts[0].value = json!({ "command": "two" });
            desired.parts.push(server(&world.path(file), &[at[0], "more"], json!({})));
            world.sync(&desired);
            assert_ne!(world.read(file).as_deref(), Some(original.as_str()));
            world.uninstall();
            assert_eq!(world.read(file).as_deref(), Some(original.as_str()), "{file}");
            assert!(world.ledger().left.is_empty());
        }
    }
}

#[test]
fn what_somebody_else_wrote_meanwhile_is_never_taken_back_with_ours() {
    let scratch = Scratch::new();
    let world = World::at(scratch.root());
    world.write("a.json", "");
    let desired = Desired {
        parts: vec![server(&world.path("a.json"), &["servers", "demo"], json!(1))],
        ..Desired::default()
    };
    world.sync(&desired);
    let theirs = world.read("a.json").unwrap().replacen('{', "{ \"theirs\": true,", 1);
    world.write("a.json", &theirs);
    world.uninstall();
    assert!(world.read("a.json").unwrap().contains("\"theirs\": true"));
    // And when they take it away again themselves, what they leave is theirs as well.
    world.write("a.json", "{ }");
    world.sync(&desired);
    world.uninstall();
    assert_eq!(world.read("a.json").as_deref(), Some("{ }"));
}

#[test]
fn an_edit_between_a_crash_and_the_next_sync_is_kept() {
    let scratch = Scratch::new();
    let world = World::at(scratch.root());
    world.sync(&guide(&world, &["a", "b"]));
    // As if it had been killed after it wrote the skills and before it said so.
    let mut ledger = world.ledger();
    ledger.intended = Some(std::mem::take(&mut ledger.entries));
    ledger.save(&world.places().ledger).unwrap();
    world.write("a/guide/SKILL.md", "mine");
    let mut desired = guide(&world, &["a", "b"]);
    for wanted in &mut desired.skills {
        *wanted = skill(&wanted.dir, "guide", "one", tree(&[("SKILL.md", "later")]));
    }
    world.sync(&desired);
    assert_eq!(world.read("a/guide/SKILL.md").as_deref(), Some("mine"));
    assert_eq!(world.read("b/guide/SKILL.md").as_deref(), Some("later"));
    world.uninstall();
    assert_eq!(world.read("a/guide/SKILL.md").as_deref(), Some("mine"));
    assert_eq!(world.read("b/guide/SKILL.md"), None);
}

#[cfg(unix)]
#[test]
fn a_link_in_the_place_of_a_skill_is_the_users_wherever_it_leads() {
    let scratch = Scratch::new();
    let world = World::at(scratch.root());
    world.sync(&guide(&world, &["a"]));
    fs_err::create_dir_all(world.path("b")).unwrap();
    fs_err::os::unix::fs::symlink("../a/guide", world.path("b/guide")).unwrap();
    let both = guide(&world, &["a", "b"]);
    for _ in 0..2 {
        world.sync(&both);
        assert!(world.path("b/guide").is_symlink());
        assert_eq!(world.read("b/guide-one/SKILL.md").as_deref(), Some("guide"));
    }
    world.uninstall();
    assert_eq!(world.files().into_keys().collect::<Vec<_>>(), ["b/guide"]);
}

#[cfg(unix)]
#[test]
fn two_directories_of_skills_may_be_one() {
    let scratch = Scratch::new();
    let world = World::at(scratch.root());
    fs_err::create_dir_all(world.path("a")).unwrap();
    fs_err::os::unix::fs::symlink("a", world.path("b")).unwrap();
    let both = guide(&world, &["a", "b"]);
    assert!(world.sync(&both).failed.is_empty());
    let times = world.times();
    assert!(world.sync(&both).plan.is_empty());
    assert_eq!(world.times(), times);
    assert!(world.uninstall().iter().all(|applied| applied.failed.is_empty()));
    assert_eq!(world.files().into_keys().collect::<Vec<_>>(), ["b"]);
}

#[cfg(unix)]
#[test]
fn a_link_that_the_user_adds_to_a_skill_is_an_edit() {
    let scratch = Scratch::new();
    let world = World::at(scratch.root());
    world.sync(&guide(&world, &["a"]));
    fs_err::os::unix::fs::symlink("/etc/hostname", world.path("a/guide/link")).unwrap();
    world.sync(&Desired::default());
    assert!(world.path("a/guide/link").is_symlink());
}

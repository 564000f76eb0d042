//! What only shows on a real disk.

use std::time::Duration;

use agents_sync::{Applied, Change, Desired, Edited, Plan};
use agents_system::{
    explain::{Code, ErrorKind, Explain as _},
    lock::Lock,
    progress::Progress,
};
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

#[test]
fn whoever_would_not_wait_syncs_only_if_nobody_else_does() {
    let scratch = Scratch::new();
    let world = World::at(scratch.root());
    let desired = guide(&world, &["skills"]);
    let places = world.places();
    let try_it =
        || agents_sync::sync_if_free(&places, &desired, &world.workspace(), Edited::Keep).unwrap();
    let held = Lock::acquire(&places.lock, Duration::ZERO, &Progress::silent()).unwrap();
    assert!(try_it().is_none());
    assert!(world.files().is_empty());
    drop(held);
    assert_eq!(try_it().unwrap().plan.changes.len(), 1);
    assert!(world.read("skills/guide/SKILL.md").is_some());
}

#[test]
fn what_a_killed_writer_left_can_be_cleared_away_without_a_sync() {
    let scratch = Scratch::new();
    let world = World::at(scratch.root());
    world.sync(&guide(&world, &["skills"]));
    let mut ledger = world.ledger();
    ledger.intended = Some(std::mem::take(&mut ledger.entries));
    ledger.save(&world.places().ledger).unwrap();
    world.write("skills/.agents-building-x/skill-1/SKILL.md", "half");
    agents_sync::recover(&world.places(), &Progress::silent()).unwrap();
    assert_eq!(world.litter(), [""; 0]);
    assert_eq!((world.ledger().entries.len(), world.ledger().intended), (1, None));
}

#[test]
fn what_an_uninstall_would_do_is_what_it_does() {
    let scratch = Scratch::new();
    let world = World::at(scratch.root());
    world.sync(&guide(&world, &["a", "shared"]));
    world.sync_for(&world.path("other"), &guide(&world, &["b", "shared"]));
    let before = world.files();
    let planned = agents_sync::preview_uninstall(&world.places(), Edited::Keep).unwrap();
    assert_eq!(world.files(), before);
    let place = |change: &Change| match change {
        Change::Skill { slot, .. } => slot.clone(),
        Change::File { file, .. } => file.clone(),
    };
    let gone = |plan: &Plan| plan.changes.iter().map(place).collect();
    let planned: Vec<Vec<_>> = planned.iter().map(gone).collect();
    let done: Vec<Vec<_>> = world.uninstall().iter().map(|it| gone(&it.plan)).collect();
    assert_eq!(planned, done);
    let guides = |dirs: &[&str]| dirs.iter().map(|it| world.path(it).join("guide")).collect();
    let expected: [Vec<_>; 2] = [guides(&["b"]), guides(&["a", "shared"])];
    assert_eq!(done, expected, "what is shared goes with the last who wants it");
    assert!(world.files().is_empty());
}

#[test]
fn what_the_user_edited_is_taken_back_only_if_they_say_so() {
    let scratch = Scratch::new();
    let world = World::at(scratch.root());
    world.sync(&guide(&world, &["skills"]));
    world.write("skills/guide/SKILL.md", "mine");
    let hints = |plan: &Plan| -> Vec<String> {
        plan.findings.iter().filter_map(|it| it.hint.clone()).collect()
    };
    let planned = agents_sync::preview_uninstall(&world.places(), Edited::Keep).unwrap();
    let said: Vec<String> = planned.iter().flat_map(hints).collect();
    assert_eq!(said, ["`cargo agents uninstall --overwrite` removes it"]);
    // Nobody wants it any more, and it is left to the user.
    let left = world.sync(&Desired::default());
    assert_eq!(hints(&left.plan), ["`cargo agents sync --overwrite` removes it"]);
    assert_eq!(world.uninstall().len(), 0);
    assert_eq!(world.read("skills/guide/SKILL.md").as_deref(), Some("mine"));
    let uninstall =
        || agents_sync::uninstall(&world.places(), Edited::Overwrite, &Progress::silent()).unwrap();
    world.sync_for(&world.path("other"), &guide(&world, &["b"]));
    let done: Vec<usize> = uninstall().iter().map(|it| it.plan.changes.len()).collect();
    assert_eq!(done, [1, 1], "that of the other workspace, and what was left to the user");
    assert!(world.files().is_empty());
}

#[test]
fn half_a_record_of_a_killed_sync_goes_with_the_next_one_and_nothing_else_does() {
    let scratch = Scratch::new();
    let world = World::at(scratch.root());
    let beside = |name: &str| world.places().ledger.with_file_name(name);
    let (half, other) = (beside(".writing-ledger.json.J8WWBs"), beside(".writing-token.J8WWBs"));
    for file in [&half, &other] {
        agents_testkit::scratch::write(file, "{");
    }
    world.sync(&guide(&world, &["skills"]));
    assert!(!half.exists() && other.exists());
}

#[test]
fn what_is_ours_must_be_known_before_anything_is_written() {
    let scratch = Scratch::new();
    let world = World::at(scratch.root());
    let sync = || {
        let (places, desired) = (world.places(), guide(&world, &["skills"]));
        agents_sync::sync(&places, &desired, &world.workspace(), Edited::Keep, &Progress::silent())
    };
    agents_testkit::scratch::write(&world.places().ledger, "{ \"version\":");
    let damaged = sync().unwrap_err();
    assert_eq!((damaged.kind(), damaged.code()), (ErrorKind::Failure, Some(Code::LedgerDamaged)));
    assert!(damaged.hint().unwrap().contains("backup"), "{damaged:?}");
    // A directory in the place of the lock.
    fs_err::remove_dir_all(world.places().ledger.parent().unwrap()).unwrap();
    fs_err::create_dir_all(&world.places().lock).unwrap();
    let locked = sync().unwrap_err();
    assert_eq!((locked.kind(), locked.code()), (ErrorKind::Failure, Some(Code::NotWritable)));
    assert_eq!(locked.hint(), None);
    assert!(world.files().is_empty());
}

#[test]
fn a_skill_that_cannot_be_written_does_not_keep_others_from_it() {
    let scratch = Scratch::new();
    let world = World::at(scratch.root());
    let endless = "n".repeat(300);
    let one = |name, file: &str| skill(&world.path("skills"), name, "one", tree(&[(file, "x")]));
    let skills = vec![one("a", "SKILL.md"), one("b", &endless), one("c", "SKILL.md")];
    let done = world.sync(&Desired { skills, ..Desired::default() });
    assert_eq!(done.failed.len(), 1, "{:?}", done.failed);
    assert_eq!(done.failed[0].place.as_ref().unwrap().file, world.path("skills/b"));
    assert_eq!((done.plan.changes.len(), done.undone.len()), (2, 1), "{done:?}");
    let there = ["a", "b", "c"].map(|it| world.path("skills").join(it).exists());
    assert_eq!(there, [true, false, true]);
    assert_eq!((world.litter(), world.ledger().entries.len()), (vec![], 2));
}

/// Does it where file modes count. `None` if they never count for who runs this.
#[cfg(target_os = "linux")]
fn bound_by_modes<T: Send>(act: impl FnOnce() -> T + Send) -> Option<T> {
    use agents_system::sandbox::{Availability, Network, Rights, available, restrict};
    // The sandbox takes all privileges away, even where it grants everything.
    let everything = vec!["/".into()];
    let rights = Rights { read: vec![], write: everything, network: Network::Allowed };
    let is_possible = available() == Availability::Available;
    std::thread::scope(|scope| {
        let bound = scope.spawn(|| {
            is_possible.then(|| {
                restrict(&rights).unwrap();
                act()
            })
        });
        bound.join().unwrap()
    })
}

#[cfg(target_os = "linux")]
#[test]
fn a_skill_that_cannot_be_taken_away_stays_ours_and_is_told() {
    use std::os::unix::fs::PermissionsExt as _;
    let scratch = Scratch::new();
    let world = World::at(scratch.root());
    world.sync(&guide(&world, &["skills"]));
    let mode = |mode| {
        let permissions = std::fs::Permissions::from_mode(mode);
        fs_err::set_permissions(world.path("skills/guide"), permissions).unwrap();
    };
    mode(0o555);
    let done = bound_by_modes(|| {
        let Applied { plan, undone, failed } = world.sync(&Desired::default());
        assert_eq!((plan.changes.len(), undone.len()), (0, 1), "it is not removed");
        failed.into_iter().map(|it| it.message).collect::<Vec<_>>()
    });
    mode(0o755);
    let Some(failed) = done else { return };
    assert_eq!(failed.len(), 1);
    assert!(failed[0].starts_with("not written: "), "{failed:?}");
    assert!(world.read("skills/guide/SKILL.md").is_some());
    assert_eq!(world.ledger().entries.len(), 1);
    assert!(world.sync(&Desired::default()).failed.is_empty());
    assert!(world.files().is_empty());
}

#[cfg(unix)]
#[test]
fn after_a_change_that_could_not_be_made_the_original_is_still_known() {
    use std::os::unix::fs::PermissionsExt as _;
    let scratch = Scratch::new();
    let world = World::at(scratch.root());
    world.write("a.json", "");
    let wanted = |value: &str| Desired {
        parts: vec![server(&world.path("a.json"), &["servers", "demo"], json!(value))],
        ..Desired::default()
    };
    let mode = |mode| {
        let permissions = std::fs::Permissions::from_mode(mode);
        fs_err::set_permissions(world.path("a.json"), permissions).unwrap();
    };
    world.sync(&wanted("one"));
    mode(0o444);
    assert_eq!(world.sync(&wanted("two")).failed.len(), 1);
    mode(0o644);
    world.uninstall();
    assert_eq!(world.read("a.json").as_deref(), Some(""));
}

//! What is remembered about places for skills never hides what happened to them.

use std::{fs::File, thread::sleep, time::Duration};

use agents_sync::{Desired, Edited, Plan, SkillFiles, preview, sync};
use agents_system::progress::Progress;
use agents_testkit::scratch::Scratch;
use camino::Utf8Path;

use crate::world::{World, skill, tree};

/// What somebody does to an installed skill.
type Deed = (&'static str, fn(&Utf8Path));

const DEEDS: &[Deed] = &[
    ("nothing", |_| {}),
    ("edit", |slot| fs_err::write(slot.join("SKILL.md"), "mine, and longer").unwrap()),
    ("same-size-and-time", |slot| {
        let file = slot.join("SKILL.md");
        let before = file.metadata().unwrap().modified().unwrap();
        fs_err::write(&file, "THEIRS").unwrap();
        File::options().write(true).open(&file).unwrap().set_modified(before).unwrap();
    }),
    ("add", |slot| fs_err::write(slot.join("notes/new.md"), "mine").unwrap()),
    ("add-empty-dir", |slot| fs_err::create_dir(slot.join("empty")).unwrap()),
    ("remove", |slot| fs_err::remove_file(slot.join("notes/a.md")).unwrap()),
    ("remove-all", |slot| fs_err::remove_dir_all(slot).unwrap()),
    ("run-bit", |slot| {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::Permissions::from_mode(0o755);
        fs_err::set_permissions(slot.join("SKILL.md"), mode).unwrap();
    }),
    ("unmark", |slot| fs_err::remove_file(slot.join(".symposium")).unwrap()),
    ("unignore", |slot| fs_err::write(slot.join(".gitignore"), "x\n").unwrap()),
    ("link-file", |slot| {
        let moved = slot.with_file_name("moved.md");
        fs_err::rename(slot.join("SKILL.md"), &moved).unwrap();
        fs_err::os::unix::fs::symlink(moved, slot.join("SKILL.md")).unwrap();
    }),
    ("link-slot", |slot| {
        let moved = slot.with_extension("moved");
        fs_err::rename(slot, &moved).unwrap();
        fs_err::os::unix::fs::symlink(moved, slot).unwrap();
    }),
    ("file-for-slot", |slot| {
        fs_err::remove_dir_all(slot).unwrap();
        fs_err::write(slot, "mine").unwrap();
    }),
];

fn told(plan: &Plan) -> String {
    format!("{:?}\n{:?}\n{}\n{:?}", plan.changes, plan.findings, plan.unchanged, plan.owned)
}

#[test]
fn whatever_happens_to_an_installed_skill_is_seen_as_if_nothing_were_remembered() {
    let scratch = Scratch::new();
    let world = World::at(scratch.root());
    let (forgetful, workspace) = (world.places(), world.workspace());
    let places = forgetful.clone().remembering(&scratch.path("cache"));
    let files = [("SKILL.md", "theirs"), ("notes/a.md", "a")];
    let one = |(name, _): &Deed| skill(&world.path("skills"), name, "one", tree(&files));
    let desired = Desired { skills: DEEDS.iter().map(one).collect(), ..Desired::default() };
    let sync = || sync(&places, &desired, &workspace, Edited::Keep, &Progress::silent()).unwrap();
    assert_eq!(sync().plan.changes.len(), DEEDS.len());
    assert!(sync().plan.is_empty());
    assert!(!scratch.path("cache").exists(), "what is new is not remembered yet");
    sleep(Duration::from_millis(2_100));
    assert!(sync().plan.is_empty());
    let remembered = scratch.path("cache/slots").read_dir_utf8().unwrap().next().unwrap().unwrap();
    let stored = || fs_err::read(remembered.path()).unwrap();
    let (before, again) = (stored(), sync());
    assert!(again.plan.is_empty() && again.plan.unchanged == DEEDS.len());
    assert_eq!(stored(), before);
    for (name, deed) in DEEDS {
        deed(&world.path("skills").join(name));
        let look = |places| preview(places, &desired, &workspace, Edited::Keep).unwrap();
        assert_eq!(told(&look(&places)), told(&look(&forgetful)), "{name}");
    }
    let touched = preview(&places, &desired, &workspace, Edited::Keep).unwrap();
    assert_eq!(touched.unchanged, 2, "untouched and only unmarked: {touched:?}");
}

#[test]
fn names_that_are_taken_are_seen_among_whatever_else_is_there() {
    for neighbour in [None, Some("readme"), Some("Übung")] {
        let scratch = Scratch::new();
        let world = World::at(scratch.root());
        let files = tree(&[("SKILL.md", "theirs")]);
        let one = |name| skill(&world.path("skills"), name, "one", files.clone());
        let skills = ["both", "free", "plain", "suffix"].map(one).into_iter().collect();
        let desired = Desired { skills, ..Desired::default() };
        let theirs = ["both", "both-one", "plain", "suffix-one"];
        for name in theirs.into_iter().chain(neighbour) {
            world.write(&format!("skills/{name}/SKILL.md"), "mine");
        }
        let done = world.sync(&desired);
        let said: Vec<&str> = done.plan.findings.iter().map(|it| it.message.as_str()).collect();
        let refused = ["the skill `both` is not installed: `both-one` is not ours"];
        assert_eq!(said, refused, "{neighbour:?}");
        for name in theirs {
            assert_eq!(world.read(&format!("skills/{name}/SKILL.md")).unwrap(), "mine");
        }
        for name in ["free", "plain-one", "suffix"] {
            assert_eq!(world.read(&format!("skills/{name}/SKILL.md")).unwrap(), "theirs");
        }
    }
}

#[test]
fn a_skill_whose_source_has_changed_since_it_was_planned_is_not_written() {
    let scratch = Scratch::new();
    let world = World::at(scratch.root());
    let dir = scratch.write("source/SKILL.md", "new").parent().unwrap().to_owned();
    let mut wanted = skill(&world.path("skills"), "guide", "one", tree(&[("SKILL.md", "old")]));
    wanted.files = SkillFiles::OnDisk { dir: dir.clone(), root: dir.clone() };
    let desired = Desired { skills: vec![wanted], ..Desired::default() };
    let done = world.sync(&desired);
    assert!(done.failed[0].message.contains("changed while we were at it"), "{done:?}");
    assert!(world.files().is_empty() && world.ledger().entries.is_empty());
    fs_err::write(dir.join("SKILL.md"), "old").unwrap();
    assert!(world.sync(&desired).failed.is_empty());
    assert_eq!(world.read("skills/guide/SKILL.md").unwrap(), "old");
}

//! Every seed, and so everything that the fuzzer once found, through the function that the fuzzer runs.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod page;

use std::{collections::BTreeSet, panic::catch_unwind};

use agents_fuzz::targets::TARGETS;
use camino::{Utf8Path, Utf8PathBuf};

fn fuzz() -> Utf8PathBuf {
    Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

fn names(dir: &Utf8Path) -> BTreeSet<String> {
    let entries = dir.read_dir_utf8().unwrap_or_else(|error| panic!("{dir}: {error}"));
    entries.map(|entry| entry.unwrap().file_name().to_owned()).collect()
}

#[test]
fn no_seed_breaks_a_promise() {
    let mut broken = Vec::new();
    for target in TARGETS {
        let dir = fuzz().join("seeds").join(target.name);
        let seeds = names(&dir);
        assert!(!seeds.is_empty(), "{} has no seeds", target.name);
        for seed in seeds {
            let data = fs_err::read(dir.join(&seed)).unwrap();
            if catch_unwind(|| (target.check)(&data)).is_err() {
                broken.push(format!("{}/{seed}", target.name));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:?}");
}

#[test]
fn every_target_has_seeds_and_all_seeds_have_a_target() {
    let targets: BTreeSet<String> = TARGETS.iter().map(|it| it.name.to_owned()).collect();
    assert_eq!(targets.len(), TARGETS.len(), "each has a name of its own");
    assert_eq!(names(&fuzz().join("seeds")), targets);
}

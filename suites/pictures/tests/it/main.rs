//! The pictures of the README are not of another time.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

use std::process::Command;

use agents_testkit::book::{read, root};

#[test]
fn pictures_show_what_is_seen_now() {
    let output = Command::new(env!("CARGO_BIN_EXE_pictures-suite")).output().unwrap();
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn every_picture_is_shown_to_readers() {
    let readme = read("README.md".into());
    let pictures = root().join("docs/pictures").read_dir_utf8().unwrap();
    let names: Vec<String> = pictures.map(|it| it.unwrap().file_name().to_owned()).collect();
    assert!(names.len() >= 4, "{names:?}");
    for name in names {
        assert!(readme.contains(&format!("(docs/pictures/{name})")), "{name}");
    }
}

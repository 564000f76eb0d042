//! Mistakes are told, with their place, and never taken for "no workspace".

use agents_system::explain::{ErrorKind, Explain as _};
use agents_testkit::sample::Sample;
use agents_workspace::WorkspaceError;

use crate::reference::{Ours, no_cargo};

#[test]
fn a_broken_manifest_has_file_line_and_column() {
    let sample = Sample::new();
    sample.workspace("members = [\"m\"]");
    sample.write("m/Cargo.toml", "[package]\nname = \"m\nversion = \"1.0.0\"\n");
    for dir in ["", "m"] {
        let error = no_cargo(&sample).try_find(&sample.path(dir)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
        let place = error.findings()[0].place.as_ref().unwrap().to_string();
        assert_eq!(place, format!("{}:2:10", sample.path("m/Cargo.toml")));
    }
}

#[test]
fn a_manifest_that_is_no_text_is_as_wrong_as_one_that_is_no_toml() {
    let sample = Sample::new();
    sample.workspace("members = [\"m\"]");
    let manifest = sample.write("m/Cargo.toml", "");
    fs_err::write(&manifest, b"\xff\xfe").unwrap();
    let error = no_cargo(&sample).try_find(&sample.root()).unwrap_err();
    assert!(matches!(error, WorkspaceError::Read { .. }), "{error:?}");
    assert_eq!(error.kind(), ErrorKind::Usage);
}

#[test]
fn a_manifest_of_the_wrong_shape_is_explained_by_cargo() {
    let sample = Sample::new();
    sample.package(".", "one", "0.1.0", "[dependencies]\na = 3");
    let error = Ours::new(&sample).try_find(&sample.root()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    let details = error.details().unwrap();
    assert!(details.contains("Cargo.toml:6:5"), "{details}");
}

#[test]
fn cargo_names_real_paths() {
    let sample = Sample::new();
    sample.package(".", "one", "0.1.0", "[dependencies]\nnot-there = \"1\"");
    let error = Ours::new(&sample).try_find(&sample.root()).unwrap_err();
    let details = error.details().unwrap();
    assert!(details.contains(&format!("({})", sample.root())), "{details}");
    assert!(details.contains("not-there"), "{details}");
}

#[test]
fn a_package_that_its_workspace_does_not_list() {
    let sample = Sample::new();
    sample.workspace("members = []");
    sample.package("stray", "stray", "0.1.0", "");
    let error = Ours::new(&sample).try_find(&sample.path("stray")).unwrap_err();
    let details = error.details().unwrap();
    assert!(details.contains("believes it's in a workspace when it's not"), "{details}");
    assert!(details.contains(sample.path("stray/Cargo.toml").as_str()), "{details}");
}

#[test]
fn a_conflict_in_the_lock_file() {
    let sample = Sample::new();
    sample.package(".", "one", "0.1.0", "");
    sample.lock();
    let lock = fs_err::read_to_string(sample.path("Cargo.lock")).unwrap();
    let conflict = format!("{lock}<<<<<<< ours\n=======\n>>>>>>> theirs\n");
    sample.write("Cargo.lock", &conflict);
    let error = Ours::new(&sample).try_find(&sample.root()).unwrap_err();
    assert!(error.details().unwrap().contains("Cargo.lock"), "{error:?}");
    assert_eq!(fs_err::read_to_string(sample.path("Cargo.lock")).unwrap(), conflict);
}

#[test]
fn no_cargo_at_all() {
    let sample = Sample::new();
    sample.package(".", "one", "0.1.0", "");
    let error = no_cargo(&sample).try_find(&sample.root()).unwrap_err();
    assert!(matches!(error, WorkspaceError::Cargo(_)));
    assert!(error.hint().unwrap().contains("CARGO_AGENTS_CARGO"));
}

#[test]
fn a_glob_that_matches_a_directory_without_a_manifest() {
    let sample = Sample::new();
    sample.workspace("members = [\"crates/*\"]");
    sample.package("crates/m", "m", "0.1.0", "");
    sample.write("crates/empty/README.md", "");
    let error = Ours::new(&sample).try_find(&sample.root()).unwrap_err();
    assert!(error.details().unwrap().contains("crates/empty"), "{error:?}");
}

//! What is in `examples` does what its pages say, typed as a stranger would who copied the directory. `examples/embed` has a test of its
//! own, since it is a program.

use agents_testkit::{book::Reader, scratch::Scratch};
use camino::Utf8Path;

fn page_is_true(example: &str) {
    let examples = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut reader = Reader::with(env!("CARGO_BIN_EXE_cargo-agents"));
    reader.copy(&examples.join(example));
    let page = fs_err::read_to_string(examples.join(example).join("README.md")).unwrap();
    let different = reader.follow(&page);
    assert!(different.is_empty(), "{}", different.join("\n\n"));
}

#[test]
fn a_crate_that_ships_what_coding_agents_need() {
    page_is_true("crate");
}

#[test]
fn a_registry_of_plugins() {
    page_is_true("registry");
}

#[test]
fn a_team_and_its_plan() {
    page_is_true("team");
}

/// A place that cannot be searched is not one in which nothing was found.
#[test]
fn the_command_of_the_crate_fails_where_it_cannot_look() {
    let examples = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let script = examples.join("crate/coinage/scripts/money-floats.sh");
    let scratch = Scratch::new();
    let code = |place: &str| {
        let mut shell = std::process::Command::new("sh");
        shell.arg(&script).arg(scratch.path(place)).output().unwrap().status.code()
    };
    scratch.write("clean/a.rs", "let net = amount.minor();\n");
    scratch.write("float/a.rs", "let net = amount.minor() as f64;\n");
    assert_eq!([code("clean"), code("float"), code("gone")], [Some(0), Some(1), Some(2)]);
}

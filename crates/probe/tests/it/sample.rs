//! The sample workspace is one that cargo takes as it is.

#![allow(clippy::disallowed_methods, reason = "tests")]

use std::process::Command;

use agents_probe::sample::write_workspace;
use agents_testkit::{scratch::Scratch, vendor::cargo_program};

#[test]
fn cargo_needs_neither_a_network_nor_another_lock_file() {
    let scratch = Scratch::new();
    let workspace = write_workspace(scratch.root()).unwrap();
    let output = Command::new(cargo_program())
        .args(["metadata", "--format-version=1", "--locked", "--offline"])
        .current_dir(&workspace)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

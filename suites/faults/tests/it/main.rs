//! A few rounds, so that the suite itself, and what it looks at, is never broken for long.

#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "tests")]

use std::process::Command;

#[test]
fn nothing_is_lost_and_nothing_is_done_twice() {
    let output = Command::new(env!("CARGO_BIN_EXE_faults-suite"))
        .args(["--runs", "24", "--seed", "1"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("| all "), "{said}");
}

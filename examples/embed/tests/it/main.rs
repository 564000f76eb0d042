//! The example does what its page says, and is as short as it says.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

use std::process::Command;

use agents_testkit::{book::Reader, scratch::Scratch};

#[test]
fn the_page_is_true() {
    // Building it is what this test is a part of: `cargo run` here is the program that cargo has just built.
    let scratch = Scratch::new();
    let (program, cargo) = (env!("CARGO_BIN_EXE_embed-example"), std::env::var("CARGO").unwrap());
    let instead = format!(
        "case \"$*\" in 'run -q -p embed-example'*) shift 4; exec {program} \"$@\" ;; esac\nexec {cargo} \"$@\""
    );
    let wrapper = scratch.script("bin/cargo", &instead);
    let different = Reader::with(wrapper.as_str()).follow(include_str!("../../README.md"));
    assert!(different.is_empty(), "{}", different.join("\n\n"));
}

#[test]
fn a_model_is_found_by_its_name_or_told_not_to_be_there() {
    let scratch = Scratch::new();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/script.toml");
    scratch.write(
        "home/config.toml",
        format!("[providers.mine]\nkind = \"script\"\nscript = '{script}'\n"),
    );
    let run = |model: &str| {
        Command::new(env!("CARGO_BIN_EXE_embed-example"))
            .arg(model)
            .env_clear()
            .env("HOME", scratch.path("home"))
            .env("CARGO_AGENTS_HOME", scratch.path("home"))
            .output()
            .unwrap()
    };
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let found = run("mine/default");
    assert!(found.status.success(), "{}", said(&found.stderr));
    assert!(said(&found.stderr).contains("numbers runs on mine/default"));
    assert!(said(&found.stdout).contains("names: `total` gives the average"));
    let missing = run("others/large");
    assert_eq!(missing.status.code(), Some(1));
    assert!(said(&missing.stderr).contains("no model that there is fits `others/large`"));
}

#[test]
fn it_has_sixty_lines_at_most() {
    let lines = include_str!("../../src/main.rs").lines().count();
    assert!(lines <= 60, "{lines} lines");
}

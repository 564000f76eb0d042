//! The example does what its page says, and is as short as it says.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

use std::{collections::BTreeMap, process::Command};

use agents_testkit::{
    book::{Reader, blocks},
    scratch::Scratch,
};
use serde_json::Value;

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

/// What a package depends on, with the versions that will do.
fn dependencies(dir: &str) -> BTreeMap<String, String> {
    let output = Command::new(std::env::var("CARGO").unwrap())
        .args(["metadata", "--offline", "--no-deps", "--format-version", "1"])
        .current_dir(dir)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = said["packages"].as_array().unwrap();
    let package = packages.iter().find(|it| it["name"] == "embed-example").unwrap();
    let ours = package["dependencies"].as_array().unwrap().iter().filter(|it| it["kind"].is_null());
    ours.map(|it| (it["name"].as_str().unwrap().into(), it["req"].as_str().unwrap().into()))
        .collect()
}

#[test]
fn a_copy_with_the_manifest_of_the_page_has_what_it_needs() {
    let scratch = Scratch::new();
    let manifests = blocks(include_str!("../../README.md"));
    let manifest = manifests.into_iter().find(|it| it.language == "toml").unwrap().text;
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    scratch.write("copy/Cargo.toml", manifest.replace("/path/to/cargo-agents", root));
    scratch.write("copy/src/main.rs", include_str!("../../src/main.rs"));
    let mut copied = dependencies(scratch.path("copy").as_str());
    // By its path, whichever version that has.
    assert_eq!(copied.insert("agents-task".into(), "^0.1.0".into()).as_deref(), Some("*"));
    assert_eq!(copied, dependencies(env!("CARGO_MANIFEST_DIR")));
}

#[test]
fn it_has_sixty_lines_at_most() {
    let lines = include_str!("../../src/main.rs").lines().count();
    assert!(lines <= 60, "{lines} lines");
}

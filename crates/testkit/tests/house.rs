//! The rules of the house, as tests: who may know whom, how long a file may be, what a file may not be called.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Each room with the rooms that it may know. Dependencies point downwards only.
const ROOMS: &[(&str, &[&str])] = &[
    ("agents-system", &[]),
    ("agents-workspace", &["agents-system"]),
    ("agents-install", &["agents-system", "agents-workspace"]),
    ("agents-plugin", &["agents-system", "agents-workspace", "agents-install"]),
    ("agents-host", &["agents-system", "agents-workspace", "agents-install", "agents-plugin"]),
    (
        "agents-sync",
        &["agents-system", "agents-workspace", "agents-install", "agents-plugin", "agents-host"],
    ),
    ("agents-hook", &["agents-system", "agents-host"]),
    ("agents-trust", &["agents-system", "agents-workspace", "agents-install", "agents-plugin"]),
    (
        "agents-agent",
        &["agents-system", "agents-workspace", "agents-install", "agents-plugin", "agents-host"],
    ),
    (
        "agents-model",
        &[
            "agents-system",
            "agents-workspace",
            "agents-install",
            "agents-plugin",
            "agents-host",
            "agents-hook",
            "agents-agent",
        ],
    ),
    // Hosts that are started to see what they load; the model is the scripted one.
    ("agents-probe", &["agents-system", "agents-model"]),
    (
        "agents-tool",
        &[
            "agents-system",
            "agents-workspace",
            "agents-install",
            "agents-plugin",
            "agents-host",
            "agents-hook",
            "agents-agent",
        ],
    ),
    (
        "agents-task",
        &[
            "agents-system",
            "agents-workspace",
            "agents-install",
            "agents-plugin",
            "agents-host",
            "agents-hook",
            "agents-agent",
            "agents-model",
            "agents-tool",
        ],
    ),
    (
        "agents-plan",
        &[
            "agents-system",
            "agents-workspace",
            "agents-install",
            "agents-plugin",
            "agents-host",
            "agents-hook",
            "agents-agent",
            "agents-model",
            "agents-tool",
            "agents-task",
        ],
    ),
    (
        "agents-serve",
        &[
            "agents-system",
            "agents-workspace",
            "agents-install",
            "agents-plugin",
            "agents-host",
            "agents-hook",
            "agents-agent",
            "agents-model",
            "agents-tool",
            "agents-task",
        ],
    ),
    (
        "cargo-agents",
        &[
            "agents-system",
            "agents-workspace",
            "agents-install",
            "agents-plugin",
            "agents-host",
            "agents-sync",
            "agents-hook",
            "agents-agent",
            "agents-tool",
            "agents-trust",
            "agents-model",
            "agents-probe",
            "agents-task",
            "agents-plan",
            "agents-serve",
        ],
    ),
    (
        "agents-fuzz",
        &[
            "agents-system",
            "agents-workspace",
            "agents-plugin",
            "agents-host",
            "agents-agent",
            "agents-tool",
            "agents-hook",
            "agents-model",
            "agents-plan",
        ],
    ),
    // The scripted endpoint is part of the program, and what tests stand on.
    ("agents-testkit", &["agents-model"]),
    // Suites stand outside the house; they use the program as everybody does.
    ("hosts-suite", &["agents-system", "agents-probe", "agents-testkit"]),
    ("models-suite", &["agents-system", "agents-testkit", "hosts-suite"]),
    ("mcp-suite", &["agents-system", "agents-testkit", "hosts-suite"]),
    ("dashboard-suite", &["agents-system", "agents-testkit", "hosts-suite"]),
    ("restate-suite", &["agents-system", "agents-testkit", "hosts-suite"]),
    ("faults-suite", &["agents-system", "agents-testkit", "hosts-suite"]),
];

/// Past this, a file is two files.
const MAX_LINES: usize = 800;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn sources() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![root().join("crates"), root().join("suites")];
    while let Some(dir) = waiting.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("target") {
                waiting.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    assert!(found.len() > 50, "the sources were not found");
    found
}

#[test]
fn rooms_know_only_the_rooms_below_them() {
    let output = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(root())
        .output()
        .unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let allowed: BTreeMap<&str, &[&str]> = ROOMS.iter().copied().collect();
    let packages = metadata["packages"].as_array().unwrap();
    let names: BTreeSet<&str> = packages.iter().filter_map(|it| it["name"].as_str()).collect();
    assert_eq!(names, allowed.keys().copied().collect(), "a room is missing in the list, or gone");
    for package in packages {
        let name = package["name"].as_str().unwrap();
        for dependency in package["dependencies"].as_array().unwrap() {
            let known = dependency["name"].as_str().unwrap();
            if !names.contains(known) {
                continue;
            }
            if dependency["kind"] == "dev" && known == "agents-testkit" {
                continue;
            }
            assert!(allowed[name].contains(&known), "{name} may not know {known}");
        }
    }
}

/// A panic in one task must not end the others, in no build.
#[test]
fn every_profile_unwinds() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    assert!(manifest.contains("[profile.release]"));
    assert!(!manifest.contains("panic = \"abort\""), "{manifest}");
}

#[test]
fn every_room_is_on_the_map() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    for (room, _) in ROOMS.iter().filter(|(name, _)| !name.ends_with("-suite")) {
        assert!(
            readme.contains(&format!("| [`{room}`](crates/")),
            "README.md does not tell of {room}"
        );
    }
}

#[test]
fn no_file_is_longer_than_two_files() {
    for path in sources() {
        let lines = fs::read_to_string(&path).unwrap().lines().count();
        assert!(lines <= MAX_LINES, "{} has {lines} lines", path.display());
    }
}

#[test]
fn files_are_named_for_what_they_hold() {
    for path in sources() {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        for empty_word in ["mod", "utils", "util", "helpers", "common", "misc", "core", "manager"] {
            assert_ne!(name, empty_word, "{}", path.display());
        }
    }
}

#[test]
fn only_programs_print() {
    for path in sources() {
        let text = path.to_string_lossy().into_owned();
        let is_library = text.contains("/src/")
            && !text.contains("/src/bin/")
            && !text.contains("/cargo-agents/")
            && !text.contains("/testkit/")
            && !text.contains("/suites/")
            && !text.ends_with("tests.rs");
        if is_library {
            let code = fs::read_to_string(&path).unwrap();
            let code = code.split("#[cfg(test)]").next().unwrap();
            assert!(!code.contains("io::stdout()"), "{text} writes to standard output");
        }
    }
}

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
    ("agents-probe", &["agents-system", "agents-host", "agents-model"]),
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
            "agents-install",
            "agents-plugin",
            "agents-host",
            "agents-agent",
            "agents-tool",
            "agents-hook",
            "agents-model",
            "agents-task",
            "agents-trust",
            "agents-plan",
            "agents-serve",
            "agents-probe",
        ],
    ),
    // The scripted endpoint is part of the program, and what tests stand on.
    ("agents-testkit", &["agents-model"]),
    // Suites stand outside the house; they use the program as everybody does.
    ("hosts-suite", &["agents-system", "agents-plugin", "agents-probe", "agents-testkit"]),
    // What only programs that embed us can ask of a provider.
    ("models-suite", &["agents-system", "agents-model", "agents-testkit", "hosts-suite"]),
    ("mcp-suite", &["agents-system", "agents-testkit", "hosts-suite"]),
    ("dashboard-suite", &["agents-system", "agents-testkit", "hosts-suite"]),
    ("restate-suite", &["agents-system", "agents-testkit", "hosts-suite"]),
    ("faults-suite", &["agents-system", "agents-testkit", "hosts-suite"]),
    ("peers-suite", &["agents-system", "agents-testkit", "hosts-suite"]),
    ("mutants-suite", &["agents-system", "hosts-suite"]),
    ("pictures-suite", &["agents-testkit", "hosts-suite"]),
    // And so do examples, which know what strangers know.
    ("embed-example", &["agents-task"]),
];

/// What stands outside the house.
fn is_outside(name: &str) -> bool {
    name.ends_with("-suite") || name.ends_with("-example")
}

/// Past this, a file is two files.
const MAX_LINES: usize = 800;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn sources() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![root().join("crates"), root().join("suites"), root().join("examples")];
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

fn packages() -> Vec<serde_json::Value> {
    let output = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(root())
        .output()
        .unwrap();
    let mut metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    serde_json::from_value(metadata["packages"].take()).unwrap()
}

#[test]
fn rooms_know_only_the_rooms_below_them() {
    let packages = packages();
    let allowed: BTreeMap<&str, &[&str]> = ROOMS.iter().copied().collect();
    let names: BTreeSet<&str> = packages.iter().filter_map(|it| it["name"].as_str()).collect();
    assert_eq!(names, allowed.keys().copied().collect(), "a room is missing in the list, or gone");
    for package in &packages {
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

#[test]
fn rooms_are_published_and_what_tests_them_is_not() {
    for package in packages() {
        let name = package["name"].as_str().unwrap();
        let ours_alone = is_outside(name) || ["agents-testkit", "agents-fuzz"].contains(&name);
        assert_eq!(package["publish"] == serde_json::json!([]), ours_alone, "{name}");
    }
}

/// What a room is for, in the words of its `lib.rs`: the paragraphs before the first table, drawing or example, without links to
/// items, which only lead somewhere in the documentation.
fn first_words(code: &str) -> String {
    let lines = code.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim);
    let text: Vec<&str> = lines.collect();
    let text = text.join("\n");
    let is_prose = |part: &&str| !part.starts_with(['|', '`', '#', '-']);
    let prose: Vec<&str> = text.split("\n\n").take_while(is_prose).collect();
    let mut plain = String::new();
    let mut rest = prose.join("\n\n");
    while let Some((before, after)) = rest.split_once("[`") {
        let (name, after) = after.split_once("`]").unwrap();
        let after = match after.strip_prefix('(') {
            Some(target) => target.split_once(')').unwrap().1,
            None => after,
        };
        plain.push_str(&format!("{before}`{name}`"));
        rest = after.to_owned();
    }
    plain + &rest
}

/// Whoever finds a room in a registry sees its README, and nothing else of the repository.
#[test]
fn every_package_has_a_readme_and_the_licences() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let (_, repository) = manifest.split_once("repository = \"").unwrap();
    let repository = repository.split('"').next().unwrap();
    for package in packages().iter().filter(|it| it["publish"].is_null()) {
        let name = package["name"].as_str().unwrap();
        let dir = Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap();
        for file in ["LICENSE-APACHE", "LICENSE-MIT"] {
            let theirs = fs::read_to_string(dir.join(file)).unwrap_or_default();
            assert_eq!(theirs, fs::read_to_string(root().join(file)).unwrap(), "{file} of {name}");
        }
        let Ok(code) = fs::read_to_string(dir.join("src/lib.rs")) else {
            assert_eq!(package["readme"], "../../README.md", "that of the program is that of all");
            continue;
        };
        let page = format!(
            "# {name}\n\n{}\n\nPart of [`cargo agents`]({repository}): its [documentation](https://docs.rs/{name}) has the main types and an \
             example, and [the architecture]({repository}/blob/main/docs/architecture.md) shows how the crates fit together.\n\n\
             Licensed under either of MIT or Apache-2.0, at your option.\n",
            first_words(&code),
        );
        let file = dir.join("README.md");
        agents_testkit::pages::check_generated(file.to_str().unwrap(), &page);
    }
}

/// `lib.rs` is the page to read first, and teaches with an example that rustdoc compiles.
#[test]
fn the_front_page_of_every_room_has_an_example_that_compiles() {
    let compiled = ["", "rust", "no_run", "should_panic"];
    for package in packages().iter().filter(|it| it["publish"].is_null()) {
        let mut targets = package["targets"].as_array().unwrap().iter();
        let Some(library) = targets.find(|it| it["kind"] == serde_json::json!(["lib"])) else {
            continue;
        };
        let file = library["src_path"].as_str().unwrap();
        let page = fs::read_to_string(file).unwrap();
        // Where a feature decides, the fence is an attribute.
        let said = page.lines().filter_map(|line| {
            let of_attribute =
                || line.split_once("doc = \"").map(|(_, it)| it.trim_end_matches("\")]"));
            line.strip_prefix("//!").map(str::trim_start).or_else(of_attribute)
        });
        let fences: Vec<&str> = said.filter_map(|line| line.strip_prefix("```")).collect();
        // Every second one ends a block, except for those of attributes, of which one opens it.
        let opens = fences.first().is_some_and(|word| compiled.contains(word))
            || fences.iter().step_by(2).any(|word| compiled.contains(word));
        assert!(opens, "{file} has no example that is compiled");
    }
}

#[test]
fn every_feature_is_described() {
    let page = fs::read_to_string(root().join("docs/release.md")).unwrap();
    for package in packages().iter().filter(|it| it["publish"].is_null()) {
        let name = package["name"].as_str().unwrap();
        let mut features = package["features"].as_object().unwrap().keys().peekable();
        if features.peek().is_none() {
            continue;
        }
        let (_, rows) =
            page.split_once(&format!("| `{name}` |")).unwrap_or_else(|| panic!("{name}"));
        let rows: Vec<&str> = rows
            .lines()
            .enumerate()
            .map_while(|(at, row)| (at == 0 || row.starts_with("| |")).then_some(row))
            .collect();
        let features: BTreeSet<&str> =
            features.map(String::as_str).filter(|it| *it != "default").collect();
        for feature in &features {
            let said = rows.iter().any(|row| {
                row.trim_start_matches("| |").trim_start().starts_with(&format!("`{feature}` |"))
            });
            assert!(said, "docs/release.md does not tell of `{feature}` of {name}");
        }
        let dir = Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap();
        let Ok(front) = fs::read_to_string(dir.join("src/lib.rs")) else { continue };
        let (_, table) = front
            .split_once("//! | feature | default | brings |\n//! |---|---|---|\n")
            .unwrap_or_else(|| panic!("the front page of {name} says nothing of its features"));
        let rows = table.lines().map_while(|line| line.strip_prefix("//! | `"));
        let told: BTreeSet<&str> = rows.filter_map(|row| row.split('`').next()).collect();
        assert_eq!(told, features, "the front page of {name}");
        let on_docs_rs = &package["metadata"]["docs"]["rs"]["all-features"];
        assert_eq!(on_docs_rs, true, "docs.rs would leave out what features of {name} bring");
    }
}

#[test]
fn the_oldest_rust_is_the_same_everywhere() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let (_, oldest) = manifest.split_once("rust-version = \"").unwrap();
    let oldest = oldest.split('"').next().unwrap();
    for (file, words) in [
        ("README.md", format!("a Rust toolchain ({oldest} or newer)")),
        ("docs/release.md", format!("{oldest} or newer (`rust-version`")),
        (".github/workflows/ci.yml", format!("RUSTUP_TOOLCHAIN: \"{oldest}\"")),
        (".github/workflows/release.yml", format!("RUSTUP_TOOLCHAIN: \"{oldest}\"")),
    ] {
        let text = fs::read_to_string(root().join(file)).unwrap();
        assert!(text.contains(&words), "{file} names another Rust");
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
    for (room, _) in ROOMS.iter().filter(|(name, _)| !is_outside(name)) {
        assert!(
            readme.contains(&format!("| [`{room}`](crates/")),
            "README.md does not tell of {room}"
        );
    }
}

/// The third column of the page, as names of rooms: those that it has, and, where it says so, all that these may know.
fn known_on_the_page(cell: &str, below: &BTreeSet<&'static str>) -> BTreeSet<&'static str> {
    if cell == "all rooms below" {
        return below.clone();
    }
    let named: BTreeSet<&str> = cell.split('`').skip(1).step_by(2).collect();
    let rooms = ROOMS.iter().filter(|(name, _)| named.contains(name.trim_start_matches("agents-")));
    let all = cell.contains("what is below");
    rooms
        .flat_map(|(name, known)| known.iter().filter(move |_| all).chain([name]))
        .copied()
        .collect()
}

#[test]
fn the_page_of_the_house_has_the_rooms_in_their_order_and_whom_they_know() {
    let page = fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    let inside: BTreeSet<&str> = ROOMS.iter().map(|it| it.0).filter(|it| !is_outside(it)).collect();
    // What tests the house stands beside it.
    let mut below: BTreeSet<&str> =
        inside.into_iter().filter(|it| !["agents-testkit", "agents-fuzz"].contains(it)).collect();
    for row in page.lines().filter_map(|line| line.strip_prefix("| [`")) {
        let Some((name, rest)) = row.split_once("`](../crates/") else { continue };
        let known = rest.trim_end_matches(" |").rsplit(" | ").next().unwrap();
        let is_it = |it: &&(&str, _)| it.0.trim_start_matches("agents-") == name;
        let (room, allowed) = ROOMS.iter().find(is_it).unwrap();
        assert!(below.remove(room), "{room} is there twice, or stands beside the house");
        let allowed: BTreeSet<&str> = allowed.iter().copied().collect();
        assert_eq!(known_on_the_page(known, &below), allowed, "whom {room} may know");
        assert!(allowed.is_subset(&below), "{room} stands below what it knows");
    }
    assert!(below.is_empty(), "docs/architecture.md does not tell of {below:?}");
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
            && !text.contains("/examples/")
            && !text.ends_with("tests.rs");
        if is_library {
            let code = fs::read_to_string(&path).unwrap();
            let code = code.split("#[cfg(test)]").next().unwrap();
            assert!(!code.contains("io::stdout()"), "{text} writes to standard output");
        }
    }
}

/// A rule of the house that nobody tests is a wish.
#[test]
fn every_rule_of_the_house_has_a_test_that_exists() {
    let page = fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    let (_, table) = page.split_once("| rule | where it is kept | test |\n").unwrap();
    let rows: Vec<&str> = table.lines().skip(1).take_while(|it| it.starts_with('|')).collect();
    assert!(rows.len() > 10, "{rows:?}");
    let code: String = sources().iter().map(|it| fs::read_to_string(it).unwrap()).collect();
    let mut tests = 0;
    for row in rows {
        let cell = row.trim_end_matches(['|', ' ']).rsplit(" | ").next().unwrap();
        for test in cell.split('`').skip(1).step_by(2).filter(|_| !cell.contains("](")) {
            assert!(code.contains(&format!("fn {test}(")), "there is no test `{test}`");
            tests += 1;
        }
    }
    assert!(tests > 12, "only {tests} tests are named");
}

/// What is measured can be found by whoever looks for it.
#[test]
fn every_benchmark_is_on_the_page_of_performance_and_in_contributing() {
    let pages = ["docs/performance.md", "CONTRIBUTING.md"]
        .map(|it| fs::read_to_string(root().join(it)).unwrap());
    let mut seen = 0;
    for package in packages() {
        let name = package["name"].as_str().unwrap();
        let targets = package["targets"].as_array().unwrap().iter();
        for bench in targets.filter(|it| it["kind"] == serde_json::json!(["bench"])) {
            let bench = bench["name"].as_str().unwrap();
            for page in &pages {
                let is_there = page.lines().any(|line| {
                    line.contains(&format!("-p {name} "))
                        && line.contains(&format!("--bench {bench}"))
                });
                assert!(is_there, "`cargo bench -p {name} --bench {bench}` is not on both pages");
            }
            seen += 1;
        }
    }
    assert!(seen >= 10, "only {seen} were found");
}

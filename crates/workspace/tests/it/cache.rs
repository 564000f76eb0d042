//! What must never be forgotten, and what must never be done twice.

use std::{fs::File, thread};

use agents_system::explain::{ErrorKind, Explain as _};
use agents_testkit::sample::Sample;
use agents_workspace::{Glance, MemberEdge};
use camino::Utf8Path;

use crate::reference::{Ours, no_cargo};

fn sample() -> Sample {
    let sample = Sample::new();
    for (name, version) in [("a", "1.0.0"), ("a", "2.0.0"), ("b", "1.0.0")] {
        sample.vendor().library(name, version, "");
    }
    sample.package(".", "one", "0.1.0", "[dependencies]\na = \"1\"");
    sample
}

fn names(ours: &Ours, dir: &Utf8Path) -> Vec<String> {
    ours.find(dir).packages.iter().map(|p| format!("{} {}", p.name, p.version)).collect()
}

/// Rewrites a file so that its time stays what it was.
fn rewrite(path: &Utf8Path, text: &str) {
    let before = path.metadata().unwrap().modified().unwrap();
    fs_err::write(path, text).unwrap();
    File::options().write(true).open(path).unwrap().set_modified(before).unwrap();
}

#[test]
fn a_lock_rewritten_in_the_same_instant_with_the_same_size_is_noticed() {
    let sample = sample();
    sample.package(".", "one", "0.1.0", "[dependencies]\na = \">=1\"");
    sample.lock();
    let ours = no_cargo(&sample);
    assert_eq!(names(&ours, &sample.root()), ["a 2.0.0"]);
    let lock = sample.path("Cargo.lock");
    let other = fs_err::read_to_string(&lock).unwrap().replace("2.0.0", "1.0.0");
    rewrite(&lock, &other);
    assert_eq!(names(&ours, &sample.root()), ["a 1.0.0"]);
}

#[test]
fn a_dependency_added_to_the_manifest_is_seen_at_once() {
    let sample = sample();
    sample.package(".", "one", "0.1.0", "[dependencies]\na = \"1\"");
    sample.lock();
    let ours = Ours::new(&sample);
    assert_eq!(names(&ours, &sample.root()), ["a 1.0.0"]);
    let manifest = sample.path("Cargo.toml");
    let text = fs_err::read_to_string(&manifest).unwrap();
    // Same time and same size.
    rewrite(&manifest, &text.replace("a = \"1\"", "b = \"1\""));
    assert_eq!(names(&ours, &sample.root()), ["b 1.0.0"]);
    // As `cargo add` does it, without a lock file being written.
    rewrite(&manifest, &format!("{text}a2 = {{ package = \"a\", version = \"2\" }}\n"));
    assert_eq!(names(&ours, &sample.root()), ["a 1.0.0", "a 2.0.0"]);
}

#[test]
fn a_glance_starts_nothing() {
    let sample = sample();
    let glance = || no_cargo(&sample).workspaces().glance(&sample.root()).unwrap();
    assert_eq!(glance(), Glance::NeedsCargo { why: "no lock file" });
    let found = Ours::new(&sample).find(&sample.root());
    assert_eq!(glance(), Glance::Known(found));
    sample.package(".", "one", "0.1.0", "");
    assert!(matches!(glance(), Glance::NeedsCargo { .. }));
    let outside = no_cargo(&sample).workspaces().glance(&sample.tree()).unwrap();
    assert_eq!(outside, Glance::Outside);
}

#[test]
fn no_lock_file_is_written_and_cargo_is_asked_once() {
    let sample = sample();
    sample.age();
    let before = sample.snapshot();
    let (cargo, log) = sample.recording_cargo();
    let ours = Ours::with(&sample, cargo);
    for _ in 0..3 {
        assert_eq!(names(&ours, &sample.root()), ["a 1.0.0"]);
    }
    assert_eq!(names(&ours, &sample.path("src")), ["a 1.0.0"]);
    assert_eq!(sample.snapshot(), before);
    // Touched, not changed.
    let manifest = sample.path("Cargo.toml");
    fs_err::write(&manifest, fs_err::read(&manifest).unwrap()).unwrap();
    assert_eq!(names(&ours, &sample.root()), ["a 1.0.0"]);
    let calls = fs_err::read_to_string(&log).unwrap();
    assert_eq!(calls.lines().count(), 1, "{calls}");
    assert!(calls.contains("update --workspace"), "{calls}");
}

#[test]
fn a_read_only_tree_is_resolved_as_well() {
    use std::os::unix::fs::PermissionsExt as _;
    let sample = sample();
    let mode = |mode| {
        let permissions = std::fs::Permissions::from_mode(mode);
        fs_err::set_permissions(sample.root(), permissions).unwrap();
    };
    mode(0o555);
    let found = names(&Ours::new(&sample), &sample.root());
    mode(0o755);
    assert_eq!(found, ["a 1.0.0"]);
}

#[test]
fn a_cache_that_cannot_be_written_is_no_error() {
    let sample = sample();
    sample.lock();
    sample.scratch().write("cache", "a file where the directory should be");
    assert_eq!(names(&no_cargo(&sample), &sample.root()), ["a 1.0.0"]);
    sample.write("Cargo.lock", "");
    assert_eq!(names(&Ours::new(&sample), &sample.root()), ["a 1.0.0"]);
}

#[test]
fn a_damaged_cache_is_computed_again() {
    let sample = sample();
    sample.lock();
    let ours = no_cargo(&sample);
    let found = ours.find(&sample.root());
    for entry in sample.scratch().path("cache/workspaces").read_dir_utf8().unwrap() {
        fs_err::write(entry.unwrap().path().join("graph"), "x").unwrap();
    }
    assert_eq!(ours.find(&sample.root()), found);
}

#[test]
fn changes_above_and_beside_are_noticed() {
    let sample = sample();
    sample.lock();
    sample.age();
    let ours = no_cargo(&sample);
    let alone = ours.find(&sample.root());
    // A configuration above may replace packages: only cargo knows.
    let config = sample.write("../.cargo/config.toml", "paths = [\"nowhere\"]");
    assert!(ours.try_find(&sample.root()).is_err());
    fs_err::remove_file(&config).unwrap();
    assert_eq!(ours.find(&sample.root()), alone);
    // So may one of cargo's home.
    let home = sample.home().join("config.toml");
    let text = fs_err::read_to_string(&home).unwrap();
    fs_err::write(&home, format!("paths = [\"nowhere\"]\n{text}")).unwrap();
    assert!(ours.try_find(&sample.root()).is_err());
    fs_err::write(&home, &text).unwrap();
    assert_eq!(ours.find(&sample.root()), alone);
    // And one below the manifest, where we may stand.
    sample.write("src/.cargo/config.toml", "paths = [\"nowhere\"]");
    assert!(ours.try_find(&sample.path("src")).is_err());
    assert_eq!(ours.find(&sample.root()), alone);
    // A workspace around it that does not list it is a mistake that cargo must report.
    sample.write("../Cargo.toml", "[workspace]\n");
    assert!(ours.try_find(&sample.root()).is_err());
    sample.write("../Cargo.toml", "[workspace]\nexclude = [\"ws\"]");
    assert_eq!(ours.find(&sample.root()), alone);
}

#[test]
fn a_manifest_between_here_and_there_is_noticed() {
    let sample = sample();
    sample.lock();
    let ours = no_cargo(&sample);
    sample.write("sub/deep/file", "");
    assert_eq!(ours.find(&sample.path("sub/deep")).root, sample.root());
    sample.package("sub", "sub", "0.1.0", "[workspace]");
    sample.write(
        "sub/Cargo.lock",
        "version = 4\n\n[[package]]\nname = \"sub\"\nversion = \"0.1.0\"\n",
    );
    assert_eq!(ours.find(&sample.path("sub/deep")).root, sample.path("sub"));
}

#[test]
fn the_identity_survives_what_does_not_matter() {
    let sample = sample();
    sample.lock();
    let ours = no_cargo(&sample);
    let before = ours.find(&sample.root());
    sample.package(".", "one", "0.1.0", "description = \"changed\"\n[dependencies]\na = \"1\"");
    assert_eq!(ours.find(&sample.root()).identity, before.identity);
    sample.package(".", "one", "0.1.0", "[dependencies]\nb = \"1\"");
    assert_ne!(Ours::new(&sample).find(&sample.root()).identity, before.identity);
}

#[test]
fn many_at_once_on_a_cold_cache_ask_cargo_once() {
    let sample = sample();
    let (cargo, log) = sample.recording_cargo();
    let found = thread::scope(|scope| {
        let each = || names(&Ours::with(&sample, &cargo), &sample.root());
        let threads: Vec<_> = (0..6).map(|_| scope.spawn(each)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    assert!(found.iter().all(|names| *names == ["a 1.0.0"]), "{found:?}");
    assert_eq!(fs_err::read_to_string(log).unwrap().lines().count(), 1);
}

#[test]
fn details_ask_cargo_once_and_survive_a_touch() {
    let sample = sample();
    sample.lock();
    let (cargo, log) = sample.recording_cargo();
    let ours = Ours::with(&sample, cargo);
    let workspace = ours.find(&sample.root());
    let details = ours.workspaces().details(&workspace).unwrap();
    let a = details.packages.iter().find(|d| d.package.name.as_str() == "a").unwrap();
    assert_eq!(a.dir, sample.vendor().dir().join("a-1.0.0"));
    sample.age();
    assert_eq!(ours.workspaces().details(&workspace).unwrap(), details);
    assert_eq!(fs_err::read_to_string(&log).unwrap().lines().count(), 1);
    // Without a lock file the versions that were found first are the ones that are detailed.
    fs_err::remove_file(sample.path("Cargo.lock")).unwrap();
    let workspace = ours.find(&sample.root());
    sample.vendor().library("a", "1.9.0", "");
    let details = ours.workspaces().details(&workspace).unwrap();
    assert!(workspace.packages.iter().all(|p| details.packages.iter().any(|d| d.package == *p)));
    assert!(!sample.path("Cargo.lock").exists());
}

#[test]
fn details_of_this_platform_are_better_than_none() {
    let sample = sample();
    sample.lock();
    let real = agents_testkit::vendor::cargo_program();
    let script = format!(
        "case \"$*\" in\n*--filter-platform*|*-vV*) exec '{real}' \"$@\" ;;\nesac\n\
         echo 'error: failed to download `x`: --offline was specified' >&2\nexit 101"
    );
    let cargo = sample.scratch().script("bin/incomplete", &script);
    let ours = Ours::with(&sample, cargo);
    let workspace = ours.find(&sample.root());
    let details = ours.workspaces().details(&workspace).unwrap();
    assert!(details.platform.is_some());
    assert_eq!(details.packages.len(), 2);
    // Offline nobody will know more.
    assert_eq!(no_cargo(&sample).workspaces().details(&workspace).unwrap(), details);
    // With a network they are asked for again.
    let details = Ours::online(&sample).workspaces().details(&workspace).unwrap();
    assert_eq!(details.platform, None);
}

#[test]
fn enabled_features_are_known() {
    let sample = sample();
    sample.vendor().library("f", "1.0.0", "[features]\nx = []\ny = []\n");
    sample.package(
        ".",
        "one",
        "0.1.0",
        "[dependencies]\nf = { version = \"1\", features = [\"y\"] }",
    );
    let ours = Ours::new(&sample);
    let details = ours.workspaces().details(&ours.find(&sample.root())).unwrap();
    let f = details.packages.iter().find(|d| d.package.name.as_str() == "f").unwrap();
    assert_eq!(f.features, ["y"]);
    // A feature is not part of the graph, and is noticed all the same.
    sample.package(
        ".",
        "one",
        "0.1.0",
        "[dependencies]\nf = { version = \"1\", features = [\"x\"] }",
    );
    let details = ours.workspaces().details(&ours.find(&sample.root())).unwrap();
    let f = details.packages.iter().find(|d| d.package.name.as_str() == "f").unwrap();
    assert_eq!(f.features, ["x"]);
}

#[test]
fn a_package_that_only_cargo_knows_of_is_watched_too() {
    let sample = sample();
    sample.package("../fork", "a", "1.0.7", "");
    sample.write(".cargo/config.toml", "[patch.crates-io]\na = { path = \"../fork\" }");
    let ours = Ours::new(&sample);
    assert_eq!(names(&ours, &sample.root()), ["a 1.0.7"]);
    let manifest = sample.path("../fork/Cargo.toml");
    let text = fs_err::read_to_string(&manifest).unwrap();
    rewrite(&manifest, &text.replace("1.0.7", "1.0.8"));
    assert_eq!(names(&ours, &sample.root()), ["a 1.0.8"]);
    sample.age();
    assert_eq!(names(&ours, &sample.root()), ["a 1.0.8"]);
    assert_eq!(names(&no_cargo(&sample), &sample.root()), ["a 1.0.8"]);
    fs_err::write(&manifest, text.replace("1.0.7", "1.0.9")).unwrap();
    assert_eq!(names(&ours, &sample.root()), ["a 1.0.9"]);
}

#[test]
fn without_a_network_cargo_is_asked_again_offline() {
    let sample = sample();
    let real = agents_testkit::vendor::cargo_program();
    let script = format!(
        "case \"$*\" in\n*--offline*) exec '{real}' \"$@\" ;;\nesac\n\
         echo 'error: [6] Could not resolve host: index.crates.io' >&2\nexit 101"
    );
    let cargo = sample.scratch().script("bin/no-network", &script);
    let ours = Ours::online_with(&sample, cargo);
    assert_eq!(names(&ours, &sample.root()), ["a 1.0.0"]);
    // If that does not help either, the network is what is reported.
    sample.package(".", "one", "0.1.0", "[dependencies]\nnew = \"1\"");
    let error = ours.try_find(&sample.root()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Network);
    assert!(error.details().unwrap().contains("Could not resolve host"));
}

#[test]
fn details_say_which_members_depend_on_which_and_what_for() {
    let sample = Sample::new();
    sample.vendor().library("outside", "1.0.0", "");
    sample.workspace("members = [\"app\", \"base\", \"build\", \"lib\"]");
    sample.package(
        "app",
        "app",
        "0.1.0",
        "[dependencies]\noutside = \"1\"\nrenamed = { package = \"lib\", path = \"../lib\", optional = true }\n\
         [build-dependencies]\nbuild = { path = \"../build\" }\n",
    );
    sample.package(
        "lib",
        "lib",
        "0.1.0",
        "[target.'cfg(windows)'.dependencies]\nbase = { path = \"../base\" }\n\
         [dev-dependencies]\nbase = { path = \"../base\" }\n",
    );
    sample.package("base", "base", "0.1.0", "[dev-dependencies]\napp = { path = \"../app\" }\n");
    sample.package("build", "build", "0.1.0", "");
    sample.lock();
    let ours = Ours::new(&sample);
    let details = ours.workspaces().details(&ours.find(&sample.root())).unwrap();
    let told = |edge: &MemberEdge| format!("{} {} {:?}", edge.from, edge.to, edge.purpose);
    let edges: Vec<String> = details.edges.iter().map(told).collect();
    assert_eq!(edges, ["app build Build", "app lib Build", "base app Dev", "lib base Build"],);
}

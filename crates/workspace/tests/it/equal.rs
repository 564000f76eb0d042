//! Shapes of workspaces, each compared with cargo.

use agents_testkit::{repo::Repo, sample::Sample};

use crate::reference::{By, Ours, check, check_in};

fn sample() -> Sample {
    let sample = Sample::new();
    for (name, version) in [
        ("a", "1.0.0"),
        ("a", "1.2.0"),
        ("a", "2.0.0"),
        ("b", "0.3.1"),
        ("c", "0.1.0"),
        ("d-e", "1.0.0"),
    ] {
        sample.vendor().library(name, version, "");
    }
    sample.vendor().library("f", "1.0.0", "[features]\nx = [\"dep:c\"]\n[dependencies]\nc = { version = \"0.1\", optional = true }\na = \"1\"");
    sample
}

#[test]
fn a_single_package() {
    let sample = sample();
    sample.package(".", "one", "0.1.0", "[dependencies]\na = \"1\"\nb = \"0.3\"");
    check(sample.lock(), By::Reading);
}

#[test]
fn a_package_without_dependencies_or_lock() {
    let sample = sample();
    sample.package(".", "one", "0.1.0", "");
    check(&sample, By::Cargo);
}

#[test]
fn no_lock_file() {
    let sample = sample();
    sample.workspace("members = [\"m\", \"n\"]");
    sample.package("m", "m", "0.1.0", "[dependencies]\na = \"1.0\"");
    sample.package("n", "n", "0.1.0", "[dependencies]\nm = { path = \"../m\" }\nf = \"1\"");
    check(&sample, By::Cargo);
    assert!(!sample.path("Cargo.lock").exists());
}

#[test]
fn renames_and_two_versions() {
    let sample = sample();
    let rest = "[dependencies]\n\
        old = { package = \"a\", version = \"1\" }\n\
        new = { package = \"a\", version = \"2\" }\n\
        other = { package = \"d-e\", version = \"1\" }";
    sample.package(".", "one", "0.1.0", rest);
    let found = check(sample.lock(), By::Reading);
    let a: Vec<_> = found.packages.iter().filter(|p| p.name.as_str() == "a").collect();
    assert_eq!(a.len(), 2, "{a:?}");
}

#[test]
fn every_kind_of_table() {
    let sample = sample();
    let rest = "[dependencies]\n\
        b = { version = \"0.3\", optional = true }\n\
        [dev-dependencies]\na = \"1\"\n\
        [build-dependencies]\na = \"2\"\n\
        [target.'cfg(windows)'.dependencies]\nc = \"0.1\"\n\
        [target.aarch64-apple-darwin.dev-dependencies]\nd-e = \"1\"\n\
        [target.'cfg(target_os = \"none\")'.build-dependencies]\nf = { version = \"1\", optional = true }";
    sample.package(".", "one", "0.1.0", rest);
    assert_eq!(check(sample.lock(), By::Reading).packages.len(), 6);
}

#[test]
fn inheritance() {
    let sample = sample();
    sample.workspace(
        "members = [\"m\", \"n\"]\n[workspace.package]\nversion = \"3.1.4\"\n\
         [workspace.dependencies]\na = \"1\"\nz = { package = \"b\", version = \"0.3\" }\nn = { path = \"n\" }",
    );
    sample.write(
        "m/Cargo.toml",
        "[package]\nname = \"m\"\nversion.workspace = true\nedition = \"2021\"\n\
         [dependencies]\na.workspace = true\nz = { workspace = true, optional = true }\nn.workspace = true",
    );
    sample.write("m/src/lib.rs", "");
    sample.package("n", "n", "0.1.0", "");
    let found = check(sample.lock(), By::Reading);
    assert_eq!(found.members[0].version.to_string(), "3.1.4");
    check_in(&sample, "m", By::Reading);
    check_in(&sample, "m/src", By::Reading);
}

#[test]
fn implicit_members_globs_and_excludes() {
    let sample = sample();
    sample
        .workspace("members = [\"crates/*\", \"x?/y\"]\nexclude = [\"crates/out\", \"deep/not\"]");
    sample.package("crates/m", "m", "0.1.0", "[dependencies]\nimplicit = { path = \"../../deep/implicit\" }\nnot = { path = \"../../deep/not\" }");
    sample.package("crates/out", "out", "0.1.0", "");
    sample.package("crates/.hidden", "hidden", "0.1.0", "");
    sample.package("x1/y", "y", "0.1.0", "");
    sample.package(
        "deep/implicit",
        "implicit",
        "0.1.0",
        "[dev-dependencies]\ntwice = { path = \"../twice\" }\na = \"2\"",
    );
    sample.package("deep/twice", "twice", "0.1.0", "[dev-dependencies]\nb = \"0.3\"");
    sample.package(
        "deep/not",
        "not",
        "0.1.0",
        "[dependencies]\na = \"1\"\n[dev-dependencies]\nc = \"0.1\"",
    );
    sample.write("crates/README.md", "a file among directories");
    let found = check(sample.lock(), By::Reading);
    assert_eq!(found.members.len(), 5);
    check_in(&sample, "deep/implicit", By::Reading);
    // Excluded: a workspace of its own.
    sample.cargo_in(&sample.path("crates/out"), &["generate-lockfile"]);
    check_in(&sample, "crates/out", By::Reading);
}

#[test]
fn path_dependencies_above_the_root() {
    let sample = sample();
    sample.package(
        ".",
        "one",
        "0.1.0",
        "[dependencies]\nup = { path = \"../up\", version = \"0.2\" }\n[workspace]",
    );
    sample.package("../up", "up", "0.2.3", "[dependencies]\na = \"1\"\nfar = { path = \"../sub/far\" }\n[dev-dependencies]\nb = \"0.3\"");
    sample.write("../sub/Cargo.toml", "[workspace]\nmembers = [\"far\"]\n[workspace.package]\nversion = \"7.0.0\"\n[workspace.dependencies]\nc = \"0.1\"");
    sample.write("../sub/far/Cargo.toml", "[package]\nname = \"far\"\nversion.workspace = true\nedition = \"2021\"\n[dependencies]\nc.workspace = true");
    sample.write("../sub/far/src/lib.rs", "");
    check(&sample, By::Cargo);
    check(sample.lock(), By::Reading);
}

#[test]
fn a_member_elsewhere_that_points_to_the_root() {
    let sample = sample();
    sample.workspace("members = [\"m\", \"../beside\"]");
    sample.package("m", "m", "0.1.0", "");
    sample.package(
        "../beside",
        "beside",
        "0.1.0",
        "workspace = \"../ws\"\n[dependencies]\na = \"1\"",
    );
    check(sample.lock(), By::Reading);
    check_in(&sample, "../beside", By::Reading);
}

#[test]
fn a_workspace_inside_a_workspace() {
    let sample = sample();
    sample.workspace("members = [\"m\"]\nexclude = [\"inner\"]");
    sample.package("m", "m", "0.1.0", "[dependencies]\na = \"1\"");
    sample.write("inner/Cargo.toml", "[workspace]\nmembers = [\"k\"]");
    sample.package("inner/k", "k", "0.1.0", "[dependencies]\na = \"2\"");
    sample.lock().cargo_in(&sample.path("inner"), &["generate-lockfile"]);
    check(&sample, By::Reading);
    check_in(&sample, "inner/k", By::Reading);
}

#[test]
fn a_patch_to_a_path() {
    let sample = sample();
    sample.workspace(
        "members = [\"m\"]\nexclude = [\"fork\"]\n[patch.crates-io]\na = { path = \"fork/a\" }",
    );
    sample.package("m", "m", "0.1.0", "[dependencies]\na = \"1\"\nf = \"1\"");
    sample.package("fork/a", "a", "1.5.0", "[dependencies]\nb = \"0.3\"");
    let found = check(sample.lock(), By::Reading);
    assert!(found.packages.iter().any(|p| p.version.to_string() == "1.5.0"));
    // The fork moves on: the lock file does not answer for it any more.
    sample.package("fork/a", "a", "1.6.0", "[dependencies]\nb = \"0.3\"");
    check(&sample, By::Cargo);
    // And too far to be used at all.
    sample.package("fork/a", "a", "9.0.0", "[dependencies]\nb = \"0.3\"");
    check(&sample, By::Cargo);
    sample.lock();
    check(&sample, By::Reading);
}

#[test]
fn a_patch_of_something_that_only_others_use() {
    let sample = sample();
    sample.package(".", "m", "0.1.0", "[dependencies]\nf = \"1\"\n[patch.crates-io]\na = { path = \"fork\" }\n[workspace]\nexclude = [\"fork\"]");
    sample.package(
        "fork",
        "a",
        "1.5.0",
        "[dependencies]\nb = { version = \"0.3\", optional = true }",
    );
    check(sample.lock(), By::Reading);
    // A new patch.
    sample.package(".", "m", "0.1.0", "[dependencies]\nf = \"1\"\n[patch.crates-io]\na = { path = \"fork\" }\nc = { path = \"c\" }\n[workspace]\nexclude = [\"fork\", \"c\"]");
    sample.package("c", "c", "0.1.9", "");
    check(&sample, By::Cargo);
}

fn repository(sample: &Sample, name: &str, version: &str) -> String {
    let repo = Repo::init(sample.scratch().path(format!("git-{name}")));
    sample.package(&format!("../../git-{name}"), name, version, "[dependencies]\nb = \"0.3\"");
    repo.git(&["add", "."]);
    repo.commit("one");
    repo.git(&["tag", "v/1"]);
    repo.git(&["branch", "side"]);
    repo.url()
}

#[test]
fn git_dependencies() {
    let sample = sample();
    let url = repository(&sample, "g", "0.4.0");
    for reference in ["", ", branch = \"side\"", ", tag = \"v/1\""] {
        let rest =
            format!("[dependencies]\nrenamed = {{ git = \"{url}\", package = \"g\"{reference} }}");
        sample.package(".", "one", "0.1.0", &rest);
        // Clones into the home; ours is offline.
        sample.lock();
        check(&sample, By::Reading);
    }
    // Another branch, which cargo has but the lock file has not.
    let rest = format!(
        "[dependencies]\nrenamed = {{ git = \"{url}\", package = \"g\", branch = \"side\" }}"
    );
    sample.package(".", "one", "0.1.0", &rest);
    check(&sample, By::Cargo);
}

#[test]
fn patches_by_git_and_of_git() {
    let sample = sample();
    let url = repository(&sample, "a", "1.9.0");
    let rest = format!("[dependencies]\na = \"1\"\n[patch.crates-io]\na = {{ git = \"{url}\" }}");
    sample.package(".", "one", "0.1.0", &rest);
    check(sample.lock(), By::Reading);
    let rest = format!(
        "[dependencies]\na = {{ git = \"{url}\" }}\n[patch.\"{url}\"]\na = {{ path = \"a\" }}\n[workspace]\nexclude = [\"a\"]"
    );
    sample.package(".", "one", "0.1.0", &rest);
    sample.package("a", "a", "3.0.0", "");
    check(&sample, By::Cargo);
    check(sample.lock(), By::Reading);
}

#[test]
fn other_sources_in_the_configuration() {
    let sample = sample();
    sample.package(".", "one", "0.1.0", "[dependencies]\na = \"1\"");
    sample.lock();
    sample.package("../fork", "a", "1.0.7", "");
    sample.write(".cargo/config.toml", "[patch.crates-io]\na = { path = \"../fork\" }");
    check(sample.age(), By::Cargo);
    sample.write(".cargo/config.toml", "paths = [\"../fork\"]");
    sample.package("../fork", "a", "1.2.0", "");
    check(sample.age(), By::Cargo);
    sample.write(".cargo/config.toml", "[alias]\nx = \"check\"");
    check(&sample, By::Reading);
}

#[test]
fn the_old_replace_table() {
    let sample = sample();
    sample.package(".", "one", "0.1.0", "[dependencies]\na = \"1\"\n[replace]\n\"a:1.2.0\" = { path = \"r\" }\n[workspace]\nexclude = [\"r\"]");
    sample.package("r", "a", "1.2.0", "");
    check(sample.age(), By::Cargo);
    check(sample.lock(), By::Cargo);
}

#[test]
fn a_requirement_that_two_locked_versions_satisfy() {
    let sample = sample();
    let rest = "[dependencies]\na = \"1\"\n[build-dependencies]\na = \"2\"\n\
                [dev-dependencies]\na = \">=1\"";
    sample.package(".", "one", "0.1.0", rest);
    check(sample.lock(), By::Cargo);
}

#[test]
fn edits_after_locking() {
    let edits = [
        ("another dependency", "[dependencies]\na = \"1\"\nb = \"0.3\""),
        ("one less", ""),
        ("another version", "[dependencies]\na = \"2\""),
        ("an exact version", "[dependencies]\na = \"=1.0.0\""),
        ("another kind", "[dependencies]\na = { path = \"../a\" }"),
        ("a rename of another", "[dependencies]\na = { package = \"b\", version = \"0.3\" }"),
        ("only for tests", "[dev-dependencies]\nc = \"0.1\""),
    ];
    for (what, rest) in edits {
        let sample = sample();
        sample.package("../a", "a", "1.0.0", "");
        sample.package(".", "one", "0.1.0", "[dependencies]\na = \"1\"");
        check(sample.lock(), By::Reading);
        sample.package(".", "one", "0.1.0", rest);
        eprintln!("{what}");
        check(&sample, By::Cargo);
    }
}

#[test]
fn a_locked_older_version_stays() {
    let sample = sample();
    sample.package(".", "one", "0.1.0", "[dependencies]\na = \"=1.0.0\"");
    sample.lock();
    sample.package(".", "one", "0.1.0", "[dependencies]\na = \"1\"");
    check(&sample, By::Reading);
    sample.package(".", "one", "0.1.0", "[dependencies]\na = \"1\"\nb = \"0.3\"");
    let found = check(&sample, By::Cargo);
    assert!(found.packages.iter().any(|p| p.version.to_string() == "1.0.0"), "{found:?}");
}

#[test]
fn a_new_member_and_a_removed_one() {
    let sample = sample();
    sample.workspace("members = [\"crates/*\"]");
    sample.package("crates/m", "m", "0.1.0", "[dependencies]\na = \"1\"");
    check(sample.lock(), By::Reading);
    sample.package("crates/n", "n", "0.1.0", "[dependencies]\nb = \"0.3\"");
    check(&sample, By::Cargo);
    fs_err::remove_dir_all(sample.path("crates/n")).unwrap();
    check(&sample, By::Reading);
    fs_err::remove_dir_all(sample.path("crates/m")).unwrap();
    sample.package("crates/k", "k", "0.1.0", "[dependencies]\nb = \"0.3\"");
    check(&sample, By::Cargo);
}

#[test]
fn an_alternative_registry_is_read_from_the_lock_file() {
    let sample = sample();
    sample.write(
        ".cargo/config.toml",
        "[registries.mine]\nindex = \"https://example.invalid/index\"",
    );
    sample.package(
        ".",
        "one",
        "0.1.0",
        "[dependencies]\na = \"1\"\nthing = { version = \"1\", registry = \"mine\" }",
    );
    let lock = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.2.0\"\nsource = \"registry+https://github.com/rust-lang/crates.io-index\"\nchecksum = \"00\"\n\n\
        [[package]]\nname = \"one\"\nversion = \"0.1.0\"\ndependencies = [\n \"a\",\n \"thing\",\n]\n\n\
        [[package]]\nname = \"thing\"\nversion = \"1.0.1\"\nsource = \"registry+https://example.invalid/index\"\nchecksum = \"00\"\n";
    sample.write("Cargo.lock", lock);
    let found = crate::reference::no_cargo(&sample).find(&sample.root());
    let ids: Vec<_> = found.packages.iter().map(|p| format!("{} {:?}", p.name, p.source)).collect();
    assert!(ids[1].contains("thing") && ids[1].contains("example.invalid"), "{ids:?}");
    // Elsewhere it would be another crate.
    sample.write(
        ".cargo/config.toml",
        "[registries.mine]\nindex = \"https://elsewhere.invalid/index\"",
    );
    assert!(crate::reference::no_cargo(&sample).try_find(&sample.root()).is_err());
}

#[test]
fn outside_is_a_normal_state() {
    let sample = sample();
    assert_eq!(Ours::new(&sample).try_find(&sample.tree()).unwrap(), None);
}

#[test]
fn a_pattern_over_all_directories() {
    let sample = sample();
    sample.workspace("members = [\"crates/**/pkg\", \"./more/**\"]");
    sample.package("crates/x/pkg", "x", "0.1.0", "[dependencies]\na = \"1\"");
    sample.write("more/sub/Cargo.toml", "[package]\nname = \"more\"\nversion = \"0.1.0\"\n[lib]\npath = \"../../crates/x/pkg/src/lib.rs\"");
    sample.lock();
    assert_eq!(check(&sample, By::Reading).members.len(), 2);
    sample.package("crates/x/y/z/pkg", "z", "0.1.0", "");
    assert_eq!(check(sample.lock(), By::Reading).members.len(), 3);
}

#[test]
fn links() {
    use std::os::unix::fs::symlink;
    let sample = sample();
    sample.workspace("members = [\"crates/*\"]");
    sample.package("crates/m", "m", "0.1.0", "[dependencies]\nlinked = { path = \"../linked\" }");
    sample.package("../real/deep/linked", "linked", "0.1.0", "[dependencies]\na = \"1\"");
    symlink("../../real/deep/linked", sample.path("crates/linked")).unwrap();
    check(&sample, By::Cargo);
    check(sample.lock(), By::Reading);
    // Where we stand may be spelled through a link as well.
    let link = sample.scratch().path("link");
    symlink(sample.root(), &link).unwrap();
    let found = crate::reference::no_cargo(&sample).find(&link.join("crates/m"));
    assert_eq!(found.root, sample.root());
}

#[test]
fn vendored_by_the_workspace_itself() {
    let sample = sample();
    fs_err::remove_file(sample.home().join("config.toml")).unwrap();
    fs_err::rename(sample.vendor().dir(), sample.path("vendor")).unwrap();
    let config =
        "[source.crates-io]\nreplace-with = \"here\"\n[source.here]\ndirectory = \"vendor\"";
    sample.write(".cargo/config.toml", config);
    sample.package(".", "one", "0.1.0", "[dependencies]\na = \"1\"");
    check(&sample, By::Cargo);
    check_in(&sample, "src", By::Cargo);
    check(sample.lock(), By::Reading);
}

#[test]
fn every_layout_of_the_lock_file() {
    let sample = sample();
    let rest = "[dependencies]\na = \"1\"\nnew = { package = \"a\", version = \"2\" }\nf = \"1\"";
    sample.package(".", "one", "0.1.0", rest);
    sample.lock();
    let text = fs_err::read_to_string(sample.path("Cargo.lock")).unwrap();
    sample.write("Cargo.lock", &text.replace("version = 4\n", "version = 3\n"));
    check(&sample, By::Reading);
    sample.write("Cargo.lock", &text.replace("version = 4\n", ""));
    check(&sample, By::Reading);
    sample.write("Cargo.lock", &text.replace('\n', "\r\n"));
    check(&sample, By::Reading);
}

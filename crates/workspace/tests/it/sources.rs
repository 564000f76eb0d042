//! Where the sources of a crate are.

use agents_system::explain::{ErrorKind, Explain as _};
use agents_testkit::{repo::Repo, sample::Sample, scratch::write};
use agents_workspace::{CrateName, CrateOrigin, CrateSource, SourceError, Workspace};
use semver::VersionReq;

use crate::reference::{Ours, no_cargo};

fn sample() -> Sample {
    let sample = Sample::new();
    for version in ["1.0.0", "1.2.0", "2.0.0"] {
        sample.vendor().library("a", version, "[dependencies]\nlong-name = \"1\"");
    }
    sample.vendor().library("long-name", "1.0.0", "");
    sample
}

fn source(
    ours: &Ours,
    sample: &Sample,
    workspace: Option<&Workspace>,
    name: &str,
    requirement: &str,
) -> Result<CrateSource, SourceError> {
    let requirement = VersionReq::parse(requirement).ok();
    let name = CrateName::new(name);
    ours.workspaces().source(workspace, &sample.root(), &name, requirement.as_ref())
}

/// Puts a crate where cargo unpacks crates of a registry.
fn unpack(sample: &Sample, folder: &str, krate: &str, mark: &str) {
    let dir = sample.home().join("registry/src").join(folder).join(krate);
    write(&dir.join("Cargo.toml"), "");
    write(&dir.join(mark), "{\"v\":1}");
}

#[test]
fn directories_come_first() {
    let sample = sample();
    sample.workspace(
        "members = [\"m\"]\nexclude = [\"fork\"]\n[patch.crates-io]\na = { path = \"fork\" }",
    );
    sample.package("m", "m", "0.1.0", "[dependencies]\na = \"1\"");
    sample.package("fork", "a", "1.7.0", "[dependencies]\nlong-name = \"1\"");
    sample.lock();
    let ours = no_cargo(&sample);
    let workspace = ours.find(&sample.root());
    let found = source(&ours, &sample, Some(&workspace), "a", "").unwrap();
    assert_eq!((found.dir, found.origin), (sample.path("fork"), CrateOrigin::Path));
    let found = source(&ours, &sample, Some(&workspace), "m", "").unwrap();
    assert_eq!(found.dir, sample.path("m"));
}

#[test]
fn what_cargo_has_unpacked_needs_no_cargo() {
    let sample = sample();
    sample.package(".", "one", "0.1.0", "[dependencies]\na = \"1.0\"");
    sample.lock();
    let ours = no_cargo(&sample);
    let workspace = ours.find(&sample.root());
    let package = &workspace.packages[0];
    let on_disk = || ours.workspaces().source_on_disk(&workspace, package);
    for other in ["evil.example-0123", "github.com-0123"] {
        unpack(&sample, other, "a-1.2.0", ".cargo-ok");
    }
    assert_eq!(on_disk(), None, "the crate of another registry");
    unpack(&sample, "index.crates.io-0123", "a-1.2.0", "unfinished");
    assert_eq!(on_disk(), None, "half unpacked");
    unpack(&sample, "index.crates.io-0123", "a-1.2.0", ".cargo-ok");
    let dir = sample.home().join("registry/src/index.crates.io-0123/a-1.2.0");
    assert_eq!(on_disk(), Some(dir.clone()));
    let found = source(&ours, &sample, Some(&workspace), "a", "").unwrap();
    assert_eq!((found.dir, found.origin), (dir, CrateOrigin::OnDisk));
}

#[test]
fn the_version_of_the_workspace_unless_another_is_asked_for() {
    let sample = sample();
    sample.package(".", "one", "0.1.0", "[dependencies]\na = \"=1.0.0\"");
    sample.lock();
    let before = sample.snapshot();
    let ours = Ours::new(&sample);
    let workspace = ours.find(&sample.root());
    for (within, requirement, expected) in [
        (Some(&workspace), "", "1.0.0"),
        (Some(&workspace), "1", "1.0.0"),
        (Some(&workspace), ">=1.1, <2", "1.2.0"),
        (Some(&workspace), "2", "2.0.0"),
        (None, "1", "1.2.0"),
        (None, "", "2.0.0"),
    ] {
        let found = source(&ours, &sample, within, "a", requirement).unwrap();
        assert_eq!(found.version.to_string(), expected, "{requirement}");
        assert_eq!(found.dir, sample.vendor().dir().join(format!("a-{expected}")));
    }
    assert_eq!(sample.snapshot(), before);
    // What was said about a pinned version is remembered.
    let again = source(&no_cargo(&sample), &sample, Some(&workspace), "a", "").unwrap();
    assert_eq!(again.origin, CrateOrigin::OnDisk);
}

#[test]
fn a_crate_that_only_others_use_is_pinned_as_well() {
    let sample = sample();
    sample.package(".", "one", "0.1.0", "[dependencies]\na = \"1\"");
    for lock in ["the user's", "ours"] {
        let ours = Ours::new(&sample);
        if lock == "the user's" {
            sample.lock();
        } else {
            fs_err::remove_file(sample.path("Cargo.lock")).unwrap();
        }
        let workspace = ours.find(&sample.root());
        sample.vendor().library("long-name", "1.1.0", "");
        let found = source(&ours, &sample, Some(&workspace), "long-name", "").unwrap();
        assert_eq!(found.version.to_string(), "1.0.0", "{lock}");
        fs_err::remove_dir_all(sample.vendor().dir().join("long-name-1.1.0")).unwrap();
    }
}

#[test]
fn spelling_does_not_matter_but_the_authors_is_shown() {
    let sample = sample();
    let found = source(&Ours::new(&sample), &sample, None, "long_name", "").unwrap();
    assert_eq!(found.name.to_string(), "long-name");
}

#[test]
fn details_make_vendored_sources_known() {
    let sample = sample();
    sample.package(".", "one", "0.1.0", "[dependencies]\na = \"1\"");
    sample.lock();
    let ours = Ours::new(&sample);
    let workspace = ours.find(&sample.root());
    let on_disk =
        || no_cargo(&sample).workspaces().source_on_disk(&workspace, &workspace.packages[0]);
    assert_eq!(on_disk(), None);
    ours.workspaces().details(&workspace).unwrap();
    assert_eq!(on_disk(), Some(sample.vendor().dir().join("a-1.2.0")));
}

#[test]
fn sources_of_a_git_dependency() {
    let sample = sample();
    let repo = Repo::init(sample.scratch().path("g"));
    sample.package("../../g", "g", "0.4.0", "");
    repo.commit("one");
    sample.package(
        ".",
        "one",
        "0.1.0",
        &format!("[dependencies]\ng = {{ git = \"{}\" }}", repo.url()),
    );
    sample.lock();
    let ours = Ours::new(&sample);
    let workspace = ours.find(&sample.root());
    let found = source(&ours, &sample, Some(&workspace), "g", "").unwrap();
    assert!(found.dir.starts_with(sample.home().join("git/checkouts")), "{found:?}");
    let again = source(&no_cargo(&sample), &sample, Some(&workspace), "g", "").unwrap();
    assert_eq!((again.dir, again.origin), (found.dir, CrateOrigin::OnDisk));
}

#[test]
fn what_is_not_there_is_said() {
    let sample = sample();
    let ours = Ours::new(&sample);
    let error = source(&ours, &sample, None, "no-such-crate", "").unwrap_err();
    assert!(matches!(error, SourceError::NoSuchCrate { .. }), "{error:?}");
    // Nobody knows what the network would have said.
    assert_eq!(error.kind(), ErrorKind::Network);
    assert!(error.hint().unwrap().contains("--offline"));
    let ours = Ours::online(&sample);
    let error = source(&ours, &sample, None, "no-such-crate", "").unwrap_err();
    assert_eq!(error.to_string(), "there is no crate `no-such-crate`");
    assert_eq!(error.kind(), ErrorKind::Usage);
    let error = source(&ours, &sample, None, "a", "7").unwrap_err();
    assert_eq!(error.to_string(), "no version of `a` satisfies `^7`");
    assert!(error.details().unwrap().contains("1.2.0"), "{:?}", error.details());
    let error = source(&ours, &sample, None, "a\" }\n[x", "").unwrap_err();
    assert!(matches!(error, SourceError::BadName(_)));
}

//! Large workspaces.

use std::fmt::Write as _;

use agents_testkit::sample::Sample;

use crate::reference::{By, check, check_in, no_cargo};

#[test]
fn more_than_six_hundred_packages() {
    let sample = Sample::new();
    for at in 0..640 {
        let mut rest = "[dependencies]\n".to_owned();
        for next in [at * 2 + 1, at * 2 + 2, at + 17] {
            let key = format!("crate-{next} ");
            if next < 640 && !rest.contains(&key) {
                writeln!(rest, "crate-{next} = \"1\"").unwrap();
            }
        }
        sample.vendor().library(&format!("crate-{at}"), &format!("1.{at}.0"), &rest);
    }
    let mut rest = "[dependencies]\n".to_owned();
    for at in (0..640).step_by(16) {
        writeln!(rest, "crate-{at} = \"1.0\"").unwrap();
    }
    sample.package(".", "one", "0.1.0", &rest);
    let found = check(sample.lock(), By::Reading);
    assert_eq!(found.packages.len(), 40);
    let lock = fs_err::read_to_string(sample.path("Cargo.lock")).unwrap();
    assert!(lock.matches("[[package]]").count() > 600);
}

#[test]
fn two_hundred_members() {
    let sample = Sample::new();
    sample.workspace("members = [\"crates/*\"]\n[workspace.dependencies]\nx = \"1\"");
    sample.vendor().library("x", "1.0.0", "");
    for at in 0..200 {
        let mut rest = "[dependencies]\nx.workspace = true\n".to_owned();
        if at > 0 {
            let before = at - 1;
            writeln!(rest, "member-{before} = {{ path = \"../member-{before}\" }}").unwrap();
        }
        let name = format!("member-{at}");
        sample.package(&format!("crates/{name}"), &name, "0.1.0", &rest);
    }
    let found = check(sample.lock(), By::Reading);
    assert_eq!((found.members.len(), found.packages.len()), (200, 200));
    check_in(&sample, "crates/member-77/src", By::Reading);
    // A change of one member among many is seen.
    sample.package("crates/member-3", "member-3", "0.1.1", "[dependencies]\nx.workspace = true");
    assert!(no_cargo(&sample).try_find(&sample.root()).is_err());
}

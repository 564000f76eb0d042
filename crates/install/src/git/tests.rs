use super::*;

const REMOTE: &[(&str, &str)] = &[
    ("c0", "HEAD"),
    ("c1", "refs/heads/a"),
    ("c2", "refs/heads/a/b"),
    ("t3", "refs/tags/v1"),
    ("c3", "refs/tags/v1^{}"),
    ("c4", "refs/tags/light"),
    ("c9", "refs/remotes/refs/heads/other"),
];

#[track_caller]
fn check(tree: Option<&str>, reference: &str, commit: &str, dir: &str) {
    let resolved = choose(tree, REMOTE).unwrap();
    assert_eq!(
        (resolved.reference.as_str(), resolved.commit.as_str(), resolved.dir.as_str()),
        (reference, commit, dir)
    );
}

#[test]
fn the_longest_reference_wins() {
    check(None, "HEAD", "c0", "");
    check(Some("a"), "refs/heads/a", "c1", "");
    check(Some("a/x"), "refs/heads/a", "c1", "x");
    check(Some("a/b/c/d"), "refs/heads/a/b", "c2", "c/d");
    check(Some("HEAD/dir"), "HEAD", "c0", "dir");
}

#[test]
fn tags_mean_their_commits() {
    check(Some("v1/dir"), "refs/tags/v1", "c3", "dir");
    check(Some("light"), "refs/tags/light", "c4", "");
}

#[test]
fn full_commits_are_taken_as_they_are_and_nothing_else_is() {
    let commit = "0123456789abcdef0123456789abcdef01234567";
    check(Some(&format!("{commit}/d")), commit, commit, "d");
    assert_eq!(choose(Some("0123456/d"), REMOTE), None);
    assert_eq!(choose(Some("other"), REMOTE), None);
    assert_eq!(choose(None, &[]), None);
}

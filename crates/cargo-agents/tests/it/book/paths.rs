//! Files of the repository that pages name.

use agents_testkit::book::prose;
use camino::Utf8Path;

/// How the names of what is in the repository begin.
const BEGINNINGS: [&str; 8] =
    [".cargo/", ".ci/", ".github/", "crates/", "docs/", "examples/", "fuzz/", "suites/"];

/// The paths of a page, from its sentences and its tables.
pub(super) fn named(page: &str) -> Vec<String> {
    let prose = prose(page);
    let spans = prose.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
    // `fuzz/run 10 hook_input` names a program, and `file::test` something in a file.
    let first = spans.filter_map(|span| span.split([' ', ',']).next());
    let paths = first.filter(|it| BEGINNINGS.iter().any(|beginning| it.starts_with(beginning)));
    paths.map(|it| it.split("::").next().unwrap_or(it).to_owned()).collect()
}

/// Of `crates/host/hosts/<id>.toml` what stands before the part that differs.
pub(super) fn is_there(root: &Utf8Path, path: &str) -> bool {
    let known = match path.find(['<', '*', '…']) {
        Some(at) => path[..at].rsplit_once('/').map_or("", |(dir, _)| dir),
        None => path,
    };
    root.join(known).exists()
}

#[test]
fn paths_are_told_from_other_words() {
    let page = "`crates/a/b.rs::c` and `a/b`, `fuzz/run 10`\n```text\n`docs/no.md`\n```\n";
    assert_eq!(named(page), ["crates/a/b.rs", "fuzz/run"]);
    let root = Utf8Path::new(env!("CARGO_MANIFEST_DIR"));
    assert!(is_there(root, "src/main.rs") && is_there(root, "src/args/<id>.rs"));
    assert!(!is_there(root, "src/no.rs") && !is_there(root, "src/no/*.rs"));
}

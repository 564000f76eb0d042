//! What programs that decide print.

use super::*;
use crate::predicate::custom::{Watched, parse_output};

fn crates(stdout: &str) -> Vec<Matched> {
    parse_output(stdout.as_bytes()).unwrap().0
}

fn error(stdout: &[u8]) -> String {
    parse_output(stdout).unwrap_err()
}

#[test]
fn silence_is_an_answer_about_no_crate() {
    assert_eq!(parse_output(b"").unwrap(), (Vec::new(), Watched::default()));
    assert_eq!(crates("\n  \n\r\n"), []);
}

#[test]
fn selected_crates_are_kept_in_order() {
    let stdout = r#"{"selectedCrate": {"name": "tokio", "version": "1.2.3"}}

{"selectedCrate": {"name": "serde", "version": "1.0.0-rc.1"}}
"#;
    assert_eq!(crates(stdout), matched(&[("tokio", "1.2.3"), ("serde", "1.0.0-rc.1")]));
}

#[test]
fn what_an_answer_depends_on_is_collected_and_the_shortest_time_counts() {
    let stdout = r#"{"watchFile": "a.toml"}
{"watchEnv": "CI"}
{"watchTime": 5000}
{"watchFile": "b.toml"}
{"watchTime": 0}
{"watchTime": 9}"#;
    let expected = Watched {
        files: vec!["a.toml".to_owned(), "b.toml".to_owned()],
        variables: vec!["CI".to_owned()],
        milliseconds: Some(0),
    };
    assert_eq!(parse_output(stdout.as_bytes()).unwrap(), (Vec::new(), expected));
}

#[test]
fn keys_of_later_versions_are_ignored() {
    assert_eq!(crates(r#"{"watchMoon": {"phase": "full"}}"#), []);
}

#[test]
fn what_is_not_one_object_with_one_key_fails() {
    for line in ["{}", r#"{"a": 1, "b": 2}"#, "[]", "3", "null", r#""selectedCrate""#] {
        let expected = format!("its output line `{line}` is not an object with one key");
        assert_eq!(error(line.as_bytes()), expected);
    }
    assert!(error(b"yes").starts_with("its output line `yes` is not JSON: "));
    assert_eq!(error(b"\xff\n"), "its output is not UTF-8");
}

#[test]
fn a_selected_crate_needs_a_name_and_a_version() {
    let needs = "`selectedCrate` needs `name` and `version`";
    assert_eq!(error(br#"{"selectedCrate": {"name": "a"}}"#), needs);
    assert_eq!(error(br#"{"selectedCrate": "a"}"#), needs);
    let bad = error(br#"{"selectedCrate": {"name": "a", "version": "1"}}"#);
    assert!(bad.starts_with("`1` is not a version: "), "{bad}");
}

#[test]
fn a_time_that_is_no_number_fails() {
    for line in [r#"{"watchTime": "soon"}"#, r#"{"watchTime": -1}"#, r#"{"watchTime": 1.5}"#] {
        assert_eq!(error(line.as_bytes()), "`watchTime` must be milliseconds", "{line}");
    }
}

#[test]
fn a_watched_file_or_variable_that_is_no_text_fails() {
    // Ignoring the line would keep the answer for ever.
    assert_eq!(error(br#"{"watchFile": 3}"#), "`watchFile` must be a string");
    assert_eq!(error(br#"{"watchEnv": ["CI"]}"#), "`watchEnv` must be a string");
}

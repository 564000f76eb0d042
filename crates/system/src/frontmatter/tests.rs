use proptest::prelude::*;
use serde_json::json;

use super::*;

/// Header and body, with `loose` if the fences are.
fn parts(text: &str) -> String {
    match split(text) {
        Ok(parts) => {
            let loose = if parts.fences == Fences::Loose { "loose " } else { "" };
            let (header, body) = (&text[parts.header], &text[parts.body]);
            format!("{loose}{} {header:?} {body:?}", parts.format)
        }
        Err(error) => error.to_string(),
    }
}

#[test]
fn fences_are_lines_of_their_own() {
    for (text, expected) in [
        ("---\na: 1\n---\nbody", r#"YAML "a: 1\n" "body""#),
        ("---\na: 1\n---", r#"YAML "a: 1\n" """#),
        ("---\n---\n", r#"YAML "" """#),
        ("+++\na = 1\n+++\n\nbody\n", r#"TOML "a = 1\n" "\nbody\n""#),
        ("\u{feff}---\r\na: 1\r\n---\r\nb\r\n", r#"YAML "a: 1\r\n" "b\r\n""#),
        ("---\na: 1\n----\n---x\n --- y\n---\n", r#"YAML "a: 1\n----\n---x\n --- y\n" """#),
        ("---\na: 1\n---\nx\n---\ny", r#"YAML "a: 1\n" "x\n---\ny""#),
        ("---\na: 1\n+++\n---\n", r#"YAML "a: 1\n+++\n" """#),
        ("\n---\na: 1\n---\n", r#"loose YAML "a: 1\n" """#),
        ("--- \na: 1\n---\n", r#"loose YAML "a: 1\n" """#),
        ("---\na: 1\n---\t\n", r#"loose YAML "a: 1\n" """#),
        ("", "the file does not start with a `---` line"),
        ("# Title\n---\n", "the file does not start with a `---` line"),
        ("----\na: 1\n---\n", "the file does not start with a `---` line"),
        ("---", "the header that starts with `---` does not end with another `---` line"),
        (
            "+++\na = 1\n---\n",
            "the header that starts with `+++` does not end with another `+++` line",
        ),
    ] {
        assert_eq!(parts(text), expected, "{text:?}");
    }
}

#[test]
fn a_key_twice_is_refused_and_not_mended() {
    let error = parse_yaml("a: 1\nb: 2\na: 3\n").unwrap_err();
    assert_eq!(error, HeaderError::Duplicate { key: "a".to_owned(), line: Some(3) });
}

#[test]
fn no_header_grows_when_it_is_read() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..9 {
        let before = format!("*a{}, ", level - 1).repeat(10);
        bomb.push_str(&format!("a{level}: &a{level} [{}]\n", before.trim_end_matches(", ")));
    }
    let deep = format!("a: {}{}\n", "[".repeat(5000), "]".repeat(5000));
    for header in [bomb, deep] {
        // At most, what YAML refuses is taken for a text.
        let size = parse_yaml(&header).map_or(0, |it| Value::Object(it.entries).to_string().len());
        assert!(size <= 2 * header.len(), "{size}");
    }
}

#[test]
fn lines_are_read_one_by_one_and_lists_survive() {
    let header = "name: x\nbroken\ndescription: \"Use: this\"\ntools:\n  - Read\n  - Bash(git *)\nturns: 5\nfast: true\nempty:\n";
    let (entries, unreadable) = parse_lines(header);
    assert_eq!(
        Value::Object(entries),
        json!({
            "name": "x", "description": "Use: this", "tools": ["Read", "Bash(git *)"],
            "turns": 5, "fast": true, "empty": null,
        })
    );
    assert_eq!(unreadable, []);
}

#[test]
fn what_is_nested_is_named_instead_of_left_out() {
    let (entries, unreadable) =
        parse_lines("name: x\ntools:\n  allow: [read]\nhooks: |\n  x\nlist:\n- a: b\n");
    assert_eq!(Value::Object(entries), json!({ "name": "x" }));
    let keys: Vec<_> = unreadable.iter().map(|it| (it.key.as_str(), it.line)).collect();
    assert_eq!(keys, [("tools", 2), ("hooks", 4), ("list", 6)]);
}

proptest! {
    #[test]
    fn the_parts_never_overlap(text in "(\u{feff})?([-+]{3}|[a-c: \t\r\n-]|\\PC){0,30}") {
        if let Ok(parts) = split(&text) {
            prop_assert!(parts.header.start <= parts.header.end && parts.header.end < parts.body.start);
            prop_assert!(text.get(parts.header.clone()).is_some() && text.get(parts.body.clone()).is_some());
            prop_assert_eq!(text[parts.header.end..parts.body.start].trim().len(), 3);
            let _ = parse_yaml(&text[parts.header.clone()]);
            let _ = parse_lines(&text[parts.header]);
        }
    }
}

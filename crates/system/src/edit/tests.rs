use serde_json::{Value, json};

use super::*;
use crate::explain::{Code, ErrorKind, Explain as _};

mod formats;
mod json;
mod markdown;
mod properties;
mod texts;
mod toml;
mod yaml;

fn set<const N: usize>(at: [&str; N], value: Value) -> Edit {
    Edit::Set { at: at.into(), value }
}

fn remove<const N: usize>(at: [&str; N]) -> Edit {
    Edit::Remove { at: at.into() }
}

fn append<const N: usize>(at: [&str; N], value: Value) -> Edit {
    Edit::Append { at: at.into(), value }
}

fn remove_item<const N: usize>(at: [&str; N], value: Value) -> Edit {
    Edit::RemoveItem { at: at.into(), value }
}

fn remove_if_empty<const N: usize>(at: [&str; N]) -> Edit {
    Edit::RemoveIfEmpty { at: at.into() }
}

/// Applies the edits, checks that doing it again changes nothing, and returns the text.
#[track_caller]
fn applied(format: Format, text: &str, edits: &[Edit]) -> String {
    let edited = match apply(format, text, edits) {
        Ok(edited) => edited,
        Err(error) => panic!("{error}\n{text}"),
    };
    assert_eq!(apply(format, &edited, edits).unwrap(), edited, "the second run changes something");
    edited
}

/// Applies the edits, and then those that take it back, which must give the first text again.
#[track_caller]
fn there_and_back(format: Format, text: &str, there: &[Edit], back: &[Edit]) -> String {
    let edited = applied(format, text, there);
    assert_eq!(applied(format, &edited, back), text, "after:\n{edited}");
    edited
}

#[track_caller]
fn refused(format: Format, text: &str, edits: &[Edit]) -> String {
    apply(format, text, edits).unwrap_err().to_string()
}

#[test]
fn a_path_is_shown_dotted() {
    assert_eq!(KeyPath::from(["a", "b.c", "d-e_1", ""]).to_string(), r#"a."b.c".d-e_1."""#);
    assert_eq!(KeyPath::default().described(), "the top of the file");
    assert_eq!(KeyPath::from(["a", "b"]).parent(), Some(["a"].into()));
    assert_eq!(KeyPath::default().parent(), None);
}

#[test]
fn a_path_is_a_list_of_strings_when_stored() {
    let path = KeyPath::from(["a", "b"]);
    assert_eq!(serde_json::to_value(&path).unwrap(), json!(["a", "b"]));
    assert_eq!(serde_json::from_value::<KeyPath>(json!(["a", "b"])).unwrap(), path);
}

#[test]
fn every_edit_says_which_entry_it_is_about() {
    let at = KeyPath::from(vec!["a".to_owned(), "b".to_owned()]);
    assert_eq!(at, ["a", "b"].into());
    let value = || json!(1);
    let edits = [
        set(["a", "b"], value()),
        remove(["a", "b"]),
        append(["a", "b"], value()),
        remove_item(["a", "b"], value()),
        remove_if_empty(["a", "b"]),
    ];
    assert!(edits.iter().all(|edit| *edit.at() == at));
}

#[test]
fn an_error_says_whose_matter_it_is_and_what_to_do() {
    use Format::{Json, Toml, Yaml};
    let by_hand = "make the change by hand; the file was left as it is";
    let shape = "the file does not have the shape that its program expects; fix it by hand";
    for (format, text, edit, kind, hint) in [
        (
            Json,
            "{",
            set(["a"], json!(1)),
            ErrorKind::Usage,
            Some("fix the file by hand and run the command again"),
        ),
        (
            Yaml,
            "a: 1\na: 2\n",
            set(["b"], json!(1)),
            ErrorKind::Usage,
            Some("keep one of the two and run the command again"),
        ),
        (Toml, "a = 1\n", set(["a", "b"], json!(1)), ErrorKind::Usage, Some(shape)),
        (Toml, "a = 1\n", append(["a"], json!(1)), ErrorKind::Usage, Some(shape)),
        (Yaml, "a:\n  ? b\n  : 1\n", set(["a", "c"], json!(1)), ErrorKind::Failure, Some(by_hand)),
        (Toml, "", set(["a"], Value::Null), ErrorKind::Failure, None),
    ] {
        let error = apply(format, text, &[edit]).unwrap_err();
        assert_eq!((error.kind(), error.hint().as_deref()), (kind, hint), "{error}");
        assert_eq!(error.code(), Some(Code::ForeignFile));
    }
    let mismatch = EditError::Mismatch { format: Json };
    assert_eq!((mismatch.kind(), mismatch.hint().as_deref()), (ErrorKind::Failure, Some(by_hand)));
    let markers = EditError::Markers { name: "b".to_owned(), spot: error::spot("x", 0..1) };
    let restore = "restore or delete the marker lines by hand";
    assert_eq!((markers.kind(), markers.hint().as_deref()), (ErrorKind::Usage, Some(restore)));
}

#[test]
fn what_is_marked_in_a_text_is_the_one_letter_that_is_wrong() {
    for (format, text, line, column, part) in [
        (Format::Json, "{\n \"x\": \"\u{a0}\", \"y\":\u{a0}1\n}", 2, 16, 16..18),
        (Format::Json, "{\n \"x\": \r1 }", 2, 7, 6..7),
        (Format::Yaml, "x: 1\ny: é]\nz: [1\n", 3, 4, 3..4),
        (Format::Yaml, "x: 1\ny: *z\n", 2, 4, 3..4),
        (Format::Yaml, "x: 1\ny: [é, !!int é]\n", 2, 14, 14..16),
    ] {
        let error = apply(format, text, &[set(["new"], json!(1))]).unwrap_err();
        let spot = error.spot().unwrap();
        assert_eq!((spot.line, spot.column, spot.part.clone()), (line, column, part), "{error}");
    }
}

#[test]
fn a_new_text_has_a_line_or_a_header_for_everything() {
    let entries = json!({
        "env": { "K": "v" },
        "empty": {},
        "servers": { "a": { "command": "a" }, "b": { "args": [1] } },
        "x": 1,
    });
    let entries = entries.as_object().unwrap();
    let toml = "x = 1\n\n[env]\nK = \"v\"\n\n[empty]\n\n[servers.a]\ncommand = \"a\"\n\n[servers.b]\nargs = [1]\n";
    assert_eq!(write(Format::Toml, entries).unwrap(), toml);
    let json = r#"{
  "env": {
    "K": "v"
  },
  "empty": {},
  "servers": {
    "a": {
      "command": "a"
    },
    "b": {
      "args": [
        1
      ]
    }
  },
  "x": 1
}
"#;
    assert_eq!(write(Format::Json, entries).unwrap(), json);
    let yaml = "env:\n  K: v\nempty: {}\nservers:\n  a:\n    command: a\n  b:\n    args:\n      - 1\nx: 1\n";
    assert_eq!(write(Format::Yaml, entries).unwrap(), yaml);
}

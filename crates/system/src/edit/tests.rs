use serde_json::{Value, json};

use super::*;

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

//! Edits of other people's settings.
//!
//! An input is a document, perhaps followed by a line `%%` and edits, one on each line:
//!
//! ```text
//! { "servers": { "mine": 1 } }
//! %%
//! set servers/demo {"command":"x"}
//! append @0/list "item"
//! remove servers/@0
//! item list "item"
//! empty servers
//! ```
//!
//! `@0` is the first key of the table that was reached so far. Only the first letter of the verb counts, and what is not
//! JSON is a string, so that nearly every line means something.

use agents_system::edit::{Edit, EditError, Format, KeyPath, apply, markdown, read};
use serde_json::{Map, Value};

/// What separates the document from the edits.
const SEPARATOR: &str = "\n%%\n";
/// For a document without edits.
const USUAL: &str = "set new/inner {\"command\":\"x\",\"args\":[\"a\",1]}\nset @0/new {\"a\":[{}]}\n\
    set new 1\nset @1/new \"é\"\nappend new \"x\"\nappend @0 {\"a\":1}\nappend @0/@0 1\nremove @0\nremove @1\nremove @0/@0\n\
    set @0 {}\nset @0 [1]\nset @1 {\"a\":{\"b\":\"c\"}}\nempty @0\nitem @0 1\n";
const MAX_EDITS: usize = 20;
const MAX_DEPTH: usize = 5;

/// Reads the document, makes each edit alone and then all of them together.
pub fn check(format: Format, input: &str) {
    let (text, script) = input.split_once(SEPARATOR).unwrap_or((input, USUAL));
    let Ok(before) = read(format, text) else {
        let edit = Edit::Remove { at: ["a"].into() };
        apply(format, text, &[edit]).expect_err("what cannot be read is not edited");
        return;
    };
    assert_eq!(apply(format, text, &[]).expect("it was read"), text);
    let edits: Vec<Edit> =
        script.lines().take(MAX_EDITS).map(|line| parse_edit(&before, line)).collect();
    for edit in &edits {
        check_alone(format, text, &before, edit);
    }
    if let Some(edited) = applied(format, text, &edits) {
        check_meaning(format, text, &before, &edits, &edited);
    }
}

fn parse_edit(document: &Value, line: &str) -> Edit {
    let mut words = line.splitn(3, ' ');
    let verb = words.next().unwrap_or_default();
    let at = parse_path(document, words.next().unwrap_or_default());
    let value = words.next().unwrap_or_default();
    let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
    match verb.as_bytes().first() {
        Some(b'a') => Edit::Append { at, value },
        Some(b'r') => Edit::Remove { at },
        Some(b'i') => Edit::RemoveItem { at, value },
        Some(b'e') => Edit::RemoveIfEmpty { at },
        _ => Edit::Set { at, value },
    }
}

fn parse_path(document: &Value, path: &str) -> KeyPath {
    let mut at = KeyPath::default();
    let mut reached = Some(document);
    for word in path.split('/').filter(|word| !word.is_empty()).take(MAX_DEPTH) {
        let index = word.strip_prefix('@').and_then(|index| index.parse::<usize>().ok());
        let table = reached.and_then(Value::as_object);
        let mut keys = table.into_iter().flat_map(Map::keys);
        let key = index.and_then(|index| keys.nth(index)).map_or(word, String::as_str).to_owned();
        reached = table.and_then(|table| table.get(&key));
        at = at.join(key);
    }
    at
}

/// The edited text, or nothing if the edits were refused, which they may be for what is written there, but never because
/// we got lost in it.
fn applied(format: Format, text: &str, edits: &[Edit]) -> Option<String> {
    match apply(format, text, edits) {
        Ok(edited) => Some(edited),
        Err(error @ (EditError::Unparsable { .. } | EditError::DuplicateKey { .. })) => {
            panic!("{error}, but it was read before: {text:?} {edits:?}")
        }
        Err(error @ EditError::Mismatch { .. }) if format != Format::Yaml => {
            panic!("{error}: {text:?} {edits:?}")
        }
        Err(_) => None,
    }
}

fn check_alone(format: Format, text: &str, before: &Value, edit: &Edit) {
    let edits = std::slice::from_ref(edit);
    let Some(edited) = applied(format, text, edits) else { return };
    check_meaning(format, text, before, edits, &edited);
    let again = applied(format, &edited, edits);
    assert_eq!(again.as_deref(), Some(edited.as_str()), "the second time: {text:?} {edit:?}");
    if let Some(undo) = undo(format, text, before, edit, &edited) {
        let back = apply(format, &edited, &undo);
        let back = back.unwrap_or_else(|error| panic!("{error}: {edited:?} {undo:?}"));
        assert!(
            back == text || (format == Format::Toml && is_header_more(&back, text)),
            "not taken back: {text:?}\n{edit:?}\n{edited:?}\n{back:?}"
        );
    }
}

/// What takes the edit back to the byte, if that is promised.
fn undo(
    format: Format,
    text: &str,
    before: &Value,
    edit: &Edit,
    edited: &str,
) -> Option<Vec<Edit>> {
    let at = edit.at();
    let is_new = |at: &KeyPath| find(before, at).is_none();
    let tables: Vec<KeyPath> =
        (0..at.keys().len()).map(|depth| KeyPath::new(at.keys()[..depth].to_vec())).collect();
    // `a:` of YAML becomes `a: {}`.
    if tables.iter().any(|table| find(before, table).is_some_and(Value::is_null)) {
        return None;
    }
    let mut undo = match edit {
        Edit::Set { .. } if is_new(at) => vec![Edit::Remove { at: at.clone() }],
        Edit::Append { value, .. } if is_new(at) => vec![
            Edit::RemoveItem { at: at.clone(), value: value.clone() },
            Edit::RemoveIfEmpty { at: at.clone() },
        ],
        Edit::Append { value, .. } => {
            let items = find(before, at)?.as_array()?;
            let undo = Edit::RemoveItem { at: at.clone(), value: value.clone() };
            return (!items.contains(value)).then(|| vec![undo]);
        }
        _ => return None,
    };
    let made = tables.into_iter().rev().filter(|table| is_new(table));
    undo.extend(made.map(|at| Edit::RemoveIfEmpty { at }));
    // Nothing but white space and comments gets an object in front of it.
    if format == Format::Json && edited.ends_with(text.trim_start_matches('\u{feff}')) {
        undo.push(Edit::RemoveIfEmpty { at: KeyPath::default() });
    }
    Some(undo)
}

/// Whether there is one `[header]` more, for a table that had none of its own.
fn is_header_more(back: &str, text: &str) -> bool {
    let same = back.bytes().zip(text.bytes()).take_while(|(one, other)| one == other).count();
    // Where equal bytes surround the header, it may have been found too late by some of them.
    (0..=same).rev().any(|start| {
        let end = back.len().checked_sub(text.len()).map(|more| start + more);
        let more = end.and_then(|end| back.get(start..end)).map(str::trim);
        let is_rest = end.is_some_and(|end| back.get(end..) == text.get(start..));
        is_rest && more.is_some_and(|more| more.starts_with('[') && more.ends_with(']'))
    })
}

fn check_meaning(format: Format, text: &str, before: &Value, edits: &[Edit], edited: &str) {
    let is = read(format, edited).unwrap_or_else(|error| panic!("{error}: {edited:?}"));
    assert_eq!(text.starts_with('\u{feff}'), edited.starts_with('\u{feff}'));
    // An empty table with a comment in it stays, which the value does not show.
    if edits.iter().any(|edit| matches!(edit, Edit::RemoveIfEmpty { .. })) {
        return;
    }
    let mut meant = before.clone();
    edits.iter().for_each(|edit| perform(&mut meant, edit));
    let (is, meant) = match format {
        // A table that no header names goes with its last entry.
        Format::Toml => (without_empty(&is), without_empty(&meant)),
        Format::Json | Format::Yaml => (is, meant),
    };
    assert_eq!(is, meant, "{text:?}\n{edits:?}\n{edited:?}");
}

/// What an edit means for the value.
fn perform(value: &mut Value, edit: &Edit) {
    let at = edit.at().keys();
    match edit {
        Edit::Set { value: wanted, .. } => *entry(value, at) = wanted.clone(),
        Edit::Append { value: item, .. } => {
            let list = entry(value, at);
            if !list.is_array() {
                *list = Value::from(Vec::<Value>::new());
            }
            let items = list.as_array_mut().unwrap();
            if !items.contains(item) {
                items.push(item.clone());
            }
        }
        Edit::RemoveItem { value: item, .. } => {
            if find(value, edit.at()).is_some_and(Value::is_array) {
                entry(value, at).as_array_mut().unwrap().retain(|it| it != item);
            }
        }
        Edit::Remove { .. } => {
            if let (Some(_), Some((last, parents))) = (find(value, edit.at()), at.split_last()) {
                entry(value, parents).as_object_mut().unwrap().shift_remove(last);
            }
        }
        Edit::RemoveIfEmpty { .. } => {}
    }
}

fn entry<'v>(value: &'v mut Value, keys: &[String]) -> &'v mut Value {
    keys.iter().fold(value, |value, key| {
        if !value.is_object() {
            *value = Value::Object(Map::new());
        }
        value.as_object_mut().unwrap().entry(key).or_insert(Value::Null)
    })
}

fn find<'v>(value: &'v Value, at: &KeyPath) -> Option<&'v Value> {
    at.keys().iter().try_fold(value, |value, key| value.as_object()?.get(key))
}

fn without_empty(value: &Value) -> Value {
    let Value::Object(entries) = value else { return value.clone() };
    let entries = entries.iter().map(|(key, value)| (key.clone(), without_empty(value)));
    let is_empty = |value: &Value| {
        value.as_object().is_some_and(Map::is_empty) || value.as_array().is_some_and(Vec::is_empty)
    };
    Value::Object(entries.filter(|(_, value)| !is_empty(value)).collect())
}

/// The document is a Markdown file, and what follows `%%` is what a block should hold.
pub fn check_markdown(input: &str) {
    let (text, body) = input.split_once(SEPARATOR).unwrap_or((input, "one\ntwo"));
    let before = markdown::block(text, "x");
    let Ok(edited) = markdown::set_block(text, "x", body) else { return };
    let is = markdown::block(&edited, "x").expect("it was just set");
    let meant = body.replace("\r\n", "\n").replace('\r', "\n");
    assert_eq!(is.as_deref(), Some(meant.trim_end_matches('\n')), "{text:?} {body:?} {edited:?}");
    assert_eq!(markdown::set_block(&edited, "x", body).as_deref(), Ok(edited.as_str()));
    let back = markdown::remove_block(&edited, "x").expect("it can be taken back");
    match before.expect("it could be set") {
        None => assert_eq!(back, text, "{edited:?}"),
        Some(_) => assert_eq!(markdown::block(&back, "x"), Ok(None)),
    }
}

//! Random texts, random edits.

use proptest::{collection::vec, prelude::*, sample::Index};

use super::{texts::text, *};

fn key() -> impl Strategy<Value = String> {
    prop_oneof![4 => "[a-d]", 1 => "[a-c.\"é# -]{1,3}"]
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<bool>().prop_map(Value::from),
        (-5..5_i64).prop_map(Value::from),
        "[ -~é\t]{0,6}".prop_map(Value::from),
        Just(json!(1.5)),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((key(), inner), 0..4)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

fn object() -> impl Strategy<Value = Value> {
    vec((key(), value()), 0..5).prop_map(|entries| Value::Object(entries.into_iter().collect()))
}

fn edit() -> impl Strategy<Value = Edit> {
    let at = || vec(key(), 1..4).prop_map(KeyPath::from);
    prop_oneof![
        (at(), value()).prop_map(|(at, value)| Edit::Set { at, value }),
        at().prop_map(|at| Edit::Remove { at }),
        (at(), value()).prop_map(|(at, value)| Edit::Append { at, value }),
        (at(), scalar()).prop_map(|(at, value)| Edit::RemoveItem { at, value }),
        at().prop_map(|at| Edit::RemoveIfEmpty { at }),
    ]
}

fn whims() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 200)
}

/// Every path to a table, or to a list.
fn paths(value: &Value, at: &KeyPath, wanted: fn(&Value) -> bool, out: &mut Vec<KeyPath>) {
    if wanted(value) {
        out.push(at.clone());
    }
    for (key, value) in value.as_object().into_iter().flatten() {
        paths(value, &at.join(key), wanted, out);
    }
}

fn comments(text: &str) -> usize {
    text.matches("// c").count() + text.matches("/* c").count() + text.matches("# c").count()
        - text.matches("\"# c").count()
}

/// Sets something new in a table that exists, or in one that must be created, and takes it back.
fn set_and_remove(format: Format, text: &str, place: Index, new: &Value, deep: bool) {
    let before = read(format, text).unwrap();
    let mut tables = Vec::new();
    paths(&before, &KeyPath::default(), Value::is_object, &mut tables);
    let table = &tables[place.index(tables.len())];
    let at = if deep { table.join("new").join("inner").join("entry") } else { table.join("new") };
    let there = [Edit::Set { at: at.clone(), value: new.clone() }];
    let edited =
        apply(format, text, &there).unwrap_or_else(|error| panic!("{error}: {text:?} {at}"));
    assert!(comments(&edited) >= comments(text));
    assert_eq!(apply(format, &edited, &there).unwrap(), edited);
    let mut back = vec![Edit::Remove { at }];
    if deep {
        back.push(Edit::RemoveIfEmpty { at: table.join("new").join("inner") });
        back.push(Edit::RemoveIfEmpty { at: table.join("new") });
    }
    if format == Format::Json && text.trim().is_empty() {
        back.push(Edit::RemoveIfEmpty { at: KeyPath::default() });
    }
    assert_eq!(apply(format, &edited, &back).unwrap(), text, "after:\n{edited}");
}

/// Appends to a list that exists and takes it back.
fn append_and_remove(format: Format, text: &str, place: Index, scalar: bool) {
    let before = read(format, text).unwrap();
    let mut lists = Vec::new();
    paths(&before, &KeyPath::default(), Value::is_array, &mut lists);
    if lists.is_empty() {
        return;
    }
    let at = lists[place.index(lists.len())].clone();
    let value = if scalar { json!("brand new") } else { json!({ "brand": ["new"] }) };
    let there = [Edit::Append { at: at.clone(), value: value.clone() }];
    let edited = match apply(format, text, &there) {
        Ok(edited) => edited,
        // A list of `[[tables]]`.
        Err(EditError::Unsupported { .. }) if format == Format::Toml && scalar => return,
        Err(error) => panic!("{error}: {text:?} {at}"),
    };
    assert_eq!(apply(format, &edited, &there).unwrap(), edited);
    let back = [Edit::RemoveItem { at, value }];
    assert_eq!(apply(format, &edited, &back).unwrap(), text, "after:\n{edited}");
}

/// Whether `part` is what is left of `whole` after deletions.
fn is_left_of(part: &str, whole: &str) -> bool {
    let mut whole = whole.chars();
    part.chars().all(|c| whole.any(|w| w == c))
}

/// Removes something; nothing else changes.
fn remove_only(format: Format, text: &str, place: Index) {
    let before = read(format, text).unwrap();
    let mut all = Vec::new();
    paths(&before, &KeyPath::default(), |_| true, &mut all);
    let at = all[place.index(all.len())].clone();
    let edited = match apply(format, text, &[Edit::Remove { at: at.clone() }]) {
        Ok(edited) => edited,
        // An indented comment below the entry would become a line of the block scalar above it.
        Err(EditError::Mismatch { format: Format::Yaml }) => return,
        Err(error) => panic!("{error}: {text:?} {at}"),
    };
    assert!(is_left_of(&edited, text) || (format == Format::Yaml), "{edited}");
    if format == Format::Json {
        // Between the key and its value may be one more.
        let inside = locate(format, text, at.keys()).map_or(0, |span| comments(&text[span]));
        assert!(comments(&edited) + inside + 1 >= comments(text) || at.keys().is_empty());
    }
}

/// Whether an item is to be appended to a list that holds it already.
fn holds_item(value: &Value, edit: &Edit) -> bool {
    let Edit::Append { at, value: item } = edit else { return false };
    let list = at.keys().iter().try_fold(value, |value, key| value.get(key));
    list.and_then(Value::as_array).is_some_and(|items| items.contains(item))
}

/// Any edits at all: the text says what was meant, or there is an error.
fn any_edits(format: Format, text: &str, edits: &[Edit]) {
    match apply(format, text, edits) {
        Ok(edited) => {
            if edits.len() == 1 {
                assert_eq!(apply(format, &edited, edits).unwrap(), edited, "from {text:?}");
            }
            // An empty table with a comment in it stays.
            if comments(text) > 0 && edits.iter().any(|e| matches!(e, Edit::RemoveIfEmpty { .. })) {
                return;
            }
            let mut meant = read(format, text).unwrap();
            for edit in edits {
                if !holds_item(&meant, edit) {
                    intent::perform(&mut meant, edit);
                }
            }
            let is = read(format, &edited).unwrap();
            assert!(intent::is_same(format, &is, &meant), "{text}\n{edited}\n{is}\n{meant}");
        }
        Err(EditError::Mismatch { .. }) if format != Format::Yaml => {
            panic!("mismatch: {text:?} {edits:?}");
        }
        Err(_) => {}
    }
}

fn formats() -> impl Strategy<Value = Format> {
    prop_oneof![Just(Format::Json), Just(Format::Toml), Just(Format::Yaml)]
}

proptest! {
    #![proptest_config(ProptestConfig {
        // `PROPTEST_CASES` makes it more.
        cases: 4 * ProptestConfig::default().cases,
        failure_persistence: None,
        ..Default::default()
    })]

    #[test]
    fn what_was_set_can_be_taken_back(
        format in formats(), object in object(), whims in whims(), place: Index, new in value(), deep: bool,
    ) {
        set_and_remove(format, &text(format, &object, whims), place, &new, deep);
    }

    #[test]
    fn what_was_appended_can_be_taken_back(
        format in formats(), object in object(), whims in whims(), place: Index, scalar: bool,
    ) {
        append_and_remove(format, &text(format, &object, whims), place, scalar);
    }

    #[test]
    fn removing_only_removes(format in formats(), object in object(), whims in whims(), place: Index) {
        remove_only(format, &text(format, &object, whims), place);
    }

    #[test]
    fn any_edits_mean_what_they_say(
        format in formats(), object in object(), whims in whims(), edits in vec(edit(), 1..5),
    ) {
        any_edits(format, &text(format, &object, whims), &edits);
    }

    #[test]
    fn no_text_is_too_strange(
        format in formats(), text in "([\\[\\]{}:,=#\"'/*|>&!?~-]|[a-c1.]|true|\\PC|[ \t\r\n]){0,40}",
        edits in vec(edit(), 1..3),
    ) {
        any_edits_or_nothing(format, &text, &edits);
    }

    #[test]
    fn a_new_text_says_what_it_should(format in formats(), object in object()) {
        let Value::Object(entries) = &object else { return Ok(()) };
        match write(format, entries) {
            Ok(text) => prop_assert!(intent::is_same(format, &read(format, &text).unwrap(), &object), "{}", text),
            Err(error) => prop_assert!(format == Format::Toml, "{}", error),
        }
    }

    #[test]
    fn no_block_is_lost(text in "\u{feff}?([a-c \n]|\r\n){0,20}", body in "[a-c \n]{0,10}") {
        let edited = crate::edit::markdown::set_block(&text, "x", &body).unwrap();
        prop_assert_eq!(crate::edit::markdown::set_block(&edited, "x", &body).unwrap(), edited.clone());
        prop_assert_eq!(crate::edit::markdown::remove_block(&edited, "x").unwrap(), text);
    }
}

fn any_edits_or_nothing(format: Format, text: &str, edits: &[Edit]) {
    if let Ok(edited) = apply(format, text, edits) {
        assert!(read(format, &edited).is_ok());
    }
    let _ = crate::edit::markdown::set_block(text, "x", "y");
}

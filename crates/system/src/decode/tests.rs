use super::*;

/// Decodes `text` and says what was found, as `line:column-end message (label) (hint)`.
fn findings(text: &str, decode: impl FnOnce(&Table<'_>)) -> Vec<String> {
    let document = Document::parse("f.toml".into(), text).unwrap();
    decode(&document.root());
    document.into_findings().iter().map(shown).collect()
}

fn shown(finding: &Finding) -> String {
    let place = finding.place.as_ref().unwrap();
    let spot = place.spot.as_ref().map_or_else(
        || "-".to_owned(),
        |spot| format!("{}:{}-{}", spot.line, spot.column, spot.part.end),
    );
    let extra =
        |text: &Option<String>| text.as_ref().map_or_else(String::new, |text| format!(" ({text})"));
    format!("{spot} {}{}{}", finding.message, extra(&finding.label), extra(&finding.hint))
}

#[test]
fn what_is_right_is_silent() {
    let text =
        "s = \"x\"\nl = [\"a\", 'b']\nb = true\nword = \"on\"\n[t]\nk = \"v\"\n[[a]]\n[[a]]\n";
    let found = findings(text, |root| {
        assert_eq!(root.string("s").unwrap().as_str(), "x");
        let list: Vec<&str> = root.strings("l").iter().map(Text::as_str).collect();
        assert_eq!(list, ["a", "b"]);
        assert_eq!(root.boolean("b"), Some(true));
        assert_eq!(root.choice("word", &[("on", 1), ("off", 0)]), Some(1));
        assert_eq!(root.table("t").unwrap().string("k").unwrap().to_string(), "v");
        assert_eq!(root.tables("a").len(), 2);
        assert_eq!(root.string_or_strings("s").len(), 1);
        assert_eq!(root.string_or_strings("l").len(), 2);
        root.deny_unknown();
    });
    assert_eq!(found, [""; 0]);
}

#[test]
fn what_is_not_there_is_nothing_unless_required() {
    let found = findings("", |root| {
        assert!(root.string("s").is_none() && root.boolean("b").is_none());
        assert!(root.strings("l").is_empty() && root.string_or_strings("l").is_empty());
        assert!(root.table("t").is_none() && root.tables("a").is_empty());
        assert_eq!(root.choice("c", &[("x", ())]), None);
    });
    assert_eq!(found, [""; 0]);
    let found = findings("[t]\n[[a]]\n[b.c]\n", |root| {
        assert!(root.required_string("s").is_none());
        assert!(root.table("t").unwrap().required_string("s").is_none());
        root.tables("a")[0].missing("s");
        root.table("b").unwrap().table("c").unwrap().missing("s");
    });
    assert_eq!(
        found,
        [
            "- `s` is missing",
            "1:1-3 `s` is missing in [t]",
            "2:1-5 `s` is missing in [[a]]",
            "3:1-5 `s` is missing in [b.c]",
        ]
    );
}

#[test]
fn a_wrong_type_names_the_right_one_and_the_given_one() {
    let text =
        "i = 1\nf = 1.5\nb = true\nd = 1979-05-27\ns = \"x\"\nl = []\nt = {}\nm = [\"a\", 1, {}]\n";
    let found = findings(text, |root| {
        for key in ["i", "f", "b", "d", "l", "t"] {
            assert!(root.string(key).is_none());
        }
        assert_eq!(root.boolean("s"), None);
        assert!(root.strings("s").is_empty());
        assert_eq!(root.strings("m").len(), 1);
        assert!(root.string_or_strings("i").is_empty());
        assert!(root.table("s").is_none());
        assert!(root.tables("t").is_empty());
        assert_eq!(root.tables("m").len(), 1);
        assert!(root.required_string("i").is_none());
        assert_eq!(root.choice("i", &[("x", ())]), None);
    });
    assert_eq!(
        found,
        [
            "1:5-5 `i` must be a string, not an integer",
            "2:5-7 `f` must be a string, not a float",
            "3:5-8 `b` must be a string, not a boolean",
            "4:5-14 `d` must be a string, not a datetime",
            "6:5-6 `l` must be a string, not an array",
            "7:5-6 `t` must be a string, not a table",
            "5:5-7 `s` must be `true` or `false`, not a string",
            "5:5-7 `s` must be a list of strings, not a string",
            "8:11-11 `m` must be a list of strings, not an integer",
            "8:14-15 `m` must be a list of strings, not a table",
            "1:5-5 `i` must be a string or a list of strings, not an integer",
            "5:5-7 `s` must be a table, not a string",
            "7:5-6 `t` must be a list of tables, written as `[[t]]`, not a table",
            "8:6-8 `m` must be a list of tables, written as `[[m]]`, not a string",
            "8:11-11 `m` must be a list of tables, written as `[[m]]`, not an integer",
            "1:5-5 `i` must be a string, not an integer",
            "1:5-5 `i` must be a string, not an integer",
        ]
    );
}

#[test]
fn an_unknown_key_is_shown_with_the_nearest_known_one_or_all_of_them() {
    let text = "exectuable = 1\nzzz = 2\n[[a]]\nname = \"\"\nnmae = 3\n";
    let found = findings(text, |root| {
        root.string("executable");
        root.string("args");
        let table = root.tables("a").remove(0);
        table.string("name");
        table.deny_unknown();
        root.deny_unknown();
    });
    assert_eq!(
        found,
        [
            "5:1-4 unknown key `nmae` in [[a]] (did you mean `name`?)",
            "1:1-10 unknown key `exectuable` (did you mean `executable`?)",
            "2:1-3 unknown key `zzz` (allowed here: `a`, `args` and `executable`)",
        ]
    );
}

#[test]
fn a_table_in_which_nothing_is_allowed_says_so() {
    let found = findings("x = 1\n", |root: &Table<'_>| {
        root.deny_unknown();
    });
    assert_eq!(found, ["1:1-1 unknown key `x` (no keys are allowed here)"]);
}

#[test]
fn unknown_keys_may_be_warnings() {
    let document = Document::parse("f.toml".into(), "x = 1").unwrap();
    document.root().string("name");
    document.root().warn_unknown();
    assert!(document.is_sound());
    document.root().deny_unknown();
    assert!(!document.is_sound());
    let severities: Vec<Severity> = document.into_findings().iter().map(|it| it.severity).collect();
    assert_eq!(severities, [Severity::Warning, Severity::Error]);
}

#[test]
fn a_wrong_word_lists_the_right_ones() {
    let found = findings("[t]\na = \"humnas\"\nb = \"x\"\n", |root| {
        let table = root.table("t").unwrap();
        let words = [("humans", 0), ("agents", 1)];
        assert_eq!(table.choice("a", &words), None);
        assert_eq!(table.choice("b", &words), None);
    });
    assert_eq!(
        found,
        [
            "2:5-12 `a` cannot be `humnas` in [t] (did you mean `humans`?) (allowed: `humans` or `agents`)",
            "3:5-7 `b` cannot be `x` in [t] (allowed: `humans` or `agents`)",
        ]
    );
}

#[test]
fn text_that_is_no_toml_is_an_error_with_a_place() {
    for (text, line) in
        [("a = [", 1), ("a = 1\nb = \n", 2), ("a = 1\na = 2\n", 2), ("[a]\n[a]\n", 2), ("é = 1", 1)]
    {
        let finding = Document::parse("f.toml".into(), text).unwrap_err();
        let spot = finding.place.as_ref().unwrap().spot.as_ref().unwrap();
        assert_eq!(spot.line, line, "{text:?} {finding:?}");
        assert_eq!(finding.severity, Severity::Error);
        assert!(!finding.message.is_empty() && !finding.message.contains('\n'), "{finding:?}");
    }
}

#[test]
fn places_are_right_behind_a_bom_and_with_foreign_line_ends() {
    let text = "\u{feff}a = 1\r\nb = 2\r\n";
    let found = findings(text, |root| {
        root.string("b");
    });
    assert_eq!(found, ["2:5-5 `b` must be a string, not an integer"]);
    let document = Document::parse("f.toml".into(), text).unwrap();
    document.root().string("a");
    let finding = document.into_findings().remove(0);
    let spot = finding.place.unwrap().spot.unwrap();
    assert_eq!(&spot.text[spot.part.start as usize..spot.part.end as usize], "1");
}

#[test]
fn keys_written_with_dots_have_places_too() {
    let found = findings("source.path = 1\n[x]\ny.z = 2\n", |root| {
        let source = root.table("source").unwrap();
        source.string("path");
        source.missing("other");
        root.table("x").unwrap().table("y").unwrap().deny_unknown();
    });
    assert_eq!(
        found,
        [
            "1:15-15 `path` must be a string, not an integer",
            "1:1-6 `other` is missing in [source]",
            "3:3-3 unknown key `z` in [x.y] (no keys are allowed here)",
        ]
    );
}

#[test]
fn a_missing_key_of_an_inline_table_is_shown_at_the_table() {
    let found = findings("t = { a = 1 }\nl = [{}, { a = 2 }]\n", |root| {
        root.table("t").unwrap().missing("b");
        root.tables("l")[1].missing("b");
    });
    assert_eq!(found, ["1:5-13 `b` is missing in [t]", "2:10-18 `b` is missing in [[l]]"]);
}

#[test]
fn entries_come_with_their_keys_and_places() {
    let found = findings("[t]\nb = 1\n\"a b\" = 2\n", |root| {
        let entries: Vec<(String, bool)> = root
            .table("t")
            .unwrap()
            .entries()
            .map(|(key, value)| {
                key.error("seen");
                (key.to_string(), value.is_string())
            })
            .collect();
        assert_eq!(entries, [("a b".to_owned(), false), ("b".to_owned(), false)]);
    });
    assert_eq!(found, ["3:1-5 seen", "2:1-1 seen"]);
}

#[test]
fn a_file_that_is_wrong_a_thousand_times_says_so_a_hundred_times() {
    let keys: String = (0..1000).map(|number| format!("k{number} = 1\n")).collect();
    let document = Document::parse("f".into(), &keys).unwrap();
    document.root().warn_unknown();
    assert!(!document.is_sound(), "what is left out may be an error");
    let findings = document.into_findings();
    assert_eq!(findings.len(), 100);
    assert_eq!(findings[99].message, "there is more that is wrong, which is left out");
}

#[test]
fn a_count_is_a_whole_number_that_is_not_negative() {
    let text = "a = 1_000\nb = 0x10\nc = -1\nd = 1.5\ne = 99999999999999999999\n";
    let document = Document::parse("f.toml".into(), text).unwrap();
    let root = document.root();
    assert_eq!(
        ["a", "b", "c", "d", "e", "f"].map(|key| root.count(key)),
        [Some(1000), Some(16), None, None, None, None]
    );
    drop(root);
    let messages: Vec<_> = document.into_findings().into_iter().map(|it| it.message).collect();
    assert_eq!(
        messages,
        [
            "`c` must be a whole number that is not negative",
            "`d` must be a whole number, not a float",
            "`e` must be a whole number that is not negative",
        ]
    );
}

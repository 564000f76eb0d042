//! What holds for every format.

use super::*;

const ALL: [(Format, &str); 3] = [
    (Format::Json, "{\n  \"a\": { \"x\": 1 },\n  \"l\": [1]\n}\n"),
    (Format::Toml, "l = [1]\n\n[a]\nx = 1\n"),
    (Format::Yaml, "a:\n  x: 1\nl:\n- 1\n"),
];

#[test]
fn a_blank_text_is_an_empty_object() {
    for (format, _) in ALL {
        for text in ["", " ", "\n\n", "\u{feff}", "\r\n"] {
            assert_eq!(read(format, text).unwrap(), json!({}), "{format} {text:?}");
            assert_eq!(applied(format, text, &[remove(["a"]), remove_if_empty([])]), text);
        }
    }
}

#[test]
fn nothing_to_do_changes_nothing() {
    for (format, text) in ALL {
        let edits = [
            set(["a"], json!({ "x": 1 })),
            set(["a", "x"], json!(1)),
            append(["l"], json!(1)),
            remove(["b"]),
            remove(["l", "x"]),
            remove_item(["l"], json!(2)),
            remove_item(["nothing"], json!(2)),
            remove_if_empty(["a"]),
            remove_if_empty(["l"]),
            set([], json!({ "l": [1], "a": { "x": 1 } })),
        ];
        assert_eq!(applied(format, text, &edits), text);
        assert_eq!(applied(format, text, &[]), text);
    }
}

#[test]
fn keys_need_no_particular_letters() {
    for (format, text) in ALL {
        for key in [
            "",
            "a.b",
            "a b",
            "é",
            "\"",
            "'",
            "\\",
            "#",
            ": ",
            "- x",
            "true",
            "1",
            "~",
            "\n",
            "/*",
            "[x]",
            "\u{7f}\u{85}\u{2028}",
        ] {
            let there = [set(["a", key], json!({ key: key, "list": [key, { key: [key] }] }))];
            there_and_back(format, text, &there, &[remove(["a", key])]);
            let there = [append(["l"], json!(key))];
            there_and_back(format, text, &there, &[remove_item(["l"], json!(key))]);
        }
    }
}

#[test]
fn a_place_is_known_of_what_is_there_and_of_nothing_else() {
    let place = |format, text: &'static str, keys: &[&str]| {
        locate(format, text, KeyPath::new(keys.iter().copied()).keys()).map(|span| &text[span])
    };
    for (format, text) in ALL {
        assert_eq!(place(format, text, &["a", "x"]), Some("1"));
        for keys in [&["b"][..], &["a", "y"], &["a", "x", "y"], &["l", "x"]] {
            assert_eq!(place(format, text, keys), None, "{format} {keys:?}");
        }
    }
    let toml = "t = { x = 1 }\n\n[[l]]\n[l.a]\nx = 1\n";
    assert_eq!(place(Format::Toml, toml, &["t", "x"]), Some("1"));
    assert_eq!(place(Format::Toml, toml, &["t", "y"]), None);
    // No path leads into a list.
    assert_eq!(place(Format::Toml, toml, &["l", "a", "x"]), None);
}

#[test]
fn many_edits_at_once_are_one_text() {
    for (format, text) in ALL {
        let there: Vec<_> =
            (0..20).map(|i| set(["servers", &format!("s{i}")], json!({ "n": i }))).collect();
        let mut back: Vec<_> = (0..20).map(|i| remove(["servers", &format!("s{i}")])).collect();
        back.push(remove_if_empty(["servers"]));
        there_and_back(format, text, &there, &back);
    }
}

#[test]
fn deep_nesting_is_an_error_and_not_a_crash() {
    for (format, _) in ALL {
        for open in ["[", "{\"a\":", "a = [", "{a: ", "- ", "? ", "a = {a=", "&a [", "!t "] {
            let _ = read(format, &open.repeat(20_000));
            let _ = read(format, &format!("a = {}", open.repeat(20_000)));
        }
    }
}

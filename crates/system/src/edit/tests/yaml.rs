use super::*;

const Y: Format = Format::Yaml;

const GOOSE: &str = "\
# goose
GOOSE_PROVIDER: anthropic   # which one
extensions:
  developer:
    bundled: true
    display_name: Developer
    enabled: true # always
    envs: {}
    args:
    - '--verbose'
    - \"x\"
  # the memory extension
  memory:
    description: |
      several
      lines

    enabled: no

GOOSE_MODEL: claude

# the end
";

fn server() -> Value {
    json!({
        "name": "demo", "type": "stdio", "cmd": "cargo", "args": ["agents", "--x: y"], "enabled": true,
        "envs": { "A": "1", "yes": "no" }, "timeout": 300, "list": [{ "a": 1, "b": [true, []] }, [1, 2]]
    })
}

#[track_caller]
fn new_extension(text: &str) -> String {
    let there = [set(["extensions", "demo"], server())];
    let mut back = vec![remove(["extensions", "demo"])];
    if !text.contains("extensions") {
        back.push(remove_if_empty(["extensions"]));
    }
    there_and_back(Y, text, &there, &back)
}

#[test]
fn an_extension_goes_into_the_settings_of_goose_and_out_again() {
    let expected = GOOSE.replace(
        "    enabled: no\n",
        "    enabled: no
  demo:
    name: demo
    type: stdio
    cmd: cargo
    args:
      - agents
      - \"--x: y\"
    enabled: true
    envs:
      A: \"1\"
      \"yes\": \"no\"
    timeout: 300
    list:
      - a: 1
        b:
          - true
          - []
      - - 1
        - 2
",
    );
    assert_eq!(new_extension(GOOSE), expected);
}

#[test]
fn every_shape_of_a_file_comes_back() {
    for text in [
        "",
        "\n",
        "# c",
        "# c\n",
        "---\n",
        "--- # c\n# d\n",
        "a: 1",
        "a: 1\n",
        "a: 1 # c\n\n",
        "a:\n    b: 1\n",
        "a: 1\r\nb:\r\n  c: 2\r\n",
        "---\na: 1\n",
        "extensions: {}",
        "extensions: {} # c\n",
        "extensions: {}\r\nb: 1\r\n",
        "extensions: { }\n",
        "extensions:   {}\n",
        "extensions: {a: {b: 1}}\n",
        "extensions: { a: 1, }\n",
        "extensions: {\n  a: 1, # c\n}\n",
        "extensions:\n    a:\n        b: 1\n\nc: 1\n",
        "extensions:\n  a: 1\n  # c\nb: 1\n",
        "extensions:\n# c\n  a: |\n    x\n\n\nb: 1\n",
        "extensions:\n  a: >-\n    x\n    y",
        "{}\n",
        "{ }",
        "{a: 1}\n",
        "\u{feff}a: 1\n",
        "a: \"x\n  y\"\n",
        "a: &x 1\nb: *x\n",
        "a: !!str 1\n",
        "- ",
    ] {
        if read(Y, text).is_ok() {
            new_extension(text);
        }
    }
}

#[test]
fn an_empty_table_of_goose_gets_its_first_extension() {
    let edit = [set(["extensions", "a"], json!({ "b": 1 }))];
    assert_eq!(
        applied(Y, "extensions: {} # c\nd: 1\n", &edit),
        "extensions: # c\n  a:\n    b: 1\nd: 1\n"
    );
    // `null` is no table, but nothing else either; it does not come back as null.
    for text in ["extensions:\nd: 1\n", "extensions: ~\nd: 1\n", "extensions: null\nd: 1\n"] {
        let edited = applied(Y, text, &edit);
        assert_eq!(edited, "extensions:\n  a:\n    b: 1\nd: 1\n");
        let back = applied(Y, &edited, &[remove(["extensions", "a"])]);
        assert_eq!(back, "extensions: {}\nd: 1\n");
        assert_eq!(applied(Y, &back, &[remove_if_empty(["extensions"])]), "d: 1\n");
    }
}

#[test]
fn a_table_is_changed_key_by_key() {
    let wanted = json!({ "bundled": true, "display_name": "D: x", "enabled": false, "envs": { "A": "1" }, "args": [] });
    let edited = applied(Y, GOOSE, &[set(["extensions", "developer"], wanted)]);
    let expected = GOOSE
        .replace("display_name: Developer", "display_name: \"D: x\"")
        .replace("enabled: true # always", "enabled: false # always")
        .replace("envs: {}", "envs:\n      A: \"1\"")
        .replace("args:\n    - '--verbose'\n    - \"x\"", "args: []");
    assert_eq!(edited, expected);
}

#[test]
fn lists_grow_and_shrink() {
    let args = ["extensions", "developer", "args"];
    for item in [json!("new"), json!({ "a": 1, "b": { "c": 2 } }), json!([1])] {
        there_and_back(Y, GOOSE, &[append(args, item.clone())], &[remove_item(args, item.clone())]);
        for text in [
            "a: []\n",
            "a: [1, 2]\n",
            "a: [ 1 ] # c\n",
            "a:\n  - 1 # c\n\nb: 1\n",
            "a:\n- 1\n-  b: 1\n   c: 2\n",
        ] {
            there_and_back(
                Y,
                text,
                &[append(["a"], item.clone())],
                &[remove_item(["a"], item.clone())],
            );
        }
    }
    let text = "a:\n- 1\n- 2 # two\n- 1\nb:\n- 1\n";
    let edited = applied(Y, text, &[remove_item(["a"], json!(1)), remove_item(["b"], json!(1))]);
    assert_eq!(edited, "a:\n- 2 # two\nb: []\n");
    assert_eq!(applied(Y, "a:\n", &[append(["a"], json!(1))]), "a:\n  - 1\n");
}

#[test]
fn comments_around_a_removed_entry_stay() {
    let edited = applied(Y, GOOSE, &[remove(["extensions", "memory"]), remove(["GOOSE_PROVIDER"])]);
    let expected = GOOSE
        .replace(
            "  memory:\n    description: |\n      several\n      lines\n\n    enabled: no\n",
            "",
        )
        .replace("GOOSE_PROVIDER: anthropic   #", "#");
    assert_eq!(edited, expected);
    assert_eq!(
        applied(Y, GOOSE, &[remove(["extensions", "developer", "enabled"])]),
        GOOSE.replace("enabled: true # always", "# always")
    );
}

#[test]
fn what_cannot_be_edited_in_place_is_refused() {
    let edit = [set(["a", "new"], json!(1))];
    for (text, message) in [
        ("a: 1\n", "1:4: `a` is a number, not a table"),
        ("x: 1\na: [1]\n", "2:4: `a` is a list, not a table"),
        ("- 1\n", "1:1: the top of the file is a list, not a table"),
        ("a:\n  b: 1\n  b: 2\n", "3:3: the key `b` appears twice"),
        (
            "a:\n  ? b\n  : 1\n",
            "2:5: `a.new` cannot be changed in place: a key does not start its line",
        ),
        (
            "a:\n  ?\n    b\n  : 1\n",
            "3:5: `a.new` cannot be changed in place: a key does not start its line",
        ),
        (
            "a:\n  &b b: 1\n",
            "2:6: `a.new` cannot be changed in place: a key does not start its line",
        ),
        ("{a: , b: 1}\n", "1:2: `a.new` cannot be changed in place: it is empty"),
        ("{\n  a: ,\n  b: 1}\n", "2:3: `a.new` cannot be changed in place: it is empty"),
        ("? a\n:\n", "1:3: `a.new` cannot be changed in place: it is empty"),
        (
            "a: {}\nb:\r",
            "2:3: `a.new` cannot be changed in place: a line ends with a carriage return alone",
        ),
    ] {
        assert_eq!(refused(Y, text, &edit), message);
    }
    for text in ["a: [\n", "a: 1\n---\nb: 1\n", "a: *x\n", "a:\n\t- 1\n", "a: 'x"] {
        let error = apply(Y, text, &edit).unwrap_err();
        assert!(matches!(error, EditError::Unparsable { .. }), "{text}: {error}");
    }
    // What an anchor shares cannot be changed in one place only.
    let shared = "x: &x\n  b: 1\na: *x\n";
    assert!(matches!(
        apply(Y, shared, &[set(["x", "b"], json!(2))]),
        Err(EditError::Mismatch { .. })
    ));
    assert!(apply(Y, shared, &edit).is_err());
    // Nor can what is merged be removed.
    let merged = "x: &x\n  b: 1\na:\n  <<: *x\n  c: 1\n";
    assert_eq!(
        refused(Y, merged, &[remove(["a", "b"])]),
        "3:1: `a.b` cannot be changed in place: it is not written here, but comes from somewhere else"
    );
    for (text, place) in [("a:\n  -\n    b: 1\n", "3:5"), ("a:\n- &x { b: 1 }\n", "2:6")] {
        let message =
            format!("{place}: `a` cannot be changed in place: an item does not start its line");
        assert_eq!(refused(Y, text, &[append(["a"], json!(1))]), message);
        assert_eq!(refused(Y, text, &[remove_item(["a"], json!({ "b": 1 }))]), message);
    }
    // The blank lines belong to the text above.
    let kept = "a:\n  b: |+\n    x\n\n\nc: 1\n";
    assert!(apply(Y, kept, &edit).is_err());
}

#[test]
fn a_value_is_replaced_in_the_style_that_it_has() {
    for (text, value, expected) in [
        ("a: 1 # one\nb: 2\n", json!(5), "a: 5 # one\nb: 2\n"),
        ("a:\nb: 2\n", json!(5), "a: 5\nb: 2\n"),
        ("a: &x\nb: 2\n", json!(5), "a: 5\nb: 2\n"),
        ("a: !t\nb: 2\n", json!(5), "a: 5\nb: 2\n"),
        ("a: >\n  x\n  y\nb: 2\n", json!("z"), "a: z\nb: 2\n"),
        ("a:\n  c: 1\nb: 2\n", json!(5), "a: 5\nb: 2\n"),
        ("a: 1\nb: 2\n", json!({ "c": 1 }), "a:\n  c: 1\nb: 2\n"),
        ("a: 1\nb: 2\n", json!([1]), "a:\n  - 1\nb: 2\n"),
        ("a: 1\n", json!(["/usr/bin/x", "_y", "-z"]), "a:\n  - /usr/bin/x\n  - _y\n  - \"-z\"\n"),
        ("{a: 1, b: 2}\n", json!({ "c": [1] }), "{a: {c: [1]}, b: 2}\n"),
        ("{a: , b: 2}\n", json!(5), "{a: 5 , b: 2}\n"),
        ("{a: [1,\n  2], b: 2}\n", json!(5), "{a: 5, b: 2}\n"),
    ] {
        assert_eq!(applied(Y, text, &[set(["a"], value)]), expected);
    }
}

#[test]
fn a_step_of_indentation_is_that_of_the_first_table() {
    let edit = [set(["new", "x", "z"], json!(1))];
    for (text, expected) in [
        ("a:\n   b: 1\n", "a:\n   b: 1\nnew:\n   x:\n      z: 1\n"),
        ("a: [1]\nb:\n    c: 1\n", "a: [1]\nb:\n    c: 1\nnew:\n    x:\n        z: 1\n"),
        ("a:\n- 1\n", "a:\n- 1\nnew:\n  x:\n    z: 1\n"),
    ] {
        assert_eq!(applied(Y, text, &edit), expected);
    }
}

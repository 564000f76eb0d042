use super::*;

const J: Format = Format::Json;

/// Adds `new.entry` to the object and takes it back.
#[track_caller]
fn new_entry(text: &str) -> String {
    let there = [set(["new", "entry"], json!({ "command": "x", "args": ["a", "b"] }))];
    let mut back = vec![remove(["new", "entry"]), remove_if_empty(["new"])];
    if text.trim().is_empty() {
        back.push(remove_if_empty([]));
    }
    there_and_back(J, text, &there, &back)
}

const CLAUDE: &str = r#"{
  // which model to use
  "model": "opus", // the large one
  "permissions": {
    "allow": ["Bash(ls:*)", "Read"],
    "deny": []
  },
  "hooks": {
    "PreToolUse": [
      /* mine */
      { "matcher": "Bash", "hooks": [{ "type": "command", "command": "lint" }] }
    ]
  }
  // "statusLine": "off"
}
"#;

#[test]
fn a_hook_goes_into_the_settings_of_claude_and_out_again() {
    let hook = json!({ "matcher": "*", "hooks": [{ "type": "command", "command": "ca hook" }] });
    let there = [
        append(["hooks", "PreToolUse"], hook.clone()),
        append(["hooks", "Stop"], hook.clone()),
        append(["permissions", "deny"], json!("Write")),
    ];
    let back = [
        remove_item(["hooks", "PreToolUse"], hook.clone()),
        remove_item(["hooks", "Stop"], hook),
        remove_if_empty(["hooks", "Stop"]),
        remove_item(["permissions", "deny"], json!("Write")),
    ];
    let edited = there_and_back(J, CLAUDE, &there, &back);
    let expected = CLAUDE
        .replace(
            "\"lint\" }] }\n    ]",
            r#""lint" }] },
      {
        "matcher": "*",
        "hooks": [
          {
            "type": "command",
            "command": "ca hook"
          }
        ]
      }
    ],
    "Stop": [
      {
        "matcher": "*",
        "hooks": [
          {
            "type": "command",
            "command": "ca hook"
          }
        ]
      }
    ]"#,
        )
        .replace("\"deny\": []", "\"deny\": [\n      \"Write\"\n    ]");
    assert_eq!(edited, expected);
}

#[test]
fn blank_and_empty_files_come_back() {
    for text in ["", "\n", "  ", "\r\n", "{}", "{}\n", "{ }", "{\n}\n", "{\n\n}", "\n{ }\n"] {
        new_entry(text);
    }
    assert_eq!(
        new_entry("{}"),
        "{\n  \"new\": {\n    \"entry\": {\n      \"command\": \"x\",\n      \"args\": [\"a\", \"b\"]\n    }\n  }\n}"
    );
}

#[test]
fn every_shape_of_an_object_comes_back() {
    for text in [
        "{\"a\":1}",
        "{\"a\":1,}",
        "{ \"a\": 1 }",
        "{ \"a\": 1, }",
        "{ \"a\": 1 /* c */ }",
        "{ /* c */ }",
        "{ // c\n}",
        "{\n  // c\n}\n",
        "{ \"a\": 1 // c\n}",
        "{ \"a\": 1, // c\n}",
        "{\n  \"a\": 1\n}",
        "{\n  \"a\": 1,\n}\n",
        "{\n  \"a\": 1 // c\n}\n",
        "{\n  \"a\": 1, // c\n  // d\n}\n",
        "{\n  \"a\": 1 // c\n  , // e\n  /* d */\n}\n",
        "{\n  \"a\": 1   \n}\n",
        "{\n  \"a\": 1,  \n}\n",
        "{\n  \"a\": 1 /* c\n */ }\n",
        "{\n  \"a\": 1 }\n",
        "{\n  \"a\": 1 /* c */ }\n",
        "{\n  \"a\": 1, /* c */ /* d */ }\n",
        "{\r\n\t\"a\": 1\r\n}\r\n",
        "// top\n{\n    \"a\": 1\n}\n// bottom",
        "\u{feff}{\n  \"a\": 1\n}\n",
        "{\"a\":{}, \"new\":{}}",
    ] {
        let back = [remove(["new", "entry"])];
        if text.contains("new") {
            there_and_back(J, text, &[set(["new", "entry"], json!(1))], &back);
        } else {
            new_entry(text);
        }
    }
}

#[test]
fn a_new_entry_looks_like_its_neighbours() {
    let edit = |text| applied(J, text, &[set(["b"], json!({ "c": 1 }))]);
    assert_eq!(edit("{\"a\":1}"), "{\"a\":1,\"b\":{\"c\":1}}");
    assert_eq!(edit("{ \"a\": 1 }"), "{ \"a\": 1, \"b\": {\"c\": 1} }");
    assert_eq!(edit("{\n\t\"a\": 1\n}"), "{\n\t\"a\": 1,\n\t\"b\": {\n\t\t\"c\": 1\n\t}\n}");
    assert_eq!(
        edit("{\r\n    \"a\": 1\r\n}\r\n"),
        "{\r\n    \"a\": 1,\r\n    \"b\": {\r\n        \"c\": 1\r\n    }\r\n}\r\n"
    );
    assert_eq!(
        edit("{\n  \"a\": 1, // note\n}"),
        "{\n  \"a\": 1, // note\n  \"b\": {\n    \"c\": 1\n  },\n}"
    );
}

#[test]
fn a_table_is_changed_key_by_key() {
    let text =
        "{\n  \"s\": {\n    // why\n    \"command\": \"x\", // old\n    \"gone\": 1\n  }\n}\n";
    let edited = applied(J, text, &[set(["s"], json!({ "command": "y", "new": [1] }))]);
    assert_eq!(
        edited,
        "{\n  \"s\": {\n    // why\n    \"command\": \"y\", // old\n    \"new\": [1]\n  }\n}\n"
    );
}

#[test]
fn comments_above_beside_and_below_a_removed_entry_stay() {
    let text = "{\n  // above\n  \"a\": 1, // beside\n  // below\n  \"b\": 2 /* too */\n}\n";
    assert_eq!(
        applied(J, text, &[remove(["a"])]),
        "{\n  // above\n  // beside\n  // below\n  \"b\": 2 /* too */\n}\n"
    );
    assert_eq!(
        applied(J, text, &[remove(["b"])]),
        "{\n  // above\n  \"a\": 1 // beside\n  // below\n  /* too */\n}\n"
    );
    // What looks like the end of a comment, or comes after it on its line, is a part of it.
    for comment in ["// c ", "// c */", "// c */ \t"] {
        let text = format!("{{\n  {comment}\n  \"a\": 1 }}\n");
        assert_eq!(applied(J, &text, &[remove(["a"])]), format!("{{\n  {comment}\n  }}\n"));
    }
}

#[test]
fn an_empty_container_with_a_comment_is_not_ours() {
    let text = "{\n  \"a\": { /* mine */ },\n  \"b\": []\n}\n";
    let edits = [remove_if_empty(["a"]), remove_if_empty(["b"]), remove_if_empty(["c"])];
    assert_eq!(applied(J, text, &edits), "{\n  \"a\": { /* mine */ }\n}\n");
}

#[test]
fn lists_lose_every_equal_item() {
    let text = "{ \"a\": [1, 2, 1, { \"x\": 1, \"y\": 2 }, 1] }";
    assert_eq!(
        applied(J, text, &[remove_item(["a"], json!(1))]),
        "{ \"a\": [2, { \"x\": 1, \"y\": 2 }] }"
    );
    // The order of keys is no difference.
    let same = append(["a"], json!({ "y": 2, "x": 1 }));
    assert_eq!(applied(J, text, &[same]), text);
}

#[test]
fn what_is_not_there_needs_no_removing() {
    let text = "{ \"a\": 1 }";
    let edits = [remove(["b", "c"]), remove(["a", "c"]), remove_item(["a"], json!(1)), remove([])];
    assert_eq!(applied(J, text, &edits), text);
}

#[test]
fn unexpected_files_are_refused_with_the_place() {
    let edit = [set(["a", "b"], json!(1))];
    for (text, message) in [
        ("{\n  \"a\": 1\n}", "2:8: `a` is a number, not a table"),
        ("{ \"a\": null }", "1:8: `a` is null, not a table"),
        ("\n [1]", "2:2: the top of the file is a list, not a table"),
        ("{ \"a\": {}, \"a\": 1 }", "1:12: the key `a` appears twice"),
        ("{ \"x\": [{ \"y\": 1,\n \"y\": 2 }] }", "2:2: the key `y` appears twice"),
        (
            "{ \"x\": \"\u{a0}\",\u{a0}\"a\": {} }",
            "1:12: `a.b` cannot be changed in place: there is white space in it that JSON does not know",
        ),
    ] {
        assert_eq!(refused(J, text, &edit), message);
    }
    let append = [append(["a"], json!(1))];
    assert_eq!(refused(J, "{ \"a\": {} }", &append), "1:8: `a` is a table, not a list");
    // Only in YAML may nothing become something.
    assert_eq!(refused(J, "{ \"a\": null }", &append), "1:8: `a` is null, not a list");
    for text in
        ["{", "{} {}", "{'a': 1}", "{a: 1}", "{\"a\" 1}", "{\"a\": 0x1}", "{\"a\": 1 \"b\": 2}"]
    {
        let error = apply(J, text, &edit).unwrap_err();
        assert!(matches!(error, EditError::Unparsable { .. }), "{text}: {error}");
        assert!(error.spot().is_some() && error.hint().is_some());
    }
    assert!(refused(J, "{\n  \"a\": tru\n}", &edit).starts_with("2:8: not valid JSON: "));
}

#[test]
fn the_top_can_be_set_as_a_whole() {
    let text = "{\n  \"a\": 1, // keep\n  \"b\": 2\n}\n";
    assert_eq!(
        applied(J, text, &[set([], json!({ "a": 1, "c": 3 }))]),
        "{\n  \"a\": 1, // keep\n  \"c\": 3\n}\n"
    );
    assert!(matches!(apply(J, text, &[set([], json!(1))]), Err(EditError::NotATable { .. })));
    assert_eq!(applied(J, text, &[set([], json!({}))]), "{\n  // keep\n}\n");
}

#[test]
fn opencode_and_gemini() {
    let opencode =
        "{\n  \"$schema\": \"https://opencode.ai/config.json\",\n  // servers\n  \"mcp\": {},\n}\n";
    let server = json!({ "type": "local", "command": ["x", "y"], "enabled": true });
    let edited = there_and_back(J, opencode, &[set(["mcp", "x"], server)], &[remove(["mcp", "x"])]);
    assert!(edited.contains("\"mcp\": {\n    \"x\": {\n      \"type\": \"local\",\n"), "{edited}");
    let gemini = "{\n    \"theme\": \"GitHub\",\n    \"mcpServers\": {\n        \"a\": { \"command\": \"a\" }\n    }\n}";
    let edited = there_and_back(
        J,
        gemini,
        &[set(["mcpServers", "b"], json!({ "command": "b" }))],
        &[remove(["mcpServers", "b"])],
    );
    assert!(edited.contains("\"a\" },\n        \"b\": {\n            \"command\""), "{edited}");
}

#[test]
fn comments_inside_a_line_stay_beside_what_comes_and_goes() {
    for (text, expected) in [
        (r#"{"a": [/* none */]}"#, r#"{"a": [/* none */ 1]}"#),
        (r#"{"a": [/* none */ ]}"#, r#"{"a": [/* none */ 1 ]}"#),
        (r#"{"a": [2 /* two */]}"#, r#"{"a": [2, 1 /* two */]}"#),
        ("{\"a\": [ // none\n]}", "{\"a\": [ // none\n1\n]}"),
    ] {
        let edited =
            there_and_back(J, text, &[append(["a"], json!(1))], &[remove_item(["a"], json!(1))]);
        assert_eq!(edited, expected);
    }
    for (text, expected) in [
        (r#"{"a": [1 /* one */, 2]}"#, r#"{"a": [/* one */ 2]}"#),
        (r#"{"a": [2, 1 /* one */]}"#, r#"{"a": [2 /* one */]}"#),
        (r#"{"a": [ 1 ]}"#, r#"{"a": [ ]}"#),
        (r#"{"a": [ 1]}"#, r#"{"a": [ ]}"#),
        (r#"{"a": [/* one */ 1]}"#, r#"{"a": [/* one */]}"#),
        (r#"{"a": [ 1 /* one */ ]}"#, r#"{"a": [ /* one */ ]}"#),
        ("{\"a\": [\n  1 /* one */ ]}", "{\"a\": [\n  /* one */ ]}"),
        ("{\"a\": [2, // two\n  1]}", "{\"a\": [2 // two\n  ]}"),
    ] {
        assert_eq!(applied(J, text, &[remove_item(["a"], json!(1))]), expected);
    }
}

#[test]
fn an_item_inside_a_line_leaves_no_hole_in_it() {
    for (text, expected) in [
        ("[0, 1, 2]", "[0, 2]"),
        ("[0,1, 2]", "[0,2]"),
        ("[ 1, 2 ]", "[ 2 ]"),
        // Nothing is left to be kept apart from what follows.
        ("[0, 1,\n  2]", "[0,\n  2]"),
        ("[ 1,\n  2\n]", "[\n  2\n]"),
        ("[ 1\n  // none\n]", "[\n  // none\n]"),
    ] {
        let [text, expected] = [text, expected].map(|list| format!("{{\"a\": {list}}}"));
        assert_eq!(applied(J, &text, &[remove_item(["a"], json!(1))]), expected);
    }
}

#[test]
fn a_value_on_its_own_line_may_get_lines() {
    let value = json!({ "none": {}, "nothing": [], "some": { "x": [{}] } });
    let edited = applied(J, "{\n  \"a\": 1 // one\n}\n", &[set(["a"], value.clone())]);
    let lines = r#"{
  "a": {
    "none": {},
    "nothing": [],
    "some": {
      "x": [
        {}
      ]
    }
  } // one
}
"#;
    assert_eq!(edited, lines);
    let line = r#"{ "a": {"none": {}, "nothing": [], "some": {"x": [{}]}} }"#;
    assert_eq!(applied(J, "{ \"a\": 1 }", &[set(["a"], value)]), line);
}

#[test]
fn an_object_is_filled_after_its_comment() {
    let edit = [set(["a"], json!(1))];
    assert_eq!(applied(J, "{ /* c */ }", &edit), "{ /* c */ \"a\": 1 }");
    assert_eq!(applied(J, "{ // c\n}", &edit), "{ // c\n  \"a\": 1\n}");
}

#[test]
fn a_file_is_blank_again_only_if_nothing_else_was_in_it() {
    for (text, expected) in [
        ("{}\n", ""),
        ("{ }\n// below\n", "// below\n"),
        ("// mine\n{}\n", "// mine\n{}\n"),
        ("\n{}", "\n{}"),
    ] {
        assert_eq!(applied(J, text, &[remove_if_empty([])]), expected);
    }
}

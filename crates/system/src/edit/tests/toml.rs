use super::*;

const T: Format = Format::Toml;

const CODEX: &str = "\
# my settings
model = \"gpt\" # the large one

[profiles.fast]
model = 'small'
# effort = \"low\"

[mcp_servers.docs]
command = \"docs\"
args = [
  \"a\", # first
  \"b\"
]

# about projects
[projects.\"/home/me/a.b\"]
trust_level = \"trusted\"

[[hooks]]
event = \"stop\"

[[hooks]]
event = \"start\"
";

#[track_caller]
fn new_server(text: &str) -> String {
    let there = [set(
        ["mcp_servers", "demo"],
        json!({ "command": "x", "args": ["a"], "env": { "A": "1" } }),
    )];
    there_and_back(T, text, &there, &[remove(["mcp_servers", "demo"])])
}

#[test]
fn a_server_becomes_a_table_beside_its_relatives() {
    let expected = CODEX.replace(
        "  \"b\"\n]\n",
        "  \"b\"\n]\n\n[mcp_servers.demo]\ncommand = \"x\"\nargs = [\"a\"]\n\n[mcp_servers.demo.env]\nA = \"1\"\n",
    );
    assert_eq!(new_server(CODEX), expected);
}

#[test]
fn every_shape_of_a_file_comes_back() {
    for text in [
        "",
        "\n",
        "  ",
        "# c",
        "# c\n",
        "a = 1",
        "a = 1\n",
        "a = 1\n\n",
        "a = 1\r\n\r\n[b]\r\nc = 1\r\n",
        "a = 1\r\n\n[b]\nc = 1\r\n",
        "[b]\nc = 1",
        "[b]\nc = 1 # d\n# e\n",
        "[mcp_servers]\n[b]\n",
        "[mcp_servers.a]\nx = 1\n# y = 1\n\n# b\n[b]\n",
        "[mcp_servers.a]\nx = 1\n# b\n[b]\n",
        "[mcp_servers.a]\n\n[mcp_servers.a.env]\n\n\n[b]\n",
        "mcp_servers.a.command = \"x\"\nz = 1\n",
        "mcp_servers = {}\n",
        "mcp_servers = { a = { command = \"x\" } } # c\n",
        "\u{feff}a = 1\n",
    ] {
        new_server(text);
    }
}

#[test]
fn a_value_goes_to_its_table_and_out_again() {
    for (text, expected) in [
        ("", "new = 1\n"),
        ("# c", "# c\nnew = 1"),
        ("# c\n", "# c\nnew = 1\n"),
        ("\n", "\nnew = 1\n"),
        ("a = 1 # b\n\n[c]\n", "a = 1 # b\nnew = 1\n\n[c]\n"),
        ("[c]\n", "new = 1\n\n[c]\n"),
        ("# top\n\n# c\n[c]\n", "# top\n\nnew = 1\n\n# c\n[c]\n"),
        ("# c\n[c]\n", "new = 1\n\n# c\n[c]\n"),
    ] {
        let edited = there_and_back(T, text, &[set(["new"], json!(1))], &[remove(["new"])]);
        assert_eq!(edited, expected);
    }
    let text = "[c]\n  [c.d]\n  x = 1 # y\n\n[e]\n";
    let edited =
        there_and_back(T, text, &[set(["c", "d", "z"], json!(true))], &[remove(["c", "d", "z"])]);
    assert_eq!(edited, "[c]\n  [c.d]\n  x = 1 # y\n  z = true\n\n[e]\n");
    let edited = there_and_back(T, text, &[set(["e", "z"], json!([1.5]))], &[remove(["e", "z"])]);
    assert_eq!(edited, "[c]\n  [c.d]\n  x = 1 # y\n\n[e]\nz = [1.5]\n");
    // The table is created.
    let back = [remove(["f", "z"]), remove_if_empty(["f"])];
    there_and_back(T, text, &[set(["f", "z"], json!("x\"y\\\u{7f}"))], &back);
}

#[test]
fn lists_grow_and_shrink_in_place() {
    let text = "a = [\n  1, # one\n  2\n]\nb = []\nc = [ 'x' ]\n";
    let there = [append(["a"], json!(3)), append(["b"], json!(1)), append(["c"], json!("y"))];
    let back = [
        remove_item(["a"], json!(3)),
        remove_item(["b"], json!(1)),
        remove_item(["c"], json!("y")),
    ];
    let edited = there_and_back(T, text, &there, &back);
    assert_eq!(edited, "a = [\n  1, # one\n  2,\n  3\n]\nb = [1]\nc = [ 'x', \"y\" ]\n");
    // The blank line tells that the brackets stood on two lines.
    let (there, back) = ([append(["a"], json!(1))], [remove_item(["a"], json!(1))]);
    assert_eq!(there_and_back(T, "a = [\n]\n", &there, &back), "a = [\n\n1\n]\n");
}

#[test]
fn a_list_of_tables_gets_a_table() {
    let item = json!({ "event": "new", "run": { "command": ["x"] } });
    let edited = there_and_back(
        T,
        CODEX,
        &[append(["hooks"], item.clone())],
        &[remove_item(["hooks"], item.clone())],
    );
    assert_eq!(
        edited,
        format!("{CODEX}\n[[hooks]]\nevent = \"new\"\nrun = {{ command = [\"x\"] }}\n")
    );
    let back = [remove_item(["hooks", "Stop"], item.clone())];
    for text in ["", "a = 1\n", "[hooks]\nb = 1\n", "[hooks]\nb = 1\n\n[c]\n"] {
        there_and_back(T, text, &[append(["hooks", "Stop"], item.clone())], &back);
    }
    let error = refused(T, CODEX, &[append(["hooks"], json!(1))]);
    assert!(error.starts_with("19:1: `hooks` cannot be changed in place: "), "{error}");
}

#[test]
fn an_item_goes_with_its_own_tables_only() {
    let text = "[[a]]\nx = 1\n[a.b]\ny = 1\n\n[[a]]\nx = 2\n\n[a.b]\ny = 2\n\n[c]\n";
    let first = json!({ "x": 1, "b": { "y": 1 } });
    assert_eq!(
        applied(T, text, &[remove_item(["a"], first)]),
        "[[a]]\nx = 2\n\n[a.b]\ny = 2\n\n[c]\n"
    );
    let two_lists = "[[a]]\nx = 1\n\n[[b]]\nx = 1\n\n[[b]]\nx = 2\n";
    assert_eq!(
        applied(T, two_lists, &[remove_item(["b"], json!({ "x": 1 }))]),
        "[[a]]\nx = 1\n\n[[b]]\nx = 2\n"
    );
}

#[test]
fn a_table_is_changed_key_by_key_and_comments_stay() {
    let text = "[s.a]\n# why\ncommand = \"x\" # old\ngone = 1 # beside\n\n[s.a.env]\nA = \"1\"\n";
    let value = json!({ "command": "y", "args": [], "env": { "A": "1", "B": "2" } });
    assert_eq!(
        applied(T, text, &[set(["s", "a"], value)]),
        "[s.a]\n# why\ncommand = \"y\" # old\n# beside\nargs = []\n\n[s.a.env]\nA = \"1\"\nB = \"2\"\n"
    );
}

#[test]
fn a_removed_table_leaves_nothing_behind() {
    let text = "a.b.c = 1\na.d = 2\n[x]\n[x.y]\nz = 1 # gone\n# stays\n[x.y.w]\n[v]\n";
    assert_eq!(
        applied(T, text, &[remove(["a", "b"]), remove(["x", "y"])]),
        "a.d = 2\n[x]\n# stays\n[v]\n"
    );
    assert_eq!(
        applied(T, "a = { b.c = 1, d = 2, b.e = 3 }", &[remove(["a", "b"])]),
        "a = { d = 2 }"
    );
}

#[test]
fn a_table_can_become_a_value_and_back() {
    let text = "[a]\nb = 1\n\n[a.c]\nd = 1\n\n[e]\n";
    let edited = applied(T, text, &[set(["a", "c"], json!(1))]);
    assert_eq!(edited, "[a]\nb = 1\nc = 1\n\n[e]\n");
    assert_eq!(
        applied(T, &edited, &[set(["a", "c"], json!({ "x": 1, "y": {} }))]),
        "[a]\nb = 1\nc = { x = 1, y = {} }\n\n[e]\n"
    );
    let dotted = "a.b = 1\na.c = 2\nz = 3\n";
    assert_eq!(applied(T, dotted, &[set(["a"], json!(5))]), "z = 3\na = 5\n");
    assert_eq!(applied(T, dotted, &[set(["a"], json!({}))]), "z = 3\n\n[a]\n");
}

#[test]
fn unexpected_files_are_refused_with_the_place() {
    let edit = [set(["a", "b"], json!(1))];
    for (text, message) in [
        ("x = 1\na = 2\n", "2:5: `a` is a number, not a table"),
        ("[[a]]\n", "1:1: `a` is a list, not a table"),
        ("a = 1\na = 2\n", "2:1: the key `a` appears twice"),
    ] {
        assert_eq!(refused(T, text, &edit), message);
    }
    assert!(refused(T, "x = 1\na = ]\n", &edit).starts_with("2:5: not valid TOML: "));
    assert!(refused(T, "x = 1\na = 99999999999999999999\n", &edit).starts_with("2:5: not valid"));
    assert_eq!(refused(T, "", &[set(["a"], json!({ "b": null }))]), "TOML cannot hold null (`a`)");
    assert!(refused(T, "", &[set(["a"], json!(u64::MAX))]).contains("63 bits"));
}

#[test]
fn dates_and_odd_numbers_are_read_as_text() {
    let text = "a = 1979-05-27\nb = nan\nc = 0xff\nd = 1_000\n";
    let value = json!({ "a": "1979-05-27", "b": "nan", "c": 255, "d": 1000 });
    assert_eq!(read(T, text).unwrap(), value);
    applied(T, text, &[set(["e"], json!(1))]);
}

#[test]
fn dotted_keys_are_joined_by_others_of_their_kind() {
    let text = "a.b = 1\na.c = 2 # two\nz = 3\n\n[x]\ny.z = 1\n";
    let edited = there_and_back(T, text, &[set(["a", "d"], json!(4))], &[remove(["a", "d"])]);
    assert_eq!(edited, "a.b = 1\na.c = 2 # two\na.d = 4\nz = 3\n\n[x]\ny.z = 1\n");
    let edited =
        there_and_back(T, text, &[set(["x", "y", "w"], json!(4))], &[remove(["x", "y", "w"])]);
    assert_eq!(edited, "a.b = 1\na.c = 2 # two\nz = 3\n\n[x]\ny.z = 1\ny.w = 4\n");
}

#[test]
fn dotted_keys_between_brackets_are_found() {
    let text = "a = { b.c = 1, d = 2 }\n";
    assert_eq!(applied(T, text, &[set(["a", "b", "c"], json!(5))]), "a = { b.c = 5, d = 2 }\n");
    let (there, back) = ([set(["a", "b", "e"], json!(3))], [remove(["a", "b", "e"])]);
    assert_eq!(there_and_back(T, text, &there, &back), "a = { b.c = 1, d = 2, b.e = 3 }\n");
    assert_eq!(applied(T, text, &[set(["a", "b"], json!(5))]), "a = { d = 2, b = 5 }\n");
    assert_eq!(
        refused(T, text, &[set(["a", "b", "c", "x"], json!(1))]),
        "1:13: `a.b.c` is a number, not a table"
    );
}

#[test]
fn a_new_table_comes_after_the_comments_of_its_relative() {
    let edit = [set(["a", "new", "x"], json!(1))];
    for (text, expected) in [
        ("[a.b]\nc = 1\n# of b\n\n[z]\n", "[a.b]\nc = 1\n# of b\n\n[a.new]\nx = 1\n\n[z]\n"),
        ("[a.b]\nc = 1\n# of z\n[z]\n", "[a.b]\nc = 1\n\n[a.new]\nx = 1\n# of z\n[z]\n"),
        ("[a.b]\nc = 1\n# of b", "[a.b]\nc = 1\n# of b\n\n[a.new]\nx = 1"),
        // The last one comes after everything.
        ("[a.b]\nc = 1\n\n# end\n", "[a.b]\nc = 1\n\n# end\n\n[a.new]\nx = 1\n"),
        ("", "[a.new]\nx = 1\n"),
    ] {
        assert_eq!(applied(T, text, &edit), expected);
    }
}

#[test]
fn a_removed_entry_takes_a_blank_line_with_it_only_if_it_came_with_one() {
    for (text, expected) in [
        // Alone above the first header.
        ("a.x = 1\n\n[b]\n", "[b]\n"),
        ("a.x = 1\na.y = 2\n\n[b]\n", "[b]\n"),
        ("# c\n\na.x = 1\n\n[b]\n", "# c\n\n[b]\n"),
        ("\na.x = 1\n[b]\n", "\n[b]\n"),
        // Not alone, not above a header, or a part of what stands above.
        ("a.x = 1\n\nz = 2\n\n[b]\n", "\nz = 2\n\n[b]\n"),
        ("a.x = 1\n\n# c\n", "\n# c\n"),
        ("# c\na.x = 1\n\n[b]\n", "# c\n\n[b]\n"),
        ("[a]\n\nx = 1\n\n[b]\n", "[a]\n\n\n[b]\n"),
    ] {
        let edits = [remove(["a", "x"]), remove(["a", "y"])];
        assert_eq!(applied(T, text, &edits), expected);
        if !text.starts_with('[') {
            assert_eq!(applied(T, text, &[remove(["a"])]), expected);
        }
    }
}

#[test]
fn a_table_without_entries_may_be_missing_and_nothing_else_may() {
    let is_same = |is, meant| intent::is_same(T, &is, &meant);
    assert!(is_same(json!({ "a": { "b": {} }, "c": [], "d": 1 }), json!({ "d": 1 })));
    assert!(!is_same(json!({ "d": 1 }), json!({ "d": 2 })));
    assert!(!is_same(json!({ "d": 1 }), json!({})));
    assert!(!is_same(json!({ "a": { "b": 1 } }), json!({ "a": {} })));
}

#[test]
fn what_is_deeper_than_readers_go_is_refused_for_that() {
    let nested = |depth: usize| (0..depth).fold(json!(1), |it, _| json!([it]));
    assert!(apply(Format::Toml, "", &[set(["a"], nested(64))]).is_ok());
    let error = apply(Format::Toml, "x = 1\n", &[set(["a", "b"], nested(100))]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "TOML cannot hold so many lists and tables within each other (`a.b`)"
    );
}

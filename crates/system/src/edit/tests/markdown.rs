use crate::edit::markdown::{block, remove_block, set_block};

#[track_caller]
fn there_and_back(text: &str) -> String {
    let edited = set_block(text, "rust", "one\n\ntwo\n").unwrap();
    assert_eq!(set_block(&edited, "rust", "one\n\ntwo").unwrap(), edited);
    assert_eq!(block(&edited, "rust").unwrap().unwrap(), "one\n\ntwo");
    assert_eq!(remove_block(&edited, "rust").unwrap(), text, "after:\n{edited}");
    edited
}

#[test]
fn a_block_comes_and_goes() {
    for text in [
        "",
        "\n",
        "# A",
        "# A\n",
        "# A\n\n",
        "# A\r\n\r\ntext\r\n",
        "\u{feff}# A\n",
        "\u{feff}",
        "a\n\n\n",
        // Ends with a carriage return that is no line ending.
        "a\r",
        "a\nb\r",
    ] {
        there_and_back(text);
    }
    let edited = there_and_back("# A\r\n");
    assert_eq!(
        edited,
        "# A\r\n\r\n<!-- cargo-agents:rust:start -->\r\none\r\n\r\ntwo\r\n<!-- cargo-agents:rust:end -->\r\n"
    );
}

#[test]
fn a_block_is_replaced_in_place() {
    let text = set_block("# A\n", "rust", "old").unwrap() + "\n## Mine\n";
    let edited = set_block(&text, "rust", "new\nlines").unwrap();
    assert_eq!(edited, text.replace("old", "new\nlines"));
    assert_eq!(remove_block(&edited, "rust").unwrap(), "# A\n\n## Mine\n");
    let empty = set_block(&edited, "rust", "").unwrap();
    assert_eq!(block(&empty, "rust").unwrap().unwrap(), "");
    assert_eq!(set_block(&empty, "rust", "").unwrap(), empty);
}

#[test]
fn two_blocks_do_not_disturb_each_other() {
    let one = set_block("# A\n", "one", "1").unwrap();
    let both = set_block(&one, "two", "2").unwrap();
    assert_eq!(remove_block(&both, "two").unwrap(), one);
    assert_eq!(remove_block(&remove_block(&both, "one").unwrap(), "two").unwrap(), "# A\n");
    assert_eq!(block(&one, "two").unwrap(), None);
    assert_eq!(remove_block(&one, "two").unwrap(), one);
}

#[test]
fn broken_markers_are_refused_with_the_place() {
    let (start, end) = ("<!-- cargo-agents:x:start -->", "<!-- cargo-agents:x:end -->");
    for (text, place) in [
        (format!("a\n{start}\n"), "2:1"),
        (format!("a\n\n{end}\n"), "3:1"),
        (format!("{end}\n{start}\n"), "2:1"),
        (format!("{start}\n{start}\n{end}\n"), "2:1"),
        (format!("{start}\n{end}\n{end}\n"), "3:1"),
    ] {
        let error = set_block(&text, "x", "b").unwrap_err().to_string();
        assert_eq!(error, format!("{place}: the marker lines of the block `x` do not match"));
        assert!(remove_block(&text, "x").is_err() && block(&text, "x").is_err());
    }
    assert!(set_block("", "x", &format!("a\n{end}")).is_err());
}

//! Fences, broken YAML, names and descriptions.

use super::*;

#[test]
fn a_body_is_kept_as_it_is_inside() {
    let text = "---\nname: x\ndescription: d\n---\n\n  One <!-- two -->\r\n\n---\n\tthree\n\n";
    assert_eq!(good(Dialect::Claude, text).prompt, "One <!-- two -->\r\n\n---\n\tthree");
    assert_eq!(good(Dialect::Claude, "---\nname: x\ndescription: d\n---").prompt, "");
}

#[test]
fn crlf_and_a_byte_order_mark_are_fine() {
    let text = "\u{feff}---\r\nname: x\r\ndescription: d\r\nmaxTurns: 7\r\n---\r\nBody\r\n";
    let definition = good(Dialect::Claude, text);
    assert_eq!((definition.limits.turns, definition.prompt.as_str()), (Some(7), "Body"));
}

#[test]
fn a_fence_is_a_line_of_its_own() {
    refused(Dialect::Claude, "# Readme\n", &["1:1 the file does not start with a `---` line"]);
    refused(
        Dialect::Claude,
        "---\nname: x\ndescription: d\n----\n",
        &["1:1 the header that starts with `---` does not end with another `---` line"],
    );
    warned(
        Dialect::Claude,
        "---  \nname: x\ndescription: d\n---\n",
        &["1:1 not every reader sees the header of this file"],
    );
}

#[test]
fn toml_between_pluses_says_the_same_and_is_deprecated() {
    let toml = "+++\nname = \"x\"\ndescription = \"d\"\nmodel = \"inherit\"\n[tools]\nallow = [\"read\", \"bash\"]\nexcept = [\"bash\"]\n[permissions]\nmax_turns = 8\nbackground = true\n+++\nBody\n";
    let yaml = with(
        "model: inherit\ntools:\n  allow: [read, bash]\n  except: [bash]\npermissions:\n  max_turns: 8\n  background: true",
    );
    for toml in [toml.to_owned(), toml.replace('\n', "\r\n")] {
        let mut from_toml =
            warned(Dialect::Zeph, &toml, &["1:1 headers between `+++` are deprecated"]);
        let from_yaml = good(Dialect::Zeph, &yaml);
        from_toml.origin.clone_from(&from_yaml.origin);
        assert_eq!(from_toml, from_yaml);
    }
    refused(
        Dialect::Zeph,
        "+++\nname = \n+++\n",
        &[
            "1:1 headers between `+++` are deprecated",
            "2:1 not valid TOML: string values must be quoted, expected literal string",
            "- `name` is missing",
            "- `description` is missing",
        ],
    );
}

#[test]
fn broken_yaml_is_read_line_by_line() {
    let mended = "3:1 the header is not valid YAML and was read line by line";
    let text = "---\nname: x\ndescription: Use when: y\ntools: Read\n---\n";
    let definition = warned(Dialect::Claude, text, &[mended]);
    assert_eq!(definition.description, "Use when: y");
    assert_eq!(tools(&definition), "read");
    // A list survives even then.
    let text = "---\nname: x\ndescription: d\n}\ntools:\n  - Read\n---\n";
    let definition = warned(
        Dialect::Claude,
        text,
        &["4:1 the header is not valid YAML and was read line by line"],
    );
    assert_eq!(tools(&definition), "read");
    // What might restrict the agent is never left out.
    let text = "---\nname: x\ndescription: d\n}\ntools:\n  allow: [read]\n---\n";
    let (definition, findings) = read(Dialect::Claude, text);
    assert_eq!(definition, None);
    assert!(findings.iter().any(|it| it == "5:1 `tools` cannot be read"), "{findings:?}");
}

#[test]
fn a_key_twice_is_an_error_at_the_second() {
    let (definition, findings) = read(Dialect::Claude, &with("tools: Read\ntools: Bash"));
    assert_eq!(definition, None);
    assert_eq!(findings[0], "5:1 the key `tools` appears twice");
}

#[test]
fn two_spellings_of_one_key_are_reported() {
    let definition = warned(
        Dialect::OhMyPi,
        &with("thinking: low\nthinking-level: high"),
        &["5:17 `thinking-level` means the same as `thinking`, which counts"],
    );
    assert_eq!(definition.effort, Some(Effort::Low));
}

#[test]
fn name_and_description_are_required_strings() {
    for (header, errors) in [
        ("description: d", &["- `name` is missing"][..]),
        ("name: x", &["- `description` is missing"]),
        ("name: 5\ndescription: d", &["2:7 `name` must be a string"]),
        ("name: ''\ndescription: d", &["2:7 `` cannot be the name of an agent"]),
        ("name: x\ndescription: ' '", &["3:14 `description` cannot be empty"]),
        ("name: x\ndescription: [d]", &["3:14 `description` must be a string"]),
        ("name: x\ndescription: \"a\\u0007\"", &["3:14 `description` holds control characters"]),
    ] {
        refused(Dialect::Claude, &format!("---\n{header}\n---\n"), errors);
    }
}

#[test]
fn names_lead_nowhere() {
    let long = "a".repeat(65);
    for name in ["аgent", "a b", "-a", "../a", "a/b", "a..b", ".a", "a.", &long] {
        let (definition, findings) =
            read(Dialect::Claude, &format!("---\nname: '{name}'\ndescription: d\n---\n"));
        assert_eq!(definition, None, "{name}");
        assert!(findings[0].ends_with("cannot be the name of an agent"), "{findings:?}");
    }
    for name in ["a", "A_b-c", &long[..64]] {
        good(Dialect::Claude, &format!("---\nname: {name}\ndescription: d\n---\n"));
    }
    let dotted = "---\nname: powershell-5.1\ndescription: d\n---\n";
    warned(
        Dialect::Claude,
        dotted,
        &["2:7 `powershell-5.1` is not a name in every host, for its dot"],
    );
    refused(Dialect::Zeph, dotted, &["2:7 `powershell-5.1` is not a name in Zeph"]);
}

#[test]
fn some_dialects_name_an_agent_after_its_file() {
    let text = "---\ndescription: d\n---\n";
    for dialect in [Dialect::Copilot, Dialect::OpenCode, Dialect::Cursor, Dialect::AgentSdk] {
        assert_eq!(good(dialect, text).name.as_str(), "x", "{dialect}");
    }
    let shown = good(Dialect::Copilot, "---\nname: X the Great\ndescription: d\n---\n");
    assert_eq!((shown.name.as_str(), &shown.extra["name"]), ("x", &json!("X the Great")));
}

#[test]
fn unknown_keys_are_kept_and_reported_and_errors_when_strict() {
    let text = with("maxTurn: 3\ncolor: blue");
    let definition =
        warned(Dialect::Claude, &text, &["4:10 `maxTurn` is not a key of Claude Code"]);
    assert_eq!(definition.extra["maxTurn"], json!(3));
    assert_eq!(definition.extra["color"], json!("blue"));
    let (_, findings) = parse(&input(Dialect::Claude, "x.md", &text));
    assert_eq!(findings[0].hint.as_deref(), Some("did you mean `maxTurns`?"));
    let strict = Input { strictness: Strictness::Strict, ..input(Dialect::Claude, "x.md", &text) };
    assert_eq!(parse(&strict).0, None);
}

#[test]
fn keys_of_other_dialects_are_understood_and_reported() {
    let definition = warned(
        Dialect::Claude,
        &with("max_turns: 3\nspawns: a"),
        &[
            "4:12 `max_turns` is not a key of Claude Code",
            "5:9 `spawns` is not a key of Claude Code",
        ],
    );
    assert_eq!(definition.limits.turns, Some(3));
    assert_eq!(definition.spawns, Spawns::Only(vec!["a".to_owned()]));
    good(
        Dialect::Ours,
        &with("max_turns: 3\nspawns: a\ndisallowedTools: Bash\nreasoningEffort: low"),
    );
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    let (definition, findings) = parse_bytes(
        "x.md".into(),
        b"---\n\xff",
        Dialect::Claude,
        Source::User,
        Strictness::Lenient,
    );
    assert_eq!(definition, None);
    assert_eq!(findings[0].message, "the file is not UTF-8 text (at byte 4)");
}

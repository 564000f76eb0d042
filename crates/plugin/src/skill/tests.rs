use agents_testkit::scratch::Scratch;
use proptest::prelude::*;

use super::*;

/// The header of a skill, and its findings as `line message`.
fn read(text: &str) -> (Option<SkillHeader>, Vec<String>) {
    let (header, findings) = parse_skill("SKILL.md".into(), text);
    let shown = findings.iter().map(|finding| {
        let spot = finding.place.as_ref().unwrap().spot.as_ref();
        let line = spot.map_or_else(|| "-".to_owned(), |spot| spot.line.to_string());
        format!("{line} {}", finding.message)
    });
    (header, shown.collect())
}

#[track_caller]
fn good(text: &str) -> SkillHeader {
    let (header, findings) = read(text);
    assert_eq!(findings, [""; 0], "{text}");
    header.unwrap()
}

#[track_caller]
fn check_errors(text: &str, errors: &[&str]) {
    let (header, findings) = read(text);
    assert_eq!(findings, errors, "{text}");
    assert_eq!(header, None, "{text}");
}

/// A skill with these lines in its header.
fn skill(lines: &str) -> String {
    format!("---\nname: n\ndescription: d\n{lines}\n---\nbody\n")
}

#[test]
fn a_skill_has_a_name_and_a_description() {
    let header = good("---\nname: async-pitfalls\ndescription: Use with tokio\n---\n# Text\n");
    assert_eq!(header.name, "async-pitfalls");
    assert_eq!(header.description, "Use with tokio");
    assert_eq!(header.gate, Gate::open());
}

#[test]
fn a_name_that_leads_elsewhere_as_a_directory_is_refused() {
    for name in ["../../x", "/etc", "a/b", "'a\\b'", ".", "..", ".hidden", "\"a\\u0007b\""] {
        let (header, findings) = read(&format!("---\nname: {name}\ndescription: d\n---\n"));
        assert_eq!(header, None, "{name}");
        let [only] = &findings[..] else { panic!("{name}: {findings:?}") };
        assert!(
            only.starts_with("2 `") && only.ends_with("cannot be the name of a skill"),
            "{only}"
        );
    }
    for name in ["async-pitfalls", "Async pitfalls", "a.b", "tokio_1"] {
        assert_eq!(good(&format!("---\nname: {name}\ndescription: d\n---\n")).name, name);
    }
}

#[test]
fn fences_may_follow_blank_lines_and_end_with_blanks_or_at_the_end_of_the_file() {
    let header =
        SkillHeader { name: "n".to_owned(), description: "d".to_owned(), gate: Gate::open() };
    for text in [
        "---\nname: n\ndescription: d\n---",
        "\n\n  ---\nname: n\ndescription: d\n---\n",
        "---  \nname: n\ndescription: d\n---\t\n",
        "\u{feff}---\nname: n\ndescription: d\n---\n",
        "\u{feff}---\r\nname: n\r\ndescription: d\r\n---\r\nbody\r\n",
        "---\nname: \"n\"\ndescription: 'd'\n---\n",
        "---\nname: n\ndescription: d\n---\nbody\n---\nname: other\n---\n",
        "---\n# a comment\nname: n\n\ndescription: d\n---\n",
    ] {
        assert_eq!(good(text), header, "{text:?}");
    }
}

#[test]
fn without_both_fences_there_is_no_header() {
    for text in [
        "",
        "# Title\n",
        "name: n\ndescription: d\n",
        "---",
        "---\n",
        "---\nname: n\ndescription: d\n",
        "---\nname: n\ndescription: d\n--- no\n",
        "---yaml\nname: n\ndescription: d\n---\n",
    ] {
        check_errors(text, &["1 a skill starts with a header between two `---` lines"]);
    }
}

#[test]
fn nested_metadata_and_lists_are_fine() {
    let text = skill(
        "license: MIT\nmetadata:\n  author: me\n  version: 1.0\n  tags: [a, b]\nallowed-tools:\n  - Read\n  - Bash\nuser-invocable: false",
    );
    assert_eq!(good(&text).name, "n");
}

#[test]
fn descriptions_may_be_blocks() {
    let folded = good("---\nname: n\ndescription: >\n  one\n  two: three\n---\n");
    assert_eq!(folded.description.trim_end(), "one two: three");
    let literal = good("---\nname: n\ndescription: |-\n  one\n  two\n---\n");
    assert_eq!(literal.description, "one\ntwo");
}

#[test]
fn crates_are_a_comma_list_or_a_list_in_either_vocabulary() {
    for (lines, gate) in [
        ("crates: serde", "depends-on(serde)"),
        ("crates: serde, tokio>=1", "any(depends-on(serde), depends-on(tokio>=1))"),
        ("crates: serde>=1, <2", "depends-on(serde>=1,<2)"),
        ("crates: [serde, tokio]", "any(depends-on(serde), depends-on(tokio))"),
        ("crates:\n  - serde\n  - tokio", "any(depends-on(serde), depends-on(tokio))"),
        ("depends-on: serde", "depends-on(serde)"),
        ("depends-on:\n- serde", "depends-on(serde)"),
        ("crates: \"*\"", "depends-on(*)"),
        ("crates:", ""),
        ("crates: []", ""),
        ("predicates: env(CI), not(crate(a))", "env(CI), not(depends-on(a))"),
        ("predicates: [\"any(env(A), env(B))\"]", "any(env(A), env(B))"),
        ("crates: serde\npredicates: env(CI)", "depends-on(serde), env(CI)"),
    ] {
        assert_eq!(good(&skill(lines)).gate.to_string(), gate, "{lines}");
    }
}

#[test]
fn a_wrong_gate_is_an_error_at_its_line() {
    for (lines, error) in [
        ("crates: a/b", "4 `a/b` is not a crate name: only letters, digits, `-` and `_`"),
        ("crates: [serde, env(CI)]", "4 `env(CI)` is a predicate, not a crate"),
        ("crates: [serde, 5]", "4 `crates` must be a comma list or a list of strings"),
        ("crates: { serde: 1 }", "4 `crates` must be a comma list or a list of strings"),
        ("crates: 5", "4 `crates` must be a comma list or a list of strings"),
        ("predicates: serde", "4 `serde` is not a predicate: expected `name(argument)`"),
        (
            "crates: serde\ndepends-on: tokio",
            "5 `crates` and `depends-on` mean the same and both are set",
        ),
    ] {
        check_errors(&skill(lines), &[error]);
    }
    let (_, findings) = parse_skill("SKILL.md".into(), &skill("predicates: serde"));
    assert!(findings[0].hint.as_ref().unwrap().starts_with("write `depends-on(serde)`"));
}

#[test]
fn name_and_description_are_required_texts() {
    for (header, errors) in [
        ("description: d", &["- `name` is missing in the header of the skill"][..]),
        ("name: n", &["- `description` is missing in the header of the skill"]),
        (
            "",
            &[
                "- `name` is missing in the header of the skill",
                "- `description` is missing in the header of the skill",
            ],
        ),
        ("name: 5\ndescription: d", &["2 `name` of a skill must be a string"]),
        ("name: n\ndescription: [d]", &["3 `description` of a skill must be a string"]),
        ("name: n\ndescription: true", &["3 `description` of a skill must be a string"]),
        ("name: \"\"\ndescription: d", &["2 `name` of a skill cannot be empty"]),
        ("name: '\"\"'\ndescription: d", &["2 `name` of a skill cannot be empty"]),
        ("name: n\ndescription: '  '", &["3 `description` of a skill cannot be empty"]),
        ("name: n\ndescription:", &["3 `description` of a skill cannot be empty"]),
    ] {
        check_errors(&format!("---\n{header}\n---\n"), errors);
    }
}

#[test]
fn a_skill_of_the_workspace_itself_need_not_say_anything() {
    let own = |text: &str| {
        let (header, findings) = parse_own_skill("s/SKILL.md".into(), text, "dir");
        (header.map(|header| (header.name, header.description)), findings.len())
    };
    let said = |name: &str, description: &str| Some((name.to_owned(), description.to_owned()));
    assert_eq!(own("just a text"), (said("dir", ""), 0));
    assert_eq!(own("---\nlicense: MIT\n---\n"), (said("dir", ""), 0));
    assert_eq!(own("---\nname: n\n---\n"), (said("n", ""), 0));
    assert_eq!(own("---\ndescription: d\n---\n"), (said("dir", "d"), 0));
    // What it says must be right.
    assert_eq!(own("---\nname: 7\n---\n"), (None, 1));
    assert_eq!(own("---\ncrates: a/b\n---\n"), (None, 1));
}

#[test]
fn an_error_points_at_the_key_itself_and_not_at_one_like_it() {
    let text =
        "---\nmetadata:\n  name: inner\nnamespace: x\nname: 5\ndescription: d\n---\nname: body\n";
    check_errors(text, &["5 `name` of a skill must be a string"]);
}

#[test]
fn a_description_has_at_most_1024_characters() {
    let described = |length| format!("---\nname: n\ndescription: {}\n---\n", "é".repeat(length));
    assert_eq!(good(&described(1024)).description.chars().count(), 1024);
    let error = "3 the description of a skill has 1025 characters and exceeds 1024";
    check_errors(&described(1025), &[error]);
}

#[test]
fn a_header_that_is_no_mapping_is_refused() {
    let error = "- the header of a skill must be `key: value` lines";
    check_errors("---\n- a\n- b\n---\n", &[error]);
    check_errors("---\njust words\n---\n", &[error]);
}

const READ_LENIENTLY: &str = "3 the header is not valid YAML and was read line by line";

#[test]
fn a_colon_in_an_unquoted_description_is_forgiven_with_a_warning() {
    for (line, description) in [
        ("description: Use when: x", "Use when: x"),
        ("description: \"Quoted\" and: more", "\"Quoted\" and: more"),
        ("description: [WIP] Use: x", "[WIP] Use: x"),
        ("description: Use when:", "Use when:"),
        ("description: Use when: x\n  and also: y", "Use when: x and also: y"),
    ] {
        let (header, findings) = read(&format!("---\nname: n\n{line}\n---\n"));
        assert_eq!(findings, [READ_LENIENTLY], "{line}");
        let header = header.unwrap();
        assert_eq!((header.name.as_str(), header.description.as_str()), ("n", description));
    }
}

#[test]
fn reading_leniently_loses_no_gate() {
    for lines in [
        "crates: serde, tokio",
        "crates: [serde, tokio]",
        "crates:\n  - serde\n  - tokio",
        "crates:\n- serde\n- tokio",
        "metadata:\n  a: b\ncrates: \"serde, tokio\"",
        "crates: serde,\n  tokio",
    ] {
        let text = format!("---\nname: n\ndescription: Use when: x\n{lines}\n---\n");
        let (header, findings) = read(&text);
        assert_eq!(findings, [READ_LENIENTLY], "{lines}");
        let gate = header.unwrap().gate.to_string();
        assert_eq!(gate, "any(depends-on(serde), depends-on(tokio))", "{lines}");
    }
}

#[test]
fn what_cannot_even_be_read_leniently_is_an_error() {
    for (text, first) in [
        ("---\nname: n\ndescription: d\n[\n---\n", "the header is not valid YAML: "),
        ("---\n\tname: [\n---\n", "the header is not valid YAML: "),
        ("---\nname: n: m\n---\n", "the header is not valid YAML and was read line by line"),
    ] {
        let (header, findings) = read(text);
        assert_eq!(header, None, "{text}");
        assert!(findings[0].contains(first), "{text} {findings:?}");
    }
}

#[test]
fn words_that_older_yaml_takes_for_truth_values_stay_words() {
    for word in ["y", "no", "on", "Off", "YES"] {
        assert_eq!(good(&format!("---\nname: {word}\ndescription: d\n---\n")).name, word);
    }
}

proptest! {
    #[test]
    fn no_header_makes_the_reader_panic(
        lines in prop::collection::vec("(name|description|crates|[ -]{0,3}|\\PC{0,6})(: )?\\PC{0,10}", 0..8),
    ) {
        for text in [lines.join("\n"), format!("---\n{}\n---\n", lines.join("\n"))] {
            let (header, findings) = parse_skill("SKILL.md".into(), &text);
            let sound = findings.iter().all(|finding| finding.severity != Severity::Error);
            prop_assert_eq!(header.is_some(), sound);
        }
    }
}

/// The skills below `root`, by their paths in it.
fn below(scratch: &Scratch, dir: &str) -> Vec<String> {
    let found = skills_below(&scratch.path(dir));
    found.iter().map(|file| file.strip_prefix(scratch.root()).unwrap().to_string()).collect()
}

#[test]
fn a_directory_may_be_a_skill_itself() {
    let scratch = Scratch::new();
    scratch.write("g/SKILL.md", "");
    scratch.write("g/inner/SKILL.md", "");
    assert_eq!(below(&scratch, "g"), ["g/SKILL.md"]);
}

#[test]
fn skills_are_found_at_any_depth_nearest_first_and_not_inside_each_other() {
    let scratch = Scratch::new();
    for file in [
        "a/deep/er/SKILL.md",
        "b/SKILL.md",
        "b/references/SKILL.md",
        "c/skill.md",
        "d/SKILL.md.bak",
    ] {
        scratch.write(format!("g/{file}"), "");
    }
    assert_eq!(below(&scratch, "g"), ["g/b/SKILL.md", "g/a/deep/er/SKILL.md"]);
}

#[test]
fn where_nothing_is_nothing_is_found() {
    let scratch = Scratch::new();
    scratch.write("file", "");
    assert_eq!(below(&scratch, "missing"), [""; 0]);
    assert_eq!(below(&scratch, "file"), [""; 0]);
}

#[cfg(unix)]
#[test]
fn a_loop_of_links_ends_and_finds_every_skill_once() {
    use std::os::unix::fs::symlink;
    let scratch = Scratch::new();
    scratch.write("g/a/s/SKILL.md", "");
    scratch.write("other/t/SKILL.md", "");
    for name in ["1", "2", "3", "4"] {
        symlink(scratch.path("g"), scratch.path(format!("g/a/up{name}"))).unwrap();
    }
    symlink(scratch.path("other"), scratch.path("g/linked")).unwrap();
    symlink(scratch.path("g"), scratch.path("other/back")).unwrap();
    symlink(scratch.path("nowhere"), scratch.path("g/dangling")).unwrap();
    assert_eq!(below(&scratch, "g"), ["g/a/s/SKILL.md", "g/linked/t/SKILL.md"]);
}

use proptest::prelude::*;

use super::*;

/// Lines that a manifest might hold, or nearly.
fn line() -> impl Strategy<Value = String> {
    let key = prop::sample::select(vec![
        "name",
        "crates",
        "depends-on",
        "predicates",
        "source",
        "source.path",
        "source.cargo",
        "crate",
        "version",
        "git",
        "url",
        "global",
        "executable",
        "script",
        "args",
        "requirements",
        "command",
        "event",
        "type",
        "env",
        "description",
        "audience",
        "skills",
        "hooks",
        "x",
    ]);
    let value = prop_oneof![
        prop::sample::select(vec![
            "\"\"",
            "\"cargo\"",
            "\"github\"",
            "\"crate\"",
            "\"a\"",
            "\"*\"",
            "\"1.0.0\"",
            "\"Stop\"",
            "\"env(A)\"",
            "\"é(\"",
            "[]",
            "[\"a\", \"crate(b)\"]",
            "{}",
            "[{}]",
            "[1]",
            "1",
            "true",
            "1.5",
            "{ executable = \"x\" }",
            "{ source = \"cargo\", crate = \"c\" }",
            "[{ path = \"p\" }]",
            "[{ requirements = [{}] }]",
            "1979-05-27",
            "{ name = \"a\", version = \"é\" }",
        ])
        .prop_map(str::to_owned),
        "\"\\PC{0,6}\"",
        "\\PC{0,8}",
    ];
    let header = prop::sample::select(vec![
        "[[installations]]",
        "[[hooks]]",
        "[[skills]]",
        "[[mcp_servers]]",
        "[subcommand.s]",
        "[[predicate]]",
        "[[plugins]]",
        "[defaults]",
        "[subcommand]",
        "[hooks]",
        "[package.metadata.symposium]",
        "[[package.metadata.symposium.skills]]",
    ]);
    prop_oneof![
        4 => (key, value).prop_map(|(key, value)| format!("{key} = {value}")),
        2 => header.prop_map(str::to_owned),
        1 => "\\PC{0,12}",
    ]
}

/// Whatever the findings say, they point into the text.
fn check(parsed: &Parsed, text: &str) -> Result<(), TestCaseError> {
    let errors = parsed.findings.iter().any(|finding| finding.severity == Severity::Error);
    prop_assert_eq!(parsed.manifest.is_none(), errors);
    for finding in &parsed.findings {
        let place = finding.place.as_ref().expect("every finding has a place");
        if let Some(spot) = &place.spot {
            prop_assert!((spot.line as usize) <= text.split('\n').count());
            prop_assert!(spot.text.get(spot.part.start as usize..spot.part.end as usize).is_some());
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn nothing_that_looks_like_a_manifest_makes_the_parser_panic(
        lines in prop::collection::vec(line(), 0..14),
    ) {
        // Later lines are often not TOML, and then nothing but that is found out: try every prefix.
        for end in 0..=lines.len() {
            let text = lines[..end].join("\n");
            for manner in [Manner::Registry, Manner::Embedded, Manner::FirstParty] {
                check(&parse_as(manner, &text), &text)?;
            }
            if let Some(parsed) = parse_crate_metadata("Cargo.toml".into(), &text, "c") {
                check(&parsed, &text)?;
            }
        }
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in "[\\PC\n\r\t]{0,60}") {
        check(&parse_as(Manner::Registry, &text), &text)?;
    }
}

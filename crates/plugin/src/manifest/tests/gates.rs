use super::*;

#[test]
fn crates_and_depends_on_mean_the_same() {
    for (text, gate) in [
        ("crates = [\"serde\"]", "depends-on(serde)"),
        ("depends-on = [\"serde\"]", "depends-on(serde)"),
        ("crates = \"serde>=1\"", "depends-on(serde>=1)"),
        ("depends-on = \"*\"", "depends-on(*)"),
        ("crates = []", ""),
        ("crates = [\"a\", \"b\"]", "any(depends-on(a), depends-on(b))"),
        ("crates = [\"a\"]\npredicates = [\"env(CI)\"]", "depends-on(a), env(CI)"),
        ("predicates = [\"crate(a)\", \"depends-on(b)\"]", "depends-on(a), depends-on(b)"),
        ("predicates = []", ""),
    ] {
        assert_eq!(demo(text).gate.to_string(), gate, "{text}");
    }
}

#[test]
fn both_spellings_at_once_are_an_error() {
    check_error(
        "crates = [\"a\"]\ndepends-on = [\"b\"]",
        "`crates` and `depends-on` mean the same and both are set",
    );
}

#[test]
fn every_contribution_has_a_gate_of_its_own() {
    let manifest = demo(
        r#"
        [[skills]]
        crates = ["a"]
        predicates = ["env(A)"]

        [[mcp_servers]]
        name = "m"
        command = "m"
        depends-on = ["b"]

        [subcommand.s]
        description = "d"
        command = { executable = "x" }
        crates = "c"
        predicates = ["env(C)"]

        [[plugins]]
        source.cargo = "w"
        depends-on = "d"

        [[hooks]]
        name = "h"
        event = "Stop"
        command = { executable = "y" }
        predicates = ["crate(e)"]
        "#,
    );
    let gates: Vec<String> = manifest.gates().map(ToString::to_string).collect();
    assert_eq!(
        gates,
        [
            "",
            "depends-on(a), env(A)",
            "depends-on(e)",
            "depends-on(b)",
            "depends-on(c), env(C)",
            "depends-on(d)",
        ]
    );
}

#[test]
fn hooks_take_predicates_only() {
    let hook = "[[hooks]]\nname = \"h\"\nevent = \"Stop\"\ncommand = { executable = \"x\" }\n";
    for key in ["crates", "depends-on"] {
        let (manifest, findings) = demo_with_findings(&format!("{hook}{key} = [\"serde\"]"));
        assert_eq!(findings, [format!("unknown key `{key}` in [[hooks]]")]);
        assert_eq!(manifest, None);
    }
}

#[test]
fn a_bare_crate_is_no_predicate_and_a_predicate_no_crate() {
    check_error(
        "predicates = [\"serde\"]",
        "`serde` is not a predicate: expected `name(argument)`",
    );
    check_error("crates = [\"env(CI)\"]", "`env(CI)` is a predicate, not a crate");
    check_error("crates = [\"a, b\"]", "`, b` after `a` is not a version requirement");
}

#[test]
fn a_plugin_wakes_by_itself_if_any_gate_names_a_crate() {
    let hook = "[[hooks]]\nname = \"h\"\nevent = \"Stop\"\ncommand = { executable = \"x\" }\n";
    let subcommand = "[subcommand.s]\ndescription = \"d\"\ncommand = { executable = \"x\" }\n";
    for (text, wakes) in [
        (String::new(), false),
        ("crates = []".to_owned(), false),
        ("predicates = [\"env(CI)\"]".to_owned(), false),
        ("crates = [\"*\"]".to_owned(), true),
        ("crates = [\"serde\"]".to_owned(), true),
        ("predicates = [\"not(crate(serde))\"]".to_owned(), true),
        ("predicates = [\"p(x)\"]".to_owned(), true),
        ("predicates = [\"not(p(x))\"]".to_owned(), false),
        ("[[skills]]\ncrates = [\"serde\"]".to_owned(), true),
        ("[[skills]]\nsource.path = \".\"".to_owned(), false),
        (format!("{hook}predicates = [\"crate(serde)\"]"), true),
        (hook.to_owned(), false),
        ("[[mcp_servers]]\nname = \"m\"\ncommand = \"m\"\ncrates = \"a\"".to_owned(), true),
        (format!("{subcommand}crates = \"a\""), true),
        ("[[plugins]]\nsource.cargo = \"w\"\ncrates = \"a\"".to_owned(), true),
        ("[[plugins]]\nsource.cargo = \"w\"".to_owned(), false),
    ] {
        assert_eq!(demo(&text).wakes_by_itself(), wakes, "{text}");
    }
}

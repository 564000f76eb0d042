use super::{super::Requirement, *};
use crate::predicate::{BUILT_IN, parse_atoms, parse_predicates};

/// `text` parses, and is shown as `shown`, which parses to the same.
#[track_caller]
fn check(text: &str, shown: &str) {
    let parsed = predicate(text);
    assert_eq!(parsed.to_string(), shown);
    assert_eq!(predicate(shown), parsed);
}

#[track_caller]
fn check_atom(text: &str, shown: &str) {
    let parsed = atom(text);
    assert_eq!(parsed.to_string(), shown);
    assert_eq!(atom(shown), parsed);
}

#[test]
fn an_atom_is_a_star_or_a_crate_perhaps_with_a_requirement() {
    assert_eq!(atom("*"), Atom::Everywhere);
    let bare = Atom::Crate { name: CrateName::new("serde"), requirement: None };
    assert_eq!(atom(" serde "), bare);
    check_atom("serde", "serde");
    check_atom("serde>=1.0", "serde>=1.0");
    check_atom("serde >= 1.0", "serde>=1.0");
    check_atom("tokio-util~0.7", "tokio-util~0.7");
    check_atom("serde>=1.0,<2", "serde>=1.0,<2");
    check_atom("serde >=1.0, <2", "serde>=1.0,<2");
}

#[test]
fn one_equals_sign_is_a_caret_and_two_are_exact() {
    check_atom("serde=1.2", "serde^1.2");
    check_atom("serde==1.2.3", "serde==1.2.3");
    check_atom("serde>=1,=1.2.3", "serde>=1,=1.2.3");
    for (text, version, matches) in [
        ("=1.2", "1.2.0", true),
        ("=1.2", "1.9.0", true),
        ("=1.2", "1.1.9", false),
        ("=1.2", "2.0.0", false),
        ("==1.2.3", "1.2.3", true),
        ("==1.2.3", "1.2.4", false),
        ("^0.3", "0.3.9", true),
        ("^0.3", "0.4.0", false),
        ("~1.2", "1.2.9", true),
        ("~1.2", "1.3.0", false),
        (">=1,<3", "2.9.9", true),
        (">=1,<3", "3.0.0", false),
    ] {
        let requirement: Requirement = text.parse().unwrap();
        let version = Version::parse(version).unwrap();
        assert_eq!(requirement.0.matches(&version), matches, "{text} and {version}");
    }
}

#[test]
fn function_calls_parse_and_show_themselves() {
    check("depends-on(serde>=1.0)", "depends-on(serde>=1.0)");
    check("depends-on(*)", "depends-on(*)");
    check("shell(test -f a && (b || c))", "shell(test -f a && (b || c))");
    check("path_exists(rustfmt.toml)", "path_exists(rustfmt.toml)");
    check("env(CI)", "env(CI)");
    check("env( CI )", "env(CI)");
    check("env(MODE=a=b)", "env(MODE=a=b)");
    check("env(MODE=)", "env(MODE=)");
    check("workspace-member()", "workspace-member()");
    check("not(env(CI))", "not(env(CI))");
    check("any(env(A),env(B),)", "any(env(A), env(B))");
    check("  all( env(A) , not(any(env(B))) )  ", "all(env(A), not(any(env(B))))");
}

#[test]
fn crate_and_depends_on_are_the_same_predicate() {
    for text in ["crate(serde)", "depends_on(serde)", "depends-on(serde)"] {
        check(text, "depends-on(serde)");
    }
}

#[test]
fn an_env_value_is_split_at_the_first_equals_sign_and_kept_verbatim() {
    let env = |name: &str, value: &str| Predicate::Env {
        name: name.to_owned(),
        value: Some(value.to_owned()),
    };
    assert_eq!(predicate("env(A=b=c)"), env("A", "b=c"));
    assert_eq!(predicate("env(A = b)"), env("A", " b"));
    assert_eq!(predicate("env(A=)"), env("A", ""));
}

#[test]
fn other_names_are_custom_predicates() {
    check("has_feature(tokio/full)", "has_feature(tokio/full)");
    check("p()", "p()");
    check("p(   )", "p()");
    check("p(a (b) c)", "p(a (b) c)");
    check("crates(serde)", "crates(serde)");
    let custom = predicate("Has2( x, y )");
    let name = PredicateName::new("Has2").unwrap();
    assert_eq!(custom, Predicate::Custom { name, argument: "x, y".to_owned() });
}

#[test]
fn a_custom_name_starts_with_a_letter_and_is_never_a_built_in_one() {
    for good in ["p", "hasFeature", "has_feature", "p2"] {
        assert!(PredicateName::new(good).is_some(), "{good}");
    }
    for bad in ["", "2p", "_p", "has-feature", "has.feature", "ünder", "a b"] {
        assert!(PredicateName::new(bad).is_none(), "{bad}");
    }
    for taken in BUILT_IN {
        assert!(PredicateName::new(taken).is_none(), "{taken}");
    }
}

#[test]
fn lists_split_at_commas_outside_parentheses_and_skip_empty_items() {
    let shown = |text: &str| -> Vec<String> {
        parse_predicates(text).unwrap().iter().map(ToString::to_string).collect()
    };
    assert_eq!(shown("env(A), any(env(B), env(C)),,"), ["env(A)", "any(env(B), env(C))"]);
    assert_eq!(shown(" , "), [""; 0]);
    let atoms = |text: &str| -> Vec<String> {
        parse_atoms(text).unwrap().iter().map(ToString::to_string).collect()
    };
    assert_eq!(atoms("serde, tokio>=1 , *"), ["serde", "tokio>=1", "*"]);
    assert_eq!(atoms("serde>=1, <2, tokio"), ["serde>=1,<2", "tokio"]);
    assert_eq!(atoms(""), [""; 0]);
}

#[test]
fn a_crate_list_becomes_one_leading_alternative() {
    let lowered = |atoms: &[&str], predicates: &[&str]| {
        let atoms = atoms.iter().map(|text| atom(text)).collect();
        Gate::new(atoms, predicates.iter().map(|text| predicate(text)).collect()).to_string()
    };
    assert_eq!(lowered(&[], &[]), "");
    assert_eq!(lowered(&["serde"], &[]), "depends-on(serde)");
    assert_eq!(
        lowered(&["a", "b>=1"], &["env(CI)"]),
        "any(depends-on(a), depends-on(b>=1)), env(CI)"
    );
    assert_eq!(Gate::new(Vec::new(), Vec::new()), Gate::open());
}

#[test]
fn every_error_says_what_is_wrong_and_what_to_do() {
    let list = "write for example `serde>=1.0` or `serde>=1.0,<2`";
    for (text, message, hint) in [
        (
            "serde",
            "`serde` is not a predicate: expected `name(argument)`",
            "write `depends-on(serde)`, or move it to `crates` (or `depends-on`)",
        ),
        ("crate(shell(x))", "`shell(x)` is a predicate, not a crate", "move it to `predicates`"),
        ("crate(a/b)", "`a/b` is not a crate name: only letters, digits, `-` and `_`", ""),
        (
            "crate(serde>=x)",
            "`>=x` is not a version requirement: unexpected character 'x' while parsing major version number",
            list,
        ),
        ("crate(serde 1.0)", "`1.0` after `serde` is not a version requirement", list),
        (
            "crate(a, b)",
            "`, b` after `a` is not a version requirement",
            "write each crate as a string of its own: `[\"a\", \"b\"]`",
        ),
        ("not(env(A), env(B))", "`not(...)` needs exactly one predicate", ""),
        ("not()", "`not(...)` needs exactly one predicate", ""),
        ("any( , )", "`any(...)` needs at least one predicate", ""),
        ("all()", "`all(...)` needs at least one predicate", ""),
        ("env()", "`env(...)` needs the name of a variable", ""),
        ("env(=x)", "`env(...)` needs the name of a variable", ""),
        ("shell( )", "`shell(...)` needs an argument", ""),
        ("path_exists()", "`path_exists(...)` needs an argument", ""),
        ("crate()", "`depends-on(...)` needs an argument", ""),
        ("depends-on( )", "`depends-on(...)` needs an argument", ""),
        ("workspace-member(x)", "`workspace-member()` takes no argument", ""),
        (
            "path-exists(x)",
            "`path-exists` is not the name of a predicate",
            "did you mean `path_exists`?",
        ),
        ("(x)", "`` is not the name of a predicate", ""),
        ("env(A", "the parentheses in `env(A` do not match", ""),
        ("env(A) x", "the parentheses in `env(A) x` do not match", ""),
        ("any(env(A)))", "the parentheses in `env(A))` do not match", ""),
    ] {
        let error = text.parse::<Predicate>().unwrap_err();
        assert_eq!(error.to_string(), message, "{text}");
        assert_eq!(error.hint().unwrap_or_default(), hint, "{text}");
    }
}

#[test]
fn a_function_call_is_not_a_crate() {
    let error = "shell(true)".parse::<Atom>().unwrap_err();
    assert_eq!(error, PredicateError::CallAmongAtoms("shell(true)".to_owned()));
    assert_eq!(error.hint().unwrap(), "move it to `predicates`");
    for text in ["", "  ", "@serde", "a/b", "serde!", "größe"] {
        let error = text.parse::<Atom>().unwrap_err();
        assert_eq!(error, PredicateError::BadCrateName(text.trim().to_owned()), "{text}");
    }
}

#[test]
fn nesting_without_end_is_an_error_and_no_stack_overflow() {
    let nested = |depth: usize| format!("{}env(A){}", "not(".repeat(depth), ")".repeat(depth));
    assert!(nested(31).parse::<Predicate>().is_ok());
    assert_eq!(nested(32).parse::<Predicate>().unwrap_err(), PredicateError::TooDeep);
    let error = nested(10_000).parse::<Predicate>().unwrap_err();
    assert_eq!(error.to_string(), "predicates are nested more than 32 deep");
}

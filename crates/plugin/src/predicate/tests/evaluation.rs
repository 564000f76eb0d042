use super::*;
use crate::{
    manifest::{Manner, parse::parse_manifest},
    plugin::{Origin, Plugin},
    predicate::evaluate::union_matched_crates,
};

/// Asks a gate in all three ways, which must agree.
#[track_caller]
fn holds(gate: &Gate, here: Surroundings<'_>) -> bool {
    let holds = gate.holds(here);
    assert_eq!(gate.explain(here).holds, holds, "explain of `{gate}`");
    assert_eq!(gate.witness(here).is_some(), holds, "witness of `{gate}`");
    holds
}

#[test]
fn a_crate_must_be_a_direct_dependency_that_satisfies_the_requirement() {
    let workspace = workspace(&[("serde", "1.0.210"), ("tokio-util", "0.7.1")]);
    let world = World::default();
    for (text, expected) in [
        ("crate(serde)", true),
        ("crate(serde>=1.0)", true),
        ("crate(serde=1.0)", true),
        ("crate(serde==1.0.210)", true),
        ("crate(serde==1.0.209)", false),
        ("crate(serde>=2)", false),
        ("crate(serd)", false),
        ("crate(serde_json)", false),
        ("crate(tokio-util)", true),
        ("crate(tokio_util)", true),
        ("crate(tokio_util<0.7)", false),
        ("crate(Serde)", false),
    ] {
        assert_eq!(holds(&gate(&[text]), here(Some(&workspace), &world)), expected, "{text}");
    }
}

#[test]
fn a_star_holds_everywhere_and_a_crate_only_in_a_workspace() {
    let world = World::default();
    let empty = workspace(&[]);
    for workspace in [None, Some(&empty)] {
        assert!(holds(&gate(&["crate(*)"]), here(workspace, &world)));
        assert!(holds(&Gate::open(), here(workspace, &world)));
        assert!(!holds(&gate(&["crate(serde)"]), here(workspace, &world)));
        assert!(holds(&gate(&["not(crate(serde))"]), here(workspace, &world)));
    }
}

#[test]
fn one_of_several_versions_is_enough_and_all_that_match_are_witnesses() {
    let workspace = workspace(&[("syn", "1.0.109"), ("syn", "2.0.50"), ("syn", "2.0.87")]);
    let world = World::default();
    let here = here(Some(&workspace), &world);
    assert!(holds(&gate(&["crate(syn=1)"]), here));
    assert!(!holds(&gate(&["crate(syn>=3)"]), here));
    assert_eq!(
        gate(&["crate(syn>=2)"]).witness(here).unwrap(),
        matched(&[("syn", "2.0.50"), ("syn", "2.0.87")])
    );
    let why = &gate(&["crate(syn>=3)"]).explain(here).steps[0].because;
    assert_eq!(why, "workspace has only syn 1.0.109, syn 2.0.50, syn 2.0.87");
}

#[test]
fn probes_are_asked_with_the_text_between_the_parentheses() {
    let world = World {
        commands: vec!["test -d x"],
        paths: vec!["rustfmt.toml"],
        variables: [("CI", "true"), ("EMPTY", "")].into(),
        answers: [("agrees(a, b)", Answer::Holds(Vec::new())), ("refuses()", Answer::Fails)].into(),
    };
    for (text, expected) in [
        ("shell(test -d x)", true),
        ("shell(false)", false),
        ("path_exists(rustfmt.toml)", true),
        ("path_exists(clippy.toml)", false),
        ("env(CI)", true),
        ("env(CI=true)", true),
        ("env(CI=TRUE)", false),
        ("env(EMPTY)", true),
        ("env(EMPTY=)", true),
        ("env(HOME)", false),
        ("env(HOME=)", false),
        ("agrees(a, b)", true),
        ("agrees(a)", false),
        ("refuses()", false),
        ("not(refuses())", true),
        ("unknown(x)", false),
    ] {
        assert_eq!(holds(&gate(&[text]), here(None, &world)), expected, "{text}");
    }
}

#[test]
fn combinators_combine() {
    let world = World { variables: [("A", "1")].into(), ..World::default() };
    for (text, expected) in [
        ("any(env(A), env(B))", true),
        ("any(env(B), env(C))", false),
        ("all(env(A), env(A))", true),
        ("all(env(A), env(B))", false),
        ("not(env(A))", false),
        ("not(not(env(A)))", true),
        ("all(any(env(B), env(A)), not(all(env(A), env(B))))", true),
    ] {
        assert_eq!(holds(&gate(&[text]), here(None, &world)), expected, "{text}");
    }
    assert!(!holds(&gate(&["env(A)", "env(B)"]), here(None, &world)));
}

#[test]
fn workspace_member_follows_whose_gate_it_is() {
    let world = World::default();
    let gate = gate(&["workspace-member()"]);
    assert!(!holds(&gate, here(None, &world)));
    let parsed = parse_manifest("SYMPOSIUM.toml".into(), "name = \"p\"\n", Manner::Registry, None);
    for (origin, expected) in
        [(Origin::Member("app".to_owned()), true), (Origin::Registry("r".to_owned()), false)]
    {
        let manifest = parsed.manifest.as_ref().unwrap();
        let plugin = Plugin::new(manifest, origin, "SYMPOSIUM.toml".into());
        let asker = Asker::Plugin(&plugin);
        assert_eq!(holds(&gate, Surroundings { asker, ..here(None, &world) }), expected);
    }
}

#[test]
fn every_condition_is_explained_with_its_reason() {
    let workspace = workspace(&[("serde", "1.0.2"), ("tokio", "1.40.0")]);
    let world = World {
        variables: [("MODE", "slow")].into(),
        answers: [
            ("picks()", Answer::Holds(matched(&[("serde", "1.0.2")]))),
            ("agrees()", Answer::Holds(Vec::new())),
            ("refuses()", Answer::Fails),
        ]
        .into(),
        ..World::default()
    };
    let gate = gate(&[
        "any(crate(diesel), crate(serde>=1))",
        "not(crate(tokio>=2))",
        "all(crate(*), env(MODE=fast), env(MODE), env(CI))",
        "shell(false)",
        "path_exists(x)",
        "workspace-member()",
        "picks()",
        "agrees()",
        "refuses()",
        "unknown(y)",
    ]);
    let evaluation = gate.explain(here(Some(&workspace), &world));
    assert!(!evaluation.holds);
    let lines: Vec<String> = evaluation
        .steps
        .iter()
        .map(|step| {
            let holds = if step.holds { "yes" } else { "no" };
            let indent = "  ".repeat(step.depth);
            format!("{indent}{} | {holds} | {}", step.condition, step.because)
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    any of | yes | 1 of 2 hold
      depends-on diesel | no | workspace has no package `diesel`
      depends-on serde>=1 | yes | workspace has serde 1.0.2
    not | yes | it does not hold
      depends-on tokio>=2 | no | workspace has only tokio 1.40.0
    all of | no | 2 of 4 hold
      depends-on * | yes | everywhere
      env(MODE=fast) | no | it has another value
      env(MODE) | yes | it is set
      env(CI) | no | it is not set
    shell(false) | no | the command failed
    path_exists(x) | no | there is no such path
    workspace-member() | no | the plugin comes from elsewhere
    picks() | yes | its program named serde 1.0.2
    agrees() | yes | its program agreed
    refuses() | no | its program disagreed
    unknown(y) | no | no plugin defines it
    "#);
}

#[test]
fn nothing_is_known_about_crates_outside_a_workspace() {
    let world = World::default();
    let steps = gate(&["crate(serde)"]).explain(here(None, &world)).steps;
    assert_eq!(steps[0].because, "not in a Rust workspace");
}

/// The witnesses of `gate` in a workspace with `crate1` and `crate2` but not `crate3`.
fn witness(predicates: &[&str]) -> Option<Vec<Matched>> {
    let workspace = workspace(&[("crate1", "1.0.0"), ("crate2", "2.0.0")]);
    let world = World {
        variables: [("CI", "1")].into(),
        answers: [
            ("picks()", Answer::Holds(matched(&[("other", "0.1.0"), ("crate1", "1.0.0")]))),
            ("agrees()", Answer::Holds(Vec::new())),
            ("refuses()", Answer::Fails),
        ]
        .into(),
        ..World::default()
    };
    gate(predicates).witness(here(Some(&workspace), &world))
}

#[test]
fn witnesses_are_the_crates_that_make_a_gate_hold() {
    let (one, two) = (("crate1", "1.0.0"), ("crate2", "2.0.0"));
    for (predicates, expected) in [
        (&[][..], Some(&[][..])),
        (&["crate(crate1)"], Some(&[one])),
        (&["crate(crate3)"], None),
        (&["crate(*)"], Some(&[])),
        (&["env(CI)"], Some(&[])),
        (&["env(NO)"], None),
        (&["any(crate(crate1), crate(crate2), crate(crate3))"], Some(&[one, two])),
        (&["any(crate(crate3), env(CI))"], Some(&[])),
        (&["any(crate(crate3), env(NO))"], None),
        (&["all(crate(crate1), crate(crate2))"], Some(&[one, two])),
        (&["all(crate(crate1), crate(crate3))"], None),
        (&["crate(crate1)", "env(NO)"], None),
        (&["crate(crate1)", "all(crate(*), crate(crate2))"], Some(&[one, two])),
        (&["crate(crate1)", "not(crate(crate2))"], None),
        (&["crate(crate1)", "not(crate(crate3))"], Some(&[one])),
        (&["not(crate(crate3))"], Some(&[])),
        (&["not(not(crate(crate1)))"], Some(&[])),
        (&["crate(crate2)", "crate(crate2>=1)"], Some(&[two])),
        (&["picks()"], Some(&[("other", "0.1.0"), one])),
        (&["agrees()"], Some(&[])),
        (&["refuses()"], None),
        (&["unknown()"], None),
        (&["crate(crate1)", "picks()"], Some(&[one, ("other", "0.1.0")])),
    ] {
        assert_eq!(witness(predicates), expected.map(matched), "{predicates:?}");
    }
}

#[test]
fn several_gates_name_each_crate_once_and_a_false_one_names_none() {
    let workspace = workspace(&[("a", "1.0.0"), ("b", "2.0.0"), ("c", "3.0.0")]);
    let world = World::default();
    let gates = [
        gate(&["any(crate(a), crate(b))"]),
        gate(&["crate(b)", "crate(a)"]),
        gate(&["crate(c)", "env(NO)"]),
        Gate::open(),
    ];
    let union = union_matched_crates(&gates, here(Some(&workspace), &world));
    assert_eq!(union, matched(&[("a", "1.0.0"), ("b", "2.0.0")]));
}

#[test]
fn a_gate_knows_what_it_talks_about() {
    for (predicates, mentions, fetchable, custom_at_top, crates) in [
        (&[][..], false, false, false, &[][..]),
        (&["env(CI)"], false, false, false, &[]),
        (&["crate(*)"], true, false, false, &[]),
        (&["crate(serde)"], true, true, false, &["serde"]),
        (&["any(env(CI), all(crate(a), crate(b)))"], true, true, false, &["a", "b"]),
        (&["not(crate(a))"], true, false, false, &["a"]),
        (&["not(not(crate(a)))"], true, false, false, &["a"]),
        (&["not(crate(a))", "crate(b)"], true, true, false, &["a", "b"]),
        (&["crate(tokio-util)", "crate(tokio_util>=1)"], true, true, false, &["tokio-util"]),
        (&["p(serde)"], false, true, true, &[]),
        (&["any(p(serde), env(CI))"], false, true, false, &[]),
        (&["not(p(serde))"], false, false, false, &[]),
    ] {
        let gate = gate(predicates);
        assert_eq!(gate.mentions_crate(), mentions, "{gate}");
        assert_eq!(gate.can_name_a_crate(), fetchable, "{gate}");
        assert_eq!(gate.has_custom_at_top(), custom_at_top, "{gate}");
        let named: Vec<&str> = gate.crates().iter().map(|name| name.as_str()).collect();
        assert_eq!(named, crates, "{gate}");
    }
}

#[test]
fn what_is_lacking_are_the_crates_that_would_help() {
    let (workspace, world) = (workspace(&[("serde", "1.0.0")]), World::default());
    for (predicates, expected) in [
        (&["crate(tokio)"][..], "tokio"),
        (&["crate(serde>=2)"], "serde>=2"),
        (&["any(crate(tokio), crate(axum), env(X))"], "tokio axum"),
        (&["all(crate(serde), crate(axum), crate(tokio))"], "axum"),
        (&["crate(serde)", "crate(tokio)"], "tokio"),
        // Here crates are not what is lacking.
        (&["crate(serde)", "env(X)"], ""),
        (&["env(X)", "crate(tokio)"], ""),
        (&["not(crate(serde))"], ""),
        (&["all(not(crate(serde)), crate(tokio))"], ""),
        (&["crate(serde)"], ""),
        (&[], ""),
    ] {
        let gate = gate(predicates);
        let lacking = gate.lacking(here(Some(&workspace), &world));
        let lacking: Vec<String> = lacking.iter().map(ToString::to_string).collect();
        assert_eq!(lacking.join(" "), expected, "{predicates:?}");
    }
}

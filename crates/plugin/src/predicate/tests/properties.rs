use proptest::prelude::*;

use super::*;
use crate::predicate::{Requirement, parse_atoms, parse_predicates};

fn requirement() -> impl Strategy<Value = Requirement> {
    let number = 0..30_u64;
    let part = (
        prop::sample::select(vec!["==", "=", ">", ">=", "<", "<=", "~", "^"]),
        number.clone(),
        prop::option::of((number.clone(), prop::option::of(number))),
    );
    let part = part.prop_map(|(comparator, major, rest)| match rest {
        None => format!("{comparator}{major}"),
        Some((minor, None)) => format!("{comparator}{major}.{minor}"),
        Some((minor, Some(patch))) => format!("{comparator}{major}.{minor}.{patch}"),
    });
    prop::collection::vec(part, 1..4).prop_filter_map("two equals signs only lead", |parts| {
        parts.join(",").parse::<Requirement>().ok()
    })
}

fn crate_atom() -> impl Strategy<Value = Atom> {
    let name = prop_oneof!["[a-z][a-z0-9_-]{0,6}", Just("a".to_owned()), Just("b".to_owned())];
    prop_oneof![
        1 => Just(Atom::Everywhere),
        6 => (name, prop::option::of(requirement())).prop_map(|(name, requirement)| {
            Atom::Crate { name: CrateName::new(name), requirement }
        }),
    ]
}

/// Text without unmatched parentheses or blanks at its ends.
fn argument() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z0-9./$*\"-]{1,8}",
        "[a-z]{1,3} [|&,;=<>]{1,2} [a-z]{1,3}",
        "[a-z]{0,3}\\([a-z, ]{0,5}\\)",
    ]
}

fn any_predicate() -> impl Strategy<Value = Predicate> {
    let custom = ("[a-z][a-zA-Z0-9_]{0,5}", prop_oneof![Just(String::new()), argument()]);
    let custom = custom.prop_filter_map("a built-in name", |(name, argument)| {
        PredicateName::new(&name).map(|name| Predicate::Custom { name, argument })
    });
    let env = ("[A-C]", prop::option::of(prop_oneof!["[01]", argument()]));
    let leaf = prop_oneof![
        4 => crate_atom().prop_map(Predicate::DependsOn),
        1 => argument().prop_map(Predicate::Shell),
        1 => argument().prop_map(Predicate::PathExists),
        1 => env.prop_map(|(name, value)| Predicate::Env { name, value }),
        1 => Just(Predicate::WorkspaceMember),
        1 => custom,
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let several = prop::collection::vec(inner.clone(), 1..4);
        prop_oneof![
            inner.prop_map(|predicate| Predicate::Not(Box::new(predicate))),
            several.clone().prop_map(Predicate::Any),
            several.prop_map(Predicate::All),
        ]
    })
}

fn any_gate() -> impl Strategy<Value = Gate> {
    prop::collection::vec(any_predicate(), 0..4)
        .prop_map(|conditions| Gate::new(Vec::new(), conditions))
}

proptest! {
    #[test]
    fn a_predicate_reads_back_as_it_was_written(predicate in any_predicate()) {
        prop_assert_eq!(predicate.to_string().parse::<Predicate>(), Ok(predicate));
    }

    #[test]
    fn a_gate_reads_back_as_a_comma_list(gate in any_gate()) {
        prop_assert_eq!(parse_predicates(&gate.to_string()), Ok(gate.iter().cloned().collect()));
    }

    #[test]
    fn an_atom_reads_back_as_it_was_written(atom in crate_atom()) {
        prop_assert_eq!(atom.to_string().parse::<Atom>(), Ok(atom));
    }

    #[test]
    fn holding_explaining_and_witnessing_agree(gate in any_gate(), a in any::<bool>(), b in 0..3_u64) {
        let versions = ["0.3.1", "1.2.3", "12.0.0"];
        let packages = [("a", versions[0]), ("a", versions[1]), ("b", versions[b as usize])];
        let workspace = workspace(&packages);
        let mut world = World { commands: vec!["a"], ..World::default() };
        if a {
            world.variables.insert("A", "1");
            world.answers.insert("a()", Answer::Holds(matched(&[("a", "1.2.3")])));
        }
        for workspace in [None, Some(&workspace)] {
            let here = here(workspace, &world);
            let (holds, witness) = (gate.holds(here), gate.witness(here));
            prop_assert_eq!(gate.explain(here).holds, holds);
            prop_assert_eq!(witness.is_some(), holds);
            for (at, matched) in witness.iter().flatten().enumerate() {
                prop_assert!(!witness.as_ref().unwrap()[..at].contains(matched), "named twice");
            }
        }
    }

    #[test]
    fn no_text_makes_the_parsers_panic(text in "\\PC{0,40}") {
        let _ = (text.parse::<Atom>(), text.parse::<Predicate>(), text.parse::<Requirement>());
        let _ = (parse_atoms(&text), parse_predicates(&text));
    }

    #[test]
    fn nothing_that_looks_like_a_predicate_makes_the_parsers_panic(
        text in "(any|not|all|crate|env|shell|[a-zé]|[(),=<>^~*. ]|[0-9]){0,24}",
    ) {
        let _ = text.parse::<Atom>();
        if let Ok(parsed) = text.parse::<Predicate>() {
            prop_assert_eq!(parsed.to_string().parse::<Predicate>(), Ok(parsed));
        }
        let _ = (parse_atoms(&text), parse_predicates(&text));
    }
}

mod chains;
mod offered;

use super::*;
use crate::{catalog::BuiltIn, testing::Place};

const EVERYWHERE: &str = "crates = [\"*\"]\n";

fn active(cause: Cause) -> State {
    State::Active(cause)
}

fn inactive(reason: Reason) -> State {
    State::Inactive(reason)
}

#[test]
fn a_dependencys_plugin_is_off_until_the_user_says_its_name() {
    let mut place = Place::new();
    place.dependency("helper", "1.0.0", Some("name = \"other\""));
    for (config, state) in [
        ("", inactive(Reason::NoConsent)),
        ("use = [\"helper\"]", active(Cause::Used)),
        ("auto-enable = [\"helper\"]", active(Cause::AutoEnabled)),
        ("auto-enable = [\"*\"]", active(Cause::AutoEnabled)),
        // It may call itself anything; what was agreed to is the crate.
        ("use = [\"other\"]", inactive(Reason::NoConsent)),
        // Either name turns it off, so that no crate gets around it.
        ("use = [\"helper\"]\ndisable = [\"helper\"]", inactive(Reason::Disabled)),
        ("use = [\"helper\"]\ndisable = [\"other\"]", inactive(Reason::Disabled)),
        ("use = [\"helper\"]\ndisable = [\"elsewhere\"]", active(Cause::Used)),
    ] {
        place.config(&format!("[plugins]\n{config}"));
        assert_eq!(place.state("other"), state, "{config}");
    }
}

#[test]
fn nobody_is_asked_about_what_a_registry_has_too() {
    let mut place = Place::new();
    place.dependency("helper", "1.0.0", Some("name = \"helper\"")).registry("helper", EVERYWHERE);
    let states =
        place.look(|it| it.set.considered().map(|it| it.state.clone()).collect::<Vec<_>>());
    let of_registry = Origin::Registry("r".to_owned());
    assert_eq!(states, [active(Cause::Gate), inactive(Reason::Superseded(of_registry))]);
}

#[test]
fn what_names_no_crate_sleeps_until_it_is_used() {
    let place = Place::new();
    place.registry("sleeper", "");
    assert_eq!(place.state("sleeper"), inactive(Reason::Sleeping));
    place.config("[plugins]\nuse = [\"sleeper\"]");
    assert_eq!(place.state("sleeper"), active(Cause::Used));
}

#[test]
fn a_gate_decides_about_what_is_allowed() {
    let mut place = Place::new();
    place.dependency("serde", "1.0.0", None);
    place
        .registry("for-serde", "crates = [\"serde\"]")
        .registry("for-tokio", "crates = [\"tokio\"]");
    assert_eq!(place.state("for-serde"), active(Cause::Gate));
    assert_eq!(place.state("for-tokio"), inactive(Reason::Gate));
}

#[test]
fn what_is_built_in_cannot_be_turned_off() {
    let mut place = Place::new();
    place.built_in = vec![BuiltIn { name: "own", manifest: "name = \"own\"\ncrates = [\"*\"]" }];
    place.registry("other", EVERYWHERE).config("[plugins]\ndisable = [\"*\"]");
    assert_eq!(place.state("own"), active(Cause::Gate));
    assert_eq!(place.state("other"), inactive(Reason::Disabled));
}

#[test]
fn what_comes_with_a_workspace_runs_nothing_before_the_user_has_spoken_for_it() {
    let mut place = Place::new();
    place.member("plain", "name = \"plain\"");
    place.member("asking", "name = \"asking\"\npredicates = [\"shell(true)\"]");
    place.registry("trusted", EVERYWHERE);
    let seen = |place: &Place| {
        place.look(|it| {
            let all = it.set.considered();
            all.map(|it| (it.plugin.name.to_string(), it.state.clone(), it.trust))
                .collect::<Vec<_>>()
        })
    };
    let of = |name: &str, state: State, trust: Trust| (name.to_owned(), state, trust);
    let trusted = || of("trusted", active(Cause::Gate), Trust::Given);
    assert_eq!(
        seen(&place),
        [
            trusted(),
            of("plain", active(Cause::Gate), Trust::Withheld),
            of("asking", inactive(Reason::WouldRun), Trust::Withheld),
        ]
    );
    place.config("[plugins]\nuse = [\"plain\", \"asking\"]");
    assert_eq!(
        seen(&place),
        [
            trusted(),
            of("plain", active(Cause::Gate), Trust::Given),
            of("asking", active(Cause::Used), Trust::Given),
        ]
    );
    // `*` is about dependencies: whatever workspace is cloned next is not among them.
    place.config("[plugins]\nauto-enable = [\"*\"]");
    assert_eq!(seen(&place)[2], of("asking", inactive(Reason::WouldRun), Trust::Withheld));
}

/// A plugin that defines the predicate `fine`.
fn defining(program: &str) -> String {
    format!("{EVERYWHERE}[[predicate]]\nname = \"fine\"\ncommand = {program}\n")
}

#[test]
fn predicates_count_from_those_whom_the_user_trusts() {
    let definers = |place: &Place| {
        place.look(|it| {
            let root = Some(it.workspace.root.as_path());
            let definers = it.registries.definers(&it.set.catalog, root);
            definers.map(|it| it.name.to_string()).collect::<Vec<_>>()
        })
    };
    let mut place = Place::new();
    place.registry("known", EVERYWHERE).registry("sleeping", "");
    place.member("app", "name = \"app\"").dependency("helper", "1.0.0", Some("name = \"helper\""));
    // They define what decides about others, whether they apply here or not.
    assert_eq!(definers(&place), ["known", "sleeping"]);
    place.config("[plugins]\nuse = [\"app\", \"helper\"]\ndisable = [\"known\"]");
    assert_eq!(definers(&place), ["sleeping", "app"]);
}

#[test]
fn a_predicate_whose_program_is_not_installed_is_told() {
    let place = Place::new();
    place.registry("here", &defining("{ executable = \"true\" }"));
    place.registry("gated", "crates = [\"*\"]\npredicates = [\"fine()\"]");
    assert_eq!(place.state("gated"), active(Cause::Gate));
    assert!(!place.look(|it| it.set.lacks_programs()));
    place.registry(
        "here",
        &defining("{ source = \"cargo\", crate = \"absent\", version = \"1.0.0\" }"),
    );
    assert_eq!(place.state("gated"), inactive(Reason::Gate));
    assert!(place.look(|it| it.set.lacks_programs()));
}

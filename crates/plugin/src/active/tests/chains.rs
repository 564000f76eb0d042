//! Plugins that bring along one another.

use super::*;

/// A manifest that brings along crates.
fn bringing(crates: &[&str]) -> String {
    let brought = |it: &&str| format!("[[plugins]]\nsource.cargo = \"{it}\"\n");
    format!("{EVERYWHERE}{}", crates.iter().map(brought).collect::<String>())
}

/// Crates that are not there, and who wants them.
fn wanted(place: &Place) -> Vec<String> {
    place.look(|it| {
        let shown = |it: &Wanted| {
            let requirement = it.requirement.as_ref().map(ToString::to_string).unwrap_or_default();
            format!("{}{requirement} by {}", it.name, it.by)
        };
        it.set.wanted.iter().map(shown).collect()
    })
}

fn brought_by(name: &str) -> State {
    active(Cause::Chained(name.to_owned()))
}

#[test]
fn an_active_plugin_brings_along_what_nobody_was_asked_about() {
    let mut place = Place::new();
    place.dependency("helper", "1.2.0", Some("name = \"helper\""));
    place.registry("team", &bringing(&["helper>=1.2"]));
    assert_eq!(place.state("helper"), brought_by("team"));
    assert_eq!(wanted(&place), [""; 0]);
    place.config("[plugins]\ndisable = [\"helper\"]");
    assert_eq!(place.state("helper"), inactive(Reason::Disabled));
    assert_eq!(wanted(&place), [""; 0]);
    place.config("[plugins]\ndisable = [\"team\"]");
    assert_eq!(place.state("helper"), inactive(Reason::NoConsent));
    place.config("").registry("team", &bringing(&["helper>=2"]));
    assert_eq!(place.state("helper"), inactive(Reason::NoConsent), "in another version");
    assert_eq!(wanted(&place), ["helper>=2 by `team`"]);
    place.registry("team", &bringing(&["helpers"]));
    assert_eq!(place.state("helper"), inactive(Reason::NoConsent), "another crate");
    assert_eq!(wanted(&place), ["helpers by `team`"]);
}

#[test]
fn what_is_brought_along_has_its_own_conditions_and_brings_more() {
    let mut place = Place::new();
    let helper = "name = \"helper\"\ncrates = [\"tokio\"]\n[[plugins]]\nsource.cargo = \"deep\"\n";
    place.dependency("helper", "1.0.0", Some(helper));
    place.dependency("deep", "1.0.0", Some("name = \"deep\""));
    place.registry("team", &bringing(&["helper"]));
    assert_eq!(place.state("helper"), inactive(Reason::NoConsent), "there is no `tokio` here");
    assert_eq!(place.state("deep"), inactive(Reason::NoConsent));
    place.dependency("tokio", "1.0.0", None);
    assert_eq!(place.state("helper"), brought_by("team"));
    assert_eq!(place.state("deep"), brought_by("helper"));
}

#[test]
fn what_is_brought_along_is_a_crate_even_if_a_registry_has_one_of_its_name() {
    let mut place = Place::new();
    place.dependency("helper", "1.0.0", Some("name = \"helper\""));
    place.registry("helper", "crates = [\"absent\"]").registry("team", &bringing(&["helper"]));
    let states = place.look(|it| {
        let shown = it.set.considered().map(|it| (it.plugin.origin.kind(), it.state.clone()));
        shown.collect::<Vec<_>>()
    });
    let of_registry = [inactive(Reason::Gate), active(Cause::Gate)].map(|it| ("registry", it));
    assert_eq!(states[..2], of_registry);
    assert_eq!(states[2..], [("crate", brought_by("team"))]);
}

#[test]
fn a_workspace_agrees_to_nothing_on_the_users_behalf() {
    let mut place = Place::new();
    let member = format!("name = \"app\"\n{}", bringing(&["helper", "absent"]));
    place.member("app", &member).dependency("helper", "1.0.0", Some("name = \"helper\""));
    assert_eq!(place.state("app"), active(Cause::Gate));
    assert_eq!(place.state("helper"), inactive(Reason::NoConsent));
    assert_eq!(wanted(&place), [""; 0]);
    place.config("[plugins]\nuse = [\"app\"]");
    assert_eq!(place.state("helper"), brought_by("app"));
    assert_eq!(wanted(&place), ["absent by `app`"]);
}

#[test]
fn what_is_not_there_is_wanted_once_and_told() {
    let mut place = Place::new();
    place.dependency("empty", "1.0.0", None);
    place.registry("one", &bringing(&["far", "far", "far>=2", "empty", "empty>=2", "refused"]));
    place.config("[plugins]\ndisable = [\"refused\"]");
    let expected = ["far by `one`", "far>=2 by `one`", "empty>=2 by `one`"];
    assert_eq!(wanted(&place), expected);
    place.look(|it| {
        let told: Vec<&str> = it.set.findings.iter().map(|it| it.message.as_str()).collect();
        let far = "the plugin of crate `far`, wanted by `one`, has not been fetched";
        let empty = "the plugin of crate `empty`, wanted by `one`, has not been fetched";
        assert_eq!(told, [far, far, empty]);
    });
}

#[test]
fn what_the_user_names_is_wanted_unless_it_is_known() {
    let mut place = Place::new();
    place.registry("known", EVERYWHERE).fetched("brought", None, "1.0.0", None);
    place.dependency("helper", "1.0.0", Some("name = \"its-own\""));
    let names = r#"use = ["known", "helper", "its-own", "brought", "refused", "nowhere"]"#;
    place.config(&format!("[plugins]\n{names}\ndisable = [\"refused\"]"));
    assert_eq!(wanted(&place), ["nowhere by `[plugins] use`"]);
    assert_eq!(place.look(|it| it.set.fetched.len()), 1);
    // Elsewhere it is not named at all.
    place.config("[plugins]\nuse = [{ name = \"nowhere\", workspace = \"/elsewhere\" }]");
    assert_eq!(wanted(&place), [""; 0]);
}

#[test]
fn what_was_fetched_counts_like_a_dependency() {
    let place = Place::new();
    place.registry("team", &bringing(&["far>=2", "empty"]));
    place.fetched("far", Some(">=2"), "2.1.0", Some("name = \"far\""));
    place.fetched("empty", None, "1.0.0", None);
    assert_eq!(place.state("far"), brought_by("team"));
    assert_eq!(wanted(&place), [""; 0]);
    assert_eq!(place.look(|it| it.set.fetched.len()), 2, "each of them once");
}

/// `c1` brings along `c2`, and so on: nobody knows of the next one before the one before it is there.
fn row_of(length: usize) -> Place {
    let place = Place::new();
    place.registry("team", &bringing(&["c1"]));
    for at in 1..=length {
        let next = format!("[[plugins]]\nsource.cargo = \"c{}\"\n", at + 1);
        let next = if at < length { next.as_str() } else { "" };
        let manifest = format!("name = \"c{at}\"\n{next}");
        place.fetched(&format!("c{at}"), None, "1.0.0", Some(&manifest));
    }
    place
}

#[test]
fn plugins_bring_along_one_another_ten_deep_and_no_deeper() {
    let seen = |length: usize| {
        row_of(length).look(|it| {
            let told: Vec<String> = it.set.findings.iter().map(|it| it.message.clone()).collect();
            (it.set.active().count(), told)
        })
    };
    assert_eq!(seen(10), (11, vec![]), "the one that begins, and ten");
    let too_deep = "plugins bring along one another more than 10 deep";
    assert_eq!(seen(11), (11, vec![too_deep.to_owned()]));
}

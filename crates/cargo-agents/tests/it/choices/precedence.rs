//! Whose word counts for what, and which one beats the other.

use super::{Desk, GUARD};
use crate::registries::{because, embedded};

/// A crate must not get around a refusal, or into a consent, by the name that its plugin gives itself.
#[test]
fn a_plugin_cannot_take_a_name_that_somebody_else_was_trusted_with() {
    let desk = Desk::new();
    desk.krate("helper", &format!("name = \"trusted\"\n{}", embedded("helper")));
    for (plugins, active) in [
        ("use = [\"trusted\"]", false),
        ("auto-enable = [\"trusted\"]", false),
        ("use = [\"helper\"]", true),
        ("auto-enable = [\"helper\"]", true),
        ("auto-enable = [\"*\"]\ndisable = [\"helper\"]", false),
        ("auto-enable = [\"*\"]\ndisable = [\"trusted\"]", false),
    ] {
        desk.config(&format!("[plugins]\n{plugins}\n"));
        let expected = if active { Some(0) } else { Some(2) };
        assert_eq!(desk.world.agents(&["helper-cmd"]).code, expected, "{plugins}");
    }
    desk.config("");
    desk.ok(&["use", "--global", "trusted"]);
    assert_eq!(desk.said(), "[plugins]\nuse = [\"helper\"]", "the crate is what is agreed to");
}

#[test]
fn disable_beats_every_other_word_and_every_chain() {
    let desk = Desk::new();
    desk.world.plugin(
        "lead",
        "name = \"lead\"\ncrates = [\"*\"]\n[[plugins]]\nsource.cargo = \"helper\"\n",
    );
    let root = desk.world.sample.root();
    let here = format!("{{ name = \"helper\", workspace = \"{root}\" }}");
    let ons = [
        "",
        "use = [\"helper\"]",
        &format!("use = [{here}]"),
        "auto-enable = [\"helper\"]",
        "auto-enable = [\"*\"]",
    ];
    for on in ons {
        for off in ["\"helper\"", "\"*\"", "\"HELPER\"", "\"x\", \"helper\""] {
            // Crates that differ in case only are not the same.
            let counts = off != "\"HELPER\"";
            desk.config(&format!("[plugins]\n{on}\ndisable = [{off}]\n"));
            let run = desk.world.agents(&["helper-cmd"]);
            assert_eq!(run.code, Some(if counts { 2 } else { 0 }), "{on} {off}: {run:?}");
        }
        desk.config(&format!("[plugins]\n{on}\n"));
        assert_eq!(desk.world.agents(&["helper-cmd"]).code, Some(0), "{on}");
    }
}

#[test]
fn a_chain_of_a_cloned_workspace_agrees_to_nothing() {
    let desk = Desk::new();
    desk.world.sample.write("SYMPOSIUM.toml", "[[plugins]]\nsource.cargo = \"helper\"\n");
    assert_eq!(desk.world.agents(&["helper-cmd"]).code, Some(2));
    desk.config("[plugins]\nuse = [\"app\"]\n");
    assert_eq!(desk.world.agents(&["helper-cmd"]).code, Some(0));
    assert_eq!(because(&desk.world, "helper"), "active: brought along by `app`");
}

#[test]
fn auto_enable_of_everything_says_nothing_about_cloned_workspaces() {
    let desk = Desk::new();
    desk.depend("");
    desk.world.sample.write("SYMPOSIUM.toml", GUARD);
    desk.world.sample.scratch().script("tree/ws/guard.sh", "exit 0");
    desk.config("[plugins]\nauto-enable = [\"*\"]\n");
    let run = desk.run(&["sync"]);
    assert!(run.stderr.contains("the hooks of `app` do not run"), "{run:?}");
}

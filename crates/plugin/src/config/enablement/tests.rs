use agents_system::edit::{Format, apply};

use super::*;
use crate::config::Config;

fn parse(text: &str) -> Enablement {
    let dirs = Dirs::below(Utf8Path::new("/home"));
    Config::parse(&dirs, &Config::file(&dirs), text).unwrap().enablement
}

/// The file after a decision.
#[track_caller]
fn decided(text: &str, decision: Decision<'_>) -> String {
    let after = apply(Format::Toml, text, &parse(text).edits(decision)).unwrap();
    let again = parse(&after).edits(decision);
    assert_eq!(again, [], "what is written down need not be written again: {after}");
    after
}

fn in_ws() -> Scope<'static> {
    Scope::Workspace(Utf8Path::new("/ws"))
}

#[test]
fn a_decision_is_written_beside_what_is_tin_ws() {
    let everywhere = Decision::Use("a", Scope::Everywhere);
    assert_eq!(decided("", everywhere), "[plugins]\nuse = [\"a\"]\n");
    assert_eq!(
        decided("[plugins]\nuse = [\"b\"]\n", everywhere),
        "[plugins]\nuse = [\"b\", \"a\"]\n"
    );
    // Other lists are about something else.
    let text = "[plugins]\nauto-enable = [\"a\"]\n";
    assert_eq!(decided(text, everywhere), format!("{text}use = [\"a\"]\n"));
    assert_eq!(decided("", Decision::AutoEnable("a")), "[plugins]\nauto-enable = [\"a\"]\n");
    assert_eq!(decided("", Decision::Disable("a")), "[plugins]\ndisable = [\"a\"]\n");
    let here = "[plugins]\nuse = [{ name = \"a\", workspace = \"/ws\" }]\n";
    assert_eq!(decided("", Decision::Use("a", in_ws())), here);
}

#[test]
fn among_tables_there_is_no_place_for_a_plain_name() {
    let everywhere = Decision::Use("a", Scope::Everywhere);
    let text = "[[plugins.use]]\nname = \"b\"\nworkspace = \"/ws\"\n";
    assert_eq!(decided(text, everywhere), format!("{text}\n[[plugins.use]]\nname = \"a\"\n"));
    let mixed = "[plugins]\nuse = [\"b\", { name = \"c\", workspace = \"/ws\" }]\n";
    assert_eq!(decided(mixed, everywhere), mixed.replace(" }]", " }, \"a\"]"));
}

#[test]
fn what_is_said_already_is_not_said_again() {
    for (text, decision) in [
        ("[plugins]\nuse = [\"my_a\"]\n", Decision::Use("my-a", Scope::Everywhere)),
        ("[plugins]\nuse = [{ name = \"a\", workspace = \"/ws\" }]\n", Decision::Use("a", in_ws())),
        ("[plugins]\nauto-enable = [\"a\"]\n", Decision::AutoEnable("a")),
        ("[plugins]\ndisable = [\"a\"]\n", Decision::Disable("a")),
        // Nothing is taken back that nobody said, and nothing is tidied up meanwhile.
        ("[plugins]\nuse = []\n", Decision::StopUsing("a", Scope::Everywhere)),
        ("[plugins]\nuse = [\"b\"]\n", Decision::StopUsing("a", Scope::Everywhere)),
        ("[plugins]\ndisable = []\n", Decision::StopDisabling("a")),
    ] {
        assert_eq!(parse(text).edits(decision), [], "{text}");
    }
}

#[test]
fn a_word_for_one_workspace_is_none_for_others() {
    let only = |workspace: &str| format!("{{ name = \"a\", workspace = \"{workspace}\" }}");
    let elsewhere = format!("[plugins]\nuse = [{}]\n", only("/other"));
    let both = format!("[plugins]\nuse = [{}, {}]\n", only("/other"), only("/ws"));
    assert_eq!(decided(&elsewhere, Decision::Use("a", in_ws())), both);
    assert_eq!(decided(&both, Decision::StopUsing("a", in_ws())), elsewhere);
    let everywhere = "[plugins]\nuse = [\"a\"]\n";
    let and_here = format!("[plugins]\nuse = [\"a\", {}]\n", only("/ws"));
    assert_eq!(decided(everywhere, Decision::Use("a", in_ws())), and_here);
    assert_eq!(decided(&and_here, Decision::StopUsing("a", in_ws())), everywhere);
    let here = format!("[plugins]\nuse = [{}]\n", only("/ws"));
    assert_eq!(decided(&and_here, Decision::StopUsing("a", Scope::Everywhere)), here);
}

#[test]
fn what_is_taken_back_leaves_nothing_empty_behind() {
    let stop = Decision::StopUsing("a", Scope::Everywhere);
    assert_eq!(decided("auto-sync = true\n[plugins]\nuse = [\"a\"]\n", stop), "auto-sync = true\n");
    let text = "[plugins]\nuse = [\"a\", \"b\", \"A\"]\n";
    assert_eq!(decided(text, stop), "[plugins]\nuse = [\"b\", \"A\"]\n");
    let text = "[plugins]\nuse = [\"a\"]\ndisable = [\"a\"]\n";
    assert_eq!(decided(text, Decision::StopDisabling("a")), "[plugins]\nuse = [\"a\"]\n");
}

#[test]
fn everything_that_is_said_has_its_line() {
    let text = "[plugins]\nuse = [\n  \"a\",\n  { name = \"b\", workspace = \"/ws\" },\n]\ndisable = [\"c\"]\n";
    let said = parse(text);
    let words: Vec<_> = said.words().map(|it| (it.key, it.name, it.workspace, it.line)).collect();
    let ws = Utf8Path::new("/ws");
    assert_eq!(
        words,
        [(Key::Use, "a", None, 3), (Key::Use, "b", Some(ws), 4), (Key::Disable, "c", None, 6)]
    );
}

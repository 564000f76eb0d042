//! Plans for files that are ours as a whole, as tables; and what keeps those among them that git should not see from it.

use agents_sync::{
    Change, Desired, DesiredFile, Edited, Facts, Plan, desired::digest_of, facts::File,
};
use agents_system::ledger::{Entry, Ledger, Property, What};

use crate::{
    plan::{HERE, SAME, entry, ledger, plan},
    world::host,
};

const AGENT: &str = "/home/agents/helper.md";

fn agent(file: &str, text: &str) -> DesiredFile {
    DesiredFile {
        host: host("claude"),
        file: file.into(),
        text: text.to_owned(),
        what: What::Agent,
        name: "helper".to_owned(),
        from: "plugin".to_owned(),
    }
}

fn wanted(files: impl IntoIterator<Item = DesiredFile>) -> Desired {
    Desired { files: files.into_iter().collect(), ..Desired::default() }
}

fn written(file: &str, text: &str) -> Entry {
    entry(Property::File { file: file.into(), digest: digest_of(text) }, &[HERE])
}

fn text(text: &str) -> File {
    File::Text(text.to_owned())
}

/// The agent should be `want`; `recorded` is what we wrote the last time, and `now` is there.
#[track_caller]
fn check(
    want: Option<&str>,
    recorded: Option<&str>,
    now: File,
    edited: Edited,
    expected: &[&str],
) -> Plan {
    let before = ledger(recorded.map(|it| written(AGENT, it)));
    let facts = Facts::default().with_file(AGENT, now);
    let desired = wanted(want.map(|it| agent(AGENT, it)));
    let (plan, lines) = plan(&desired, &facts, &before, edited);
    assert_eq!(lines, expected);
    plan
}

#[test]
fn each_state_of_a_file() {
    use Edited::{Keep, Overwrite};
    let new = "new /home/agents/helper.md new:helper";
    let updated = "updated /home/agents/helper.md updated:helper";
    let owns = "owns /home/agents/helper.md for /shop";
    check(Some("1"), None, File::Absent, Keep, &[new, owns]);
    check(Some("1"), Some("1"), File::Absent, Keep, &[new, owns]);
    check(Some("1"), Some("1"), text("1"), Keep, &[SAME, owns]);
    check(Some("2"), Some("1"), text("1"), Keep, &[updated, owns]);
    // Edited by the user, if only to be what is wanted now.
    check(Some("2"), Some("1"), text("9"), Keep, &["says edited", owns]);
    check(Some("2"), Some("1"), text("9"), Overwrite, &[updated, owns]);
    check(Some("9"), Some("1"), text("9"), Keep, &[SAME, owns]);
    // Somebody else's: equal is fine and stays theirs.
    check(Some("1"), None, text("1"), Keep, &[SAME]);
    check(Some("1"), None, text("9"), Keep, &["says not ours"]);
    check(Some("1"), None, text("9"), Overwrite, &["says not ours"]);
    let unreadable = || File::Unreadable("permission denied".to_owned());
    check(Some("2"), Some("1"), unreadable(), Overwrite, &["says left alone", owns]);
}

#[test]
fn each_state_of_a_file_that_is_no_longer_wanted() {
    use Edited::{Keep, Overwrite};
    let removed = "removed /home/agents/helper.md removed:helper.md";
    let owns = "owns /home/agents/helper.md for /shop";
    check(None, Some("1"), text("1"), Keep, &[removed]);
    check(None, Some("1"), text("1"), Overwrite, &[removed]);
    check(None, Some("1"), File::Absent, Keep, &[]);
    check(None, Some("1"), text("9"), Keep, &["says edited"]);
    check(None, Some("1"), text("9"), Overwrite, &[removed]);
    check(None, None, text("1"), Keep, &[]);
    // It may be readable the next time.
    let unreadable = File::Unreadable("permission denied".to_owned());
    check(None, Some("1"), unreadable, Keep, &["says left alone", owns]);
}

const IGNORE: &str = "/shop/.claude/agents/.gitignore";

fn ignored(names: &str) -> String {
    format!("# Written by `cargo agents sync`, as are these files.\n/.gitignore\n{names}")
}

fn in_workspace(name: &str) -> DesiredFile {
    agent(&format!("/shop/.claude/agents/{name}"), "text")
}

/// What becomes of the ignore file, if anything does.
#[track_caller]
fn ignore_after(files: &[DesiredFile], facts: &Facts, before: &Ledger) -> Option<Option<String>> {
    let (plan, _) = plan(&wanted(files.iter().cloned()), facts, before, Edited::Keep);
    plan.changes.into_iter().find_map(|change| match change {
        Change::File { file, after, .. } if file == IGNORE => Some(after),
        _ => None,
    })
}

#[test]
fn git_sees_neither_our_agents_nor_what_hides_them() {
    let both = wanted([in_workspace("b.md"), in_workspace("a.md")]);
    let (first, lines) = plan(&both, &Facts::default(), &ledger([]), Edited::Keep);
    let new = "new /shop/.claude/agents/.gitignore new:.claude/agents";
    assert!(lines.contains(&new.to_owned()), "{lines:?}");
    let all = ignored("/a.md\n/b.md\n");
    let after = ignore_after(&both.files, &Facts::default(), &ledger([]));
    assert_eq!(after, Some(Some(all.clone())));
    // One of them goes, then the other.
    let facts = Facts::default().with_file(IGNORE, text(&all));
    let facts = facts.with_file("/shop/.claude/agents/a.md", text("text"));
    let facts = facts.with_file("/shop/.claude/agents/b.md", text("text"));
    let after = ignore_after(&[in_workspace("a.md")], &facts, &first.owned);
    assert_eq!(after, Some(Some(ignored("/a.md\n"))));
    assert_eq!(ignore_after(&[], &facts, &first.owned), Some(None));
}

#[test]
fn an_agent_of_somebody_else_and_an_ignore_file_of_theirs_are_theirs_to_commit() {
    let ours = in_workspace("ours.md");
    let facts = Facts::default().with_file("/shop/.claude/agents/theirs.md", text("other"));
    let after = ignore_after(&[in_workspace("theirs.md"), ours.clone()], &facts, &ledger([]));
    assert_eq!(after, Some(Some(ignored("/ours.md\n"))));
    assert_eq!(ignore_after(&[in_workspace("theirs.md")], &facts, &ledger([])), None);
    let facts = Facts::default().with_file(IGNORE, text("*.log\n"));
    let (_, lines) = plan(&wanted([ours]), &facts, &ledger([]), Edited::Overwrite);
    let file = "/shop/.claude/agents/ours.md";
    assert_eq!(lines, [format!("new {file} new:helper"), format!("owns {file} for /shop")]);
}

#[test]
fn only_agents_in_the_workspace_are_kept_from_git() {
    let hook = DesiredFile { what: What::Hook, ..in_workspace("hooks.json") };
    for file in [hook, agent(AGENT, "text")] {
        let (plan, _) = plan(&wanted([file]), &Facts::default(), &ledger([]), Edited::Keep);
        assert_eq!(plan.changes.len(), 1, "{plan:?}");
    }
}

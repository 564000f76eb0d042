//! Plans as tables: what is wanted, what is there and what is recorded, and what follows from it.

use std::collections::BTreeSet;

use agents_sync::{
    Change, Desired, DesiredPart, DesiredSkill, Edited, Facts, Plan,
    facts::{File, Marked, Slot},
};
use agents_system::{
    edit::{Format, KeyPath},
    ledger::{Entry, Ledger, Part, Property, Share, What},
};
use camino::Utf8Path;
use serde_json::{Value, json};

use crate::world::{host, server, skill, tree};

pub(crate) const HERE: &str = "/shop";
const ELSEWHERE: &str = "/other";

/// What is said of one thing that is as it should be.
pub(crate) const SAME: &str = "as it should be: 1";

/// What a plan does, says, finds good and owns, one line each.
pub(crate) fn plan(
    desired: &Desired,
    facts: &Facts,
    ledger: &Ledger,
    edited: Edited,
) -> (Plan, Vec<String>) {
    let plan = Plan::new(desired, facts, ledger, Utf8Path::new(HERE), edited);
    let mut lines = Vec::new();
    for change in &plan.changes {
        let word = change.action().word();
        match change {
            Change::Skill { slot, .. } => lines.push(format!("{word} {slot}")),
            Change::File { file, notes, .. } => {
                let notes =
                    notes.iter().map(|note| format!(" {}:{}", note.action.word(), note.name));
                lines.push(format!("{word} {file}{}", notes.collect::<String>()));
            }
        }
    }
    assert_eq!(plan.is_empty(), lines.is_empty());
    lines.extend(plan.findings.iter().map(|finding| {
        let short = ["edited", "not ours", "left alone"];
        let found = short.into_iter().find(|it| finding.message.contains(it));
        format!("says {}", found.unwrap_or(&finding.message))
    }));
    lines.extend((plan.unchanged > 0).then(|| format!("as it should be: {}", plan.unchanged)));
    lines.extend(plan.owned.entries.iter().map(|entry| {
        let what = match &entry.property {
            Property::Directory { dir, .. } => dir.to_string(),
            Property::File { file, .. } => file.to_string(),
            Property::Part(Part { file, at, .. }) => format!("{file}#{at}"),
        };
        let whose: Vec<_> = entry.workspaces.iter().map(|it| it.as_str()).collect();
        format!("owns {what} for {}", whose.join(" "))
    }));
    (plan, lines)
}

pub(crate) fn ledger(entries: impl IntoIterator<Item = Entry>) -> Ledger {
    let mut ledger = Ledger::default();
    entries.into_iter().for_each(|entry| ledger.record(entry));
    ledger
}

pub(crate) fn entry(property: Property, workspaces: &[&str]) -> Entry {
    let workspaces = workspaces.iter().map(Into::into).collect::<BTreeSet<_>>();
    Entry { what: What::Server, property, workspaces, from: "one".to_owned() }
}

mod skills {
    use super::*;

    fn guide(origin: &str) -> DesiredSkill {
        skill("/s".into(), "guide", origin, tree(&[("SKILL.md", origin)]))
    }

    fn wanted(skills: impl IntoIterator<Item = DesiredSkill>) -> Desired {
        Desired { skills: skills.into_iter().collect(), ..Desired::default() }
    }

    fn installed(slot: &str, digest: &str, workspaces: &[&str]) -> Entry {
        let property = Property::Directory { dir: slot.into(), digest: digest.to_owned() };
        entry(property, workspaces)
    }

    fn there(digest: &str, marked: Marked) -> Slot {
        Slot::Taken { digest: Some(digest.to_owned()), marked }
    }

    /// One skill `guide` of origin `one` is wanted; `recorded` and `slot` are about its plain name.
    #[track_caller]
    fn check(recorded: Option<&str>, slot: Slot, edited: Edited, expected: &[&str]) {
        let ledger = ledger(recorded.map(|digest| installed("/s/guide", digest, &[HERE])));
        let facts = Facts::default().with_slot("/s/guide", slot);
        assert_eq!(plan(&wanted([guide("one")]), &facts, &ledger, edited).1, expected);
    }

    #[test]
    fn each_state_of_the_plain_slot() {
        use Edited::{Keep, Overwrite};
        use Marked::{No, Yes};
        let now = guide("one").digest;
        let (new, updated, owns) = ("new /s/guide", "updated /s/guide", "owns /s/guide for /shop");
        check(None, Slot::Free, Keep, &[new, owns]);
        check(Some("old"), Slot::Free, Keep, &[new, owns]);
        check(Some(&now), there(&now, Yes), Keep, &[SAME, owns]);
        check(Some("old"), there("old", Yes), Keep, &[updated, owns]);
        check(Some("old"), there("old", No), Keep, &[updated, owns]);
        // Edited, and kept until told otherwise; an edit that makes it what is wanted is none.
        check(Some("old"), there("edit", Yes), Keep, &["says edited", owns]);
        check(Some(&now), there("edit", Yes), Keep, &["says edited", owns]);
        check(Some("old"), there("edit", Yes), Overwrite, &[updated, owns]);
        check(Some("old"), there(&now, Yes), Keep, &[SAME, owns]);
        let unreadable = || Slot::Taken { digest: None, marked: Yes };
        check(Some(&now), unreadable(), Keep, &["says edited", owns]);
        // The mark of another installation is enough to take it over.
        check(None, there("old", Yes), Keep, &[updated, owns]);
        check(None, there(&now, Yes), Keep, &[SAME, owns]);
        // Somebody else's, even if it is equal: ours goes beside it.
        let beside = ["new /s/guide-one", "owns /s/guide-one for /shop"];
        check(None, there("theirs", No), Keep, &beside);
        check(None, there("theirs", No), Overwrite, &beside);
        check(None, there(&now, No), Keep, &beside);
        check(Some("old"), there("theirs", No), Keep, &beside);
        check(Some("old"), there("theirs", No), Overwrite, &beside);
        check(Some("old"), Slot::Taken { digest: None, marked: No }, Overwrite, &beside);
        check(None, Slot::Source, Keep, &[SAME]);
    }

    #[test]
    fn without_a_slot_of_either_name_it_is_not_installed() {
        let theirs = || there("theirs", Marked::No);
        let facts = Facts::default().with_slot("/s/guide", theirs());
        let facts = facts.with_slot("/s/guide-one", theirs());
        let (_, lines) = plan(&wanted([guide("one")]), &facts, &ledger([]), Edited::Overwrite);
        assert_eq!(lines, ["says not ours"]);
    }

    #[test]
    fn a_name_that_two_want_gets_suffixes_and_the_plain_one_goes() {
        let before = ledger([installed("/s/guide", "old", &[HERE])]);
        let facts = Facts::default().with_slot("/s/guide", there("old", Marked::Yes));
        let both = wanted([guide("one"), guide("two")]);
        let (first, lines) = plan(&both, &facts, &before, Edited::Keep);
        let expected = [
            "new /s/guide-one",
            "new /s/guide-two",
            "removed /s/guide",
            "owns /s/guide-one for /shop",
            "owns /s/guide-two for /shop",
        ];
        assert_eq!(lines, expected);
        // And back, when only one is left.
        let facts = Facts::default()
            .with_slot("/s/guide-one", there(&guide("one").digest, Marked::Yes))
            .with_slot("/s/guide-two", there(&guide("two").digest, Marked::Yes));
        let (_, lines) = plan(&wanted([guide("two")]), &facts, &first.owned, Edited::Keep);
        let expected = [
            "new /s/guide",
            "removed /s/guide-one",
            "removed /s/guide-two",
            "owns /s/guide for /shop",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn a_suffixed_name_that_is_the_plain_name_of_another_is_used_once() {
        let other = skill("/s".into(), "guide-one", "two", tree(&[("SKILL.md", "x")]));
        let all = wanted([guide("one"), guide("two"), other]);
        let (_, lines) = plan(&all, &Facts::default(), &ledger([]), Edited::Keep);
        let new: Vec<_> = lines.iter().filter(|line| line.starts_with("new")).collect();
        assert_eq!(new, ["new /s/guide-one", "new /s/guide-two", "new /s/guide-one-two"]);
    }

    /// Nothing is wanted here any more; the skill is recorded with the digest `old`.
    #[track_caller]
    fn check_abandoned(
        workspaces: &[&str],
        slot: Slot,
        edited: Edited,
        expected: &[&str],
    ) -> Ledger {
        let before = ledger([installed("/s/guide", "old", workspaces)]);
        let facts = Facts::default().with_slot("/s/guide", slot);
        let (plan, lines) = plan(&wanted([]), &facts, &before, edited);
        assert_eq!(lines, expected);
        plan.owned
    }

    #[test]
    fn what_is_no_longer_wanted_goes_with_the_last_workspace_that_wanted_it() {
        use Edited::{Keep, Overwrite};
        let ours = || there("old", Marked::Yes);
        check_abandoned(&[HERE], ours(), Keep, &["removed /s/guide"]);
        check_abandoned(&[HERE], there("old", Marked::No), Keep, &["removed /s/guide"]);
        check_abandoned(&[HERE], Slot::Free, Keep, &[]);
        let both = &[HERE, ELSEWHERE];
        check_abandoned(both, ours(), Keep, &["owns /s/guide for /other"]);
        check_abandoned(&[ELSEWHERE], ours(), Keep, &["owns /s/guide for /other"]);
        check_abandoned(&[HERE], there("edit", Marked::Yes), Overwrite, &["removed /s/guide"]);
        check_abandoned(&[HERE], there("theirs", Marked::No), Overwrite, &[]);
    }

    #[test]
    fn an_edited_skill_that_was_left_to_the_user_stays_theirs_when_it_is_wanted_again() {
        use Edited::Keep;
        let edit = || there("edit", Marked::Yes);
        let left = ["says edited", "owns /s/guide for "];
        let after = check_abandoned(&[HERE], edit(), Keep, &left);
        let facts = Facts::default().with_slot("/s/guide", edit());
        let (_, lines) = plan(&wanted([guide("one")]), &facts, &after, Keep);
        assert_eq!(lines, left);
        // Quietly as long as it is not wanted, and forgotten when the user removes it.
        assert_eq!(plan(&wanted([]), &facts, &after, Keep).1, left[1..]);
        assert_eq!(plan(&wanted([]), &Facts::default(), &after, Keep).1, [""; 0]);
    }

    #[test]
    fn what_was_left_to_the_user_goes_when_they_say_so_and_only_from_this_workspace() {
        let (inside, outside) = ("/shop/.claude/skills/guide", "/s/guide");
        let check = |dir: &str, workspaces: &[&str], edited, expected: &[&str]| {
            let before = ledger([installed(dir, "old", workspaces)]);
            let facts = Facts::default().with_slot(dir, there("edit", Marked::Yes));
            assert_eq!(plan(&wanted([]), &facts, &before, edited).1, expected, "{dir}");
        };
        check(inside, &[], Edited::Overwrite, &["removed /shop/.claude/skills/guide"]);
        check(inside, &[], Edited::Keep, &["owns /shop/.claude/skills/guide for "]);
        check(outside, &[], Edited::Overwrite, &["owns /s/guide for "]);
        let theirs = ["owns /shop/.claude/skills/guide for /other"];
        check(inside, &[ELSEWHERE], Edited::Overwrite, &theirs);
    }

    #[test]
    fn a_second_workspace_shares_what_is_there() {
        let digest = guide("one").digest;
        let before = ledger([installed("/s/guide", &digest, &[ELSEWHERE])]);
        let facts = Facts::default().with_slot("/s/guide", there(&digest, Marked::Yes));
        let (_, lines) = plan(&wanted([guide("one")]), &facts, &before, Edited::Keep);
        assert_eq!(lines, [SAME, "owns /s/guide for /other /shop"]);
    }
}

mod servers {
    use super::*;

    const FILE: &str = "/h/mcp.json";

    fn demo(value: Value) -> DesiredPart {
        server(FILE.into(), &["servers", "demo"], value)
    }

    fn wanted(servers: impl IntoIterator<Item = DesiredPart>) -> Desired {
        Desired { parts: servers.into_iter().collect(), ..Desired::default() }
    }

    fn key(name: &str, value: Value, made: &[&[&str]], workspaces: &[&str]) -> Entry {
        let property = Property::Part(Part {
            file: FILE.into(),
            format: Format::Json,
            at: ["servers", name].into(),
            share: Share::Key,
            value,
            made: made.iter().map(|table| KeyPath::new(table.iter().copied())).collect(),
        });
        entry(property, workspaces)
    }

    fn holding(text: &str) -> Facts {
        Facts::default().with_file(FILE, File::Text(text.to_owned()))
    }

    fn document(demo: Option<i32>) -> String {
        let demo = demo.map(|value| format!(", \"demo\": {value}")).unwrap_or_default();
        format!("{{ \"servers\": {{ \"mine\": 0{demo} }} }} // end\n")
    }

    /// The text of the file after the plan.
    fn after(plan: &Plan) -> Option<&str> {
        plan.changes.iter().find_map(|change| match change {
            Change::File { after, .. } => after.as_deref(),
            Change::Skill { .. } => None,
        })
    }

    /// `demo` should be `want`; it is recorded as `recorded` for `workspaces` and is `now` in the file.
    #[track_caller]
    fn check(
        want: Option<i32>,
        recorded: Option<(i32, &[&str])>,
        now: Option<i32>,
        edited: Edited,
        expected: &[&str],
    ) {
        let before = recorded.map(|(value, whose)| key("demo", json!(value), &[], whose));
        let desired = wanted(want.map(|value| demo(json!(value))));
        let (plan, lines) = plan(&desired, &holding(&document(now)), &ledger(before), edited);
        assert_eq!(lines, expected);
        if let Some(text) = after(&plan) {
            assert_eq!(text, document(want));
        }
    }

    #[test]
    fn each_state_of_an_entry() {
        use Edited::{Keep, Overwrite};
        let (new, updated, removed) = (
            "updated /h/mcp.json new:demo",
            "updated /h/mcp.json updated:demo",
            "updated /h/mcp.json removed:demo",
        );
        let (owns, here) = ("owns /h/mcp.json#servers.demo for /shop", &[HERE][..]);
        let both = &[HERE, ELSEWHERE][..];
        check(Some(1), None, None, Keep, &[new, owns]);
        check(Some(1), Some((1, here)), Some(1), Keep, &[SAME, owns]);
        check(Some(2), Some((1, here)), Some(1), Keep, &[updated, owns]);
        check(Some(1), Some((1, here)), None, Keep, &[new, owns]);
        // Edited by the user.
        check(Some(1), Some((1, here)), Some(9), Keep, &["says edited", owns]);
        check(Some(2), Some((1, here)), Some(9), Keep, &["says edited", owns]);
        check(Some(2), Some((1, here)), Some(9), Overwrite, &[updated, owns]);
        check(Some(9), Some((1, here)), Some(9), Keep, &[SAME, owns]);
        // Somebody else's: equal is fine and stays theirs, different is said.
        check(Some(1), None, Some(1), Keep, &[SAME]);
        check(Some(1), None, Some(9), Keep, &["says not ours"]);
        check(Some(1), None, Some(9), Overwrite, &["says not ours"]);
        // No longer wanted.
        check(None, Some((1, here)), Some(1), Keep, &[removed]);
        check(None, Some((1, here)), None, Keep, &[]);
        check(None, Some((1, here)), Some(9), Keep, &["says edited"]);
        check(None, Some((1, here)), Some(9), Overwrite, &[removed]);
        let elsewhere = "owns /h/mcp.json#servers.demo for /other";
        check(None, Some((1, both)), Some(1), Keep, &[elsewhere]);
        check(None, Some((1, &[ELSEWHERE])), Some(1), Keep, &[elsewhere]);
        let shared = "owns /h/mcp.json#servers.demo for /other /shop";
        check(Some(1), Some((1, &[ELSEWHERE])), Some(1), Keep, &[SAME, shared]);
    }

    #[test]
    fn the_file_and_the_tables_that_we_made_go_with_the_last_entry_in_any_order() {
        let one = || demo(json!(1));
        let two = || server(FILE.into(), &["servers", "two"], json!(2));
        // Both at once, or one after the other; and then either goes first.
        for steps in [
            vec![vec![one(), two()], vec![two()], vec![]],
            vec![vec![one(), two()], vec![one()], vec![]],
            vec![vec![one()], vec![one(), two()], vec![two()], vec![]],
            vec![vec![one()], vec![two()], vec![one()], vec![]],
        ] {
            for start in [None, Some("{ \"mine\": 0 }\n"), Some("{\n  \"servers\": {}\n}")] {
                let (mut now, mut owned) = (start.map(str::to_owned), ledger([]));
                for step in &steps {
                    let facts = now.as_deref().map_or_else(Facts::default, holding);
                    let plan = plan(&wanted(step.clone()), &facts, &owned, Edited::Keep).0;
                    assert_eq!(plan.changes.len(), 1);
                    now = after(&plan).map(str::to_owned);
                    owned = plan.owned;
                }
                assert_eq!((now.as_deref(), owned), (start, ledger([])), "{steps:?}");
            }
        }
    }

    #[test]
    fn a_file_that_we_made_stays_when_something_else_is_in_it() {
        let made: &[&[&str]] = &[&[], &["servers"]];
        let before = ledger([key("demo", json!(1), made, &[HERE])]);
        let text = "{ \"mine\": 0, \"servers\": { \"demo\": 1 } }";
        let (plan, _) = plan(&wanted([]), &holding(text), &before, Edited::Keep);
        assert_eq!(after(&plan), Some("{ \"mine\": 0 }"));
    }

    #[test]
    fn what_the_user_made_anew_does_not_go_with_our_entry() {
        let made: &[&[&str]] = &[&[], &["servers"]];
        let before = ledger([key("demo", json!(1), made, &[HERE])]);
        let theirs = "{ \"servers\": {} }";
        let (put, _) = plan(&wanted([demo(json!(1))]), &holding(theirs), &before, Edited::Keep);
        let now = holding(after(&put).unwrap());
        let (taken, _) = plan(&wanted([]), &now, &put.owned, Edited::Keep);
        assert_eq!(after(&taken), Some(theirs));
    }

    #[test]
    fn what_a_file_of_ours_needs_goes_when_nothing_else_is_left_in_it() {
        let version = server(FILE.into(), &["version"], json!(1));
        let version = DesiredPart { share: Share::Scaffold, ..version };
        let both = wanted([version, demo(json!(1))]);
        let (put, _) = plan(&both, &Facts::default(), &ledger([]), Edited::Keep);
        let text = after(&put).unwrap();
        assert!(text.contains("\"version\": 1"), "{text}");
        let (taken, lines) = plan(&wanted([]), &holding(text), &put.owned, Edited::Keep);
        assert_eq!(
            (after(&taken), lines),
            (None, vec!["removed /h/mcp.json removed:demo".to_owned()])
        );
        // Somebody else's entry needs it, too, and an empty list of theirs does not.
        for (theirs, stays) in [("\"theirs\": 1,", true), ("\"theirs\": [],", false)] {
            let text = text.replacen('{', &format!("{{ {theirs}"), 1);
            let (taken, _) = plan(&wanted([]), &holding(&text), &put.owned, Edited::Keep);
            let left = after(&taken).unwrap();
            assert_eq!(left.contains("\"version\": 1"), stays, "{left}");
        }
    }

    #[test]
    fn hosts_that_share_a_file_share_the_entry() {
        let other = DesiredPart { host: host("amp"), ..demo(json!(1)) };
        let both = wanted([demo(json!(1)), other]);
        let (_, lines) = plan(&both, &holding("{}"), &ledger([]), Edited::Keep);
        let owns = "owns /h/mcp.json#servers.demo for /shop";
        assert_eq!(lines, ["updated /h/mcp.json new:demo", owns]);
    }

    #[test]
    fn a_file_that_cannot_be_understood_is_left_alone_with_all_that_is_recorded() {
        let owns = "owns /h/mcp.json#servers.demo for /shop";
        let unreadable = File::Unreadable("permission denied".to_owned());
        let broken = [
            "{ \"servers\": ",
            "[]",
            "{ \"servers\": 1 }",
            "{ \"servers\": { \"a\": 1, \"a\": 2 } }",
        ];
        let facts = broken.map(holding).into_iter();
        for facts in facts.chain([Facts::default().with_file(FILE, unreadable)]) {
            let desired =
                wanted([demo(json!(2)), server(FILE.into(), &["servers", "x"], json!(1))]);
            let before = ledger([key("demo", json!(1), &[], &[HERE])]);
            let (plan, lines) = plan(&desired, &facts, &before, Edited::Overwrite);
            assert_eq!(lines, ["says left alone", owns]);
            assert_eq!(plan.owned, before);
        }
    }
}

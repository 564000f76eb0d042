use std::time::Duration;

use proptest::{
    collection::vec,
    prelude::*,
    sample::{select, subsequence},
};

use super::*;
use crate::grants::{GrantKind, SecretKey};

const MODES: [PermissionMode; 5] = [
    PermissionMode::Plan,
    PermissionMode::DontAsk,
    PermissionMode::Default,
    PermissionMode::AcceptEdits,
    PermissionMode::BypassPermissions,
];

fn at(seconds: u64) -> Moment {
    Moment(Duration::from_secs(seconds))
}

fn granted(tool: &str, until: u64) -> Grant {
    Grant { kind: GrantKind::Tool(tool.to_owned()), until: Some(at(until)) }
}

#[test]
fn the_table_of_modes() {
    use Effect::{Executes, Network, Reads, Writes};
    let letter = |verdict: &Verdict| match verdict {
        Verdict::Allow => 'y',
        Verdict::Ask(_) => '?',
        Verdict::Deny(_) => 'n',
    };
    let said = MODES.map(|mode| {
        let judged = [Reads, Writes, Executes, Network].map(|effect| {
            let effects = Effects::NONE.and(effect);
            let call = Call { tool: "x", effects, subject: &Subject::Nothing, protected: None };
            judge(&call, &Rights::all(), mode, &Grants::default(), at(0))
        });
        judged.iter().map(letter).collect::<String>()
    });
    assert_eq!(said, ["ynnn", "ynnn", "y???", "yy??", "yyyy"]);
}

#[test]
fn a_grant_is_the_answer_where_it_would_ask_and_nowhere_else() {
    let mut grants = Grants::default();
    grants.add(granted("edit", 10));
    let call =
        |tool| Call { tool, effects: Effects::WRITES, subject: &Subject::Nothing, protected: None };
    let verdict = |tool, rights: &Rights, mode, now| {
        judge(&call(tool), rights, mode, &grants, at(now)).rank()
    };
    let all = Rights::all();
    assert_eq!(verdict("edit", &all, PermissionMode::Default, 9), 2);
    assert_eq!(verdict("edit", &all, PermissionMode::DontAsk, 9), 2);
    assert_eq!(verdict("edit", &all, PermissionMode::Plan, 9), 0);
    assert_eq!(verdict("edit", &all, PermissionMode::BypassPermissions, 10), 0, "it is over");
    assert_eq!(verdict("write", &all, PermissionMode::Default, 9), 1, "another tool");
    assert_eq!(verdict("edit", &Rights::only(["read"]), PermissionMode::Default, 9), 0);
}

#[test]
fn a_protected_file_needs_a_grant_that_names_it() {
    let subject = Subject::Paths(vec![".git/config".into()]);
    let call = Call {
        tool: "write",
        effects: Effects::WRITES,
        subject: &subject,
        protected: Some(".git/config"),
    };
    let verdict = |grant: Option<&str>, mode| {
        let mut grants = Grants::default();
        grant.into_iter().for_each(|it| grants.add(granted(it, 9)));
        judge(&call, &Rights::all(), mode, &grants, at(0)).rank()
    };
    assert_eq!(verdict(None, PermissionMode::BypassPermissions), 1);
    assert_eq!(verdict(None, PermissionMode::AcceptEdits), 1);
    assert_eq!(verdict(None, PermissionMode::DontAsk), 0);
    assert_eq!(verdict(Some("write"), PermissionMode::AcceptEdits), 1);
    assert_eq!(verdict(Some("write(src/**)"), PermissionMode::AcceptEdits), 1);
    assert_eq!(verdict(Some("write(.git/**)"), PermissionMode::Default), 2);
}

#[test]
fn bypass_is_only_for_those_who_are_allowed_to() {
    let mode =
        |bypass| Standing::root(Rights::all(), PermissionMode::BypassPermissions, bypass).mode;
    assert_eq!(mode(Bypass::Allowed), PermissionMode::BypassPermissions);
    assert_eq!(mode(Bypass::Forbidden), PermissionMode::AcceptEdits);
}

#[test]
fn an_effect_that_is_there_already_stays() {
    let all = [Effect::Reads, Effect::Writes, Effect::Executes, Effect::Network];
    for effect in all {
        assert!(!Effects::NONE.has(effect));
        assert_eq!(Effects::ALL.and(effect), Effects::ALL);
        let only = Effects::NONE.and(effect);
        assert_eq!(all.map(|it| only.has(it)), all.map(|it| it == effect));
    }
}

#[test]
fn what_conflicts() {
    let runs = Effects::NONE.and(Effect::Executes);
    for (one, other, conflict) in [
        (Effects::READS, Effects::READS, false),
        (Effects::READS, Effects::WRITES, true),
        (Effects::WRITES, Effects::WRITES, true),
        (runs, Effects::READS, true),
        (runs, Effects::NONE, false),
        (Effects::READS.and(Effect::Network), Effects::READS, false),
    ] {
        assert_eq!(one.conflict(other), conflict);
        assert_eq!(other.conflict(one), conflict);
    }
}

/// What somebody reads before they agree.
#[test]
fn what_is_asked() {
    let asked = |why: &Why, about: Option<&str>| {
        let (tool, about) = ("bash".to_owned(), about.map(str::to_owned));
        Question { tool, about, why: why.clone() }.to_string()
    };
    for (effect, about, nothing) in [
        (Effect::Reads, "`bash` looks at `x`", "`bash` looks at something"),
        (Effect::Writes, "`bash` changes `x`", "`bash` changes files"),
        (Effect::Executes, "`bash` runs `x`", "`bash` runs programs"),
        (Effect::Network, "`bash` uses the network: `x`", "`bash` uses the network"),
    ] {
        assert_eq!(asked(&Why::Effect(effect), Some("x")), about);
        assert_eq!(asked(&Why::Effect(effect), None), nothing);
    }
    let hook = |reason: &str| asked(&Why::Hook(reason.to_owned()), None);
    assert_eq!(hook(""), "a hook asks about `bash`");
    assert_eq!(hook("too large"), "a hook asks about `bash`: too large");
    let file = Why::Protected(".envrc".to_owned());
    assert_eq!(asked(&file, None), "`bash` changes `.envrc`, which others run or trust");
    let secret = |reason: Option<&str>| {
        let (agent, from) = ("deploy".to_owned(), "the keyring".to_owned());
        let reason = reason.map(str::to_owned);
        let wanted = WantedSecret { agent, from, reason, longest: None };
        asked(&Why::Secret(Box::new(wanted)), Some("TOKEN"))
    };
    let wanted = "`deploy` wants the secret `TOKEN` (from the keyring) for commands that name it";
    assert_eq!(secret(None), wanted);
    assert_eq!(secret(Some("to upload")), format!("{wanted}, and says: to upload"));
}

#[test]
fn what_is_said_to_whoever_may_not() {
    for (rule, said) in [
        (Rule::PlanMode, "in plan mode nothing is changed"),
        (Rule::DontAsk, "it would have to be asked for, and nobody is asked"),
        (Rule::GrantOver, "the grant for it has expired or was revoked"),
    ] {
        assert_eq!(rule.to_string(), said);
    }
    let refusal = Rights::nothing().cover("bash", &Subject::Nothing).unwrap_err();
    assert_eq!(Rule::Rights(refusal.clone()).to_string(), refusal.to_string());
}

/// Who agreed to one of them for as long as an agent runs need not be asked for the other.
#[test]
fn questions_are_alike_by_tool_and_reason() {
    let question = |tool: &str, why| Question {
        tool: tool.to_owned(),
        about: Some(format!("{tool} of {why:?}")),
        why: Why::Effect(why),
    };
    let one = question("bash", Effect::Executes);
    assert!(one.is_like(&Question { about: None, ..one.clone() }));
    assert!(!one.is_like(&question("web_fetch", Effect::Executes)));
    assert!(!one.is_like(&question("bash", Effect::Network)));
}

#[test]
fn what_is_done_without_asking_is_what_every_tool_of_that_kind_may_do() {
    use Effect::{Executes, Network, Reads, Writes};
    let unasked = |rights: &Rights, mode| {
        let standing = Standing::root(rights.clone(), mode, Bypass::Allowed);
        let effects = standing.unasked(at(0));
        [Reads, Writes, Executes, Network].map(|it| effects.has(it))
    };
    let all = Rights::all();
    assert_eq!(unasked(&all, PermissionMode::Default), [true, false, false, false]);
    assert_eq!(unasked(&all, PermissionMode::AcceptEdits), [true, true, false, false]);
    assert_eq!(unasked(&all, PermissionMode::BypassPermissions), [true; 4]);
    let most = PermissionMode::BypassPermissions;
    let without = |tools: &[&str]| unasked(&all.clone().without(tools), most);
    assert_eq!(without(&["search"]), [false, true, true, true]);
    assert_eq!(without(&["edit(docs/*)"]), [true, false, true, true], "not with everything");
    assert_eq!(without(&["bash", "web_search"]), [true, true, false, false]);
}

/// Everything that a definition, a request, a grant or a mode may say, and calls that try all of it.
const PATTERNS: &[&str] = &[
    "read",
    "Read(src/**)",
    "write",
    "write(docs/*)",
    "edit",
    "search",
    "glob",
    "bash",
    "Bash(cargo *)",
    "bash(cargo test *)",
    "bash(git push *)",
    "bash(",
    "mcp__a__*",
    "mcp__*",
    "*",
    "task(explore)",
    "todo",
    "",
];

fn rights() -> impl Strategy<Value = Rights> {
    let some = || subsequence(PATTERNS, 0..6);
    prop_oneof![
        1 => Just(Rights::all()),
        1 => Just(Rights::nothing()),
        4 => (some(), some()).prop_map(|(only, without)| Rights::only(only).without(without)),
        2 => some().prop_map(|without| Rights::all().without(without)),
        1 => (some(), some()).prop_map(|(one, other)| Rights::all().restrict(one).restrict(other)),
    ]
}

fn grant() -> impl Strategy<Value = Grant> {
    (select(PATTERNS), proptest::option::of(0_u64..20), any::<bool>()).prop_map(
        |(tool, until, is_tool)| {
            let kind = match SecretKey::new("KEY") {
                Some(key) if !is_tool => GrantKind::Secret(key),
                _ => GrantKind::Tool(tool.to_owned()),
            };
            Grant { kind, until: until.map(at) }
        },
    )
}

fn call() -> impl Strategy<Value = (&'static str, Effects, Subject, Option<&'static str>)> {
    let commands =
        ["cargo test -q", "cargo build", "git push x", "cargo a; rm b", "cargo $(x)", "("];
    let paths = ["src/a.rs", "docs/a.md", ".git/config", ""];
    let subject = prop_oneof![
        Just(Subject::Nothing),
        Just(Subject::Tree),
        select(commands.to_vec()).prop_map(|it| Subject::Command(it.to_owned())),
        select(paths.to_vec()).prop_map(|it| Subject::Paths(vec![it.into()])),
        Just(Subject::Text("explore".to_owned())),
    ];
    let tools =
        ["read", "write", "edit", "grep", "find", "bash", "mcp__a__b", "task", "todo", "unknown"];
    let effects =
        vec(select(&[Effect::Reads, Effect::Writes, Effect::Executes, Effect::Network]), 0..3)
            .prop_map(|it| it.into_iter().fold(Effects::NONE, Effects::and));
    (select(tools.to_vec()), effects, subject, proptest::option::of(Just(".git/config")))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// No sequence of definition, request, parent, mode and grants gives a child what its parent lacks, at any time.
    #[test]
    fn a_child_has_never_more_than_its_parent(
        own in rights(),
        mode in select(&MODES),
        own_grants in vec(grant(), 0..4),
        line in vec((rights(), rights(), proptest::option::of(select(&MODES)), vec(grant(), 0..4), 0_u64..5), 1..5),
        calls in vec((call(), 0_u64..25), 1..12),
    ) {
        let mut parent = Standing::root(own, mode, Bypass::Allowed);
        own_grants.into_iter().for_each(|it| parent.grants.add(it));
        let mut now = 0;
        for (definition, request, mode, grants, later) in line {
            now += later;
            let birth = Birth { definition, request, mode, grants: &grants };
            let child = parent.child(&birth, at(now));
            for ((tool, effects, subject, protected), after) in &calls {
                let call = Call { tool, effects: *effects, subject, protected: *protected };
                let moment = at(now + after);
                let (above, below) = (parent.judge(&call, moment), child.judge(&call, moment));
                prop_assert!(
                    below.rank() <= above.rank(),
                    "{call:?}: the parent gets {above:?}, the child {below:?}"
                );
                prop_assert!(!child.offers(tool) || parent.offers(tool));
                for definition in [&birth.definition, &birth.request] {
                    if definition.cover(tool, subject).is_err() {
                        prop_assert!(matches!(below, Verdict::Deny(_)));
                    }
                }
                let secrets = |it: &Standing| it.grants.secrets(moment).count();
                prop_assert!(secrets(&child) == 0 || secrets(&parent) > 0);
            }
            parent = child;
        }
    }

    /// The order in which conditions come together does not matter, and saying one twice changes nothing.
    #[test]
    fn the_meet_is_one_of_a_lattice(one in rights(), two in rights(), three in rights()) {
        prop_assert_eq!(one.meet(&two), two.meet(&one));
        prop_assert_eq!(one.meet(&two).meet(&three), one.meet(&two.meet(&three)));
        prop_assert_eq!(one.meet(&one), one.clone());
        prop_assert_eq!(one.meet(&Rights::all()), one);
        prop_assert!(!two.meet(&Rights::nothing()).allows("read"));
    }
}

//! Worktrees and budgets: there must be room for what is asked.

use super::*;

#[test]
fn a_worktree_is_refused_where_there_is_none() {
    let mut world = World::new();
    world.no_worktrees = Some("this is no git repository".to_owned());
    world.agent("explore").isolation = Some(Isolation::Worktree);
    world.refuses(
        "explore",
        "isolation",
        "its own worktree cannot be made: this is no git repository",
    );
    let isolation = Some(Isolation::None);
    let request = TaskRequest { isolation, ..TaskRequest::new("explore", "x") };
    assert!(world.run(request).is_ok(), "the call has the last word");
}

#[test]
fn something_of_everything_must_be_left_for_all() {
    let mut world = World::new();
    world.left.children = Some(1);
    let two = vec![TaskRequest::new("explore", "a"), TaskRequest::new("explore", "b")];
    let refused = world.batch(&Batch { context: None, tasks: two }).unwrap_err();
    assert_eq!(refused.items, [(None, Refusal::Budget(Limit::Children))]);
    assert!(world.start("explore").is_ok());
    world.left.tokens = Some(0);
    world.refuses("explore", "budget", "there are no tokens left for it");
    world.left.tokens = Some(1);
    world.left.time = Some(Duration::ZERO);
    assert_eq!(world.start("explore").unwrap_err(), Refusal::Budget(Limit::Time));
    world.left.time = Some(Duration::from_nanos(1));
    assert!(world.start("explore").is_ok());
}

#[test]
fn nothing_is_forgotten_where_none_is_to_be_kept() {
    let mut world = World::new();
    for (said, kept) in [(None, None), (Some(0), None), (Some(1), Some(1)), (Some(7), Some(7))] {
        world.agent("explore").limits.history = said;
        assert_eq!(world.start("explore").unwrap().history, kept);
    }
}

#[test]
fn a_slot_is_worth_waiting_for() {
    let mut world = World::new();
    world.slots = Some(0);
    let refused = world.refuses("explore", "slot", "3 tasks are running, and no more may");
    assert_eq!(refused.again(), Again::Later);
    assert_eq!(Refusal::EmptyPrompt.again(), Again::Never);
}

#[test]
fn limits_are_the_lower_ones_of_call_and_definition_then_those_of_the_settings() {
    let mut world = World::new();
    world.agent("explore").limits.turns = Some(5);
    let limits = Limits { turns: Some(9), tokens: Some(7), ..Limits::default() };
    let agent = world.run(TaskRequest { limits, ..TaskRequest::new("explore", "x") }).unwrap();
    assert_eq!((agent.limits.turns, agent.limits.tokens), (Some(5), Some(7)));
    assert_eq!(agent.limits.time, Limits::DEFAULT.time);
}

#[test]
fn beyond_the_bounds_only_the_user_goes() {
    let turns = |most| Limits { turns: Some(most), ..Limits::default() };
    let mut world = World::new();
    world.settings.bounds = turns(3);
    world.agent("explore").limits.turns = Some(12);
    let asking = |most| TaskRequest { limits: turns(most), ..TaskRequest::new("explore", "x") };
    assert_eq!(world.start("explore").unwrap().limits.turns, Some(3), "no definition does");
    assert_eq!(world.run(asking(9)).unwrap().limits.turns, Some(9));
    assert_eq!(world.run(asking(20)).unwrap().limits.turns, Some(12), "nor beyond a definition");
    for source in [DispatchSource::TaskTool, DispatchSource::Plan] {
        world.caller.source = Some(source);
        assert_eq!(world.run(asking(9)).unwrap().limits.turns, Some(3), "{source:?}");
        assert_eq!(world.run(asking(2)).unwrap().limits.turns, Some(2), "{source:?}");
    }
}

#[test]
fn what_must_hold_is_what_both_say_and_must_be_understood() {
    let mut world = World::new();
    let say =
        |it: &mut AgentDefinition, value| drop(it.extra.insert("done-when".to_owned(), value));
    say(world.agent("explore"), json!({ "commands": ["one"] }));
    let mut request = TaskRequest::new("explore", "x");
    request.done_when.commands.push("two".to_owned());
    let agent = world.run(request.clone()).unwrap();
    assert_eq!(
        (&agent.done_when.commands[..], &agent.users_word.commands[..]),
        (&["one".to_owned()][..], &["two".to_owned()][..])
    );
    world.caller.source = Some(DispatchSource::TaskTool);
    let agent = world.run(request).unwrap();
    assert_eq!(agent.done_when.commands, ["one", "two"], "only the user's word is the user's");
    assert!(agent.users_word.is_empty());
    say(world.agent("explore"), json!("tests pass"));
    assert_eq!(world.start("explore").unwrap_err().rule(), "done-when");
}

#[test]
fn whether_somebody_waits_is_said_by_the_definition() {
    let mut world = World::new();
    world.agent("review").waiting = Some(Waiting::Blocking);
    assert_eq!(world.start("review").unwrap().waiting, Some(Waiting::Blocking));
}

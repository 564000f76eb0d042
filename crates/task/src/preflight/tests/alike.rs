//! What was decided once holds for those that are like it, and is there once.

use std::sync::Arc;

use super::*;
use crate::{effective::Continuation, id::TaskId, telemetry::TraceId};

fn named(name: &str, prompt: &str) -> TaskRequest {
    TaskRequest { name: Some(name.to_owned()), ..TaskRequest::new("explore", prompt) }
}

fn tasks(tasks: Vec<TaskRequest>) -> Batch {
    Batch { context: None, tasks }
}

#[test]
fn each_of_a_batch_has_its_own_name_and_assignment() {
    let batch = tasks(vec![named("a", " first "), named("b", " second "), named("c", "third")]);
    let agents = World::new().batch(&batch).unwrap();
    let prompts: Vec<&str> = agents.iter().map(|it| it.prompt.as_str()).collect();
    assert_eq!(prompts, ["first", "second", "third"]);
    let paths: Vec<String> = agents.iter().map(|it| it.path.to_string()).collect();
    assert_eq!(paths.iter().map(|it| &it[it.len() - 1..]).collect::<Vec<_>>(), ["a", "b", "c"]);
    assert!(agents[0].is_shared_with(&agents[2]));
}

#[test]
fn the_longest_name_is_one() {
    let called = |length: usize| World::new().run(named(&"n".repeat(length), "x"));
    assert!(called(MAX_NAME).is_ok());
    assert_eq!(called(MAX_NAME + 1).unwrap_err().rule(), "name");
}

#[test]
fn what_was_decided_before_is_not_decided_again() {
    let mut world = World::new();
    let (first, other) = (named("a", "first"), TaskRequest::new("review", "x"));
    let agent = world.run(first.clone()).unwrap();
    let decided = Decided::new(&first, &world.caller, &agent).unwrap();
    assert!(decided.is_of(&agent));
    // Nobody of that name is left, and nobody looks.
    world.agents.retain(|it| it.name.as_str() != "explore");
    let again = world.after(Some(&decided), &tasks(vec![named("b", "second")])).unwrap().remove(0);
    assert!(decided.is_of(&again) && again.is_shared_with(&agent));
    assert_eq!((again.prompt.as_str(), agent.prompt.as_str()), ("second", "first"));
    let review = world.after(Some(&decided), &tasks(vec![other])).unwrap().remove(0);
    assert_eq!(review.name.as_str(), "review");
    assert!(!decided.is_of(&review));
}

#[test]
fn what_is_like_all_others_has_nothing_of_its_own_to_do() {
    let world = World::new();
    let mut agent = world.run(named("a", "first")).unwrap();
    let from = TaskId::new();
    let trace = TraceId::of(from);
    agent.continues =
        Some(Arc::new(Continuation { from, trace, messages: Vec::new(), claim: None }));
    let bare = agent.without_assignment();
    assert!(bare.prompt.is_empty() && bare.continues.is_none());
    assert!(bare.is_shared_with(&agent));
}

#[test]
fn what_is_the_same_of_two_is_there_once_and_what_differs_stays() {
    let schema = |name: &str| Some(json!({ "type": "object", "title": name }));
    let made = |request: TaskRequest| World::new().run(request).unwrap();
    let with = |name: &str| made(TaskRequest { schema: schema(name), ..named("a", "x") });
    let (one, mut same, mut other) = (with("one"), with("one"), with("two"));
    assert!(!one.is_shared_with(&same), "made by themselves");
    same.share(&one);
    assert!(one.is_shared_with(&same));
    assert!(Arc::ptr_eq(&same.lineage, &one.lineage) && Arc::ptr_eq(&same.model, &one.model));
    // Another schema is another text of what to do, and the same rights.
    let before = other.clone();
    other.share(&one);
    assert!(Arc::ptr_eq(&other.standing, &one.standing) && other.schema == before.schema);
    assert!(other.system == before.system && !Arc::ptr_eq(&other.system, &one.system));
    assert!(!other.is_shared_with(&one), "all of it must be the same");
    for change in [
        |it: &mut EffectiveAgent| it.system = "another".into(),
        |it: &mut EffectiveAgent| it.standing = Arc::new((*it.standing).clone()),
        |it: &mut EffectiveAgent| it.model = Arc::new((*it.model).clone()),
    ] {
        let mut changed = same.clone();
        change(&mut changed);
        assert!(!changed.is_shared_with(&one) && !one.is_shared_with(&changed));
    }
}

#[test]
fn what_it_is_told_besides_goes_before_how_the_result_is_handed_in() {
    let mut agent = World::new().start("explore").unwrap();
    assert_eq!(agent.role(), "You explore.");
    agent.brief(" There is a build slot. \n");
    assert_eq!(agent.role(), "You explore.\n\nThere is a build slot.");
    let (before, after) = agent.system.split_once("# When you are done").unwrap();
    assert_eq!(before, "You explore.\n\nThere is a build slot.\n\n");
    assert!(after.contains(YIELD));
}

//! Who may hand out tasks at all.

use super::*;

#[test]
fn who_has_no_dispatch_source_is_refused_before_anything_else() {
    let mut world = World::new();
    world.caller.source = None;
    let refused = world.run(TaskRequest::default()).unwrap_err();
    assert_eq!(refused, Refusal::NotAuthorized);
    assert_eq!(refused.sentinel(), Some("subagents: dispatch not authorized"));
}

#[test]
fn the_word_of_a_source_is_normalised_and_others_are_none() {
    for (word, source) in [
        (" Task_Tool ", Some(DispatchSource::TaskTool)),
        ("task_tool", Some(DispatchSource::TaskTool)),
        ("", None),
        ("prompt", None),
    ] {
        assert_eq!(DispatchSource::from_word(word), source, "{word}");
    }
}

#[test]
fn a_blank_instruction_is_refused() {
    let refused = World::new().run(TaskRequest::new("nobody", " \n ")).unwrap_err();
    assert_eq!(refused.sentinel(), Some("subagents: instruction is empty"));
}

#[test]
fn an_unknown_target_is_refused_with_those_that_there_are() {
    let refused = World::new().refuses(
        "Explore",
        "unknown",
        "Unknown agent \"Explore\". Available: explore, review, task",
    );
    assert_eq!(refused.sentinel(), Some("subagents: unknown target"));
}

#[test]
fn nobody_there_is_none() {
    let mut world = World::new();
    world.agents.clear();
    world.refuses("explore", "unknown", "Unknown agent \"explore\". Available: none");
}

#[test]
fn a_named_target_is_taken_whatever_would_fit_better() {
    let mut world = World::new();
    world.agent("review").choice.priority = 9;
    let chosen = world.run(TaskRequest::new("explore", "review this")).unwrap();
    assert_eq!((chosen.name.as_str(), chosen.chosen), ("explore", None));
}

#[test]
fn without_a_target_the_one_that_fits_best_is_chosen_and_told_why() {
    let world = World::new();
    let anybody = |prompt: &str| TaskRequest { agent: None, ..TaskRequest::new("", prompt) };
    let chosen = world.run(anybody("review these things")).unwrap();
    assert_eq!(chosen.name.as_str(), "review");
    assert!(chosen.chosen.is_some());
    let refused = world.run(anybody("zzz")).unwrap_err();
    assert_eq!(refused.sentinel(), Some("subagents: no matching subagent"));
}

#[test]
fn without_a_target_only_those_that_could_be_started_are_looked_at() {
    let mut world = World::new().called_by_agent(1, only(&["explore"]));
    let anybody = TaskRequest { agent: None, ..TaskRequest::new("", "review these things") };
    assert_eq!(world.run(anybody.clone()).unwrap().name.as_str(), "explore");
    world.settings.disabled.insert("explore".to_owned());
    assert_eq!(world.run(anybody).unwrap_err().rule(), "no-match");
}

#[test]
fn the_tools_of_a_request_only_narrow() {
    let mut world = World::new();
    let listed = ["read", "bash"].map(ToolPattern::new).to_vec();
    world.agent("explore").tools.allow = Some(listed);
    let with = |tools: &[&str]| {
        let tools = tools.iter().map(|it| (*it).to_owned()).collect();
        world.run(TaskRequest { tools, ..TaskRequest::new("explore", "x") }).unwrap()
    };
    let offered = |agent: &EffectiveAgent| ["read", "bash", "write"].map(|it| agent.offers(it));
    assert_eq!(offered(&with(&[])), [true, true, false], "an empty list says nothing");
    assert_eq!(offered(&with(&[" "])), [true, true, false], "nor do blanks");
    assert_eq!(offered(&with(&["read", "write"])), [true, false, false]);
    let nothing = with(&["write"]);
    assert_eq!(offered(&nothing), [false, false, false], "nothing in common is nothing");
    assert!(nothing.offers(YIELD));
}

//! Where only looking is allowed.

use super::*;

fn planned(change: impl FnOnce(&mut AgentDefinition)) -> EffectiveAgent {
    let mut world = World::new();
    world.caller.planning = Planning::Plan;
    change(world.agent("task"));
    world.start("task").unwrap()
}

#[test]
fn the_prompt_of_plan_mode_goes_before_that_of_the_agent() {
    let agent = planned(|_| {});
    let (before, after) = agent.system.split_once("\n\n").unwrap();
    assert!(before.contains("planning"));
    assert!(after.starts_with("You task."));
}

#[test]
fn the_tools_of_plan_mode_and_yield_and_no_others() {
    let agent = planned(|_| {});
    for tool in PLAN_TOOLS {
        assert!(agent.offers(tool), "{tool}");
    }
    assert!(agent.offers(YIELD), "what it hands in its plan with");
    for tool in ["bash", "write", "edit", TASK, "web_fetch", "todo"] {
        assert!(!agent.offers(tool), "{tool}");
    }
    assert_eq!(agent.standing.mode, PermissionMode::Plan);
}

#[test]
fn plan_mode_takes_away_and_never_gives() {
    let agent = planned(|it| it.tools.allow = Some(vec![ToolPattern::new("read")]));
    assert!(agent.offers("read") && !agent.offers("web_search"));
}

#[test]
fn who_plans_starts_nobody() {
    assert_eq!(planned(|_| {}).spawns, Spawns::None);
}

#[test]
fn model_schema_and_effort_are_those_of_the_effective_agent() {
    let agent = planned(|it| {
        it.model = vec![ModelPattern("script/two".to_owned())];
        it.effort = Some(agents_agent::definition::Effort::High);
        it.output = Some(OutputSchema::of(json!({ "type": "object" })));
    });
    assert_eq!(agent.model.model.id, "two");
    assert!(agent.model.effort.is_some());
    assert!(matches!(agent.schema, Some((_, SchemaFrom::Definition))));
}

#[test]
fn the_mode_of_a_parent_or_a_request_is_enough_and_isolation_is_not_taken() {
    let mut world = World::new();
    world.caller.standing = standing(PermissionMode::Plan);
    assert_eq!(world.start("task").unwrap().planning, Planning::Plan);
    let world = World::new();
    let mode = Some(PermissionMode::Plan);
    let request = TaskRequest { mode, ..TaskRequest::new("task", "x") };
    assert_eq!(world.run(request.clone()).unwrap().planning, Planning::Plan);
    let isolation = Some(Isolation::Worktree);
    let refused = world.run(TaskRequest { isolation, ..request }).unwrap_err();
    assert_eq!(refused, Refusal::IsolatedPlan);
    let isolated = planned(|it| it.isolation = isolation);
    assert_eq!(isolated.isolation, Isolation::None, "the definition's is of no use");
}

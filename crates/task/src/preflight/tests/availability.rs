//! Who may be started, by whom, and how deep.

use super::*;

#[test]
fn a_disabled_agent_is_refused_with_the_enabled_ones_if_there_are_any() {
    let mut world = World::new();
    world.settings.disabled.insert("explore".to_owned());
    let refused = world.refuses("explore", "disabled", "agent `explore` is disabled");
    use agents_system::explain::Explain as _;
    assert_eq!(refused.hint().as_deref(), Some("enabled are `review` and `task`"));
    assert!(refused.place().unwrap().contains("disabled-agents"));
    world.settings.disabled.extend(["review".to_owned(), "task".to_owned()]);
    assert_eq!(world.start("explore").unwrap_err().hint(), None);
}

#[test]
fn disabling_is_exact() {
    let mut world = World::new();
    world.settings.disabled.insert("Explore".to_owned());
    assert!(world.start("explore").is_ok());
}

#[test]
fn who_may_start_any_may_start_any() {
    assert!(World::new().called_by_agent(1, Spawns::Any).start("explore").is_ok());
}

#[test]
fn who_may_start_none_may_start_none() {
    let world = World::new().called_by_agent(1, Spawns::None);
    world.refuses("explore", "spawns", "Cannot spawn 'explore'. Allowed: none (spawns disabled)");
}

#[test]
fn who_may_start_some_may_start_these_by_exact_name() {
    let world = World::new().called_by_agent(1, only(&[" explore ", "review"]));
    assert!(world.start("explore").is_ok());
    let world = World::new().called_by_agent(1, only(&["explore", "review"]));
    world.refuses("task", "spawns", "Cannot spawn 'task'. Allowed: explore, review");
    world.refuses("Explore", "spawns", "Cannot spawn 'Explore'. Allowed: explore, review");
}

#[test]
fn the_spawn_policy_comes_before_the_lookup_and_tells_nothing_of_others() {
    let world = World::new().called_by_agent(1, only(&["explore"]));
    world.refuses("nobody", "spawns", "Cannot spawn 'nobody'. Allowed: explore");
}

#[test]
fn the_blocked_agent_is_refused_and_only_that_one() {
    let mut world = World::new();
    world.settings.blocked = Some(("explore".to_owned(), "PI_BLOCKED_AGENT".to_owned()));
    let refused = world.start("explore").unwrap_err();
    assert_eq!(refused.rule(), "blocked");
    assert_eq!(refused.place().as_deref(), Some("the variable `PI_BLOCKED_AGENT`"));
    assert!(world.start("review").is_ok());
}

#[test]
fn an_agent_is_not_started_from_within_itself() {
    let mut world = World::new().called_by_agent(1, Spawns::Any);
    world.settings.max_depth = None;
    world.caller.lineage = ["task", "review"].map(|it| AgentName::new(it).unwrap()).into();
    world.refuses(
        "task",
        "cycle",
        "Cannot spawn 'task' from within itself: task -> review led here",
    );
    let agent = world.start("explore").unwrap();
    let lineage: Vec<&str> = agent.lineage.iter().map(AgentName::as_str).collect();
    assert_eq!(lineage, ["task", "review", "explore"]);
}

#[test]
fn the_depth_of_the_tree() {
    // The deepest caller that may still start agents, for each limit.
    for (max, deepest) in [(None, 9), (Some(1), 0), (Some(2), 1), (Some(3), 2)] {
        for depth in 0..10 {
            let mut world = World::new().called_by_agent(depth, Spawns::Any);
            world.settings.max_depth = max;
            let started = world.start("explore");
            assert_eq!(started.is_ok(), depth <= deepest, "{max:?} at {depth}");
            if let Err(refused) = started {
                assert_eq!(refused.rule(), "depth");
            }
        }
    }
    let mut world = World::new().called_by_agent(0, Spawns::Any);
    world.settings.max_depth = Some(0);
    assert_eq!(world.start("explore").unwrap_err().rule(), "depth");
    world.caller.source = Some(DispatchSource::User);
    assert!(world.start("explore").is_ok(), "the user is no agent");
}

#[test]
fn at_the_last_level_an_agent_has_neither_the_tool_nor_anybody_to_start() {
    let world = World::new().called_by_agent(1, Spawns::Any);
    let last = world.start("task").unwrap();
    assert_eq!((last.depth(), &last.spawns), (2, &Spawns::None));
    assert!(!last.offers(TASK) && last.offers("read"));
    let above = World::new().start("task").unwrap();
    assert_eq!((above.depth(), &above.spawns), (1, &Spawns::Any));
    assert!(above.offers(TASK));
}

#[test]
fn who_may_start_agents_has_the_tool_for_it_and_nobody_else() {
    let mut world = World::new();
    let agent = world.agent("review");
    agent.spawns = only(&["explore"]);
    agent.tools.allow = Some(vec![ToolPattern::new("read")]);
    assert!(world.start("review").unwrap().offers(TASK));
    assert!(!world.start("explore").unwrap().offers(TASK), "it may start nobody");
}

#[test]
fn the_order_of_the_rules() {
    // Everything is wrong; what is put right makes place for the next rule.
    let mut world = World::new().called_by_agent(2, Spawns::None);
    world.caller.planning = Planning::Plan;
    world.settings.blocked = Some(("review".to_owned(), "X".to_owned()));
    world.settings.disabled.insert("review".to_owned());
    world.no_worktrees = Some("no repository".to_owned());
    world.left.turns = Some(0);
    world.slots = Some(0);
    let review = world.agents.remove(1);
    world.models.clear();
    let mut request = TaskRequest::new("review", "");
    request.isolation = Some(Isolation::Worktree);
    request.mode = Some(PermissionMode::BypassPermissions);
    request.schema = Some(json!("{"));
    let mut rules = Vec::new();
    loop {
        let rule = match world.run(request.clone()) {
            Ok(_) => break,
            Err(refusal) => refusal.rule(),
        };
        rules.push(rule);
        match rule {
            "shape" => request.prompt = "x".to_owned(),
            "plan-mode" => world.caller.planning = Planning::Act,
            "depth" => world.settings.max_depth = None,
            "blocked" => world.settings.blocked = None,
            "spawns" => world.caller.spawns = Spawns::Any,
            "unknown" => world.agents.push(review.clone()),
            "disabled" => world.settings.disabled.clear(),
            "permission-mode" => world.settings.bypass = Bypass::Allowed,
            "model" => world.models.push(model("one")),
            "schema" => request.schema = None,
            "isolation" => world.no_worktrees = None,
            "budget" => world.left.turns = None,
            "slot" => world.slots = Some(1),
            other => panic!("{other}"),
        }
    }
    assert_eq!(
        rules,
        [
            "shape",
            "plan-mode",
            "depth",
            "blocked",
            "spawns",
            "unknown",
            "disabled",
            "permission-mode",
            "model",
            "schema",
            "isolation",
            "budget",
            "slot"
        ]
    );
}

use std::time::Duration;

use agents_agent::definition::{
    AgentName, MemoryScope, ModelPattern, OutputSchema, SchemaLanguage, Waiting,
};
use agents_model::select::{Available, Credentials, ModelRef};
use agents_tool::Moment;
use serde_json::{Value, json};

use super::*;
use crate::{refusal::Again, submission::YIELD};

mod alike;

/// A small world in which everything is allowed, to be changed by each test.
struct World {
    agents: Vec<AgentDefinition>,
    settings: Settings,
    caller: Caller,
    no_worktrees: Option<String>,
    left: Limits,
    slots: Option<usize>,
    models: Vec<Available>,
}

fn agent(name: &str) -> AgentDefinition {
    let mut agent = AgentDefinition::blank(AgentName::new(name).unwrap());
    agent.description = format!("use it to {name} things");
    agent.prompt = format!("You {name}.");
    agent
}

fn standing(mode: PermissionMode) -> Standing {
    Standing::root(Rights::all(), mode, Bypass::Allowed)
}

fn model(id: &str) -> Available {
    Available::new(ModelRef::new("script", id), Credentials::Ready)
}

impl World {
    fn new() -> Self {
        let mut spawner = agent("task");
        spawner.spawns = Spawns::Any;
        Self {
            agents: vec![agent("explore"), agent("review"), spawner],
            settings: Settings::default(),
            caller: Caller::user(standing(PermissionMode::AcceptEdits)),
            no_worktrees: None,
            left: Limits::default(),
            slots: None,
            models: vec![model("one"), model("two")],
        }
    }

    /// The caller is an agent this deep, and may start these.
    fn called_by_agent(mut self, depth: usize, spawns: Spawns) -> Self {
        self.caller.source = Some(DispatchSource::TaskTool);
        for at in 0..depth {
            let name = format!("ancestor{at}");
            self.caller.path = self.caller.path.child(&name, &crate::id::Taken::default());
            let own = AgentName::new(&name).unwrap();
            self.caller.lineage = self.caller.lineage.iter().cloned().chain([own]).collect();
        }
        self.caller.spawns = spawns;
        self
    }

    fn agent(&mut self, name: &str) -> &mut AgentDefinition {
        self.agents.iter_mut().find(|it| it.name.as_str() == name).unwrap()
    }

    fn batch(&self, batch: &Batch) -> Result<Vec<EffectiveAgent>, Refused> {
        self.after(None, batch)
    }

    /// The same, with what was decided before.
    fn after(
        &self,
        before: Option<&Decided>,
        batch: &Batch,
    ) -> Result<Vec<EffectiveAgent>, Refused> {
        let agents: Vec<&AgentDefinition> = self.agents.iter().collect();
        let situation = Situation {
            agents: &agents,
            models: &self.models,
            no_worktrees: self.no_worktrees.clone(),
            left: self.left,
            slots: self.slots,
            running: 3,
            taken: Box::leak(Box::default()),
            now: Moment::default(),
            before,
        };
        preflight(batch, &self.caller, &self.settings, &situation)
    }

    fn run(&self, request: TaskRequest) -> Result<EffectiveAgent, Refusal> {
        match self.batch(&request.into()) {
            Ok(mut agents) => Ok(agents.remove(0)),
            Err(mut refused) => Err(refused.items.remove(0).1),
        }
    }

    fn start(&self, name: &str) -> Result<EffectiveAgent, Refusal> {
        self.run(TaskRequest::new(name, "do it"))
    }

    #[track_caller]
    fn refuses(&self, name: &str, rule: &str, message: &str) -> Refusal {
        let refusal = self.start(name).unwrap_err();
        assert_eq!((refusal.rule(), refusal.to_string().as_str()), (rule, message));
        refusal
    }
}

fn only(names: &[&str]) -> Spawns {
    Spawns::Only(names.iter().map(|it| (*it).to_owned()).collect())
}

mod dispatch {
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
}

mod shape {
    use super::*;

    #[test]
    fn a_batch_passes_whole_or_not_at_all_and_everything_is_told() {
        let world = World::new();
        let tasks = vec![
            TaskRequest::new("explore", "a"),
            TaskRequest::new("nobody", "b"),
            TaskRequest { schema: Some(json!({ "type": 7 })), ..TaskRequest::new("review", "c") },
        ];
        let refused = world.batch(&Batch { context: None, tasks }).unwrap_err();
        let rules: Vec<_> = refused.items.iter().map(|(at, it)| (*at, it.rule())).collect();
        assert_eq!(rules, [(Some(1), "unknown"), (Some(2), "schema")]);
        assert!(refused.to_string().starts_with("assignment 2: Unknown agent \"nobody\"."));
    }

    #[test]
    fn an_empty_batch_is_refused() {
        let refused = World::new().batch(&Batch::default()).unwrap_err();
        assert_eq!(refused.items, [(None, Refusal::EmptyBatch)]);
    }

    #[test]
    fn missing_and_duplicate_names_are_told_together() {
        let named = |name: &str| TaskRequest {
            name: Some(name.to_owned()),
            ..TaskRequest::new("explore", "x")
        };
        let tasks =
            vec![named("One"), named(" "), named("two"), named("one"), named(&"x".repeat(49))];
        let refused = World::new().batch(&Batch { context: None, tasks }).unwrap_err();
        let told: Vec<String> = refused.items.iter().map(|it| it.1.to_string()).collect();
        assert_eq!(told.len(), 3);
        assert_eq!(told[2], "the name `One` is used 2 times");
        assert!(matches!(&refused.items[2].1, Refusal::SameName { at, .. } if *at == [0, 3]));
    }

    #[test]
    fn names_in_the_tree_are_made_different() {
        let tasks = vec![TaskRequest::new("explore", "a"), TaskRequest::new("explore", "b")];
        let agents = World::new().batch(&Batch { context: None, tasks }).unwrap();
        let paths: Vec<String> = agents.iter().map(|it| it.path.to_string()).collect();
        assert_eq!(paths, ["explore", "explore-2"]);
    }

    #[test]
    fn the_three_forms_of_a_request() {
        for (form, context, schema, refused) in [
            (Form::Default, true, true, None),
            (Form::SchemaFree, true, false, None),
            (
                Form::SchemaFree,
                true,
                true,
                Some("`schema` is not taken here: `schema-free` says so"),
            ),
            (Form::Independent, false, false, None),
            (
                Form::Independent,
                true,
                false,
                Some("`context` is not taken here: `independent` says so"),
            ),
            (
                Form::Independent,
                true,
                true,
                Some("`context` and `schema` are not taken here: `independent` says so"),
            ),
        ] {
            let mut world = World::new();
            world.settings.form = form;
            // What is said counts, even if it is nothing.
            let schema = schema.then_some(Value::Null);
            let batch = Batch {
                context: context.then(String::new),
                tasks: vec![TaskRequest { schema, ..TaskRequest::new("explore", "x") }],
            };
            let told = world.batch(&batch).err().map(|it| it.to_string());
            assert_eq!(told.as_deref(), refused, "{form:?}");
        }
    }

    #[test]
    fn the_shared_context_goes_to_everybody() {
        let batch = Batch {
            context: Some("  the build is broken ".to_owned()),
            tasks: vec![TaskRequest::new("explore", " look \n")],
        };
        let agent = World::new().batch(&batch).unwrap().remove(0);
        assert!(
            agent
                .system
                .starts_with("You explore.\n\n# What you should know\nthe build is broken\n\n")
        );
        assert_eq!(agent.prompt, "look");
    }
}

mod availability {
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
        world.refuses(
            "explore",
            "spawns",
            "Cannot spawn 'explore'. Allowed: none (spawns disabled)",
        );
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
}

mod plan_mode {
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
}

mod schemas {
    use super::*;

    fn schema(name: &str) -> Value {
        json!({ "type": "object", "title": name })
    }

    #[test]
    fn that_of_the_call_then_of_the_definition_then_of_the_parent() {
        let definition =
            OutputSchema { language: SchemaLanguage::JsonSchema, schema: schema("definition") };
        let parent = OutputSchema::of(schema("parent"));
        for (call, own, above, from) in [
            (Some(schema("call")), true, true, Some(SchemaFrom::Call)),
            (Some(json!(schema("call").to_string())), true, true, Some(SchemaFrom::Call)),
            (None, true, true, Some(SchemaFrom::Definition)),
            (Some(Value::Null), true, true, Some(SchemaFrom::Definition)),
            (None, false, true, Some(SchemaFrom::Parent)),
            (None, false, false, None),
        ] {
            let mut world = World::new();
            world.agent("explore").output = own.then(|| definition.clone());
            world.caller.schema = above.then(|| parent.clone());
            let request = TaskRequest { schema: call, ..TaskRequest::new("explore", "x") };
            let agent = world.run(request).unwrap();
            assert_eq!(agent.schema.as_ref().map(|it| it.1), from);
            assert_eq!(agent.system.contains("JSON Schema"), from.is_some());
        }
    }

    #[test]
    fn one_that_does_not_compile_is_refused_with_its_place() {
        let mut world = World::new();
        world.agent("explore").output = Some(OutputSchema::of(json!({ "$ref": "#/none" })));
        let refused = world.start("explore").unwrap_err();
        assert_eq!(refused.rule(), "schema");
        assert_eq!(refused.place().as_deref(), Some("`output` of the definition"));
    }
}

mod rights {
    use super::*;

    #[test]
    fn bypassing_permissions_is_only_allowed_where_the_configuration_says_so() {
        let mut world = World::new();
        world.agent("explore").permission_mode = Some(PermissionMode::BypassPermissions);
        world.refuses("explore", "permission-mode", "`bypass_permissions` is not allowed here");
        world.settings.bypass = Bypass::Allowed;
        let agent = world.start("explore").unwrap();
        assert_eq!(agent.standing.mode, PermissionMode::AcceptEdits, "no more than the parent");
    }

    #[test]
    fn a_child_never_has_what_its_parent_lacks() {
        let mut world = World::new();
        world.caller.standing.rights = Rights::only(["read", "bash(cargo *)"]);
        world.agent("explore").tools.allow =
            Some(["read", "bash", "write"].map(ToolPattern::new).to_vec());
        let agent = world.start("explore").unwrap();
        assert!(agent.offers("read") && agent.offers("bash") && !agent.offers("write"));
        let other = agents_tool::Subject::Command("ls".to_owned());
        assert!(agent.standing.rights.cover("bash", &other).is_err());
    }

    #[test]
    fn who_is_promised_secrets_skills_or_notes_has_the_tool_for_it_and_nobody_else() {
        let mut world = World::new();
        let listed = || Some(vec![ToolPattern::new("read")]);
        let offered = |world: &World| {
            let agent = world.start("explore").unwrap();
            [REQUEST_SECRET, SKILL, MEMORY].map(|it| agent.offers(it))
        };
        world.agent("explore").tools.allow = listed();
        assert_eq!(offered(&world), [false; 3]);
        world.agent("explore").secrets = vec!["TOKEN".to_owned()];
        assert_eq!(offered(&world), [true, false, false]);
        world.agent("explore").skills.include = vec!["queries".to_owned()];
        assert_eq!(offered(&world), [true, true, false]);
        world.agent("explore").memory = Some(MemoryScope::User);
        assert_eq!(offered(&world), [true; 3]);
    }

    #[test]
    fn what_a_definition_takes_away_stays_away() {
        let mut world = World::new();
        world.agent("task").tools.deny = vec![ToolPattern::new("*")];
        let agent = world.start("task").unwrap();
        assert!(!agent.offers("read") && !agent.offers(TASK));
        assert!(agent.offers(YIELD));
    }
}

mod room {
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
        for (said, kept) in [(None, None), (Some(0), None), (Some(1), Some(1)), (Some(7), Some(7))]
        {
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
}

//! Many sub-agents.

mod messages;
mod secrets;

use std::{sync::Arc, time::Duration};

use agents_agent::{AgentDefinition, AgentName, definition::PermissionMode, tools::ToolPattern};
use agents_model::{
    EventStream, ModelError, ModelInfo, Provider, Request, RetryPolicy, script::ScriptProvider,
    select::ModelRef,
};
use agents_task::{
    Limits,
    runner::Opened,
    subagents::{
        HookDef, Model, PlanTaskId, SubAgentConfig, SubAgentError, SubAgentManager, SubAgentState,
        TaskEvent, TaskOutcome, Toolbox, Workbench,
    },
    transcript::{State, Store},
};
use agents_testkit::scratch::Scratch;
use agents_tool::{Confinement, tools::Bash};
use futures_util::future::BoxFuture;
use secrecy::SecretString;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::{block_on, keeper, script};

const SAYS: &str = "[[replies]]\ntext = \"forty-two\"\n";
/// A model that takes longer than any test.
const SLOW: &str = "[[replies]]\ndelay-ms = 600000\ntext = \"late\"\n";
const LONG: Duration = Duration::from_secs(60);

fn with(provider: Arc<dyn Provider>) -> Model {
    let opened = Opened { provider, price: None, window: None };
    Model { model: ModelRef::new("script", "any"), opened }
}

fn playing(text: &str) -> Model {
    let provider = ScriptProvider::new("script", script(text));
    with(Arc::new(provider.with_retry(RetryPolicy::never())))
}

fn definition(name: &str) -> AgentDefinition {
    let mut definition = AgentDefinition::blank(AgentName::new(name).unwrap());
    definition.prompt = format!("You are {name}.");
    definition
}

struct Office {
    scratch: Scratch,
    manager: SubAgentManager,
    config: SubAgentConfig,
}

impl Office {
    /// With so many places, and an agent `worker`.
    fn new(places: usize) -> Self {
        let scratch = Scratch::new();
        fs_err::create_dir(scratch.path("root")).unwrap();
        let mut manager = SubAgentManager::new(places);
        manager.set_transcript_config(Some(scratch.path("tasks").into()), 0);
        manager.definitions_mut().push(definition("worker"));
        Self { scratch, manager, config: SubAgentConfig::default() }
    }

    fn changed(places: usize, change: impl FnOnce(&mut AgentDefinition)) -> Self {
        let mut office = Self::new(places);
        change(&mut office.manager.definitions_mut()[0]);
        office
    }

    fn tools(&self) -> Arc<dyn Toolbox> {
        Arc::new(
            Workbench::at(self.scratch.path("root"))
                .with_bash(Bash::new(keeper()), Confinement::None),
        )
    }

    fn store(&self) -> Store {
        Store::new(&self.scratch.path("tasks"))
    }

    fn state(&self, id: &str) -> State {
        let store = self.store();
        store.meta(store.find_by_prefix(id).unwrap()).unwrap().state
    }

    fn spawn_on(&mut self, model: Model) -> Result<String, SubAgentError> {
        let tools = self.tools();
        self.manager.spawn("worker", "do the work", model, tools, None, &self.config)
    }

    fn spawn(&mut self, text: &str) -> Result<String, SubAgentError> {
        self.spawn_on(playing(text))
    }

    fn resume(&mut self, prefix: &str, text: &str) -> Result<(String, String), SubAgentError> {
        let tools = self.tools();
        self.manager.resume(prefix, "go on", playing(text), tools, None, &self.config)
    }

    fn states(&self) -> Vec<SubAgentState> {
        self.manager.statuses().into_iter().map(|(_, it)| it.state).collect()
    }

    async fn settled(&self) {
        assert!(self.manager.drained(LONG).await);
    }
}

#[test]
fn what_is_not_known_is_not_found() {
    block_on(async {
        let mut office = Office::new(1);
        let missing = |it: Result<(), SubAgentError>| {
            assert!(matches!(it, Err(SubAgentError::NotFound { .. })), "{it:?}");
        };
        let (tools, config) = (office.tools(), office.config.clone());
        let manager = &mut office.manager;
        missing(manager.spawn("nobody", "x", playing(SAYS), tools, None, &config).map(|_| ()));
        for id in ["nonsense", "01a1e2fa-affb-7082-b096-97b22de8c7d6"] {
            missing(manager.cancel(id));
            missing(manager.collect(id).await.map(|_| ()));
            missing(manager.approve_secret(id, "A", LONG));
            missing(manager.deliver_secret(id, "A", SecretString::from("a long value")));
            missing(manager.deny_secret(id));
            assert!(manager.agents_def(id).is_none() && !manager.is_task_finished(id));
        }
        assert!(manager.statuses().is_empty());
    });
}

#[test]
fn spawn_does_not_wait_and_collect_gives_the_result_and_removes_it() {
    block_on(async {
        let mut office = Office::new(2);
        let id = office.spawn(SAYS).unwrap();
        assert_eq!(office.states(), [SubAgentState::Submitted]);
        assert_eq!(office.manager.agents_def(&id).unwrap().name.as_str(), "worker");
        assert_eq!(office.manager.collect(&id).await.unwrap(), "forty-two");
        assert!(office.manager.statuses().is_empty());
        assert!(matches!(office.manager.collect(&id).await, Err(SubAgentError::NotFound { .. })));
        assert_eq!(office.state(&id), State::Completed);
    });
}

#[test]
fn the_manager_is_free_while_somebody_collects() {
    block_on(async {
        let mut office = Office::new(2);
        let id = office.spawn(SLOW).unwrap();
        let collecting = tokio::spawn(office.manager.collect(&id));
        tokio::task::yield_now().await;
        let other = office.spawn(SAYS).unwrap();
        assert_eq!(office.manager.collect(&other).await.unwrap(), "forty-two");
        office.manager.cancel(&id).unwrap();
        assert!(matches!(collecting.await.unwrap(), Err(SubAgentError::Cancelled)));
        assert!(office.manager.statuses().is_empty());
    });
}

#[test]
fn who_stops_waiting_can_come_back() {
    block_on(async {
        let mut office = Office::new(1);
        let id = office.spawn(SAYS).unwrap();
        drop(office.manager.collect(&id));
        office.settled().await;
        let status = office.manager.statuses().remove(0).1;
        assert_eq!((status.state, status.turns_used), (SubAgentState::Completed, 1));
        assert_eq!(status.last_message.as_deref(), Some("forty-two"));
        assert!(office.manager.is_task_finished(&id));
        assert_eq!(office.manager.collect(&id).await.unwrap(), "forty-two");
    });
}

#[test]
fn without_transcripts_nothing_is_written_and_nothing_can_be_resumed() {
    block_on(async {
        let mut office = Office::new(1);
        office.config.transcript_enabled = false;
        let id = office.spawn(SAYS).unwrap();
        assert_eq!(office.manager.collect(&id).await.unwrap(), "forty-two");
        assert!(!office.scratch.path("tasks").exists());
        assert!(matches!(office.resume(&id, SAYS), Err(SubAgentError::NotFound { .. })));
    });
}

#[test]
fn a_manager_that_is_gone_leaves_nothing_running() {
    block_on(async {
        let mut office = Office::new(1);
        let id = office.spawn(SLOW).unwrap();
        tokio::time::sleep(Duration::from_millis(20)).await;
        let collecting = office.manager.collect(&id);
        let store = office.store();
        drop(std::mem::replace(&mut office.manager, SubAgentManager::new(1)));
        assert!(matches!(collecting.await, Err(SubAgentError::Cancelled)));
        assert_eq!(store.meta(store.find_by_prefix(&id).unwrap()).unwrap().state, State::Cancelled);
    });
}

#[test]
fn a_cancelled_one_keeps_its_place_until_it_has_ended() {
    block_on(async {
        let mut office = Office::new(1);
        let id = office.spawn(SLOW).unwrap();
        let full = |it: Result<String, SubAgentError>| {
            assert!(
                matches!(it, Err(SubAgentError::ConcurrencyLimit { active: 1, max: 1 })),
                "{it:?}"
            );
        };
        full(office.spawn(SAYS));
        office.manager.cancel(&id).unwrap();
        assert_eq!(office.states(), [SubAgentState::Canceling]);
        full(office.spawn(SAYS));
        office.settled().await;
        assert_eq!(office.states(), [SubAgentState::Canceled]);
        office.manager.cancel(&id).unwrap();
        assert_eq!(office.states(), [SubAgentState::Canceled], "again changes nothing");
        assert_eq!(office.state(&id), State::Cancelled);
        let next = office.spawn(SAYS).unwrap();
        office.settled().await;
        office.manager.cancel(&next).unwrap();
        assert_eq!(
            office.manager.statuses()[1].1.state,
            SubAgentState::Completed,
            "it was done before"
        );
        office.spawn(SAYS).unwrap();
    });
}

#[test]
fn reservations_keep_places_free() {
    block_on(async {
        let mut office = Office::new(2);
        office.manager.reserve_slots(2);
        assert!(matches!(
            office.spawn(SAYS),
            Err(SubAgentError::ConcurrencyLimit { active: 2, max: 2 })
        ));
        office.manager.release_reservation(1);
        office.spawn(SAYS).unwrap();
    });
}

#[test]
fn a_spawn_that_is_refused_takes_no_place() {
    block_on(async {
        let mut office = Office::new(1);
        let (tools, config) = (office.tools(), office.config.clone());
        let refused = office.manager.spawn("worker", "  ", playing(SAYS), tools, None, &config);
        assert!(matches!(refused, Err(SubAgentError::Refused(_))), "{refused:?}");
        office.spawn(SAYS).unwrap();
    });
}

#[test]
fn no_runtime_is_an_error_and_not_a_panic() {
    let mut office = Office::new(1);
    assert!(matches!(office.spawn(SAYS), Err(SubAgentError::Spawn(_))));
}

#[test]
fn shutdown_ends_all_and_every_transcript_says_so() {
    block_on(async {
        let mut office = Office::new(5);
        let ids: Vec<String> = (0..5).map(|_| office.spawn(SLOW).unwrap()).collect();
        tokio::time::sleep(Duration::from_millis(20)).await;
        office.manager.shutdown_all();
        office.settled().await;
        assert_eq!(office.states(), [SubAgentState::Canceled; 5]);
        for id in ids {
            assert_eq!(office.state(&id), State::Cancelled);
        }
    });
}

#[test]
fn limits_are_kept_and_said() {
    block_on(async {
        let mut office = Office::changed(2, |it| it.limits.turns = Some(1));
        let id = office
            .spawn("[[replies]]\ncalls = [{ name = \"find\", input = { pattern = \"*\" } }]")
            .unwrap();
        assert!(matches!(
            office.manager.collect(&id).await,
            Err(SubAgentError::OutOfLimits(agents_task::Limit::Turns))
        ));
        office.manager.definitions_mut()[0].limits.turns = None;
        office.config.limits = Limits { time: Some(Duration::from_millis(50)), ..Limits::DEFAULT };
        let id = office.spawn(SLOW).unwrap();
        assert!(matches!(
            office.manager.collect(&id).await,
            Err(SubAgentError::OutOfLimits(agents_task::Limit::Time))
        ));
        assert_eq!(office.state(&id), State::OutOfLimits);
    });
}

#[test]
fn a_model_that_fails_is_a_failure() {
    block_on(async {
        let mut office = Office::new(1);
        let id = office
            .spawn("[[replies]]\nfault = { status = { code = 400, message = \"no\" } }")
            .unwrap();
        let failed = office.manager.collect(&id).await;
        assert!(matches!(failed, Err(SubAgentError::Llm(_))), "{failed:?}");
        assert_eq!(office.state(&id), State::Failed);
    });
}

/// A model that breaks down.
#[derive(Debug)]
struct Breaks;

impl Provider for Breaks {
    fn name(&self) -> &str {
        "breaks"
    }

    fn stream(
        &self,
        _: Request,
        _: CancellationToken,
    ) -> BoxFuture<'_, Result<EventStream, ModelError>> {
        panic!("on purpose")
    }

    fn models(&self, _: CancellationToken) -> BoxFuture<'_, Result<Vec<ModelInfo>, ModelError>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }
}

#[test]
fn a_panic_is_contained_and_gives_its_place_back() {
    block_on(async {
        let mut office = Office::new(1);
        let mark = office.scratch.path("hook");
        office
            .manager
            .set_stop_hooks(vec![HookDef::new(format!("echo $CARGO_AGENTS_STATE >> {mark}"))]);
        let id = office.spawn_on(with(Arc::new(Breaks))).unwrap();
        let broke = office.manager.collect(&id).await;
        assert!(matches!(broke, Err(SubAgentError::Spawn(_))), "{broke:?}");
        assert_eq!(office.state(&id), State::Failed);
        office.settled().await;
        assert_eq!(fs_err::read_to_string(mark).unwrap(), "failed\n");
        office.spawn(SAYS).unwrap();
    });
}

#[test]
fn stop_hooks_run_once_after_the_end() {
    block_on(async {
        let mut office = Office::new(4);
        let mark = office.scratch.path("hooks");
        let hook =
            format!("echo $CARGO_AGENTS_TASK_ID $CARGO_AGENTS_AGENT $CARGO_AGENTS_STATE >> {mark}");
        office.manager.set_stop_hooks(vec![HookDef::new("exit 1"), HookDef::new(hook.as_str())]);
        office.config.start_hooks = vec![HookDef::new(hook.as_str())];
        let done = office.spawn(SAYS).unwrap();
        let (cancelled, shut) = (office.spawn(SLOW).unwrap(), office.spawn(SLOW).unwrap());
        office.manager.collect(&done).await.unwrap();
        office.manager.cancel(&cancelled).unwrap();
        assert!(office.manager.collect(&cancelled).await.is_err());
        office.manager.shutdown_all();
        office.settled().await;
        let text = fs_err::read_to_string(mark).unwrap();
        for (id, state) in [(&done, "completed"), (&cancelled, "canceled"), (&shut, "canceled")] {
            let mine: Vec<&str> = text.lines().filter(|it| it.starts_with(id.as_str())).collect();
            let (start, stop) = (format!("{id} worker submitted"), format!("{id} worker {state}"));
            assert_eq!(mine.len(), 2, "{text}");
            assert!(mine.contains(&start.as_str()) && mine.contains(&stop.as_str()), "{text}");
        }
    });
}

#[test]
fn what_a_definition_does_not_say_the_configuration_does() {
    block_on(async {
        let mut office = Office::changed(4, |it| it.tools.deny = vec![ToolPattern::new("bash")]);
        office.config.default_permission_mode = Some(PermissionMode::AcceptEdits);
        office.config.default_disallowed_tools = vec!["bash".to_owned(), "edit".to_owned()];
        let id = office.spawn(SAYS).unwrap();
        let own = office.manager.agents_def(&id).unwrap();
        assert_eq!(own.permission_mode, Some(PermissionMode::AcceptEdits));
        let denied: Vec<&str> = own.tools.deny.iter().map(ToolPattern::as_str).collect();
        assert_eq!(denied, ["bash", "edit"], "without duplicates");
        office.manager.definitions_mut()[0].permission_mode = Some(PermissionMode::Plan);
        let id = office.spawn(SAYS).unwrap();
        assert_eq!(
            office.manager.agents_def(&id).unwrap().permission_mode,
            Some(PermissionMode::Plan)
        );
        office.manager.definitions_mut()[0].permission_mode =
            Some(PermissionMode::BypassPermissions);
        assert!(matches!(office.spawn(SAYS), Err(SubAgentError::Invalid(_))));
        office.config.allow_bypass_permissions = true;
        office.spawn(SAYS).unwrap();
    });
}

#[test]
fn skills_stand_in_a_fence_if_there_are_any() {
    block_on(async {
        let mut office = Office::new(4);
        let said = "[[replies]]\nwhen = { system = \"````skills\\none ```\\n\\ntwo\\n````\" }\ntext = \"with\"\n[[replies]]\ntext = \"without\"\n";
        let spawn = |office: &mut Office, skills: Option<&[&str]>| {
            let tools = office.tools();
            let skills = skills.map(|it| it.iter().map(|it| (*it).to_owned()).collect());
            office
                .manager
                .spawn("worker", "x", playing(said), tools, skills, &office.config)
                .unwrap()
        };
        let with = spawn(&mut office, Some(&["one ```", "two"]));
        assert_eq!(office.manager.collect(&with).await.unwrap(), "with");
        for none in [None, Some(&[][..])] {
            let without = spawn(&mut office, none);
            assert_eq!(office.manager.collect(&without).await.unwrap(), "without");
        }
    });
}

#[test]
fn debugging_shows_counts_and_no_names() {
    block_on(async {
        let mut office = Office::changed(1, |it| it.secrets = vec!["DB_PASSWORD".to_owned()]);
        office.spawn(SAYS).unwrap();
        let shown = format!("{:?}", office.manager);
        assert!(shown.contains("runs: 1") && !shown.contains("DB_PASSWORD"), "{shown}");
    });
}

#[test]
fn resume_has_the_errors_of_the_contract() {
    block_on(async {
        let mut office = Office::new(2);
        assert!(matches!(office.resume("abcd", SAYS), Err(SubAgentError::NotFound { .. })));
        let running = office.spawn(SLOW).unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(matches!(office.resume(&running, SAYS), Err(SubAgentError::StillRunning(_))));
        let done = office.spawn(SAYS).unwrap();
        office.manager.collect(&done).await.unwrap();
        match office.resume(&done[..4], SAYS) {
            Err(SubAgentError::AmbiguousId { candidates, .. }) => assert_eq!(candidates.len(), 2),
            other => panic!("{other:?}"),
        }
        let config = office.config.clone();
        assert_eq!(office.manager.def_name_for_resume(&done, &config).unwrap(), "worker");
        let nobody = office.manager.def_name_for_resume("abcd", &config);
        assert!(matches!(nobody, Err(SubAgentError::NotFound { .. })));
        let filler = office.spawn(SLOW).unwrap();
        assert!(matches!(office.resume(&done, SAYS), Err(SubAgentError::ConcurrencyLimit { .. })));
        office.manager.cancel(&filler).unwrap();
        office.manager.cancel(&running).unwrap();
        office.settled().await;
        let kept = std::mem::take(office.manager.definitions_mut());
        assert!(matches!(
            office.resume(&done, SAYS),
            Err(SubAgentError::NotFound { what: "agent", .. })
        ));
        *office.manager.definitions_mut() = kept;
        let file = office.store().path(office.store().find_by_prefix(&done).unwrap());
        let (id, name) = office.resume(&done, SAYS).unwrap();
        assert!(id != done && name == "worker");
        assert_eq!(office.manager.collect(&id).await.unwrap(), "forty-two");
        let (again, _) = office.resume(&running, SAYS).unwrap();
        assert_eq!(
            office.manager.collect(&again).await.unwrap(),
            "forty-two",
            "a cancelled one, too"
        );
        let store = office.store();
        let meta = store.meta(store.find_by_prefix(&id).unwrap()).unwrap();
        assert_eq!(meta.resumed_from.map(|it| it.to_string()), Some(done.clone()), "to the end");
        fs_err::remove_file(file).unwrap();
        assert!(matches!(office.resume(&done, SAYS), Err(SubAgentError::Transcript(_))));
    });
}

#[test]
fn a_plan_is_told_how_its_tasks_end() {
    block_on(async {
        let mut office = Office::new(8);
        let (sender, mut events) = mpsc::channel::<TaskEvent>(8);
        let (tools, config) = (office.tools(), office.config.clone());
        let mut start = |model, sender: &mpsc::Sender<TaskEvent>| {
            let (plan, tools) = (PlanTaskId("t1".to_owned()), Arc::clone(&tools));
            office
                .manager
                .spawn_for_task("worker", "x", model, tools, None, &config, plan, sender.clone())
                .unwrap()
        };
        for (model, wanted) in [
            (playing(SAYS), "Completed { output: \"forty-two\""),
            (
                playing("[[replies]]\nfault = { status = { code = 400, message = \"no\" } }"),
                "Failed {",
            ),
            (with(Arc::new(Breaks)), "Failed { error: \"failed: the task broke down"),
        ] {
            let id = start(model, &sender);
            let event = events.recv().await.unwrap();
            assert_eq!((event.task_id.0.as_str(), &event.agent_handle_id), ("t1", &id));
            assert!(format!("{:?}", event.outcome).starts_with(wanted), "{event:?}");
        }
        let cancelled = start(playing(SLOW), &sender);
        let unheard = {
            let (gone, _) = mpsc::channel(1);
            start(playing(SAYS), &gone)
        };
        office.manager.cancel(&cancelled).unwrap();
        assert_eq!(events.recv().await.unwrap().outcome, TaskOutcome::Canceled);
        assert_eq!(office.manager.collect(&unheard).await.unwrap(), "forty-two");
    });
}

#[test]
fn definitions_are_read_in_order_and_bad_ones_are_told() {
    let scratch = Scratch::new();
    let agent =
        |name: &str, text: &str| format!("---\nname: {name}\ndescription: d\n---\n{text}\n");
    scratch.write("one/a.md", agent("a", "first"));
    scratch.write("two/a.md", agent("a", "second"));
    scratch.write("two/b.md", agent("b", "b"));
    let dir = |name: &str| scratch.path(name).into_std_path_buf();
    let mut manager = SubAgentManager::new(1);
    manager.load_definitions(&[dir("one"), dir("two"), dir("missing")]).unwrap();
    let known = |manager: &SubAgentManager| -> Vec<(String, String)> {
        manager
            .definitions()
            .iter()
            .map(|it| (it.name.to_string(), it.prompt.trim().to_owned()))
            .collect()
    };
    let both = [("a".to_owned(), "first".to_owned()), ("b".to_owned(), "b".to_owned())];
    assert_eq!(known(&manager), both, "the first one wins, what is missing is skipped");
    scratch.write("bad/x.md", "---\nname: [\n---\n");
    scratch.write("bad/c.md", agent("c", "c"));
    let bad = manager.load_definitions(&[dir("one"), dir("bad")]);
    assert!(matches!(bad, Err(SubAgentError::Parse { .. })), "{bad:?}");
    assert_eq!(known(&manager), both, "those that were known stay");
    manager
        .load_definitions_with_sources(&[dir("bad"), dir("one")], &[], None, &[dir("bad")])
        .unwrap();
    assert_eq!(known(&manager).len(), 2);
    assert_eq!(manager.skipped().len(), 1);
    let named = dir("bad").join("x.md");
    let bad =
        manager.load_definitions_with_sources(&[named.clone(), dir("one")], &[named], None, &[]);
    assert!(matches!(bad, Err(SubAgentError::Parse { .. })), "{bad:?}");
}

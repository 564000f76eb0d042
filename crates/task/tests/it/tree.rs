//! Agents that start agents, through the runner.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use agents_agent::{
    AgentDefinition, AgentName,
    definition::{PermissionMode, Spawns},
};
use agents_model::{
    Provider, RetryPolicy,
    script::ScriptProvider,
    select::{Available, Credentials, ModelRef},
};
use agents_task::{
    Batch, Broker, Limits, Outcome, Patience, Refused, Runner, Settings, Surroundings, TaskRequest,
    event::{Event, Sink, What},
    outcome::Ending,
    runner::{Common, Equipment, Known, Opened, Unavailable, Wearer},
    transcript::Store,
};
use agents_testkit::scratch::Scratch;
use agents_tool::{
    Area, Bypass, Catalogue, Confinement,
    artifacts::ArtifactDir,
    hooks::NoHooks,
    tools::{self, Bash},
};
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::{block_on, keeper, script};

/// A place with agents, each of which has a model of its own that plays a script.
pub(crate) struct Place {
    scratch: Scratch,
    agents: Vec<Arc<AgentDefinition>>,
    scripts: BTreeMap<String, String>,
}

impl Place {
    pub(crate) fn new() -> Self {
        let scratch = Scratch::new();
        fs_err::create_dir(scratch.path("root")).unwrap();
        Self { scratch, agents: Vec::new(), scripts: BTreeMap::new() }
    }

    /// With an agent that may start these others, and whose model plays this.
    pub(crate) fn agent(
        mut self,
        name: &str,
        spawns: &[&str],
        script: &str,
        change: impl FnOnce(&mut AgentDefinition),
    ) -> Self {
        let mut agent = AgentDefinition::blank(AgentName::new(name).unwrap());
        agent.prompt = format!("You are {name}.");
        agent.spawns = match spawns {
            [] => Spawns::None,
            ["*"] => Spawns::Any,
            names => Spawns::Only(names.iter().map(|it| (*it).to_owned()).collect()),
        };
        agent.model = vec![agents_agent::definition::ModelPattern(format!("script/{name}"))];
        change(&mut agent);
        self.agents.push(Arc::new(agent));
        self.scripts.insert(name.to_owned(), script.to_owned());
        self
    }
}

impl Surroundings for Place {
    fn agents(&self) -> Known {
        self.agents.clone().into()
    }

    fn models(&self) -> Vec<Available> {
        let model = |name: &String| {
            Available::new(ModelRef::new("script", name.as_str()), Credentials::Ready)
        };
        self.scripts.keys().map(model).collect()
    }

    fn open(&self, model: &ModelRef, _: &Area) -> Result<Opened, Unavailable> {
        let provider = ScriptProvider::new("script", script(&self.scripts[&model.id]));
        let provider: Arc<dyn Provider> = Arc::new(provider.with_retry(RetryPolicy::never()));
        Ok(Opened { provider, price: None, window: None })
    }

    fn area(&self) -> Result<Area, Unavailable> {
        Ok(Area::workspace(&self.scratch.path("root")).unwrap())
    }

    fn equip<'a>(&'a self, _: Wearer<'a>) -> BoxFuture<'a, Result<Equipment, Unavailable>> {
        let mut catalogue = Catalogue::default();
        tools::add_all(&mut catalogue, Some(Bash::new(keeper()))).unwrap();
        let equipment = Equipment {
            catalogue,
            hooks: Arc::new(NoHooks),
            confinement: Confinement::None,
            bash: Some(Bash::new(keeper())),
        };
        Box::pin(std::future::ready(Ok(equipment)))
    }
}

/// What became of a batch, and everything that happened.
pub(crate) struct Ran {
    pub(crate) outcomes: Result<Vec<Outcome>, Refused>,
    pub(crate) events: Vec<Event>,
}

impl Ran {
    pub(crate) fn only(&self) -> &Outcome {
        match self.outcomes.as_deref() {
            Ok([only]) => only,
            other => panic!("{other:?}"),
        }
    }

    fn endings(&self) -> BTreeMap<String, String> {
        let ended = self.events.iter().filter_map(|event| match &event.what {
            What::Ended { outcome } => Some((event.path.to_string(), outcome.ending.told())),
            _ => None,
        });
        ended.collect()
    }

    fn most_at_once(&self) -> usize {
        let (mut now, mut most) = (0_usize, 0);
        for event in &self.events {
            match event.what {
                What::Started { .. } => now += 1,
                What::Ended { .. } => now -= 1,
                _ => {}
            }
            most = most.max(now);
        }
        most
    }
}

pub(crate) struct Manner {
    pub(crate) settings: Settings,
    pub(crate) concurrency: usize,
    pub(crate) cancel: CancellationToken,
    pub(crate) patience: Patience,
    pub(crate) transcripts: Option<Store>,
    /// Who else wants to know.
    pub(crate) sink: Option<Arc<dyn Sink>>,
}

impl Default for Manner {
    fn default() -> Self {
        let settings = Settings { bypass: Bypass::Allowed, ..Settings::default() };
        let cancel = CancellationToken::new();
        Self {
            settings,
            concurrency: 8,
            cancel,
            patience: Patience::default(),
            transcripts: None,
            sink: None,
        }
    }
}

pub(crate) fn run(place: Place, batch: &Batch, manner: Manner) -> Ran {
    let events: Arc<Mutex<Vec<Event>>> = Arc::default();
    let log = Arc::clone(&events);
    let artifacts = Arc::new(ArtifactDir::new(&place.scratch.path("artifacts")));
    let outcomes = block_on(async move {
        let common = Common {
            settings: manner.settings,
            broker: Broker::unattended(),
            sink: Arc::new(move |event: &Event| {
                if let Some(sink) = &manner.sink {
                    sink.event(event);
                }
                log.lock().unwrap().push(event.clone());
            }),
            artifacts,
            transcripts: manner.transcripts,
            secrets: None,
            patience: manner.patience,
            concurrency: manner.concurrency,
            cancel: manner.cancel,
        };
        let runner = Runner::new(Arc::new(place), common);
        let user =
            runner.user(PermissionMode::BypassPermissions, PermissionMode::BypassPermissions);
        let started = runner.start(batch, &user)?;
        let mut outcomes = Vec::new();
        for running in started {
            outcomes.push(running.outcome().await);
        }
        Ok(outcomes)
    });
    let events = events.lock().unwrap().clone();
    Ran { outcomes, events }
}

pub(crate) fn one(agent: &str) -> Batch {
    Batch::from(TaskRequest::new(agent, "do the work"))
}

/// A script that gives these tasks to others, and then says what it heard in order to end.
pub(crate) fn asks(tasks: &str) -> String {
    format!(
        "[[replies]]\ncalls = [{{ name = \"task\", input = {{ tasks = [{tasks}] }} }}]\n[[replies]]\ntext = \"that is all\"\n"
    )
}

pub(crate) const SAYS: &str = "[[replies]]\ntext = \"forty-two\"\n";

#[test]
fn results_of_children_come_back_in_order() {
    let tasks = r#"{ id = "b", assignment = "look", agent = "scout" }, { id = "a", assignment = "look", agent = "scout" }"#;
    let heard = format!(
        "[[replies]]\ncalls = [{{ name = \"task\", input = {{ tasks = [{tasks}] }} }}]\n\
         [[replies]]\nwhen = {{ result = \"2 of 2 tasks completed\\n\\n## b: completed\\nforty-two\\n\\n## a: completed\\nforty-two\" }}\ntext = \"heard\"\n"
    );
    let place =
        Place::new().agent("lead", &["scout"], &heard, |_| {}).agent("scout", &[], SAYS, |_| {});
    let ran = run(place, &one("lead"), Manner::default());
    assert_eq!(
        (ran.only().ending.clone(), ran.only().report.text.as_str()),
        (Ending::Completed, "heard")
    );
    let all = ran.endings();
    assert_eq!(all.keys().collect::<Vec<_>>(), ["lead", "lead/a", "lead/b"]);
}

#[test]
fn a_tree_that_is_deeper_than_there_are_slots_does_not_wait_for_ever() {
    let down =
        |agent: &str| asks(&format!(r#"{{ id = "x", assignment = "go on", agent = "{agent}" }}"#));
    let place = Place::new()
        .agent("top", &["middle"], &down("middle"), |_| {})
        .agent("middle", &["bottom"], &down("bottom"), |_| {})
        .agent("bottom", &[], SAYS, |_| {});
    let mut manner = Manner { concurrency: 1, ..Manner::default() };
    manner.settings.max_depth = Some(5);
    let ran = run(place, &one("top"), manner);
    assert_eq!(ran.only().ending, Ending::Completed);
    assert_eq!(ran.endings().len(), 3);
}

#[test]
fn no_more_run_at_once_than_there_are_slots_and_order_is_kept() {
    let place = Place::new().agent("scout", &[], SAYS, |_| {});
    let names = ["e", "d", "c", "b", "a"];
    let request = |name: &&str| TaskRequest {
        name: Some((*name).to_owned()),
        ..TaskRequest::new("scout", "look")
    };
    let batch = Batch { context: None, tasks: names.iter().map(request).collect() };
    let ran = run(place, &batch, Manner { concurrency: 2, ..Manner::default() });
    let order: Vec<String> =
        ran.outcomes.as_ref().unwrap().iter().map(|it| it.path.to_string()).collect();
    assert_eq!(order, names);
    assert!(ran.most_at_once() <= 2, "{}", ran.most_at_once());
}

#[test]
fn what_a_child_may_not_start_is_told_to_its_parent_and_nothing_starts() {
    let script = |wanted: &str, told: &str| {
        format!(
            "[[replies]]\ncalls = [{{ name = \"task\", input = {{ tasks = [{{ id = \"fine\", assignment = \"x\", agent = \"scout\" }}, \
             {{ id = \"bad\", assignment = \"x\", agent = \"{wanted}\" }}] }} }}]\n[[replies]]\nwhen = {{ result = \"{told}\" }}\ntext = \"so be it\"\n"
        )
    };
    for (wanted, told) in [
        ("other", "assignment 2: Cannot spawn 'other'. Allowed: scout, lead, gone"),
        ("gone", "assignment 2: Unknown agent \\\"gone\\\". Available: lead, scout, other"),
        ("lead", "assignment 2: Cannot spawn 'lead' from within itself"),
    ] {
        let place = Place::new()
            .agent("lead", &["scout", "lead", "gone"], &script(wanted, told), |_| {})
            .agent("scout", &[], SAYS, |_| {})
            .agent("other", &[], SAYS, |_| {});
        let ran = run(place, &one("lead"), Manner::default());
        assert_eq!(ran.only().report.text, "so be it", "{wanted}: {:?}", ran.only());
        assert_eq!(ran.endings().len(), 1, "nothing was started");
    }
}

#[test]
fn at_the_greatest_depth_there_is_no_tool_for_it() {
    let down = asks(r#"{ id = "x", assignment = "go on", agent = "middle" }"#);
    let further = "[[replies]]\ncalls = [{ name = \"task\", input = { tasks = [{ id = \"y\", assignment = \"z\", agent = \"bottom\" }] } }]\n\
                   [[replies]]\nwhen = { result = \"task\" }\ntext = \"no further\"\n";
    let place = Place::new()
        .agent("top", &["middle"], &down, |_| {})
        .agent("middle", &["bottom"], further, |_| {})
        .agent("bottom", &[], SAYS, |_| {});
    let ran = run(place, &one("top"), Manner::default());
    assert_eq!(ran.only().ending, Ending::Completed);
    assert_eq!(ran.endings().keys().collect::<Vec<_>>(), ["top", "top/x"]);
}

#[test]
fn a_child_never_has_what_its_parent_lacks() {
    let writes = "[[replies]]\ncalls = [{ name = \"write\", input = { path = \"a.txt\", content = \"x\" } }]\n\
                  [[replies]]\ntext = \"I tried\"\n";
    let down = asks(r#"{ id = "x", assignment = "write it", agent = "writer" }"#);
    let place = Place::new()
        .agent("lead", &["writer"], &down, |agent| {
            agent.tools.allow = Some(vec![agents_agent::tools::ToolPattern::new("read")]);
        })
        .agent("writer", &[], writes, |_| {});
    let file = place.scratch.path("root/a.txt");
    let ran = run(place, &one("lead"), Manner::default());
    assert_eq!(ran.only().ending, Ending::Completed);
    assert_eq!(ran.endings().len(), 2);
    assert!(!file.exists());
}

#[test]
fn children_share_what_their_parent_has_left() {
    // Each child would go on for ever.
    let forever =
        "[[replies]]\ncalls = [{ name = \"find\", input = { pattern = \"*\" } }]\n".repeat(20);
    let down = asks(
        r#"{ id = "a", assignment = "x", agent = "runner" }, { id = "b", assignment = "x", agent = "runner" }"#,
    );
    let place = Place::new().agent("lead", &["runner"], &down, |_| {}).agent(
        "runner",
        &[],
        &forever,
        |_| {},
    );
    let mut batch = one("lead");
    batch.tasks[0].limits = Limits { turns: Some(10), ..Limits::default() };
    let ran = run(place, &batch, Manner::default());
    assert_eq!(ran.only().ending, Ending::Completed);
    let turns = ran.events.iter().filter(|it| matches!(it.what, What::Turn { .. })).count();
    assert_eq!(turns, 2 + 3 + 3, "one of ten was used, and a third of the rest is the parent's");
}

#[test]
fn a_child_and_its_programs_end_with_the_parent() {
    let sleeps = "[[replies]]\ncalls = [{ name = \"bash\", input = { command = \"setsid sleep 61.875 & trap '' TERM; touch started; sleep 61.875\" } }]\n";
    let down = asks(r#"{ id = "x", assignment = "x", agent = "sleeper" }"#);
    let place = Place::new().agent("lead", &["sleeper"], &down, |_| {}).agent(
        "sleeper",
        &[],
        sleeps,
        |_| {},
    );
    let started = place.scratch.path("root/started");
    let manner = Manner::default();
    let cancel = manner.cancel.clone();
    let watching = std::thread::spawn(move || {
        while !started.exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
        cancel.cancel();
    });
    let ran = run(place, &one("lead"), manner);
    watching.join().unwrap();
    assert_eq!(ran.only().ending, Ending::Cancelled);
    let all = ran.endings();
    assert_eq!(all["lead/x"], "cancelled");
    assert!(!is_running("sleep 61.875"), "a process was left behind");
}

fn is_running(command: &str) -> bool {
    let wanted = command.replace(' ', "\0");
    fs_err::read_dir("/proc").unwrap().flatten().any(|entry| {
        let line = fs_err::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
        line.trim_end_matches('\0') == wanted
    })
}

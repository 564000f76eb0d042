//! Many sub-agents, for programs that embed them.
//!
//! A [`SubAgentManager`] knows definitions, starts sub-agents from them, tells how each is doing, ends them, gives out what they
//! leave, resumes them, and is where their requests for secrets are answered. Each sub-agent is a task of its own
//! [`Runner`], so that all of the rules of this room hold for it, and for what it starts.
//!
//! - There is one state per sub-agent, and the place that it takes is part of it: it is free in the same step in which the sub-agent is
//!   over, however that came to be. Cancelling asks; the state is `Canceling` until the sub-agent has really ended.
//! - Nothing blocks the manager: what [`collect`](SubAgentManager::collect) gives back waits without it.
//! - Stop hooks run once, after the end. What still runs is waited for with [`drained`](SubAgentManager::drained).
//! - Dropped, a manager ends all of its sub-agents.

mod config;
mod error;
mod groups;
mod hooks;
mod load;
mod plan;
mod run;
mod secrets;
mod shared;
mod state;

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use agents_agent::{AgentDefinition, definition::PermissionMode};
use agents_model::Deadlines;
use agents_system::{dirs, finding::Finding};
use agents_tool::{Bypass, artifacts::ArtifactDir};
use camino::Utf8PathBuf;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

pub use self::{
    config::{Model, SubAgentConfig, Toolbox},
    error::SubAgentError,
    hooks::{HookDef, LifeHooks, OnFailure},
    plan::{PlanTaskId, TaskEvent, TaskOutcome},
    state::{SubAgentState, SubAgentStatus},
};
use self::{
    groups::Groups,
    hooks::{Tail, Whose},
    run::{End, Run, Session, Watcher},
    shared::Shared,
    state::{Cell, Guard, Slots},
};
use crate::{
    broker::Broker,
    event::{Silent, Sink},
    id::TaskId,
    outcome::Outcome,
    preflight::Settings,
    request::{Batch, TaskRequest},
    resume::{self, ResumeError},
    runner::{Common, DEFAULT_CONCURRENCY, Runner},
    secret::{self, Desk},
    transcript::{Retention, Store},
    turns::Patience,
};

/// The definition of a sub-agent.
pub type SubAgentDef = AgentDefinition;

/// Many sub-agents.
pub struct SubAgentManager {
    slots: Slots,
    definitions: Vec<SubAgentDef>,
    skipped: Vec<(Utf8PathBuf, Vec<Finding>)>,
    shared: Shared,
    runs: BTreeMap<String, Run>,
    /// Runs that nobody will ask for any more.
    collected: Arc<Mutex<Vec<String>>>,
    transcripts: Option<(Option<Utf8PathBuf>, usize)>,
    stores: BTreeMap<(Utf8PathBuf, usize), Store>,
    stop_hooks: Vec<HookDef>,
    desk: Desk,
    broker: Broker,
    peers: Groups,
    sink: Arc<dyn Sink>,
    tail: Tail,
}

impl std::fmt::Debug for SubAgentManager {
    /// Counts, and nothing else.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SubAgentManager")
            .field("definitions", &self.definitions.len())
            .field("runs", &self.runs.len())
            .field("active", &self.slots.active())
            .field("stop_hooks", &self.stop_hooks.len())
            .finish_non_exhaustive()
    }
}

/// What is to be started.
struct Start<'s> {
    request: TaskRequest,
    model: Model,
    tools: Arc<dyn Toolbox>,
    skills: Option<Vec<String>>,
    config: &'s SubAgentConfig,
    plan: Option<(PlanTaskId, mpsc::Sender<TaskEvent>)>,
}

impl SubAgentManager {
    /// One with so many places, that knows no definitions.
    #[must_use]
    pub fn new(max_concurrent: usize) -> Self {
        Self {
            slots: Slots::new(max_concurrent),
            definitions: Vec::new(),
            skipped: Vec::new(),
            shared: Shared::default(),
            runs: BTreeMap::new(),
            collected: Arc::default(),
            transcripts: None,
            stores: BTreeMap::new(),
            stop_hooks: Vec::new(),
            desk: Desk::new(secret::DEFAULT_PATIENCE),
            broker: Broker::unattended(),
            peers: Groups::default(),
            sink: Arc::new(Silent),
            tail: Tail::default(),
        }
    }

    /// Where transcripts are kept, and how many: all of them at 0. This counts before what a configuration says; `None` leaves the
    /// place to that. A relative path is one from where we are now.
    pub fn set_transcript_config(&mut self, dir: Option<PathBuf>, max_files: usize) {
        let dir = dir.and_then(|it| Utf8PathBuf::from_path_buf(it).ok());
        let dir = dir.map(|it| dirs::current().map(|cwd| cwd.join(&it)).unwrap_or(it));
        self.transcripts = Some((dir, max_files));
    }

    /// What runs when a sub-agent has ended, however it ended.
    pub fn set_stop_hooks(&mut self, hooks: Vec<HookDef>) {
        self.stop_hooks = hooks;
    }

    /// Where questions go that tools ask; nobody is asked unless this is said.
    pub fn set_broker(&mut self, broker: Broker) {
        self.broker = broker;
    }

    /// Who wants to know what happens.
    pub fn set_sink(&mut self, sink: Arc<dyn Sink>) {
        self.sink = sink;
    }

    /// How long a request for a secret waits for its answer. It counts for sub-agents that are started from now on.
    pub fn set_secret_patience(&mut self, patience: Duration) {
        self.desk = Desk::new(patience);
    }

    /// The definitions that are known.
    #[must_use]
    pub fn definitions(&self) -> &[SubAgentDef] {
        &self.definitions
    }

    /// The same, to change them.
    pub fn definitions_mut(&mut self) -> &mut Vec<SubAgentDef> {
        self.shared.forget();
        &mut self.definitions
    }

    /// Keeps so many places free from now on.
    pub fn reserve_slots(&mut self, count: usize) {
        self.slots.reserve(count);
    }

    /// Gives so many of these back.
    pub fn release_reservation(&mut self, count: usize) {
        self.slots.release(count);
    }

    /// Starts a sub-agent, and gives its id. It never waits for the model.
    ///
    /// # Errors
    /// There is no such definition, no place, no runtime, or it may not be started. Then nothing was, and no place is taken.
    pub fn spawn(
        &mut self,
        def_name: &str,
        task_prompt: &str,
        model: Model,
        tools: Arc<dyn Toolbox>,
        skills: Option<Vec<String>>,
        config: &SubAgentConfig,
    ) -> Result<String, SubAgentError> {
        let request = TaskRequest::new(def_name, task_prompt);
        self.start(Start { request, model, tools, skills, config, plan: None })
    }

    /// The same for a task of a plan: how it ends is also told on a channel. If nobody listens there any more, nobody hears of it.
    ///
    /// # Errors
    /// As with [`spawn`](Self::spawn).
    #[expect(clippy::too_many_arguments, reason = "those of `spawn`, and two more")]
    pub fn spawn_for_task(
        &mut self,
        def_name: &str,
        task_prompt: &str,
        model: Model,
        tools: Arc<dyn Toolbox>,
        skills: Option<Vec<String>>,
        config: &SubAgentConfig,
        orch_task_id: PlanTaskId,
        event_tx: mpsc::Sender<TaskEvent>,
    ) -> Result<String, SubAgentError> {
        let request = TaskRequest::new(def_name, task_prompt);
        let plan = Some((orch_task_id, event_tx));
        self.start(Start { request, model, tools, skills, config, plan })
    }

    fn start(&mut self, start: Start<'_>) -> Result<String, SubAgentError> {
        let Start { mut request, model, tools, skills, config, plan } = start;
        if tokio::runtime::Handle::try_current().is_err() {
            return Err(SubAgentError::Spawn("there is no runtime to start it on".to_owned()));
        }
        self.forget_collected();
        let name = request.agent.clone().unwrap_or_default();
        let definition = self.definitions.iter().find(|it| it.name.as_str() == name);
        let definition = definition.ok_or_else(|| SubAgentError::no_definition(&name))?;
        let own = config::effective(definition, skills.as_deref(), config)?;
        let own = self.shared.own(own);
        let permit = self
            .slots
            .take()
            .map_err(|(active, max)| SubAgentError::ConcurrencyLimit { active, max })?;
        let store = config.transcript_enabled.then(|| self.store(config)).transpose()?;
        let cell = Cell::new(permit);
        let sink = Watcher {
            cell: Arc::clone(&cell),
            next: Arc::clone(&self.sink),
            saying: std::sync::Mutex::default(),
        };
        let bypass =
            if config.allow_bypass_permissions { Bypass::Allowed } else { Bypass::Forbidden };
        let artifacts = match &store {
            Some(store) => store.dir().join("artifacts"),
            None => own_dirs()?.cache.join("artifacts"),
        };
        let common = Common {
            settings: Settings {
                bypass,
                limits: config.limits,
                max_depth: config.max_spawn_depth,
                ..Settings::default()
            },
            broker: self.broker.clone(),
            sink: Arc::new(sink),
            artifacts: Arc::new(ArtifactDir::new(&artifacts)),
            transcripts: store,
            secrets: Some(self.desk.clone()),
            patience: Patience {
                model: Deadlines { total: config.llm_timeout, ..Deadlines::default() },
                ..Patience::default()
            },
            concurrency: DEFAULT_CONCURRENCY,
            cancel: CancellationToken::new(),
        };
        let others = self.shared.all(&self.definitions);
        let session = Session { own: Arc::clone(&own), others, model, tools };
        let peers = self.peers.of(plan.as_ref().map(|(_, events)| events));
        let alike = self.shared.alike.clone();
        let runner = Runner::among(Arc::new(session), common, alike, peers);
        // The definition says what it may do; the user may do all that the configuration allows.
        request.mode = own.permission_mode;
        let most = PermissionMode::BypassPermissions;
        let user = runner.user(most, most);
        let running = runner.start(&Batch::from(request), &user).map_err(SubAgentError::Refused)?;
        let Some(running) = running.into_iter().next() else {
            return Err(SubAgentError::Spawn("nothing was started".to_owned()));
        };
        let (id, cancel) = (running.id, running.cancel.clone());
        let mask = Arc::clone(&runner.around().mask);
        self.desk.expect(id, &own.secrets, own.limits.grant, mask);
        let key = id.to_string();
        let whose = |state| Whose { id: key.clone(), agent: own.name.to_string(), state };
        hooks::run(config.start_hooks.clone(), whose(SubAgentState::Submitted), self.tail.still());
        let guard = self.guard(&cell, id, &own, plan);
        tokio::spawn(async move {
            let outcome = running.outcome().await;
            guard.settle(run::state_of(&outcome), Some(outcome));
        });
        self.runs.insert(key.clone(), Run { definition: own, cell, cancel });
        Ok(key)
    }

    /// What ends a run: it tells the plan, and starts the stop hooks, once.
    fn guard(
        &self,
        cell: &Arc<Cell<End>>,
        id: TaskId,
        own: &Arc<AgentDefinition>,
        plan: Option<(PlanTaskId, mpsc::Sender<TaskEvent>)>,
    ) -> Guard<End> {
        let (hooks, still) = (self.stop_hooks.clone(), self.tail.still());
        let (desk, agent, ended) = (self.desk.clone(), own.name.to_string(), Arc::clone(cell));
        Guard::new(Arc::clone(cell), run::dropped, move |end| {
            desk.forget(id);
            // Without a runtime there is nothing left to run anything on.
            if tokio::runtime::Handle::try_current().is_err() {
                return;
            }
            let (id, state) = (id.to_string(), ended.state());
            if let Some((task_id, events)) = plan {
                let outcome = plan::planned(state, end);
                let event = TaskEvent { task_id, agent_handle_id: id.clone(), outcome };
                tokio::spawn(async move {
                    let _ = events.send(event).await;
                });
            }
            hooks::run(hooks, Whose { id, agent, state }, still);
        })
    }

    fn store(&mut self, config: &SubAgentConfig) -> Result<Store, SubAgentError> {
        let dir = self.transcript_dir(config)?;
        let files = self.transcripts.as_ref().map_or(config.transcript_max_files, |(_, it)| *it);
        let retention = Retention { files, age: None };
        let new = || Store::with(&dir, retention, None);
        Ok(self.stores.entry((dir.clone(), files)).or_insert_with(new).clone())
    }

    /// What the manager was told, else what the configuration says, else where our own files are.
    fn transcript_dir(&self, config: &SubAgentConfig) -> Result<Utf8PathBuf, SubAgentError> {
        let told = self.transcripts.as_ref().and_then(|(dir, _)| dir.clone());
        match told.or_else(|| config.transcript_dir.clone()) {
            Some(dir) => Ok(dir),
            None => Ok(own_dirs()?.state.join("tasks")),
        }
    }

    /// Tells all sub-agents to end. They do so on their own; [`drained`](Self::drained) waits for it.
    pub fn shutdown_all(&mut self) {
        self.runs.values().for_each(Run::cancel);
    }

    /// Waits until every sub-agent has ended and every hook is done, but not for longer than this. Whether it is so.
    pub fn drained(&self, most: Duration) -> impl Future<Output = bool> + Send + use<> {
        let ends: Vec<_> = self.runs.values().map(|it| it.cell.ended()).collect();
        let gone = self.tail.gone();
        async move {
            let all = async {
                for mut end in ends {
                    let _ = end.wait_for(Option::is_some).await;
                }
                gone.await;
            };
            tokio::time::timeout(most, all).await.is_ok()
        }
    }

    /// Tells a sub-agent to end. One that has ended already stays as it is.
    ///
    /// # Errors
    /// There is no such sub-agent.
    pub fn cancel(&mut self, task_id: &str) -> Result<(), SubAgentError> {
        let run = self.runs.get(task_id).ok_or_else(|| SubAgentError::no_task(task_id))?;
        run.cancel();
        Ok(())
    }

    /// Waits for a sub-agent to end, without the manager, and gives what it leaves. After that it is not among the
    /// [`statuses`](Self::statuses) any more.
    ///
    /// # Errors
    /// There is no such sub-agent, it broke down, failed, or was cancelled.
    pub fn collect(
        &mut self,
        task_id: &str,
    ) -> impl Future<Output = Result<String, SubAgentError>> + Send + use<> {
        let outcome = self.wait_for(task_id);
        async move {
            let (state, end) = outcome.await?;
            run::collected(state, &end)
        }
    }

    /// The same with everything that there is to say about it; `None` of one whose runtime went away.
    ///
    /// # Errors
    /// There is no such sub-agent.
    pub fn collect_outcome(
        &mut self,
        task_id: &str,
    ) -> impl Future<Output = Result<Option<Outcome>, SubAgentError>> + Send + use<> {
        let outcome = self.wait_for(task_id);
        async move { outcome.await.map(|(_, end)| end.as_ref().clone()) }
    }

    fn wait_for(
        &mut self,
        task_id: &str,
    ) -> impl Future<Output = Result<(SubAgentState, Arc<End>), SubAgentError>> + Send + use<> {
        self.forget_collected();
        let known = self.runs.get(task_id).map(|run| Arc::clone(&run.cell));
        let gone = SubAgentError::no_task(task_id);
        let (id, collected) = (task_id.to_owned(), Arc::clone(&self.collected));
        async move {
            let cell = known.ok_or(gone)?;
            let mut ended = cell.ended();
            let end = ended.wait_for(Option::is_some).await.ok().and_then(|it| it.clone());
            let lost = || SubAgentError::Spawn("the sub-agent is gone".to_owned());
            // Not before: whoever stops waiting can come back.
            cell.collect();
            collected.lock().unwrap_or_else(PoisonError::into_inner).push(id);
            Ok((cell.state(), end.ok_or_else(lost)?))
        }
    }

    /// There may be many runs: only those are looked at that were collected since the last time.
    fn forget_collected(&mut self) {
        let collected =
            std::mem::take(&mut *self.collected.lock().unwrap_or_else(PoisonError::into_inner));
        collected.iter().for_each(|id| drop(self.runs.remove(id)));
    }

    /// Starts a sub-agent that goes on from where another one ended, with all that was said before. Gives its new id, and the name of its
    /// definition.
    ///
    /// # Errors
    /// It is still running, there is no such transcript, or more than one, or it cannot be read, its definition is gone, or there is no
    /// place.
    pub fn resume(
        &mut self,
        id_prefix: &str,
        task_prompt: &str,
        model: Model,
        tools: Arc<dyn Toolbox>,
        skills: Option<Vec<String>>,
        config: &SubAgentConfig,
    ) -> Result<(String, String), SubAgentError> {
        let store = self.store(config)?;
        let prepared =
            resume::prepare(&store, id_prefix, task_prompt).map_err(|error| match error {
                ResumeError::StillRunning(id) => SubAgentError::StillRunning(id),
                ResumeError::Transcript(error) => error.into(),
                ResumeError::Refused(refused) => SubAgentError::Refused(refused),
                other => SubAgentError::Invalid(other.to_string()),
            })?;
        let name = prepared.meta.agent;
        let request = prepared.request;
        let id = self.start(Start { request, model, tools, skills, config, plan: None })?;
        Ok((id, name))
    }

    /// The name of the definition of a sub-agent that could be resumed. Nothing is started.
    ///
    /// # Errors
    /// There is no such transcript, or more than one, or it cannot be read.
    pub fn def_name_for_resume(
        &self,
        id_prefix: &str,
        config: &SubAgentConfig,
    ) -> Result<String, SubAgentError> {
        let store = Store::new(&self.transcript_dir(config)?);
        Ok(store.meta(store.find_by_prefix(id_prefix)?)?.agent)
    }

    /// How each sub-agent is doing that was not collected, the oldest first.
    #[must_use]
    pub fn statuses(&self) -> Vec<(String, SubAgentStatus)> {
        let known = self.runs.iter().filter(|(_, run)| !run.cell.is_collected());
        known.map(|(id, run)| (id.clone(), run.cell.status())).collect()
    }

    /// The definition that a sub-agent runs by, as it is: with what the configuration added.
    #[must_use]
    pub fn agents_def(&self, task_id: &str) -> Option<&SubAgentDef> {
        self.runs.get(task_id).map(|it| &*it.definition)
    }

    /// Whether a sub-agent has ended; not one that nobody knows.
    #[must_use]
    pub fn is_task_finished(&self, task_id: &str) -> bool {
        self.runs.get(task_id).is_some_and(|it| it.cell.state().is_terminal())
    }
}

impl Drop for SubAgentManager {
    fn drop(&mut self) {
        self.shutdown_all();
    }
}

fn own_dirs() -> Result<dirs::Dirs, SubAgentError> {
    dirs::Dirs::from_env().map_err(|error| SubAgentError::Invalid(error.to_string()))
}

//! Many sub-agents, for programs that embed them.
//!
//! A [`SubAgentManager`] knows definitions, starts sub-agents from them, tells how each is doing, ends them, gives out what they
//! leave, resumes them, and is where their requests for secrets are answered. Each sub-agent is a task of its own
//! [`Runner`](crate::runner::Runner), so that all of the rules of this room hold for it, and for what it starts.
//!
//! - There is one state per sub-agent, and the place that it takes is part of it: it is free in the same step in which the sub-agent is
//!   over, however that came to be. Cancelling asks; the state is `Canceling` until the sub-agent has really ended.
//! - Nothing blocks the manager: what [`collect`](SubAgentManager::collect) gives back waits without it.
//! - Stop hooks run once, after the end. What still runs is waited for with [`drained`](SubAgentManager::drained).
//! - Dropped, a manager ends all of its sub-agents.
//!
//! What most programs need is there: a [`Model`] by its name or from a script, and a [`Workbench`] with the tools for the files of a
//! directory. `examples/embed` is a whole program.

mod config;
mod error;
mod groups;
mod hooks;
mod load;
mod plan;
mod ready;
mod run;
mod secrets;
mod shared;
mod start;
mod state;

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use agents_agent::AgentDefinition;
use agents_system::{dirs, finding::Finding};
use camino::Utf8PathBuf;
use tokio::sync::mpsc;

pub use self::{
    config::{Model, SubAgentConfig, Toolbox},
    error::SubAgentError,
    hooks::{HookDef, LifeHooks, OnFailure},
    plan::{PlanTaskId, TaskEvent, TaskOutcome},
    ready::Workbench,
    state::{SubAgentState, SubAgentStatus},
};
use self::{
    groups::Groups,
    hooks::Tail,
    run::{End, Run},
    shared::Shared,
    start::Start,
    state::Slots,
};
use crate::{
    broker::Broker,
    event::{Silent, Sink},
    outcome::Outcome,
    request::TaskRequest,
    resume::{self, ResumeError},
    secret::{self, Desk},
    transcript::Store,
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
    /// Shared by all that have not ended.
    stop_hooks: Arc<[HookDef]>,
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
            stop_hooks: Arc::default(),
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
        self.shared.forget_common();
    }

    /// What runs when a sub-agent has ended, however it ended.
    pub fn set_stop_hooks(&mut self, hooks: Vec<HookDef>) {
        self.stop_hooks = hooks.into();
    }

    /// Where questions go that tools ask; nobody is asked unless this is said.
    pub fn set_broker(&mut self, broker: Broker) {
        self.broker = broker;
        self.shared.forget_common();
    }

    /// Who wants to know what happens.
    ///
    /// ```
    /// # use agents_task::{event::{Event, Told}, subagents::SubAgentManager};
    /// # async fn example(manager: &mut SubAgentManager, show: impl Fn(&Event), note: impl Fn(u64)) {
    /// let (sink, mut events) = agents_task::event::stream(1024);
    /// manager.set_sink(sink);
    /// while let Some(told) = events.next().await {
    ///     match told {
    ///         Told::Event(event) => show(&event),
    ///         Told::LeftOut(count) => note(count),
    ///     }
    /// }
    /// # }
    /// ```
    pub fn set_sink(&mut self, sink: Arc<dyn Sink>) {
        self.sink = sink;
    }

    /// How long a request for a secret waits for its answer. It counts for sub-agents that are started from now on.
    pub fn set_secret_patience(&mut self, patience: Duration) {
        self.desk = Desk::new(patience);
        self.shared.forget_common();
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

    /// Tells all sub-agents to end. They do so on their own; [`drained`](Self::drained) waits for it.
    pub fn shutdown_all(&mut self) {
        self.runs.values().for_each(Run::cancel);
    }

    /// Waits until every sub-agent has ended and every hook is done, but not for longer than this. Whether it is so.
    pub fn drained(&self, most: Duration) -> impl Future<Output = bool> + Send + use<> {
        let gone = self.tail.gone();
        async move { tokio::time::timeout(most, gone).await.is_ok() }
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
        async move { outcome.await.map(|(_, end)| end.as_deref().cloned()) }
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
            let end = cell.ended().await;
            // Not before: whoever stops waiting can come back.
            cell.collect();
            collected.lock().unwrap_or_else(PoisonError::into_inner).push(id);
            Ok((cell.state(), end))
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

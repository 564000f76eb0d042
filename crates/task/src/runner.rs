//! Tasks, and what these start in turn.
//!
//! A [`Runner`] holds what all tasks of a tree share: one clock, one mask, one queue of questions, one limit of how many run at the same
//! time. [`Runner::start`] checks a batch ([`preflight`](fn@crate::preflight)), reserves what it may use, and lets each task live its
//! life: a slot, a place, a model, tools, turns, an outcome. What an agent starts with the tool `task` goes the same way, with
//! the agent as the caller; it never gets more than the agent has.
//!
//! Where agents, models and tools come from is the business of whoever embeds this: [`Surroundings`].

mod alike;
mod life;
mod spawner;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use agents_agent::AgentDefinition;
use agents_agent::definition::PermissionMode;
use agents_model::{
    Provider,
    cost::Price,
    select::{Available, ModelRef},
};
use agents_system::explain::{Explain, with_causes};
use agents_tool::{
    Area, Catalogue, Confinement, Hooks, Moment, Rights, Standing, artifacts::Artifacts,
    tools::Bash,
};
use futures_util::future::BoxFuture;
use tokio::{sync::Semaphore, task::JoinHandle};
use tokio_util::sync::CancellationToken;

pub use self::alike::Alike;
use self::alike::Here;
use crate::{
    broker::Broker,
    effective::EffectiveAgent,
    event::{Masked, Sink},
    id::{Taken, TaskId, TaskPath},
    limits::{Budget, Limits},
    outcome::Outcome,
    peers::Peers,
    preflight::{Caller, Settings, Situation, preflight},
    recorder::Recorder,
    refusal::{Refusal, Refused},
    request::{Batch, TaskRequest},
    secret::Desk,
    transcript::Store,
    turns::{Around, Patience},
    workplace::{Isolation, Site},
};

/// How many tasks run at the same time, unless somebody says something else.
pub const DEFAULT_CONCURRENCY: usize = 8;

/// The agents that there were when a batch was started: what was decided rests on them, whatever is written since.
pub type Known = Arc<[Arc<AgentDefinition>]>;

/// Where agents, models and tools come from. Methods may look at the disk; none may wait for a network.
pub trait Surroundings: Send + Sync {
    /// The agents that there are now, in order of precedence.
    fn agents(&self) -> Known;

    /// The models that there are.
    fn models(&self) -> Vec<Available>;

    /// What answers as this model, for an agent that works here.
    ///
    /// # Errors
    /// It cannot be had.
    fn open(&self, model: &ModelRef, area: &Area) -> Result<Opened, Unavailable>;

    /// Where tasks work that have no place of their own.
    ///
    /// # Errors
    /// There is no such place.
    fn area(&self) -> Result<Area, Unavailable>;

    /// The tools of an agent that works here. Servers may have to be started for it.
    fn equip<'a>(&'a self, wearer: Wearer<'a>) -> BoxFuture<'a, Result<Equipment, Unavailable>>;

    /// What a task that was just equipped is told besides, at its beginning: what it remembers, which skills it has.
    fn brief(&self, _task: TaskId) -> Option<String> {
        None
    }

    /// How tasks get worktrees of their own.
    ///
    /// # Errors
    /// Why they cannot, in words.
    fn isolation(&self) -> Result<Isolation, String> {
        Err("there is nobody here who makes worktrees".to_owned())
    }
}

/// An agent that is to be equipped.
pub struct Wearer<'a> {
    /// Its definition.
    pub definition: &'a AgentDefinition,
    /// What it may at most do.
    pub rights: &'a Rights,
    /// Where it works.
    pub area: &'a Area,
    /// The task.
    pub id: TaskId,
}

/// A model that can be asked.
#[derive(Clone)]
pub struct Opened {
    /// What answers.
    pub provider: Arc<dyn Provider>,
    /// What it costs, if that is known.
    pub price: Option<Price>,
    /// How many tokens it can keep in mind, if that is known.
    pub window: Option<u64>,
}

/// What an agent works with.
pub struct Equipment {
    /// Its tools, but for `task` and `yield`, which come with the runner.
    pub catalogue: Catalogue,
    /// What plugins have to say about its calls.
    pub hooks: Arc<dyn Hooks>,
    /// How programs that it starts are confined.
    pub confinement: Confinement,
    /// What runs the commands that must succeed at the end.
    pub bash: Option<Bash>,
}

/// Something that a task needs and that is not there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Unavailable {
    /// What, and why.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Unavailable {
    /// Because of an error.
    pub fn because(error: &impl Explain) -> Self {
        Self { message: with_causes(error), hint: error.hint() }
    }
}

/// What all tasks of a runner share.
pub struct Common {
    /// What the configuration says.
    pub settings: Settings,
    /// Their questions.
    pub broker: Broker,
    /// Who wants to know what happens.
    pub sink: Arc<dyn Sink>,
    /// Where what is too long is kept.
    pub artifacts: Arc<dyn Artifacts>,
    /// Where transcripts are kept, if they are.
    pub transcripts: Option<Store>,
    /// Where they ask for secrets, if they may.
    pub secrets: Option<Desk>,
    /// How long things are waited for.
    pub patience: Patience,
    /// How many run at the same time.
    pub concurrency: usize,
    /// Cancelled, all of them end.
    pub cancel: CancellationToken,
}

/// Runs tasks, and what these start.
#[derive(Clone)]
pub struct Runner(Arc<Shared>);

struct Shared {
    surroundings: Arc<dyn Surroundings>,
    /// What others may share as well; but for who wants to know, which is here.
    common: Arc<Common>,
    sink: Arc<dyn Sink>,
    around: Around,
    alike: Alike,
    slots: Arc<Semaphore>,
    taken: Mutex<Taken<'static>>,
    /// Where they write to each other, if they may.
    peers: Option<Peers>,
    /// Those that have not ended, however deep they stand.
    alive: Mutex<HashMap<TaskId, CancellationToken>>,
}

/// A task that was started.
#[derive(Debug)]
pub struct Running {
    /// What it is called.
    pub id: TaskId,
    /// Where it stands.
    pub path: TaskPath,
    /// Ends it, and everything that it started.
    pub cancel: CancellationToken,
    outcome: JoinHandle<Box<Outcome>>,
}

/// The task that starts others.
#[derive(Clone, Copy)]
struct Parent<'p> {
    id: TaskId,
    budget: &'p Budget,
    site: &'p Site,
}

impl Running {
    /// Waits for it to end.
    pub async fn outcome(self) -> Outcome {
        match self.outcome.await {
            Ok(outcome) => *outcome,
            // Its last event has told the same: `Emitter` sees to it.
            Err(error) => Outcome::broke_down(self.id, self.path, error.is_panic()),
        }
    }
}

impl Runner {
    /// One that starts now.
    #[must_use]
    pub fn new(surroundings: Arc<dyn Surroundings>, common: Common) -> Self {
        let sink = Arc::clone(&common.sink);
        let peers = common.settings.peers.map(Peers::new);
        Self::among(surroundings, (Arc::new(common), sink), Alike::default(), peers)
    }

    /// The same beside others, whose agents have much in common with those of this one, and tell somebody of their own what happens; with
    /// tasks that write to those of a group, and of no other, whatever the settings say.
    pub(crate) fn among(
        surroundings: Arc<dyn Surroundings>,
        (common, sink): (Arc<Common>, Arc<dyn Sink>),
        alike: Alike,
        peers: Option<Peers>,
    ) -> Self {
        let slots = Arc::new(Semaphore::new(common.concurrency.max(1)));
        let around = Around::default();
        let sink = Arc::new(Masked::new(sink, Arc::clone(&around.mask)));
        let (taken, alive) = (Mutex::default(), Mutex::default());
        Self(Arc::new(Shared {
            surroundings,
            common,
            sink,
            around,
            alike,
            slots,
            taken,
            peers,
            alive,
        }))
    }

    /// What nobody may see: for whoever shows something of these tasks.
    #[must_use]
    pub fn around(&self) -> &Around {
        &self.0.around
    }

    /// Where transcripts are kept, if they are.
    #[must_use]
    pub fn transcripts(&self) -> Option<&Store> {
        self.0.common.transcripts.as_ref()
    }

    /// The user as a caller: the highest mode that any task gets, and the one of tasks that say none.
    #[must_use]
    pub fn user(&self, highest: PermissionMode, usual: PermissionMode) -> Caller {
        let standing = Standing::root(Rights::all(), highest, self.0.common.settings.bypass);
        Caller { usual_mode: Some(usual), ..Caller::user(standing) }
    }

    /// The same checks as [`start`](Self::start), and nothing else.
    ///
    /// # Errors
    /// Everything that stands in its way.
    pub fn check(&self, batch: &Batch, caller: &Caller) -> Result<Vec<EffectiveAgent>, Refused> {
        let taken = self.0.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let known = self.0.surroundings.agents();
        self.preflight(batch, caller, Limits::default(), &known, &taken)
    }

    /// Starts what the user, or whoever has no budget of its own, wants to be done. Each task has a budget of its own.
    ///
    /// # Errors
    /// Everything that stands in its way; then nothing was started.
    pub fn start(&self, batch: &Batch, caller: &Caller) -> Result<Vec<Running>, Refused> {
        self.start_after(batch, caller, |_, _| {})
    }

    /// The same for whoever says what is going to run before anything of it does: the agents, and all definitions that there are.
    ///
    /// # Errors
    /// As with [`start`](Self::start). What was said may then not come to be.
    pub fn start_after(
        &self,
        batch: &Batch,
        caller: &Caller,
        begins: impl FnOnce(&[EffectiveAgent], &[Arc<AgentDefinition>]),
    ) -> Result<Vec<Running>, Refused> {
        self.launch(batch, caller, None, &self.0.common.cancel, begins)
    }

    /// Ends a task, and everything that it started; `false` if no such task runs.
    pub fn cancel(&self, task: TaskId) -> bool {
        let alive = self.0.alive.lock().unwrap_or_else(PoisonError::into_inner);
        alive.get(&task).map(CancellationToken::cancel).is_some()
    }

    /// From now on it can be cancelled by its id, until what this gives is dropped.
    fn lives(&self, id: TaskId, cancel: &CancellationToken) -> Alive {
        let mut alive = self.0.alive.lock().unwrap_or_else(PoisonError::into_inner);
        alive.insert(id, cancel.clone());
        Alive { runner: self.clone(), id }
    }

    fn preflight(
        &self,
        batch: &Batch,
        caller: &Caller,
        left: Limits,
        known: &Known,
        taken: &Taken<'_>,
    ) -> Result<Vec<EffectiveAgent>, Refused> {
        let Shared { surroundings, common, around, .. } = &*self.0;
        let agents: Vec<&AgentDefinition> = known.iter().map(AsRef::as_ref).collect();
        let models = surroundings.models();
        // It is not looked at for nothing.
        let own = |it: Option<agents_agent::definition::Isolation>| {
            it == Some(agents_agent::definition::Isolation::Worktree)
        };
        let wanted = batch.tasks.iter().any(|it| own(it.isolation))
            || agents.iter().any(|it| own(it.isolation));
        let now = Moment(around.start.elapsed());
        let here = Here { known, models: &models, common, caller };
        let mut last = self.0.alike.last();
        let before = last.decided(&here, batch);
        let situation = Situation {
            agents: &agents,
            models: &models,
            no_worktrees: wanted.then(|| surroundings.isolation().err()).flatten(),
            left,
            // Whoever has no slot waits for one.
            slots: None,
            running: 0,
            taken,
            now,
            before,
        };
        let agents = preflight(batch, caller, &common.settings, &situation)?;
        last.remember(&here, batch, &agents);
        Ok(agents)
    }

    fn launch(
        &self,
        batch: &Batch,
        caller: &Caller,
        parent: Option<Parent<'_>>,
        cancel: &CancellationToken,
        begins: impl FnOnce(&[EffectiveAgent], &[Arc<AgentDefinition>]),
    ) -> Result<Vec<Running>, Refused> {
        let ready = self.ready(batch, caller, parent, cancel, begins)?;
        let started = ready.into_iter().map(|ready| {
            let (id, path, cancel) = (ready.id(), ready.path().clone(), ready.cancel().clone());
            Running { id, path, cancel, outcome: tokio::spawn(ready.live()) }
        });
        Ok(started.collect())
    }

    /// The same up to where they begin.
    pub(crate) fn ready_alone(
        &self,
        request: TaskRequest,
        caller: &Caller,
    ) -> Result<Option<Ready>, Refused> {
        let cancel = &self.0.common.cancel;
        let ready = self.ready(&Batch::from(request), caller, None, cancel, |_, _| {})?;
        Ok(ready.into_iter().next())
    }

    fn ready(
        &self,
        batch: &Batch,
        caller: &Caller,
        parent: Option<Parent<'_>>,
        cancel: &CancellationToken,
        begins: impl FnOnce(&[EffectiveAgent], &[Arc<AgentDefinition>]),
    ) -> Result<Vec<Ready>, Refused> {
        // Held to the end, so that no two batches get the same names.
        let mut taken = self.0.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let left = parent.map(|it| it.budget.left()).unwrap_or_default();
        let known = self.0.surroundings.agents();
        let mut agents = self.preflight(batch, caller, left, &known, &taken)?;
        begins(&agents, &known);
        self.0.alike.agents(&mut agents);
        let wanted: Vec<Limits> = agents.iter().map(|it| it.limits).collect();
        let budgets = match parent {
            None => wanted.iter().map(Budget::new).collect(),
            Some(parent) => parent.budget.reserve_all(&wanted).map_err(|limit| Refused {
                items: vec![(None, Refusal::Budget(limit))],
                of: batch.tasks.len(),
            })?,
        };
        let new = agents.into_iter().zip(budgets).map(|(agent, budget)| {
            let (id, cancel) = (TaskId::new(), cancel.child_token());
            let join = |it: &Peers| it.join(id, agent.path.clone(), parent.map(|it| it.id));
            let peer = self.0.peers.as_ref().map(join).map(Arc::new);
            let task = Box::new(life::Task {
                runner: self.clone(),
                id,
                parent: parent.map(|it| it.id),
                known: Arc::clone(&known),
                agent: Arc::new(agent),
                budget: Arc::new(budget),
                alive: self.lives(id, &cancel),
                cancel,
                site: parent.map(|it| it.site.clone()),
                peer,
            });
            let recorder = task.recorder();
            Ready { task, recorder }
        });
        let new: Vec<Ready> = new.collect();
        // Whoever is told an id finds the task by it.
        if let Some(why) = new.iter().find_map(|it| it.recorder.trouble()) {
            let refusal = Refusal::Transcript { why: why.to_owned() };
            return Err(Refused { items: vec![(None, refusal)], of: batch.tasks.len() });
        }
        new.iter().for_each(|it| taken.add(it.path().clone()));
        Ok(new)
    }
}

/// A task that nothing stands in the way of any more. Dropped, it never was.
pub(crate) struct Ready {
    task: Box<life::Task>,
    recorder: Box<dyn Recorder>,
}

impl Ready {
    pub(crate) fn id(&self) -> TaskId {
        self.task.id
    }

    pub(crate) fn path(&self) -> &TaskPath {
        &self.task.agent.path
    }

    pub(crate) fn cancel(&self) -> &CancellationToken {
        &self.task.cancel
    }

    /// It lives, as long as somebody waits for it.
    pub(crate) fn live(self) -> impl Future<Output = Box<Outcome>> + Send + 'static {
        self.task.live(self.recorder)
    }
}

/// A task that has not ended.
struct Alive {
    runner: Runner,
    id: TaskId,
}

impl Drop for Alive {
    fn drop(&mut self) {
        let mut alive = self.runner.0.alive.lock().unwrap_or_else(PoisonError::into_inner);
        alive.remove(&self.id);
    }
}

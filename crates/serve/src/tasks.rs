//! The tasks of one connection: what runs, what ran, and how to stop it.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use agents_agent::definition::PermissionMode;
use agents_task::{
    Batch, Broker, Caller, Limits, Outcome, Patience, Refused, Runner, Surroundings, TaskId,
    TaskPath,
    broker::Asks,
    event::{Event, Sink, What},
    preflight::Settings,
    runner::{Common, Unavailable},
    secret::{self, SecretSettings, Vault, vault::Hear},
    subagents::{HookDef, LifeHooks},
    telemetry::{self, Telemetry},
    transcript::Store,
};
use agents_tool::{Grant, artifacts::Artifacts};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

/// Of tasks that have ended, so many are remembered; the others are in the store of transcripts.
const REMEMBERED: usize = 1_000;
/// How long tasks that were told to stop are waited for.
const PARTING: Duration = Duration::from_secs(5);
/// How long hooks of tasks that have ended are waited for.
const HOOKS: Duration = Duration::from_secs(30);

/// On which terms tasks run: what the user said when the door was opened. No request can widen them.
pub struct Terms {
    /// What the configuration says.
    pub settings: Settings,
    /// The highest mode that any task gets.
    pub highest: PermissionMode,
    /// The mode of tasks that say none.
    pub usual: PermissionMode,
    /// Why no task can be started through here, if that is so: there is no model, or whoever calls is too deep already.
    pub closed: Option<Unavailable>,
    /// What they may do without asking.
    pub allowed: Vec<Grant>,
    /// How many run at the same time.
    pub concurrency: usize,
    /// How long a question waits for an answer.
    pub approval: Duration,
    /// Where what is too long is kept.
    pub artifacts: Arc<dyn Artifacts>,
    /// Where transcripts are kept.
    pub transcripts: Store,
    /// What they may be given, once somebody agrees.
    pub secrets: Secrets,
    /// What runs when one begins, and what when one has ended.
    pub hooks: (Vec<HookDef>, Vec<HookDef>),
    /// Where spans go, if somebody wants them.
    pub spans: Option<Arc<Telemetry>>,
}

/// The secrets of tasks. Whether they get one is asked where everything else is asked, and its value is told to nobody there.
pub struct Secrets {
    /// Where they are.
    pub settings: Arc<SecretSettings>,
    /// Those that need no question.
    pub agreed: Vec<String>,
    /// Whether tasks that nobody waits for may ask for others.
    pub background: secret::Asks,
    /// Who hears what is wrong with where they are.
    pub hear: Hear,
}

/// The tasks of one connection.
pub struct Tasks {
    runner: Runner,
    user: Caller,
    allowed: Vec<Grant>,
    /// How far a task goes, whatever the request says: whoever writes it is a model, and not the user.
    bounds: Limits,
    closed: Option<Unavailable>,
    store: Store,
    hooks: Arc<LifeHooks>,
    watchers: Arc<Mutex<Vec<Watcher>>>,
    known: Arc<Mutex<BTreeMap<TaskId, Known>>>,
}

type Watcher = mpsc::UnboundedSender<Arc<Event>>;

/// What is known of a task, and of those that tasks started.
#[derive(Debug, Clone)]
pub struct Known {
    /// Where it stands.
    pub path: TaskPath,
    /// Its agent, as soon as it has begun.
    pub agent: Option<String>,
    /// Its model, as soon as it has begun.
    pub model: Option<String>,
    /// Calls of the model so far.
    pub turns: u64,
    /// What it does, in a few words.
    pub doing: String,
    /// What became of it, when it has ended.
    pub outcome: Option<Arc<Outcome>>,
    cancel: Option<CancellationToken>,
}

/// A task that was started by a request.
#[derive(Debug)]
pub struct Started {
    /// What it is called.
    pub id: TaskId,
    /// Where it stands.
    pub path: TaskPath,
    /// Ends it, and everything that it started.
    pub cancel: CancellationToken,
    ended: watch::Receiver<Option<Arc<Outcome>>>,
}

impl Started {
    /// Waits for it to end.
    pub async fn outcome(&mut self) -> Option<Arc<Outcome>> {
        let ended = self.ended.wait_for(Option::is_some).await;
        ended.ok().and_then(|it| it.clone())
    }
}

impl Tasks {
    /// None yet. The questions of all of them come out at the other end.
    #[must_use]
    pub fn new(
        surroundings: Arc<dyn Surroundings>,
        terms: Terms,
        cancel: CancellationToken,
    ) -> (Self, Asks) {
        let (broker, asks) = Broker::new(terms.approval);
        let watchers: Arc<Mutex<Vec<Watcher>>> = Arc::default();
        let known: Arc<Mutex<BTreeMap<TaskId, Known>>> = Arc::default();
        let (told, seen) = (Arc::clone(&watchers), Arc::clone(&known));
        let shown = Arc::new(move |event: &Event| {
            note(&mut seen.lock().unwrap_or_else(PoisonError::into_inner), event);
            let mut watchers = told.lock().unwrap_or_else(PoisonError::into_inner);
            if watchers.is_empty() {
                return;
            }
            let event = Arc::new(event.clone());
            watchers.retain(|it| it.send(Arc::clone(&event)).is_ok());
        });
        let hooks = Arc::new(LifeHooks::new(terms.hooks.0, terms.hooks.1, shown));
        let Secrets { settings: sources, agreed, hear, .. } = terms.secrets;
        let vault = Vault::new(Arc::clone(&sources), broker.clone(), secret::Asks::Somebody, hear);
        let bounds = terms.settings.bounds;
        let common = Common {
            settings: terms.settings,
            broker,
            sink: telemetry::besides(terms.spans.as_ref(), Arc::clone(&hooks) as Arc<dyn Sink>),
            artifacts: terms.artifacts,
            transcripts: Some(terms.transcripts.clone()),
            secrets: Some(vault.agreeing(agreed).desk(terms.approval)),
            patience: Patience::default(),
            concurrency: terms.concurrency,
            cancel,
        };
        let runner = Runner::new(surroundings, common);
        let mask = &runner.around().mask;
        sources.hide(mask);
        if let Some(spans) = &terms.spans {
            spans.hide(mask);
        }
        let mut user = runner.user(terms.highest, terms.usual);
        terms.allowed.iter().for_each(|grant| user.standing.grants.add(grant.clone()));
        (
            Self {
                runner,
                user,
                allowed: terms.allowed,
                bounds,
                closed: terms.closed,
                store: terms.transcripts,
                hooks,
                watchers,
                known,
            },
            asks,
        )
    }

    /// An error if no task can be started through here at all.
    ///
    /// # Errors
    /// That.
    pub fn is_open(&self) -> Result<(), Unavailable> {
        self.closed.clone().map_or(Ok(()), Err)
    }

    /// Starts all of them, or none.
    ///
    /// # Errors
    /// Everything that stands in the way.
    pub fn start(&self, mut batch: Batch) -> Result<Vec<Started>, Refused> {
        for task in &mut batch.tasks {
            task.grants.clone_from(&self.allowed);
            task.limits = task.limits.meet(self.bounds);
        }
        let mut started = Vec::new();
        for running in self.runner.start(&batch, &self.user)? {
            let (send, ended) = watch::channel(None);
            let (id, path, cancel) = (running.id, running.path.clone(), running.cancel.clone());
            {
                let mut known = self.lock();
                let task = known.entry(id).or_insert_with(|| Known::new(path.clone()));
                task.cancel = Some(cancel.clone());
            }
            let all = Arc::clone(&self.known);
            tokio::spawn(async move {
                let outcome = Arc::new(running.outcome().await);
                let mut known = all.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(task) = known.get_mut(&id) {
                    task.outcome = Some(Arc::clone(&outcome));
                }
                forget(&mut known);
                drop(known);
                send.send_replace(Some(outcome));
            });
            started.push(Started { id, path, cancel, ended });
        }
        Ok(started)
    }

    /// Everything that happens from now on.
    #[must_use]
    pub fn watch(&self) -> mpsc::UnboundedReceiver<Arc<Event>> {
        let (send, events) = mpsc::unbounded_channel();
        self.watchers.lock().unwrap_or_else(PoisonError::into_inner).push(send);
        events
    }

    /// All that are known, the oldest first.
    #[must_use]
    pub fn all(&self) -> Vec<(TaskId, Known)> {
        self.lock().iter().map(|(id, known)| (*id, known.clone())).collect()
    }

    /// The one whose id begins like this, or whose short form does.
    #[must_use]
    pub fn find(&self, text: &str) -> Option<(TaskId, Known)> {
        let text = text.trim().to_lowercase();
        let is_meant =
            |id: &TaskId| id.to_string().starts_with(&text) || id.short().starts_with(&text);
        let known = self.lock();
        let mut meant = known.iter().filter(|(id, _)| is_meant(id));
        match (meant.next(), meant.next()) {
            (Some((id, known)), None) if !text.is_empty() => Some((*id, known.clone())),
            _ => None,
        }
    }

    /// Ends a task, and everything that it started; `false` for one that cannot be ended from here.
    #[must_use]
    pub fn cancel(&self, id: TaskId) -> bool {
        let known = self.lock();
        let Some(task) = known.get(&id) else { return false };
        // Whoever a task started ends by itself when the call that waits for it does.
        let Some(cancel) = &task.cancel else { return false };
        cancel.cancel();
        true
    }

    /// Waits until tasks that were told to end have, and for what runs after that; for neither for ever.
    pub async fn end(&self) {
        let ended = async {
            while self.lock().values().any(|it| it.outcome.is_none()) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        // Whoever does not stop in time is ended with the runtime.
        let _ = tokio::time::timeout(PARTING, ended).await;
        self.hooks.drained(HOOKS).await;
    }

    /// Where transcripts are.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// A text without anything that nobody may see.
    #[must_use]
    pub fn masked(&self, text: &str) -> String {
        self.runner.around().mask.apply(text)
    }

    /// Everything that stands around tools, for those that are called without a task.
    #[must_use]
    pub fn around(&self) -> &agents_task::turns::Around {
        self.runner.around()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<TaskId, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn new(path: TaskPath) -> Self {
        Self {
            path,
            agent: None,
            model: None,
            turns: 0,
            doing: "waiting".to_owned(),
            outcome: None,
            cancel: None,
        }
    }
}

fn note(known: &mut BTreeMap<TaskId, Known>, event: &Event) {
    let task = known.entry(event.task).or_insert_with(|| Known::new(event.path.clone()));
    match &event.what {
        What::Started { agent, model, .. } => {
            (task.agent, task.model) = (Some(agent.clone()), Some(model.clone()));
            task.doing = "starting".to_owned();
        }
        What::Turn { number } => {
            task.turns = *number;
            task.doing = "thinking".to_owned();
        }
        What::ToolStarted { tool, .. } => task.doing.clone_from(tool),
        What::ToolEnded { .. } => task.doing = "thinking".to_owned(),
        What::Text { .. } => task.doing = "writing".to_owned(),
        What::Ended { outcome } => task.outcome = Some(Arc::from(outcome.clone())),
        _ => {}
    }
}

/// The oldest of those that have ended are forgotten first.
fn forget(known: &mut BTreeMap<TaskId, Known>) {
    let ended: Vec<TaskId> =
        known.iter().filter(|(_, it)| it.outcome.is_some()).map(|(id, _)| *id).collect();
    for id in ended.iter().take(ended.len().saturating_sub(REMEMBERED)) {
        known.remove(id);
    }
}

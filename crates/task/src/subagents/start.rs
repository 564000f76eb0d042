//! How a sub-agent is started.

use std::sync::Arc;

use agents_agent::{AgentDefinition, definition::PermissionMode};
use agents_model::Deadlines;
use agents_system::dirs;
use agents_tool::{Bypass, artifacts::ArtifactDir};
use camino::Utf8PathBuf;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{
    Model, PlanTaskId, SubAgentConfig, SubAgentError, SubAgentManager, SubAgentState, TaskEvent,
    Toolbox,
    hooks::{self, Whose},
    plan,
    run::{self, End, Run, Session, Watcher},
    state::{Cell, Guard},
};
use crate::{
    event::Silent,
    id::TaskId,
    preflight::Settings,
    request::TaskRequest,
    runner::{Common, DEFAULT_CONCURRENCY, Runner},
    transcript::{Retention, Store},
    turns::Patience,
};

/// What is to be started.
pub(super) struct Start<'s> {
    pub(super) request: TaskRequest,
    pub(super) model: Model,
    pub(super) tools: Arc<dyn Toolbox>,
    pub(super) skills: Option<Vec<String>>,
    pub(super) config: &'s SubAgentConfig,
    pub(super) plan: Option<(PlanTaskId, mpsc::Sender<TaskEvent>)>,
}

impl SubAgentManager {
    pub(super) fn start(&mut self, start: Start<'_>) -> Result<String, SubAgentError> {
        let Start { mut request, model, tools, skills, config, plan } = start;
        if tokio::runtime::Handle::try_current().is_err() {
            return Err(SubAgentError::Spawn("there is no runtime to start it on".to_owned()));
        }
        self.forget_collected();
        let name = request.agent.as_deref().unwrap_or_default();
        let known = self.shared.known(&self.definitions, name, skills.as_deref(), config)?;
        let Some(own) = known.first().map(Arc::clone) else {
            return Err(SubAgentError::no_definition(name));
        };
        let permit = self
            .slots
            .take()
            .map_err(|(active, max)| SubAgentError::ConcurrencyLimit { active, max })?;
        let common = self.common(config)?;
        let cell = Cell::new(permit);
        let sink = Watcher {
            cell: Arc::clone(&cell),
            next: Arc::clone(&self.sink),
            saying: std::sync::Mutex::default(),
        };
        let session = Session { known, model, tools };
        let alike = self.shared.alike.clone();
        let peers = self.peers.of(plan.as_ref().map(|(_, events)| events));
        let runner = Runner::among(Arc::new(session), (common, Arc::new(sink)), alike, peers);
        // The definition says what it may do; the user may do all that the configuration allows.
        request.mode = own.permission_mode;
        let most = PermissionMode::BypassPermissions;
        let user = runner.user(most, most);
        let ready = runner.ready_alone(request, &user).map_err(SubAgentError::Refused)?;
        let Some(ready) = ready else {
            return Err(SubAgentError::Spawn("nothing was started".to_owned()));
        };
        let (id, cancel) = (ready.id(), ready.cancel().clone());
        let mask = Arc::clone(&runner.around().mask);
        self.desk.expect(id, &own.secrets, own.limits.grant, mask);
        let key = id.to_string();
        if !config.start_hooks.is_empty() {
            let state = SubAgentState::Submitted;
            let whose = Whose { id: key.clone(), agent: own.name.to_string(), state };
            hooks::run(config.start_hooks.clone(), whose, self.tail.still());
        }
        let guard = self.guard(&cell, id, &own, plan);
        tokio::spawn(run::run(ready, guard));
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
        // Whoever waits for everything to be over waits from here on, until the hooks are done.
        let (hooks, still) = (Arc::clone(&self.stop_hooks), self.tail.still());
        let (desk, own, ended) = (self.desk.clone(), Arc::clone(own), Arc::clone(cell));
        Guard::new(Arc::clone(cell), run::dropped, move |end| {
            desk.forget(id);
            // Without a runtime there is nothing left to run anything on.
            if tokio::runtime::Handle::try_current().is_err() {
                return;
            }
            if let Some((task_id, events)) = plan {
                let outcome = plan::planned(ended.state(), end);
                let event = TaskEvent { task_id, agent_handle_id: id.to_string(), outcome };
                tokio::spawn(async move {
                    let _ = events.send(event).await;
                });
            }
            if !hooks.is_empty() {
                let (agent, state) = (own.name.to_string(), ended.state());
                hooks::run(hooks.to_vec(), Whose { id: id.to_string(), agent, state }, still);
            }
        })
    }

    /// What runs have in common that are started like this: the same as for the last one, if they are.
    fn common(&mut self, config: &SubAgentConfig) -> Result<Arc<Common>, SubAgentError> {
        if let Some(common) = self.shared.common(config) {
            return Ok(common);
        }
        let store = config.transcript_enabled.then(|| self.store(config)).transpose()?;
        let artifacts = match &store {
            Some(store) => store.dir().join("artifacts"),
            None => own_dirs()?.cache.join("artifacts"),
        };
        let bypass =
            if config.allow_bypass_permissions { Bypass::Allowed } else { Bypass::Forbidden };
        let common = Common {
            settings: Settings {
                bypass,
                limits: config.limits,
                max_depth: config.max_spawn_depth,
                ..Settings::default()
            },
            broker: self.broker.clone(),
            // Each has one of its own.
            sink: Arc::new(Silent),
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
        Ok(self.shared.keep_common(config, common))
    }

    pub(super) fn store(&mut self, config: &SubAgentConfig) -> Result<Store, SubAgentError> {
        let dir = self.transcript_dir(config)?;
        let files = self.transcripts.as_ref().map_or(config.transcript_max_files, |(_, it)| *it);
        let retention = Retention { files, age: None };
        let new = || Store::with(&dir, retention, None);
        Ok(self.stores.entry((dir.clone(), files)).or_insert_with(new).clone())
    }

    /// What the manager was told, else what the configuration says, else where our own files are.
    pub(super) fn transcript_dir(
        &self,
        config: &SubAgentConfig,
    ) -> Result<Utf8PathBuf, SubAgentError> {
        let told = self.transcripts.as_ref().and_then(|(dir, _)| dir.clone());
        match told.or_else(|| config.transcript_dir.clone()) {
            Some(dir) => Ok(dir),
            None => Ok(own_dirs()?.state.join("tasks")),
        }
    }
}

fn own_dirs() -> Result<dirs::Dirs, SubAgentError> {
    dirs::Dirs::from_env().map_err(|error| SubAgentError::Invalid(error.to_string()))
}

//! Tasks that really run: the loop against a scripted model, with the real tools.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod contract;
mod dispatch;
mod docs;
mod endings;
mod isolate;
mod over_http;
mod results;
mod scale;
mod subagents;
mod transcripts;
mod tree;
mod watchdogs;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use agents_agent::{AgentDefinition, AgentName, definition::PermissionMode};
use agents_model::{
    Provider, RetryPolicy,
    cost::Price,
    script::{ScriptFile, ScriptProvider},
    select::{Available, Credentials, ModelRef},
};
use agents_system::process::keeper::Keeper;
use agents_task::{
    Batch, Broker, Budget, Caller, EffectiveAgent, Ground, Limits, Outcome, Patience, Settings,
    Situation, TaskId, TaskRequest, Unrecorded,
    event::{Event, What},
    id::Taken,
    preflight, run,
    runner::Alike,
    turns::{Around, tools_of},
};
use agents_testkit::scratch::Scratch;
use agents_tool::{
    Area, Bypass, CallContext, Catalogue, Confinement, Moment, Rights, Standing, Tool,
    artifacts::ArtifactDir,
    hooks::NoHooks,
    tools::{self, Bash},
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// A task that is going to run in a workspace of its own, with everything allowed.
pub(crate) struct World {
    pub(crate) scratch: Scratch,
    pub(crate) agent: AgentDefinition,
    pub(crate) request: TaskRequest,
    pub(crate) mode: PermissionMode,
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) catalogue: Catalogue,
    pub(crate) patience: Patience,
    pub(crate) price: Option<Price>,
    pub(crate) window: Option<u64>,
    pub(crate) broker: Broker,
    pub(crate) cancel: CancellationToken,
    pub(crate) events: Arc<Mutex<Vec<What>>>,
}

pub(crate) fn keeper() -> Keeper {
    Keeper { program: env!("CARGO_BIN_EXE_agents-task-keeper").into(), args: Vec::new() }
}

pub(crate) fn script(text: &str) -> ScriptFile {
    ScriptFile::parse_toml(text).unwrap()
}

impl World {
    /// With a model that plays this script.
    pub(crate) fn playing(text: &str) -> Self {
        let provider = ScriptProvider::new("script", script(text));
        Self::with(Arc::new(provider.with_retry(RetryPolicy::never())))
    }

    pub(crate) fn with(provider: Arc<dyn Provider>) -> Self {
        let scratch = Scratch::new();
        fs_err::create_dir(scratch.path("root")).unwrap();
        let mut catalogue = Catalogue::default();
        tools::add_all(&mut catalogue, Some(Bash::new(keeper()))).unwrap();
        let mut agent = AgentDefinition::blank(AgentName::new("worker").unwrap());
        agent.prompt = "You work.".to_owned();
        Self {
            scratch,
            agent,
            request: TaskRequest::new("worker", "do the work"),
            mode: PermissionMode::BypassPermissions,
            provider,
            catalogue,
            patience: Patience::default(),
            price: None,
            window: None,
            broker: Broker::unattended(),
            cancel: CancellationToken::new(),
            events: Arc::default(),
        }
    }

    /// With a result that must look like this.
    pub(crate) fn wanting(mut self, schema: Value) -> Self {
        self.request.schema = Some(schema);
        self
    }

    pub(crate) fn limited(mut self, limits: Limits) -> Self {
        self.request.limits = limits;
        self
    }

    pub(crate) fn having(mut self, tool: impl Tool + 'static) -> Self {
        self.catalogue.add(tool).unwrap();
        self
    }

    pub(crate) fn file(self, path: &str, text: &str) -> Self {
        self.scratch.write(format!("root/{path}"), text);
        self
    }

    pub(crate) fn text(&self, path: &str) -> String {
        fs_err::read_to_string(self.scratch.path(format!("root/{path}"))).unwrap()
    }

    pub(crate) fn effective(&self) -> EffectiveAgent {
        let standing = Standing::root(Rights::all(), self.mode, Bypass::Allowed);
        let models = [Available::new(ModelRef::new("script", "any"), Credentials::Ready)];
        let situation = Situation {
            agents: &[&self.agent],
            models: &models,
            no_worktrees: None,
            left: Limits::default(),
            slots: None,
            running: 0,
            taken: &Taken::default(),
            now: Moment::default(),
            before: None,
        };
        let batch = Batch::from(self.request.clone());
        let settings = Settings::default();
        preflight(&batch, &Caller::user(standing), &settings, &situation).unwrap().remove(0)
    }

    pub(crate) async fn go(&self) -> Outcome {
        let agent = self.effective();
        let area = Area::workspace(&self.scratch.path("root")).unwrap();
        let artifacts = Arc::new(ArtifactDir::new(&self.scratch.path("artifacts")));
        let mut context = CallContext::new(area, artifacts, Duration::from_secs(60));
        context.confinement = Confinement::None;
        let seat = self.broker.seat(agent.path.clone());
        let tools = tools_of(
            &agent,
            self.catalogue.clone(),
            Arc::new(NoHooks),
            seat.clone(),
            &Around::default(),
        );
        let log = Arc::clone(&self.events);
        let ground = Ground {
            id: TaskId::new(),
            provider: Arc::clone(&self.provider),
            tools,
            context,
            bash: Some(Bash::new(keeper())),
            price: self.price,
            window: self.window,
            budget: Arc::new(Budget::new(&agent.limits)),
            patience: self.patience,
            seat,
            sink: Arc::new(move |event: &Event| log.lock().unwrap().push(event.what.clone())),
            workplace: None,
            pocket: None,
            alike: Alike::default(),
            recorder: Box::new(Unrecorded),
            cancel: self.cancel.clone(),
        };
        run(agent, ground).await
    }

    /// Runs it. There is one first event and one last one, whatever happens.
    pub(crate) fn run(&self) -> Outcome {
        let outcome = block_on(self.go());
        let events = self.events.lock().unwrap();
        let count = |wanted: fn(&What) -> bool| events.iter().filter(|it| wanted(it)).count();
        assert_eq!(count(|it| matches!(it, What::Started { .. })), 1);
        assert_eq!(count(|it| matches!(it, What::Ended { .. })), 1);
        assert!(matches!(events.first(), Some(What::Started { .. })));
        match events.last() {
            Some(What::Ended { outcome: told }) => assert_eq!(**told, outcome),
            other => panic!("{other:?}"),
        }
        outcome
    }

    pub(crate) fn count(&self, wanted: impl Fn(&What) -> bool) -> usize {
        self.events.lock().unwrap().iter().filter(|it| wanted(it)).count()
    }
}

pub(crate) fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let done = runtime.block_on(work);
    // A tool that never ends is not waited for.
    runtime.shutdown_timeout(Duration::from_millis(10));
    done
}

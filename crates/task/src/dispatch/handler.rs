//! Who does the work.

use std::{fmt, sync::Arc};

use agents_agent::{AgentDefinition, definition::PermissionMode};
use agents_system::explain::Explain as _;
use agents_tool::{Area, Standing};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::{Ambient, Context, Done, Registration, Request};
use crate::{
    outcome::{Ending, Outcome},
    preflight::Caller,
    request::{Batch, DispatchSource, TaskRequest},
    runner::{Equipment, Known, Opened, Runner, Surroundings, Unavailable, Wearer},
    workplace::Isolation,
};

/// Why a handler failed.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct HandlerError {
    /// Why.
    pub message: String,
    /// What came of it all the same.
    pub done: Option<Box<Done>>,
}

impl HandlerError {
    /// Because of this.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), done: None }
    }

    /// With what came of it all the same.
    #[must_use]
    pub fn leaving(mut self, done: Done) -> Self {
        self.done = Some(Box::new(done));
        self
    }
}

/// Does the work of a subagent. Every function of these arguments is one.
pub trait Handler: Send + Sync {
    /// Does it. What is started from here with `ambient` stays within `context`.
    fn handle(
        &self,
        ambient: Ambient,
        context: Context,
        request: Request,
    ) -> BoxFuture<'_, Result<Done, HandlerError>>;
}

impl<F, W> Handler for F
where
    F: Fn(Ambient, Context, Request) -> W + Send + Sync,
    W: Future<Output = Result<Done, HandlerError>> + Send + 'static,
{
    fn handle(
        &self,
        ambient: Ambient,
        context: Context,
        request: Request,
    ) -> BoxFuture<'_, Result<Done, HandlerError>> {
        Box::pin(self(ambient, context, request))
    }
}

/// Gives the text of a definition as the result, and runs nothing: what programs expect that feed it to a model of their own.
#[derive(Debug, Clone)]
pub struct BodyHandler(
    /// The definition.
    pub Arc<AgentDefinition>,
);

impl Handler for BodyHandler {
    fn handle(
        &self,
        _: Ambient,
        context: Context,
        _: Request,
    ) -> BoxFuture<'_, Result<Done, HandlerError>> {
        let metadata = context.metadata;
        let done = Done { metadata, ..Done::of(self.0.prompt.clone()) };
        Box::pin(std::future::ready(Ok(done)))
    }
}

/// Runs an agent, with everything that holds for tasks.
#[derive(Clone)]
pub struct AgentHandler {
    runner: Runner,
    agent: Arc<AgentDefinition>,
    highest: PermissionMode,
}

impl fmt::Debug for AgentHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AgentHandler").field(&self.agent.name).finish()
    }
}

impl AgentHandler {
    /// Runs an agent that the surroundings of the runner know, such as [`WithAgents`]. Where it says nothing else, it asks before it changes
    /// anything.
    #[must_use]
    pub fn new(runner: Runner, agent: Arc<AgentDefinition>) -> Self {
        Self { runner, agent, highest: PermissionMode::Default }
    }

    /// With this as the highest mode that it gets.
    #[must_use]
    pub fn up_to(mut self, mode: PermissionMode) -> Self {
        self.highest = mode;
        self
    }

    async fn run(
        &self,
        ambient: Ambient,
        context: Context,
        request: Request,
    ) -> Result<Done, HandlerError> {
        let user = self.runner.user(self.highest, PermissionMode::Default);
        // The tools of the context are rights, so that a context that leaves none leaves none.
        let standing = Standing { rights: context.tools.clone(), ..user.standing.clone() };
        let caller = Caller { source: Some(DispatchSource::TaskTool), standing, ..user };
        let mut wanted = TaskRequest::new(self.agent.name.as_str(), request.instruction);
        if !context.model.is_empty() {
            wanted.model = vec![context.model.clone()];
        }
        let refused = |it: crate::Refused| {
            let hint = it.hint().map(|hint| format!(" ({hint})")).unwrap_or_default();
            HandlerError::new(format!("{it}{hint}"))
        };
        let started = self.runner.start(&Batch::from(wanted), &caller).map_err(refused)?;
        let Some(running) = started.into_iter().next() else {
            return Err(HandlerError::new("nothing was started"));
        };
        // Dropped, the run ends, too: nobody is left who would hear of it.
        let _end = running.cancel.clone().drop_guard();
        let (stop, id) = (running.cancel.clone(), running.id);
        let outcome = running.outcome();
        tokio::pin!(outcome);
        let outcome = tokio::select! {
            outcome = &mut outcome => outcome,
            () = ambient.cancel().cancelled() => {
                stop.cancel();
                outcome.await
            }
        };
        let mut metadata = context.metadata;
        metadata.insert("task".to_owned(), json!(id.to_string()));
        told(&outcome, metadata)
    }
}

/// What came of a task, for whoever dispatched it.
fn told(outcome: &Outcome, mut metadata: Map<String, Value>) -> Result<Done, HandlerError> {
    let report = &outcome.report;
    metadata.insert("turns".to_owned(), json!(report.turns));
    if let Some(cost) = report.cost {
        metadata.insert("cost".to_owned(), json!(cost.to_string()));
    }
    let output = report.output.as_ref().map(|it| it.value.clone());
    let output = output.unwrap_or_else(|| Value::String(report.text.clone()));
    let done = Done { output, metadata, ..Done::default() };
    match outcome.ending {
        Ending::Completed => Ok(done),
        _ => Err(HandlerError::new(outcome.ending.told()).leaving(done)),
    }
}

impl Handler for AgentHandler {
    fn handle(
        &self,
        ambient: Ambient,
        context: Context,
        request: Request,
    ) -> BoxFuture<'_, Result<Done, HandlerError>> {
        Box::pin(self.run(ambient, context, request))
    }
}

/// Surroundings in which there are more agents: those that were loaded, before all others.
pub struct WithAgents {
    agents: Vec<Arc<AgentDefinition>>,
    rest: Arc<dyn Surroundings>,
}

impl WithAgents {
    /// With what was loaded.
    #[must_use]
    pub fn new(loaded: &[Registration], rest: Arc<dyn Surroundings>) -> Self {
        Self { agents: loaded.iter().map(|it| Arc::clone(&it.agent)).collect(), rest }
    }
}

impl Surroundings for WithAgents {
    fn agents(&self) -> Known {
        let rest = self.rest.agents();
        let is_new =
            |it: &&Arc<AgentDefinition>| !self.agents.iter().any(|other| other.name == it.name);
        self.agents.iter().chain(rest.iter().filter(is_new)).cloned().collect()
    }

    fn models(&self) -> Vec<agents_model::select::Available> {
        self.rest.models()
    }

    fn open(
        &self,
        model: &agents_model::select::ModelRef,
        area: &Area,
    ) -> Result<Opened, Unavailable> {
        self.rest.open(model, area)
    }

    fn area(&self) -> Result<Area, Unavailable> {
        self.rest.area()
    }

    fn isolation(&self) -> Result<Isolation, String> {
        self.rest.isolation()
    }

    fn equip<'a>(&'a self, wearer: Wearer<'a>) -> BoxFuture<'a, Result<Equipment, Unavailable>> {
        self.rest.equip(wearer)
    }
}

//! Handing an assignment to whichever agent fits.
//!
//! A [`Dispatcher`] holds definitions, each with a [`Handler`] that does the work. [`Dispatcher::dispatch`] picks one, by name or by what
//! the assignment says, gives it a [`Context`] that is never wider than its definition, and tells what came of it. A [`Queue`] does
//! so later, as many at a time as it may; [`Dispatcher::dispatch_team`] has several agents do so at once.
//!
//! | module | holds |
//! |---|---|
//! | [`context`] | what a run may use and knows, and who dispatches |
//! | [`definition`] | who can be dispatched to, the built-in ones |
//! | [`handler`] | who does the work: an agent that a [`Runner`](crate::Runner) runs, or whatever an embedding program says |
//! | [`load`](mod@load) | definitions from files |
//! | [`queue`] | dispatching later |
//! | [`team`] | dispatching to several |
//!
//! Whoever dispatches holds an [`Ambient`] with a source. It is a value that code hands over: a [`Request`] has no place for one, so
//! nothing that a model, a file or a user's text says becomes one.
//!
//! ```
//! use agents_task::dispatch::{Ambient, Definition, DispatchError, Dispatcher, Done, Request};
//!
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! let dispatcher = Dispatcher::default();
//! let echo = |_, _, request: Request| async move { Ok(Done::of(request.instruction)) };
//! dispatcher.register(Definition::new("echo"), echo).unwrap();
//! let request = Request::to("Echo", "hello");
//! let refused = dispatcher.dispatch(&Ambient::default(), request.clone()).await;
//! assert!(matches!(refused, Err(DispatchError::Unauthorized)));
//! let done = dispatcher.dispatch(&Ambient::default().with_task_dispatch(), request).await.unwrap();
//! assert_eq!((done.subagent.as_str(), done.output.as_str()), ("echo", Some("hello")));
//! # });
//! ```
//!
//! The agents of a project, each of which runs as a task:
//!
//! ```
//! # use std::{error::Error, sync::Arc};
//! # use agents_task::{Runner, Surroundings, runner::Common};
//! # use agents_task::dispatch::{Ambient, Dispatcher, Done, LoaderOptions, Request, handler::WithAgents, load};
//! # use camino::Utf8Path;
//! # async fn example(project: &Utf8Path, surroundings: Arc<dyn Surroundings>, common: Common) -> Result<Done, Box<dyn Error>> {
//! let (loaded, errors) = load(&LoaderOptions::of(project)); // .claude/agents/**/*.md
//! let runner = Runner::new(Arc::new(WithAgents::new(&loaded, surroundings)), common);
//! let dispatcher = Dispatcher::default();
//! for agent in &loaded {
//!     agent.register(&dispatcher, &runner)?; // each runs as a task
//! }
//! let ambient = Ambient::default().with_task_dispatch();
//! let done = dispatcher.dispatch(&ambient, Request::new("review the last commit")).await?;
//! # drop(errors);
//! # Ok(done)
//! # }
//! ```

pub mod context;
pub mod definition;
pub mod handler;
pub mod load;
pub mod queue;
pub mod team;

use std::{
    collections::BTreeMap,
    panic::AssertUnwindSafe,
    sync::{Arc, PoisonError, RwLock},
};

pub use agents_agent::select::{Activation, Match, Matcher};
use agents_agent::{
    AgentDefinition, AgentName,
    select::{Contender, Ranking, select},
};
use agents_system::explain::{Code, ErrorKind, Explain};
use futures_util::FutureExt as _;
use serde_json::{Map, Value};

pub use self::{
    context::{Ambient, Context},
    definition::{Definition, builtin_definition, builtin_definitions},
    handler::{AgentHandler, BodyHandler, Handler, HandlerError},
    load::{LoadError, LoaderOptions, Registration, load},
    queue::{Queue, State, Status},
    team::Team,
};

/// What is wanted. Nothing in it says who wants it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Request {
    /// Who is to do it; blank for whoever fits best.
    pub target: String,
    /// What is to be done.
    pub instruction: String,
    /// What else is known, for matchers. A blank prompt there is the instruction.
    pub activation: Activation,
    /// Only these of the tools it would have. A list of blanks says nothing.
    pub tools: Vec<String>,
    /// For the context of the run. A text under `session_id` names its session.
    pub metadata: Map<String, Value>,
}

impl Request {
    /// For somebody.
    pub fn to(target: impl Into<String>, instruction: impl Into<String>) -> Self {
        Self { target: target.into(), instruction: instruction.into(), ..Self::default() }
    }

    /// For whoever fits best.
    pub fn new(instruction: impl Into<String>) -> Self {
        Self::to("", instruction)
    }
}

/// What came of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Done {
    /// Who did it, by the name that is registered.
    pub subagent: String,
    /// The result.
    pub output: Value,
    /// What else there is to know.
    pub metadata: Map<String, Value>,
    /// What went wrong, if something did.
    pub error: Option<String>,
}

impl Done {
    /// With this result.
    pub fn of(output: impl Into<Value>) -> Self {
        Self { output: output.into(), ..Self::default() }
    }
}

/// Why something was not dispatched, or did not work.
#[derive(Debug, Clone, thiserror::Error)]
pub enum DispatchError {
    /// There is one of this name.
    #[error("duplicate registration: there is a subagent `{0}`")]
    Duplicate(String),
    /// There is none of this name.
    #[error("unknown target: there is no subagent `{target}`")]
    Unknown {
        /// The name.
        target: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// Nobody was named, and nobody fits.
    #[error("no matching subagent")]
    NoMatch,
    /// It does not say what is to be done.
    #[error("the instruction is empty")]
    EmptyInstruction,
    /// Whoever asks may not dispatch.
    #[error("dispatch is not authorized")]
    Unauthorized,
    /// A definition cannot be registered.
    #[error("`{name}` is not the name of a subagent: {why}")]
    InvalidName {
        /// As it was given.
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Whoever did it failed.
    #[error("{error}")]
    Failed {
        /// What came of it all the same.
        done: Box<Done>,
        /// Why.
        #[source]
        error: HandlerError,
    },
    /// A queue takes no more.
    #[error("{0} assignments wait already")]
    QueueFull(usize),
    /// No assignment of a queue has this number.
    #[error("there is no assignment `{0}`")]
    UnknownTask(String),
    /// There is nobody in a team, and nobody fits.
    #[error("the team is empty")]
    EmptyTeam,
    /// Whoever wanted it no longer does.
    #[error("cancelled")]
    Cancelled,
}

impl Explain for DispatchError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Unauthorized => ErrorKind::Refused,
            Self::Cancelled => ErrorKind::Cancelled,
            Self::Failed { .. } | Self::QueueFull(_) => ErrorKind::Failure,
            _ => ErrorKind::Usage,
        }
    }

    fn code(&self) -> Option<Code> {
        match self {
            Self::Unknown { .. } => Some(Code::UnknownAgent),
            Self::NoMatch | Self::EmptyTeam => Some(Code::NoMatch),
            Self::EmptyInstruction => Some(Code::BadRequest),
            Self::Unauthorized => Some(Code::MayNotStart),
            Self::QueueFull(_) => Some(Code::NoSlot),
            Self::UnknownTask(_) => Some(Code::UnknownTask),
            Self::Duplicate(_)
            | Self::InvalidName { .. }
            | Self::Failed { .. }
            | Self::Cancelled => None,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Unknown { known, .. } => Some(format!("there are: {}", known.join(", "))),
            _ => None,
        }
    }
}

/// Who can be dispatched to. Cheap to clone; all clones are one.
#[derive(Clone, Default)]
pub struct Dispatcher(Arc<RwLock<BTreeMap<String, Entry>>>);

#[derive(Clone)]
struct Entry {
    definition: Definition,
    handler: Arc<dyn Handler>,
    /// What the choice goes by.
    contender: Arc<AgentDefinition>,
}

impl std::fmt::Debug for Dispatcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.entries().keys()).finish()
    }
}

impl Dispatcher {
    fn entries(&self) -> BTreeMap<String, Entry> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Adds a definition and who does its work. What can be written in several ways is kept in one.
    ///
    /// # Errors
    /// It has no name that can be used, or there is one of this name.
    pub fn register(
        &self,
        definition: Definition,
        handler: impl Handler + 'static,
    ) -> Result<(), DispatchError> {
        self.register_shared(definition, Arc::new(handler))
    }

    /// The same, with a handler that somebody else holds, too.
    ///
    /// # Errors
    /// As [`register`](Self::register).
    pub fn register_shared(
        &self,
        definition: Definition,
        handler: Arc<dyn Handler>,
    ) -> Result<(), DispatchError> {
        definition.validate()?;
        let definition = definition.normalised();
        let unusable = || DispatchError::InvalidName {
            name: definition.name.clone(),
            why: "it is too long, or does not begin with a letter or digit",
        };
        let mut contender =
            AgentDefinition::blank(AgentName::new(&definition.name).ok_or_else(unusable)?);
        contender.choice.priority = u32::try_from(definition.priority).unwrap_or(0);
        contender.choice.mutex = Some(definition.mutex_key.clone()).filter(|it| !it.is_empty());
        let mut entries = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if entries.contains_key(&definition.name) {
            return Err(DispatchError::Duplicate(definition.name));
        }
        let contender = Arc::new(contender);
        entries.insert(definition.name.clone(), Entry { definition, handler, contender });
        Ok(())
    }

    /// All definitions: the highest priority first, then by name. What is done to them changes nothing here.
    #[must_use]
    pub fn list(&self) -> Vec<Definition> {
        let mut all: Vec<Definition> =
            self.entries().into_values().map(|it| it.definition).collect();
        all.sort_by(|one, other| {
            other.priority.cmp(&one.priority).then_with(|| one.name.cmp(&other.name))
        });
        all
    }

    /// Who fits, in which order, and why.
    #[must_use]
    pub fn rank(&self, request: &Request) -> Ranking {
        let entries = self.entries();
        let mut activation = request.activation.clone();
        if activation.prompt.trim().is_empty() {
            activation.prompt.clone_from(&request.instruction);
        }
        let contenders = entries
            .values()
            .map(|it| Contender { agent: &it.contender, matchers: it.definition.matchers.clone() });
        select(contenders, &activation)
    }

    /// Who is meant. Everything that can be known before the work begins is checked here, in this order: who asks, what is to be done,
    /// who is to do it.
    fn choose(&self, ambient: &Ambient, request: &Request) -> Result<Entry, DispatchError> {
        if !ambient.may_dispatch() {
            return Err(DispatchError::Unauthorized);
        }
        if request.instruction.trim().is_empty() {
            return Err(DispatchError::EmptyInstruction);
        }
        let target = request.target.trim().to_lowercase();
        let name = if target.is_empty() {
            let ranking = self.rank(request);
            ranking.first().map(|it| it.name.clone()).ok_or(DispatchError::NoMatch)?
        } else {
            target
        };
        let mut entries = self.entries();
        let known = || entries.keys().cloned().collect();
        let unknown = DispatchError::Unknown { target: request.target.clone(), known: known() };
        entries.remove(&name).ok_or(unknown)
    }

    /// The context of a run: that of the definition, with what whoever dispatches has, and what the request says. Tools only become less.
    fn context(ambient: &Ambient, definition: &Definition, request: &Request) -> Context {
        let mut context = definition.base.clone();
        if let Some(outer) = ambient.context() {
            context = context.within(outer);
        }
        context = context.with_metadata(&request.metadata);
        if let Some(Value::String(session)) = request.metadata.get("session_id") {
            context = context.with_session(session);
        }
        context.restrict_tools(&request.tools)
    }

    /// Has it done, by whoever is named, or else by whoever fits best.
    ///
    /// # Errors
    /// Whoever asks may not; there is nothing to do; nobody is there to do it; or whoever did it failed, which tells what came of it
    /// all the same.
    pub async fn dispatch(
        &self,
        ambient: &Ambient,
        request: Request,
    ) -> Result<Done, DispatchError> {
        let entry = self.choose(ambient, &request)?;
        entry.run(ambient, request).await
    }
}

impl Entry {
    async fn run(self, ambient: &Ambient, request: Request) -> Result<Done, DispatchError> {
        let Self { definition, handler, .. } = self;
        let context = Dispatcher::context(ambient, &definition, &request);
        // Whoever is started from there dispatches within this context.
        let inner = ambient.clone().with_context(context.clone());
        let work = handler.handle(inner, context, request);
        let handled = match AssertUnwindSafe(work).catch_unwind().await {
            Ok(handled) => handled,
            Err(_) => Err(HandlerError::new("the handler broke down: this is a bug")),
        };
        match handled {
            Ok(done) => Ok(Done { subagent: definition.name, ..done }),
            Err(error) => {
                let done = error.done.clone().unwrap_or_default();
                let told = Some(error.message.clone());
                let done = Done { subagent: definition.name, error: told, ..*done };
                Err(DispatchError::Failed { done: Box::new(done), error })
            }
        }
    }
}

//! What a preflight is given besides the request.

use std::{collections::BTreeSet, sync::Arc};

use agents_agent::definition::{
    AgentDefinition, AgentName, OutputSchema, PermissionMode, SchemaLanguage, Spawns,
};
use agents_model::select::{Available, ModelRef, Preferences};
use agents_tool::{Bypass, Grants, Moment, Standing};

use crate::{
    effective::{EffectiveAgent, Planning},
    id::{Taken, TaskPath},
    limits::Limits,
    peers::PeerLimits,
    request::{DispatchSource, Form, TaskRequest},
};

/// What the configuration says about all tasks.
#[derive(Debug, Clone)]
pub struct Settings {
    /// What requests may say.
    pub form: Form,
    /// How deep agents may start agents: at 0 none may, at 1 those that the user started may not. `None` is without end.
    pub max_depth: Option<u32>,
    /// Agents that must not be started, by exact name.
    pub disabled: BTreeSet<String>,
    /// An agent that must not be started from here, and the variable that says so.
    pub blocked: Option<(String, String)>,
    /// Whether agents may run without being asked anything.
    pub bypass: Bypass,
    /// How far a task may go if nobody says anything.
    pub limits: Limits,
    /// How far it may go whatever anybody says but the user; nothing bounds it by default.
    pub bounds: Limits,
    /// Which models are meant by what.
    pub models: Preferences,
    /// Whether tasks may write to each other, and how much.
    pub peers: Option<PeerLimits>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            form: Form::Default,
            max_depth: Some(2),
            disabled: BTreeSet::new(),
            blocked: None,
            bypass: Bypass::Forbidden,
            limits: Limits::DEFAULT,
            bounds: Limits::default(),
            models: Preferences::default(),
            peers: None,
        }
    }
}

/// Whoever asks.
#[derive(Debug, Clone, PartialEq)]
pub struct Caller {
    /// What lets it start agents; `None` if nothing does.
    pub source: Option<DispatchSource>,
    /// Where it stands.
    pub path: TaskPath,
    /// The agents that led to it, itself the last. Empty for the user.
    pub lineage: Arc<[AgentName]>,
    /// Which agents it may start.
    pub spawns: Spawns,
    /// What it may do.
    pub standing: Standing,
    /// The mode that is meant where neither request nor definition says one; its own if this does not, either.
    pub usual_mode: Option<PermissionMode>,
    /// Whether it only plans.
    pub planning: Planning,
    /// What its own result must look like.
    pub schema: Option<OutputSchema>,
    /// The model that it runs on.
    pub model: Option<ModelRef>,
    /// What it was told to run on.
    pub model_patterns: Vec<String>,
}

impl Caller {
    /// The user, who may start every agent.
    #[must_use]
    pub fn user(standing: Standing) -> Self {
        Self {
            source: Some(DispatchSource::User),
            path: TaskPath::root(),
            lineage: Arc::default(),
            spawns: Spawns::Any,
            standing,
            usual_mode: None,
            planning: Planning::Act,
            schema: None,
            model: None,
            model_patterns: Vec::new(),
        }
    }

    /// An agent that runs.
    #[must_use]
    pub fn agent(agent: &EffectiveAgent, standing: Standing, patterns: Vec<String>) -> Self {
        let schema = agent.schema.as_ref().map(|(schema, _)| OutputSchema {
            language: SchemaLanguage::JsonSchema,
            schema: schema.json().clone(),
        });
        Self {
            source: Some(DispatchSource::TaskTool),
            path: agent.path.clone(),
            lineage: Arc::clone(&agent.lineage),
            spawns: agent.spawns.clone(),
            standing,
            usual_mode: None,
            planning: agent.planning,
            schema,
            model: Some(agent.model.model.clone()),
            model_patterns: patterns,
        }
    }

    pub(super) fn depth(&self) -> u32 {
        u32::try_from(self.path.depth()).unwrap_or(u32::MAX)
    }
}

/// How things are at this moment.
#[derive(Debug, Clone)]
pub struct Situation<'a> {
    /// The agents that there are, in order of precedence: found just now.
    pub agents: &'a [&'a AgentDefinition],
    /// The models that there are.
    pub models: &'a [Available],
    /// Why no task can have a worktree of its own, if none can.
    pub no_worktrees: Option<String>,
    /// What the caller has left.
    pub left: Limits,
    /// How many more tasks may run.
    pub slots: Option<usize>,
    /// How many run.
    pub running: usize,
    /// The names in the tree that are taken.
    pub taken: &'a Taken<'a>,
    /// Now, on the clock of the grants.
    pub now: Moment,
    /// What was decided before for the same caller, with the same agents, models and settings. Whoever gives it answers for that.
    pub before: Option<&'a Decided>,
}

/// What was decided for an assignment.
#[derive(Debug, Clone)]
pub struct Decided {
    request: TaskRequest,
    agent: EffectiveAgent,
}

impl Decided {
    /// For this assignment. `None` where it does not hold for long: what is granted for a time depends on when it is asked for.
    #[must_use]
    pub fn new(request: &TaskRequest, caller: &Caller, agent: &EffectiveAgent) -> Option<Self> {
        let lasts = request.grants.is_empty()
            && caller.standing.grants == Grants::default()
            && request.agent.is_some()
            && request.continues.is_none();
        let request = || TaskRequest { prompt: String::new(), ..request.clone() };
        lasts.then(|| Self { request: request(), agent: agent.without_assignment() })
    }

    /// Whether an agent was made from it.
    pub(crate) fn is_of(&self, agent: &EffectiveAgent) -> bool {
        self.agent.is_shared_with(agent)
    }

    /// What holds for this one, too.
    pub(super) fn like(&self, request: &TaskRequest) -> Option<&EffectiveAgent> {
        self.request.is_decided_like(request).then_some(&self.agent)
    }
}

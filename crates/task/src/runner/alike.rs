//! What agents of one definition have in common.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use agents_agent::{AgentName, definition::Isolation};
use agents_model::{Sealed, ToolSpec, select::Available};
use agents_tool::{Executor as _, Tool};
use serde_json::Value;

use super::{Common, Known};
use crate::{
    effective::EffectiveAgent,
    preflight::{Caller, Decided},
    request::{Batch, TaskRequest},
    schema::Schema,
    submission::{self, YIELD},
    turns::Tools,
};

/// What agents of one definition have in common, so that it is in memory once for all of them: what they are told to be, their
/// rights, their model, their tools and how these are written for the model. It keeps what the last one of each definition had.
#[derive(Clone, Default)]
pub struct Alike(Arc<Mutex<Last>>);

/// What a decision rests on, besides the assignment.
pub(super) struct Here<'h> {
    pub(super) known: &'h Known,
    pub(super) models: &'h [Available],
    pub(super) common: &'h Arc<Common>,
    pub(super) caller: &'h Caller,
}

/// What was decided last, and on what that rested.
struct Ruling {
    known: Known,
    models: Vec<Available>,
    common: Arc<Common>,
    caller: Caller,
    decided: Decided,
}

impl Ruling {
    /// Whether it would be decided again like this. What there is may be the same without being known to be: then it is decided anew.
    fn holds(&self, here: &Here<'_>) -> bool {
        Arc::ptr_eq(&self.known, here.known)
            && Arc::ptr_eq(&self.common, here.common)
            && self.models == here.models
            && self.caller == *here.caller
    }
}

#[derive(Default)]
pub(super) struct Last {
    agents: HashMap<AgentName, EffectiveAgent>,
    rulings: HashMap<String, Ruling>,
    tools: HashMap<AgentName, Told>,
}

impl Last {
    /// What was decided before for what may be the same assignment. Only for one that starts alone: there is nothing beside it that
    /// could count.
    pub(super) fn decided(&self, here: &Here<'_>, batch: &Batch) -> Option<&Decided> {
        let request = alone(batch)?;
        let ruling = self.rulings.get(request.agent.as_deref()?)?;
        ruling.holds(here).then_some(&ruling.decided)
    }

    /// Keeps what was decided, unless that is what was decided before.
    pub(super) fn remember(&mut self, here: &Here<'_>, batch: &Batch, agents: &[EffectiveAgent]) {
        let (Some(request), [agent]) = (alone(batch), agents) else { return };
        let is_known = |it: &Ruling| it.decided.is_of(agent) && it.holds(here);
        if agent.isolation != Isolation::None
            || self.rulings.get(agent.name.as_str()).is_some_and(is_known)
        {
            return;
        }
        let Some(decided) = Decided::new(request, here.caller, agent) else { return };
        let ruling = Ruling {
            known: Arc::clone(here.known),
            models: here.models.to_vec(),
            common: Arc::clone(here.common),
            caller: here.caller.clone(),
            decided,
        };
        self.rulings.insert(agent.name.to_string(), ruling);
    }
}

fn alone(batch: &Batch) -> Option<&TaskRequest> {
    match batch.tasks.as_slice() {
        [request] if batch.context.is_none() => Some(request),
        _ => None,
    }
}

/// What a model was told about tools.
struct Told {
    specs: Arc<Sealed<Vec<ToolSpec>>>,
    /// Their schemas as the tools have them, which is once for each kind of tool.
    schemas: Vec<Arc<Value>>,
    /// What the result must look like, which is part of the last one.
    result: Option<Schema>,
}

impl Told {
    fn new(tools: &Tools, result: Option<&Schema>) -> Self {
        let (mut specs, mut schemas) = (Vec::new(), Vec::new());
        each(tools, |tool| {
            let schema = tool.schema();
            let (name, description) = (tool.name().to_owned(), tool.description().to_owned());
            specs.push(ToolSpec { name, description, schema: Value::clone(&schema) });
            schemas.push(schema);
        });
        specs.push(submission::spec(result));
        Self { specs: Arc::new(Sealed::new(specs)), schemas, result: result.cloned() }
    }

    /// Whether this is what it would be told about these.
    fn is_about(&self, tools: &Tools, result: Option<&Schema>) -> bool {
        let (mut known, mut same) = (self.specs.iter().zip(&self.schemas), true);
        each(tools, |tool| {
            same = same
                && known.next().is_some_and(|(spec, schema)| {
                    let own = tool.schema();
                    spec.name == tool.name()
                        && spec.description == tool.description()
                        && (Arc::ptr_eq(schema, &own) || **schema == *own)
                });
        });
        same && known.next().is_none() && self.result.as_ref() == result
    }
}

/// Every tool of an agent but the loop's own.
fn each(tools: &Tools, mut see: impl FnMut(&dyn Tool)) {
    tools.inner().show(&mut |tool| {
        if tool.name() != YIELD {
            see(tool);
        }
    });
}

impl Alike {
    pub(super) fn last(&self) -> MutexGuard<'_, Last> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Agents that will run, in the order in which they start.
    pub(super) fn agents(&self, agents: &mut [EffectiveAgent]) {
        let mut last = self.last();
        for agent in agents {
            match last.agents.get(&agent.name) {
                // As it is for all of a batch but the first.
                Some(before) if before.is_shared_with(agent) => {}
                Some(before) => {
                    agent.share(before);
                    last.agents.insert(agent.name.clone(), agent.without_assignment());
                }
                None => {
                    last.agents.insert(agent.name.clone(), agent.without_assignment());
                }
            }
        }
    }

    /// The tools of an agent as its model is told about them.
    pub(crate) fn tools(
        &self,
        agent: &EffectiveAgent,
        tools: &Tools,
    ) -> Arc<Sealed<Vec<ToolSpec>>> {
        let result = agent.schema.as_ref().map(|(schema, _)| schema);
        let mut last = self.last();
        if let Some(before) = last.tools.get(&agent.name).filter(|it| it.is_about(tools, result)) {
            return Arc::clone(&before.specs);
        }
        let told = Told::new(tools, result);
        let specs = Arc::clone(&told.specs);
        last.tools.insert(agent.name.clone(), told);
        specs
    }
}

//! What agents of one definition have in common.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use agents_agent::AgentName;
use agents_model::{Sealed, ToolSpec};

use crate::effective::EffectiveAgent;

/// What agents of one definition have in common, so that it is in memory once for all of them: what they are told to be, their
/// rights, their model, their tools and how these are written for the model. It keeps what the last one of each definition had.
#[derive(Clone, Default)]
pub struct Alike(Arc<Mutex<Last>>);

#[derive(Default)]
struct Last {
    agents: HashMap<AgentName, EffectiveAgent>,
    tools: HashMap<AgentName, Arc<Sealed<Vec<ToolSpec>>>>,
}

impl Alike {
    fn last(&self) -> MutexGuard<'_, Last> {
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
        agent: &AgentName,
        tools: Vec<ToolSpec>,
    ) -> Arc<Sealed<Vec<ToolSpec>>> {
        let mut last = self.last();
        match last.tools.get(agent) {
            Some(before) if ***before == tools => Arc::clone(before),
            _ => {
                let tools = Arc::new(Sealed::new(tools));
                last.tools.insert(agent.clone(), Arc::clone(&tools));
                tools
            }
        }
    }
}

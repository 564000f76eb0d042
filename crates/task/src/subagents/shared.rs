//! What sub-agents have in common.

use std::{collections::HashMap, sync::Arc};

use agents_agent::{AgentDefinition, AgentName};

use crate::runner::Alike;

/// What sub-agents have in common, so that it is in memory once for all of them.
#[derive(Default)]
pub(super) struct Shared {
    /// What their runners share.
    pub(super) alike: Alike,
    /// The definitions as sub-agents see them, made when the first one starts.
    all: Option<Arc<[Arc<AgentDefinition>]>>,
    /// What the last one of each name ran by.
    own: HashMap<AgentName, Arc<AgentDefinition>>,
}

impl Shared {
    /// The definitions may be others from now on.
    pub(super) fn forget(&mut self) {
        (self.all, self.own) = (None, HashMap::new());
    }

    /// The definitions as sub-agents see them: all run on the model that is given.
    pub(super) fn all(&mut self, definitions: &[AgentDefinition]) -> Arc<[Arc<AgentDefinition>]> {
        let all = self.all.get_or_insert_with(|| {
            let without_model =
                |it: &AgentDefinition| AgentDefinition { model: Vec::new(), ..it.clone() };
            definitions.iter().map(|it| Arc::new(without_model(it))).collect()
        });
        Arc::clone(all)
    }

    /// This one, or the same as it was before.
    pub(super) fn own(&mut self, own: Arc<AgentDefinition>) -> Arc<AgentDefinition> {
        match self.own.get(&own.name) {
            Some(before) if *before == own => Arc::clone(before),
            _ => {
                self.own.insert(own.name.clone(), Arc::clone(&own));
                own
            }
        }
    }
}

//! What sub-agents have in common.

use std::{collections::HashMap, sync::Arc};

use agents_agent::AgentDefinition;

use super::{SubAgentConfig, SubAgentError, config};
use crate::runner::{Alike, Common, Known};

/// What sub-agents have in common, so that it is in memory once for all of them, and made once for those that are started alike.
#[derive(Default)]
pub(super) struct Shared {
    /// What their runners share.
    pub(super) alike: Alike,
    /// The definitions as sub-agents see them, made when the first one starts.
    all: Option<Known>,
    /// What the last one of each name was started with, and what it knew.
    known: HashMap<String, (With, Known)>,
    /// The same for what its runner was told.
    common: Option<(SubAgentConfig, Arc<Common>)>,
}

/// What a definition that runs is made of, besides the definition.
struct With {
    skills: Option<Vec<String>>,
    config: SubAgentConfig,
}

impl With {
    fn is(&self, skills: Option<&[String]>, config: &SubAgentConfig) -> bool {
        self.skills.as_deref() == skills && self.config == *config
    }
}

impl Shared {
    /// The definitions may be others from now on.
    pub(super) fn forget(&mut self) {
        (self.all, self.known) = (None, HashMap::new());
    }

    /// What runners are told may be something else from now on.
    pub(super) fn forget_common(&mut self) {
        self.common = None;
    }

    /// The definitions as a sub-agent sees them: that which it runs by, and then the others. All run on the model that is given.
    ///
    /// # Errors
    /// There is no such definition, or it asks for more than the configuration allows.
    pub(super) fn known(
        &mut self,
        definitions: &[AgentDefinition],
        name: &str,
        skills: Option<&[String]>,
        config: &SubAgentConfig,
    ) -> Result<Known, SubAgentError> {
        if let Some((with, known)) = self.known.get(name)
            && with.is(skills, config)
        {
            return Ok(Arc::clone(known));
        }
        let definition = definitions.iter().find(|it| it.name.as_str() == name);
        let definition = definition.ok_or_else(|| SubAgentError::no_definition(name))?;
        let own = config::effective(definition, skills, config)?;
        let before =
            self.known.get(name).map(|(_, known)| known).filter(|it| it.first() == Some(&own));
        let known = match before {
            Some(before) => Arc::clone(before),
            None => {
                let all = self.all.get_or_insert_with(|| {
                    let without_model =
                        |it: &AgentDefinition| AgentDefinition { model: Vec::new(), ..it.clone() };
                    definitions.iter().map(|it| Arc::new(without_model(it))).collect()
                });
                let others = all.iter().filter(|it| it.name != own.name);
                std::iter::once(&own).chain(others).cloned().collect()
            }
        };
        let with = With { skills: skills.map(<[String]>::to_vec), config: config.clone() };
        self.known.insert(name.to_owned(), (with, Arc::clone(&known)));
        Ok(known)
    }

    /// What the last runner was told, if this one is told the same.
    pub(super) fn common(&self, config: &SubAgentConfig) -> Option<Arc<Common>> {
        let (told, common) = self.common.as_ref()?;
        (told == config).then(|| Arc::clone(common))
    }

    pub(super) fn keep_common(&mut self, config: &SubAgentConfig, common: Common) -> Arc<Common> {
        let common = Arc::new(common);
        self.common = Some((config.clone(), Arc::clone(&common)));
        common
    }
}

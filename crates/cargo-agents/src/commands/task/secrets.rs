//! Where tasks get secrets from: what the user configured, once the user agrees.

use std::sync::Arc;

use agents_task::{
    Broker, Runner, TaskSettings,
    secret::{Asks, Desk, SecretSettings, Vault, vault::Hear},
};

use super::place::Place;
use crate::{commands::secret::unknown, failure::Failure, settings::Settings};

/// Who answers questions of tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attended {
    /// Somebody sits here.
    Here,
    /// Whoever comes, if anybody does: `task asks`, `task attach`.
    Later,
    /// Nobody.
    No,
}

/// What a run may be given.
pub(crate) struct Secrets {
    settings: Arc<SecretSettings>,
    agreed: Vec<String>,
}

impl Secrets {
    /// What is configured, of which these need no question.
    pub(crate) fn load(settings: &Settings, agreed: &[String]) -> Result<Self, Failure> {
        let known = SecretSettings::load(&settings.dirs)?;
        if let Some(name) = agreed.iter().find(|it| known.source(it).is_none()) {
            return Err(unknown(name));
        }
        Ok(Self { settings: Arc::new(known), agreed: agreed.to_vec() })
    }

    /// Where tasks ask for them.
    pub(crate) fn desk(
        &self,
        broker: &Broker,
        attended: Attended,
        said: &TaskSettings,
        place: &Place,
    ) -> Desk {
        let asks = match attended {
            Attended::Here => Asks::Somebody,
            Attended::Later => said.background_secrets,
            Attended::No => Asks::Nobody,
        };
        let heard = Arc::clone(place.heard());
        let hear = Box::new(move |finding| heard.hear(finding));
        let vault = Vault::new(Arc::clone(&self.settings), broker.clone(), asks, hear);
        vault.agreeing(self.agreed.iter().cloned()).desk(said.approval)
    }

    /// What can be printed by programs before anybody asks for it is hidden from the start.
    pub(crate) fn hide(&self, runner: &Runner) {
        self.settings.hide(&runner.around().mask);
    }

    /// The same for whoever asks at a door.
    pub(crate) fn behind_door(self, said: &TaskSettings, hear: Hear) -> agents_serve::Secrets {
        let Self { settings, agreed } = self;
        agents_serve::Secrets { settings, agreed, background: said.background_secrets, hear }
    }
}

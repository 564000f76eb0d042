//! From what the user has to the one model that is meant, for programs that embed us.

use std::sync::Arc;

use agents_plugin::config::{Config, ConfigError};
use agents_system::{
    dirs::{self, Dirs, DirsError},
    explain::{Code, ErrorKind, Explain},
    finding::Finding,
};

use crate::{
    cost::Price,
    open::{self, Ground, KeyStanding, OpenError},
    provider::Provider,
    select::{Ask, Available, ModelRef, Unresolved, select},
    settings::{Around, ModelSettings, NoProvider, all_providers},
};

/// A model that can be asked, with what is known of it.
#[derive(Clone)]
pub struct Found {
    /// What it is called.
    pub model: ModelRef,
    /// What answers.
    pub provider: Arc<dyn Provider>,
    /// What it costs, if that is known.
    pub price: Option<Price>,
    /// How many tokens it can keep in mind, if that is known.
    pub window: Option<u64>,
}

/// No model was found.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// Nobody knows where the configuration is.
    #[error(transparent)]
    Dirs(#[from] DirsError),
    /// The configuration is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// There is nobody to ask.
    #[error(transparent)]
    NoProvider(#[from] NoProvider),
    /// No model fits.
    #[error(transparent)]
    Unresolved(#[from] Unresolved),
    /// Its provider cannot be asked.
    #[error(transparent)]
    Open(#[from] OpenError),
}

impl FindError {
    fn inner(&self) -> &dyn Explain {
        match self {
            Self::Dirs(error) => error,
            Self::Config(error) => error,
            Self::NoProvider(error) => error,
            Self::Unresolved(error) => error,
            Self::Open(error) => error,
        }
    }
}

impl Explain for FindError {
    fn kind(&self) -> ErrorKind {
        self.inner().kind()
    }

    fn code(&self) -> Option<Code> {
        self.inner().code()
    }

    fn hint(&self) -> Option<String> {
        self.inner().hint()
    }

    fn findings(&self) -> &[Finding] {
        self.inner().findings()
    }

    fn details(&self) -> Option<String> {
        self.inner().details()
    }
}

/// The model that a [pattern](crate::select) means, among those of `config.toml`, of keys in the environment and of installed hosts, as
/// `--model` of the program means it. Its key is read; nothing is sent. Models that only a server knows must be listed in its `models`.
///
/// # Errors
/// The configuration is wrong, there is no provider, nothing fits, or there is no key.
pub fn find(pattern: &str) -> Result<Found, FindError> {
    let (dirs, cwd) = (Dirs::from_env()?, dirs::current()?);
    let said = ModelSettings::load(&dirs)?;
    let (hosts, _) = agents_host::hosts(None);
    let providers = all_providers(&said.providers, &Around::look(&hosts), &Config::file(&dirs))?;
    let catalogue = said.catalogue();
    let models: Vec<Available> = providers
        .iter()
        .flat_map(|it| {
            open::available(it, &open::static_models(it, &catalogue), &KeyStanding::of(it))
        })
        .collect();
    let wanted = [pattern.to_owned()];
    let ask = Ask { request: &wanted, ..Ask::default() };
    let model = select(&ask, &models, &said.preferences())?.model;
    let none = || Unresolved { chain: Vec::new(), providers: Vec::new() };
    let settings = providers.iter().find(|it| it.name == model.provider).ok_or_else(none)?;
    let provider = open::open(settings, &Ground { cwd: &cwd, hosts: &hosts })?;
    let known = catalogue.find(&model, settings.kind.catalogue());
    let (price, window) = (known.and_then(|it| it.price), known.and_then(|it| it.context));
    Ok(Found { model, provider, price, window })
}

//! From settings to providers that can be asked, and to the models that can be chosen.

use std::sync::Arc;

use agents_host::{Host, host::Headless};
use agents_system::explain::{Code, ErrorKind, Explain};
use camino::Utf8Path;
use secrecy::SecretString;
use tokio::sync::Semaphore;

use crate::{
    acp::AcpProvider,
    catalogue::Catalogue,
    error::{ModelError, Problem},
    host::{DEFAULT_MODEL, HostProvider},
    http::HttpProvider,
    keys::{KeyError, KeySource, find_key},
    provider::Provider,
    script::{ScriptError, ScriptFile, ScriptProvider},
    select::{Available, Credentials, ModelRef, Rank},
    settings::{Kind, Origin, ProviderSettings},
    wire::{Dialect, Wire},
};

/// How many programs run at a time, if nothing else is said: each is a whole coding agent.
const PROGRAMS: usize = 4;

/// Where a provider is opened.
#[derive(Debug, Clone, Copy)]
pub struct Ground<'a> {
    /// Where programs run.
    pub cwd: &'a Utf8Path,
    /// The hosts that are known.
    pub hosts: &'a [Host],
}

/// A provider cannot be asked.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Its key cannot be had.
    #[error("`{provider}`: no key")]
    Key {
        /// The provider.
        provider: String,
        /// Why.
        source: KeyError,
    },
    /// Its script is wrong.
    #[error(transparent)]
    Script(#[from] ScriptError),
    /// Something else.
    #[error(transparent)]
    Model(#[from] ModelError),
}

impl Explain for OpenError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Key { source, .. } => source.kind(),
            Self::Script(error) => error.kind(),
            Self::Model(error) => error.kind(),
        }
    }

    fn code(&self) -> Option<Code> {
        match self {
            Self::Key { source, .. } => source.code(),
            Self::Script(error) => error.code(),
            Self::Model(error) => error.code(),
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Key { source, .. } => source.hint(),
            Self::Script(error) => error.hint(),
            Self::Model(error) => error.hint(),
        }
    }

    fn details(&self) -> Option<String> {
        match self {
            Self::Key { .. } => None,
            Self::Script(error) => error.details(),
            Self::Model(error) => error.details(),
        }
    }
}

/// Opens a provider. Its key is read now; nothing is sent and no program of it is started.
pub fn open(
    settings: &ProviderSettings,
    ground: &Ground<'_>,
) -> Result<Arc<dyn Provider>, OpenError> {
    Ok(match settings.kind {
        Kind::Anthropic => over_http(settings, Wire::Messages)?,
        Kind::Openai | Kind::OpenaiCompatible => over_http(settings, Wire::Chat)?,
        Kind::OpenaiResponses => over_http(settings, Wire::Responses)?,
        Kind::Gemini => over_http(settings, Wire::Gemini)?,
        Kind::Acp => Arc::new(AcpProvider {
            name: settings.name.clone(),
            command: settings.command.clone(),
            rights: settings.rights,
            host: acp_host(settings, ground),
            cwd: ground.cwd.to_owned(),
            models: static_models(settings, &Catalogue::default()),
            permits: permits(settings),
        }),
        Kind::Host => Arc::new(host(settings, ground)?),
        Kind::Script => script(settings)?,
    })
}

fn over_http(settings: &ProviderSettings, wire: Wire) -> Result<Arc<dyn Provider>, OpenError> {
    let name = &settings.name;
    let url = settings.url.as_deref().unwrap_or_default();
    let usual = settings.kind.usual_url() == Some(url);
    let dialect = if usual { Dialect::Official } else { Dialect::Compatible };
    let mut provider = HttpProvider::new(name, wire, url)?.with_dialect(dialect);
    match key(settings)? {
        Some(key) => provider = provider.with_key(&key)?,
        None if settings.needs_key() => {
            let looked_for = settings.keys.iter().map(ToString::to_string).collect();
            return Err(Problem::NoKey { looked_for }.at(name).into());
        }
        None => {}
    }
    for (header, value) in &settings.headers {
        provider = provider.with_header(header, &SecretString::from(value.as_str()))?;
    }
    if let Some(most) = settings.max_requests {
        provider = provider.with_max_requests(usize::try_from(most).unwrap_or(usize::MAX));
    }
    Ok(Arc::new(provider))
}

fn key(settings: &ProviderSettings) -> Result<Option<SecretString>, OpenError> {
    let provider = settings.name.clone();
    let found = find_key(&settings.keys).map_err(|source| OpenError::Key { provider, source })?;
    Ok(found.map(|key| key.secret))
}

fn host(settings: &ProviderSettings, ground: &Ground<'_>) -> Result<HostProvider, ModelError> {
    let id = settings.host.as_deref().unwrap_or(&settings.name);
    let wrong = |what: String| Problem::Settings { what }.at(&settings.name);
    let host = ground.hosts.iter().find(|host| host.id.as_str() == id);
    let host = host.ok_or_else(|| wrong(format!("there is no host `{id}`")))?;
    let headless = host.headless.clone();
    let headless = headless.ok_or_else(|| {
        wrong(format!("it is not known how to run {} without a terminal", host.name))
    })?;
    let command = match (&settings.origin, settings.command.as_slice()) {
        (Origin::Installed(program), []) => vec![program.to_string()],
        (_, []) => return Err(wrong(format!("{} is not installed", host.name))),
        (_, command) => command.to_vec(),
    };
    Ok(HostProvider {
        name: settings.name.clone(),
        command,
        models: static_models(settings, &Catalogue::default()),
        headless,
        rights: settings.rights,
        cwd: ground.cwd.to_owned(),
        permits: permits(settings),
    })
}

/// How an ACP agent is run that is a host which we know, by its `host` or by the name of its program.
fn acp_host(settings: &ProviderSettings, ground: &Ground<'_>) -> Option<Headless> {
    let program = settings.command.first().map(|it| Utf8Path::new(it.as_str()));
    let program = program.and_then(Utf8Path::file_name).unwrap_or_default();
    let host = ground.hosts.iter().find(|host| match &settings.host {
        Some(id) => host.id.as_str() == id,
        None => host.detect.programs.iter().any(|it| it == program),
    });
    host?.headless.clone()
}

fn permits(settings: &ProviderSettings) -> Arc<Semaphore> {
    let most = settings.max_requests.and_then(|most| usize::try_from(most).ok());
    Arc::new(Semaphore::new(most.unwrap_or(PROGRAMS).clamp(1, Semaphore::MAX_PERMITS)))
}

/// Where a key is, as far as one can tell without running anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyStanding {
    /// None is needed.
    NotNeeded,
    /// It is there.
    There(KeySource),
    /// A command prints it; it was not run.
    Command(KeySource),
    /// It is nowhere.
    Missing,
}

impl KeyStanding {
    /// Where the key of a provider is. Looks into variables and the keyring; runs no command.
    #[must_use]
    pub fn of(settings: &ProviderSettings) -> Self {
        for source in &settings.keys {
            match source {
                KeySource::Command(_) => return Self::Command(source.clone()),
                _ => {
                    if let Ok(Some(key)) = find_key(std::slice::from_ref(source)) {
                        return Self::There(key.from);
                    }
                }
            }
        }
        if settings.needs_key() { Self::Missing } else { Self::NotNeeded }
    }

    /// Whether the provider could be asked.
    #[must_use]
    pub fn credentials(&self) -> Credentials {
        match self {
            Self::Missing => Credentials::Missing,
            _ => Credentials::Ready,
        }
    }
}

/// The models of a provider as far as one can tell without asking it: the one that is configured, those that are listed, those
/// that are known of its kind.
#[must_use]
pub fn static_models(settings: &ProviderSettings, catalogue: &Catalogue) -> Vec<String> {
    let names = [settings.name.as_str(), settings.kind.catalogue()];
    let known = catalogue.of(&names).map(|known| known.id.clone());
    let said = settings.model.iter().chain(&settings.models).cloned();
    let mut all: Vec<String> = Vec::new();
    for id in said.chain(known) {
        if !all.contains(&id) {
            all.push(id);
        }
    }
    // A program has a model of its own, whatever it is.
    if all.is_empty() && matches!(settings.kind, Kind::Acp | Kind::Host | Kind::Script) {
        all.push(DEFAULT_MODEL.to_owned());
    }
    all
}

/// The models of a provider as they can be chosen.
#[must_use]
pub fn available(
    settings: &ProviderSettings,
    ids: &[String],
    standing: &KeyStanding,
) -> Vec<Available> {
    let rank = if settings.is_reseller() { Rank::Reseller } else { Rank::Usual };
    let ids = ids.iter().map(|id| Available {
        model: ModelRef::new(&settings.name, id),
        display: None,
        credentials: standing.credentials(),
        rank,
    });
    ids.collect()
}

fn script(settings: &ProviderSettings) -> Result<Arc<dyn Provider>, OpenError> {
    let file = settings.script.as_deref().unwrap_or(Utf8Path::new(""));
    let file = ScriptFile::load(file)?;
    Ok(Arc::new(ScriptProvider::new(&settings.name, file)))
}

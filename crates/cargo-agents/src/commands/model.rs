//! `cargo agents model …`
//!
//! Nothing here runs on the ways of hooks, help and sync: the runtime starts when a model is really asked.

pub(crate) mod explain;
pub(crate) mod list;
pub(crate) mod serve;
pub(crate) mod test;

use std::{process::ExitCode, time::Duration};

use agents_host::Host;
use agents_model::{
    catalogue::Catalogue,
    open::{self, Ground, KeyStanding},
    provider::Provider,
    select::{Available, Preferences},
    settings::{Around, Kind, ModelSettings, ProviderSettings, all_providers},
};
use agents_plugin::config::Config;
use agents_system::{
    explain::{Code, ErrorKind},
    finding::Finding,
    nearest::{nearest, quoted_list},
    process,
};
use agents_workspace::Network;
use tokio_util::sync::CancellationToken;

use super::wanted;
use crate::{args::ModelCommand, failure::Failure, output::Output, settings::Settings};

/// How long a server may take to tell its models.
const TELLING: Duration = Duration::from_secs(5);

pub(crate) fn run(
    settings: &Settings,
    output: &Output,
    command: &ModelCommand,
) -> Result<ExitCode, Failure> {
    match command {
        ModelCommand::List { provider } => list::run(settings, output, provider.as_deref()),
        ModelCommand::Test { provider, model } => {
            test::run(settings, output, provider.as_deref(), model.as_deref())
        }
        ModelCommand::Explain { agent, model, named } => {
            explain::run(settings, output, agent, model.as_deref(), &named.agents)
        }
        ModelCommand::Serve { script, port } => serve::run(settings, output, script, *port),
    }
}

/// Everything that is known about models here.
pub(super) struct Models {
    pub(super) hosts: Vec<Host>,
    pub(super) catalogue: Catalogue,
    pub(super) preferences: Preferences,
    pub(super) offers: Vec<Offer>,
    pub(super) findings: Vec<Finding>,
}

/// One provider with its models.
pub(super) struct Offer {
    pub(super) settings: ProviderSettings,
    key: KeyStanding,
    models: Vec<String>,
}

impl Models {
    /// Looks at settings, variables and installed hosts; asks servers for their models that only they know, unless offline.
    pub(super) fn here(settings: &Settings, only: Option<&str>) -> Result<Self, Failure> {
        let said = ModelSettings::load(&settings.dirs)?;
        let (hosts, mut findings) = wanted::all_hosts(settings)?;
        findings.extend(said.findings.iter().cloned());
        let file = Config::file(&settings.dirs);
        let mut providers = all_providers(&said.providers, &Around::look(&hosts), &file)?;
        if let Some(name) = only {
            let known: Vec<String> = providers.iter().map(|it| it.name.clone()).collect();
            providers.retain(|it| it.name == name);
            if providers.is_empty() {
                return Err(unknown_provider(name, &known));
            }
        }
        let catalogue = said.catalogue();
        let mut models = Self {
            preferences: said.preferences(),
            catalogue,
            hosts,
            offers: Vec::new(),
            findings,
        };
        for provider in providers {
            let key = KeyStanding::of(&provider);
            let mut ids = open::static_models(&provider, &models.catalogue);
            if ids.is_empty() && provider.kind == Kind::OpenaiCompatible {
                ids = models.told(settings, &provider)?;
            }
            models.offers.push(Offer { settings: provider, key, models: ids });
        }
        Ok(models)
    }

    /// The same where it may be that there are none, with the reason for that.
    pub(super) fn if_any(settings: &Settings) -> Result<(Self, Option<Failure>), Failure> {
        let failure = match Self::here(settings, None) {
            Ok(models) => return Ok((models, None)),
            Err(failure) => failure,
        };
        let said = ModelSettings::load(&settings.dirs)?;
        let models = Self {
            preferences: said.preferences(),
            catalogue: said.catalogue(),
            hosts: wanted::all_hosts(settings)?.0,
            offers: Vec::new(),
            findings: Vec::new(),
        };
        Ok((models, Some(failure)))
    }

    /// What a server says it has.
    fn told(
        &mut self,
        settings: &Settings,
        provider: &ProviderSettings,
    ) -> Result<Vec<String>, Failure> {
        if settings.cargo.network() == Network::Offline {
            return Ok(Vec::new());
        }
        let opened = match self.open(settings, provider) {
            Ok(opened) => opened,
            Err(failure) => {
                self.findings.push(failure.into_finding(&provider.name));
                return Ok(Vec::new());
            }
        };
        let told =
            asking(
                |cancel| async move { tokio::time::timeout(TELLING, opened.models(cancel)).await },
            )?;
        match told {
            Ok(Ok(models)) => return Ok(models.into_iter().map(|it| it.id).collect()),
            Ok(Err(error)) => {
                self.findings
                    .push(Finding::warning(format!("{error}")).hint("its models are not known"));
            }
            Err(_) => self.findings.push(Finding::warning(format!(
                "`{}` did not tell its models within {} s",
                provider.name,
                TELLING.as_secs()
            ))),
        }
        Ok(Vec::new())
    }

    fn open(
        &self,
        settings: &Settings,
        provider: &ProviderSettings,
    ) -> Result<std::sync::Arc<dyn Provider>, Failure> {
        let ground = Ground { cwd: &settings.cwd, hosts: &self.hosts };
        Ok(open::open(provider, &ground)?)
    }

    pub(super) fn available(&self) -> Vec<Available> {
        let offers = self.offers.iter();
        offers.flat_map(|it| open::available(&it.settings, &it.models, &it.key)).collect()
    }
}

fn unknown_provider(name: &str, known: &[String]) -> Failure {
    let near = nearest(name, known.iter().map(String::as_str));
    let failure = Failure::new(ErrorKind::Usage, format!("there is no provider `{name}`"))
        .code(Code::UnknownProvider);
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    match near.as_slice() {
        [] => failure.hint(format!("there are {}", quoted_list(&known, "and"))),
        near => failure.hint(format!("did you mean {}?", quoted_list(near, "or"))),
    }
}

/// Where the key of a provider is, in a few words.
fn key_in_words(key: &KeyStanding) -> String {
    match key {
        KeyStanding::NotNeeded => "no key needed".to_owned(),
        KeyStanding::There(from) => format!("key from {from}"),
        KeyStanding::Command(from) => format!("key from {from}"),
        KeyStanding::Missing => "no key".to_owned(),
    }
}

/// Runs something that waits for the outside world, until Ctrl-C.
fn asking<T, F: Future<Output = T>>(
    work: impl FnOnce(CancellationToken) -> F,
) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| {
        Failure::new(ErrorKind::Failure, format!("cannot start the runtime: {error}"))
    })?;
    process::listen_for_interrupts();
    runtime.block_on(async {
        let cancel = CancellationToken::new();
        let work = work(cancel.clone());
        tokio::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return Ok(done),
                () = tokio::time::sleep(Duration::from_millis(50)) => {
                    if process::interrupted() {
                        cancel.cancel();
                    }
                }
            }
        }
    })
}

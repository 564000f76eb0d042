//! Who agrees that a task gets a secret, where the value then comes from, and for how long.
//!
//! | the user says | it is given |
//! |---|---|
//! | yes, this time | for five minutes |
//! | yes, for the task | as long as the task runs, and again whenever it asks |
//! | yes, for all of them | the same for every task of the tree whose definition lists it |
//! | its name before the start | the same, without a question |
//!
//! Never longer than the definition of the task says. The value is read after somebody agreed, and not before.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use agents_system::{
    explain::{Explain as _, with_causes},
    finding::Finding,
};
use agents_tool::policy::{Question, WantedSecret, Why};
use futures_util::future::BoxFuture;

use super::{
    Answers, Asks, DEFAULT_TTL, Denied, Desk, Granted, REQUEST_SECRET, SecretRequest,
    SecretSettings,
};
use crate::{
    broker::{Broker, NoAnswer, Yes},
    id::TaskId,
};

/// Longer than any task runs.
const WHOLE_RUN: Duration = Duration::from_secs(365 * 24 * 60 * 60);
/// What a source may take besides the time of the question: as long as a command may, and a little more.
const READING: Duration = Duration::from_secs(60);

/// Who hears what goes wrong with a source: the user, and no agent.
pub type Hear = Box<dyn Fn(Finding) + Send + Sync>;

/// Gives out what is configured, to whom somebody agrees.
pub struct Vault {
    settings: Arc<SecretSettings>,
    broker: Broker,
    asks: Asks,
    agreed: Mutex<Agreed>,
    hear: Hear,
}

#[derive(Default)]
struct Agreed {
    everywhere: BTreeSet<String>,
    tasks: BTreeSet<(TaskId, String)>,
}

impl Vault {
    /// One that gives out what is configured. Questions go where those about tools go, unless nobody is to be asked.
    #[must_use]
    pub fn new(settings: Arc<SecretSettings>, broker: Broker, asks: Asks, hear: Hear) -> Self {
        Self { settings, broker, asks, agreed: Mutex::default(), hear }
    }

    /// With these agreed to from the start, by whoever starts the tasks.
    #[must_use]
    pub fn agreeing(self, keys: impl IntoIterator<Item = String>) -> Self {
        self.agreed().everywhere.extend(keys);
        self
    }

    /// Where its tasks ask. `patience` is how long a question waits for its answer.
    #[must_use]
    pub fn desk(self, patience: Duration) -> Desk {
        Desk::answered_by(Arc::new(self), patience.saturating_add(READING))
    }

    fn agreed(&self) -> std::sync::MutexGuard<'_, Agreed> {
        self.agreed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// For how long somebody agrees.
    async fn agree(&self, request: &SecretRequest, from: String) -> Result<Duration, Denied> {
        let (task, key) = (request.task, request.secret_key.clone());
        let known = {
            let agreed = self.agreed();
            agreed.everywhere.contains(&key) || agreed.tasks.contains(&(task, key.clone()))
        };
        if known {
            return Ok(WHOLE_RUN);
        }
        if self.asks == Asks::Nobody {
            return Err(Denied::Nobody);
        }
        let SecretRequest { agent, reason, longest, .. } = request.clone();
        let why = Why::Secret(Box::new(WantedSecret { agent, from, reason, longest }));
        let (tool, about) = (REQUEST_SECRET.to_owned(), Some(key.clone()));
        match self.broker.put(&request.path, &Question { tool, about, why }).await {
            Ok(Yes::Once) => return Ok(DEFAULT_TTL),
            Ok(Yes::Task) => drop(self.agreed().tasks.insert((task, key))),
            Ok(Yes::Tree) => drop(self.agreed().everywhere.insert(key)),
            Err(NoAnswer::Refused) => return Err(Denied::Refused),
            Err(NoAnswer::Nobody) => return Err(Denied::Nobody),
            Err(NoAnswer::TooLate) => return Err(Denied::TooLate),
        }
        Ok(WHOLE_RUN)
    }
}

impl Answers for Vault {
    fn answer<'a>(&'a self, request: &'a SecretRequest) -> BoxFuture<'a, Result<Granted, Denied>> {
        Box::pin(async move {
            let key = &request.secret_key;
            let Some(source) = self.settings.source(key).cloned() else {
                let told = format!("`{}` asked for the secret `{key}`", request.path);
                let hint = format!("`[secrets.{key}]` in `config.toml` says where it is");
                (self.hear)(
                    Finding::warning(format!("{told}, which is not configured")).hint(hint),
                );
                return Err(Denied::NoSource);
            };
            let ttl = self.agree(request, source.to_string()).await?;
            let from = source.to_string();
            let read = tokio::task::spawn_blocking(move || source.read()).await;
            let told = match read {
                Ok(Ok(Some(value))) => return Ok(Granted { value, ttl }),
                Ok(Ok(None)) => Finding::warning(format!("the secret `{key}` is not in {from}")),
                Ok(Err(error)) => {
                    let told = format!("the secret `{key}` cannot be had: {}", with_causes(&error));
                    let finding = Finding::warning(told);
                    error.hint().into_iter().fold(finding, Finding::hint)
                }
                Err(_) => Finding::error(format!("reading the secret `{key}` broke down: a bug")),
            };
            (self.hear)(told);
            Err(Denied::NoValue)
        })
    }
}

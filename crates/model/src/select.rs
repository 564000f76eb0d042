//! Which model an agent runs on: a pure function from what was said to one model, with every reason on the way.
//!
//! Whoever speaks first decides: the call itself (`--model`), the override for this agent in the configuration, the agent's
//! own patterns, and where nobody says anything the parent's model, the parent's own pattern, the role `default` and at last
//! the first model that there is. Of several patterns the first that fits an available model wins. If none does, that is an
//! error and never some other model.
//!
//! ```
//! use agents_model::{catalogue::Catalogue, select::{Available, Ask, Credentials, ModelRef, Preferences, select}};
//! let models = [Available::new(ModelRef::new("anthropic", "claude-sonnet-5-5"), Credentials::Ready)];
//! let agent = ["@deep".to_owned(), "sonnet:high".to_owned()];
//! let ask = Ask { agent: &agent, ..Ask::default() };
//! let chosen = select(&ask, &models, &Preferences::built_in(Catalogue::built_in())).unwrap();
//! assert_eq!(chosen.model.to_string(), "anthropic/claude-sonnet-5-5");
//! ```

use std::{collections::BTreeMap, fmt};

use agents_agent::definition::Effort;
use agents_system::{
    explain::{Code, ErrorKind, Explain},
    finding::Finding,
};

use crate::catalogue::Catalogue;

mod fuzzy;
mod names;
mod pattern;
mod served;
mod walk;

pub use names::{canonical, level, level_word};
pub use pattern::How;
pub use served::check_served;

/// One model of one provider.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModelRef {
    /// The provider, by its name in the configuration.
    pub provider: String,
    /// The model, as the provider calls it.
    pub id: String,
}

impl ModelRef {
    /// The model `id` of `provider`.
    pub fn new(provider: impl Into<String>, id: impl Into<String>) -> Self {
        Self { provider: provider.into(), id: id.into() }
    }
}

impl fmt::Display for ModelRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}/{}", self.provider, self.id))
    }
}

/// Whether a provider could be asked right now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Credentials {
    /// It has its key, or needs none.
    Ready,
    /// It needs a key and there is none.
    Missing,
}

/// Whether other providers with the same model are asked first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// No.
    Usual,
    /// They are: this one only passes requests on.
    Reseller,
}

/// A model that can be chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Available {
    /// Which one.
    pub model: ModelRef,
    /// Its name for people, if it has one.
    pub display: Option<String>,
    /// Whether it could be asked right now.
    pub credentials: Credentials,
    /// Whether others come first.
    pub rank: Rank,
}

impl Available {
    /// A model without a name for people, of a provider like any other.
    #[must_use]
    pub fn new(model: ModelRef, credentials: Credentials) -> Self {
        Self { model, display: None, credentials, rank: Rank::Usual }
    }
}

/// What is asked for, and by whom.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ask<'a> {
    /// The agent, by its exact name, for overrides.
    pub name: Option<&'a str>,
    /// What the call itself wants.
    pub request: &'a [String],
    /// What the definition of the agent says, the best one first.
    pub agent: &'a [String],
    /// How hard the call wants it to think.
    pub request_effort: Option<Effort>,
    /// How hard the definition wants it to think.
    pub agent_effort: Option<Effort>,
    /// Who starts it.
    pub parent: Option<Parent<'a>>,
}

/// Whoever starts an agent.
#[derive(Debug, Clone, Copy)]
pub struct Parent<'a> {
    /// The model that it runs on.
    pub active: Option<&'a ModelRef>,
    /// What it was told to run on.
    pub configured: &'a [String],
}

/// What counts for all agents.
#[derive(Debug, Clone, Default)]
pub struct Preferences {
    /// Patterns for agents, by exact name.
    pub agents: BTreeMap<String, Vec<String>>,
    /// What the user makes of roles.
    pub roles: BTreeMap<String, Vec<String>>,
    /// What roles mean if the user says nothing.
    pub built_in_roles: BTreeMap<String, Vec<String>>,
    /// Short names.
    pub aliases: BTreeMap<String, Vec<String>>,
    /// Models that were used lately, the latest first.
    pub recent: Vec<ModelRef>,
    /// Providers, the best one first; the others follow in the order of the models.
    pub providers: Vec<String>,
    /// No agent thinks harder.
    pub max_effort: Option<Effort>,
}

impl Preferences {
    /// What counts if the user says nothing.
    #[must_use]
    pub fn built_in(catalogue: &Catalogue) -> Self {
        Self {
            built_in_roles: catalogue.roles.clone(),
            aliases: catalogue.aliases.clone(),
            ..Self::default()
        }
    }
}

/// The model, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct Resolution {
    /// The model.
    pub model: ModelRef,
    /// How hard it thinks; `None` leaves it to the provider.
    pub effort: Option<(Effort, EffortFrom)>,
    /// Every step, in order.
    pub chain: Vec<Step>,
    /// What somebody should know, such as a suffix that means nothing.
    pub findings: Vec<Finding>,
}

impl Resolution {
    /// The pattern that decided, as it was written by whoever spoke.
    #[must_use]
    pub fn pattern(&self) -> Option<&str> {
        let at =
            self.chain.iter().rposition(|step| matches!(step.outcome, Outcome::Matches { .. }))?;
        let first = self.chain[..=at].iter().rfind(|step| step.depth == 0)?;
        Some(&first.pattern)
    }
}

/// Who decides how hard an agent thinks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EffortFrom {
    /// The call.
    Request,
    /// The end of the pattern that decided.
    Pattern,
    /// The definition.
    Agent,
    /// The end of a pattern in the role or alias that the pattern stands for.
    Expansion,
}

/// Whose pattern it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    /// The call's.
    Request,
    /// The configuration's, for this agent.
    Override,
    /// The definition's.
    Agent,
    /// The model that the parent runs on.
    ParentActive,
    /// What the parent was told to run on.
    ParentConfigured,
    /// The role `default`.
    DefaultRole,
    /// Nobody's: the first model that there is.
    First,
}

impl Said {
    /// In a few words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Request => "the call",
            Self::Override => "the configuration for this agent",
            Self::Agent => "the definition",
            Self::ParentActive => "the parent's model",
            Self::ParentConfigured => "the parent's own pattern",
            Self::DefaultRole => "the role `default`",
            Self::First => "the first model there is",
        }
    }
}

/// One step on the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// What was looked at.
    pub pattern: String,
    /// Whose it is.
    pub said: Said,
    /// How many roles and aliases it is inside of.
    pub depth: usize,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It stands for these.
    Expands(Vec<String>),
    /// It means the parent's model.
    Inherits,
    /// It is a role that means nothing here.
    EmptyRole,
    /// It stands for itself, through others.
    Cycle,
    /// It fits this model.
    Matches {
        /// The model.
        model: ModelRef,
        /// In which way.
        how: How,
    },
    /// Its model has no key, and that of the parent has.
    NoKey {
        /// The model that it fits.
        model: ModelRef,
    },
    /// It fits nothing.
    NoMatch,
    /// An earlier one has decided.
    NotNeeded,
}

/// No pattern fits a model that there is.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{}", no_model(chain))]
pub struct Unresolved {
    /// Every step, in order.
    pub chain: Vec<Step>,
    /// The providers that there are.
    pub providers: Vec<String>,
}

fn no_model(chain: &[Step]) -> String {
    let tops: Vec<String> = chain
        .iter()
        .filter(|step| step.depth == 0)
        .map(|step| format!("`{}`", step.pattern))
        .collect();
    match tops.as_slice() {
        [] => "there is no model to run on".to_owned(),
        tops => format!("no model that there is fits {}", tops.join(" or ")),
    }
}

impl Explain for Unresolved {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Usage
    }

    fn code(&self) -> Option<Code> {
        Some(Code::NoModel)
    }

    fn hint(&self) -> Option<String> {
        let first = self.chain.iter().find(|step| step.depth == 0)?;
        let name = first.pattern.trim_start_matches('@');
        let key = if first.pattern.starts_with('@') { "roles" } else { "aliases" };
        Some(format!(
            "`cargo agents model list` shows the models of {}; `[models.{key}] {name} = \"…\"` in `config.toml` says which of them is meant",
            match self.providers.as_slice() {
                [] => "all providers".to_owned(),
                names =>
                    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "),
            }
        ))
    }
}

/// Chooses the model for an agent out of those that there are, in the order of the registry.
pub fn select(
    ask: &Ask<'_>,
    models: &[Available],
    preferences: &Preferences,
) -> Result<Resolution, Unresolved> {
    walk::Walk::new(ask, models, preferences).run()
}

#[cfg(test)]
mod tests;

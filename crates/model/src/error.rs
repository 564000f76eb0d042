//! What went wrong with a model, as a type. No key is ever in it.

use std::{error::Error, fmt, time::Duration};

use agents_system::explain::{Code, ErrorKind, Explain};

/// Something went wrong with a provider.
#[derive(Debug)]
pub struct ModelError {
    /// The name of the provider.
    pub provider: String,
    /// What it was.
    pub problem: Problem,
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.provider, self.problem)
    }
}

impl Error for ModelError {
    // The problem's own text is already in ours.
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.problem.source()
    }
}

/// What went wrong. What providers say (`said`) is bounded in length and free of keys.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// There is no key.
    #[error("no key was found")]
    NoKey {
        /// Where it was looked for, in words for people.
        looked_for: Vec<String>,
    },
    /// The key was not accepted.
    #[error("the key was not accepted (status {status}){}", quote(.said))]
    Unauthorized {
        /// The HTTP status.
        status: u16,
        /// What the provider said.
        said: String,
    },
    /// Too many requests, or a quota that is used up.
    #[error("too many requests{}", quote(.said))]
    RateLimited {
        /// When to come back.
        retry_after: Option<Duration>,
        /// What the provider said.
        said: String,
    },
    /// There is no money left for it.
    #[error("the account has no credit left{}", quote(.said))]
    OutOfCredit {
        /// What the provider said.
        said: String,
    },
    /// The provider has too much to do, or failed on its side.
    #[error("the provider is overloaded or failed{}{}", in_status(*.status), quote(.said))]
    Overloaded {
        /// The HTTP status; `None` for an error in the middle of a stream.
        status: Option<u16>,
        /// When to come back.
        retry_after: Option<Duration>,
        /// What the provider said.
        said: String,
    },
    /// The conversation does not fit into the model.
    #[error("the conversation is too long for the model{}", quote(.said))]
    ContextTooLong {
        /// What the provider said.
        said: String,
    },
    /// The provider does not let the model answer this.
    #[error("the provider refused to answer{}", quote(.said))]
    Refused {
        /// What the provider said.
        said: String,
    },
    /// There is no such model.
    #[error("there is no model `{model}`{}", quote(.said))]
    UnknownModel {
        /// What was asked for.
        model: String,
        /// What the provider said.
        said: String,
    },
    /// The provider does not understand the request.
    #[error("the request was rejected (status {status}){}", quote(.said))]
    BadRequest {
        /// The HTTP status.
        status: u16,
        /// What the provider said.
        said: String,
    },
    /// The provider cannot do what was asked.
    #[error("{what} is not supported here")]
    Unsupported {
        /// What was asked.
        what: String,
    },
    /// The settings of the provider do not work.
    #[error("{what}")]
    Settings {
        /// What is wrong, in one line.
        what: String,
    },
    /// Nobody answers, or the connection broke.
    #[error("{doing} failed")]
    Network {
        /// What was being done.
        doing: &'static str,
        /// What the system said.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// It took too long.
    #[error("{deadline} took longer than {after:?}")]
    Timeout {
        /// Which of the deadlines it was.
        deadline: Deadline,
        /// How long that is.
        after: Duration,
    },
    /// What came is not what the protocol says.
    #[error("{what}, in {place}")]
    Protocol {
        /// What is wrong.
        what: String,
        /// Where: the answer, event 12, ...
        place: String,
    },
    /// A program that answers as the model failed.
    #[error("{what}")]
    Program {
        /// What is wrong, in one line.
        what: String,
        /// The last it said.
        details: Option<String>,
    },
    /// A program that may only read cannot be kept from doing more.
    #[error("the agent cannot be kept to reading")]
    Unconfined,
    /// It was stopped.
    #[error("cancelled")]
    Cancelled,
}

/// The deadlines of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Deadline {
    /// [`crate::Deadlines::first_token`].
    FirstToken,
    /// [`crate::Deadlines::idle`].
    Idle,
    /// [`crate::Deadlines::total`].
    Total,
}

impl fmt::Display for Deadline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::FirstToken => "the first event",
            Self::Idle => "the next event",
            Self::Total => "the whole answer",
        })
    }
}

impl Problem {
    /// It happened to this provider.
    #[must_use]
    pub fn at(self, provider: &str) -> ModelError {
        ModelError { provider: provider.to_owned(), problem: self }
    }

    /// Whether the same request may work a little later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::RateLimited { .. } | Self::Overloaded { .. } | Self::Network { .. } => true,
            Self::Timeout { deadline, .. } => *deadline == Deadline::FirstToken,
            _ => false,
        }
    }

    /// The same, with each of its texts that may come from outside passed through `change`.
    #[cfg(feature = "http")]
    #[must_use]
    pub(crate) fn map_texts(mut self, change: impl Fn(&str) -> String) -> Self {
        match &mut self {
            Self::Unauthorized { said, .. }
            | Self::RateLimited { said, .. }
            | Self::OutOfCredit { said }
            | Self::Overloaded { said, .. }
            | Self::ContextTooLong { said }
            | Self::Refused { said }
            | Self::UnknownModel { said, .. }
            | Self::BadRequest { said, .. } => *said = change(said),
            Self::Protocol { what, .. }
            | Self::Unsupported { what }
            | Self::Settings { what }
            | Self::Program { what, .. } => *what = change(what),
            Self::NoKey { .. }
            | Self::Network { .. }
            | Self::Timeout { .. }
            | Self::Unconfined
            | Self::Cancelled => {}
        }
        self
    }

    /// When the provider wants to be asked again.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after, .. } | Self::Overloaded { retry_after, .. } => {
                *retry_after
            }
            _ => None,
        }
    }
}

impl ModelError {
    /// Whether the same request may work a little later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.problem.is_retryable()
    }
}

impl Explain for ModelError {
    fn kind(&self) -> ErrorKind {
        match self.problem {
            Problem::NoKey { .. }
            | Problem::Unauthorized { .. }
            | Problem::UnknownModel { .. }
            | Problem::Unsupported { .. }
            | Problem::Settings { .. } => ErrorKind::Usage,
            Problem::Refused { .. } | Problem::Unconfined => ErrorKind::Refused,
            Problem::Cancelled => ErrorKind::Cancelled,
            Problem::ContextTooLong { .. } | Problem::Program { .. } => ErrorKind::Failure,
            Problem::RateLimited { .. }
            | Problem::Overloaded { .. }
            | Problem::OutOfCredit { .. }
            | Problem::BadRequest { .. }
            | Problem::Network { .. }
            | Problem::Timeout { .. }
            | Problem::Protocol { .. } => ErrorKind::Network,
        }
    }

    fn code(&self) -> Option<Code> {
        Some(match self.problem {
            Problem::NoKey { .. } => Code::NoKey,
            Problem::Unauthorized { .. } => Code::KeyRefused,
            Problem::RateLimited { .. } => Code::RateLimited,
            Problem::OutOfCredit { .. } => Code::OutOfCredit,
            Problem::Overloaded { .. } => Code::Overloaded,
            Problem::ContextTooLong { .. } => Code::TooLong,
            Problem::Refused { .. } => Code::ModelRefused,
            Problem::UnknownModel { .. } => Code::NoModel,
            Problem::BadRequest { .. } | Problem::Unsupported { .. } => Code::RequestRejected,
            Problem::Settings { .. } => Code::ProviderSettings,
            Problem::Network { .. } | Problem::Timeout { .. } => Code::ProviderUnreachable,
            Problem::Protocol { .. } => Code::ProviderGarbled,
            Problem::Program { .. } => Code::ProgramFailed,
            Problem::Unconfined => Code::ProgramUnconfined,
            Problem::Cancelled => return None,
        })
    }

    fn hint(&self) -> Option<String> {
        let provider = &self.provider;
        match &self.problem {
            Problem::NoKey { looked_for } if !looked_for.is_empty() => {
                Some(format!("looked for it in {}", looked_for.join(", ")))
            }
            Problem::Unauthorized { .. } => {
                Some(format!("check the key with `cargo agents model test --provider {provider}`"))
            }
            Problem::RateLimited { retry_after: Some(wait), .. } => {
                Some(format!("the provider wants to be asked again in {} s", wait.as_secs()))
            }
            Problem::RateLimited { .. } => {
                Some("wait a little, or ask for fewer at a time with `max-requests`".to_owned())
            }
            Problem::UnknownModel { .. } => {
                Some(format!("`cargo agents model list --provider {provider}` shows what it has"))
            }
            Problem::ContextTooLong { .. } => {
                Some("use a model with a larger context, or a shorter conversation".to_owned())
            }
            Problem::Network { .. } => Some(format!("check the address of `{provider}`")),
            Problem::Unconfined => Some(format!(
                "name the host that it is with `host` in [providers.{provider}], or let it change files and run \
                 commands with `rights = \"edit\"`"
            )),
            _ => None,
        }
    }

    fn details(&self) -> Option<String> {
        match &self.problem {
            Problem::Program { details, .. } => details.clone(),
            _ => None,
        }
    }
}

fn quote(said: &str) -> String {
    if said.is_empty() { String::new() } else { format!(": {said}") }
}

fn in_status(status: Option<u16>) -> String {
    status.map(|status| format!(" (status {status})")).unwrap_or_default()
}

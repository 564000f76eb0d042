//! What answers as the model.

use std::{fmt, pin::Pin};

use futures_util::{Stream, future::BoxFuture};
use tokio_util::sync::CancellationToken;

use crate::{
    error::ModelError,
    event::Event,
    request::{OwnRights, Request},
};

/// The events of one answer. It ends after [`Event::Stopped`] or after the first error. Dropping it drops the
/// connection.
pub type EventStream = Pin<Box<dyn Stream<Item = Result<Event, ModelError>> + Send>>;

/// Whose tools do what a model wants done.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Hands {
    /// Ours: it calls the tools of the request, and waits for what comes of them.
    #[default]
    Ours,
    /// Its own: a program that is a coding agent by itself. It takes no tools of ours; a request with
    /// [`Work`](crate::request::Work) is a whole task for it.
    Own {
        /// What it can be kept to, the least first.
        kept_to: Vec<OwnRights>,
    },
}

impl Hands {
    /// What a program may do that should do no more than this: the most that it can be kept to. `None` if it cannot be kept to so
    /// little, or has no tools of its own.
    #[must_use]
    pub fn at_most(&self, rights: OwnRights) -> Option<OwnRights> {
        match self {
            Self::Ours => None,
            Self::Own { kept_to } => kept_to.iter().copied().filter(|it| *it <= rights).max(),
        }
    }
}

/// What answers as the model: an HTTP API, an ACP agent, a host's own program, a script.
pub trait Provider: fmt::Debug + Send + Sync {
    /// The name it has in the configuration and in messages.
    fn name(&self) -> &str;

    /// Whose tools do what it wants done.
    fn hands(&self) -> Hands {
        Hands::Ours
    }

    /// Asks. Retries happen in here; what is given out once is never taken back.
    ///
    /// When `cancel` is cancelled, before or in the middle of the stream, the outcome is
    /// [`Problem::Cancelled`](crate::Problem::Cancelled) and the connection is gone.
    fn stream(
        &self,
        request: Request,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<EventStream, ModelError>>;

    /// The models that it says it has. Empty when it cannot say.
    fn models(
        &self,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<Vec<ModelInfo>, ModelError>>;
}

/// A model that a provider says it has.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ModelInfo {
    /// The name to ask for it by.
    pub id: String,
    /// A name for people.
    pub title: Option<String>,
    /// How many tokens fit into a request.
    pub context: Option<u64>,
}

#[cfg(feature = "providers")]
impl ModelInfo {
    /// Models of which no more than their names is known.
    pub(crate) fn named(ids: &[String]) -> Vec<Self> {
        ids.iter().map(|id| Self { id: id.clone(), title: None, context: None }).collect()
    }
}

//! What an attempt and its driver tell each other.

use tokio::{sync::mpsc, time::Instant};
use tokio_util::sync::CancellationToken;

use crate::event::Attempt;

/// A sign of life, and when it was given.
pub(super) type Beat = (Attempt, Instant);

/// The line between an attempt and its driver.
#[derive(Debug, Clone)]
pub struct Life {
    attempt: Attempt,
    token: CancellationToken,
    beats: mpsc::UnboundedSender<Beat>,
}

impl Life {
    pub(super) fn new(
        attempt: Attempt,
        token: CancellationToken,
        beats: mpsc::UnboundedSender<Beat>,
    ) -> Self {
        Self { attempt, token, beats }
    }

    /// Says that something happens. Attempts with an idle deadline must do so in time.
    pub fn beat(&self) {
        _ = self.beats.send((self.attempt, Instant::now()));
    }

    /// Returns when the attempt is to stop.
    pub async fn stopped(&self) {
        self.token.cancelled().await;
    }

    /// Whether the attempt is to stop.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.token.is_cancelled()
    }

    /// For what is started on behalf of the attempt.
    #[must_use]
    pub fn token(&self) -> &CancellationToken {
        &self.token
    }
}

//! How the threads of an endpoint learn that it is being taken down.

use std::{
    sync::{Arc, Condvar, Mutex, PoisonError},
    time::Duration,
};

/// A flag that can be waited for.
#[derive(Debug, Clone, Default)]
pub(super) struct Stop(Arc<(Mutex<bool>, Condvar)>);

impl Stop {
    pub(super) fn ask(&self) {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.1.notify_all();
    }

    pub(super) fn is_asked(&self) -> bool {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sleeps, unless or until it is asked.
    pub(super) fn sleep(&self, duration: Duration) {
        if duration.is_zero() {
            return;
        }
        let asked = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Whether it was asked or the time is over makes no difference here.
        drop(self.0.1.wait_timeout_while(asked, duration, |asked| !*asked));
    }
}

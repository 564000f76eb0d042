//! Hooks as hosts and plugins see them: formats, hostile handlers, the published page.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod author;
mod golden;
mod hostile;
mod opencode;
mod page;
mod round_trip;

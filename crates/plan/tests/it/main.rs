//! The room as others see it.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

mod bodies;
mod crash;
mod drive;
mod enduring;
mod example;
mod joins;
mod journal;
mod model;

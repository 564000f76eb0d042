//! Syncing as a whole: plans as tables, random histories, and being killed at every moment.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a failure here is a failed test"
)]

mod apply;
mod convergence;
#[cfg(target_os = "linux")]
mod crashes;
mod files;
mod hazards;
mod plan;
mod registrations;
#[cfg(unix)]
mod remembered;
mod want;
mod world;

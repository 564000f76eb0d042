//! Agents as they lie on disk.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests"
)]

mod again;
mod bundled;
mod discovery;
mod installed;
mod invalid;
mod model;
mod trees;
mod trust;

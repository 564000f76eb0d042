//! Agents as they lie on disk, in every dialect.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    missing_docs,
    reason = "tests"
)]

mod again;
mod bundled;
mod change;
mod conformance;
mod corpus;
mod discovery;
mod generate;
mod installed;
mod invalid;
mod losses;
mod model;
mod round_trip;
mod trees;
mod trust;

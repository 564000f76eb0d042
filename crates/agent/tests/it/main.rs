//! The room from outside.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    missing_docs,
    reason = "tests"
)]

mod change;
mod corpus;
mod generate;
mod round_trip;

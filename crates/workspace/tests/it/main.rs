//! The room against the real cargo, without a network.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]
#![allow(clippy::disallowed_methods, reason = "tests call cargo and git themselves")]

mod cache;
mod equal;
mod errors;
mod random;
mod reference;
mod scale;
mod sources;

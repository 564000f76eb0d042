//! The doors of the room, without the program behind them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

#[cfg(feature = "http")]
mod dashboard;

//! Providers against the scripted endpoint, over real HTTP.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod bounds;
mod cancelling;
mod faults;
mod pieces;
mod requests;
mod scripts;
mod secrets;
mod world;

//! Installing for real, without a network: git repositories by `file://`, crates from a vendored registry.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

mod binstall;
mod checkouts;
mod crates;
mod errors;
mod global;
mod plugin_files;
mod processes;
mod prune;
mod refresh;
mod requirements;
mod trees;
mod world;

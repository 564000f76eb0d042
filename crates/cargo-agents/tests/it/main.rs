//! The program as its users meet it: the real binary, real cargo, real git, a scratch home.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests"
)]

mod world;

mod command_line;
mod config;
mod consent;
mod custom_predicates;
#[cfg(target_os = "linux")]
mod doctor;
mod hooks;
#[cfg(target_os = "linux")]
mod init;
mod installing;
mod plugin_commands;
mod quiet;
mod registries;
mod seed_000_flows;
mod seed_001_subcommands;
mod seed_promises;
mod sync;
mod tour;
mod transitions;
mod workspaces;

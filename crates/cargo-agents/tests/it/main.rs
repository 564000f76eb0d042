//! The program as its users meet it: the real binary, real cargo, real git, a scratch home.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests"
)]

mod auto_sync;
mod tap;
mod world;

mod acp;
mod agent_changes;
mod agent_delivery;
mod agents;
mod agents_pinned;
mod audit;
mod book;
#[cfg(target_os = "linux")]
mod choices;
mod command_line;
mod config;
mod consent;
mod custom_predicates;
#[cfg(unix)]
mod dashboard;
#[cfg(target_os = "linux")]
mod doctor;
#[cfg(target_os = "linux")]
mod examples;
mod formats;
mod hook_load;
mod hook_matrix;
mod hook_steps;
mod hooks;
#[cfg(target_os = "linux")]
mod init;
mod installing;
mod mcp;
mod models;
mod not_a_file;
mod pinned;
mod plans;
mod plugin_commands;
mod prewarm;
#[cfg(target_os = "linux")]
mod probe;
mod purge;
mod quiet;
mod registries;
#[cfg(target_os = "linux")]
mod sandbox;
mod seed_000_flows;
mod seed_001_subcommands;
mod seed_promises;
mod shell;
mod status;
mod sync;
mod tampered;
mod tasks;
mod tour;
mod transitions;
mod trust;
#[cfg(target_os = "linux")]
mod updates;
mod workspaces;

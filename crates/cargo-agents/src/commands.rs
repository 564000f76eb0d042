//! The built-in commands, one file each.

pub(crate) mod agent;
pub(crate) mod agreed;
pub(crate) mod audit;
pub(crate) mod cache;
pub(crate) mod completions;
pub(crate) mod config;
mod consent;
pub(crate) mod crate_info;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod hook;
pub(crate) mod host;
pub(crate) mod init;
#[cfg(target_os = "linux")]
pub(crate) mod keeper;
pub(crate) mod list;
pub(crate) mod mcp;
pub(crate) mod model;
pub(crate) mod plan;
pub(crate) mod plugin;
pub(crate) mod sandboxed;
pub(crate) mod search;
pub(crate) mod self_update;
pub(crate) mod show;
pub(crate) mod status;
pub(crate) mod sync;
pub(crate) mod sync_hosts;
pub(crate) mod task;
pub(crate) mod tour;
pub(crate) mod update;
pub(crate) mod use_plugin;
pub(crate) mod validate;
pub(crate) mod wanted;
pub(crate) mod worker;
pub(crate) mod workflow;

//! The built-in commands, one file each.

pub(crate) mod cache;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod crate_info;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod hook;
pub(crate) mod host;
pub(crate) mod init;
pub(crate) mod list;
pub(crate) mod plugin;
pub(crate) mod show;
pub(crate) mod sync;
pub(crate) mod sync_hosts;
pub(crate) mod tour;
pub(crate) mod validate;
mod wanted;

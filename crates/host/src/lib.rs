//! The coding agents, described as data, with one small module per wire format.
//!
//! A *host* is a coding agent program that we configure and that calls us back: Claude Code, Codex, and so
//! on. Everything that differs between hosts - paths, keys, event names, units, trust rules, the variables
//! that move their home directories, whose files they read in addition to their own - is in one descriptor per
//! host, a TOML file in `hosts/` that is embedded here and whose single keys the user can replace from
//! `hosts.toml`. Code exists only for file formats.
//!
//! | module | holds |
//! |---|---|
//! | [`catalog`] | all hosts with the user's changes, and finding one by name |
//! | [`host`](mod@host) | what a descriptor says, after it has been checked |
//! | [`path`](mod@path), [`resolve`] | paths as descriptors write them, and real ones |
//! | [`detect`] | whether a host is installed |
//! | [`skills`] | which directories must hold a skill so that every host sees it once |
//! | [`shared`] | hook files that more than one host runs |
//! | [`mcp`] | the entry of an MCP server, in the shape of each host |
//! | [`hooks`] | the registration of our hooks, in the shape of each host |
//! | [`event`], [`scope`], [`id`] | the words for moments, places and hosts |
//!
//! Nothing here reads or writes a file, except that [`Host::is_installed`] looks whether some exist. The
//! environment comes in through [`Roots`], so a test (or a dry run for somebody else) can have its own.
//!
//! ```
//! use agents_host::{Event, Roots, Scope, find, hooks, hosts, skill_dirs};
//!
//! let (hosts, findings) = hosts(None);
//! assert!(findings.is_empty());
//! let (claude, codex) = (find(&hosts, "claude-code")?, find(&hosts, "codex")?);
//!
//! let env = |name: &str| (name == "CODEX_HOME").then(|| "/data/codex".to_owned());
//! let roots = Roots { home: "/home/me".into(), workspace: Some("/src/app".into()), env: &env };
//! let paths = codex.paths(Scope::User, &roots);
//! assert_eq!(paths.mcp_file.as_deref(), Some("/data/codex/config.toml".into()));
//!
//! let dirs = skill_dirs(&[claude, codex], Scope::Project, &roots);
//! let dirs: Vec<&str> = dirs.iter().map(|it| it.dir.as_str()).collect();
//! assert_eq!(dirs, ["/src/app/.agents/skills", "/src/app/.claude/skills"]);
//!
//! let registrations = hooks::registrations(claude, &[Event::Stop]);
//! assert_eq!(registrations[0].at, ["hooks", "Stop"]);
//! # Ok::<(), agents_host::UnknownHost>(())
//! ```

pub mod catalog;
mod descriptor;
pub mod detect;
pub mod event;
pub mod hooks;
pub mod host;
pub mod id;
mod layered;
pub mod mcp;
pub mod path;
pub mod resolve;
pub mod scope;
pub mod shared;
pub mod skills;
#[cfg(test)]
mod testing;

pub use catalog::{Overrides, UnknownHost, find, host, hosts, hosts_for};
pub use event::Event;
pub use host::{Host, Surface, Transport};
pub use id::HostId;
pub use path::Roots;
pub use resolve::Resolved;
pub use scope::Scope;
pub use shared::{SharedHooks, shared_hooks};
pub use skills::{SkillDir, skill_dirs};

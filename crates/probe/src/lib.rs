//! Whether coding agents actually load what we write for them.
//!
//! Hosts change with every release, and most of them silently ignore what they do not understand. So this crate tests them: it starts
//! a host without a terminal, in its own home, against a scripted model, after our own `sync`. The model
//! tries everything that was installed; what reached it, and what ran, shows what the host has loaded.
//!
//! | module | holds |
//! |---|---|
//! | [`client`] | one file per host that we know how to start: the user's own files and environment, its command line |
//! | [`sample`] | a workspace, and a plugin with one thing of each kind |
//! | [`notes`] | the MCP server of that plugin |
//! | [`dialogue`] | what the scripted model says |
//! | [`seen`] | what was loaded |
//! | [`quiet`] | which events one session does not bring about |
//! | [`left`] | what is left of it after `uninstall` |
//! | [`session`] | all of it once: one host in a throw-away home |
//! | [`network`] | a network in which nobody can be called |
//!
//! `cargo agents doctor --probe` is a [`session::Session`] for each installed host; `suites/hosts` uses the same parts with hosts that it
//! installs, and looks at more.
//!
//! What a session takes is known before anything is started: whether there is a way to start the host without a window, and by which name
//! its model will see the tool that it is asked to call.
//!
//! ```
//! use agents_probe::{client, sample::Servers};
//!
//! let claude = client::of_host("claude").unwrap();
//! assert_eq!(Servers::Each.call(claude.as_ref()).0, "mcp__notes__look_up");
//! assert_eq!(Servers::One.call(claude.as_ref()).0, "mcp__cargo-agents__call_tool");
//! assert!(client::of_host("zed").is_none(), "an editor has no session without a window");
//! ```

pub mod client;
pub mod dialogue;
pub mod left;
pub mod network;
pub mod notes;
pub mod quiet;
pub mod sample;
pub mod seen;
pub mod session;

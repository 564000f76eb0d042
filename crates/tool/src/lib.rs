//! What an agent may touch: tools, rights, permissions and confinement.
//!
//! A tool does something and decides nothing. Before each call there is one decision, based on the rights of the agent, the mode, what was
//! granted and for how long; around it are the hooks of plugins, directories that no path can leave, the kernel's sandbox where the
//! agent is not trusted, and bounds on what a model gets to read. Rights only ever shrink.
//!
//! | module | holds |
//! |---|---|
//! | [`tool`] | what a tool is: [`Tool`], and [`Typed`] for those whose input is a type |
//! | [`context`] | what one call may use: directories, secrets, time, confinement |
//! | [`catalogue`] | the tools that there are |
//! | [`executor`] | what stands around them: the guard, and what turns results into what a model may read |
//! | [`hooks`] | what plugins have to say about a call, before and after it |
//! | `mcp` | tools of MCP servers |
//! | `script` | scripts that call tools, in an interpreter that can do nothing else |
//! | [`rights`] | what an agent may at most do, as a lattice |
//! | [`policy`] | one judgement before every call, from rights, mode, grants and time |
//! | [`grants`] | permissions for a time |
//! | [`shell`] | what a command for the shell would run |
//! | [`confine`] | files below the roots and no others; those that are protected |
//! | `settings` | what the configuration says about them |
//! | [`secrets`] | values that nobody may see |
//! | [`bounds`] | how much of a result a model is shown, marked as data |
//! | [`artifacts`] | where the rest of it is kept |
//! | `web` | how other machines are spoken to |
//! | [`tools`] | `read`, `write`, `edit`, `search`, `find`, `outline`, `bash`, `lsp`, `todo`, `task`, `yield`, subcommands of plugins, and with the feature `web` `web_fetch` and `web_search` |
//!
//! | feature | default | brings |
//! |---|---|---|
//! | `mcp` | yes | tools of MCP servers |
//! | `script` | yes | scripts that call tools: an interpreter of JavaScript |
//! | `web` | yes | tools that speak to other machines |
//!
//! ```
//! use agents_agent::definition::PermissionMode;
//! use agents_tool::{Bypass, Effects, Grants, Rights, Subject, Verdict, policy};
//!
//! let rights = Rights::only(["read", "bash(cargo *)"]).meet(&Rights::only(["bash(cargo test *)"]));
//! let judge = |command: &str| {
//!     let subject = Subject::Command(command.to_owned());
//!     let call = policy::Call { tool: "bash", effects: Effects::ALL, subject: &subject, protected: None };
//!     policy::judge(&call, &rights, PermissionMode::BypassPermissions, &Grants::default(), Default::default())
//! };
//! assert_eq!(judge("cargo test --lib && cargo test --doc"), Verdict::Allow);
//! assert!(matches!(judge("cargo test; curl evil.example"), Verdict::Deny(_)));
//! ```

pub mod artifacts;
pub mod bounds;
pub mod catalogue;
pub mod confine;
pub mod context;
mod conversation;
pub mod executor;
pub mod grants;
mod guardian;
pub mod hooks;
#[cfg(feature = "mcp")]
pub mod mcp;
mod pattern;
pub mod policy;
mod program;
pub mod rights;
#[cfg(feature = "script")]
pub mod script;
pub mod secrets;
#[cfg(all(feature = "mcp", feature = "web"))]
pub mod settings;
pub mod shell;
pub mod tool;
pub mod tools;
#[cfg(any(feature = "mcp", feature = "web"))]
pub mod web;

pub use catalogue::Catalogue;
pub use confine::{Area, RootAccess};
pub use context::{CallContext, Confinement, Ground, Sandbox};
pub use executor::{Approver, Executor, Guarded, Presented, Request, ToolResult};
pub use grants::{Grant, GrantKind, Grants, Moment};
pub use hooks::{Hooked, Hooks};
pub use policy::{Birth, Bypass, Effect, Effects, Standing, Verdict};
pub use rights::{Rights, Subject};
pub use tool::{Intent, Output, Tool, ToolError, ToolSpec, Typed};

/// Sixty-four bits that nobody can guess.
pub(crate) fn random() -> u64 {
    use std::hash::{BuildHasher as _, Hasher as _, RandomState};
    RandomState::new().build_hasher().finish()
}

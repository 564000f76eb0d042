//! Hooks: what hosts call, and how they are answered.
//!
//! A host runs `cargo-agents hook <host> <event>` with JSON on standard input, before every tool call and
//! at some other events. This crate knows what that JSON means and what the host understands as an answer,
//! and it runs the programs that plugins have for the event. What applies in a workspace is not decided
//! here: the caller provides the handlers.
//!
//! | module | holds |
//! |---|---|
//! | [`input`], [`output`] | the neutral format: what a handler is told and what it answers |
//! | [`handler`] | writing a handler in Rust |
//! | `wire` | the format of each host, both ways |
//! | `loss` | what a host cannot be told, and what happens instead |
//! | `matcher` | which uses of an event a hook is for |
//! | `run` | running handlers together, and what it means how they end |
//! | `merge` | one answer out of many |
//!
//! | feature | default | brings |
//! |---|---|---|
//! | `dispatch` | yes | everything that the program needs; without it this is what the author of a handler needs, and nothing else |
//!
//! The first three are all there is without the feature `dispatch`, for the authors of handlers.
//!
//! Everything but `run` is pure. Nothing prints; the caller writes the `Answer` and exits with its code.
//!
#![cfg_attr(feature = "dispatch", doc = "```")]
#![cfg_attr(not(feature = "dispatch"), doc = "```ignore")]
//! use agents_hook::{HookOutput, Received, Source, Wire, merge};
//! use agents_host::Event;
//!
//! // Copilot CLI is about to run a command.
//! let sent = br#"{"toolName": "bash", "toolArgs": "{\"command\": \"cargo publish\"}", "cwd": "/src/app"}"#;
//! let Received::Input(input) = Wire::Copilot.parse_input(Event::PreToolUse, sent)? else { unreachable!() };
//! assert_eq!(input.tool().and_then(|tool| tool.command()), Some("cargo publish"));
//!
//! // Two plugins have something to say about it.
//! let (merged, findings) = merge(&[
//!     (Source::new("release", "guard"), HookOutput::deny("CI publishes")),
//!     (Source::new("notes", "remind"), HookOutput::context("the changelog is not written yet")),
//! ]);
//! assert!(findings.is_empty());
//!
//! // What the host gets: JSON on standard output, since its model does not see standard error.
//! let (answer, losses) = Wire::Copilot.render_output(Event::PreToolUse, &merged);
//! assert!(losses.is_empty());
//! assert_eq!(answer.code, 0);
//! assert!(answer.stdout.starts_with(r#"{"permissionDecision":"deny","permissionDecisionReason":"[release] CI publishes""#));
//! # Ok::<(), agents_hook::wire::WireError>(())
//! ```

pub mod handler;
pub mod input;
#[cfg(feature = "dispatch")]
pub mod loss;
#[cfg(feature = "dispatch")]
pub mod matcher;
#[cfg(feature = "dispatch")]
pub mod merge;
pub mod output;
#[cfg(all(feature = "dispatch", unix))]
pub mod run;
#[cfg(test)]
mod schemas;
#[cfg(feature = "dispatch")]
pub mod wire;

pub use input::HookInput;
#[cfg(feature = "dispatch")]
pub use loss::{Instead, Loss, Part};
#[cfg(feature = "dispatch")]
pub use matcher::Matcher;
#[cfg(feature = "dispatch")]
pub use merge::{Source, merge};
pub use output::{Answered, Decision, HookOutput};
#[cfg(all(feature = "dispatch", unix))]
pub use run::{Dispatched, Handler, dispatch};
#[cfg(feature = "dispatch")]
pub use wire::{Answer, Format, Received, Wire};

//! The doors to what the program can do, for agents and programs of others, and for people.
//!
//! | module | holds |
//! |---|---|
//! | [`offer`] | what a door needs of the program that opens it |
//! | [`verbs`] | what can be asked for, whatever the door: requests in, answers out |
//! | [`tasks`] | the tasks of one connection |
//! | [`declare`] | JSON schemas as compact TypeScript declarations |
//! | [`sessions`] | conversations: tasks that go on from each other |
//! | [`acp`] | the door for editors |
//! | `dashboard` | the door for people: a page in a browser on this machine |
//! | `http` | who is let in over HTTP |
//! | [`mcp`] | the door for MCP clients; the only module that knows the protocol |
//!
//! Everything that a connection starts ends with it.

pub mod acp;
#[cfg(feature = "http")]
pub mod dashboard;
pub mod declare;
#[cfg(feature = "http")]
pub mod http;
pub mod mcp;
pub mod offer;
pub mod sessions;
pub mod tasks;
pub mod verbs;

pub use offer::Offer;
pub use tasks::{Secrets, Tasks, Terms};
pub use verbs::Verbs;

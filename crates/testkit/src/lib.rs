//! What the tests of `cargo agents` stand on: scratch directories, sample workspaces, vendored
//! crates and git repositories, all made on the spot and all without a network.
//!
//! | module | holds |
//! |---|---|
//! | [`endpoint`] | a scripted model behind the wire formats of the providers |
//! | [`knock`] | requests over HTTP by hand |
//! | [`chance`] | what is random, from a seed |
//! | [`collector`] | somebody who takes whatever is posted |
//! | [`scratch`] | a directory that is gone when the test ends |
//! | [`sample`] | Rust workspaces written from a short description |
//! | [`vendor`] | crates that cargo finds without a network, in place of crates.io |
//! | [`book`] | pages whose blocks are run and parsed |
//! | [`pages`] | generated pages that are checked in |
//! | [`terminal`] | a program on a real terminal, with somebody at the keyboard |
//! | [`harm`] | what can go wrong below a program that writes files |
//! | [`through`] | commands behind another program: where file modes count for everybody |
//! | `signal` | signals to the processes of a test |
//! | [`repo`] | git repositories to clone by `file://` |

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::missing_panics_doc,
    reason = "test support: a failure here is a failed test"
)]

pub mod book;
pub mod chance;
pub mod collector;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub mod harm;
pub mod knock;
pub mod pages;
pub mod repo;
pub mod sample;
pub mod scratch;
#[cfg(unix)]
pub mod signal;
#[cfg(target_os = "linux")]
pub mod terminal;
#[cfg(target_os = "linux")]
pub mod through;
pub mod vendor;

pub use agents_model::endpoint;

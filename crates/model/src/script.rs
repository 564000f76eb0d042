//! A model that says what it is told to.
//!
//! A [`ScriptFile`] holds [`Reply`]s that know nothing of wire formats. The same file is played by the provider
//! `script` ([`ScriptProvider`]), without a network, and by the scripted endpoint (`cargo agents model serve`), over
//! real HTTP; its faults lead to the same outcomes either way.
//!
//! ```
//! use agents_model::script::ScriptFile;
//!
//! let file = ScriptFile::parse_toml(r#"
//!     [[replies]]
//!     text = "Let me look."
//!     calls = [{ name = "read", input = { path = "Cargo.toml" } }]
//!
//!     [[replies]]
//!     when = { result = "[package]" }
//!     text = "It is a package."
//! "#)?;
//! assert_eq!(file.replies.len(), 2);
//! # Ok::<(), agents_model::script::ScriptError>(())
//! ```

mod file;
mod play;
mod provider;
mod reply;

pub use self::{
    file::{
        ScriptCall, ScriptError, ScriptFault, ScriptFile, ScriptReply, ScriptStatus, ScriptStop,
        ScriptUsage, When,
    },
    play::{Asked, Player},
    provider::ScriptProvider,
    reply::{Fault, Reply, Said, ScriptedCall},
};

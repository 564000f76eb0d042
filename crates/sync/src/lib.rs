//! What we write into hosts: the desired state, the difference to what is there, and its careful application.
//!
//! ```text
//! active set + hosts ──> Desired ─┐
//!             disk ────> Facts ───┼──> Plan ──> shown (`--dry-run`, `diff`, `--check`) or applied
//!           ledger ───────────────┘             under one lock, recorded before and after
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`desired`] | what should be where |
//! | [`facts`] | what is there now |
//! | [`plan`] | the changes between the two, as pure data, with a reason for everything that is left alone |
//! | [`apply`] | the only writer |
//!
//! Three rules decide everything. What the ledger does not list is not ours and is never touched. What the ledger lists
//! but somebody has edited since is theirs until they say otherwise. And making a plan changes nothing.

pub mod apply;
pub mod desired;
pub mod facts;
pub mod plan;

pub use apply::{Applied, ApplyError, Places, preview, sync, uninstall};
pub use desired::{Desired, DesiredServer, DesiredSkill};
pub use facts::Facts;
pub use plan::{Action, Change, Edited, Note, Plan};

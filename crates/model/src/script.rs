//! A model that says what it is told to.

mod reply;

pub use self::reply::{Fault, Reply, Said, ScriptedCall};

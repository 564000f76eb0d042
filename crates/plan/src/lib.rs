//! Plans.

pub mod engine;
pub mod event;
pub mod file;
pub mod graph;
pub mod journal;
pub mod reference;
pub mod schedule;

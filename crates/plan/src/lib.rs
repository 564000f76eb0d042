//! Plans.

pub mod event;
pub mod file;
pub mod graph;
pub mod reference;
pub mod schedule;

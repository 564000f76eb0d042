//! What an agent may touch.

pub mod confine;
pub mod grants;
mod pattern;
pub mod policy;
pub mod rights;
pub mod shell;

/// Sixty-four bits that nobody can guess.
pub(crate) fn random() -> u64 {
    use std::hash::{BuildHasher as _, Hasher as _, RandomState};
    RandomState::new().build_hasher().finish()
}

//! Tasks: a few runs, one fault, and going on afterwards.
//!
//! | module | holds |
//! |---|---|
//! | [`world`] | a home, a place to work and a scripted model for a few runs |
//! | [`processes`] | who is there |
//! | [`strike`] | whom it hits |
//! | [`round`] | a few runs, one fault, and going on afterwards |
//! | [`judge`] | what must be true then |

mod judge;
pub(crate) mod processes;
pub(crate) mod round;
mod strike;
mod world;

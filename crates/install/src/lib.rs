//! Executables: acquire, verify, cache, resolve to a command line.

mod recipe;

pub use recipe::{CargoPlace, Entry, Installation, InstallationName, Installations, Source};

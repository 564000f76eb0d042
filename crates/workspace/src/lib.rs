//! The packages of a Rust workspace, exactly as cargo resolves them, and the sources of a crate.

mod name;
mod package;

pub use name::CrateName;
pub use package::{Member, Package, PackageSource, Workspace};

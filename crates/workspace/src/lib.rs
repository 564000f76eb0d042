//! The packages of a Rust workspace, exactly as cargo resolves them, and the sources of a crate.

mod ask;
mod cargo;
mod config;
mod decide;
mod error;
mod files;
mod find;
mod locate;
mod lockfile;
mod manifest;
mod members;
mod metadata;
mod mirror;
mod name;
mod package;
mod sources;
mod store;
mod wanted;

pub use cargo::{Cargo, Network};
pub use error::{CargoError, Reason, SourceError, WorkspaceError};
pub use find::Workspaces;
pub use metadata::{Details, PackageDetails};
pub use name::CrateName;
pub use package::{Member, Package, PackageSource, Workspace};
pub use sources::{CrateOrigin, CrateSource};

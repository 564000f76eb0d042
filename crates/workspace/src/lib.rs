//! The packages of a Rust workspace, exactly as cargo resolves them, and the sources of a crate.
//!
//! [`Workspaces::find`] goes from a directory to its [`Workspace`]: the members and every package that
//! a member depends on directly, with exact versions and sources. [`Workspaces::source`] goes from the
//! name of a crate to a directory with its sources. [`Workspaces::details`] adds the enabled features
//! and the source directory of every package in the graph, and which members depend on which.
//!
//! The answer is always cargo's, but cargo is rarely run, because starting it costs fifty times more
//! than everything else:
//!
//! 1. The last answer is cached with a fingerprint of every file it was read from. While those look the
//!    same, that is all (`store`).
//! 2. Otherwise the manifests are read (`locate`, `members`, `manifest`, `config`) and compared with
//!    `Cargo.lock` (`lockfile`, `wanted`, `decide`): if each manifest asks for exactly what is locked for
//!    it, the lock file is the answer.
//! 3. Otherwise cargo resolves (`ask`), in a copy made of links so that it never writes into the user's
//!    tree (`mirror`). It also resolves what is better left to it: `[replace]`, packages replaced by
//!    cargo's configuration, unstable features, and mistakes, which it explains best (`metadata`).
//!
//! Nothing here guesses: what cannot be decided by reading is left to cargo. Being outside a workspace is a
//! normal state (`None`); a broken manifest is an error with its place.
//!
//! ```
//! use agents_system::progress::Progress;
//! use agents_workspace::{Cargo, Network, Workspaces};
//! # use camino::Utf8PathBuf;
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let scratch = tempfile::tempdir()?;
//! # let here = Utf8PathBuf::from_path_buf(scratch.path().canonicalize()?).unwrap();
//! # let cache = here.join("cache");
//! # fs_err::create_dir(here.join("src"))?;
//! # fs_err::write(here.join("src/lib.rs"), "")?;
//! fs_err::write(here.join("Cargo.toml"), "[package]\nname = \"one\"\nversion = \"0.1.0\"\n")?;
//! fs_err::write(here.join("Cargo.lock"), "[[package]]\nname = \"one\"\nversion = \"0.1.0\"\n")?;
//!
//! let cargo = Cargo::from_env(Network::Offline);
//! let workspaces = Workspaces { cache: &cache, cargo: &cargo, progress: &Progress::silent() };
//! let workspace = workspaces.find(&here.join("src"))?.expect("we stand in one");
//! assert_eq!(workspace.members[0].name.as_str(), "one");
//! assert!(workspace.packages.is_empty());
//! # Ok(()) }
//! ```
//!
//! On disk, below the cache directory: `workspaces/<name>-<hash>/` with `graph` (the answer), `details`,
//! `sources`, `Cargo.lock` (what cargo resolved when the user's lock file did not answer) and `turn` (so
//! that several processes ask cargo once). Mirrors and probes live in the system's temporary directory while
//! cargo runs.

mod ask;
mod cargo;
mod config;
mod decide;
mod details;
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
pub use find::{Glance, Workspaces};
#[doc(hidden)]
pub use lockfile::{LockedPackage, locked_packages};
#[doc(hidden)]
pub use metadata::read_metadata;
pub use metadata::{Details, MemberEdge, PackageDetails, Purpose};
pub use name::CrateName;
pub use package::{Member, Package, PackageSource, Workspace};
pub use sources::{CrateOrigin, CrateSource, exactly};

//! The packages of a workspace.

use agents_system::cache::Digest;
use camino::Utf8PathBuf;
use semver::Version;
use serde::{Deserialize, Serialize};

use crate::CrateName;

/// A Rust workspace with its resolved packages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workspace {
    /// Where the root manifest is.
    pub root: Utf8PathBuf,
    /// Its own packages, sorted by name. A virtual root is none of them.
    pub members: Vec<Member>,
    /// Every package that some member depends on directly (normal, dev, build, optional, any target), sorted by
    /// name and version; several versions of one crate stay several. A member that another member
    /// depends on is here too.
    pub packages: Vec<Package>,
    /// Equal for equal inputs: the key of whatever is computed from this workspace.
    pub identity: Digest,
}

/// A package of the workspace itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Member {
    /// Its name.
    pub name: CrateName,
    /// Its version.
    pub version: Version,
    /// Where its manifest is.
    pub dir: Utf8PathBuf,
}

/// A resolved package.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Package {
    /// Its real name, whatever it is renamed to by those who depend on it.
    pub name: CrateName,
    /// Its exact version.
    pub version: Version,
    /// Where it comes from.
    pub source: PackageSource,
}

/// Where a package comes from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum PackageSource {
    /// A directory: a path dependency, a member, or a `[patch]` to a path.
    Path {
        /// The directory.
        dir: Utf8PathBuf,
    },
    /// A registry.
    Registry {
        /// As cargo writes it, e.g. `registry+https://github.com/rust-lang/crates.io-index`.
        id: String,
    },
    /// A git repository.
    Git {
        /// As cargo writes it, e.g. `git+https://host/repo?tag=v1#0123abcd`.
        id: String,
    },
}

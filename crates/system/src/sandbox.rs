//! Confining ourselves for good, before we become a program that somebody else wrote.
//!
//! On Linux this is Landlock, which needs no privileges, together with no-new-privileges, no capabilities and, for those without
//! a network, a filter that lets nobody make a socket of any kind. What is not granted by [`Rights`] is denied: files by path,
//! the network as a whole, and signals of others where the kernel can. Other systems have nothing of the kind that we could
//! use: there [`restrict`] fails, and the caller must not go on.

use std::fmt;

use camino::Utf8PathBuf;
use serde::{Deserialize, Serialize};

use crate::{dirs, env};

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
mod network;
#[cfg(target_os = "linux")]
use linux as mechanism;

/// What a confined program may do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rights {
    /// What it may read and execute, with everything below. What does not exist is left out.
    pub read: Vec<Utf8PathBuf>,
    /// What it may also change.
    pub write: Vec<Utf8PathBuf>,
    /// Whether it may make sockets.
    pub network: Network,
}

/// Whether a program may use the network.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Network {
    /// It may not.
    #[default]
    Denied,
    /// It may.
    Allowed,
}

/// What every program needs to start at all. Not all of `/dev`: disks and terminals are there, too.
const SYSTEM: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/etc",
    "/proc",
    "/nix/store",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
];

/// What of cargo's home programs run and build with; the credentials are beside it.
const OF_CARGO: &[&str] = &["bin", "registry", "git", "config.toml", "config"];

/// Where `/etc/resolv.conf` often leads.
const NAME_SERVICE: &[&str] = &["/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager"];

/// Whether programs can be confined here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Availability {
    /// They can.
    Available,
    /// They cannot.
    Unavailable(Lack),
}

/// Why programs cannot be confined here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lack {
    /// The system has no Landlock: it is not Linux.
    System,
    /// The kernel has no Landlock, or it is turned off.
    Kernel,
}

impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::System => "the sandbox is not available here: it needs Linux",
            Self::Kernel => {
                "the sandbox is not available here: this kernel has no Landlock, or it is turned off"
            }
        })
    }
}

/// Why we are not confined.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// Nobody can be, here.
    #[error("{0}")]
    Unavailable(Lack),
    /// The kernel did not take the rules.
    #[error("the kernel did not take the rules of the sandbox")]
    Refused(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The kernel took the rules, and they are not in force.
    #[error("the rules of the sandbox are not in force")]
    NotInForce,
}

/// Whether programs can be confined here. Nothing is confined by asking.
#[must_use]
pub fn available() -> Availability {
    mechanism::available()
}

/// What programs need to read to start at all, and the Rust toolchains without the credentials.
#[must_use]
pub fn programs(network: Network) -> Vec<Utf8PathBuf> {
    let mut readable: Vec<Utf8PathBuf> = SYSTEM.iter().map(Utf8PathBuf::from).collect();
    if network == Network::Allowed {
        readable.extend(NAME_SERVICE.iter().map(Utf8PathBuf::from));
    }
    if let Ok(cargo) = dirs::cargo_home() {
        readable.extend(OF_CARGO.iter().map(|name| cargo.join(name)));
    }
    let rustup = env::RUSTUP_HOME.absolute_path();
    readable.extend(rustup.or_else(|| Some(dirs::home().ok()?.join(".rustup"))));
    readable
}

/// Confines the calling thread, and whatever it starts or becomes, for good. An error means that the rules are not
/// in force.
pub fn restrict(rights: &Rights) -> Result<(), SandboxError> {
    mechanism::restrict(rights)
}

#[cfg(not(target_os = "linux"))]
mod mechanism {
    use super::{Availability, Lack, Rights, SandboxError};

    pub(super) fn available() -> Availability {
        Availability::Unavailable(Lack::System)
    }

    pub(super) fn restrict(_: &Rights) -> Result<(), SandboxError> {
        Err(SandboxError::Unavailable(Lack::System))
    }
}

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests;

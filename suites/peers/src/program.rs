//! The two programs, and the few things that have to be said to them differently.

use camino::{Utf8Path, Utf8PathBuf};
use hosts_suite::install::Prefix;

/// The crate of the peer, and the version that we stand beside.
const CRATE: &str = "symposium";
const VERSION: &str = "0.5.1";

/// Whose program it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    Ours,
    Peer,
}

impl Who {
    pub(crate) const BOTH: [Self; 2] = [Self::Ours, Self::Peer];

    /// As tables call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ours => "cargo agents",
            Self::Peer => "Symposium",
        }
    }

    /// What a user types to be rid of everything, one command line after the other.
    pub(crate) fn uninstall(self, hosts: &[&str]) -> Vec<Vec<String>> {
        let words = |line: &[&str]| line.iter().map(|word| (*word).to_owned()).collect();
        match self {
            Self::Ours => vec![words(&["uninstall"])],
            // It has no such command: hosts are taken out of the configuration, and another sync follows.
            Self::Peer => {
                let mut init: Vec<String> = words(&["init"]);
                init.extend(hosts.iter().flat_map(|host| words(&["--remove-agent", host])));
                vec![init, words(&["sync"])]
            }
        }
    }
}

/// Both, where they were built. Both are called `cargo-agents`.
#[derive(Debug, Clone)]
pub(crate) struct Programs {
    ours: Utf8PathBuf,
    peer: Utf8PathBuf,
}

impl Programs {
    /// Ours is there already; the peer's comes from crates.io.
    pub(crate) fn new(built: &Utf8Path, prefix: &Prefix) -> anyhow::Result<Self> {
        let peer = prefix.install_crate(CRATE, VERSION)?;
        Ok(Self { ours: built.join("cargo-agents"), peer: peer.join("cargo-agents") })
    }

    pub(crate) fn of(&self, who: Who) -> &Utf8Path {
        match who {
            Who::Ours => &self.ours,
            Who::Peer => &self.peer,
        }
    }
}

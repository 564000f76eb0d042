//! Checked-out trees in the cache.

use std::time::{Duration, SystemTime};

use agents_system::{finding::Finding, progress::Progress};
use agents_workspace::Network;
use camino::{Utf8Path, Utf8PathBuf};

use super::{GitAddress, fetch, resolve};
use crate::{
    bring::{Brought, Origin, Update, bring},
    error::AcquireError,
    receipt::{Content, Generation},
    slot::{REPOSITORIES, Slot},
};

/// The checked-out trees of a cache.
#[derive(Debug, Clone, Copy)]
pub struct Checkouts<'a> {
    cache: &'a Utf8Path,
    network: Network,
    progress: &'a Progress,
}

/// A checked-out tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkout {
    /// The directory that the address means.
    pub dir: Utf8PathBuf,
    /// The commit that it is of.
    pub commit: String,
    /// When it was fetched.
    pub fetched: SystemTime,
    /// Why it may not be the newest, when it could not be told.
    pub findings: Vec<Finding>,
}

impl<'a> Checkouts<'a> {
    /// Those in `cache`, which is `Dirs::cache`.
    #[must_use]
    pub fn new(cache: &'a Utf8Path, network: Network, progress: &'a Progress) -> Self {
        Self { cache, network, progress }
    }

    /// The tree that is there: no child process, no network.
    #[must_use]
    pub fn current(&self, address: &GitAddress) -> Option<Checkout> {
        let slot = self.slot(address);
        checkout(&slot, Brought { generation: slot.current()?, findings: Vec::new() })
    }

    /// The file that says which tree [`current`](Self::current) is.
    #[must_use]
    pub fn state_file(&self, address: &GitAddress) -> Utf8PathBuf {
        self.slot(address).state_file()
    }

    /// The tree, fetched if it is missing or if `update` asks for it.
    pub fn checkout(&self, address: &GitAddress, update: Update) -> Result<Checkout, AcquireError> {
        let slot = self.slot(address);
        let origin = TreeOrigin {
            address,
            network: self.network,
            progress: self.progress,
            finish: &|_| Ok(()),
        };
        let update = update.allowed_by(self.network);
        let brought = bring(&slot, &origin, update, self.progress)?;
        checkout(&slot, brought).ok_or_else(|| AcquireError::Io {
            what: format!("find the tree of {address}"),
            source: std::io::ErrorKind::NotFound.into(),
        })
    }

    /// When it was last made sure that there is nothing newer.
    #[must_use]
    pub fn last_checked(&self, address: &GitAddress) -> Option<SystemTime> {
        let state = self.slot(address).load()?;
        Some(SystemTime::UNIX_EPOCH + Duration::from_secs(state.checked))
    }

    fn slot(&self, address: &GitAddress) -> Slot {
        tree_slot(&self.cache.join(REPOSITORIES), address, &[])
    }
}

fn checkout(slot: &Slot, Brought { generation, findings }: Brought) -> Option<Checkout> {
    let dir = generation.base(slot);
    let Generation { commit, installed, .. } = generation;
    let fetched = SystemTime::UNIX_EPOCH + Duration::from_secs(installed);
    Some(Checkout { dir, commit: commit?, fetched, findings })
}

/// The slot for a tree that `install_commands` are run in.
pub(crate) fn tree_slot(
    parent: &Utf8Path,
    address: &GitAddress,
    install_commands: &[String],
) -> Slot {
    let key = ("git", address.url(), address.tree(), install_commands);
    Slot::new(parent, &address.readable(), &format!("{key:?}"))
}

/// What is needed to fetch a tree.
pub(crate) struct TreeOrigin<'a> {
    pub(crate) address: &'a GitAddress,
    pub(crate) network: Network,
    pub(crate) progress: &'a Progress,
    pub(crate) finish: &'a dyn Fn(&Utf8Path) -> Result<(), AcquireError>,
}

impl TreeOrigin<'_> {
    fn need_network(&self) -> Result<(), AcquireError> {
        match self.network {
            Network::Allowed => Ok(()),
            Network::Offline => Err(AcquireError::Offline { what: self.what(), tried: None }),
        }
    }
}

impl Origin for TreeOrigin<'_> {
    fn what(&self) -> String {
        self.address.to_string()
    }

    fn newest(&self) -> Result<Option<String>, AcquireError> {
        self.need_network()?;
        Ok(Some(resolve(self.address, self.progress)?.commit))
    }

    fn acquire(&self, into: &Utf8Path) -> Result<Content, AcquireError> {
        self.need_network()?;
        let resolved = resolve(self.address, self.progress)?;
        fetch(self.address, &resolved, into, self.progress)
    }

    fn finish(&self, base: &Utf8Path) -> Result<(), AcquireError> {
        (self.finish)(base)
    }
}

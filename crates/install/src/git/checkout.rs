//! Checked-out trees in the cache.

use std::time::{Duration, SystemTime};

use agents_system::{cache::CacheFile, finding::Finding, memory::Memory, progress::Progress};
use agents_workspace::Network;
use camino::{Utf8Path, Utf8PathBuf};

use super::{GitAddress, content::tree_digest, fetch, resolve};
use crate::{
    bring::{Brought, Origin, Update, bring},
    error::AcquireError,
    receipt::{Content, Generation, State, part_of},
    slot::{REPOSITORIES, Slot},
};

/// What was read of trees, beside them.
const DIGESTS: &str = "digests";
/// Changes with what is remembered.
const LAYOUT: &str = "trees 1";

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

/// A checked-out tree as it is on the disk now. It is never changed by us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeNow {
    /// The whole tree.
    pub dir: Utf8PathBuf,
    /// Of what is in it, in hexadecimal digits; git's own files do not count.
    pub digest: String,
    /// Whether that is what was fetched.
    pub standing: TreeStanding,
}

/// The directory that all trees of a cache are in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trees {
    /// The path that trees have when they are handed out.
    named: Utf8PathBuf,
    /// As it really is; `None` if nothing was ever fetched.
    real: Option<Utf8PathBuf>,
}

impl Trees {
    /// The tree that a path is in, as it really is. The path is one that was handed out, or the real path of something.
    #[must_use]
    pub fn around(&self, path: &Utf8Path) -> Option<Utf8PathBuf> {
        let real = self.real.as_ref()?;
        if !path.starts_with(&self.named) && !path.starts_with(real) {
            return None;
        }
        let path = path.canonicalize_utf8().ok()?;
        let mut parts = path.strip_prefix(real).ok()?.components();
        let (slot, generation) = (parts.next()?, parts.next()?);
        Some(real.join(slot).join(generation))
    }
}

/// Whether a tree is what was fetched, as far as we wrote that down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeStanding {
    /// It is.
    AsFetched,
    /// Somebody changed it.
    Changed,
    /// It was not written down.
    Unknown,
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

    /// Where all trees are. Costs several system calls, so whoever asks often keeps it.
    #[must_use]
    pub fn trees(&self) -> Trees {
        let named = self.cache.join(REPOSITORIES);
        Trees { real: named.canonicalize_utf8().ok(), named }
    }

    /// What is in a tree that [`Trees::around`] gave. It is read if anything in it looks different from the
    /// last time.
    pub fn look(&self, tree: &Utf8Path) -> Result<TreeNow, AcquireError> {
        let slot = tree.parent().map(|dir| Slot { dir: dir.to_owned() });
        let mut memory = match &slot {
            Some(slot) => Memory::load(CacheFile::new(slot.dir.join(DIGESTS), LAYOUT)),
            None => Memory::none(),
        };
        let mut digest_of = |dir: &Utf8Path| {
            let mut failed = None;
            let digest = memory.ask("digest", dir, |watch| {
                tree_digest(dir, watch).unwrap_or_else(|error| {
                    watch.give_up();
                    failed = Some(error);
                    String::new()
                })
            });
            failed.map_or(Ok(digest), Err)
        };
        let digest = digest_of(tree)?;
        let state = slot.as_ref().and_then(Slot::load);
        let mut generations = state.iter().flat_map(State::generations);
        let known = generations.find(|it| Some(it.dir.as_str()) == tree.file_name());
        let standing = match known.and_then(|it| Some((&it.within, it.tree.as_ref()?))) {
            None => TreeStanding::Unknown,
            Some((within, fetched)) => {
                let now = match within.as_str() {
                    "" => digest.clone(),
                    _ => digest_of(&part_of(tree.to_owned(), within))?,
                };
                if now == *fetched { TreeStanding::AsFetched } else { TreeStanding::Changed }
            }
        };
        memory.save();
        Ok(TreeNow { dir: tree.to_owned(), digest, standing })
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

//! From a directory to its workspace.

use std::{rc::Rc, time::Duration};

use agents_system::{cache, fingerprint::Fingerprint, lock::Lock as Turn, progress::Progress};
use camino::{Utf8Path, Utf8PathBuf};
use semver::Version;

use crate::{
    Cargo, CrateName, Member, Package, Workspace,
    config::Config,
    decide::{self, Trust},
    error::WorkspaceError,
    files::{Files, Undecided},
    locate::{self, Here},
    lockfile::{LOCK, Lock},
    manifest::Manifest,
    members::{self, Members},
    metadata::LockFile,
    store::{Entry, Store},
};

/// How long another process may take to ask cargo before we ask ourselves.
const TURN: Duration = Duration::from_secs(600);

/// Finds workspaces; what it found is cached and believed until an input changes.
#[derive(Debug, Clone, Copy)]
pub struct Workspaces<'a> {
    /// Our cache directory.
    pub cache: &'a Utf8Path,
    /// Asked when our own reading does not decide.
    pub cargo: &'a Cargo,
    /// Told when that takes long.
    pub progress: &'a Progress,
}

/// What can be said about a directory without asking cargo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Glance {
    /// It is in no workspace.
    Outside,
    /// It is in this one.
    Known(Workspace),
    /// It is in one whose lock file does not say, or not alone, what it is made of.
    NeedsCargo {
        /// What is in the way, as a lower-case fragment.
        why: &'static str,
    },
}

/// What our own reading found.
pub(crate) struct Graph {
    pub(crate) root: Utf8PathBuf,
    pub(crate) members: Vec<Member>,
    pub(crate) packages: Vec<Package>,
}

/// What there is to read before the lock file is compared.
pub(crate) struct Ground {
    root: Rc<Manifest>,
    members: Members,
    config: Config,
}

impl Workspaces<'_> {
    /// The workspace that `cwd` is in; `None` outside of one.
    pub fn find(&self, cwd: &Utf8Path) -> Result<Option<Workspace>, WorkspaceError> {
        Ok(self.entry(cwd)?.map(|(_, entry)| entry.workspace))
    }

    pub(crate) fn store_of_root(&self, root: &Utf8Path) -> Store {
        let here = Here { cwd: root.to_owned(), dir: root.to_owned(), configs: Vec::new() };
        Store::of(&here, self.cargo.home(), self.cache)
    }

    /// The workspace that `cwd` is in, so far as that can be told without starting a process: for hooks,
    /// which must neither wait nor use the network.
    pub fn glance(&self, cwd: &Utf8Path) -> Result<Glance, WorkspaceError> {
        Ok(match self.look(cwd)? {
            Look::Outside => Glance::Outside,
            Look::Known(_, entry) => Glance::Known(entry.workspace),
            Look::NeedsCargo(_, _, why) => Glance::NeedsCargo { why },
        })
    }

    /// What the answer for `cwd` was read from: as long as that holds, so does the answer. `None` outside of a
    /// workspace, and where nothing can be stored.
    #[must_use]
    pub fn inputs(&self, cwd: &Utf8Path) -> Option<Fingerprint> {
        match self.look(cwd).ok()? {
            Look::Known(_, entry) => Some(entry.fingerprint),
            Look::Outside | Look::NeedsCargo(..) => None,
        }
    }

    /// A file name for everything that can be remembered about `cwd`, the same for all directories with the same answer;
    /// `None` outside of a workspace.
    #[must_use]
    pub fn name_of(&self, cwd: &Utf8Path) -> Option<String> {
        let cwd = cwd.canonicalize_utf8().unwrap_or_else(|_| cwd.to_owned());
        let store = Store::of(&locate::nearest(&cwd)?, self.cargo.home(), self.cache);
        store.name().map(str::to_owned)
    }

    /// The lock file that the graph of a workspace comes from.
    pub(crate) fn lock_text(&self, workspace: &Workspace) -> Result<String, WorkspaceError> {
        let text = match self.entry(&workspace.root)? {
            Some((store, entry)) if entry.lock == LockFile::Ours => store.load_lock(),
            _ => fs_err::read_to_string(workspace.root.join(LOCK)).ok(),
        };
        Ok(text.unwrap_or_default())
    }

    pub(crate) fn entry(&self, cwd: &Utf8Path) -> Result<Option<(Store, Entry)>, WorkspaceError> {
        match self.look(cwd)? {
            Look::Outside => Ok(None),
            Look::Known(store, entry) => Ok(Some((store, *entry))),
            Look::NeedsCargo(store, here, _) => {
                // Without a turn, for want of a place to write, several ask: slower, never wrong.
                let _turn = Turn::acquire(&store.turn(), TURN, self.progress).ok();
                let entry = match store.load() {
                    Some(entry) => entry,
                    None => self.ask(&here, &store)?,
                };
                Ok(Some((store, entry)))
            }
        }
    }

    fn look(&self, cwd: &Utf8Path) -> Result<Look, WorkspaceError> {
        // Cargo learns where it stands from the operating system, which resolves links.
        let cwd = cwd.canonicalize_utf8().unwrap_or_else(|_| cwd.to_owned());
        let Some(here) = locate::nearest(&cwd) else {
            return Ok(Look::Outside);
        };
        let store = Store::of(&here, self.cargo.home(), self.cache);
        if let Some(entry) = store.load() {
            return Ok(Look::Known(store, Box::new(entry)));
        }
        let mut files = Files::new(self.cargo.home());
        match read(&here, &mut files) {
            Ok(graph) => {
                let entry = graph.into_entry(files, LockFile::Users);
                store.save(&entry);
                Ok(Look::Known(store, Box::new(entry)))
            }
            Err(Undecided::Failed(error)) => Err(error),
            Err(Undecided::Stale(why) | Undecided::AskCargo(why)) => match store.load_touched() {
                Some(entry) => Ok(Look::Known(store, Box::new(entry))),
                None => Ok(Look::NeedsCargo(store, here, why)),
            },
        }
    }
}

enum Look {
    Outside,
    Known(Store, Box<Entry>),
    NeedsCargo(Store, Here, &'static str),
}

/// The answer by our own reading alone.
fn read(here: &Here, files: &mut Files<'_>) -> Result<Graph, Undecided> {
    let ground = Ground::read(here, files)?;
    let lock = files.read(&ground.root.dir.join(LOCK))?;
    let lock = lock.ok_or(Undecided::Stale("no lock file"))?;
    ground.decide(&lock, Trust::Unchecked, files)
}

impl Ground {
    /// Reads everything but the lock file.
    pub(crate) fn read(here: &Here, files: &mut Files<'_>) -> Result<Self, Undecided> {
        let config = Config::load(&here.cwd, files)?;
        let root = locate::root_of(&here.dir, files)?;
        let members = members::find(&root, files)?;
        // A virtual root that we stand in is not a member, and need not be.
        if here.dir != root.dir && !members.contains_key(&here.dir) {
            return Err(Undecided::AskCargo("a package that its workspace does not list"));
        }
        Ok(Self { root, members, config })
    }

    /// The answer, if this lock file has it.
    pub(crate) fn decide(
        &self,
        lock: &str,
        trust: Trust,
        files: &mut Files<'_>,
    ) -> Result<Graph, Undecided> {
        let lock = Lock::parse(lock)?;
        let found = decide::direct_dependencies(
            &self.root,
            &self.members,
            &self.config,
            &lock,
            trust,
            files,
        )?;
        let mut members = Vec::with_capacity(self.members.len());
        for manifest in self.members.values() {
            let (name, version) = decide::identity(manifest, &self.root)?;
            let version = Version::parse(&version);
            let version = version.map_err(|_| Undecided::AskCargo("a version that is none"))?;
            members.push(Member { name: CrateName::new(name), version, dir: manifest.dir.clone() });
        }
        members.sort();
        let packages = found.into_iter().collect();
        Ok(Graph { root: self.root.dir.clone(), members, packages })
    }
}

impl Graph {
    /// The answer together with what it was read from.
    pub(crate) fn into_entry(self, files: Files<'_>, lock: LockFile) -> Entry {
        let Self { root, members, packages } = self;
        // Nothing in it fails to serialise; if it did, equal answers would still be equal.
        let bytes = serde_json::to_vec(&(&root, &members, &packages)).unwrap_or_default();
        let workspace = Workspace { root, members, packages, identity: cache::digest(&bytes) };
        Entry { fingerprint: files.finish(), workspace, lock }
    }
}

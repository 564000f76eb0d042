//! Asking cargo, in a way that leaves the user's files alone.

use std::time::SystemTime;

use camino::{Utf8Path, Utf8PathBuf};

use crate::{
    Workspaces,
    decide::Trust,
    error::{CargoError, Reason, WorkspaceError},
    files::{Files, Undecided},
    find::{Graph, Ground},
    locate::{self, Here},
    lockfile::LOCK,
    manifest::{self, MANIFEST},
    metadata::{self, LockFile, Metadata, Platform},
    mirror::Mirror,
    store::{Entry, Store},
};

impl Workspaces<'_> {
    /// Resolves what our own reading could not.
    pub(crate) fn ask(&self, here: &Here, store: &Store) -> Result<Entry, WorkspaceError> {
        let mut asking = Asking {
            started: SystemTime::now(),
            files: Files::new(self.cargo.home()),
            is_known: true,
        };
        let ground = match Ground::read(here, &mut asking.files) {
            Err(Undecided::Failed(error)) => return Err(error),
            ground => ground.ok(),
        };
        let root = match locate::root_of(&here.dir, &mut asking.files) {
            Ok(root) => root.dir.clone(),
            Err(_) => {
                asking.is_known = false;
                self.locate_project(here)?
            }
        };
        let lock = asking.files.read(&root.join(LOCK))?;
        asking.read_toolchain(here)?;
        let stale = match (&ground, &lock) {
            (Some(ground), Some(lock)) => {
                match ground.decide(lock, Trust::Unchecked, &mut asking.files) {
                    // It was changed while we waited for our turn.
                    Ok(graph) => return Ok(asking.keep(store, graph, LockFile::Users)),
                    Err(Undecided::Failed(error)) => return Err(error),
                    Err(Undecided::Stale(_)) => true,
                    Err(Undecided::AskCargo(_)) => false,
                }
            }
            (ground, None) => ground.is_some(),
            (None, Some(_)) => false,
        };
        if !stale && lock.is_some() {
            match self.metadata(&here.dir, &here.cwd, None) {
                Err(CargoError::Failed { reason: Reason::Locked, .. }) => {}
                found => {
                    let found = found?;
                    asking.read_all(&found)?;
                    return Ok(asking.keep(store, found.into(), LockFile::Users));
                }
            }
        }
        let mirror = self.mirror(&root, lock.as_deref())?;
        if let (true, Some(ground)) = (stale, &ground) {
            let updated = self.update(here, &mirror)?;
            if let Ok(graph) = ground.decide(&updated, Trust::Checked, &mut asking.files) {
                if Some(&updated) == lock.as_ref() {
                    return Ok(asking.keep(store, graph, LockFile::Users));
                }
                store.save_lock(&updated);
                return Ok(asking.keep(store, graph, LockFile::Ours));
            }
        }
        let found = self.metadata(&here.dir, &here.cwd, Some(&mirror))?;
        if let Ok(lock) = fs_err::read_to_string(mirror.lock()) {
            store.save_lock(&lock);
        }
        asking.read_all(&found)?;
        Ok(asking.keep(store, found.into(), LockFile::Ours))
    }

    /// What cargo says about the workspace of the manifest in `dir`: in the mirror if there is one, else
    /// where it is, and then without touching its lock file.
    pub(crate) fn metadata(
        &self,
        dir: &Utf8Path,
        cwd: &Utf8Path,
        mirror: Option<&Mirror>,
    ) -> Result<Metadata, CargoError> {
        let every = Platform::Every;
        match mirror {
            None => metadata::ask(self, cwd, &dir.join(MANIFEST), LockFile::Users, every),
            Some(mirror) => {
                let manifest = mirror.manifest(dir);
                mirror.undo(metadata::ask(self, cwd, &manifest, LockFile::Ours, every))
            }
        }
    }

    /// Lets cargo bring the lock file of the mirror up to date. This keeps every version that is locked
    /// already, exactly as a build would, and downloads no crate.
    fn update(&self, here: &Here, mirror: &Mirror) -> Result<String, WorkspaceError> {
        let manifest = mirror.manifest(&here.dir);
        let args = ["update", "--workspace", "--manifest-path", manifest.as_str()];
        let updated = self.cargo.ask(&args, &here.cwd, metadata::ABOUT, self.progress);
        mirror.undo_error(updated)?;
        fs_err::read_to_string(mirror.lock()).map_err(|source| WorkspaceError::Read { source })
    }

    pub(crate) fn mirror(&self, root: &Utf8Path, lock: Option<&str>) -> Result<Mirror, CargoError> {
        Mirror::new(root, lock, self.cargo.home()).map_err(|source| CargoError::Scratch { source })
    }

    /// The root according to cargo.
    fn locate_project(&self, here: &Here) -> Result<Utf8PathBuf, CargoError> {
        let manifest = here.dir.join(MANIFEST);
        let args = ["locate-project", "--workspace", "--message-format=plain"];
        let args = [&args[..], &["--manifest-path", manifest.as_str()]].concat();
        let said = self.cargo.ask(&args, &here.cwd, metadata::ABOUT, self.progress)?;
        let root = Utf8PathBuf::from(said.stdout_text().trim());
        Ok(root.parent().unwrap_or(&here.dir).to_owned())
    }
}

/// One round of asking.
struct Asking<'a> {
    started: SystemTime,
    files: Files<'a>,
    /// Whether every file that the answer depends on is known. Only then it may be kept.
    is_known: bool,
}

impl Asking<'_> {
    /// The toolchain decides which cargo answers.
    fn read_toolchain(&mut self, here: &Here) -> Result<(), WorkspaceError> {
        for dir in here.cwd.ancestors() {
            for name in ["rust-toolchain", "rust-toolchain.toml"] {
                self.files.read(&dir.join(name))?;
            }
        }
        Ok(())
    }

    /// Notes every manifest that cargo read and we did not.
    fn read_all(&mut self, found: &Metadata) -> Result<(), WorkspaceError> {
        for dir in found.directories() {
            let file = dir.join(MANIFEST);
            let modified = file.metadata().and_then(|data| data.modified());
            // Cargo may have read it before it was changed, and we after.
            let is_older =
                modified.is_ok_and(|modified| modified + manifest::CLOCK_GRAIN < self.started);
            self.is_known &= self.files.has_read(&file) || is_older;
            self.files.read(&file)?;
        }
        Ok(())
    }

    fn keep(self, store: &Store, graph: Graph, lock: LockFile) -> Entry {
        let entry = graph.into_entry(self.files, lock);
        if self.is_known {
            store.save(&entry);
        }
        entry
    }
}

impl From<Metadata> for Graph {
    fn from(found: Metadata) -> Self {
        Self { root: found.root, members: found.members, packages: found.direct }
    }
}

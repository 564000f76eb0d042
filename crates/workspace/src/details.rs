//! The features and source directories of every package.

use agents_system::process::ProcessError;
use camino::Utf8Path;

use crate::{
    Details, Network, Workspace, WorkspaceError, Workspaces,
    error::{CargoError, Reason},
    lockfile::LOCK,
    manifest::MANIFEST,
    metadata::{self, LockFile, Metadata, Platform},
    mirror::Mirror,
};

impl Workspaces<'_> {
    /// The enabled features and source directories of every package of a workspace. The first time after a
    /// change this asks cargo, which fetches what is missing. If it cannot, those packages that
    /// this machine needs are better than none: see [`Details::platform`].
    pub fn details(&self, workspace: &Workspace) -> Result<Details, WorkspaceError> {
        let Some((store, entry)) = self.entry(&workspace.root)? else {
            // The workspace is gone; cargo says so best.
            return Ok(self.metadata(&workspace.root, &workspace.root, None)?.details);
        };
        let is_good = |details: &Details| {
            let is_enough = details.platform.is_none() || self.cargo.network() == Network::Offline;
            is_enough && details.packages.iter().all(|package| package.dir.is_dir())
        };
        if let Some(details) = store.load_details(&entry.fingerprint).filter(is_good) {
            return Ok(details);
        }
        let root = &entry.workspace.root;
        let ours = || (entry.lock == LockFile::Ours).then(|| store.load_lock()).flatten();
        let found = match self.details_for(root, ours().as_deref(), Platform::Every) {
            Err(lacking) if lacking.lacks_network() => {
                let host = self.host(root)?;
                let found = self.details_for(root, ours().as_deref(), Platform::Only(&host));
                found.map_err(|_| lacking)?
            }
            found => found?,
        };
        store.save_details(&entry.fingerprint, found.details.clone());
        Ok(found.details)
    }

    /// With `ours` as the lock file if there is one, else with the user's.
    fn details_for(
        &self,
        root: &Utf8Path,
        ours: Option<&str>,
        platform: Platform<'_>,
    ) -> Result<Metadata, CargoError> {
        if let Some(lock) = ours {
            return self.details_in(&self.mirror(root, Some(lock))?, root, platform);
        }
        match metadata::ask(self, root, &root.join(MANIFEST), LockFile::Users, platform) {
            // Enabled features that are new may need packages that are not locked yet.
            Err(CargoError::Failed { reason: Reason::Locked, .. }) => {
                let lock = fs_err::read_to_string(root.join(LOCK)).ok();
                self.details_in(&self.mirror(root, lock.as_deref())?, root, platform)
            }
            found => found,
        }
    }

    fn details_in(
        &self,
        mirror: &Mirror,
        root: &Utf8Path,
        platform: Platform<'_>,
    ) -> Result<Metadata, CargoError> {
        let found = metadata::ask(self, root, &mirror.manifest(root), LockFile::Ours, platform);
        mirror.undo(found)
    }

    /// The platform that cargo builds for here.
    fn host(&self, cwd: &Utf8Path) -> Result<String, CargoError> {
        let said = self.cargo.ask(&["-vV"], cwd, "this machine", self.progress)?.stdout_text();
        let host = said.lines().find_map(|line| line.strip_prefix("host: "));
        host.map(str::to_owned).ok_or_else(|| CargoError::Process {
            about: "this machine".to_owned(),
            source: ProcessError::NotFound { program: "cargo".to_owned() },
        })
    }
}
